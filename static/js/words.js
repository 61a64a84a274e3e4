// States as a mark and a word, from the table that the page carries (groups/templatetags/console.py).

const table = JSON.parse(document.getElementById("words")?.textContent ?? "{}");

/** Label and tone of a value; one that nobody knows here is shown as it came. */
function wordOf(kind, value) {
  return table[kind]?.[value] ?? { label: value, tone: "quiet" };
}

/** Makes a word (the markup of _word.html) say another value. True when that changed what is seen. */
export function setWord(element, kind, value) {
  const { label, tone } = wordOf(kind, value);
  const text = element.lastElementChild;
  if (text.textContent === label && element.dataset.tone === tone) return false;
  text.textContent = label;
  element.dataset.tone = tone;
  return true;
}
