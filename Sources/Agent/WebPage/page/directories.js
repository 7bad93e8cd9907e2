// Choosing a directory of the device that the agent runs on: a dialog that walks through directories.
import { h, icon, replace } from "./dom.js";
import { shown } from "./files-names.js";
import { act, field } from "./parts.js";
import { locale } from "./language.js";
import { number, plural, t } from "./words.js";

const order = new Intl.Collator(locale, { numeric: true, sensitivity: "base" });

export function joined(directory, name) { return directory === "/" ? `/${name}` : `${directory}/${name}`; }
function above(path) { return path.slice(0, Math.max(1, path.lastIndexOf("/"))); }

/**
 * A labelled field for a directory, with a button that chooses one. `isNew` offers to name a directory that is made later, by whoever
 * takes the path.
 */
export function directoryField(app, label, input, hint, { isNew = false, title = t`Choose a directory` } = {}) {
  return h("div", { class: "choosing" }, field(label, input, hint), directoryButton(app, input, { isNew, title }));
}

export function directoryButton(app, input, options) {
  return act(t`Choose a directory…`, async () => {
    const path = await chooseDirectory(app, { start: input.value.trim(), ...options });
    if (path !== null) {
      input.value = path;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
    input.focus();
  });
}

/** Answers a full path, or null. It begins at `start` or, where that does not exist, at what does of it. */
export function chooseDirectory(app, { title, start = "", isNew = false }) {
  return new Promise((resolve) => new Chooser(app, title, isNew, resolve).open(start));
}

class Chooser {
  constructor(app, title, isNew, resolve) {
    this.app = app;
    this.resolve = resolve;
    this.isNew = isNew;
    this.listing = null;
    this.typed = { text: "", at: 0 };
    this.place = h("p", { class: "mono path", role: "status" });
    this.up = h("button", { type: "button", onclick: () => this.#up() }, t`Up`);
    this.home = h("button", { type: "button", onclick: () => this.#go(this.listing.home) }, t`Home directory`);
    this.hidden = h("input", { type: "checkbox", onchange: () => this.#go(this.listing?.path) });
    this.list = h("ul", { class: "directories", "aria-label": t`Directories` });
    this.list.addEventListener("keydown", (event) => this.#key(event));
    this.notes = h("div", { role: "status" });
    this.name = h("input", { type: "text", autocomplete: "off", spellcheck: "false", maxlength: "255", oninput: () => this.#showPath() });
    this.name.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); this.use.click(); } });
    this.use = h("button", { type: "button", class: "main", onclick: () => this.#finish(this.path) }, t`Use this directory`);
    this.dialog = h("dialog", { "aria-labelledby": "choosing-title", class: "chooser" }, h("h2", { id: "choosing-title" }, title),
      h("div", { class: "body" },
        h("div", { class: "tools" }, this.up, this.home, h("label", { class: "check" }, this.hidden, h("span", {}, t`Show hidden`))),
        this.list, this.notes, isNew && field(t`New directory in it`, this.name, t`optional`), this.place),
      h("div", { class: "choices" }, h("button", { type: "button", onclick: () => this.#finish(null) }, t`Cancel`), this.use));
    this.dialog.addEventListener("cancel", (event) => { event.preventDefault(); this.#finish(null); });
  }

  /** The directory that would be used. */
  get path() {
    const name = this.name.value.trim();
    return name ? joined(this.listing.path, name) : this.listing.path;
  }

  async open(start) {
    this.use.disabled = true;
    document.body.append(this.dialog);
    this.dialog.showModal();
    // What is proposed may be made only later: then its name is that of a new directory.
    let path = /^[~/]/.test(start) ? start.replace(/(.)\/+$/, "$1") : "";
    const missing = [];
    for (;;) {
      try {
        this.#show(await this.#ask(path));
        break;
      } catch (error) {
        if (error.code !== "no-such-path" || path === "" || !path.includes("/") || path === "/") { this.#fail(error); break; }
        missing.unshift(path.slice(path.lastIndexOf("/") + 1));
        path = above(path);
      }
    }
    if (this.isNew && missing.length > 0 && this.listing) this.name.value = missing.join("/");
    this.#showPath();
    this.#focusList();
  }

  #ask(path) { return this.app.api.get("directories", { path: path || undefined, hidden: this.hidden.checked || undefined }); }

  async #go(path, from) {
    try { this.#show(await this.#ask(path)); } catch (error) { return this.#fail(error); }
    this.#showPath();
    this.#focusList(from);
    return undefined;
  }

  #up() {
    const { path } = this.listing ?? {};
    if (!path || path === "/") return;
    this.#go(above(path), path.slice(path.lastIndexOf("/") + 1));
  }

  #fail(error) {
    if (error.status === 401) return this.#finish(null);
    replace(this.notes, h("p", { class: "bad" }, error.message));
    if (!this.listing) { this.up.disabled = true; this.home.disabled = true; }
    return undefined;
  }

  #show(listing) {
    this.listing = listing;
    this.use.disabled = false;
    this.up.disabled = listing.path === "/";
    this.home.hidden = !listing.home || listing.home === listing.path;
    const sorted = [...listing.directories].sort((a, b) => order.compare(a.name, b.name));
    replace(this.list, sorted.map((directory) => h("li", {}, h("button", {
      type: "button", class: "plain", tabindex: "-1", "data-name": directory.name, "aria-disabled": !directory.readable && "true",
      onclick: () => { if (directory.readable) this.#go(joined(listing.path, directory.name)); },
    }, icon("folder"), h("bdi", {}, shown(directory.name)),
    directory.folder && h("span", { class: "tag" }, t`folder ${this.app.folderName(directory.folder)}`),
    !directory.readable && h("span", { class: "quiet" }, t`not readable for the agent`)))));
    replace(this.notes,
      sorted.length === 0 && h("p", { class: "quiet" }, t`No directories in it.`),
      !listing.whole && h("p", { class: "warn" }, t`Only ${number(sorted.length)} are listed; there are more. Type the path where this was opened.`),
      listing.unnameable > 0 && h("p", { class: "warn" }, plural(listing.unnameable, "{1} directory is not listed: its name cannot be shown.",
        "{1} directories are not listed: their names cannot be shown.")),
      !listing.writable && h("p", { class: "warn" }, t`The agent may not write in this directory.`));
  }

  #showPath() { this.place.textContent = this.listing ? shown(this.path) : ""; }

  #buttons() { return [...this.list.querySelectorAll("button")]; }

  /** The first directory has the tab stop, or that which was left. */
  #focusList(name) {
    const buttons = this.#buttons();
    const next = buttons.find((button) => button.dataset.name === name) ?? buttons[0];
    this.#stopAt(next ?? null);
    (next ?? (this.use.disabled ? this.dialog.querySelector(".choices button") : this.use)).focus();
  }

  #stopAt(button) {
    for (const other of this.#buttons()) other.tabIndex = other === button ? 0 : -1;
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const buttons = this.#buttons();
    const at = buttons.indexOf(document.activeElement);
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1, PageDown: at + 10, PageUp: at - 10 };
    const { key } = event;
    if (key in moves) this.#focus(buttons[Math.min(buttons.length - 1, Math.max(0, moves[key]))]);
    else if (key === "ArrowRight") buttons[at]?.click();
    else if (key === "Backspace" || key === "ArrowLeft") this.#up();
    else if (key.length === 1 && key !== " ") this.#type(key, buttons, at);
    else return;
    event.preventDefault();
  }

  #focus(button) {
    if (!button) return;
    this.#stopAt(button);
    button.focus();
  }

  /** Letters that follow one another soon are the beginning of a name. */
  #type(key, buttons, at) {
    const now = performance.now();
    const isNew = now - this.typed.at > 1000;
    this.typed = { text: (isNew ? "" : this.typed.text) + key.toLowerCase(), at: now };
    const starts = (button) => button.dataset.name.toLowerCase().startsWith(this.typed.text);
    this.#focus(buttons.slice(isNew ? at + 1 : at).find(starts) ?? buttons.find(starts));
  }

  #finish(path) {
    this.dialog.close();
    this.dialog.remove();
    this.resolve(path);
  }
}
