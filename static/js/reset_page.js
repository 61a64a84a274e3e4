// The reset form: a value is filled in by a button or picked in the reader's zone, and every moment is read back in UTC.

const form = document.getElementById("reset-form");
const value = document.getElementById("value_timestamp");
const picker = form.querySelector("[data-moment]");
const said = form.querySelector("[data-moment-said]");

function offsetOf(at) {
  const minutes = -at.getTimezoneOffset();
  const two = (number) => String(Math.trunc(Math.abs(number))).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}

function say() {
  const at = new Date(value.value);
  const hasZone = /(Z|[+-]\d\d:?\d\d)$/i.test(value.value.trim());
  if (!value.value) said.textContent = "";
  else if (Number.isNaN(at.getTime())) said.textContent = "This is no moment yet.";
  else if (!hasZone) said.textContent = "The zone is missing: add Z or an offset such as +02:00.";
  else said.textContent = `${at.toISOString().replace("T", " ").slice(0, 19)} UTC, ${at.toLocaleString("en-GB")} here`;
}

picker.addEventListener("input", () => {
  if (!picker.value) return;
  const seconds = picker.value.length === 16 ? ":00" : "";
  value.value = picker.value + seconds + offsetOf(new Date(picker.value));
  say();
});
value.addEventListener("input", say);

form.addEventListener("click", (event) => {
  const button = event.target.closest("[data-fills]");
  if (button) document.getElementById(button.dataset.fills).value = button.value;
});

// What is chosen in a row chooses the row's kind as well.
form.addEventListener("input", (event) => {
  const inTopics = event.target.closest(".topics-chosen");
  if (inTopics) form.querySelector('[name="scope"][value="topics"]').checked = true;
  const strategy = event.target.closest(".value")?.parentElement.querySelector('[type="radio"]');
  if (strategy) strategy.checked = true;
});
say();
