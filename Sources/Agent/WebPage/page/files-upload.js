// Files that are added from this browser: chosen, dropped, or gone on with after the page was loaded again.
import { act } from "./parts.js";
import { h, icon, reference, replace } from "./dom.js";
import { nameOf, shown } from "./files-names.js";
import { upload } from "./upload.js";
import { bytes, number, plural, t } from "./words.js";

const atOnce = 2;
const mostFiles = 10_000;
const mostShown = 20;

let one = null;

/** What is uploaded goes on while other views are shown: there is one of these. */
export function uploads(app) { return one ??= new Uploads(app); }

class Uploads {
  constructor(app) {
    this.app = app;
    this.items = [];
    this.done = 0;
    this.choice = null;
    this.heading = h("h2", { tabindex: "-1" }, t`Adding files`);
    this.words = h("p", { class: "quiet", role: "status" });
    this.list = h("ul", { class: "adding" });
    this.tools = h("div", { class: "tools" });
    this.rows = new Map();
    this.element = h("section", { class: "uploads", "aria-label": t`Added files`, hidden: true },
      h("header", {}, this.heading, this.words, this.tools), this.list);
    addEventListener("beforeunload", (event) => { if (this.#count("running", "waiting") > 0) event.preventDefault(); });
    this.#findEarlier();
    app.onEvent((event) => { if (event.type === "gap") this.#findEarlier(); });
  }

  /** Files with the names that they are to have below a directory of a folder: `[{file, name}]`. */
  add(folder, directory, files) {
    for (const { file, name } of files) {
      const path = [directory, name.normalize("NFC")].filter(Boolean).join("/");
      const known = this.items.find((item) => item.folder === folder && item.path === path);
      // The same again goes on with what was left, and another is refused with the reason; what is under way is not begun twice.
      if (known && known.state !== "failed") { this.#goOn(known, file); continue; }
      if (known) this.#forget(known);
      this.items.push({ folder, path, file, size: file.size, modified: file.lastModified, offset: 0, state: "waiting", key: `${folder}:${path}` });
    }
    this.choice = null;
    this.#pump();
  }

  // What was left by a page that was closed

  async #findEarlier() {
    let answer;
    try { answer = await this.app.api.get("uploads"); } catch { return; }
    const busy = await underWay();
    for (const left of answer.uploads) {
      if (busy.has(`${left.folder}:${left.wanted}`) || this.items.some((item) => item.id === left.id || item.folder === left.folder && item.path === left.wanted)) continue;
      this.items.push({ folder: left.folder, path: left.wanted, size: left.size, modified: left.modified, offset: left.offset,
        id: left.id, state: "left", key: `${left.folder}:${left.wanted}` });
    }
    this.#draw();
  }

  #choose(item) {
    const input = h("input", { type: "file", hidden: true, "aria-label": t`File to go on with: ${shown(nameOf(item.path))}` });
    input.addEventListener("change", () => {
      const [file] = input.files;
      input.remove();
      if (file) this.#goOn(item, file);
    });
    document.body.append(input);
    input.click();
  }

  #goOn(item, file) {
    const isSame = file.size === item.size && (item.modified === undefined || item.modified === file.lastModified)
      && file.name.normalize("NFC") === nameOf(item.path);
    if (!isSame) {
      this.app.fail(new this.app.api.APIError({
        message: t`“${shown(file.name)}” is not the file that was begun (“${shown(nameOf(item.path))}”, ${bytes(item.size)}). Choose that one, or cancel it and add this one.`,
      }));
      return;
    }
    if (item.state !== "left") return;
    Object.assign(item, { file, state: "waiting" });
    this.#pump();
  }

  // Doing

  #count(...states) { return this.items.filter((item) => states.includes(item.state)).length; }

  #pump() {
    for (const item of this.items) {
      if (this.#count("running") >= atOnce) break;
      if (item.state === "waiting") this.#run(item);
    }
    this.#draw();
  }

  async #run(item) {
    item.state = "running";
    item.controller = new AbortController();
    try {
      const placed = await announced(item.key, () => upload(this.app.api, item.file, reference(item.folder, item.path), {
        signal: item.controller.signal,
        told: (state) => { Object.assign(item, state); this.#draw(); },
        clash: (error) => this.#askClash(item, error),
      }));
      this.done += 1;
      this.#forget(item);
      const isSelected = placed.added.length > 0 && t`Its directory is not kept here, so a line for the file was added to the selection.`;
      if (this.#count("running", "waiting") === 0) {
        const what = this.done === 1 ? t`“${shown(nameOf(placed.path))}” was added.` : plural(this.done, "{1} file added.", "{1} files added.");
        this.app.say([what, isSelected].filter(Boolean).join(" "));
      }
    } catch (error) {
      if (error.name === "AbortError") await this.#drop(item);
      else if (error.status === 401) Object.assign(item, { state: "left", file: undefined });
      else Object.assign(item, { state: "failed", message: error.message });
    }
    this.#pump();
  }

  /** One question at a time, answered for all that follow if that is chosen. */
  async #askClash(item) {
    if (this.choice) return this.choice === "rename" ? "rename" : null;
    const earlier = this.asking;
    let end;
    this.asking = new Promise((resolve) => { end = resolve; });
    await earlier;
    try {
      if (this.choice) return this.choice === "rename" ? "rename" : null;
      const others = this.#count("waiting", "running") > 1;
      const answer = await this.app.ask({
        title: t`“${shown(nameOf(item.path))}” exists already`,
        body: h("p", {}, t`It is never overwritten. Keep both adds this file with a number behind its name.`),
        choices: [{ label: t`Skip`, value: "skip" }, { label: t`Keep both`, value: "rename", kind: "main" },
          ...others ? [{ label: t`Skip all`, value: "all-skip" }, { label: t`Keep both of all`, value: "all-rename" }] : []],
      });
      if (answer?.startsWith("all-")) this.choice = answer.slice(4);
      return answer?.endsWith("rename") ? "rename" : null;
    } finally {
      end();
    }
  }

  /** Ends an upload: what has arrived goes. */
  async #drop(item) {
    this.#forget(item);
    this.#draw();
    for (let tries = 0; item.id && tries < 20; tries += 1) {
      try { await this.app.api.remove("uploads", { upload: item.id }); } catch (error) {
        // The part that was cut off may still be written. What stays is removed after a day.
        if (error.code === "busy") { await new Promise((resolve) => { setTimeout(resolve, 250); }); continue; }
      }
      return;
    }
  }

  async #cancel(item) {
    if (item.state === "running") item.controller.abort(new DOMException("cancelled", "AbortError"));
    else await this.#drop(item);
    this.heading.focus({ preventScroll: true });
  }

