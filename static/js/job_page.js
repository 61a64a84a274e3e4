// A job that runs is followed: progress and groups are fetched anew until it is over.

import { fetchPage, takeOver } from "./refreshing.js";

const EVERY_MS = 1000;
const MOVES = ["planned", "running"];

async function follow() {
  if (document.hidden || document.querySelector("[data-swap] :focus")) return;
  takeOver(await fetchPage(location.href));
}

const timer = setInterval(() => {
  if (MOVES.includes(document.getElementById("progress").dataset.state)) follow().catch(() => {});
  else clearInterval(timer);
}, EVERY_MS);
