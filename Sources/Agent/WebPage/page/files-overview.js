// All folders, each a card, and above them what other devices offer.
import { button, h, icon, replace } from "./dom.js";
import { shown } from "./files-names.js";
import { changeMode } from "./files-select.js";
import { freeSpace, removeFolder } from "./files-space.js";
import { moreButton } from "./menu.js";
import { draw, section, soon } from "./parts.js";
import { pendingDevice, pendingFolder } from "./pending.js";
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
    this.waiting = section(t`Pending devices and folders`);
    this.waiting.element.hidden = true;
    this.cards = h("div", {});
    this.drawn = null;
    this.ask = soon(() => this.#askWhatWaits());
  }

  show() {
    this.drawn = null;
    replace(this.element, this.waiting.element, this.cards);
    if (this.app.status) this.draw(this.app.status);
    else replace(this.cards, h("p", { class: "empty" }, t`Loading…`));
  }

  draw(status) {
    if (status.pending > 0 || !this.waiting.element.hidden) this.ask();
    const state = JSON.stringify([status.folders.map(({ id, label, mode, state, message, global, local, need, incomplete }) => [id, label, mode, state, message, global, local, need, incomplete]), status.devices.length]);
    if (state === this.drawn) return;
    this.drawn = state;
    const focused = this.cards.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    if (status.folders.length === 0) return replace(this.cards, this.#nothing(status));
    replace(this.cards, h("ul", { class: "folder-cards" }, status.folders.map((folder) => this.#card(folder))));
    if (focused) [...this.cards.querySelectorAll("[data-key]")].find((element) => element.dataset.key === focused)?.focus();
    return undefined;
  }

  stop() { this.ask.stop(); }

  /** Without a folder: what leads to the first one. */
  #nothing(status) {
    const isAlone = status.devices.length === 0;
    return h("div", { class: "empty" }, h("p", {}, t`No folders yet.`),
      h("p", {}, isAlone ? t`Add another device. The folders that it shares with this one are then offered here.`
        : t`Share a folder with this device on another one: it is then offered here. Or share a directory of this device.`),
      h("p", {}, h("a", { class: "button", href: isAlone ? this.app.address("devices", "pair") : this.app.address("devices"), "data-key": "first" },
        isAlone ? t`Add a device` : t`Devices`)));
  }

  /** Folders that are offered; devices only until the first folder is added: before that, nothing else can be done. */
  async #askWhatWaits() {
    let pending;
    try { pending = await this.app.api.get("pending"); } catch (error) { return this.app.fail(error); }
    const { folders } = pending;
    const devices = this.app.status?.folders.length === 0 ? pending.devices : [];
    this.waiting.element.hidden = devices.length + folders.length === 0;
    draw(this.waiting.body, [devices.map(({ id, name }) => [id, name]), folders.map(({ id, label, device }) => [id, label, device])], () => h("ul", { class: "plain" },
      devices.map((device) => pendingDevice(device, this.app, this.ask)), folders.map((offer) => pendingFolder(offer, this.app, this.ask))));
    return undefined;
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
