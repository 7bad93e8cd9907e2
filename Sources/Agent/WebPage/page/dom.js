// Elements. No state.
import { ago, dateTime } from "./words.js";

/**
 * An element. Names that begin with `on` are listeners; `class`, `for` and the like are attributes; true is an empty
 * attribute, false, null and undefined are none. Children are nodes, texts or lists of these. Text stays text: nothing
 * of what a peer says is ever read as HTML.
 */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/** Puts these children in the place of those that are there. */
export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** A button that says what it does; `run` may be async, and the button rests while it runs. */
export function button(label, run, attributes = {}) {
  const element = h("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", async (event) => {
    element.disabled = true;
    try { await run(event); } finally { element.disabled = false; }
  });
  return element;
}

/** A `time` element that says how long ago, with the whole of it as its title; text (RFC 3339) or nothing. */
export function when(text, now = Date.now()) {
  const time = text ? Date.parse(text) : NaN;
  if (Number.isNaN(time)) return h("span", {}, "–");
  const seconds = (now - time) / 1000;
  return h("time", { datetime: text, title: dateTime(time) }, seconds < 0 ? dateTime(time) : ago(seconds));
}

/** An icon of icons.svg; it says nothing to screen readers: the word stands beside it. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `/page/icons.svg#${name}`);
  svg.append(use);
  return svg;
}

/** `FOLDER:relative/path`, as the API takes it. */
export function reference(folder, path) { return `${folder}:${path}`; }
