// Names as people order them: directories first, and IMG_2 before IMG_10.
import { nameOf } from "./files-names.js";
import { locale } from "./language.js";

/** Directories with more entries are in the agent's order, which is that of bytes: to order them all of them would be needed. */
const most = 1000;
/** For how long all entries serve the pages that are asked for together. */
const fresh = 300;

const collator = new Intl.Collator(locale, { numeric: true, sensitivity: "base" });

const isDirectory = (entry) => entry.type === "directory";

/** Which of two entries comes first, as for `sort`; `sign` is -1 for names from the end. Directories are first either way. */
export function naturally(a, b, sign = 1) {
  const [left, right] = [nameOf(a.path), nameOf(b.path)];
  return Number(isDirectory(b)) - Number(isDirectory(a))
    || sign * (collator.compare(left, right) || (left < right ? -1 : Number(left > right)));
}

/**
 * Makes of what loads pages of a directory by name one that orders them so. `find(test, from)` then is the index of the first entry
 * at or after `from`, or before it, that `test` is true of, -1 for none; undefined where the agent orders.
 */
export function natural(load, isDescending) {
  let known = null;
  let at = -Infinity;
  let isAgents = false;
  const sign = isDescending ? -1 : 1;
  return {
    async load(offset, limit, signal) {
      if (isAgents) return load(offset, limit, signal);
      if (!known || performance.now() - at >= fresh) {
        const { entries, total } = await load(0, most, signal);
        isAgents = total === undefined ? entries.length >= most : total > entries.length;
        if (isAgents) return offset + limit <= most ? { entries: entries.slice(offset, offset + limit), total } : load(offset, limit, signal);
        known = [...entries].sort((a, b) => naturally(a, b, sign));
        at = performance.now();
      }
      return { entries: known.slice(offset, offset + limit), total: known.length };
    },
    find(test, from) {
      if (isAgents || !known) return undefined;
      const index = known.findIndex((entry, i) => i >= from && test(entry));
      return index >= 0 ? index : known.findIndex(test);
    },
  };
}
