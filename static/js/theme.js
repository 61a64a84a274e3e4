// Light, dark, or as the system has it: the cookie that the server reads, set without a reload.

const COOKIE = "kaas_theme";
const YEAR_S = 365 * 24 * 3600;

const form = document.querySelector("[data-theme-form]");

function chosen() {
  return document.documentElement.dataset.theme ?? "";
}

function choose(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  document.cookie = `${COOKIE}=${theme}; path=/; max-age=${theme ? YEAR_S : 0}; samesite=lax`;
  show();
}

function show() {
  for (const button of form.querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.value === chosen()));
  }
}

if (form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    choose(event.submitter.value);
  });
  show();
}
