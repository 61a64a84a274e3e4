// Work that is due once for all messages that have come already: after them, and before anything else.
// A frame would be up to sixteen milliseconds later, and a hidden tab has none.

const channel = new MessageChannel();
let due = null;

channel.port1.onmessage = () => {
  const act = due;
  due = null;
  act();
};

/** Does this soon, and only once however often it is asked for meanwhile. */
export function soon(act) {
  if (due === null) channel.port2.postMessage(null);
  due = act;
}
