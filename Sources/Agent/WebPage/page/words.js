// Texts, numbers and times in the page's language and locale: what views speak with.
import { locale, number, plural, t } from "./language.js";

export { number, plural, t };
export { said } from "./language.js";

const roundUnit = new Intl.NumberFormat(locale, { maximumFractionDigits: 0, useGrouping: false });
const fineUnit = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** `1.4 GiB`; null is a dash. */
export function bytes(count) {
  if (count === null || count === undefined) return "–";
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit += 1; }
  return `${(unit === 0 || value >= 100 ? roundUnit : fineUnit).format(value)} ${units[unit]}`;
}

/** `1.4 MiB/s`. */
export function rate(bytesPerSecond) { return `${bytes(bytesPerSecond)}/s`; }

/** Seconds in the largest unit that says them well, with its number. */
function span(seconds) {
  if (seconds < 90) return ["s", Math.max(0, Math.round(seconds))];
  if (seconds < 5400) return ["min", Math.round(seconds / 60)];
  if (seconds < 172800) return ["h", Math.round(seconds / 3600)];
  return ["days", Math.round(seconds / 86400)];
}

/** Seconds as `8 s`, `3 min`, `2 h`, `4 days`. */
export function duration(seconds) {
  const [unit, value] = span(seconds);
  switch (unit) {
    case "s": return t`${number(value)} s`;
    case "min": return t`${number(value)} min`;
    case "h": return t`${number(value)} h`;
    default: return plural(value, "{1} day", "{1} days");
  }
}

/** How long ago something was: `3 min ago`. */
export function ago(seconds) {
  if (seconds < 10) return t`just now`;
  const [unit, value] = span(seconds);
  switch (unit) {
    case "s": return t`${number(value)} s ago`;
    case "min": return t`${number(value)} min ago`;
    case "h": return t`${number(value)} h ago`;
    default: return plural(value, "{1} day ago", "{1} days ago");
  }
}

/** A day and a time of it, of text (RFC 3339) or milliseconds. */
export function dateTime(time) { return new Date(time).toLocaleString(locale); }

/** A time of day; `options` as `Intl.DateTimeFormat` takes them. */
export function timeOfDay(time, options) { return new Date(time).toLocaleTimeString(locale, options); }
