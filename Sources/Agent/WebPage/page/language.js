// What language the page speaks, and its texts. The catalogue is read before any view is.

/** The languages that there are, each by its own name. English is in the sources. */
export const languages = { en: "English", de: "Deutsch", nl: "Nederlands" };

const stored = "synctrain-language";

/** The language chosen in Settings; "" for that of the browser. */
export function chosenLanguage() {
  try {
    const chosen = localStorage.getItem(stored);
    return Object.hasOwn(languages, chosen) ? chosen : "";
  } catch { return ""; }
}

/** Remembers a choice in this browser; "" is that of the browser. It counts when the page is loaded again. */
export function chooseLanguage(language) {
  try {
    if (language) localStorage.setItem(stored, language);
    else localStorage.removeItem(stored);
  } catch { /* A browser that stores nothing goes on in its own language. */ }
}

const base = (tag) => tag.toLowerCase().split("-")[0];

/**
 * The language and the locale for numbers and times: what was chosen, else the first of the browser's that the page has, else English.
 * The locale is the browser's of that language, which may name a country. Pure.
 */
export function pick(chosen, wanted) {
  const language = chosen || wanted.map(base).find((tag) => Object.hasOwn(languages, tag)) || "en";
  return { language, locale: wanted.find((tag) => base(tag) === language) ?? { en: "en-GB" }[language] ?? language };
}

export const { language, locale } = pick(chosenLanguage(), navigator.languages ?? [navigator.language]);

async function load() {
  if (language === "en") return {};
  try {
    const response = await fetch(`/page/translations/${language}.json`, { credentials: "same-origin" });
    return response.ok ? (await response.json()).texts : {};
  } catch { return {}; }
}

const texts = await load();

// MARK: texts

/** The pieces of a template with its values in the places `{1}`, `{2}`, …: a text; with elements among them a list, as `h` takes it. */
function fill(template, values) {
  const isPlain = values.every((value) => typeof value !== "object" || value === null);
  const parts = template.split(/\{(\d+)\}/).map((part, i) => (i % 2 === 0 ? part : values[part - 1]));
  return isPlain ? parts.join("") : parts;
}

const keyOf = (strings) => strings.reduce((text, part, i) => `${text}{${i}}${part}`);

/**
 * A text in the page's language: t`Waiting for ${name}.` has the key `Waiting for {1}.`. A value is filled in as it is; one that is an
 * element makes it a list of texts and elements.
 */
export function t(strings, ...values) {
  const key = keyOf(strings);
  const found = texts[key];
  return fill(typeof found === "string" ? found : key, values);
}

/** The same where one English text needs two translations: t.as("direction")`in`. */
t.as = (context) => (strings, ...values) => {
  const key = keyOf(strings);
  const found = texts[`${context}\u0004${key}`];
  return fill(typeof found === "string" ? found : key, values);
};

const rules = new Intl.PluralRules(language);
const whole = new Intl.NumberFormat(locale);

/** `1,234`. */
export function number(value) { return whole.format(value); }

/** A text that depends on a number: plural(2, "{1} file", "{1} files") is "2 files". Further values are `{2}`, `{3}`, …. */
export function plural(count, one, many, ...values) {
  const found = texts[one];
  const forms = Array.isArray(found) ? found : [one, many];
  const form = rules.select(count) === "one" ? forms[0] : forms.at(-1);
  return fill(form, [number(count), ...values]);
}

/**
 * What the agent says, in the page's language: `text` is English, `phrase` is how the agent made it, `{template, plural?, count?,
 * context?, arguments}` with texts and phrases as arguments, where it says that. What the catalogue does not have stays English.
 */
export function said(text, phrase) {
  if (phrase) return fromPhrase(phrase);
  const found = text && texts[text];
  return typeof found === "string" ? found : text;
}

function fromPhrase({ template, plural: many, count, context, arguments: values = [] }) {
  const found = texts[context ? `${context}\u0004${template}` : template];
  const forms = Array.isArray(found) ? found : [typeof found === "string" ? found : template, many ?? template];
  const isOne = many === undefined || rules.select(count) === "one";
  const text = fill(isOne ? forms[0] : forms.at(-1), values.map((value) => (typeof value === "string" ? value : fromPhrase(value))));
  return template === "{1}" ? formed(text, context) : text;
}

/** What the agent asks to be done to a text once it is in its language (SentenceForm.swift): a full stop, and a capital unless it begins with a name. */
function formed(text, form) {
  if (!text || (form !== "ended" && form !== "sentence")) return text;
  const ended = /[.?!]$/.test(text) ? text : `${text}.`;
  return form === "sentence" && /^[\p{Ll},-]+$/u.test(text.split(/\s/)[0]) ? ended[0].toUpperCase() + ended.slice(1) : ended;
}
