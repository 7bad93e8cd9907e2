// What a search asks for besides a text: the kind, age, size and device of files, each a chip below the search field.
import { h, replace } from "./dom.js";
import { shown } from "./files-names.js";
import { bytes, plural, t } from "./words.js";

const mebibyte = 1024 ** 2;
const day = 86400;

const kinds = [["photo", t`Photos`], ["video", t`Videos`], ["music", t`Music`], ["document", t`Documents`], ["archive", t`Archives`], ["other", t`Other files`]];
const ages = [["7", t`Last week`], ["31", t`Last month`], ["366", t`Last year`], ["range", t`From – to…`]];
const sizes = [mebibyte, 100 * mebibyte, 1024 * mebibyte, 10240 * mebibyte].map((size) => [`over ${size}`, t`Over ${bytes(size)}`])
  .concat([100 * 1024, mebibyte, 10 * mebibyte].map((size) => [`under ${size}`, t`Under ${bytes(size)}`]));

/** The row of chips. `changed()` is called when another search is asked for. */
export class SearchFilters {
  constructor(changed) {
    this.changed = changed;
    this.kind = chip(t`Kind`, kinds, () => this.#change());
    this.age = chip(t`Changed`, ages, () => this.#change());
    this.size = chip(t`Size`, sizes, () => this.#change());
    this.device = chip(t`On device`, [], () => this.#change());
    this.from = date(t`Changed from`, () => this.#change());
    this.to = date(t`Changed to`, () => this.#change());
    this.range = h("span", { class: "range", hidden: true }, this.from, h("span", { "aria-hidden": "true" }, "–"), this.to);
    this.clearing = h("button", { type: "button", class: "plain", hidden: true, onclick: () => this.clear() }, t`Clear filters`);
    this.element = h("div", { class: "chips", role: "group", "aria-label": t`Search filters`, hidden: true },
      this.kind, this.age, this.range, this.size, this.device, this.clearing);
    this.query = {};
  }

  get isActive() { return Object.keys(this.query).length > 0; }

  /** The devices that can be chosen. */
  setDevices(devices) {
    const key = JSON.stringify(devices.map(({ id, name }) => [id, name]));
    if (key === this.devices) return;
    this.devices = key;
    const chosen = this.device.value;
    const options = [["here", t`This device`], ...devices.map(({ id, name }) => [id, shown(name || id.split("-")[0])]), ["nobody", t`Nobody connected`]];
    replace(this.device, option("", t`On device`), options.map(([value, label]) => option(value, label)));
    this.device.value = options.some(([value]) => value === chosen) ? chosen : "";
    if (this.device.value !== chosen) this.#change();
  }

  clear() {
    for (const box of [this.kind, this.age, this.size, this.device, this.from, this.to]) box.value = "";
    this.#change();
  }

  #change() {
    const hadFocus = this.clearing === document.activeElement;
    this.range.hidden = this.age.value !== "range";
    for (const box of [this.kind, this.age, this.size, this.device]) box.classList.toggle("set", box.value !== "");
    this.query = { ...this.#ages(), ...this.#sizes(), ...(this.kind.value && { kind: this.kind.value }), ...(this.device.value && { device: this.device.value }) };
    this.clearing.hidden = !this.isActive;
    if (hadFocus && this.clearing.hidden) this.kind.focus();
    this.changed();
  }

  #sizes() {
    const [word, count] = this.size.value.split(" ");
    return word ? { [word]: count } : {};
  }

  // Fixed when it is chosen: all pages of a search ask for the same.
  #ages() {
    if (this.age.value === "range") {
      const [since, before] = [midnight(this.from.value, 0), midnight(this.to.value, 1)];
      return { ...(since !== null && { since }), ...(before !== null && (since === null || before > since) && { before }) };
    }
    return this.age.value ? { since: Math.max(0, Math.floor(Date.now() / 1000) - Number(this.age.value) * day) } : {};
  }
}

/** Seconds since 1970 of the beginning of a day here, as a date field has it, or of one some days later; null for none. */
function midnight(text, later) {
  const [year, month, date] = text.split("-").map(Number);
  if (!year || !month || !date) return null;
  return Math.max(0, Math.floor(new Date(year, month - 1, date + later).getTime() / 1000));
}

const option = (value, label) => h("option", { value }, label);

/** A closed list that reads as a chip: its name until something is chosen. */
function chip(label, options, changed) {
  const box = h("select", { class: "chip", "aria-label": label }, option("", label), options.map(([value, text]) => option(value, text)));
  box.addEventListener("change", changed);
  return box;
}

function date(label, changed) {
  const box = h("input", { type: "date", class: "chip", "aria-label": label });
  box.addEventListener("change", changed);
  return box;
}

/** How many entries a list has, or a search has found. */
export function counted({ total, error, isTruncated, isIncomplete }, isSearching) {
  if (error || total === null) return "";
  if (isTruncated) return plural(total, "More than {1} name found; showing the first of them.", "More than {1} names found; showing the first of them.");
  if (!isSearching) return plural(total, "{1} entry", "{1} entries");
  const words = total === 0 ? t`No results.` : plural(total, "{1} name found.", "{1} names found.");
  return isIncomplete ? `${words} ${t`Not all files were looked at; add a text.`}` : words;
}
