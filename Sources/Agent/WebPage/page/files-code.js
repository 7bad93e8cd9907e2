// Programs, settings and markup in colours: what is a comment, a text, a number, a word of the language. It knows no grammar, only
// how each family of languages writes these. Pure but for the elements.
import { h } from "./dom.js";

/** What follows so many coloured parts is plain: a page of elements is slow to draw. */
const most = 6000;

const text = String.raw`"(?:[^"\\\n]|\\.)*"?`;
const quoted = String.raw`'(?:[^'\\\n]|\\.)*'?`;
const character = String.raw`'(?:[^'\\\n]|\\[^\n]{1,10}?)'`;
const block = String.raw`/\*[^]*?(?:\*/|(?![^]))`;
const line = String.raw`//[^\n]*`;
const hash = String.raw`(?<![^\s;])#[^\n]*`;
const number = String.raw`\b(?:0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)\w{0,4}\b`;
const word = String.raw`[\p{L}_$@][\p{L}\p{N}_$]*`;
const key = String.raw`(?<=^[ \t]{0,40}(?:- )?)[^\s#:="'\[\]{}][^\n#:="']{0,100}?(?=[ \t]{0,20}[:=])`;

const curly = "abstract actor as assert async await boolean break case catch char class const constexpr continue data default defer delete do "
  + "double dyn else enum export extends extension extern false final finally float fn for foreach from fun func function get go goto guard "
  + "if impl implements import in init inline instanceof int interface internal is let long loop match mod module mut namespace new nil null "
  + "nullptr of open operator override package private protected protocol pub public range return self select sizeof static struct super "
  + "switch template this throw throws trait true try type typedef typeof undefined union unsafe unsigned use using val var virtual void "
  + "volatile when where while with yield";
const script = "and as assert async await break case class continue def del do done elif else elsif end ensure esac except exec exit export "
  + "false fi finally for from function global if import in is lambda local module nil none nonlocal not null or pass raise readonly require "
  + "rescue return self set sub then true try unless until unset use when while with yield";
const query = "add all alter and as asc begin between by case check column commit constraint create cross default delete desc distinct do drop "
  + "else end exists foreign from function group having if in index inner insert into is join key left like limit local not null offset on or "
  + "order outer primary references repeat return right rollback select set table then true false trigger union unique until update values "
  + "view when where while with nil";
const plain = "true false null yes no on off";

/** `comments` and `texts` are expressions; `words` those that are set apart, of whatever case where it
 * `folds`; `keys` the names of what has a value. */
const families = {
  curly: { comments: [line, block], texts: [text, quoted, "`(?:[^`\\\\]|\\\\[^])*`?"], words: curly },
  // A single quote may be a lifetime or nothing at all.
  strict: { comments: [line, block], texts: [String.raw`"""[^]*?(?:"""|(?![^]))`, text, character], words: curly },
  style: { comments: [block], texts: [text, quoted], words: "important media supports import from to and not" },
  script: { comments: [hash], texts: [String.raw`"""[^]*?(?:"""|(?![^]))`, String.raw`'''[^]*?(?:'''|(?![^]))`, text, quoted], words: script },
  settings: { comments: [hash, String.raw`(?<=^[ \t]{0,40});[^\n]*`], texts: [text, String.raw`(?<!\p{L})'(?:[^'\\\n]|\\.)*'?`], words: plain, keys: [key, String.raw`(?<=^[ \t]{0,40})\[[^\n\]]{0,200}\]{1,2}`] },
  data: { comments: [line, block], texts: [text], words: plain, keys: [String.raw`"(?:[^"\\\n]|\\.){0,200}"(?=\s{0,20}:)`] },
  query: { comments: [String.raw`--\[\[[^]*?(?:\]\]|(?![^]))`, String.raw`--[^\n]*`, block], texts: [text, quoted], words: query, folds: true },
  markup: { comments: [String.raw`<!--[^]*?(?:-->|(?![^]))`], texts: [String.raw`(?<==\s?)(?:"[^"<]{0,2000}"|'[^'<]{0,2000}')`], words: "", keys: [String.raw`</?[\p{L}_!?][\p{L}\p{N}:._-]*`, String.raw`[/?]?>`] },
  formula: { comments: [String.raw`(?<!\\)%[^\n]*`], texts: [], words: "", keys: [String.raw`\\[A-Za-z@]+\*?`] },
  changes: { comments: [String.raw`(?<=^)(?:diff|index|---|\+\+\+) [^\n]*`], texts: [String.raw`(?<=^)\+[^\n]*`], words: "", keys: [String.raw`(?<=^)@@[^\n]*`], removed: [String.raw`(?<=^)-[^\n]*`] },
};
const endings = {
  curly: "js mjs ts jsx tsx javascript typescript go golang php gradle kt kotlin",
  strict: "swift c h cc cpp hpp m mm java cs rs rust",
  style: "css",
  script: "py python rb ruby sh bash zsh fish pl cmake makefile dockerfile shell console",
  settings: "yaml yml toml ini conf cfg properties env gitignore stignore desktop service",
  data: "json ndjson jsonl",
  query: "sql lua",
  markup: "xml svg html htm gpx",
  formula: "tex bib latex",
  changes: "diff patch",
};
const familyOf = new Map(Object.entries(endings).flatMap(([family, list]) => list.split(" ").map((ending) => [ending, family])));
const made = new Map();

/** The family of a name's ending, or of a language's name; undefined where nothing is coloured. */
export function languageOf(name) {
  const lower = name.toLowerCase();
  return familyOf.get(lower.slice(lower.lastIndexOf(".") + 1));
}

/** The parts of a text in their colours; together they are the text, character by character. */
export function code(source, language) {
  const { expression, words, folds } = reader(language);
  const out = [];
  let at = 0;
  let count = 0;
  expression.lastIndex = 0;
  for (let match; count < most && (match = expression.exec(source)); ) {
    const kind = kindOf(match.groups, words, folds);
    if (!kind || match[0] === "") {
      if (match[0] === "") expression.lastIndex += 1;
      continue;
    }
    if (match.index > at) out.push(source.slice(at, match.index));
    out.push(h("span", { class: kind }, match[0]));
    at = match.index + match[0].length;
    count += 1;
  }
  out.push(source.slice(at));
  return out.filter((part) => part !== "");
}

function kindOf(groups, words, folds) {
  for (const kind of ["comment", "removed", "key", "string", "number"]) if (groups[kind] !== undefined) return kind === "key" ? "keyword" : kind;
  return words.has(folds ? groups.word?.toLowerCase() : groups.word) ? "keyword" : null;
}

function reader(language) {
  if (!made.has(language)) {
    const { comments, texts, words, keys = [], removed = [], folds = false } = families[language];
    const never = "(?!)";
    const either = (list) => list.join("|") || never;
    made.set(language, {
      folds,
      words: new Set(words.split(" ")),
      expression: new RegExp(`(?<comment>${either(comments)})|(?<removed>${either(removed)})|(?<key>${either(keys)})|(?<string>${either(texts)})`
        + (language === "markup" || language === "changes" ? "|(?<number>(?!))|(?<word>(?!))" : `|(?<number>${number})|(?<word>${word})`), "gmu"),
    });
  }
  return made.get(language);
}
