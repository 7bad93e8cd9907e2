// The list of a directory, or of what was found: as many rows as are seen, however many there are.
import { h, replace } from "./dom.js";
import { Rows, columns } from "./files-rows.js";
import { ScrollWindow } from "./files-scroll.js";
import { Tiles } from "./files-tiles.js";
import { t } from "./words.js";

let lists = 0;

/**
 * `actions`: `isPicked(entry)`, `pick(how, first, last)` with `how` "none", "toggle", "range" or "all", `menu(entry, place)`, `open(entry)`, `choose(entry)` for details, `tick(entry)`, `sort(key)`, `moved(index, entry)`, `up()`,
 * `escape()`, `find()`, `seek(text, from)` which answers the index of the next name with that beginning, or -1.
 * The focus stays on the grid, which names the row it is at: rows come and go.
 */
export class FileList {
  constructor(app, thumbnails, actions) {
    this.actions = actions;
    this.source = null;
    this.active = 0;
    /** Where a range of picked entries begins. */
    this.anchor = 0;
    this.chosen = null;
    this.places = { showsPath: false };
    this.window = new ScrollWindow();
    this.typed = { text: "", at: 0 };
    this.id = `list${lists += 1}`;
    this.#build();
    this.faces = { rows: new Rows(this, app, thumbnails), tiles: new Tiles(this, app, thumbnails) };
    this.face = this.faces.rows;
  }

  #build() {
    this.heads = columns.map(({ key, label, sort, short, title }) => h("div", { role: "columnheader", class: `cell ${key}`, title },
      sort
        ? h("button", { type: "button", onclick: () => this.actions.sort(sort) }, label, h("span", { class: "direction", "aria-hidden": "true" }))
        : short ? h("span", { class: "unseen" }, label) : label));
    this.layer = h("div", { class: "layer", role: "presentation" });
    this.spacer = h("div", { class: "spacer", role: "presentation" });
    this.scroller = h("div", { class: "scroller", role: "rowgroup", tabindex: "-1" }, this.layer, this.spacer);
    this.message = h("div", { class: "empty", hidden: true });
    this.element = h("div", { class: "list", role: "grid", tabindex: "0", "aria-multiselectable": "true", "aria-label": t`Files` },
      h("div", { role: "rowgroup" }, h("div", { class: "row head", role: "row", "aria-rowindex": "1" }, this.heads)), this.scroller);
    this.probe = h("div", { class: "probe" });
    this.root = h("div", { class: "listing" }, this.element, this.message, this.probe);

