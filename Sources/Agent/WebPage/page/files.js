// Files: folders, their directories and files, whether they are on this disk or not.
import { h, icon as drawIcon, reference, replace } from "./dom.js";
import { sendItem } from "./drop.js";
import { Details } from "./files-details.js";
import { FullWindow, isViewable } from "./files-full.js";
import { FileList } from "./files-list.js";
import { Look } from "./files-look.js";
import { boxOf, nameOf, parentOf, shown, tickSelects } from "./files-names.js";
import { Picks, mostPicked } from "./files-picks.js";
import { keep, letGo, removeEverywhere } from "./files-select.js";
import { SearchFilters, counted } from "./files-search.js";
import { Overview } from "./files-overview.js";
import { beginsWith } from "./files-seek.js";
import { PagedSource } from "./files-source.js";
import { openMenu } from "./menu.js";
import { Thumbnails } from "./files-thumbs.js";
import { FolderTree } from "./files-tree.js";
import { DeletedList } from "./files-deleted.js";
import { Adding, uploads } from "./files-upload.js";
import { number, t } from "./words.js";

export const title = t`Files`;
export const icon = "files";

const filters = [
  ["all", t`All`], ["here", t`Only here`], ["selected", t`Only kept`], ["conflicts", t`Conflicts`], ["extraneous", t`Extraneous`], ["deleted", t`Deleted`],
];
const emptyTexts = {
  all: t`This directory is empty.`, here: t`Nothing in this directory is on this disk.`, selected: t`Nothing in this directory is kept.`,
  conflicts: t`No conflicts in this directory.`, extraneous: t`No extraneous files in this directory.`,
};
const remembered = 50;

export function mount(root, app) { return new FilesView(root, app); }

