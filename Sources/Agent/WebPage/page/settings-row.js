// One setting: its label, its control, what it means, and what came of the last change of it.
import { h, replace } from "./dom.js";
import { shown } from "./files-names.js";
import { act, choice } from "./parts.js";
import { allowedWords, labels, wordOf } from "./settings-words.js";
import { said as translated, t } from "./words.js";

/** `rescan-interval` as `Rescan interval`, `limits.up` as `Limits: up`; in other languages that of settings-words.js. */
export function labelOf(key) {
  if (Object.hasOwn(labels, key)) return labels[key];
  const text = key.split(".").map((part) => part.replaceAll("-", " ")).join(": ").replace(/^http\b/, "HTTP");
  return text[0].toUpperCase() + text.slice(1);
}

/** The elements of a list as the agent writes it, `["a", "b"]`. */
function elements(text) {
  try { return JSON.parse(text || "[]"); } catch { return [text]; }
}

/** A value of a setting for people; `nameOf` gives the name of a device. */
export function valueWords(declaration, text, nameOf = (id) => id) {
  if (declaration.kind === "flag") return text === "true" ? t`on` : t`off`;
  if (declaration.isList) return elements(text).map(declaration.kind === "devices" ? nameOf : String).join(", ") || t`none`;
  return declaration.kind === "choice" ? wordOf(text) : text;
}

/** What an empty value stands for. */
function emptyWords(declaration) { return translated(declaration.without) || t`empty`; }

function usualWords(declaration) { return valueWords(declaration, declaration.usual) || emptyWords(declaration); }

