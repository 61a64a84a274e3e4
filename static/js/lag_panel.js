// The lag panel goes with time: it is fetched anew as often as samples are taken, unless somebody is at work in it.

import { fetchPage } from "./refreshing.js";
import { drawTimes } from "./times.js";

const panel = document.getElementById("lag");

async function refresh() {
  if (document.hidden || panel.querySelector("details[open]") || panel.contains(document.activeElement)) return;
  const fresh = (await fetchPage(panel.dataset.href)).getElementById("lag");
  if (!fresh) return;
  panel.replaceChildren(...document.adoptNode(fresh).childNodes);
  drawTimes();
}

if (panel) setInterval(() => refresh().catch(() => {}), Number(panel.dataset.everyMs));
