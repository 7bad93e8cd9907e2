// All that is known of one entry, and what can be done with it.
import { button, h, icon, reference, replace, when } from "./dom.js";
import { kindOf, nameOf, parentOf, shown, stateOf, tickSelects } from "./files-names.js";
import { versionLink } from "./files-deleted.js";
import { isViewable } from "./files-full.js";
import { previewOf } from "./files-preview.js";
import { sendItem } from "./drop.js";
import { moreButton } from "./menu.js";
import { removeEverywhere } from "./files-select.js";
import { bytes, dateTime, plural, rate, t } from "./words.js";

const holdings = {
  complete: t`has it`, partly: t`has a part`, older: t`has an older version`, other: t`has another version`, deleted: t`deleted it`,
  "not-kept": t`not selected there`, nothing: t`does not have it`, unknown: t`has not reported yet`,
};

/** `actions`: `tick(entry)`, `enlarge(entry)`, `close()`, `changed()`. A part is drawn again only if it says something else. */
export class Details {
  constructor(app, actions) {
    this.app = app;
    this.actions = actions;
    this.entry = null;
    /** Whether no index has it: it has no link to its bytes then, and `whereis` would not find it. */
    this.isOnlyHere = false;
    this.drawn = new Map();
    this.title = h("h2", { tabindex: "-1" });
    this.look = h("div", { class: "look" });
    this.progress = h("div", { class: "fetching" });
    this.buttons = h("div", { class: "tools" });
    this.facts = h("dl", { class: "facts" });
    this.why = h("div");
    this.where = h("div");
    this.versions = h("div");
    this.element = h("aside", { class: "details", "aria-label": t`Details`, hidden: true },
      h("header", {}, this.title, h("button", { type: "button", class: "plain", "aria-label": t`Close details`, onclick: () => actions.close() }, icon("close"))),
      this.look, this.buttons, this.progress, this.facts, this.why, this.where, this.versions);
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.target.closest("video, audio")) { event.stopPropagation(); actions.close(); }
    });
  }

  get isOpen() { return this.entry !== null; }

  show(entry) {
    const isSame = this.entry && this.entry.folder === entry.folder && this.entry.path === entry.path;
    const before = this.entry;
    this.entry = entry;
    this.element.hidden = false;
    if (!isSame) {
      this.controller?.abort();
      this.isOnlyHere = false;
      this.drawn.clear();
      for (const part of [this.progress, this.why, this.where, this.versions]) replace(part);
      this.title.replaceChildren(h("bdi", {}, shown(nameOf(entry.path) || this.app.folderName(entry.folder))));
    }
    if (!isSame || !isSameFile(before, entry)) this.#drawLook();
    this.#drawButtons();
    this.#drawFacts(entry);
    this.#load();
  }

  #drawLook() {
    const { entry } = this;
    const hadFocus = this.look.contains(document.activeElement);
    this.preview?.close();
    this.preview = previewOf(this.app, entry);
    replace(this.look, this.preview?.element ?? h("div", { class: "stand-in" }, icon(kindOf(entry))));
    if (hadFocus) this.title.focus({ preventScroll: true });
  }

  /** Asks again what may have changed. */
  refresh() { if (this.entry) this.#load(); }

  close() {
    this.controller?.abort();
    this.preview?.close();
    this.preview = null;
    this.entry = null;
    this.element.hidden = true;
  }

  async #load() {
    this.controller?.abort();
    this.controller = new AbortController();
    const { signal } = this.controller;
    const { api } = this.app;
    const path = reference(this.entry.folder, this.entry.path);
    const part = async (load, draw) => {
      try {
        const answer = await load();
        if (!signal.aborted) draw(answer);
      } catch (error) {
        if (error.name !== "AbortError" && !signal.aborted) draw(null, error);
      }
    };
    // One after the other: a page has six connections, and the list and the preview want theirs.
    await part(() => api.get("stat", { path }, signal), (entry, error) => {
      if (error) return this.#once("facts", error.message, this.facts, () => h("p", { class: "bad" }, error.message));
      const before = this.entry;
      this.entry = { ...entry };
      this.isOnlyHere = !entry.details;
      if (!isSameFile(before, entry)) this.#drawLook();
      this.#drawButtons();
      this.#drawFacts(entry);
    });
    await part(() => api.get("explain", { path }, signal), (explained, error) => this.#drawWhy(explained, error));
    await part(async () => this.isOnlyHere ? { devices: [{ this: true, has: "complete" }] } : api.get("whereis", { path }, signal),
      (where, error) => this.#drawWhere(where, error));
    if (this.entry?.type === "file") {
      // The oldest are the first: all are asked for, so that the newest are among them.
      await part(async () => (await api.first("versions", Infinity, { path }, signal)).entries, (versions) => this.#drawVersions(versions));
    }
  }

  /** Draws a part if what it says is new, and gives the focus back to what had it. */
  #once(name, state, place, make) {
    const text = JSON.stringify(state);
    if (this.drawn.get(name) === text) return;
    this.drawn.set(name, text);
    const focused = place.contains(document.activeElement) ? document.activeElement.dataset.key ?? "" : null;
    replace(place, make());
    if (focused === null) return;
    const again = [...place.querySelectorAll("[data-key]")].find((element) => element.dataset.key === focused && !element.disabled);
    (again ?? this.title).focus();
  }

  #drawButtons() {
    const { entry, app } = this;
    const path = reference(entry.folder, entry.path);
    const isRoot = entry.path === "";
    const keeps = !tickSelects(entry);
    const isFile = entry.type === "file";
    const isRead = isFile && !this.isOnlyHere;
    const canFetch = isFile && ["absent", "queued", "partial"].includes(entry.state);
    this.#once("buttons", [path, keeps, isRead, canFetch], this.buttons, () => [
      isRoot ? null : button(keeps ? t`Stop keeping` : t`Keep here`, () => this.actions.tick(this.entry), { class: keeps ? "" : "main", "data-key": "keep" }),
      isRead ? h("a", { class: "button", href: app.api.fileURL(path, { download: true }), download: nameOf(entry.path), "data-key": "download" }, icon("download"), t`Download`) : null,
      isRead ? button(t`Copy link`, () => this.#link(path), { "data-key": "link" }) : null,
      isViewable(entry) ? button(t`Full window`, () => this.actions.enlarge(this.entry), { "data-key": "full" }) : null,
      canFetch ? button(t`Fetch now`, () => this.#fetch(path), { "data-key": "fetch" }) : null,
      isRoot ? null : moreButton(t`More actions`, () => [sendItem(app, [this.entry]), { label: t`Delete everywhere…`, kind: "danger", run: async () => {
        if (await removeEverywhere(app, [this.entry], () => this.actions.changed())) this.actions.changed();
      } }], { "data-key": "more" }),
    ]);
  }

  #drawFacts(entry) {
    const { app } = this;
    const state = stateOf(entry);
    const { details = {} } = entry;
    const rows = [];
    const add = (term, ...what) => rows.push(h("div", {}, h("dt", {}, term), h("dd", {}, ...what)));
    add(t`State`, h("span", { class: `tag ${state.tone}` }, icon(state.icon), h("span", {}, state.word)),
      state.title ? h("div", { class: "quiet" }, state.title) : null);
    add(t`Place`, h("bdi", { class: "path" }, shown([app.folderName(entry.folder), parentOf(entry.path)].filter(Boolean).join(" / "))));
    const inside = entry.type === "directory" && entry.files !== undefined
      ? [" ", t`in ${plural(entry.files, "{1} file", "{1} files")} and ${plural(entry.directories ?? 0, "{1} directory", "{1} directories")}`] : null;
    add(t`Size`, bytes(entry.size), inside);
    if (entry.modified) add(t`Modified`, this.#madeBy(when(entry.modified), details.modifiedBy));
    if (details.symlinkTarget !== undefined) add(t`Link target`, h("bdi", {}, shown(details.symlinkTarget)));
    if (details.version) add(t`Version`, h("span", { class: "mono" }, details.version));
    if (details.blocks) add(t`Blocks`, plural(details.blocks, "{1} block of {2}", "{1} blocks of {2}", bytes(details.blockSize)));
    if (details.localPath) add(t`On this disk`, h("bdi", { class: "mono path" }, shown(details.localPath)));
    this.#once("facts", [entry, Math.floor(Date.now() / 60_000), app.status?.devices.map((device) => device.name)], this.facts, () => rows);
  }

  /** The device that an index calls by the beginning of its id. */
  #maker(shortID) {
    const devices = [{ id: this.app.status?.device ?? "" }, ...(this.app.status?.devices ?? [])];
    const found = devices.find(({ id }) => id && id.startsWith(shortID));
    return found ? shown(this.app.deviceName(found.id)) : shortID;
  }

  /** A time, and who did something then where that is known. */
  #madeBy(time, shortID) { return shortID ? t`${time} by ${this.#maker(shortID)}` : time; }

  #drawWhy(explained, error) {
    this.#once("why", [explained, error?.message], this.why, () => {
      if (error) return h("p", { class: "bad" }, error.message);
      const isKept = explained.selected !== "no";
      const { line } = explained;
      const text = {
        "no-line": t`Kept: no line of .stignore excludes it.`,
        root: t`Kept: the folder itself.`,
        "internal-name": t`Never synced: the name is reserved.`,
        "temporary-name": t`Never synced: a temporary file.`,
      }[explained.reason] ?? (isKept ? t`Kept.` : t`Not kept.`);
      return [h("h3", {}, isKept ? t`Why it is kept` : t`Why it is not kept`),
        h("p", {}, explained.reason === "line" && line ? whyLine(isKept, line, explained) : text),
        explained.parentOfSelected && !isKept ? h("p", {}, t`The directory exists because something in it is kept.`) : null];
    });
  }

  #drawWhere(where, error) {
    this.#once("where", [where, error?.message], this.where, () => {
      if (error) return h("p", { class: "bad" }, error.message);
      const devices = where.devices ?? [];
      const nobody = !devices.some((device) => !device.this && device.has === "complete");
      return [h("h3", {}, t`Available from`), h("ul", { class: "devices" }, devices.map((device) => h("li", {},
        h("span", { class: `dot ${device.this || device.connected ? "on" : ""}`, "aria-hidden": "true" }),
        h("bdi", { class: "who" }, device.this ? t`This device` : shown(device.name || device.id.slice(0, 7))),
        h("span", {}, holdings[device.has] ?? t`does not have it`),
        h("span", { class: "quiet" }, device.this ? "" : device.connected ? t`connected` : device.lastSeen ? t`last seen ${when(device.lastSeen)}` : t`never seen`),
        device.files !== undefined ? h("span", { class: "quiet" }, `${plural(device.files, "{1} file", "{1} files")}, ${bytes(device.bytes)}`) : null))),
      nobody && this.entry?.type === "file" && !["present", "modified", "downloaded"].includes(this.entry.state)
        ? h("p", { class: "warn" }, t`No other device has reported a complete copy.`) : null];
    });
  }

  #drawVersions(versions) {
    this.#once("versions", versions ?? [], this.versions, () => {
      if (!versions?.length) return null;
      const { entry } = this;
      // The newest first: what is here now, then what was in its place until when.
      return [h("h3", {}, t`Versions`), h("ol", { class: "timeline" },
        h("li", { "aria-current": "true" }, h("span", {}, t`Now`), h("span", { class: "quiet" },
          t`modified ${this.#madeBy(when(entry.modified), entry.details?.modifiedBy)}`, `, ${bytes(entry.size)}`)),
        [...versions].reverse().map((version) => {
          const time = dateTime(version.archived);
          return h("li", {}, h("span", {}, t`until ${when(version.archived)}`),
            h("span", { class: "quiet" }, t`modified ${when(version.modified)}`, `, ${bytes(version.size)}`),
            h("span", { class: "tools" },
              button(t`Restore`, () => this.#restore(version), { "data-key": `restore ${version.archived}`, "aria-label": t`Restore the version of ${time}` }),
              versionLink(this.app, version, { "data-key": `open ${version.archived}`, "aria-label": t`Download the version of ${time}` })));
        }))];
    });
  }

  async #restore(version) {
    const { app } = this;
    const choice = await app.ask({
      title: t`Restore this version?`,
      body: h("p", {}, t`It becomes the newest version on all devices. The current version is archived.`),
      choices: [{ label: t`Cancel`, value: null }, { label: t`Restore`, value: "restore", kind: "main" }],
    });
    if (choice !== "restore") return;
    const path = { text: reference(version.folder, version.path), workingDirectory: "/" };
    const at = Date.parse(version.archived) / 1000;
    const done = await app.attempt(() => app.api.post("versions/restore", { path, at: Math.floor(at), confirmed: true }));
    if (!done) return;
    app.say(t`The version was restored.`);
    this.actions.changed();
  }

  async #link(path) {
    const { app } = this;
    const link = await app.attempt(() => app.api.post("links", { path: { text: path, workingDirectory: "/" }, seconds: 7200 }));
    if (!link) return;
    try {
      await navigator.clipboard.writeText(link.url);
      app.say(t`Link copied. It works for two hours in any player or browser on this machine.`);
    } catch {
      await app.ask({
        title: t`Link to the file`,
        body: [h("p", {}, t`It works for two hours in any player or browser on this machine.`),
          h("input", { type: "text", readonly: true, value: link.url, class: "wide", "aria-label": t`Link`, onfocus: (event) => event.target.select() })],
        choices: [{ label: t`Close`, value: null }],
      });
    }
  }

  async #fetch(path) {
    const { app, entry } = this;
    const bar = h("progress", { max: 1, "aria-label": t`Fetching ${shown(nameOf(entry.path))}` });
    const words = h("p", { class: "quiet" }, t`Fetching…`);
    replace(this.progress, bar, words);
    const done = await app.attempt(() => app.api.run("fetch", { paths: [{ text: path, workingDirectory: "/" }], force: false }, ({ progress }) => {
      if (!progress?.bytesTotal) return;
      bar.value = progress.bytesDone / progress.bytesTotal;
      words.textContent = t`${bytes(progress.bytesDone)} of ${bytes(progress.bytesTotal)}` + (progress.bytesPerSecond ? `, ${rate(progress.bytesPerSecond)}` : "");
    }));
    if (this.entry && reference(this.entry.folder, this.entry.path) === path) replace(this.progress);
    if (!done) return;
    app.say(t`“${shown(nameOf(entry.path))}” was fetched.`);
    this.actions.changed();
  }
}

/** Whether a file is what it was: a film that plays goes on as long as it is the same film. */
function isSameFile(before, entry) {
  return before.type === entry.type && before.size === entry.size && (before.modified ?? null) === (entry.modified ?? null);
}

/** Which line of `.stignore` selects or excludes an entry, and by which directory above it. */
function whyLine(isKept, line, { path, matchedPath }) {
  const code = h("code", {}, shown(line.text));
  const above = matchedPath && matchedPath !== path ? h("bdi", {}, shown(matchedPath)) : null;
  if (isKept) {
    return above ? t`Kept because of line ${line.number} of ${line.file}: ${code}, which takes in ${above}`
      : t`Kept because of line ${line.number} of ${line.file}: ${code}`;
  }
  return above ? t`Not kept because of line ${line.number} of ${line.file}: ${code}, which takes in ${above}`
    : t`Not kept because of line ${line.number} of ${line.file}: ${code}`;
}
