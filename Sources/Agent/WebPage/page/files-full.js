// A picture or a film over the whole window, and from there the next one.
import { h, icon, reference, replace, when } from "./dom.js";
import { kindOf, nameOf, shown, stateOf } from "./files-names.js";
import { previewOf } from "./files-preview.js";
import { bytes, number, t } from "./words.js";

/** How many entries are looked at for the next picture at once. */
const step = 200;
/** A finger that goes so many pixels to the side means the next picture. */
const swipe = 60;

/** Whether an entry can be shown over the whole window. */
export function isViewable(entry) { return entry.type === "file" && ["picture", "photo", "film"].includes(kindOf(entry)); }

/**
 * `actions`: `details(entry)`, `closed(index, entry)` with the place in the list of what was seen last, -1 if it is not known. The dialog
 * keeps the focus, and gives it back.
 */
export class FullWindow {
  constructor(app, actions) {
    this.app = app;
    this.actions = actions;
    this.dialog = null;
  }

  get isOpen() { return this.dialog !== null; }

  /** Shows an entry of a list. */
  open(source, entry) {
    if (this.isOpen) return;
    this.source = source;
    this.index = -1;
    this.#build();
    document.body.append(this.dialog);
    this.dialog.showModal();
    // Going back in the browser closes it, as it does for a page of its own.
    history.pushState({ full: true }, "", location.href);
    this.leaving = new AbortController();
    window.addEventListener("popstate", () => this.#end(), { signal: this.leaving.signal });
    this.#show(entry);
    this.title.focus();
  }

  /** Closes it, and ends when the browser is back where it was. */
  async close() {
    if (!this.isOpen || this.closing) return;
    this.closing = true;
    await new Promise((resolve) => {
      window.addEventListener("popstate", resolve, { once: true });
      history.back();
    });
    this.closing = false;
  }

  /** Takes it away where its view goes; the address is another one already. */
  remove() {
    if (!this.isOpen) return;
    this.leaving.abort();
    this.preview?.close();
    this.dialog.close();
    this.dialog.remove();
    this.dialog = this.preview = null;
  }

  #end() {
    if (!this.isOpen) return;
    const { entry } = this;
    const index = this.#place();
    this.remove();
    this.actions.closed(index, entry);
  }

  #build() {
    this.title = h("h2", { id: "full-title", tabindex: "-1", "aria-live": "polite" });
    this.count = h("span", { class: "quiet" });
    this.facts = h("p", { class: "facts-line" });
    this.stage = h("div", { class: "stage" });
    this.download = h("a", { class: "button", "aria-label": t`Download`, title: t`Download` }, icon("download"));
    this.back = this.#turner(-1, t`Previous picture`, "chevron");
    this.forth = this.#turner(1, t`Next picture`, "chevron");
    const details = h("button", { type: "button", "aria-label": t`Details`, title: t`Details` }, icon("info"));
    details.addEventListener("click", async () => { const { entry } = this; await this.close(); this.actions.details(entry); });
    const close = h("button", { type: "button", "aria-label": t`Close`, title: t`Close`, onclick: () => this.close() }, icon("close"));
    this.dialog = h("dialog", { class: "full", "aria-labelledby": "full-title" },
      h("header", {}, this.title, this.count, h("div", { class: "tools" }, details, this.download, close)),
      h("div", { class: "middle-row" }, this.back, this.stage, this.forth), this.facts);
    this.dialog.addEventListener("cancel", (event) => { event.preventDefault(); this.close(); });
    this.dialog.addEventListener("keydown", (event) => {
      // A film seeks with the arrows while it has the focus.
      if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("video, audio")) return;
      const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!direction) return;
      event.preventDefault();
      this.#turn(direction);
    });
    let from = null;
    this.stage.addEventListener("touchstart", ({ touches }) => { from = touches.length === 1 ? touches[0] : null; }, { passive: true });
    this.stage.addEventListener("touchend", ({ changedTouches: [to], target }) => {
      if (!from || target.closest("video, audio")) return;
      const [x, y] = [to.clientX - from.clientX, to.clientY - from.clientY];
      if (Math.abs(x) > swipe && Math.abs(x) > 2 * Math.abs(y)) this.#turn(x < 0 ? 1 : -1);
    }, { passive: true });
  }

  #turner(direction, label, name) {
    const button = h("button", { type: "button", class: direction < 0 ? "turn back" : "turn", "aria-label": label, title: label }, icon(name));
    button.addEventListener("click", () => this.#turn(direction));
    return button;
  }

  #place() {
    const { entry, source } = this;
    const found = source.findKnown((known) => known.path === entry.path && known.folder === entry.folder);
    return found >= 0 ? found : this.index;
  }

  async #turn(direction) {
    const { source, dialog } = this;
    const asked = this.turning = {};
    let found;
    try { found = await next(source, this.#place(), direction, () => this.dialog === dialog && this.turning === asked); } catch (error) { return this.#say(error.message); }
    if (this.dialog !== dialog || this.turning !== asked) return undefined;
    if (!found) {
      (direction < 0 ? this.back : this.forth).setAttribute("aria-disabled", "true");
      return this.#say(direction < 0 ? t`This is the first picture.` : t`This is the last picture.`);
    }
    this.index = found.index;
    return this.#show(found.entry);
  }

  #say(text) { replace(this.facts, h("span", { role: "alert" }, text)); }

  #show(entry) {
    const name = shown(nameOf(entry.path));
    this.entry = entry;
    this.index = this.#place();
    this.preview?.close();
    this.preview = previewOf(this.app, entry);
    replace(this.stage, this.preview.element);
    replace(this.title, h("bdi", {}, name));
    this.download.href = this.app.api.fileURL(reference(entry.folder, entry.path), { download: true });
    this.download.download = nameOf(entry.path);
    for (const button of [this.back, this.forth]) button.removeAttribute("aria-disabled");
    const state = stateOf(entry);
    replace(this.facts, h("span", { class: `tag ${state.tone}`, title: state.title }, icon(state.icon), h("span", {}, state.word)),
      h("span", {}, bytes(entry.size)), entry.modified ? when(entry.modified) : null);
    this.count.textContent = this.#counted();
  }

  /** Which of how many it is, where all of them are known. */
  #counted() {
    if (!this.source.isWhole || this.index < 0) return "";
    const all = this.source.known.filter(isViewable);
    const at = all.findIndex(({ folder, path }) => folder === this.entry.folder && path === this.entry.path);
    return at < 0 ? "" : t`${number(at + 1)} of ${number(all.length)}`;
  }
}

/** The next entry in a direction that can be shown, `{entry, index}`; null if there is none. Pages that are not known are asked for. */
async function next(source, from, direction, isWanted) {
  const total = source.total ?? 0;
  let index = from + direction;
  while (index >= 0 && index < total && isWanted()) {
    const [first, last] = direction > 0 ? [index, Math.min(total - 1, index + step - 1)] : [Math.max(0, index - step + 1), index];
    const entries = await source.range(first, last);
    if (!entries || !isWanted()) return null;
    const at = direction > 0 ? entries.findIndex(isViewable) : entries.findLastIndex(isViewable);
    if (at >= 0) return { entry: entries[at], index: first + at };
    index = direction > 0 ? last + 1 : first - 1;
  }
  return null;
}