class FilesView {
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.place = null;
    this.sort = { by: "name", order: "asc" };
    this.filter = "all";
    this.positions = new Map();
    this.kinds = new Map();
    this.ticking = new Set();
    this.thumbnails = new Thumbnails(app.api);
    this.tree = new FolderTree(app, (folder, path) => this.#goTo(folder, path, "directory"));
    this.list = new FileList(app, this.thumbnails, {
      isPicked: (entry) => this.picks.has(entry),
      pick: (how, first, last) => this.#pick(how, first, last),
      menu: (entry, place) => this.#menu(entry, place),
      open: (entry) => this.#open(entry),
      choose: (entry) => this.#choose(entry),
      tick: (entry) => this.#tick(entry),
      sort: (by) => this.#sortBy(by),
      moved: (index, entry) => this.#moved(entry),
      up: () => this.#up(),
      escape: () => this.#escape(),
      find: () => this.find(),
      seek: (text, from) => this.#seek(text, from),
    });
    this.picks = new Picks({
      keep: (entries) => this.#change(entries, keep),
      letGo: (entries, local) => this.#change(entries, letGo, local),
      remove: (entries) => this.#change(entries, removeEverywhere),
      sendItem: (entries) => sendItem(app, entries),
      changed: () => this.list.draw(),
      leave: () => this.list.focus(),
    });
    this.details = new Details(app, {
      tick: (entry) => this.#tick(entry),
      enlarge: (entry) => this.#enlarge(entry),
      close: () => this.#closeDetails(),
      changed: () => this.#refresh(),
    });
    this.full = new FullWindow(app, {
      details: (entry) => this.#choose(entry),
      closed: (index) => { if (index >= 0) this.list.moveTo(index, { quietly: true }); this.list.focus(); },
    });
    this.look = new Look({ show: (isGrid) => { this.list.isTiled = isGrid; }, sort: (by, order) => this.#sortBy(by, order) });
    this.#build();
    this.ends = [
      app.onStatus((status) => this.#status(status)),
      app.onEvent((event) => this.#event(event)),
    ];
  }

  #build() {
    this.crumbs = h("ol", { class: "crumbs" });
    this.search = h("input", { type: "search", placeholder: t`Search names`, "aria-label": t`Search names`, autocomplete: "off", spellcheck: "false", "aria-keyshortcuts": "/" });
    this.search.addEventListener("input", () => this.#searchSoon());
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { event.preventDefault(); this.#clearSearch(); this.list.focus(); }
      if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); this.#searchNow(); this.list.focus(); }
    });
    this.scope = h("select", { "aria-label": t`Where to search` }, h("option", { value: "folder" }, t`in this folder`), h("option", { value: "all" }, t`in all folders`));
    this.scope.addEventListener("change", () => this.#searchNow());
    this.filters = new SearchFilters(() => this.#searchNow());
    this.search.addEventListener("focus", () => { this.filters.element.hidden = false; });
    this.filters.element.addEventListener("focusout", () => this.#hideFilters());
    this.filters.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { event.preventDefault(); this.#clearSearch(); this.list.focus(); }
    });
    this.filterBox = h("select", { "aria-label": t`Which files to show` }, filters.map(([value, label]) => h("option", { value }, label)));
    this.filterBox.addEventListener("change", () => { this.filter = this.filterBox.value; this.#list(); });
    this.treeButton = h("button", { type: "button", class: "for-narrow", "aria-expanded": "false", onclick: () => this.#showTree(!this.isTreeShown) }, drawIcon("folder"), t`Folders`);
    this.detailsButton = h("button", { type: "button", onclick: () => this.#chooseHere() }, drawIcon("info"), h("span", { class: "for-wide" }, t`Details`));
    this.detailsButton.setAttribute("aria-label", t`Details of this directory`);
    this.summary = h("p", { class: "summary quiet", role: "status" });
    this.overview = new Overview(this.app);
    this.pane = h("nav", { class: "folders", "aria-label": t`Folders` }, this.tree.element);
    this.pane.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.isTreeShown) { this.#showTree(false); this.treeButton.focus(); }
    });
    this.middle = h("div", { class: "middle" }, this.picks.element, this.list.root, this.overview.element);
    this.deleted = new DeletedList(this.app, () => this.#refresh());
    this.middle.append(this.deleted.element);
    this.adding = new Adding(this.app, () => this.place, this.middle);
    this.toolbar = h("div", { class: "tools" }, this.treeButton, h("nav", { "aria-label": t`Place`, class: "place" }, this.crumbs),
      h("div", { class: "finding", role: "search" }, this.search, this.scope), this.filterBox, this.look.element, this.adding.element, this.detailsButton);
    this.toolbar.addEventListener("focusout", () => this.#hideFilters());
    replace(this.root, this.toolbar, this.filters.element, h("div", { class: "panes" }, this.pane, this.middle, this.details.element),
      uploads(this.app).element, this.summary);
    this.#showSort();
  }

  // Where

  route(parts) {
    const [folder, ...rest] = parts;
    clearTimeout(this.following);
    if (this.isSearching) this.#clearSearch();
    this.#showTree(false);
    if (folder === undefined) return this.#showOverview();
    this.#showPlace(folder, rest.join("/"));
  }

  find() { this.search.focus(); }

  unmount() {
    for (const end of this.ends) end();
    clearTimeout(this.refreshing);
    clearTimeout(this.searching);
    clearTimeout(this.following);
    this.asking?.abort();
    this.overview.stop();
    this.source?.close();
    this.full.remove();
    this.details.close();
    this.list.close();
    this.thumbnails.close();
  }

  #goTo(folder, path, kind) {
    this.kinds.set(reference(folder, path), kind);
    for (const key of this.kinds.keys()) {
      if (this.kinds.size <= remembered) break;
      this.kinds.delete(key);
    }
    const address = this.app.address("files", folder, ...(path ? path.split("/") : []));
    if (location.hash === address) this.route([folder, ...(path ? path.split("/") : [])]);
    else location.hash = address;
  }

  /** A directory is listed; a file is shown beside the directory that it is in. */
  async #showPlace(folder, path) {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    let kind = path === "" ? "directory" : this.kinds.get(reference(folder, path));
    let entry = null;
    if (kind !== "directory") {
      entry = this.#known(folder, path);
      kind = entry?.type;
    }
    if (!kind) {
      try {
        entry = await this.app.api.get("stat", { path: reference(folder, path) }, signal);
        kind = entry.type;
      } catch (error) {
        if (error.name === "AbortError" || signal.aborted) return;
        return this.#showMissing(folder, path, error);
      }
      if (signal.aborted) return;
    }
    const directory = kind === "directory" ? path : parentOf(path);
    const isNew = !this.place || this.place.folder !== folder || this.place.path !== directory;
    if (isNew) {
      this.#rememberPosition();
      this.place = { folder, path: directory };
      this.#closePanel();
      this.#list();
    }
    if (kind === "directory") {
      if (!isNew) this.#closePanel();
      this.kinds.delete(reference(folder, path));
    } else {
      this.#showPanel(entry);
      this.#moveTo(entry);
    }
  }

  /** Has the list stand at an entry, now or when its page comes. */
  #moveTo(entry) {
    this.coming = null;
    if (!this.source) return;
    const index = this.source.findKnown((known) => known.path === entry.path && known.folder === entry.folder);
    if (index >= 0) this.list.moveTo(index, { quietly: true });
    else if (this.source.total === null) this.coming = entry;
  }

  #known(folder, path) {
    if (!this.source || !this.place) return null;
    const index = this.source.findKnown((entry) => entry.path === path && entry.folder === folder);
    return index < 0 ? null : this.source.at(index);
  }

  #showMissing(folder, path, error) {
    this.deleted.close();
    this.picks.clear();
    this.place = { folder, path };
    this.source?.close();
    this.source = null;
    this.#closePanel();
    this.#drawCrumbs();
    this.list.root.hidden = true;
    this.overview.element.hidden = false;
    replace(this.overview.element, h("div", { class: "empty" }, h("p", {}, error.message),
      h("p", {}, h("a", { href: this.app.address("files", ...(path ? [folder] : [])) }, path ? t`To the folder` : t`To all folders`))));
  }

  #rememberPosition() {
    if (!this.source || !this.place || this.isSearching) return;
    const key = reference(this.place.folder, this.place.path);
    this.positions.delete(key);
    this.positions.set(key, this.list.position);
    for (const old of this.positions.keys()) {
      if (this.positions.size <= remembered) break;
      this.positions.delete(old);
    }
  }

  #list() {
    const { folder, path } = this.place;
    if (this.filter === "deleted") return this.#listDeleted();
    this.deleted.close();
    const hadFocus = this.list.element.contains(document.activeElement) || document.activeElement === document.body
      || document.activeElement?.id === "view";
    const { by, order } = this.sort;
    const query = { path: reference(folder, path), sort: by === "name" ? "natural" : by, order, filter: this.filter };
    const load = (offset, limit, signal) => this.app.api.page("entries", { ...query, limit, offset }, signal);
    this.query = query;
    this.#use(new PagedSource(load, () => this.#sourceChanged()),
      { label: t`Files in ${shown(nameOf(path) || this.app.folderName(folder))}`, ...this.positions.get(reference(folder, path)) });
    this.list.emptyText = emptyTexts[this.filter];
    this.#showSort();
    this.#drawCrumbs();
    this.tree.show(folder, path);
    if (hadFocus) this.list.focus();
  }

  /** What was deleted at and below the place. */
  #listDeleted() {
    const { folder, path } = this.place;
    this.picks.clear();
    this.source?.close();
    this.source = null;
    this.coming = null;
    this.overview.element.hidden = true;
    this.list.root.hidden = true;
    this.summary.textContent = "";
    this.deleted.show(folder, path);
    this.#drawCrumbs();
    this.tree.show(folder, path);
  }

  #use(source, options) {
    this.picks.clear();
    this.deleted.close();
    this.source?.close();
    this.source = source;
    this.coming = null;
    this.overview.element.hidden = true;
    this.list.root.hidden = false;
    this.summary.textContent = "";
    this.list.show(source, options);
  }

