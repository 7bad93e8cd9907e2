// All folders, each a card.
import { button, h, icon, replace } from "./dom.js";
import { shown } from "./files-names.js";
import { changeMode } from "./files-select.js";
import { freeSpace, removeFolder } from "./files-space.js";
import { moreButton } from "./menu.js";
import { bytes, plural, said, t } from "./words.js";

const states = {
  idle: t`up to date`, paused: t`paused`, fetching: t`on demand only`, starting: t`starting`, "receiving-index": t`receiving the index`,
  scanning: t`scanning`, syncing: t`syncing`,
};

const modeWords = (folder) => folder.mode === "full" ? t`Keep only selected files…` : t`Keep everything…`;

export class Overview {
  constructor(app) {
    this.app = app;
    this.element = h("div", { class: "overview" });
    this.drawn = null;
  }

  show() {
    this.drawn = null;
    if (this.app.status) this.draw(this.app.status);
    else replace(this.element, h("p", { class: "empty" }, t`Loading…`));
  }

  draw(status) {
    const state = JSON.stringify(status.folders.map(({ id, label, mode, state, message, global, local, need, incomplete }) => [id, label, mode, state, message, global, local, need, incomplete]));
    if (state === this.drawn) return;
    this.drawn = state;
    const focused = this.element.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    if (status.folders.length === 0) {
      replace(this.element, h("div", { class: "empty" }, h("p", {}, t`No folders yet.`),
        h("p", {}, t`Pair a device under Devices and accept a folder that it offers, or run in a terminal: ${h("code", {}, "synctrain folder add ID PATH")}`)));
      return;
    }
    replace(this.element, h("ul", { class: "folder-cards" }, status.folders.map((folder) => this.#card(folder))));
    if (focused) [...this.element.querySelectorAll("[data-key]")].find((element) => element.dataset.key === focused)?.focus();
  }

  #card(folder) {
    const failed = /^(halted|selection-error|low-space|error)/.test(folder.state);
    const name = shown(folder.label || folder.id);
    return h("li", { class: "card" },
      h("h2", {}, icon("folder"), h("a", { href: this.app.address("files", folder.id), "data-key": `open ${folder.id}` }, h("bdi", {}, name))),
      h("p", {}, [`${plural(folder.global.files, "{1} file", "{1} files")}, ${bytes(folder.global.bytes)}`, folder.incomplete && t`(incomplete)`].filter(Boolean).join(" ")),
      h("p", { class: "quiet" }, t`${bytes(folder.local.bytes)} on this disk`, " · ", folder.mode === "full" ? t`everything is kept` : t`only selected files are kept`),
      folder.need.bytes > 0 ? h("p", {}, t`${bytes(folder.need.bytes)} to download`)
        : folder.need.files > 0 ? h("p", {}, plural(folder.need.files, "{1} file to download", "{1} files to download")) : null,
      failed ? h("p", { class: "bad" }, said(folder.message, folder.text) || folder.state) : h("p", { class: "quiet" }, states[folder.state] ?? folder.state),
      h("div", { class: "tools" },
        button(modeWords(folder), () => changeMode(this.app, folder), { "data-key": `mode ${folder.id}`, "aria-label": `${modeWords(folder)}: ${name}` }),
        h("a", { href: this.app.address("settings", "folder", folder.id), "data-key": `settings ${folder.id}` }, t`Settings`, h("span", { class: "unseen" }, " ", t`of ${name}`)),
        moreButton(t`More actions for ${name}`, () => [
          { label: t`Free space…`, run: () => freeSpace(this.app, this.#now(folder)) }, null,
          { label: t`Remove this folder…`, kind: "danger", run: () => removeFolder(this.app, this.#now(folder)) },
        ], { "data-key": `more ${folder.id}` })));
  }

  /** The folder as the status has it now: the card is drawn again only for what it shows. */
  #now(folder) { return this.app.status?.folders.find(({ id }) => id === folder.id) ?? folder; }
}
