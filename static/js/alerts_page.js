// Alerts and deliveries go with time; of a rule's form only the fields that its kind asks for are shown.

import { fetchPage, takeOver } from "./refreshing.js";

const EVERY_MS = 5000;

async function refresh() {
  if (document.hidden || document.querySelector("[data-swap] :focus")) return;
  takeOver(await fetchPage(location.pathname.replace(/alerts\/.*/, "alerts/") + location.search));
}

const kind = document.getElementById("rule-kind");

function showFields() {
  for (const field of document.querySelectorAll("[data-for]")) {
    field.hidden = !field.dataset.for.split(" ").includes(kind.value);
  }
}

if (kind) {
  kind.addEventListener("change", showFields);
  showFields();
}
document.addEventListener("kaas:refresh", () => refresh().catch(() => {}));
setInterval(() => refresh().catch(() => {}), EVERY_MS);
