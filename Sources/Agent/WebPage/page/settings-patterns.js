// The ignore patterns of a folder, and what they match while they are typed.
import { bytes, count, h, replace } from "./dom.js";
import { shown } from "./files-names.js";
import { act } from "./parts.js";

/** Lines that are listed; further ones are counted. */
const lineLimit = 100;

function names(found) {
  return [found.names.flatMap((name, index) => [index > 0 && ", ", h("bdi", {}, shown(name))]), found.files > found.names.length && ", …"];
}

/** The section of a folder; `update()` reads `.stignore` again, `stop()` ends what was begun. */
export function patternsPart(folder, app) {
  const { api } = app;
  const area = h("textarea", { id: "patterns", rows: "8", spellcheck: "false", autocomplete: "off", disabled: true, "aria-describedby": "patterns-hint patterns-said" });
  const said = h("p", { class: "said", id: "patterns-said", role: "status" });
  const sum = h("p", { class: "sum", role: "status" });
  const lines = h("ol", { class: "plain matches" });
  const save = act("Save", () => write(area.value, text), { class: "main", "aria-label": "Save the ignore patterns" });
  const discard = act("Discard", () => { show(text); area.focus(); return update(); }, { "aria-label": "Discard the change of the ignore patterns" });
  const element = h("section", { class: "part", "aria-label": "Ignore patterns" }, h("h3", {}, "Ignore patterns"),
    h("div", { class: "setting" },
      h("div", { class: "heading" }, h("label", { class: "label", for: "patterns" }, "Patterns"), h("code", { class: "quiet" }, ".stignore")),
      h("div", { class: "control" }, area, save, discard),
      h("p", { class: "quiet", id: "patterns-hint" }, "One per line; the first that matches decides. *.tmp ignores such files everywhere, /Films a directory of the folder, "
        + "! keeps what a later line would ignore. Ignored files stay on this disk; those that no other device has are not counted below. Ticks in Files are lines here, too."),
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
      if (isDirty()) say("Changed elsewhere. Discard your change to see it.", "warn");
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
    const change = (words, part) => part.files > 0 && h("span", {}, ` ${count(part.files, "file")}, ${bytes(part.bytes)}, ${words}: `, names(part), ".");
    replace(sum, `${found.isWhole ? "" : "Of the beginning of the folder: "}${found.ignored.files.toLocaleString()} of ${count(found.files, "shared file")} ignored, ${bytes(found.ignored.bytes)}.`,
      change("will no longer be kept", found.newlyIgnored), change("will be kept from now on", found.newlyKept));
    replace(lines, found.lines.slice(0, lineLimit).map((line) => h("li", {}, h("code", {}, line.text),
      line.file === ".stignore" ? null : h("span", { class: "quiet" }, ` (${line.file})`), " ",
      line.matched.files === 0 ? h("span", { class: "quiet" }, "decides about no file")
        : h("span", {}, `${line.ignores ? "ignores" : "keeps"} ${count(line.matched.files, "file")}: `, names(line.matched)))),
    found.lines.length > lineLimit && h("li", { class: "quiet" }, `and ${count(found.lines.length - lineLimit, "further line")}${found.isWhole ? "" : " or more"}`));
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
      say("Saved.", "good", act("Undo", () => write(over, next), { "aria-label": "Undo the change of the ignore patterns" }));
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
