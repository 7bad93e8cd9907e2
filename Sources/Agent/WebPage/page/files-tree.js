// The folders and their directories, each read when it is opened.
import { h, icon, reference, replace } from "./dom.js";
import { nameOf, shown } from "./files-names.js";
import { number, t } from "./words.js";

const most = 1000;

/** `open(folder, path)` goes there. One item of the tree has the tab stop; keys move it (WAI-ARIA's tree view). */
export class FolderTree {
  constructor(app, open) {
    this.app = app;
    this.open = open;
    this.nodes = new Map();
    this.roots = [];
    this.place = null;
    this.typed = { text: "", at: 0 };
    this.element = h("ul", { class: "tree", role: "tree", "aria-label": t`Folders and directories` });
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("click", (event) => this.#click(event));
  }

  /** Takes the folders of a status; what is open stays open. */
  setFolders(folders) {
    const keys = folders.map((folder) => reference(folder.id, ""));
    for (const root of this.roots) if (!keys.includes(root.key)) this.#forget(root);
    this.roots = folders.map((folder) => {
      const node = this.nodes.get(reference(folder.id, "")) ?? this.#make(folder.id, "", null);
      const name = folder.label || folder.id;
      if (node.label.textContent !== shown(name)) node.label.textContent = shown(name);
      return node;
    });
    const items = this.roots.map((node) => node.item);
    const isSame = items.length === this.element.children.length && items.every((item, i) => item === this.element.children[i]);
    if (!isSame) this.element.replaceChildren(...items);
    if (!this.stop && this.roots[0]) this.#setStop(this.roots[0]);
    if (this.place) this.#markPlace();
  }

  /** Marks the place that is shown and opens what is above it. */
  async show(folder, path) {
    this.place = { folder, path };
    const parts = path ? path.split("/") : [];
    let node = this.nodes.get(reference(folder, ""));
    for (let depth = 0; node && depth < parts.length; depth += 1) {
      await this.#expand(node);
      if (this.place?.folder !== folder || this.place.path !== path) return;
      const next = this.nodes.get(reference(folder, parts.slice(0, depth + 1).join("/")));
      if (!next) break;
      node = next;
    }
    this.#markPlace();
    if (node && !this.element.contains(document.activeElement)) this.#setStop(node);
  }

  clearPlace() {
    this.place = null;
    this.#markPlace();
  }

  /** Reads again what is open, one after the other; what comes meanwhile is one more time. */
  async refresh() {
    this.isStale = true;
    if (this.isRefreshing) return;
    this.isRefreshing = true;
    while (this.isStale) {
      this.isStale = false;
      for (const node of [...this.nodes.values()]) {
        if (!node.isOpen || this.nodes.get(node.key) !== node) continue;
        // A directory that is gone goes with the one that it was in.
        try { await this.#load(node); } catch { continue; }
      }
    }
    this.isRefreshing = false;
  }

  #markPlace() {
    const key = this.place && reference(this.place.folder, this.place.path);
    for (const node of this.nodes.values()) {
      const isHere = node.key === key;
      if (isHere) node.item.setAttribute("aria-current", "location");
      else node.item.removeAttribute("aria-current");
      node.item.setAttribute("aria-selected", String(isHere));
    }
  }

  #make(folder, path, parent) {
    const label = h("bdi", { class: "label" }, shown(nameOf(path)));
    const twist = h("span", { class: "twist", "aria-hidden": "true" }, icon("chevron"));
    const id = `tree-${made += 1}`;
    label.id = id;
    const node = { folder, path, key: reference(folder, path), parent, label, isOpen: false, isLeaf: false, children: [] };
    node.group = h("ul", { role: "group", hidden: true });
    const depth = parent ? parent.depth + 1 : 1;
    node.depth = depth;
    const line = h("div", { class: "line" }, twist, icon("folder"), label);
    line.style.paddingInlineStart = `${(Math.min(depth, 12) - 1) * 0.9 + 0.25}rem`;
    node.item = h("li", { role: "treeitem", tabindex: "-1", "aria-expanded": "false", "aria-selected": "false",
      "aria-level": depth, "aria-labelledby": id }, line, node.group);
    node.item.node = node;
    this.nodes.set(node.key, node);
    return node;
  }