    this.scroller.addEventListener("scroll", () => {
      this.window.scrolled(this.scroller.scrollTop);
      this.#soon();
      // Small steps leave the bar behind where the list is taller than it: put right when nobody moves it.
      clearTimeout(this.settling);
      this.settling = setTimeout(() => {
        // If it was moved meanwhile, that is told in a moment, and is not to be undone.
        if (this.scroller.scrollTop === this.window.lastBar) this.#putBar();
      }, 150);
    }, { passive: true });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.scroller);
    this.element.addEventListener("keydown", (event) => this.#key(event));
    // A press leaves the focus with the grid: the row below the pointer may be gone in a moment.
    this.scroller.addEventListener("mousedown", (event) => {
      if (!event.target.closest(".layer")) return;
      event.preventDefault();
      this.element.focus({ preventScroll: true });
    });
    this.layer.addEventListener("click", (event) => this.#click(event));
    this.layer.addEventListener("contextmenu", (event) => {
      const item = this.face.itemOf(event.target);
      if (!item?.entry) return;
      event.preventDefault();
      this.moveTo(item.index, { quietly: true });
      this.actions.menu(item.entry, { x: event.clientX, y: event.clientY });
    });
    this.layer.addEventListener("dblclick", (event) => {
      const entry = this.face.itemOf(event.target)?.entry;
      if (entry && !event.target.closest(".box")) this.actions.open(entry);
    });
  }

  /** Shows a list from its beginning, or from where somebody left it. */
  show(source, { label, showsPath = false, active = 0, top = 0 }) {
    this.source = source;
    this.places.showsPath = showsPath;
    this.active = active;
    this.element.setAttribute("aria-label", label);
    this.window.top = 0;
    this.restoring = { active, top };
    this.anchor = active;
    this.face.forget();
    this.draw();
  }

  /** As tiles with large pictures, or as rows; at the same entry. */
  set isTiled(isTiled) {
    const face = isTiled ? this.faces.tiles : this.faces.rows;
    if (face === this.face) return;
    this.face.close();
    this.face = face;
    face.forget();
    this.root.classList.toggle("tiled", isTiled);
    this.draw();
    if (!this.restoring && this.source?.total) { this.window.reveal(this.active); this.#putBar(); this.draw(); }
  }

  get isTiled() { return this.face === this.faces.tiles; }

  /** Where the list is, for `show`. */
  get position() { return { active: this.active, top: this.window.top }; }

  focus() { this.element.focus({ preventScroll: true }); }

  close() {
    this.observer.disconnect();
    clearTimeout(this.settling);
    cancelAnimationFrame(this.frame);
  }

  /** Shows how the list is ordered; null where it has an order of its own. */
  showSort(sort, order) {
    columns.forEach(({ sort: key }, i) => {
      const isBy = sort && key === sort;
      this.heads[i].querySelector("button")?.toggleAttribute("disabled", !sort);
      if (isBy) this.heads[i].setAttribute("aria-sort", order === "asc" ? "ascending" : "descending");
      else this.heads[i].removeAttribute("aria-sort");
      const direction = this.heads[i].querySelector(".direction");
      if (direction) direction.textContent = isBy ? (order === "asc" ? "▲" : "▼") : "";
    });
  }

  /** Whether its details are shown. */
  isChosen(entry) { return Boolean(entry && this.chosen && entry.path === this.chosen.path && entry.folder === this.chosen.folder); }

  #soon() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  #putBar() {
    const { bar } = this.window;
    if (Math.abs(this.scroller.scrollTop - bar) < 1) return;
    this.window.lastBar = bar;
    this.scroller.scrollTop = bar;
  }

  draw() {
    const { source } = this;
    if (!source) return;
    // Before the first answer some rows stand for those that come.
    const count = source.total ?? (source.error ? 0 : 12);
    const { row, columns: across } = this.face.measure();
    this.window.resize(count, row, this.scroller.clientHeight, across);
    const height = `${this.window.spacer}px`;
    if (this.spacer.style.height !== height) this.spacer.style.height = height;
    const view = `${Math.min(this.scroller.clientHeight, Math.max(this.window.whole, row))}px`;
    if (this.layer.style.height !== view) this.layer.style.height = view;
    this.spacer.style.marginTop = `-${view}`;
    if (this.restoring && source.total !== null) {
      this.active = Math.min(this.restoring.active, Math.max(0, count - 1));
      this.window.top = Math.min(this.restoring.top, this.window.farthest);
      if (this.restoring.active) this.window.reveal(this.active);
      this.restoring = null;
      this.#putBar();
    }
    if (this.active >= count) this.active = Math.max(0, count - 1);
    const { first, last } = this.window;
    if (count > 0) source.want(first, last);
    this.element.setAttribute("aria-busy", String(source.total === null));
    this.face.draw();
    const active = this.face.elementAt(this.active);
    if (active) this.element.setAttribute("aria-activedescendant", active.id);
    else this.element.removeAttribute("aria-activedescendant");
    this.#drawMessage(count);
  }

  #drawMessage(count) {
    const { source } = this;
    const error = source.error;
    const text = error ? error.message : source.total === 0 ? this.emptyText : "";
    this.message.hidden = !text || (count > 0 && !error);
    if (this.message.dataset.text === text) return;
    this.message.dataset.text = text;
    replace(this.message, h("p", {}, text), error ? h("button", { type: "button", onclick: () => { source.refresh(); this.draw(); } }, t`Try again`) : null);
  }

  #click(event) {
    const row = this.face.itemOf(event.target);
    if (event.target.closest(".box")) event.preventDefault();
    if (!row?.entry) return;
    if (event.shiftKey) {
      this.moveTo(row.index, { quietly: true });
      return this.#pickRange();
    }
    this.moveTo(row.index, { quietly: true });
    this.anchor = row.index;
    if (event.ctrlKey || event.metaKey) return this.actions.pick("toggle", row.index);
    if (!event.target.closest(".box")) this.actions.pick("none");
    if (event.target.closest(".box")) this.actions.tick(row.entry);
    else if (event.target.closest(".name-text, .picture")) this.actions.open(row.entry);
    else this.actions.choose(row.entry);
    return undefined;
  }

  #pickRange() { this.actions.pick("range", Math.min(this.anchor, this.active), Math.max(this.anchor, this.active)); }

  /** The menu of the entry that the keys are at, below it. */
  #menuOfActive(entry) {
    const { left, bottom } = (this.face.elementAt(this.active) ?? this.element).getBoundingClientRect();
    this.actions.menu(entry, { x: left + 40, y: bottom });
  }

  moveTo(index, { quietly = false } = {}) {
    const count = this.source?.total ?? 0;
    if (!count) return;
    this.active = Math.min(Math.max(0, index), count - 1);
    this.window.reveal(this.active);
    this.#putBar();
    this.draw();
    if (!quietly) this.actions.moved(this.active, this.source.at(this.active));
  }

  async #key(event) {
    if (event.target.closest(".head")) return;
    const entry = this.source?.at(this.active);
    const isCtrl = event.ctrlKey || event.metaKey;
    if (isCtrl && event.key === "a" || isCtrl && event.key === " ") {
      event.preventDefault();
      this.anchor = this.active;
      if (event.key === "a") this.actions.pick("all");
      else if (entry) this.actions.pick("toggle", this.active);
      return;
    }
    if (event.key === "ContextMenu" || event.shiftKey && event.key === "F10") {
      event.preventDefault();
      if (entry) this.#menuOfActive(entry);
      return;
    }
    if (isCtrl && !event.key.startsWith("Arrow")) return;
    const { key } = event;
    const to = this.window.moved(this.active, key);
    // What is not written ends a name's beginning, so that a space is a tick again.
    if (key.length > 1) this.typed = { text: "", at: 0 };
    if (key === "Enter") {
      event.preventDefault();
      if (entry) (event.altKey ? this.actions.choose : this.actions.open)(entry);
    } else if (event.altKey) {
      return;
    } else if (to !== null) {
      event.preventDefault();
      this.moveTo(to);
      if (event.shiftKey) this.#pickRange();
      else if (!isCtrl) this.anchor = this.active;
    } else if (key === " " && !this.typed.text) {
      event.preventDefault();
      if (entry) this.actions.tick(entry);
    } else if (key === "Backspace") {
      event.preventDefault();
      this.actions.up();
    } else if (key === "Escape") {
      this.actions.escape();
    } else if (key === "/") {
      event.preventDefault();
      this.actions.find();
    } else if (key.length === 1) {
      event.preventDefault();
      this.#type(key);
    }
  }

  /** Letters that follow one another soon are the beginning of a name; the same letter again is the next such name. */
  async #type(key) {
    const now = performance.now();
    const isNew = now - this.typed.at > 1000;
    const text = isNew || this.typed.text === key ? key : this.typed.text + key;
    const attempt = this.typed = { text, at: now };
    clearTimeout(this.forgetting);
    this.forgetting = setTimeout(() => { this.typed.text = ""; }, 1000);
    const index = await this.actions.seek(text, text.length === 1 ? this.active + 1 : this.active);
    // However long the answer took, unless something else was pressed meanwhile.
    if (index >= 0 && this.typed === attempt) this.moveTo(index);
  }
}
