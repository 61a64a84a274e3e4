// Buttons that copy the text of another element: `data-copies="id"`.

const SHOWN_MS = 1500;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copies);
  await navigator.clipboard.writeText(source.dataset.text ?? source.textContent);
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = before), SHOWN_MS);
});
