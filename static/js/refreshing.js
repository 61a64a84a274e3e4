// The page fetched anew, and its parts taken over: what the server draws is drawn once, by its own templates.

import { drawTimes } from "./times.js";

/** The page at an address, parsed. Fails when the console does not answer it. */
export async function fetchPage(href) {
  const answer = await fetch(href, { headers: { Accept: "text/html" } });
  if (!answer.ok && answer.status !== 400) throw new Error(`the page answers ${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

/** The data's age as the fetched page tells it, in milliseconds. */
export function ageOf(page) {
  const told = page.getElementById("age")?.dataset.ageMs;
  return told ? Number(told) : null;
}

/** Replaces every element with `data-swap` by its twin in the fetched page; the focus stays on the same row. */
export function takeOver(page) {
  const focused = document.activeElement?.closest("tr")?.dataset.key;
  for (const part of document.querySelectorAll("[data-swap]")) {
    const twin = page.getElementById(part.id);
    if (twin) part.replaceWith(document.adoptNode(twin));
  }
  drawTimes();
  if (focused !== undefined) rowOf(focused)?.querySelector("a")?.focus({ preventScroll: true });
}

/** Takes over what the cells of the rows say, and moves no row. */
export function patchCells(page) {
  for (const fresh of page.querySelectorAll("tr[data-key]")) {
    const row = rowOf(fresh.dataset.key);
    if (row) patchRow(row, fresh);
  }
  drawTimes();
}

function patchRow(row, fresh) {
  for (const cell of fresh.querySelectorAll("[data-cell]")) {
    const shown = row.querySelector(`[data-cell="${cell.dataset.cell}"]`);
    const same = shown.contains(document.activeElement) || textOf(shown) === textOf(cell);
    if (!same) shown.replaceChildren(...document.adoptNode(cell).childNodes);
  }
}

/** Times tick by themselves: only their moment counts. */
function textOf(cell) {
  const time = cell.querySelector("time");
  return time ? time.dateTime + (cell.querySelector(".cause")?.textContent ?? "") : cell.textContent.trim();
}

function rowOf(key) {
  return document.querySelector(`tr[data-key="${CSS.escape(key)}"]`);
}
