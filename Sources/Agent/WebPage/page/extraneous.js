// Files that are on this disk and not selected: kept, deleted, ignored or moved, several at once.
import { bytes, count, h, reference, when } from "./dom.js";
import { act, draw, isFailed, section, soon } from "./parts.js";

const pageSize = 100;
const words = {
  select: ["Keep and share", "select the files and share them with the other devices"],
  ignore: ["Ignore", "keep the files here and stop listing them"],
  "move-to": ["Move out…", "move the files out of the folder"],
  "keep-both": ["Keep both", "download theirs and keep mine beside it"],
  "keep-mine": ["Keep mine", "make the version here the newest on all devices"],
  "keep-theirs": ["Keep theirs…", "replace the version here with theirs"],
  delete: ["Delete here…", "delete from this disk only"],
};

/**
 * A section of the view Attention. `load` looks at the disk: what was never selected no index knows, and status counts only
 * what the index knows or the last such look found.
 */
export function extraneous(app, done) {
  const { api } = app;
  const part = section("On this disk, not selected", act("Refresh", () => load()));
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
    const picks = h("div", { class: "picks", role: "group", "aria-label": `Files of ${app.folderName(id)}` });
    const all = h("input", { type: "checkbox", "aria-label": "All shown" });
    const said = h("span", { class: "quiet" });
    const buttons = h("div", { class: "tools" });
    const more = h("div", { class: "tools" });
    const chosen = new Set();
    let entries = [];
    let limit = pageSize;
    const element = h("article", { class: "card", "data-extraneous": id }, h("header", {}, h("h3", { tabindex: "-1" }, app.folderName(id)), said),
      h("label", { class: "check" }, all, h("span", {}, "all shown")), picks, more, buttons);
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
      said.textContent = count(total, "file");
      draw(picks, entries.map(({ path, size, modified, other }) => [path, size, modified, other]), () => entries.map((entry) => h("label", {},
        h("input", { type: "checkbox", checked: chosen.has(entry.path), "data-key": entry.path, value: entry.path,
          onchange: (event) => { if (event.target.checked) chosen.add(entry.path); else chosen.delete(entry.path); drawButtons(); } }),
        h("span", {}, entry.path, entry.other && h("small", { class: "warn" }, ` other devices have another version${entry.other.device ? ` by ${app.deviceName(entry.other.device)}` : ""}, ${bytes(entry.other.size)}`)),
        h("span", { class: "quiet" }, bytes(entry.size), ", ", when(entry.modified)))));
      draw(more, [entries.length, total], () => total > entries.length && limit < 1000
        ? act(`Show more of ${total}`, () => { limit = Math.min(1000, limit + pageSize); load(); }, { "data-key": "more" }) : null);
      drawButtons();
    }

    function drawButtons() {
      const picked = entries.filter((entry) => chosen.has(entry.path));
      all.checked = picked.length > 0 && picked.length === entries.length;
      all.indeterminate = picked.length > 0 && !all.checked;
      const possible = Object.keys(words).filter((word) => picked.length > 0 && picked.every((entry) => (entry.choices ?? []).includes(word)));
      draw(buttons, [picked.length, possible], () => picked.length === 0
        ? h("p", { class: "quiet" }, "Select files to choose an action.")
        : [h("span", {}, `${count(picked.length, "file")} chosen:`),
          possible.map((word) => act(words[word][0], () => settle(id, picked, word),
            { title: words[word][1], class: word === "delete" || word === "keep-theirs" ? "danger" : undefined, "data-key": word })),
          possible.length < 3 && h("span", { class: "quiet" }, "The selected files have no action in common; select fewer.")]);
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
      app.say(`${count(outcome.files, "file")}: ${words[action][1]}.`);
      for (const name of outcome.staying.slice(0, 3)) app.fail(new api.APIError({ message: `${name.path} stays: ${name.message}` }));
      if (outcome.staying.length > 3) app.fail(new api.APIError({ message: `${outcome.staying.length - 3} more are unchanged.` }));
    }
    app.refresh();
    load();
  }

  async function askDirectory() {
    const input = h("input", { type: "text", "aria-label": "Directory", placeholder: "/home/…", autocomplete: "off", spellcheck: "false" });
    const answer = await app.ask({ title: "Move files to", body: [h("p", {}, "Full path of a directory outside the folder."), input],
      choices: [{ label: "Cancel", value: "no" }, { label: "Continue", value: "yes", kind: "main" }] });
    return answer === "yes" && input.value.trim();
  }

  async function agreed(outcomes, action) {
    const sum = (name) => outcomes.reduce((all, outcome) => all + outcome[name], 0);
    const lost = sum("lostFiles");
    const elsewhere = outcomes.flatMap((outcome) => outcome.deletedElsewhere ?? []);
    if (lost === 0 && elsewhere.length === 0 && !["delete", "keep-theirs"].includes(action)) return true;
    return await app.ask({
      title: `${words[action][0].replace("…", "")}: ${count(sum("files"), "file")}, ${bytes(sum("bytes"))}`,
      body: [h("p", {}, `They are ${words[action][1]}.`.replace("They are the one", "The one")),
        lost > 0 && h("p", { class: "bad" }, `${count(lost, "file")} of them (${bytes(sum("lostBytes"))}) ${lost === 1 ? "is" : "are"} only on this device in this version and would be lost:`),
        lost > 0 && h("ul", {}, outcomes.flatMap((outcome) => outcome.lost).slice(0, 10).map((name) => h("li", {}, name.path))),
        elsewhere.length > 0 && h("p", { class: "bad" }, `The other devices also delete: ${elsewhere.slice(0, 10).join(", ")}`)],
      choices: [{ label: "Cancel", value: "no" }, { label: words[action][0].replace("…", ""), value: "yes", kind: "danger" }],
    }) === "yes";
  }

  return { element: part.element, load, stop: () => load.stop(), get count() { return found(); } };
}
