// Files that are on this disk and not selected: kept, deleted, ignored or moved, several at once.
import { h, reference, when } from "./dom.js";
import { chooseDirectory } from "./directories.js";
import { shown } from "./files-names.js";
import { act, draw, isFailed, section, soon } from "./parts.js";
import { bytes, number, plural, said, t } from "./words.js";

const pageSize = 100;
/** What can be done: the word of the button, what it does, and what was done with so many files. */
const words = {
  select: { label: t`Keep and share`, title: t`select the files and share them with the other devices`,
    done: (files) => plural(files, "{1} file is now selected and shared.", "{1} files are now selected and shared.") },
  ignore: { label: t`Ignore`, title: t`keep the files here and stop listing them`,
    done: (files) => plural(files, "{1} file is now ignored.", "{1} files are now ignored.") },
  "move-to": { label: t`Move out…`, title: t`move the files out of the folder`,
    done: (files) => plural(files, "{1} file was moved out of the folder.", "{1} files were moved out of the folder.") },
  "keep-both": { label: t`Keep both`, title: t`download theirs and keep mine beside it`,
    done: (files) => plural(files, "{1} file is kept in both versions.", "{1} files are kept in both versions.") },
  "keep-mine": { label: t`Keep mine`, title: t`make the version here the newest on all devices`,
    done: (files) => plural(files, "{1} file of this device is now the newest.", "{1} files of this device are now the newest.") },
  "keep-theirs": { label: t`Keep theirs…`, title: t`replace the version here with theirs`, what: t`The files are replaced with the version of the other devices.`,
    done: (files) => plural(files, "{1} file was replaced with theirs.", "{1} files were replaced with theirs.") },
  delete: { label: t`Delete here…`, title: t`delete from this disk only`, what: t`The files are deleted from this disk only.`,
    done: (files) => plural(files, "{1} file was deleted from this disk.", "{1} files were deleted from this disk.") },
};

/**
 * A section of the view Attention. `load` looks at the disk: what was never selected no index knows, and status counts only
 * what the index knows or the last such look found.
 */