  #forget(item) { this.items = this.items.filter((other) => other !== item); }

  // Showing

  #draw() {
    const active = this.#count("running", "waiting");
    this.element.hidden = this.items.length === 0;
    if (this.items.length === 0) this.done = 0;
    const [sum, rest] = this.items.filter((item) => item.file).reduce(([all, left], item) => [all + item.size, left + item.size - item.offset], [0, 0]);
    const words = active > 0 ? [plural(active, "{1} file to go, {2} of {3} left", "{1} files to go, {2} of {3} left", bytes(rest), bytes(sum)),
      this.done > 0 && t`${number(this.done)} done`].filter(Boolean).join("; ") : t`Nothing is being added.`;
    if (this.words.textContent !== words) this.words.textContent = words;
    const hasTools = active > 1;
    if (hasTools !== this.hasTools) {
      this.hasTools = hasTools;
      replace(this.tools, hasTools && act(t`Cancel all`, async () => { for (const item of [...this.items]) if (item.file) await this.#cancel(item); }));
    }
    const order = { running: 0, failed: 1, left: 2, waiting: 3 };
    const items = [...this.items].sort((a, b) => order[a.state] - order[b.state]).slice(0, mostShown);
    const rows = items.map((item) => this.#row(item));
    for (const key of this.rows.keys()) if (!items.some((item) => item.key === key)) this.rows.delete(key);
    if (rows.some((row, i) => row !== this.list.children[i]) || rows.length !== this.list.children.length) this.list.replaceChildren(...rows);
  }

  /** A row is made again only when something else can be done; else its bar moves. */
  #row(item) {
    let row = this.rows.get(item.key);
    const kind = [item.state, item.message].join();
    if (row?.kind !== kind) {
      const name = shown(nameOf(item.path));
      const bar = h("progress", { max: 1, value: 0, "aria-label": t`Adding ${name}` });
      const said = h("span", { class: item.state === "failed" ? "bad" : "quiet" });
      const again = item.state === "failed" ? act(t`Try again`, () => { item.state = "waiting"; this.#pump(); }, { "aria-label": t`Try again: ${name}` })
        : item.state === "left" ? act(t`Choose the file…`, () => this.#choose(item), { "aria-label": t`Choose the file to go on with: ${name}` }) : null;
      row = { kind, bar, said, element: h("li", {}, icon("file"), h("bdi", { class: "name", title: shown(item.path) }, name),
        item.state === "running" ? bar : null, said, again,
        act(item.state === "failed" ? t`Remove` : t`Cancel`, () => this.#cancel(item), { "aria-label": t`Cancel adding ${name}` })) };
      this.rows.set(item.key, row);
    }
    if (item.size > 0) row.bar.value = item.offset / item.size;
    const words = item.state === "failed" ? item.message
      : item.state === "left" ? t`${bytes(item.offset)} of ${bytes(item.size)} arrived. Choose the same file again to go on.`
        : item.state === "waiting" ? t`Waiting` : item.isWaiting ? t`Waiting for the agent` : item.isChecking ? t`Checking`
          : [t`${bytes(item.offset)} of ${bytes(item.size)}`, item.added?.length > 0 && t`will be selected by a line of its own`].filter(Boolean).join(", ");
    if (row.said.textContent !== words) row.said.textContent = words;
    return row.element;
  }
}

const lockName = "synctrain-upload ";

/** Does something while the other tabs of this browser can see that one is at the upload of that key. */
function announced(key, work) {
  return navigator.locks ? navigator.locks.request(lockName + key, { mode: "shared" }, work) : work();
}

/** The keys of uploads that a tab of this browser is at; none where the browser does not tell, as on a page over plain HTTP of another machine. */
async function underWay() {
  const { held = [] } = await navigator.locks?.query() ?? {};
  return new Set(held.filter(({ name }) => name.startsWith(lockName)).map(({ name }) => name.slice(lockName.length)));
}

/** The files that were dropped, with those in directories: `[{file, name}]`. Called while the event is dispatched. */
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length === 0) return [...transfer.files].map((file) => ({ file, name: file.name }));
  const found = [];
  const waiting = entries.map((entry) => [entry, entry.name]);
  while (waiting.length > 0) {
    const [entry, name] = waiting.shift();
    if (entry.isFile) {
      found.push({ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), name });
      if (found.length > mostFiles) throw new Error(t`More than ${number(mostFiles)} files at once. Add fewer.`);
      continue;
    }
    const reader = entry.createReader();
    for (;;) {
      // A browser gives a hundred at a time.
      const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (part.length === 0) break;
      for (const child of part) waiting.push([child, `${name}/${child.name}`]);
    }
  }
  return found;
}

/**
 * Has `element` take files that are dropped on it: `show(isOver)` is called as they come over it and go, `take(transfer)` while
 * the event is dispatched. While `isRefused()` the pointer says so, and the browser drops nothing.
 */
export function takeDrops(element, { isRefused, show, take }) {
  let depth = 0;
  const has = (event) => event.dataTransfer?.types.includes("Files");
  const move = (by) => (event) => { if (has(event)) { depth += by; event.preventDefault(); show(depth > 0); } };
  element.addEventListener("dragenter", move(1));
  element.addEventListener("dragleave", move(-1));
  element.addEventListener("dragover", (event) => {
    if (!has(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = isRefused() ? "none" : "copy";
  });
  element.addEventListener("drop", (event) => {
    if (!has(event)) return;
    event.preventDefault();
    depth = 0;
    show(false);
    take(event.dataTransfer);
  });
}

/**
 * The button and the place to drop on. `place()` answers `{folder, path}` or null; files are added to it. `middle` is what they are
 * dropped on.
 */
export class Adding {
  constructor(app, place, middle) {
    this.app = app;
    this.place = place;
    this.refusal = null;
    this.input = h("input", { type: "file", multiple: true, hidden: true, "aria-label": t`Files to add` });
    this.input.addEventListener("change", () => {
      this.#add([...this.input.files].map((file) => ({ file, name: file.name })));
      this.input.value = "";
    });
    this.button = h("button", { type: "button", onclick: () => this.#open() }, icon("add"), h("span", { class: "for-wide" }, t`Add files…`));
    this.button.setAttribute("aria-label", t`Add files…`);
    this.sign = h("p", { class: "drop-sign", hidden: true });
    this.element = h("div", { class: "add-files" }, this.button, this.input);
    middle.append(this.sign);
    takeDrops(middle, { isRefused: () => Boolean(this.#obstacle()), show: (isOver) => this.#show(isOver), take: async (transfer) => {
      const to = this.place();
      const files = await app.attempt(() => dropped(transfer));
      if (files) this.#add(files, to);
    } });
  }

  /** Asks whether the folder takes files; called when another is shown and when it changes. */
  async refresh() {
    const folder = this.place()?.folder;
    this.button.hidden = folder === undefined;
    if (folder === undefined) return;
    let refusal = null;
    try { refusal = (await this.app.api.get("uploads", { folder })).refusal ?? null; } catch { return; }
    if (this.place()?.folder !== folder) return;
    this.refusal = refusal;
    this.button.setAttribute("aria-disabled", String(refusal !== null));
    if (refusal) this.button.title = refusal;
    else this.button.removeAttribute("title");
  }

  #obstacle() { return this.place() ? this.refusal : t`Open a folder to add files to it.`; }

  #open() {
    if (this.#obstacle()) return this.#refuse();
    this.input.click();
    return undefined;
  }

  #refuse() { this.app.fail(new this.app.api.APIError({ message: this.#obstacle() })); }

  #add(files, to = this.place()) {
    if (!to || this.#obstacle()) return this.#refuse();
    uploads(this.app).add(to.folder, to.path, files);
    return undefined;
  }

  #show(isOver) {
    this.sign.hidden = !isOver;
    const to = this.place();
    this.sign.classList.toggle("bad", Boolean(this.#obstacle()));
    this.sign.textContent = this.#obstacle()
      ?? t`Drop files to add them to ${shown(nameOf(to.path) || this.app.folderName(to.folder))}`;
  }
}
