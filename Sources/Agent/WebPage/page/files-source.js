// A list that the agent has, a page at a time.

const pageSize = 200;
const kept = 40;
const atOnce = 2;

/**
 * The entries of a list by their index. `load(offset, limit, signal)` answers `{entries, offset, total?}`; `changed()` is
 * called when there is more to show. At most 40 pages are remembered; what was asked for and is not wanted any more is
 * aborted. What is out of date is shown until it is replaced.
 */
export class PagedSource {
  constructor(load, changed) {
    this.load = load;
    this.changed = changed;
    /** How many entries there are; null before the first answer. */
    this.total = null;
    /** There is more than the agent counts. */
    this.isTruncated = false;
    /** The agent has not looked at all that may match. */
    this.isIncomplete = false;
    /** Why the last page could not be had, until one can. */
    this.error = null;
    this.pages = new Map();
    this.running = new Map();
    this.wanted = [0];
    this.generation = 0;
    this.isClosed = false;
    this.waiting = [];
  }

  /** The entry, or undefined if it is not known yet. */
  at(index) { return this.pages.get(Math.floor(index / pageSize))?.entries[index % pageSize]; }

  /** The first entry at or after `from` that `test` is true of, among those that are known; -1 if none. */
  findKnown(test, from = 0) {
    const numbers = [...this.pages.keys()].sort((a, b) => a - b);
    for (const number of numbers) {
      const { entries } = this.pages.get(number);
      for (let i = 0; i < entries.length; i += 1) {
        const index = number * pageSize + i;
        if (index >= from && test(entries[i])) return index;
      }
    }
    return -1;
  }

  /** All entries that are known. */
  get known() { return [...this.pages.values()].flatMap((page) => page.entries); }

  /** The entries from `first` to `last`, both included, asked for where they are not known; null if the list was closed meanwhile. */
  async range(first, last) {
    const found = [];
    for (let page = Math.floor(first / pageSize); page <= Math.floor(last / pageSize); page += 1) {
      const entries = this.pages.get(page)?.entries ?? (await this.load(page * pageSize, pageSize)).entries;
      if (this.isClosed) return null;
      found.push(...entries.slice(Math.max(0, first - page * pageSize), last - page * pageSize + 1));
    }
    return found;
  }

  get isWhole() { return this.total !== null && this.pages.size * pageSize >= this.total; }

  /** Says which entries are seen, both included; asks for what is missing of them. */
  want(first, last) {
    const pages = [];
    for (let page = Math.floor(first / pageSize); page <= Math.floor(last / pageSize); page += 1) pages.push(page);
    this.wanted = pages;
    this.#pump();
  }

  /** All may be different now: what is seen is asked for again. Ends when it is there, or cannot be had. */
  refresh() {
    this.generation += 1;
    this.error = null;
    for (const controller of this.running.values()) controller.abort();
    this.running.clear();
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.#pump();
    });
  }

  close() {
    this.isClosed = true;
    for (const controller of this.running.values()) controller.abort();
    this.running.clear();
    this.pages.clear();
    this.#pump();
  }

  #pump() {
    this.#askForWanted();
    if (this.running.size === 0) for (const resolve of this.waiting.splice(0)) resolve();
  }

  #askForWanted() {
    if (this.isClosed || this.error) return;
    for (const [page, controller] of this.running) {
      if (this.wanted.includes(page)) continue;
      controller.abort();
      this.running.delete(page);
    }
    for (const page of this.wanted) {
      if (this.running.size >= atOnce) return;
      if (this.running.has(page) || this.pages.get(page)?.generation === this.generation) continue;
      if (this.total !== null && page > 0 && page * pageSize >= this.total) continue;
      this.#ask(page);
    }
  }

  async #ask(page) {
    const controller = new AbortController();
    const { generation } = this;
    this.running.set(page, controller);
    try {
      const answer = await this.load(page * pageSize, pageSize, controller.signal);
      if (this.isClosed || controller.signal.aborted) return;
      // What is as it was stays the same object, and its row need not be drawn again.
      const before = this.pages.get(page)?.entries;
      const entries = answer.entries.map((entry, i) => {
        const old = before?.[i];
        return old && JSON.stringify(old) === JSON.stringify(entry) ? old : entry;
      });
      const isLast = entries.length < pageSize;
      const end = page * pageSize + entries.length;
      this.total = answer.total ?? (isLast ? end : Math.max(this.total ?? 0, end + 1));
      this.isTruncated = answer.truncated === true;
      this.isIncomplete = answer.incomplete === true;
      this.pages.delete(page);
      this.pages.set(page, { entries, generation });
      // Beyond the end of a list that has become shorter nothing is left to be shown until it is replaced.
      for (const number of this.pages.keys()) if (number > 0 && number * pageSize >= this.total) this.pages.delete(number);
      for (const number of this.pages.keys()) {
        if (this.pages.size <= kept) break;
        if (!this.wanted.includes(number)) this.pages.delete(number);
      }
    } catch (error) {
      if (this.isClosed || error.name === "AbortError") return;
      this.error = error;
    } finally {
      if (this.running.get(page) === controller) this.running.delete(page);
    }
    this.changed();
    this.#pump();
  }
}
