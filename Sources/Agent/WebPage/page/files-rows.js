// A list drawn as rows: a name, and what is known of it in columns.
import { h, icon, replace, when } from "./dom.js";
import { boxOf, hasThumbnail, kindOf, nameOf, parentOf, shown, stateOf } from "./files-names.js";
import { bytes, number, plural, t } from "./words.js";

export const columns = [
  { key: "box", label: t`Keep`, short: true },
  { key: "name", label: t`Name`, sort: "name" },
  { key: "state", label: t`State` },
  { key: "size", label: t`Size`, sort: "size" },
  { key: "holders", label: t`Available from`, title: t`Number of other devices with a complete copy` },
  { key: "modified", label: t`Modified`, sort: "modified" },
];

/** A face of a `FileList`. Elements are used again for other entries as the list scrolls. */
export class Rows {
  constructor(list, app, thumbnails) {
    this.list = list;
    this.app = app;
    this.thumbnails = thumbnails;
    this.rows = [];
  }

  /** Has what is shown drawn again the next time. */
  forget() { for (const row of this.rows) row.key = null; }

  close() {
    for (const row of this.rows) row.element.remove();
    this.rows = [];
  }

  measure() { return { row: this.list.probe.offsetHeight || 36, columns: 1 }; }

  itemOf(node) {
    const element = node.closest?.(".row");
    return this.rows.find((row) => row.element === element);
  }

  elementAt(index) { return this.rows.find((row) => row.index === index && !row.element.hidden)?.element; }

  draw() {
    const { window, source, element } = this.list;
    const { first, last } = window;
    element.setAttribute("aria-rowcount", source.total === null ? "-1" : String(window.count + 1));
    element.setAttribute("aria-colcount", columns.length);
    const needed = Math.max(0, last - first + 1);
    while (this.rows.length < needed) this.rows.push(this.#makeRow(this.rows.length));
    const seen = new Set();
    for (let index = first; index <= last; index += 1) {
      const row = this.rows[index % this.rows.length];
      seen.add(row);
      this.#fill(row, index, source.at(index));
      row.element.style.transform = `translateY(${Math.round(index * window.row - window.top)}px)`;
      row.element.hidden = false;
    }
    for (const row of this.rows) {
      if (seen.has(row)) continue;
      row.element.hidden = true;
      row.index = -1;
    }
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
    row.element = h("div", { class: "row", role: "row", id: `${this.list.id}-${number}` },
      h("div", { role: "gridcell", class: "cell box" }, row.box),
      h("div", { role: "gridcell", class: "cell name" }, row.picture, h("span", { class: "names" }, row.name, row.where)),
      row.state, row.size, row.holders, row.modified);
    this.list.layer.append(row.element);
    return row;
  }

  #fill(row, index, entry) {
    const { list } = this;
    row.index = index;
    row.element.setAttribute("aria-rowindex", String(index + 2));
    row.element.classList.toggle("active", index === list.active);
    const isPicked = Boolean(entry && list.actions.isPicked(entry));
    row.element.classList.toggle("picked", isPicked);
    row.element.setAttribute("aria-selected", String(isPicked || list.isChosen(entry)));
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
    row.element.classList.toggle("absent", entry.state === "absent");
    showName(row, entry);
    row.where.textContent = list.places.showsPath ? shown([this.app.folderName(entry.folder), parentOf(entry.path)].filter(Boolean).join(" / ")) : "";
    replace(row.picture, icon(kindOf(entry)));
    if (hasThumbnail(entry)) this.thumbnails.show(entry, row.picture, () => isShowing(row, entry));
    const state = stateOf(entry);
    replace(row.state, h("span", { class: `tag ${state.tone}`, title: state.title }, icon(state.icon), h("span", {}, state.word)));
    row.size.textContent = bytes(entry.size);
    row.size.title = entry.type === "directory" ? plural(entry.files ?? 0, "{1} file", "{1} files") : plural(entry.size, "{1} byte", "{1} bytes");
    const holders = entry.holders ?? [];
    row.holders.textContent = entry.type === "directory" ? "" : number(holders.length);
    row.holders.title = holders.map((id) => this.app.deviceName(id)).join(", ");
    replace(row.modified, entry.modified ? when(entry.modified) : null);
  }
}

/** Writes the name, and the box for keeping, of a row or a tile. */
export function showName(item, entry) {
  const name = shown(nameOf(entry.path));
  item.name.textContent = name;
  item.name.title = shown(entry.path);
  item.box.hidden = false;
  const box = boxOf(entry);
  item.box.checked = box === "true";
  item.box.indeterminate = box === "mixed";
  item.box.setAttribute("aria-label", t`Keep ${name} on this device`);
}

/** Whether a row or a tile still shows that entry, and is seen. */
export function isShowing(item, entry) {
  return item.entry?.path === entry.path && item.entry.folder === entry.folder && item.element.isConnected && !item.element.hidden;
}
