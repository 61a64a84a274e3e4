// The page of a cluster that is not connected tries again by itself.

const EVERY_MS = 3000;

if (document.querySelector("[data-retries]")) {
  setInterval(async () => {
    const answer = document.hidden ? null : await fetch(location.href, { method: "GET" }).catch(() => null);
    if (answer?.ok) location.reload();
  }, EVERY_MS);
}
