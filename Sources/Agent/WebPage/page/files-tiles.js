// A list drawn as tiles, several in a row: a large picture with the name below it.
import { h, icon, replace } from "./dom.js";
import { hasThumbnail, kindOf, stateOf } from "./files-names.js";
import { isShowing, showName } from "./files-rows.js";

/** How wide a tile is at least, in heights of a row of the list. */
const narrowest = 3.9;
/** How tall what is below its picture is, in the same. */
const below = 1.05;

/** A face of a `FileList`: a grid of two dimensions for the keys and for screen readers, too. */
export class Tiles {
  constructor(list, app, thumbnails) {
    this.list = list;
    this.thumbnails = thumbnails;
    this.rows = [];
    this.across = 0;
  }

  forget() { for (const row of this.rows) for (const tile of row.tiles) tile.key = null; }

  close() {
    for (const row of this.rows) row.element.remove();
    this.rows = [];
  }

  measure() {
    const unit = this.list.probe.offsetHeight || 36;
    const width = this.list.scroller.clientWidth;
    const columns = Math.max(2, Math.floor(width / (unit * narrowest)));
    return { row: Math.max(unit, Math.round(width / columns + unit * below)), columns };
  }

  itemOf(node) {
    const element = node.closest?.(".tile");
    return element && this.#tiles.find((tile) => tile.element === element);
  }

  elementAt(index) { return this.#tiles.find((tile) => tile.index === index && !tile.element.hidden)?.element; }

  get #tiles() { return this.rows.flatMap((row) => row.tiles); }

  draw() {
    const { window, source, element } = this.list;
    const { firstRow, lastRow, columns } = window;
    if (columns !== this.across) {
      this.close();
      this.across = columns;
    }
    element.setAttribute("aria-rowcount", source.total === null ? "-1" : String(window.rows));
    element.setAttribute("aria-colcount", columns);
    const needed = Math.max(0, lastRow - firstRow + 1);
    while (this.rows.length < needed) this.rows.push(this.#makeRow());
    const seen = new Set();
    for (let number = firstRow; number <= lastRow; number += 1) {
      const row = this.rows[number % this.rows.length];
      seen.add(row);
      row.element.setAttribute("aria-rowindex", String(number + 1));
      row.element.style.height = `${window.row}px`;
      row.element.style.transform = `translateY(${Math.round(number * window.row - window.top)}px)`;
      row.element.hidden = false;
      row.tiles.forEach((tile, i) => {
        const index = number * columns + i;
        tile.element.hidden = index >= window.count;
        if (tile.element.hidden) tile.index = -1;
        else this.#fill(tile, index, source.at(index));
      });
    }
    for (const row of this.rows) {
      if (seen.has(row)) continue;
      row.element.hidden = true;
      for (const tile of row.tiles) { tile.index = -1; tile.element.hidden = true; }
    }
  }

  #makeRow() {
    const tiles = Array.from({ length: this.across }, (_, i) => this.#makeTile(this.rows.length * this.across + i, i));
    const element = h("div", { class: "shelf", role: "row" }, tiles.map((tile) => tile.element));
    element.style.gridTemplateColumns = `repeat(${this.across}, minmax(0, 1fr))`;
    this.list.layer.append(element);
    return { element, tiles };
  }

  #makeTile(number, column) {
    const tile = { index: -1, key: null, entry: null };
    tile.box = h("input", { type: "checkbox", tabindex: "-1" });
    tile.picture = h("span", { class: "picture" });
    tile.name = h("bdi", { class: "name-text" });
    tile.state = h("span", { class: "state" });
    tile.element = h("div", { class: "tile", role: "gridcell", id: `${this.list.id}-tile${number}`, "aria-colindex": column + 1 },
      tile.picture, h("span", { class: "box" }, tile.box), h("span", { class: "caption" }, tile.name, tile.state));
    return tile;
  }

  #fill(tile, index, entry) {
    const { list } = this;
    tile.index = index;
    tile.element.classList.toggle("active", index === list.active);
    const isPicked = Boolean(entry && list.actions.isPicked(entry));
    tile.element.classList.toggle("picked", isPicked);
    tile.element.setAttribute("aria-selected", String(isPicked || list.isChosen(entry)));
    if (tile.entry === entry && tile.key === index) return;
    tile.key = index;
    tile.entry = entry;
    tile.element.classList.toggle("skeleton", !entry);
    if (!entry) {
      tile.name.textContent = "";
      tile.box.hidden = true;
      replace(tile.picture);
      replace(tile.state);
      return;
    }
    tile.element.classList.toggle("absent", entry.state === "absent");
    showName(tile, entry);
    replace(tile.picture, icon(kindOf(entry)));
    if (hasThumbnail(entry)) this.thumbnails.show(entry, tile.picture, () => isShowing(tile, entry));
    const state = stateOf(entry);
    replace(tile.state, h("span", { class: `tag ${state.tone}`, title: [state.word, state.title].filter(Boolean).join(". ") },
      icon(state.icon), h("span", { class: "unseen" }, state.word)));
  }
}
