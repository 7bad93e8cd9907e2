// The list of a directory, or of what was found: as many rows as are seen, however many there are.
import { h, icon, replace, when } from "./dom.js";
import { boxOf, hasThumbnail, kindOf, nameOf, parentOf, shown, stateOf } from "./files-names.js";
import { ScrollWindow } from "./files-scroll.js";
import { bytes, number, plural, t } from "./words.js";

const columns = [
  { key: "box", label: t`Keep`, short: true },
  { key: "name", label: t`Name`, sort: "name" },
  { key: "state", label: t`State` },
  { key: "size", label: t`Size`, sort: "size" },
  { key: "holders", label: t`Available from`, title: t`Number of other devices with a complete copy` },
  { key: "modified", label: t`Modified`, sort: "modified" },
];

let lists = 0;

/**
 * `actions`: `isPicked(entry)`, `pick(how, first, last)` with `how` "none", "toggle", "range" or "all", `menu(entry, place)`, `open(entry)`, `choose(entry)` for details, `tick(entry)`, `sort(key)`, `moved(index, entry)`, `up()`,
 * `escape()`, `find()`, `seek(text, from)` which answers the index of the next name with that beginning, or -1.
 * The focus stays on the grid, which names the row it is at: rows come and go.
 */
export class FileList {
  constructor(app, thumbnails, actions) {
    this.app = app;
    this.thumbnails = thumbnails;
    this.actions = actions;
    this.source = null;
    this.active = 0;
    /** Where a range of picked entries begins. */
    this.anchor = 0;
    this.chosen = null;
    this.places = { showsPath: false };
    this.window = new ScrollWindow();
    this.rows = [];
    this.typed = { text: "", at: 0 };
    this.id = `list${lists += 1}`;
    this.#build();
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
    this.element = h("div", { class: "list", role: "grid", tabindex: "0", "aria-multiselectable": "true", "aria-label": t`Files`, "aria-colcount": columns.length },
      h("div", { role: "rowgroup" }, h("div", { class: "row head", role: "row", "aria-rowindex": "1" }, this.heads)), this.scroller);
    this.probe = h("div", { class: "probe" });
    this.root = h("div", { class: "listing" }, this.element, this.message, this.probe);

    this.scroller.addEventListener("scroll", () => {
      this.window.scrolled(this.scroller.scrollTop);
      this.#soon();
      // Small steps leave the bar behind where the list is taller than it: put right when nobody moves it.
      clearTimeout(this.settling);
      this.settling = setTimeout(() => this.#putBar(), 150);
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
      const row = this.#rowOf(event.target);
      if (!row?.entry) return;
      event.preventDefault();
      this.moveTo(row.index, { quietly: true });
      this.actions.menu(row.entry, { x: event.clientX, y: event.clientY });
    });
    this.layer.addEventListener("dblclick", (event) => {
      const entry = this.#entryOf(event.target);
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
    for (const row of this.rows) row.key = null;
    this.draw();
  }

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
    const row = this.probe.offsetHeight || 36;
    this.window.resize(count, row, this.scroller.clientHeight);
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
    this.element.setAttribute("aria-rowcount", source.total === null ? "-1" : String(count + 1));
    this.element.setAttribute("aria-busy", String(source.total === null));
    this.#drawRows(first, last);
    this.#drawMessage(count);
  }

  #drawRows(first, last) {
    const needed = Math.max(0, last - first + 1);
    while (this.rows.length < needed) this.rows.push(this.#makeRow(this.rows.length));
    const seen = new Set();
    for (let index = first; index <= last; index += 1) {
      const row = this.rows[index % this.rows.length];
      seen.add(row);
      const entry = this.source.at(index);
      this.#fill(row, index, entry);
      row.element.style.transform = `translateY(${Math.round(index * this.window.row - this.window.top)}px)`;
      row.element.hidden = false;
    }
    for (const row of this.rows) {
      if (seen.has(row)) continue;
      row.element.hidden = true;
      row.index = -1;
    }
    const activeRow = this.rows.find((row) => row.index === this.active && !row.element.hidden);
    if (activeRow) this.element.setAttribute("aria-activedescendant", activeRow.element.id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  #makeRow(number) {
    const row = { index: -1, key: null, entry: null };
    row.box = h("input", { type: "checkbox", tabindex: "-1" });
    row.picture = h("span", { class: "picture" });
    row.name = h("bdi", { class: "name-text" });
    row.where = h("bdi", { class: "where" });
    row.state = h("div", { role: "gridcell", class: "cell state" });
    row.size = h("div", { role: "gridcell", class: "cell size" });
    row.holders = h("div", { role: "gridcell", class: "cell holders" });
    row.modified = h("div", { role: "gridcell", class: "cell modified" });
    row.element = h("div", { class: "row", role: "row", id: `${this.id}-${number}` },
      h("div", { role: "gridcell", class: "cell box" }, row.box),
      h("div", { role: "gridcell", class: "cell name" }, row.picture, h("span", { class: "names" }, row.name, row.where)),
      row.state, row.size, row.holders, row.modified);
    this.layer.append(row.element);
    return row;
  }

  #fill(row, index, entry) {
    row.index = index;
    row.element.setAttribute("aria-rowindex", String(index + 2));
    const isActive = index === this.active;
    row.element.classList.toggle("active", isActive);
    const isChosen = Boolean(entry && this.chosen && entry.path === this.chosen.path && entry.folder === this.chosen.folder);
    const isPicked = Boolean(entry && this.actions.isPicked(entry));
    row.element.classList.toggle("picked", isPicked);
    row.element.setAttribute("aria-selected", String(isChosen || isPicked));
    if (row.entry === entry && row.key === index) return;
    row.key = index;
    row.entry = entry;
    row.element.classList.toggle("skeleton", !entry);
    if (!entry) {
      row.name.textContent = "";
      row.where.textContent = "";
      row.box.hidden = true;
      for (const cell of [row.picture, row.state, row.size, row.holders, row.modified]) replace(cell);
      return;
    }
    const name = shown(nameOf(entry.path));
    row.element.classList.toggle("absent", entry.state === "absent");
    row.name.textContent = name;
    row.name.title = shown(entry.path);
    row.where.textContent = this.places.showsPath ? shown([this.app.folderName(entry.folder), parentOf(entry.path)].filter(Boolean).join(" / ")) : "";
    row.box.hidden = false;
    const box = boxOf(entry);
    row.box.checked = box === "true";
    row.box.indeterminate = box === "mixed";
    row.box.setAttribute("aria-label", t`Keep ${name} on this device`);
    replace(row.picture, icon(kindOf(entry)));
    if (hasThumbnail(entry)) this.thumbnails.show(entry, row.picture, () => row.entry?.path === entry.path && row.entry.folder === entry.folder && !row.element.hidden);
    const state = stateOf(entry);
    replace(row.state, h("span", { class: `tag ${state.tone}`, title: state.title }, icon(state.icon), h("span", {}, state.word)));
    row.size.textContent = bytes(entry.size);
    row.size.title = entry.type === "directory" ? plural(entry.files ?? 0, "{1} file", "{1} files") : plural(entry.size, "{1} byte", "{1} bytes");
    const holders = entry.holders ?? [];
    row.holders.textContent = entry.type === "directory" ? "" : number(holders.length);
    row.holders.title = holders.map((id) => this.app.deviceName(id)).join(", ");
    replace(row.modified, entry.modified ? when(entry.modified) : null);
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

  #rowOf(node) {
    const element = node.closest?.(".row");
    return this.rows.find((row) => row.element === element);
  }

  #entryOf(node) { return this.#rowOf(node)?.entry; }

  #click(event) {
    const row = this.#rowOf(event.target);
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

  /** The menu of the row that the keys are at, below it. */
  #menuOfActive(entry) {
    const row = this.rows.find((one) => one.index === this.active && !one.element.hidden);
    const { left, bottom } = (row?.element ?? this.element).getBoundingClientRect();
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
    const page = this.window.perPage;
    const moves = {
      ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page,
      Home: 0, End: (this.source?.total ?? 1) - 1,
    };
    const { key } = event;
    // What is not written ends a name's beginning, so that a space is a tick again.
    if (key.length > 1) this.typed.text = "";
    if (key === "Enter") {
      event.preventDefault();
      if (entry) (event.altKey ? this.actions.choose : this.actions.open)(entry);
    } else if (event.altKey) {
      return;
    } else if (key in moves) {
      event.preventDefault();
      this.moveTo(moves[key]);
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
    this.typed = { text, at: now };
    clearTimeout(this.forgetting);
    this.forgetting = setTimeout(() => { this.typed.text = ""; }, 1000);
    const index = await this.actions.seek(text, text.length === 1 ? this.active + 1 : this.active);
    if (index >= 0 && this.typed.text === text) this.moveTo(index);
  }
}