/** A word of a command, quoted where a shell would read it otherwise. */
export function shellWord(text) { return /^[\w./:@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`; }

/**
 * What is edited: `element`, `focus`, `read()` as the API takes it, `write(state)`. A control with `isImmediate` is saved when
 * it changes.
 */
function makeControl(declaration, id, devices) {
  const attributes = { id, "aria-describedby": `${id}-hint ${id}-said`, "data-control": true };
  if (declaration.kind === "flag") {
    const box = h("input", { type: "checkbox", ...attributes });
    return { element: box, focus: box, isImmediate: true, read: () => ({ value: String(box.checked) }), write: (state) => { box.checked = state.value === "true"; } };
  }
  if (declaration.kind === "choice") {
    const list = choice(declaration.words.map((word) => [word, wordOf(word)]), undefined, attributes);
    return { element: list, focus: list, read: () => ({ value: list.value }), write: (state) => { list.value = state.value; } };
  }
  if (declaration.kind === "devices" && declaration.scope === "folder") {
    const set = h("fieldset", { ...attributes, "aria-labelledby": `${id}-label` });
    const boxes = () => [...set.querySelectorAll("input")];
    return {
      element: set, get focus() { return boxes()[0] ?? set; },
      read: () => ({ values: boxes().filter((box) => box.checked).map((box) => box.value) }),
      write(state) {
        const ids = [...new Set([...devices.map((device) => device.id), ...state.values])];
        replace(set, ids.map((one) => h("label", { class: "check" }, h("input", { type: "checkbox", value: one, checked: state.values.includes(one) }),
          h("span", {}, shown(devices.find((device) => device.id === one)?.name || one)))), ids.length === 0 && h("span", { class: "quiet" }, t`No devices.`));
      },
    };
  }
  if (declaration.isList) {
    const area = h("textarea", { rows: "2", spellcheck: "false", autocomplete: "off", ...attributes });
    return {
      element: area, focus: area, read: () => ({ values: area.value.split("\n").map((line) => line.trim()).filter(Boolean) }),
      write(state) { area.value = state.values.join("\n"); area.rows = Math.min(12, Math.max(2, state.values.length + 1)); },
    };
  }
  const input = h("input", { type: "text", spellcheck: "false", autocomplete: "off", inputmode: declaration.kind === "number" && "numeric", ...attributes });
  return { element: input, focus: input, read: () => ({ value: input.value }), write: (state) => { input.value = state.value; } };
}

/** Why a setting cannot be changed here, as `[text, command or nothing]`; null if it can. */
function whyFixed(declaration, subject) {
  if (declaration.runsProgram) {
    return [t`It names a program to run, so only a terminal can change it:`,
      `synctrain ${declaration.scope} set ${shellWord(subject.id)} ${shellWord(`${declaration.key}=["/path/of/program"]`)}`];
  }
  if (!declaration.changedBy) return null;
  return declaration.changedBy.startsWith("synctrain ") ? [t`Changed by:`, declaration.changedBy] : [t`Only ${translated(declaration.changedBy)} changes it.`];
}

/**
 * A setting of `subject` (`{id, name}`). `change(input)` saves `{value}`, `{values}` or, for the default, `{}`; it ends when that
 * is in effect, with the agent's answer. `more` are further controls; `directories(input)` makes what chooses a path.
 */
export function settingRow(declaration, subject, { change, devices, nameOf, more, directories }) {
  const id = `setting-${declaration.key.replaceAll(".", "-")}`;
  const label = labelOf(declaration.key);
  const fixed = more ? [] : whyFixed(declaration, subject);
  const control = fixed ? null : makeControl(declaration, id, devices);
  const value = fixed && h("div", { class: "value" });
  const said = h("p", { class: "said", id: `${id}-said`, role: "status" });
  const notes = h("p", { class: "quiet notes" });
  const save = act(t`Save`, () => keep(control.read()), { "aria-label": t`Save ${label}`, class: "main" });
  const discard = act(t`Discard`, () => { show(state); say(); control.focus.focus(); }, { "aria-label": t`Discard the change of ${label}` });
  const reset = act(t`Restore default`, () => keep({}), { "aria-label": t`Restore the default of ${label}` });
  const hasDefault = control && !(declaration.kind === "path" && !declaration.without) && declaration.kind !== "devices";
  const hint = [translated(declaration.summary), hasDefault && t`Default: ${usualWords(declaration)}.`, control && entering(declaration, control),
    declaration.emptyMeans && t`Empty: ${translated(declaration.emptyMeans)}.`, declaration.needsRestart && t`Takes effect when the agent is restarted.`];
  const choosing = control && declaration.kind === "path" && directories && directories(control.element);
  const named = control && !control.element.matches("fieldset");
  const heading = [h(named ? "label" : "span", { class: "label", id: `${id}-label`, for: named && id }, label), h("code", { class: "quiet" }, declaration.key)];
  const element = h("div", { class: "setting", "data-setting": declaration.key },
    h("div", { class: "heading" }, heading),
    h("div", { class: "control" }, control ? control.element : value, control && [choosing, save, discard, reset], more),
    h("p", { class: "quiet", id: `${id}-hint` }, hint.filter(Boolean).join(" ")),
    fixed?.length > 0 && h("p", { class: "fixed" }, fixed[0], fixed[1] && [" ", h("code", {}, fixed[1])]),
    notes, said);
  let state = null;
  let base = "";
  let undo = null;
  let isBusy = false;
  let queued = null;

  const isDirty = () => control && JSON.stringify(control.read()) !== base;

  function mark() {
    const dirty = isDirty() && !control.isImmediate;
    save.hidden = discard.hidden = !dirty;
    reset.hidden = dirty || !hasDefault || state.isDefault;
  }

  function say(text, kind) {
    said.className = `said ${kind ?? ""}`;
    if (kind === "bad") control?.focus.setAttribute("aria-invalid", "true");
    else control?.focus.removeAttribute("aria-invalid");
    replace(said, text, kind !== "bad" && undo && [" ", undo]);
  }

  function note() {
    replace(notes, [state.hidesPassword && t`A password is set; it is shown as “…”. Leave it so to keep it.`,
      state.running !== undefined && t`Until the agent is restarted: ${valueWords(declaration, state.running, nameOf) || emptyWords(declaration)}.`].filter(Boolean).join(" "));
  }

  /** Shows what is saved; what is being typed is kept. */
  function update(next) {
    const wasDirty = state && isDirty();
    const isOther = state && JSON.stringify([next.value, next.isDefault]) !== JSON.stringify([state.value, state.isDefault]);
    state = next;
    if (!control) replace(value, valueWords(declaration, state.value, nameOf) || translated(declaration.without) || t`not set`);
    else if (wasDirty) {
      if (isOther) say(t`Changed elsewhere to ${valueWords(declaration, state.value, nameOf) || t`empty`}.`, "warn");
    } else if (!base || isOther) show(state);
    note();
    if (control) mark();
  }

  function show(next) {
    control.write(next);
    base = JSON.stringify(control.read());
    mark();
  }

  async function keep(input) {
    // What is said while something is being saved comes after it; of several, the last.
    if (isBusy) {
      queued = input;
      return;
    }
    isBusy = true;
    element.setAttribute("aria-busy", "true");
    const hadFocus = [save, discard, reset, undo].includes(document.activeElement);
    // What is typed is what is saved: the next state is not somebody else's change.
    const [before, sent] = [base, JSON.stringify(control.read())];
    base = sent;
    try {
      const { needsRestart } = await change(input, state);
      if (!isDirty()) show(state);
      say(needsRestart ? t`Saved. Takes effect when the agent is restarted.` : t`Saved.`, "good");
    } catch (error) {
      if (base === sent) base = before;
      if (control.isImmediate) show(state);
      say(error.message, "bad");
    }
    isBusy = false;
    element.removeAttribute("aria-busy");
    mark();
    if (hadFocus) control.focus.focus();
    if (queued) {
      const next = queued;
      queued = null;
      await keep(next);
    }
  }

  if (control) {
    const edited = () => { say(); mark(); };
    if (control.isImmediate) control.element.addEventListener("change", () => keep(control.read()));
    else control.element.addEventListener(control.element.matches("select") ? "change" : "input", edited);
    control.element.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && control.element.matches("input") && isDirty()) keep(control.read());
      if (event.key === "Escape" && !control.isImmediate && isDirty()) { show(state); say(); }
    });
  }

  return {
    element, update, label,
    get state() { return state; },
    /** Something was typed that is not saved. */
    get isUnsaved() { return Boolean(isDirty()) && !control.isImmediate; },
    text: `${label} ${declaration.key} ${translated(declaration.summary)}`.toLowerCase(),
    isAdvanced: declaration.isAdvanced,
    /** What is saved in the place of the last change, until another is made. */
    offerUndo(input) {
      undo = act(t`Undo`, () => keep(input), { "aria-label": t`Undo the change of ${label}` });
    },
    dropUndo() {
      undo?.remove();
      undo = null;
    },
  };
}

/** What may be entered; lists are lines here, and not as in a terminal. */
function entering(declaration, control) {
  if (!control.element.matches("input[type=text], textarea") || declaration.kind === "text") return null;
  return {
    texts: t`Enter one per line.`, devices: t`Enter device ids or names, one per line.`,
    schedule: t`Enter one per line, for example mon-fri 08:00-18:00 up=500KiB/s.`,
  }[declaration.kind] ?? t`Enter ${allowedWords(declaration)}.`;
}
