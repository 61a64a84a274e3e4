// Groups that are chosen by the check boxes of the list: the buttons say how many, and rows that are drawn anew keep theirs.

const BOXES = 'input[form="picked"][name="group"]';
const picked = new Set();

/** After rows were drawn anew: what is still there stays chosen, what went is chosen no longer. */
export function keepPicked() {
  const boxes = [...document.querySelectorAll(BOXES)];
  const shown = new Set(boxes.map((box) => box.value));
  for (const key of picked) if (!shown.has(key)) picked.delete(key);
  for (const box of boxes) box.checked = picked.has(box.value);
  say();
}

function say() {
  const form = document.getElementById("picked");
  for (const button of form?.querySelectorAll("button") ?? []) {
    button.dataset.label ??= button.textContent;
    button.textContent = picked.size ? `${button.dataset.verb} ${picked.size} chosen…` : button.dataset.label;
    button.disabled = !picked.size && !("filtered" in form.dataset);
    button.title = button.disabled ? "Choose groups by their boxes, or filter the list" : "";
  }
}

document.addEventListener("change", ({ target }) => {
  if (!target.matches(BOXES)) return;
  if (target.checked) picked.add(target.value);
  else picked.delete(target.value);
  say();
});
// A browser that goes back ticks the boxes again.
addEventListener("pageshow", () => {
  for (const box of document.querySelectorAll(`${BOXES}:checked`)) picked.add(box.value);
  say();
});
