// Markdown of others, drawn as elements: the common part of it, and nothing that runs or is loaded. Pure but for the elements.
import { h } from "./dom.js";
import { code, languageOf } from "./files-code.js";
import { t } from "./words.js";

/** Lists and quotations in one another. */
const deepest = 8;
/** How long what stands between two signs may be: a line of signs alone takes no longer to read than a line of words. */
const inside = 1000;
/** A longer line is words, whatever it begins with; a table has no more columns. */
const longest = 5000;
const widest = 64;

// In none of these two parts beside each other may match the same: a line that fits nearly would take the square of its length, or more.
const fence = /^ {0,3}(`{3,}(?!`)|~{3,}(?!~))([^`]*)$/;
const hashes = /^ {0,3}(#{1,6})(?:\s|$)/;
const rule = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const quotation = /^ {0,3}> ?/;
const point = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const between = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*(?:\|\s*)?$/;

/** The elements of a text. HTML in it is shown as it is written, pictures by their words. */
export function markdown(text) { return blocks(text.replaceAll("\r\n", "\n").split("\n"), 0); }

function blocks(lines, depth) {
  const out = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    let match;
    if (line.length > longest) {
      out.push(h("p", {}, inline(line)));
      at += 1;
    } else if (line.trim() === "") {
      at += 1;
    } else if ((match = fence.exec(line))) {
      const [, sign, words] = match;
      const last = run(lines, at + 1, (other) => !closes(other, sign));
      const language = languageOf(words.trim().split(/[\s,{]/, 1)[0]);
      const body = lines.slice(at + 1, last).join("\n");
      out.push(h("pre", {}, h("code", {}, language ? code(body, language) : body)));
      at = last + 1;
    } else if ((match = hashes.exec(line))) {
      // Above are the headings of the page.
      out.push(h(`h${Math.min(6, match[1].length + 3)}`, {}, inline(heading(line.slice(match[0].length)))));
      at += 1;
    } else if (rule.test(line)) {
      out.push(h("hr"));
      at += 1;
    } else if (quotation.test(line) && depth < deepest) {
      const last = run(lines, at, (other) => quotation.test(other));
      out.push(h("blockquote", {}, blocks(lines.slice(at, last).map((other) => other.replace(quotation, "")), depth + 1)));
      at = last;
    } else if (point.test(line) && depth < deepest) {
      at = list(lines, at, depth, out);
    } else if (line.includes("|") && at + 1 < lines.length && lines[at + 1].includes("-") && lines[at + 1].length <= longest && between.test(lines[at + 1])) {
      const last = run(lines, at + 2, (other) => other.includes("|"));
      out.push(table(line, lines.slice(at + 2, last)));
      at = last;
    } else {
      const last = run(lines, at + 1, (other) => other.length <= longest && other.trim() !== "" && !fence.test(other) && !hashes.test(other) && !rule.test(other)
        && !quotation.test(other) && !point.test(other));
      out.push(h("p", {}, inline(lines.slice(at, last).join("\n"))));
      at = last;
    }
  }
  return out;
}

/** The words of a heading, without the hashes that may stand behind them. */
function heading(text) {
  const words = text.trim();
  let end = words.length;
  while (words[end - 1] === "#") end -= 1;
  return end === 0 || /\s/.test(words[end - 1]) ? words.slice(0, end).trimEnd() : words;
}

function closes(line, sign) {
  const end = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(line)?.[1];
  return end !== undefined && end[0] === sign[0] && end.length >= sign.length;
}

/** Where a run of lines ends that begins at `at`. */
function run(lines, at, belongs) {
  while (at < lines.length && belongs(lines[at])) at += 1;
  return at;
}

/** Draws a list that begins at `at`, and answers where it ends. */
function list(lines, at, depth, out) {
  const first = point.exec(lines[at]);
  const outdented = (line, width) => line.slice(Math.min(width, line.length - line.trimStart().length));
  const isNumbered = /\d/.test(first[2]);
  const items = [];
  while (at < lines.length) {
    const match = point.exec(lines[at]);
    if (!match || /\d/.test(match[2]) !== isNumbered || rule.test(lines[at])) break;
    const width = match[1].length + match[2].length + Math.max(1, Math.min(4, match[3].length));
    const body = [lines[at].slice(match[0].length)];
    at += 1;
    // What is further in belongs to it; so does a line that goes on with its words.
    while (at < lines.length) {
      const line = lines[at];
      const isBlank = line.trim() === "";
      const isInside = line.startsWith(" ".repeat(Math.min(width, 2))) && !point.test(line) || line.startsWith(" ".repeat(width));
      if (isBlank ? !(lines[at + 1] ?? "").startsWith(" ".repeat(width)) : !isInside && (point.test(line) || rule.test(line) || body.at(-1) === "")) break;
      body.push(isBlank ? "" : outdented(line, width));
      at += 1;
    }
    items.push(item(body, depth));
    // A blank line between two points does not end the list.
    if (at + 1 < lines.length && lines[at].trim() === "" && point.test(lines[at + 1])) at += 1;
  }
  const start = isNumbered ? Number.parseInt(first[2], 10) : undefined;
  out.push(h(isNumbered ? "ol" : "ul", { start: start === 1 ? undefined : start }, items));
  return at;
}

function item(body, depth) {
  const task = /^\[([ xX])\]\s+/.exec(body[0]);
  if (task) body[0] = body[0].slice(task[0].length);
  const inner = blocks(body, depth + 1);
  // A point of one paragraph is that paragraph's words.
  const children = inner.length > 0 && inner[0].localName === "p" ? [[...inner[0].childNodes], ...inner.slice(1)] : inner;
  return h("li", {}, task ? (task[1] === " " ? "☐ " : "☑ ") : null, children);
}

function table(head, rows) {
  const cells = (line) => line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|", widest).map((cell) => cell.trim());
  const names = cells(head);
  return h("table", {}, h("thead", {}, h("tr", {}, names.map((cell) => h("th", { scope: "col" }, inline(cell))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, cells(row).slice(0, names.length).map((cell) => h("td", {}, inline(cell)))))));
}

// MARK: within a line

const label = `[^\\[\\]]{0,${inside}}`;
const target = `\\(\\s{0,9}<?([^\\s()<>]{0,${2 * inside}}(?:\\([^\\s()<>]{0,200}\\)[^\\s()<>]{0,200})?)>?(?:\\s{1,9}["'(][^"')]{0,${inside}}["')])?\\s{0,9}\\)`;
/** What begins at a place, the first that fits: the expression, and what it becomes. */
const signs = [
  [/\\([!-/:-@[-`{-~])/y, ([, character]) => character],
  [/ {2,9}\n|\\\n/y, () => h("br")],
  [new RegExp(`(\`{1,5})(?!\`)([^\`]{1,${inside}})\\1(?!\`)`, "y"), ([, , code]) => h("code", {}, code.replace(/^ (.*) $/s, "$1").replaceAll("\n", " "))],
  [new RegExp(`!\\[(${label})\\]${target}`, "y"), ([, words]) => h("span", { class: "quiet" }, `[${words || t`picture`}]`)],
  [new RegExp(`\\[(${label})\\]${target}`, "y"), ([, words, address], depth) => link(address, inline(words, depth + 1, false)), "link"],
  [/<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/y, ([, address]) => link(address, [address]), "link"],
  [/https?:\/\/[^\s<>"'`\])]{1,2000}[^\s<>"'`\]).,;:!?]/y, ([address]) => link(address, [address]), "link"],
  [new RegExp(`\\*\\*(?!\\s)([^*]{1,${inside}}(?:\\*[^*]{1,${inside}}\\*[^*]{0,${inside}})?)\\*\\*`, "y"), ([, words], depth, links) => h("strong", {}, inline(words, depth + 1, links))],
  [new RegExp(`(?<![\\p{L}\\p{N}])__(?!\\s)([^_]{1,${inside}})__(?![\\p{L}\\p{N}])`, "uy"), ([, words], depth, links) => h("strong", {}, inline(words, depth + 1, links))],
  [new RegExp(`\\*(?![\\s*])([^*]{1,${inside}})\\*(?!\\*)`, "y"), ([, words], depth, links) => h("em", {}, inline(words, depth + 1, links))],
  [new RegExp(`(?<![\\p{L}\\p{N}_])_(?![\\s_])([^_]{1,${inside}})_(?![\\p{L}\\p{N}_])`, "uy"), ([, words], depth, links) => h("em", {}, inline(words, depth + 1, links))],
  [new RegExp(`~~(?!\\s)([^~]{1,${inside}})~~`, "y"), ([, words], depth, links) => h("s", {}, inline(words, depth + 1, links))],
];
const begins = /[\\`!\[<*_~h ]/g;

function inline(text, depth = 0, links = true) {
  const out = [];
  let plain = 0;
  begins.lastIndex = 0;
  let at = 0;
  const nextSign = () => { begins.lastIndex = at; return begins.exec(text)?.index ?? -1; };
  while (depth < deepest && (at = nextSign()) >= 0) {
    let match = null;
    for (const [expression, make, kind] of signs) {
      if (kind === "link" && !links) continue;
      expression.lastIndex = at;
      match = expression.exec(text);
      if (!match) continue;
      out.push(text.slice(plain, at));
      at = plain = expression.lastIndex;
      out.push(make(match, depth, links));
      break;
    }
    if (!match) at += 1;
  }
  out.push(text.slice(plain));
  return out.filter((part) => part !== "");
}

/** A link out of the page; an address that leads anywhere but to the web or to a mail program is words. */
function link(address, words) {
  let url;
  try { url = new URL(address); } catch { return h("span", {}, words); }
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return h("span", {}, words);
  return h("a", { href: url.href, title: url.href, rel: "noopener noreferrer", referrerpolicy: "no-referrer", target: "_blank" }, words);
}