  #forget(node) {
    for (const child of node.children) this.#forget(child);
    this.nodes.delete(node.key);
    if (this.stop === node) this.stop = null;
    if (node.item.contains(document.activeElement)) this.#focusAt(node.parent ?? this.roots[0]);
    node.item.remove();
  }

  async #load(node) {
    const answer = await this.app.api.page("entries",
      { path: node.key, limit: most, offset: 0, sort: "natural", order: "asc", filter: "directories" });
    const names = answer.entries.filter((entry) => entry.type === "directory");
    const keys = new Set(names.map((entry) => reference(entry.folder, entry.path)));
    for (const child of node.children) if (!keys.has(child.key)) this.#forget(child);
    node.children = names.map((entry) => {
      const child = this.nodes.get(reference(entry.folder, entry.path)) ?? this.#make(entry.folder, entry.path, node);
      child.isLeaf = entry.directories === 0;
      if (child.isLeaf && !child.isOpen) child.item.removeAttribute("aria-expanded");
      else child.item.setAttribute("aria-expanded", String(child.isOpen));
      return child;
    });
    const more = (answer.total ?? 0) > most
      ? [h("li", { role: "none", class: "more quiet" }, t`and ${number(answer.total - most)} more, in the list`)] : [];
    const items = [...node.children.map((child) => child.item), ...more];
    const isSame = items.length === node.group.children.length && items.every((item, i) => item === node.group.children[i]);
    if (isSame) return;
    // Moving an element takes the focus from it.
    const focused = node.group.contains(document.activeElement) ? document.activeElement : null;
    node.group.replaceChildren(...items);
    focused?.focus();
  }

  async #expand(node) {
    if (node.isOpen || node.isLeaf) return;
    node.isOpen = true;
    try {
      await this.#load(node);
    } catch (error) {
      node.isOpen = false;
      this.app.fail(error);
      return;
    }
    node.item.setAttribute("aria-expanded", "true");
    node.group.hidden = false;
    this.#markPlace();
  }

  #collapse(node) {
    node.isOpen = false;
    node.item.setAttribute("aria-expanded", "false");
    node.group.hidden = true;
    for (const child of node.children) this.#forget(child);
    node.children = [];
    replace(node.group);
  }

  #click(event) {
    const node = event.target.closest("[role=treeitem]")?.node;
    if (!node) return;
    this.#focusAt(node);
    if (event.target.closest(".twist")) {
      if (node.isOpen) this.#collapse(node); else this.#expand(node);
      return;
    }
    this.#expand(node);
    this.open(node.folder, node.path);
  }

  #setStop(node) {
    if (this.stop) this.stop.item.tabIndex = -1;
    this.stop = node;
    node.item.tabIndex = 0;
  }

  #focusAt(node) {
    if (!node) return;
    this.#setStop(node);
    node.item.focus({ preventScroll: true });
    node.item.querySelector(".line").scrollIntoView({ block: "nearest" });
  }

  /** Items that are seen, from above. */
  get #seen() {
    const list = [];
    const add = (nodes) => { for (const node of nodes) { list.push(node); if (node.isOpen) add(node.children); } };
    add(this.roots);
    return list;
  }

  #key(event) {
    const node = event.target.closest("[role=treeitem]")?.node;
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    const seen = this.#seen;
    const at = seen.indexOf(node);
    const { key } = event;
    if (key === "ArrowDown") this.#focusAt(seen[at + 1]);
    else if (key === "ArrowUp") this.#focusAt(seen[at - 1]);
    else if (key === "Home") this.#focusAt(seen[0]);
    else if (key === "End") this.#focusAt(seen.at(-1));
    else if (key === "ArrowRight") {
      if (node.isOpen) this.#focusAt(node.children[0]); else this.#expand(node);
    } else if (key === "ArrowLeft") {
      if (node.isOpen) this.#collapse(node); else this.#focusAt(node.parent);
    } else if (key === "Enter" || key === " ") {
      this.#expand(node);
      this.open(node.folder, node.path);
    } else if (key.length === 1) this.#type(key, seen, at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #type(key, seen, at) {
    const now = performance.now();
    const text = (now - this.typed.at > 1000 || this.typed.text === key ? "" : this.typed.text) + key;
    this.typed = { text, at: now };
    const from = text.length === 1 ? at + 1 : at;
    const order = [...seen.slice(from), ...seen.slice(0, from)];
    this.#focusAt(order.find((node) => node.label.textContent.toLowerCase().startsWith(text.toLowerCase())));
  }
}

let made = 0;
