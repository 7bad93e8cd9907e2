// The page: which view is shown, what all views know, and how anything is said or asked.
import * as api from "./api.js";
import { button, h, icon, replace } from "./dom.js";
import { shown as readable } from "./files-names.js";
import { poll } from "./parts.js";
import { spaceBar } from "./space.js";
import { language } from "./language.js";
import { plural, t } from "./words.js";

/**
 * A view is a module with `title`, `icon`, and `mount(root, app)`, which draws into `root` and returns
 * `{ route(parts), unmount() }`: `route` is called with the decoded parts of the address behind the view's name, at once and
 * whenever they change; `unmount` ends what the view began. Optional: `badge(status)`, a number for the view's link; of what `mount`
 * returns, `unsaved()`, the names of what was typed and not saved, and `find()`, which puts the focus into its search.
 */
const names = ["files", "activity", "devices", "attention", "settings", "log"];
const views = new Map();

/** What all views share. */
export const app = {
  api,
  /** The last status document; null before the first. */
  status: null,
  /** Calls `listen(status)` now, if there is one, and with each new one; returns what ends that. */
  onStatus(listen) {
    statusListeners.add(listen);
    if (app.status) listen(app.status);
    return () => statusListeners.delete(listen);
  },
  /** Calls `listen(event)` with each event of the agent; `{type:"gap"}` says that all may have changed. */
  onEvent(listen) {
    eventListeners.add(listen);
    return () => eventListeners.delete(listen);
  },
  /** Asks for the status soon; many calls are one. */
  refresh() {
    if (!refreshing) refreshing = setTimeout(load, 150);
  },
  go(view, ...parts) { location.hash = address(view, ...parts); },
  address,
  /** Says a thing that happened: to screen readers, and for a while below; `undo` takes it back, where that can be done. */
  say(text, undo) {
    const words = lines(text);
    document.getElementById("said").textContent = undo ? t`${words} It can be undone.` : words;
    notice(words, "info", undo ? 20_000 : 6000, undo);
  },
  /** Shows an error and what to do, until it is closed. */
  fail(error) {
    if (error.name === "AbortError" || error.status === 401) return;
    notice(lines(error.message), "error").classList.toggle("gone", isOfNoAgent(error));
  },
  /** The same of what is asked again by itself: as long as the agent does not answer the bar says so. */
  failAgain(error) { if (!isOfNoAgent(error)) app.fail(error); },
  /** Runs what may fail, and shows why it did. */
  async attempt(work) {
    try { return await work(); } catch (error) { app.fail(error); return undefined; }
  },
  ask,
  /** The name of a device as it may be shown, if the status has one, else the beginning of its id. */
  deviceName(id) {
    if (!id) return "";
    if (app.status?.device === id) return t`this device`;
    return readable(app.status?.devices.find((device) => device.id === id)?.name || id.slice(0, 7));
  },
  /** The same of a folder, or its id. */
  folderName(id) {
    return readable(app.status?.folders.find((folder) => folder.id === id)?.label || id);
  },
};

const statusListeners = new Set();
const eventListeners = new Set();
let refreshing = null;
/** The view that is shown, and the address that it is at. */
let shown = { name: null, view: null, address: "" };
/** Whether this browser is logged out; and what the view shows again when it is not any more. */
let isLoggedOut = false;
let kept = null;
let isAsking = false;
let isListening = false;
/** Whether the view that is on its way gets the focus into its search. */
let isFinding = false;

function address(view, ...parts) {
  return "#/" + [view, ...parts].map(encodeURIComponent).join("/");
}

/**
 * A question in a dialog: `{title, body, choices: [{label, value, kind?}]}`, body text or nodes. The promise ends with the
 * chosen value, or null for Escape. The first choice has the focus: put the safe one first; or a field with `autofocus`.
 */
function ask({ title, body, choices }) {
  return new Promise((resolve) => {
    const heading = h("h2", { id: "question" }, readable(title));
    const dialog = h("dialog", { "aria-labelledby": "question" }, heading, h("div", { class: "body" }, body));
    const finish = (value) => { dialog.close(); dialog.remove(); resolve(value); };
    dialog.append(h("div", { class: "choices" }, choices.map(({ label, value, kind }) =>
      h("button", { type: "button", class: kind, onclick: () => finish(value) }, label))));
    dialog.addEventListener("cancel", (event) => { event.preventDefault(); finish(null); });
    document.body.append(dialog);
    dialog.showModal();
    // Enter in a field is the button that goes on.
    dialog.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !event.target.matches("input:not([type=checkbox], [type=radio], [readonly])")) return;
      event.preventDefault();
      dialog.querySelector(".choices .main")?.click();
    });
    (dialog.querySelector("[autofocus]") ?? dialog.querySelector(".choices button"))?.focus();
  });
}