export function extraneous(app, done) {
  const { api } = app;
  const part = section(t`On this disk, not selected`, act(t`Refresh`, () => load()));
  part.element.hidden = true;
  const folders = new Map();

  const load = soon(async () => {
    const wanted = (app.status?.folders ?? []).filter((folder) => !isFailed(folder) && (folder.mode === "selective" || (folder.extraneous ?? 0) > 0))
      .map((folder) => folder.id);
    for (const [id, folder] of folders) if (!wanted.includes(id)) { folder.element.remove(); folders.delete(id); }
    for (const id of wanted) {
      if (!folders.has(id)) {
        folders.set(id, one(id));
        part.body.append(folders.get(id).element);
      }
      await folders.get(id).load();
    }
    part.element.hidden = found() === 0;
    done();
  });

  const found = () => [...folders.values()].filter((folder) => !folder.element.hidden).length;

  function one(id) {
    const picks = h("div", { class: "picks", role: "group", "aria-label": t`Files of ${app.folderName(id)}` });
    const all = h("input", { type: "checkbox", "aria-label": t`All shown` });
    const said = h("span", { class: "quiet" });
    const buttons = h("div", { class: "tools" });
    const more = h("div", { class: "tools" });
    const chosen = new Set();
    let entries = [];
    let limit = pageSize;
    const element = h("article", { class: "card", "data-extraneous": id }, h("header", {}, h("h3", { tabindex: "-1" }, app.folderName(id)), said),
      h("label", { class: "check" }, all, h("span", {}, t`all shown`)), picks, more, buttons);
    all.addEventListener("change", () => {
      for (const entry of entries) if (all.checked) chosen.add(entry.path); else chosen.delete(entry.path);
      for (const box of picks.querySelectorAll("input")) box.checked = all.checked;
      drawButtons();
    });

    async function loadOne() {
      let answer;
      try { answer = await api.page("extraneous", { folder: id, limit }); } catch (error) { return app.fail(error); }
      entries = answer.entries;
      const total = answer.total ?? entries.length;
      const paths = new Set(entries.map((entry) => entry.path));
      for (const path of chosen) if (!paths.has(path)) chosen.delete(path);
      element.hidden = total === 0;
      said.textContent = plural(total, "{1} file", "{1} files");
      draw(picks, entries.map(({ path, size, modified, other }) => [path, size, modified, other]), () => entries.map((entry) => h("label", {},
        h("input", { type: "checkbox", checked: chosen.has(entry.path), "data-key": entry.path, value: entry.path,
          onchange: (event) => { if (event.target.checked) chosen.add(entry.path); else chosen.delete(entry.path); drawButtons(); } }),
        h("span", {}, h("bdi", {}, shown(entry.path)), entry.other && h("small", { class: "warn" }, " ", entry.other.device
          ? t`other devices have another version by ${app.deviceName(entry.other.device)}, ${bytes(entry.other.size)}`
          : t`other devices have another version, ${bytes(entry.other.size)}`)),
        h("span", { class: "quiet" }, bytes(entry.size), ", ", when(entry.modified)))));
      draw(more, [entries.length, total], () => total > entries.length && limit < 1000
        ? act(t`Show more of ${number(total)}`, () => { limit = Math.min(1000, limit + pageSize); load(); }, { "data-key": "more" }) : null);
      drawButtons();
    }

    function drawButtons() {
      const picked = entries.filter((entry) => chosen.has(entry.path));
      all.checked = picked.length > 0 && picked.length === entries.length;
      all.indeterminate = picked.length > 0 && !all.checked;
      const possible = Object.keys(words).filter((word) => picked.length > 0 && picked.every((entry) => (entry.choices ?? []).includes(word)));
      draw(buttons, [picked.length, possible], () => picked.length === 0
        ? h("p", { class: "quiet" }, t`Select files to choose an action.`)
        : [h("span", {}, plural(picked.length, "{1} file chosen:", "{1} files chosen:")),
          possible.map((word) => act(words[word].label, () => settle(id, picked, word),
            { title: words[word].title, class: word === "delete" || word === "keep-theirs" ? "danger" : undefined, "data-key": word })),
          possible.length < 3 && h("span", { class: "quiet" }, t`The selected files have no action in common; select fewer.`)]);
    }
    return { element, load: loadOne };
  }

  async function settle(id, picked, action) {
    const body = { paths: picked.map((entry) => ({ text: reference(id, entry.path), workingDirectory: "/" })), action };
    if (action === "move-to") {
      body.directory = await askDirectory();
      if (!body.directory) return;
    }
    // First only what it would do: the numbers are what is asked about.
    const plan = await app.attempt(() => api.post("extraneous", { ...body, dryRun: true }));
    if (!plan || !await agreed(plan.folders, action)) return;
    const answer = await app.attempt(() => api.run("extraneous", { ...body, dryRun: false }));
    for (const outcome of answer?.folders ?? []) {
      app.say(words[action].done(outcome.files));
      for (const name of outcome.staying.slice(0, 3)) app.fail(new api.APIError({ message: t`${name.path} stays: ${said(name.message, name.text)}` }));
      if (outcome.staying.length > 3) app.fail(new api.APIError({ message: plural(outcome.staying.length - 3, "{1} more is unchanged.", "{1} more are unchanged.") }));
    }
    app.refresh();
    load();
  }

  function askDirectory() {
    return chooseDirectory(app, { title: t`Move the files to a directory outside the folder`, isNew: true });
  }

  async function agreed(outcomes, action) {
    const sum = (name) => outcomes.reduce((all, outcome) => all + outcome[name], 0);
    const lost = sum("lostFiles");
    const elsewhere = outcomes.flatMap((outcome) => outcome.deletedElsewhere ?? []);
    if (lost === 0 && elsewhere.length === 0 && !["delete", "keep-theirs"].includes(action)) return true;
    const label = words[action].label.replace("…", "");
    return await app.ask({
      title: `${label}: ${plural(sum("files"), "{1} file", "{1} files")}, ${bytes(sum("bytes"))}`,
      body: [words[action].what && h("p", {}, words[action].what),
        lost > 0 && h("p", { class: "bad" }, plural(lost, "{1} file of them ({2}) is only on this device in this version and would be lost:",
          "{1} files of them ({2}) are only on this device in this version and would be lost:", bytes(sum("lostBytes")))),
        lost > 0 && h("ul", {}, outcomes.flatMap((outcome) => outcome.lost).slice(0, 10).map((name) => h("li", {}, h("bdi", {}, shown(name.path))))),
        elsewhere.length > 0 && h("p", { class: "bad" }, t`The other devices also delete: ${elsewhere.slice(0, 10).map(shown).join(", ")}`)],
      choices: [{ label: t`Cancel`, value: "no" }, { label, value: "yes", kind: "danger" }],
    }) === "yes";
  }

  return { element: part.element, load, stop: () => load.stop(), get count() { return found(); } };
}
