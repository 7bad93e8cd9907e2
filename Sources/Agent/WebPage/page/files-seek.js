// Finding a name by its beginning in a list that is not all known.
import { nameOf } from "./files-names.js";

export function beginsWith(text) {
  const lower = text.toLowerCase();
  return (entry) => nameOf(entry.path).toLowerCase().startsWith(lower);
}

/**
 * Where the first name with a beginning is, by halving a list of so many that is ordered by bytes. `entryAt(index)` answers an entry,
 * null past the end, or undefined if the search has lost its meaning.
 */
export async function halve(text, total, entryAt) {
  const encoder = new TextEncoder();
  for (const beginning of new Set([text, text[0].toUpperCase() + text.slice(1)])) {
    const wanted = encoder.encode(beginning);
    let low = 0;
    let high = total;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const entry = await entryAt(middle);
      if (entry === undefined) return -1;
      if (entry && precedes(encoder.encode(nameOf(entry.path)), wanted)) low = middle + 1;
      else high = middle;
    }
    if (low < total) {
      const entry = await entryAt(low);
      if (entry === undefined) return -1;
      if (entry && nameOf(entry.path).startsWith(beginning)) return low;
    }
  }
  return -1;
}

/** Whether bytes come before others, a beginning before what goes on. */
function precedes(a, b) {
  for (let i = 0; i < a.length && i < b.length; i += 1) if (a[i] !== b[i]) return a[i] < b[i];
  return a.length < b.length;
}