  #sourceChanged() {
    this.picks.update(this.source.known, this.source.isWhole && !this.source.error);
    this.list.draw();
    if (this.coming) this.#moveTo(this.coming);
    const { error } = this.source;
    const words = counted(this.source, this.isSearching);
    if (this.summary.textContent !== words) this.summary.textContent = words;
    if (this.details.isOpen && !error) {
      const { entry } = this.details;
      const known = this.#known(entry.folder, entry.path);
      if (known && (known.state !== entry.state || known.selected !== entry.selected || known.size !== entry.size || known.presentBytes !== entry.presentBytes)) this.details.refresh();
    }
  }

  #drawCrumbs() {
    const { folder, path } = this.place ?? {};
    const parts = path ? path.split("/") : [];
    const steps = [[t`All folders`, []]];
    if (folder !== undefined) steps.push([this.app.folderName(folder), [folder]]);
    parts.forEach((part, i) => steps.push([part, [folder, ...parts.slice(0, i + 1)]]));
    const last = steps.length - 1;
    replace(this.crumbs, steps.map(([label, to], i) => h("li", {},
      h("a", { href: this.app.address("files", ...to), "aria-current": i === last && "page", title: shown(label) }, h("bdi", {}, shown(label))))));
    // The last of them is the place: where they do not fit, it is the one that is seen.
    this.crumbs.scrollLeft = this.crumbs.scrollWidth;
    this.detailsButton.hidden = folder === undefined;
    this.look.at(this.place);
    this.adding.refresh();
    this.filterBox.hidden = folder === undefined;
    this.scope.hidden = folder === undefined;
  }

  #showOverview() {
    this.deleted.close();
    this.asking?.abort();
    this.#rememberPosition();
    this.picks.clear();
    this.place = null;
    this.source?.close();
    this.source = null;
    this.#closePanel();
    this.#drawCrumbs();
    this.tree.clearPlace();
    this.list.root.hidden = true;
    this.overview.element.hidden = false;
    this.summary.textContent = "";
    this.overview.show();
  }

  #showTree(isShown) {
    this.isTreeShown = isShown;
    this.root.classList.toggle("with-tree", isShown);
    this.treeButton.setAttribute("aria-expanded", String(isShown));
    if (isShown) this.tree.element.querySelector("[tabindex='0']")?.focus();
  }

  // What is done in the list

  #open(entry) {
    if (this.list.isTiled && isViewable(entry)) this.#enlarge(entry);
    else this.#goTo(entry.folder, entry.path, entry.type);
  }

  #enlarge(entry) { if (this.source) this.full.open(this.source, entry); }

  /** Details without going anywhere: of a file its address, so that going back closes them. */
  #choose(entry) {
    if (entry.type === "directory") this.#showPanel(entry);
    else this.#goTo(entry.folder, entry.path, entry.type);
  }

  async #chooseHere() {
    const { folder, path } = this.place;
    if (this.details.isOpen && this.details.entry.path === path) return this.#closeDetails();
    const entry = await this.app.attempt(() => this.app.api.get("stat", { path: reference(folder, path) }));
    if (entry) this.#showPanel(entry);
  }

  #showPanel(entry) {
    const wasOpen = this.details.isOpen;
    this.root.classList.add("with-details");
    this.details.show(entry);
    this.list.chosen = entry;
    this.list.draw();
    // Where the panel covers the list the focus goes along.
    if (!wasOpen && getComputedStyle(this.details.element).position === "absolute") this.details.title.focus();
  }

  #closePanel() {
    clearTimeout(this.following);
    if (!this.details.isOpen) return;
    const hadFocus = this.details.element.contains(document.activeElement);
    this.details.close();
    this.root.classList.remove("with-details");
    this.list.chosen = null;
    this.list.draw();
    if (hadFocus) this.list.focus();
  }

  #closeDetails() {
    const { entry } = this.details;
    if (!entry) return;
    const isInAddress = this.place && location.hash === this.app.address("files", entry.folder, ...entry.path.split("/")) && entry.type !== "directory";
    if (isInAddress && !this.isSearching) this.#goTo(this.place.folder, this.place.path, "directory");
    else this.#closePanel();
    this.list.focus();
  }

  /** The details follow the keys, once these rest, where both are seen. */
  #moved(entry) {
    clearTimeout(this.following);
    if (!this.details.isOpen || !entry) return;
    if (getComputedStyle(this.details.element).position === "absolute") return;
    this.following = setTimeout(() => {
      if (!this.details.isOpen || this.isSearching) return;
      if (entry.type !== "directory") history.replaceState(null, "", this.app.address("files", entry.folder, ...entry.path.split("/")));
      else history.replaceState(null, "", this.app.address("files", this.place.folder, ...(this.place.path ? this.place.path.split("/") : [])));
      this.#showPanel(entry);
    }, 250);
  }

  /** A tick of one that is picked is one of all that are. */
  #tick(entry) {
    const entries = this.picks.size > 1 && this.picks.has(entry) ? this.picks.all : [entry];
    return this.#change(entries, entries.some(tickSelects) ? keep : letGo);
  }

  /** Does one of the things of files-select.js with entries. */
  async #change(entries, work, ...more) {
    // What is shown is of before until the change is made: a second press would mean something else then.
    const keys = entries.map((entry) => reference(entry.folder, entry.path));
    if (keys.some((key) => this.ticking.has(key))) return;
    for (const key of keys) this.ticking.add(key);
    const before = document.activeElement;
    try {
      const isChanged = await work(this.app, entries, () => this.#refresh(), ...more);
      this.#focusAgain(before);
      if (isChanged) await this.#refresh();
    } finally {
      for (const key of keys) this.ticking.delete(key);
    }
  }

  /** Focuses what had the focus before a question, unless the user has gone elsewhere meanwhile. */
  #focusAgain(before) {
    if (document.activeElement && document.activeElement !== document.body) return;
    if (before?.isConnected && before !== document.body) before.focus({ preventScroll: true });
    else this.list.focus();
  }

  async #pick(how, first, last) {
    const { source, picks } = this;
    if (!source) return;
    if (how === "none") return picks.clear();
    if (how === "toggle") {
      if (source.at(first)) picks.toggle(source.at(first));
      return;
    }
    if (how === "all") [first, last] = [0, (source.total ?? 0) - 1];
    if (last < first) return;
    if (last - first >= mostPicked) {
      this.app.fail({ message: t`At most ${number(mostPicked)} entries can be picked. Tick the directory that they are in.` });
      return;
    }
    const entries = await this.app.attempt(() => source.range(first, last));
    if (entries && this.source === source) picks.set(entries);
  }

  /** What can be done with an entry, or with all that are picked if it is one of them. */
  #menu(entry, place) {
    const isPicked = this.picks.has(entry);
    const entries = isPicked ? this.picks.all : [entry];
    const isOne = entries.length === 1;
    const canLetGo = entries.some((one) => boxOf(one) !== "false");
    openMenu([
      isOne && { label: t`Open`, run: () => this.#open(entry) },
      isOne && isViewable(entry) && { label: t`Full window`, run: () => this.#enlarge(entry) },
      isOne && { label: t`Details`, run: () => this.#choose(entry) },
      isOne && null,
      entries.some(tickSelects) && { label: t`Keep here`, run: () => this.#change(entries, keep) },
      canLetGo && { label: t`Stop keeping`, run: () => this.#change(entries, letGo) },
      canLetGo && { label: t`Stop keeping, leave the files here`, run: () => this.#change(entries, letGo, "keep") },
      isOne && entry.type === "file" && { label: t`Download`, run: () => h("a", { href: this.app.api.fileURL(reference(entry.folder, entry.path), { download: true }), download: nameOf(entry.path) }).click() },
      sendItem(this.app, entries),
      null,
      { label: isPicked ? t`Do not pick` : t`Pick`, run: () => this.picks.toggle(entry) },
      { label: t`Pick all`, run: () => this.#pick("all") },
      null,
      { label: t`Delete everywhere…`, kind: "danger", run: () => this.#change(entries, removeEverywhere) },
    ], { ...place, label: isOne ? t`Actions for ${shown(nameOf(entry.path))}` : t`Actions for what is picked`, from: this.list.element });
  }

  #up() {
    if (!this.place || this.isSearching) return;
    const { folder, path } = this.place;
    if (path) this.#goTo(folder, parentOf(path), "directory");
    else this.app.go("files");
  }

  #escape() {
    if (this.picks.size > 0) this.picks.clear();
    else if (this.details.isOpen) this.#closeDetails();
    else if (this.isSearching) this.#clearSearch();
  }

  #sortBy(by, order = this.sort.by === by && this.sort.order === "asc" ? "desc" : "asc") {
    this.sort = { by, order };
    this.positions.clear();
    this.#list();
  }

  #showSort() { for (const part of [this.list, this.look]) part.showSort(this.isSearching ? null : this.sort.by, this.sort.order); }

  /** Where the next name with this beginning is; -1 for nowhere. */
  async #seek(text, from) {
    const { source } = this;
    if (!source) return -1;
    if (source.isWhole || this.isSearching) {
      const test = beginsWith(text);
      const found = source.findKnown(test, from);
      return found >= 0 ? found : source.findKnown(test);
    }
    const answer = await this.app.attempt(() => this.app.api.page("entries", { ...this.query, limit: 1, offset: from, beginning: text }));
    return answer?.entries.length > 0 && this.source === source ? answer.offset : -1;
  }

  // Searching

  get isSearching() { return Boolean(this.searched); }

  #searchSoon() {
    clearTimeout(this.searching);
    this.searching = setTimeout(() => this.#searchNow(), 200);
  }

  #searchNow() {
    clearTimeout(this.searching);
    const text = this.search.value.trim();
    const filter = this.filters.query;
    if (!text && !this.filters.isActive) return this.#endSearch();
    const folder = this.place && this.scope.value === "folder" ? this.place.folder : undefined;
    const key = JSON.stringify([text, folder, filter]);
    if (this.searched === key) return;
    if (!this.isSearching) this.#rememberPosition();
    this.searched = key;
    this.#closePanel();
    this.#use(new PagedSource((offset, limit, signal) => this.app.api.page("search", { text, folder, ...filter, limit, offset }, signal), () => this.#sourceChanged()),
      { label: text ? t`Names with ${shown(text)}` : t`Files that the filters find`, showsPath: true });
    this.list.emptyText = this.filters.isActive ? t`No files match the filters.` : t`No matching names.`;
    this.#showSort();
  }

  #clearSearch() {
    this.search.value = "";
    this.filters.clear();
    this.#endSearch();
    this.#hideFilters();
  }

  /** The chips are seen while they are used, or one is set. */
  #hideFilters() {
    setTimeout(() => {
      const isUsed = [this.toolbar, this.filters.element].some((row) => row.contains(document.activeElement));
      if (!isUsed && !this.filters.isActive && !this.isSearching) this.filters.element.hidden = true;
    });
  }

  #endSearch() {
    clearTimeout(this.searching);
    if (!this.isSearching) return;
    this.searched = null;
    this.search.value = "";
    if (this.place) {
      const hadFocus = this.search === document.activeElement;
      this.#list();
      if (hadFocus) this.search.focus();
    } else {
      this.#showOverview();
    }
  }

  // What changes

  #status(status) {
    this.filters.setDevices(status.devices);
    this.tree.setFolders(status.folders);
    if (!this.place && !this.isSearching) this.overview.draw(status);
  }

  #event(event) {
    const about = ["index-updated", "files-changed", "selection-changed", "folder-changed", "configuration-changed", "selection-followed", "policies-changed", "gap", "device-connected", "device-disconnected"];
    const isDone = event.type === "job" && event.job?.state !== "running";
    if (!about.includes(event.type) && !isDone) return;
    if (event.folder && this.place && event.folder !== this.place.folder && !this.isSearching) return;
    if (["folder-changed", "configuration-changed", "gap", "device-connected"].includes(event.type)) this.adding.refresh();
    this.#refreshSoon();
  }

  /** Many changes are one; while they go on what is seen is asked for once a second. */
  #refreshSoon() {
    if (!this.refreshing) this.refreshing = setTimeout(() => this.#refresh(), 1000);
  }

  /** Asks again for all that is shown; ends when the list says what is now. */
  async #refresh() {
    clearTimeout(this.refreshing);
    this.refreshing = null;
    const listed = this.source?.refresh();
    this.deleted.refresh();
    this.details.refresh();
    this.tree.refresh();
    await listed;
  }
}
