// What the views Activity, Devices, Attention and Log draw with.
import { h, replace } from "./dom.js";
import { said, t } from "./words.js";

const drawn = new WeakMap();

/**
 * Draws what `make` returns into `element` if `value` is another than the last time. What had the focus has it again: the
 * element with the same `data-key`.
 */
export function draw(element, value, make) {
  const text = JSON.stringify(value);
  if (drawn.get(element) === text) return;
  drawn.set(element, text);
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  const key = focused?.dataset.key;
  replace(element, make());
  if (!focused) return;
  const next = key && element.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (next) next.focus({ preventScroll: true });
  else element.closest("section")?.querySelector("h2, h3")?.focus({ preventScroll: true });
}

/** A button that does one thing at a time and keeps the focus while it does. */
export function act(label, run, attributes = {}) {
  let isBusy = false;
  const element = h("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", async (event) => {
    if (isBusy) return;
    isBusy = true;
    element.setAttribute("aria-busy", "true");
    try { await run(event); } finally { isBusy = false; element.removeAttribute("aria-busy"); }
  });
  return element;
}

/** A section with a heading, and its body, which is to be drawn into. */
export function section(title, ...more) {
  const body = h("div", {});
  const element = h("section", { class: "part" }, h("header", {}, h("h2", { tabindex: "-1" }, title), more), body);
  return { element, body };
}

/** A text field, a list or a box with its label above it. */
export function field(label, control, hint) {
  return h("label", { class: "field" }, h("span", {}, label), control, hint && h("small", { class: "quiet" }, hint));
}

/** A list of options, each a value or `[value, label]`; `chosen` is the value that is chosen. */
export function choice(options, chosen, attributes = {}) {
  return h("select", attributes, options.map((option) => {
    const [value, label] = Array.isArray(option) ? option : [option, option];
    return h("option", { value, selected: value === chosen }, label);
  }));
}

/** Runs `work` at once and then every so many milliseconds while the page is seen; returns what ends that. */
export function poll(work, interval) {
  let isOver = false;
  let timer = null;
  const step = async () => {
    timer = null;
    if (!document.hidden) await work();
    if (!isOver && timer === null) timer = setTimeout(step, interval);
  };
  const seen = () => {
    if (document.hidden || timer === null) return;
    clearTimeout(timer);
    step();
  };
  document.addEventListener("visibilitychange", seen);
  step();
  return () => {
    isOver = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}

/** Calls `work` after the first of many calls, at most once in so many milliseconds, and never while it still runs. */
export function soon(work, pause = 300) {
  let timer = null;
  let isRunning = false;
  let last = -Infinity;
  const call = () => { timer ??= setTimeout(run, Math.max(30, isRunning ? pause : last + pause - performance.now())); };
  const run = async () => {
    timer = null;
    if (isRunning) return call();
    isRunning = true;
    try { await work(); } finally { isRunning = false; last = performance.now(); }
    return undefined;
  };
  call.stop = () => clearTimeout(timer);
  return call;
}

/** What a link is carried by, for people. */
export function transportName(word) {
  return { tcp: "TCP", "tcp-lan": t`TCP in this network`, "tcp-wan": "TCP", l2cap: "Bluetooth L2CAP", gatt: "Bluetooth GATT", virtual: t`virtual radio` }[word] ?? word ?? "";
}

/** What a folder does, in words. */
export function stateName(state) {
  return {
    idle: t`up to date`, paused: t`paused`, stopped: t`stopped`, starting: t`starting`, scanning: t`scanning`,
    "receiving-index": t`receiving the index`, syncing: t`syncing`, fetching: t`downloading`,
    "halted-marker-missing": t`halted: the marker is missing`, "halted-root-missing": t`halted: the directory is missing`,
    "halted-root-emptied": t`halted: all files are missing`, "halted-mass-delete": t`halted: mass deletion`,
    "selection-error": t`the selection cannot be read`, "low-space": t`too little space`, error: t`in error`,
  }[state] ?? state;
}

export function isHalted(folder) { return folder.state.startsWith("halted-"); }
export function isFailed(folder) { return isHalted(folder) || ["error", "selection-error", "low-space"].includes(folder.state); }

/** `tcp://10.0.0.2:22000, dynamic` as a list. */
export function addressList(text) { return text.split(/[\s,]+/).filter(Boolean); }

/** A message and what to do about it. */
export function trouble(what, message, remedy, ...actions) {
  return h("li", { class: "trouble" }, h("strong", {}, what), h("p", {}, said(message)), remedy && h("p", { class: "remedy" }, said(remedy)),
    actions.length > 0 && h("div", { class: "tools" }, actions));
}
