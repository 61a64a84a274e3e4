// The form of the records page: a choice shows at once, another topic begins with its first partition, and of offset and
// time the one that was written last counts.

const form = document.getElementById("records-form");

form?.addEventListener("change", (event) => {
  const { name } = event.target;
  if (name === "topic") form.elements.partition.disabled = form.elements.offset.disabled = true;
  if (name === "offset" && event.target.value) form.elements.at.value = "";
  if (name === "at" && event.target.value) form.elements.offset.value = "";
  if (event.target.matches("select")) form.requestSubmit();
});
// What is blank need not stand in the address.
form?.addEventListener("submit", () => {
  for (const field of form.elements) if (field.name && field.value === "") field.disabled = true;
});
window.addEventListener("pageshow", () => {
  for (const field of form?.elements ?? []) field.disabled = false;
});
