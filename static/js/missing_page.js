// The page of a group that is not there: it opens the group the moment it appears.

import { follow } from "./live.js";

const place = document.getElementById("missing");
const path = `ws/clusters/${place.dataset.cluster}/groups/${place.dataset.key}/`;

follow({
  path,
  onMessage(message) {
    if (message.group || message.changes?.state) location.reload();
  },
  async poll() {
    if ((await fetch(location.href)).ok) location.reload();
    return null;
  },
});
