// Files that no device has any more, and their way back.
import { button, h, reference, replace, when } from "./dom.js";
import { nameOf, parentOf, shown } from "./files-names.js";
import { bytes, plural, t } from "./words.js";

const pageSize = 100;

/** What downloads an archived version, or says how else it is opened. */
export function versionLink(app, { folder, path, archived, size }, attributes) {
  if (size > app.api.versionMost) return h("span", { class: "quiet" }, t`The version has ${bytes(size)}. Restore it to open it.`);
  const seconds = Math.floor(Date.parse(archived) / 1000);
  return h("a", { class: "button", href: app.api.versionURL(reference(folder, path), seconds), download: nameOf(path), ...attributes }, t`Download`);
}

/** Puts the last version of a file that is gone back into its place; answers whether it is there. */
export async function bringBack(app, folder, path) {
  const body = { path: { text: reference(folder, path), workingDirectory: "/" }, confirmed: false };
  return Boolean(await app.attempt(() => app.api.post("versions/restore", body)));
}

/** The list of what was deleted at and below a directory: in the place of the files. `changed()` is called when some are back. */
export class DeletedList {
  constructor(app, changed) {
    this.app = app;
    this.changed = changed;
    this.element = h("section", { class: "deleted", "aria-label": t`Deleted files`, hidden: true, tabindex: "-1" });
  }

  async show(folder, path) {
    this.element.hidden = false;
    this.at = { folder, path };
    this.limit = pageSize;
    await this.refresh();
  }

  close() {
    this.at = null;
    this.element.hidden = true;
    replace(this.element);
  }

  async refresh() {
    const { at, app } = this;
    if (!at) return;
    let answer;
    try {
      answer = await app.api.first("deleted", this.limit, { path: reference(at.folder, at.path) });
    } catch (error) {
      if (this.at === at) replace(this.element, h("p", { class: "bad" }, error.message));
      return;
    }
    if (this.at !== at) return;
    // One more than were asked for is not counted: there may be more.
    const isMore = answer.entries.length === this.limit && answer.total !== answer.entries.length;
    const state = JSON.stringify([at, answer.entries, isMore]);
    if (state === this.drawn && this.element.childNodes.length > 0) return;
    this.drawn = state;
    const hadFocus = this.element.contains(document.activeElement);
    replace(this.element, answer.entries.length === 0
      ? h("p", { class: "empty" }, t`No deleted files that can be restored. Old versions are kept for a folder whose setting Versions says so.`)
      : [h("p", { class: "quiet" }, t`No device has these files any more. The last version of each is archived on this device.`),
        h("ol", { class: "timeline" }, [...answer.entries].sort((a, b) => Date.parse(b.archived) - Date.parse(a.archived)).map((file) => this.#row(file)))],
    isMore ? button(t`Show more`, async () => { this.limit += pageSize; await this.refresh(); }) : null);
    if (hadFocus) this.element.focus({ preventScroll: true });
  }

  #row(file) {
    const name = shown(nameOf(file.path));
    const below = parentOf(file.path);
    return h("li", {},
      h("bdi", { class: "name", title: shown(file.path) }, name), below === this.at.path ? null : h("bdi", { class: "where" }, shown(below)),
      h("span", { class: "quiet" },
        file.deletedBy ? t`deleted ${when(file.archived)} by ${this.#maker(file.deletedBy)}` : t.as("time")`deleted ${when(file.archived)}`, `, ${bytes(file.size)}`,
        file.versions > 1 ? `, ${plural(file.versions, "{1} version", "{1} versions")}` : ""),
      h("span", { class: "tools" },
        button(t`Restore`, async () => {
          if (!await bringBack(this.app, file.folder, file.path)) return;
          this.app.say(t`“${name}” was restored on all devices.`);
          await this.refresh();
          this.changed();
        }, { "aria-label": t`Restore ${name}` }),
        versionLink(this.app, file, { "aria-label": t`Download the last version of ${name}` })));
  }

  #maker(shortID) {
    const devices = [{ id: this.app.status?.device ?? "" }, ...(this.app.status?.devices ?? [])];
    const found = devices.find(({ id }) => id && id.startsWith(shortID));
    return found ? shown(this.app.deviceName(found.id)) : shortID;
  }
}
