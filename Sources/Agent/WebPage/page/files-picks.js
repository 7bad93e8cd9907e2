// Several entries that something is to be done with at once: which they are, and the bar with what can be done.
import { h, reference, replace } from "./dom.js";
import { boxOf } from "./files-names.js";
import { act } from "./parts.js";
import { moreButton } from "./menu.js";
import { bytes, plural, t } from "./words.js";

/** As many as one request may name. */
export const mostPicked = 10_000;

/** `actions`: `keep(entries)`, `letGo(entries, local)`, `remove(entries)`, `sendItem(entries)` for the menu, `changed()` when others are picked, `leave()` for the focus. */
export class Picks {
  constructor(actions) {
    this.actions = actions;
    this.entries = new Map();
    this.count = h("p", { role: "status" });
    this.tools = h("div", { class: "buttons" });
    this.element = h("div", { class: "pick-bar", role: "group", "aria-label": t`Picked entries`, hidden: true }, this.count, this.tools);
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { event.preventDefault(); this.#leave(); }
    });
  }

  get size() { return this.entries.size; }
  get all() { return [...this.entries.values()]; }
  has(entry) { return this.entries.has(reference(entry.folder, entry.path)); }

  toggle(entry) {
    const key = reference(entry.folder, entry.path);
    if (!this.entries.delete(key)) this.entries.set(key, entry);
    this.#changed();
  }

  set(entries) {
    this.entries = new Map(entries.map((entry) => [reference(entry.folder, entry.path), entry]));
    this.#changed();
  }

  clear() {
    if (this.size > 0) this.set([]);
  }

  /** Takes over what is known now of those that are picked; `isWhole` says that those which are not among `known` are gone. */
  update(known, isWhole) {
    if (this.size === 0) return;
    const seen = new Map();
    for (const entry of known) {
      const key = reference(entry.folder, entry.path);
      if (this.entries.has(key)) seen.set(key, entry);
    }
    let isChanged = false;
    for (const [key, entry] of this.entries) {
      const now = seen.get(key);
      if (now && now !== entry) { this.entries.set(key, now); isChanged = true; }
      if (!now && isWhole) { this.entries.delete(key); isChanged = true; }
    }
    if (isChanged) this.#changed();
  }

  #changed() {
    this.#draw();
    this.actions.changed();
  }

  #leave() {
    this.clear();
    this.actions.leave();
  }

  #draw() {
    const { all } = this;
    const hadFocus = this.element.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    this.element.hidden = all.length === 0;
    const words = plural(all.length, "{1} entry picked, {2}", "{1} entries picked, {2}", bytes(all.reduce((sum, entry) => sum + (entry.size ?? 0), 0)));
    if (this.count.textContent !== words) this.count.textContent = words;
    const [canKeep, canLetGo] = [all.some((entry) => boxOf(entry) !== "true"), all.some((entry) => boxOf(entry) !== "false")];
    const drawn = `${canKeep} ${canLetGo}`;
    if (this.drawn !== drawn) {
      this.drawn = drawn;
      replace(this.tools,
        canKeep && act(t`Keep here`, () => this.actions.keep(this.all), { class: "main", "data-key": "keep" }),
        canLetGo && act(t`Stop keeping`, () => this.actions.letGo(this.all, "free"), { "data-key": "stop" }),
        moreButton(t`More actions`, () => [
          this.actions.sendItem(this.all),
          canLetGo && { label: t`Stop keeping, leave the files here`, run: () => this.actions.letGo(this.all, "keep") },
          { label: t`Delete everywhere…`, kind: "danger", run: () => this.actions.remove(this.all) },
        ], { "data-key": "more" }),
        act(t`Pick none`, () => this.#leave(), { "data-key": "none" }));
    }
    if (hadFocus === undefined) return;
    const again = [...this.tools.querySelectorAll("button")].find((button) => button.dataset.key === hadFocus);
    if (again && !this.element.hidden) again.focus();
    else this.actions.leave();
  }
}
