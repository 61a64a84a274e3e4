// Follows one live socket: opens it, comes back to it, rests while the tab is hidden, and polls where it cannot be had.
// Must not know: what the messages are about.

import * as age from "./age.js";
import { heard } from "./clock.js";

const RETRY_MS = [100, 300, 1000, 2000, 4000];
const POLL_MS = 3000;
const RETRY_WHILE_POLLING_MS = 15_000;
const FAILURES_BEFORE_POLLING = 3;
const SILENT_MS = 12_000;
const HIDDEN_MS = 20_000;

const ENDS = {
  4400: "The console does not understand what this page asked for.",
  4403: "You may no longer see this.",
  4404: "What this page shows is not there for you.",
};

/**
 * Opens a socket at `path` (below the base path) and keeps it open.
 *
 * `onMessage(message)` gets every message but pings without news; `poll()` fetches the page anew, answers its age in
 * milliseconds, and fails when the console does not answer. Answers a handle with `close()`.
 */
export function follow({ path, onMessage, poll }) {
  const live = new Live(path, onMessage, poll);
  live.open();
  return live;
}

class Live {
  constructor(path, onMessage, poll) {
    this.path = path;
    this.onMessage = onMessage;
    this.poll = poll;
    this.since = null;
    this.failures = 0;
    this.opened = false;
    this.timers = {};
    this.seeVisibility = () => this.visibility();
    document.addEventListener("visibilitychange", this.seeVisibility);
  }

  open() {
    clearTimeout(this.timers.retry);
    const url = new URL(document.body.dataset.base + this.path, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    if (this.since) url.searchParams.set("since", this.since);
    this.socket = new WebSocket(url);
    this.socket.onopen = () => this.began();
    this.socket.onmessage = (event) => this.take(JSON.parse(event.data));
    this.socket.onclose = (event) => this.lost(event.code);
  }

  close() {
    document.removeEventListener("visibilitychange", this.seeVisibility);
    this.drop();
  }

  began() {
    this.opened = true;
    this.failures = 0;
    clearTimeout(this.timers.poll);
    delete this.timers.poll;
    this.watch();
  }

  take(message) {
    this.watch();
    if (message.id) this.since = message.id;
    if (message.at) heard(message.at);
    age.live(message.snapshot_age_ms);
    this.onMessage(message);
  }

  /** A socket that says nothing, not even a ping, is dead without having said so. */
  watch() {
    clearTimeout(this.timers.silence);
    this.timers.silence = setTimeout(() => this.socket.close(), SILENT_MS);
  }

  lost(code) {
    clearTimeout(this.timers.silence);
    if (code in ENDS) {
      age.cutOff(ENDS[code]);
      return;
    }
    this.failures += 1;
    if (this.failures >= FAILURES_BEFORE_POLLING) this.startPolling();
    else if (this.opened) age.cutOff("The connection to the console is lost; trying again.");
    const polling = this.timers.poll !== undefined;
    const wait = polling ? RETRY_WHILE_POLLING_MS : RETRY_MS[Math.min(this.failures, RETRY_MS.length) - 1];
    this.timers.retry = setTimeout(() => this.open(), wait);
  }

  startPolling() {
    if (this.timers.poll !== undefined) return;
    const turn = async () => {
      try {
        const old = await this.poll();
        if (this.socket.readyState !== WebSocket.OPEN) {
          const why = "The live socket cannot be opened (does a proxy drop the upgrade?).";
          age.polled(old, `${why} This page asks again every ${POLL_MS / 1000} seconds instead.`);
        }
      } catch {
        age.cutOff("The console does not answer; trying again.");
      }
      if (this.socket.readyState === WebSocket.OPEN || this.resting) delete this.timers.poll;
      else this.timers.poll = setTimeout(turn, POLL_MS);
    };
    this.timers.poll = setTimeout(turn, 0);
  }

  visibility() {
    clearTimeout(this.timers.hide);
    if (document.hidden) {
      this.timers.hide = setTimeout(() => this.rest(), HIDDEN_MS);
    } else if (this.resting) {
      this.resting = false;
      this.failures = 0;
      this.open();
    }
  }

  rest() {
    this.drop();
    age.paused();
  }

  drop() {
    this.resting = true;
    for (const timer of Object.values(this.timers)) clearTimeout(timer);
    this.timers = {};
    leave(this.socket);
  }
}

/**
 * Nothing more is heard of `socket`. One closed while it still opens is an error in the browser's console: it ends as
 * soon as it is open.
 */
function leave(socket) {
  socket.onmessage = null;
  socket.onclose = null;
  if (socket.readyState !== WebSocket.CONNECTING) socket.close();
  else socket.onopen = () => socket.close();
}
