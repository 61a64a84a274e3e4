// Dialogs: `data-opens="id"` opens one; a link with `data-asks` shows the page it leads to in a dialog, so that a question
// is asked in place. Without scripts the link leads to the page, which asks the same.

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) {
    document.getElementById(opener.dataset.opens).showModal();
    return;
  }
  const asker = event.target.closest("a[data-asks]");
  if (asker && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    ask(asker.href);
  }
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

async function ask(href) {
  const answer = await fetch(href).catch(() => null);
  const page = answer && new DOMParser().parseFromString(await answer.text(), "text/html");
  const question = page?.getElementById("question");
  if (!question) {
    location.assign(href);
    return;
  }
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "question-title");
  dialog.append(document.adoptNode(question));
  for (const link of dialog.querySelectorAll("a[data-cancels]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      dialog.close();
    });
  }
  for (const form of dialog.querySelectorAll("form")) form.action ||= href;
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
