// Keys of every page. None of them acts while somebody types, or together with Ctrl, Alt or Meta.

import { nextForm } from "./times.js";

const ROWS = "tbody tr:not([hidden])";
const CHORD_MS = 1200;

let chordUntil = 0;

const keys = {
  "/": () => document.querySelector("input[type=search]"),
  "?": () => document.getElementById("keys").showModal(),
  t: nextForm,
  j: () => step(1),
  k: () => step(-1),
  g: () => (chordUntil = Date.now() + CHORD_MS),
  r: () => document.dispatchEvent(new CustomEvent("kaas:refresh")),
};

function step(by) {
  const links = [...document.querySelectorAll(ROWS)].map((row) => row.querySelector("a")).filter(Boolean);
  if (!links.length) return;
  const at = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  const next = links[Math.min(links.length - 1, Math.max(0, at + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function placeOf(key) {
  return document.querySelector(`.topbar nav a[data-place="${CSS.escape(key)}"]`);
}

function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") && target.type !== "checkbox";
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const place = Date.now() < chordUntil && placeOf(event.key);
  if (place) {
    chordUntil = 0;
    place.click();
    return;
  }
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  const found = act();
  if (found instanceof HTMLElement) {
    found.focus();
    found.select();
  }
});
