// The ignore patterns of a folder, and what they match while they are typed.
import { h, replace } from "./dom.js";
import { shown } from "./files-names.js";
import { act } from "./parts.js";
import { bytes, number, plural, t } from "./words.js";

/** Lines that are listed; further ones are counted. */
const lineLimit = 100;

function names(found) {
  return [found.names.flatMap((name, index) => [index > 0 && ", ", h("bdi", {}, shown(name))]), found.files > found.names.length && ", …"];
}

/** What a line does, with the names of some files. */
function matched(line) {
  const { files } = line.matched;
  return line.ignores ? plural(files, "ignores {1} file: {2}", "ignores {1} files: {2}", names(line.matched))
    : plural(files, "keeps {1} file: {2}", "keeps {1} files: {2}", names(line.matched));
}

/** The section of a folder; `update()` reads `.stignore` again, `stop()` ends what was begun. */
export function patternsPart(folder, app) {
  const { api } = app;
  const area = h("textarea", { id: "patterns", rows: "8", spellcheck: "false", autocomplete: "off", disabled: true, "aria-describedby": "patterns-hint patterns-said" });
  const said = h("p", { class: "said", id: "patterns-said", role: "status" });
  const sum = h("p", { class: "sum", role: "status" });
  const lines = h("ol", { class: "plain matches" });
  const save = act(t`Save`, () => write(area.value, text), { class: "main", "aria-label": t`Save the ignore patterns` });
  const discard = act(t`Discard`, () => { show(text); area.focus(); return update(); }, { "aria-label": t`Discard the change of the ignore patterns` });
  const element = h("section", { class: "part", "aria-label": t`Ignore patterns` }, h("h3", {}, t`Ignore patterns`),
    h("div", { class: "setting" },
      h("div", { class: "heading" }, h("label", { class: "label", for: "patterns" }, t`Patterns`), h("code", { class: "quiet" }, ".stignore")),
      h("div", { class: "control" }, area, save, discard),
      h("p", { class: "quiet", id: "patterns-hint" }, 
        t`One per line; the first that matches decides. *.tmp ignores such files everywhere, /Films a directory of the folder, ! keeps what a later line would ignore.`, " ",
        t`Ignored files stay on this disk; those that no other device has are not counted below. Ticks in Files are lines here, too.`),
      said, sum, lines));
  let text = null;
  let asked = null;
  let timer = null;

  const unix = (value) => value.replaceAll("\r\n", "\n");
  const isDirty = () => text !== null && area.value !== unix(text);

  function mark() { save.hidden = discard.hidden = !isDirty(); }

  function say(what, kind = "", undo) {
    said.className = `said ${kind}`;
    if (kind === "bad") area.setAttribute("aria-invalid", "true");
    else area.removeAttribute("aria-invalid");
    replace(said, what, undo && [" ", undo]);
  }

  function show(value) {
    text = value;
    area.value = unix(value);
    area.disabled = false;
    say();
    mark();
    preview();
  }

  async function update() {
    try {
      const now = await api.get("patterns", { folder });
      if (now.text === text) return;
      if (isDirty()) say(t`Changed elsewhere. Discard your change to see it.`, "warn");
      else show(now.text);
      // What is typed is still over the old text: saving it is refused.
    } catch (error) {
      if (error.status !== 401) say(error.message, "bad");
    }
  }

  /** Asks what the patterns match, the last ones typed; what was asked before is not waited for. */
  async function preview() {
    clearTimeout(timer);
    asked?.abort();
    asked = new AbortController();
    const { signal } = asked;
    try {
      draw(await api.post("patterns", { folder, text: area.value, dryRun: true }, signal));
      if (said.classList.contains("bad")) say();
      save.disabled = false;
    } catch (error) {
      if (error.name === "AbortError" || error.status === 401) return;
      say(error.message, "bad");
      save.disabled = true;
      replace(sum);
      replace(lines);
    }
  }

  function draw(found) {
    const { newlyIgnored, newlyKept } = found;
    replace(sum, [!found.isWhole && t`Of the beginning of the folder:`,
      plural(found.files, "{2} of {1} shared file ignored, {3}.", "{2} of {1} shared files ignored, {3}.", number(found.ignored.files), bytes(found.ignored.bytes)),
    ].filter(Boolean).join(" "),
    newlyIgnored.files > 0 && h("span", {}, " ", plural(newlyIgnored.files, "{1} file, {2}, will no longer be kept: {3}.",
      "{1} files, {2}, will no longer be kept: {3}.", bytes(newlyIgnored.bytes), names(newlyIgnored))),
    newlyKept.files > 0 && h("span", {}, " ", plural(newlyKept.files, "{1} file, {2}, will be kept from now on: {3}.",
      "{1} files, {2}, will be kept from now on: {3}.", bytes(newlyKept.bytes), names(newlyKept))));
    replace(lines, found.lines.slice(0, lineLimit).map((line) => h("li", {}, h("code", {}, line.text),
      line.file === ".stignore" ? null : h("span", { class: "quiet" }, ` (${line.file})`), " ",
      line.matched.files === 0 ? h("span", { class: "quiet" }, t`decides about no file`)
        : h("span", {}, matched(line)))),
    found.lines.length > lineLimit && h("li", { class: "quiet" }, found.isWhole
      ? plural(found.lines.length - lineLimit, "and {1} further line", "and {1} further lines")
      : plural(found.lines.length - lineLimit, "and {1} further line or more", "and {1} further lines or more")));
  }

  async function write(next, over) {
    const hadFocus = [save, discard].includes(document.activeElement);
    const before = area.value;
    try {
      await api.post("patterns", { folder, text: next, over, dryRun: false });
      // What was typed meanwhile stays.
      if (area.value === before) {
        show(next);
      } else {
        text = next;
        mark();
        preview();
      }
      say(t`Saved.`, "good", act(t`Undo`, () => write(over, next), { "aria-label": t`Undo the change of the ignore patterns` }));
      app.refresh();
    } catch (error) {
      say(error.message, "bad");
    }
    if (hadFocus) area.focus();
  }

  area.addEventListener("input", () => {
    say();
    mark();
    clearTimeout(timer);
    timer = setTimeout(preview, 300);
  });

  mark();
  update();
  return {
    element, update,
    get isUnsaved() { return isDirty(); },
    stop() {
      clearTimeout(timer);
      asked?.abort();
    },
  };
}
