// What every page has: times, colours, dialogs, copying, keys. Each is a module of its own.

import "./theme.js";
import "./times.js";
import "./dialogs.js";
import "./copying.js";
import "./keyboard.js";
import "./retrying.js";
