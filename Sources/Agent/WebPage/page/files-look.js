// Whether a directory is shown as a list or as a grid, and how a grid is ordered.
import { h, icon, reference, replace } from "./dom.js";
import { parentOf } from "./files-names.js";
import { t } from "./words.js";

const stored = "synctrain-grids";
const remembered = 200;

const orders = [
  ["name asc", t`By name`], ["modified desc", t`Newest first`], ["modified asc", t`Oldest first`], ["size desc", t`Largest first`], ["size asc", t`Smallest first`],
];

/** What this browser remembers: pairs of a place and whether it is a grid, the latest last. */
function choices() {
  try {
    const list = JSON.parse(localStorage.getItem(stored) ?? "[]");
    return new Map(Array.isArray(list) ? list.filter((pair) => Array.isArray(pair) && typeof pair[0] === "string") : []);
  } catch { return new Map(); }
}

function choose(key, isGrid) {
  const list = choices();
  list.delete(key);
  list.set(key, isGrid);
  try {
    localStorage.setItem(stored, JSON.stringify([...list].slice(-remembered)));
  } catch { /* A browser that stores nothing shows lists the next time. */ }
}

/** Whether a directory is shown as a grid: as was chosen for it, else for the nearest directory above it. */
export function isGrid(folder, path, list = choices()) {
  for (let place = path; ; place = parentOf(place)) {
    const chosen = list.get(reference(folder, place));
    if (chosen !== undefined) return chosen === true;
    if (place === "") return false;
  }
}

/** `actions`: `show(isGrid)`, `sort(by, order)`. */
export class Look {
  constructor(actions) {
    this.actions = actions;
    this.place = null;
    this.isGrid = false;
    this.button = h("button", { type: "button", class: "look-button", onclick: () => this.#toggle() });
    this.order = h("select", { "aria-label": t`Order`, hidden: true }, orders.map(([value, label]) => h("option", { value }, label)));
    this.order.addEventListener("change", () => actions.sort(...this.order.value.split(" ")));
    this.element = h("div", { class: "looks", hidden: true }, this.order, this.button);
    this.#draw();
  }

  /** Shows a directory as it was shown the last time; null for all folders, which have a look of their own. */
  at(place) {
    this.place = place;
    this.element.hidden = !place;
    if (place) this.#set(isGrid(place.folder, place.path));
  }

  /** How the list is ordered; null where it has an order of its own. */
  showSort(by, order) {
    this.order.disabled = by === null;
    // The list has orders that are not offered here.
    if (by !== null) this.order.value = `${by} ${order}`;
  }

  #toggle() {
    if (!this.place) return;
    choose(reference(this.place.folder, this.place.path), !this.isGrid);
    this.#set(!this.isGrid);
  }

  #set(isGrid) {
    this.isGrid = isGrid;
    this.#draw();
    this.actions.show(isGrid);
  }

  #draw() {
    const label = this.isGrid ? t`Show as a list` : t`Show as a grid`;
    this.button.setAttribute("aria-label", label);
    this.button.title = label;
    replace(this.button, icon(this.isGrid ? "rows" : "grid"));
    this.order.hidden = !this.isGrid;
  }
}
