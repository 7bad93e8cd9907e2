// Finding a name by its beginning in a list that is all known.
import { nameOf } from "./files-names.js";

/** Without case and accents, as the agent does it for longer lists. */
function folded(text) { return text.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, ""); }

export function beginsWith(text) {
  const beginning = folded(text);
  return (entry) => folded(nameOf(entry.path)).startsWith(beginning);
}