/** Whether an error only means that no agent answers at the moment. */
function isOfNoAgent(error) { return error.code === "no-agent" || error.code === "stopping"; }

/** What is said, with the names in it as they may be shown. */
function lines(text) { return text.split("\n").map(readable).join("\n"); }

function notice(text, kind, time, undo) {
  const notices = document.getElementById("notices");
  // The same thing said twice is one notice.
  for (const other of notices.children) if (other.dataset.text === text) other.remove();
  while (notices.children.length >= 5) notices.firstChild.remove();
  const box = h("div", { class: `notice ${kind}`, "data-text": text }, h("p", {}, text));
  if (undo) {
    box.append(button(t`Undo`, async () => {
      await app.attempt(undo);
      box.remove();
      document.getElementById("view").focus?.({ preventScroll: true });
    }, { class: "undo", title: t`Ctrl+Z undoes the last change` }));
  }
  box.append(button(t`Close`, () => box.remove()));
  notices.append(box);
  if (time) leaveAfter(box, time);
  return box;
}

/** Takes a notice away after a time, unless somebody is about to press something in it. */
function leaveAfter(box, time) {
  setTimeout(() => {
    if (box.matches(":hover, :focus-within")) leaveAfter(box, time);
    else box.remove();
  }, time);
}

/** Ctrl+Z takes the last change back that a notice offers to undo; in a field it is the browser's. */
function undoByKey(event) {
  if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  if (event.target.closest?.("dialog, textarea, input:not([type=checkbox])")) return;
  const last = [...document.querySelectorAll("#notices .undo")].at(-1);
  if (!last || last.disabled) return;
  event.preventDefault();
  last.click();
}

/** `/` leads to the search of files from everywhere but a field, a question or a menu. */
function findByKey(event) {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isLoggedOut) return;
  if (document.querySelector("dialog[open]") || event.target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [role=menu]")) return;
  event.preventDefault();
  if (shown.name === "files") return shown.view.find();
  isFinding = true;
  app.go("files");
}

/** When the pointer went down that still is; null if none is. */
let pressedAt = null;
addEventListener("pointerdown", () => { pressedAt = performance.now(); }, true);
for (const type of ["pointerup", "pointercancel", "blur"]) addEventListener(type, () => { pressedAt = null; }, true);
// Some browsers do not tell when a scroll bar is let go.
addEventListener("pointermove", (event) => { if (!event.buttons) pressedAt = null; }, true);

async function load() {
  refreshing = null;
  const version = app.status?.version;
  let status;
  try {
    status = await api.get("status");
  } catch (error) {
    if (error.status !== 401) sayState(error.message);
    return;
  }
  // An element that is redrawn between press and release loses the click.
  if (pressedAt !== null && performance.now() - pressedAt < 10_000) return app.refresh();
  app.status = status;
  // An agent of another version may have another page.
  if (version && app.status.version !== version) {
    if (unsaved().length === 0) return location.reload();
    notice(t`synctrain was updated. Save what you typed and reload the page.`, "info");
  }
  drawBar();
  for (const listen of statusListeners) listen(app.status);
}

/** At the right of the bar, where it may be cut off. */
function sayState(text) {
  const state = document.getElementById("state");
  state.textContent = state.title = text;
}

function drawBar() {
  const { status } = app;
  document.getElementById("device").textContent = status.name;
  const connected = status.devices.filter((device) => device.connected && device.acceptance !== "needed").length;
  const working = status.folders.filter((folder) => ["syncing", "scanning", "receiving-index"].includes(folder.state)).length;
  sayState([t`${connected} of ${status.devices.length} devices connected`, working > 0 && plural(working, "{1} folder active", "{1} folders active")].filter(Boolean).join(", "));
  drawLinks();
}

function drawLinks() {
  replace(document.getElementById("views"), names.map((name) => {
    const view = views.get(name);
    const badge = app.status && view.badge?.(app.status);
    return h("a", { href: address(name), "aria-current": shown.name === name && "page" },
      icon(view.icon), h("span", {}, view.title),
      badge ? h("span", { class: "badge" }, String(badge), h("span", { class: "unseen" }, " ", t`to review`)) : null);
  }));
}

function unsaved() { return shown.view?.unsaved?.() ?? []; }

/** Shows what the address says; asks before something that was typed is lost. */
async function follow() {
  if (isLoggedOut || isAsking) return;
  if (location.hash !== shown.address && unsaved().length > 0) {
    isAsking = true;
    const choice = await ask({
      title: t`Discard what you typed?`, body: h("p", {}, t`Not saved: ${unsaved().join(", ")}.`),
      choices: [{ label: t`Stay`, value: null }, { label: t`Discard and leave`, value: "leave", kind: "danger" }],
    });
    isAsking = false;
    if (choice !== "leave") {
      isFinding = false;
      history.replaceState(null, "", shown.address || "#");
      return;
    }
  }
  show();
}

