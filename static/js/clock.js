// The server's time. The two clocks may differ by minutes, and countdowns and ages are told by the server's.

let offsetMs = null;

/** Takes a time that the server just sent. The smallest delay seen is the nearest to the truth. */
export function heard(iso) {
  const seen = Date.parse(iso) - Date.now();
  if (Number.isFinite(seen) && (offsetMs === null || seen > offsetMs)) offsetMs = seen;
}

/** Milliseconds since 1970 by the server's clock. */
export function now() {
  return Date.now() + (offsetMs ?? 0);
}