function show() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map((part) => {
    try { return decodeURIComponent(part); } catch { return part; }
  });
  const name = names.includes(parts[0]) ? parts[0] : names[0];
  if (shown.name !== name) {
    shown.view?.unmount?.();
    const root = document.getElementById("view");
    replace(root);
    root.className = name;
    shown = { name, view: views.get(name).mount(root, app), address: location.hash };
    document.title = `${views.get(name).title} – synctrain`;
    drawLinks();
  }
  shown.address = location.hash;
  shown.view.route?.(parts.slice(1));
  if (isFinding) shown.view.find?.();
  isFinding = false;
}

/** Shows how to log in until this browser is logged in again, here or in another tab. What was typed is kept out of sight. */
function showLogin() {
  if (isLoggedOut) return;
  isLoggedOut = true;
  document.getElementById("space").hidden = true;
  const root = document.getElementById("view");
  kept = unsaved().length > 0 ? [...root.childNodes] : null;
  if (!kept) {
    shown.view?.unmount?.();
    shown = { name: null, view: null, address: "" };
  }
  // A question that is open is answered as by Escape.
  for (const dialog of document.querySelectorAll("dialog")) dialog.dispatchEvent(new Event("cancel", { cancelable: true }));
  const retry = async () => {
    try { await api.get("status"); } catch { return; }
    if (!isLoggedOut) return;
    stop();
    isLoggedOut = false;
    if (kept) replace(root, kept);
    kept = null;
    begin();
  };
  replace(root, h("section", { class: "empty login" },
    h("h2", {}, t`This browser is not logged in`),
    // What other machines reach is encrypted, and only there is a password.
    location.protocol === "https:" ? passwordForm(retry) : [
      h("p", {}, t`In a terminal on this machine, run`), h("pre", {}, "synctrain ui"),
      h("p", {}, t`It opens this page with a login link that works once and expires after a minute.`)]));
  document.getElementById("password")?.focus();
  const stop = poll(retry, 3000);
}

/** Asks for the password; calls `entered` when it was the right one. */
function passwordForm(entered) {
  const input = h("input", { type: "password", id: "password", name: "password", autocomplete: "current-password", required: true, maxlength: "1024" });
  const button = h("button", { type: "submit", class: "primary" }, t`Log in`);
  const words = h("p", { class: "bad whole", role: "alert" });
  return h("form", { class: "password", onsubmit: async (event) => {
    event.preventDefault();
    button.disabled = true;
    words.textContent = "";
    try {
      await api.logIn(input.value);
      await entered();
    } catch (error) {
      words.textContent = error.message;
      input.select();
    } finally {
      button.disabled = false;
    }
  } },
  // For password managers, which file a password under a name.
  h("input", { type: "text", name: "username", autocomplete: "username", value: "synctrain", hidden: true, tabindex: "-1", "aria-hidden": "true" }),
  h("p", {}, h("label", { for: "password" }, t`Password of this page`)),
  h("div", { class: "control" }, input, button), words,
  h("p", { class: "quiet" }, t`Forgotten? On that machine, run ${h("code", {}, "synctrain ui --set-password")}.`));
}

/** Shows everything, and follows what happens; again after this browser was logged out. */
async function begin() {
  await load();
  if (isLoggedOut) return;
  follow();
  if (isListening) {
    // Who was logged out has missed what happened.
    for (const listen of eventListeners) listen({ type: "gap" });
    return;
  }
  isListening = true;
  spaceBar(document.getElementById("space"), app);
  api.events((event) => {
    app.refresh();
    for (const listen of eventListeners) listen(event);
  }, () => app.refresh(), (isConnected) => {
    document.body.classList.toggle("away", !isConnected);
    if (!isConnected) return sayState(t`The agent does not answer; retrying.`);
    // It answers again.
    for (const box of document.querySelectorAll("#notices .gone")) box.remove();
    return app.refresh();
  });
}

document.documentElement.lang = language;
document.querySelector(".skip").textContent = t`To the content`;
document.getElementById("views").setAttribute("aria-label", t`Views`);
document.getElementById("space").setAttribute("aria-label", t`Space`);
for (const name of names) views.set(name, await import(`./${name}.js`));
api.onLoggedOut(showLogin);
window.addEventListener("hashchange", follow);
document.addEventListener("keydown", undoByKey);
document.addEventListener("keydown", findByKey);
window.addEventListener("beforeunload", (event) => { if (unsaved().length > 0) event.preventDefault(); });
drawLinks();
begin();
