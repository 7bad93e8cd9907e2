// What a tick means: asked for without doing it, shown with its cost, then done.
import { bytes, count, h, reference } from "./dom.js";
import { nameOf, shown } from "./files-names.js";

function paths(entries) {
  return entries.map((entry) => ({ text: reference(entry.folder, entry.path), workingDirectory: "/" }));
}

const sum = (answer, pick) => answer.folders.reduce((total, folder) => total + (pick(folder) ?? 0), 0);

/** Entries as people call them: the name, or how many. */
function called(app, entries) {
  if (entries.length !== 1) return count(entries.length, "entry", "entries");
  return `“${shown(nameOf(entries[0].path) || app.folderName(entries[0].folder))}”`;
}

function lines(answer) {
  const changes = answer.folders.flatMap(({ added, removed }) => [...removed.map((line) => `− ${line}`), ...added.map((line) => `+ ${line}`)]);
  if (changes.length === 0) return null;
  return h("details", {}, h("summary", {}, "Lines of .stignore"), h("pre", {}, changes.map(shown).join("\n")));
}

/** Names that stay with the reason for it, ten at most. */
export function stayingList(staying, total = staying.length) {
  return h("ul", { class: "staying" }, staying.slice(0, 10).map(({ path, message, size }) =>
    h("li", {}, h("bdi", {}, shown(path)), ` (${bytes(size)}): ${message}`)),
  total > 10 ? h("li", {}, `and ${(total - 10).toLocaleString()} more`) : null);
}

/** What the selection of the entries' folders says now, by folder. */
async function selectionOf(app, entries) {
  const texts = new Map();
  for (const { folder } of entries) {
    if (!texts.has(folder)) texts.set(folder, (await app.api.get("patterns", { folder })).text);
  }
  return texts;
}

/**
 * What takes a change of the selection back: writes what it was before over what it is now, so that what somebody else has changed
 * since is not lost. Undefined where that cannot be had. `done()` is called afterwards.
 */
async function undoing(app, entries, before, done) {
  let after;
  try { after = await selectionOf(app, entries); } catch { return undefined; }
  const changed = [...before].filter(([folder, text]) => after.get(folder) !== text);
  if (changed.length === 0) return undefined;
  return async () => {
    for (const [folder, text] of changed) {
      await app.api.post("patterns", { folder, text, over: after.get(folder), dryRun: false });
    }
    app.say("Undone: the selection is as it was before.");
    done?.();
  };
}

/** Says by how much what is selected does not fit on the disk. */
function tooLarge(plan) {
  const short = Math.max(0, ...plan.folders.map((folder) => folder.short ?? 0));
  if (short === 0) return null;
  return h("p", { class: "warn", role: "alert" }, `It does not fit: ${bytes(short)} more free space is needed. What fits is downloaded.`);
}

/** Asks what keeping the entries costs, and keeps them. Answers whether anything was changed. */
export async function keep(app, entries, changed) {
  const body = { paths: paths(entries), select: true };
  const plan = await app.attempt(() => app.api.post("selection", { ...body, dryRun: true }));
  if (!plan) return false;
  const files = sum(plan, ({ cost }) => cost.fetchFiles);
  const size = sum(plan, ({ cost }) => cost.fetchBytes);
  const adopted = sum(plan, ({ cost }) => cost.adoptedFiles);
  const name = called(app, entries);
  const choice = await app.ask({
    title: `Keep ${name} on this device?`,
    body: [
      h("p", { class: "cost" }, files ? `${count(files, "file")}, ${bytes(size)}, will be downloaded.` : "No download needed."),
      adopted ? h("p", {}, `${count(adopted, "file")} already on this disk will be kept.`) : null,
      tooLarge(plan),
      h("p", { class: "quiet" }, entries.some((entry) => entry.type === "directory")
        ? "Files added to it later, on any device, are downloaded as well." : "Changes on other devices are downloaded as well."),
      lines(plan),
    ],
    choices: [{ label: "Keep", value: "keep", kind: "main" }, { label: "Cancel", value: null }],
  });
  if (choice !== "keep") return false;
  const before = await app.attempt(() => selectionOf(app, entries));
  const done = await app.attempt(() => app.api.run("selection", { ...body, dryRun: false }));
  if (done) app.say(files ? `${name} is now kept; downloading ${bytes(size)}.` : `${name} is now kept.`, before && await undoing(app, entries, before, changed));
  return Boolean(done);
}

/** Asks what letting the entries go frees and what stays, and lets them go. Answers whether anything was changed. */
export async function letGo(app, entries, changed) {
  const body = { paths: paths(entries), select: false };
  const plan = await app.attempt(() => app.api.post("selection", { ...body, local: "free", dryRun: true }));
  if (!plan) return false;
  const freed = sum(plan, ({ freeing }) => freeing?.freedFiles);
  const size = sum(plan, ({ freeing }) => freeing?.freedBytes);
  const stays = sum(plan, ({ freeing }) => freeing?.stayingFiles);
  const spared = sum(plan, ({ cost }) => cost.sparedFiles);
  const name = called(app, entries);
  const isHere = freed > 0 || stays > 0;
  const choices = [{ label: "Cancel", value: null }];
  if (isHere) choices.push({ label: "Stop keeping, leave the files here", value: "keep" });
  choices.push(freed > 0 ? { label: `Stop keeping and free ${bytes(size)}`, value: "free", kind: "main" }
    : { label: "Stop keeping", value: isHere ? "free" : "keep", kind: "main" });
  // With nothing to be freed both choices would do the same.
  if (isHere && freed === 0) choices.splice(1, 1);
  const choice = await app.ask({
    title: `Stop keeping ${name} on this device?`,
    body: [
      freed ? h("p", { class: "cost" }, `${count(freed, "file")}, ${bytes(size)}, can be freed: other devices have the same version.`) : null,
      spared ? h("p", {}, `${count(spared, "file")} will no longer be downloaded.`) : null,
      stays ? [h("p", { class: "warn" }, `${count(stays, "file")} will stay on this disk:`),
        stayingList(plan.folders.flatMap(({ freeing }) => freeing?.staying ?? []), stays)] : null,
      h("p", { class: "quiet" }, "Nothing is deleted on other devices."),
      lines(plan),
    ],
    choices,
  });
  if (!choice) return false;
  const before = await app.attempt(() => selectionOf(app, entries));
  const done = await app.attempt(() => app.api.run("selection", { ...body, local: choice, dryRun: false }));
  if (!done) return false;
  const gone = done.folders ? sum(done, ({ freeing }) => freeing?.freedBytes) : 0;
  app.say(gone ? `Deselected ${name}; freed ${bytes(gone)}.` : `Deselected ${name}.`, before && await undoing(app, entries, before, changed));
  return true;
}

/** Asks what it means to keep all of a folder, or only what is ticked from now on, whichever it is not, and does it. */
export async function changeMode(app, folder) {
  const isFull = folder.mode === "full";
  const body = { folder: folder.id, mode: isFull ? "selective" : "full" };
  const plan = await app.attempt(() => app.api.post("folders/mode", { ...body, dryRun: true }));
  if (!plan) return false;
  const name = `“${shown(folder.label || folder.id)}”`;
  const files = sum(plan, ({ cost }) => cost.fetchFiles);
  const staying = sum(plan, ({ cost }) => cost.extraneousFiles);
  const choice = await app.ask({
    title: isFull ? `Keep only selected files of ${name}?` : `Keep all of ${name} on this device?`,
    body: isFull ? [
      h("p", { class: "cost" }, "Nothing is selected at first, and nothing more is downloaded."),
      staying ? h("p", {}, `${count(staying, "file")}, ${bytes(sum(plan, ({ cost }) => cost.extraneousBytes))}, stay on this disk until you `
        + "tick them, or free their space under Attention.") : null,
      lines(plan),
    ] : [
      h("p", { class: "cost" }, files ? `${count(files, "file")}, ${bytes(sum(plan, ({ cost }) => cost.fetchBytes))}, will be downloaded.` : "No download needed."),
      tooLarge(plan),
      h("p", { class: "quiet" }, "Files added to it later, on any device, are downloaded as well."),
      lines(plan),
    ],
    choices: [{ label: "Cancel", value: null }, { label: isFull ? "Keep only selected files" : "Keep everything", value: "change", kind: "main" }],
  });
  if (choice !== "change") return false;
  const done = await app.attempt(() => app.api.post("folders/mode", { ...body, dryRun: false }));
  if (done) app.say(isFull ? `Only what you tick of ${name} is kept from now on.` : `All of ${name} is now kept.`);
  app.refresh();
  return Boolean(done);
}

/** What brings back what was deleted, where versions of it are archived here; undefined where none is. */
async function restoring(app, done, changed) {
  if (!done.folders) return undefined;
  const names = done.folders.flatMap(({ folder, names: deleted }) => deleted.map((path) => ({ folder, path })));
  const isArchived = async ({ folder, path }) => {
    const { entries } = await app.api.page("deleted", { path: reference(folder, path), limit: 1, offset: 0 });
    return entries.some((file) => file.path === path);
  };
  let isPossible = false;
  try {
    for (const name of names.slice(0, 20)) if (!isPossible) isPossible = await isArchived(name);
  } catch { return undefined; }
  if (!isPossible) return undefined;
  return async () => {
    let restored = 0;
    for (const name of names) {
      if (!await isArchived(name)) continue;
      await app.api.post("versions/restore", { path: { text: reference(name.folder, name.path), workingDirectory: "/" }, confirmed: false });
      restored += 1;
    }
    const files = done.folders.reduce((all, folder) => all + folder.files, 0);
    app.say(restored < files ? `${restored.toLocaleString()} of ${count(files, "file")} restored; of the others no version is archived on this device.`
      : `${count(restored, "file")} restored on all devices.`);
    changed?.();
  };
}

/** Asks what deleting the entries on all devices means, and does it. Answers whether anything was changed. */
export async function removeEverywhere(app, entries, changed) {
  const plan = await app.attempt(() => app.api.post("remove", { paths: paths(entries), dryRun: true }));
  if (!plan) return false;
  const files = sum(plan, (folder) => folder.files);
  const staying = plan.folders.flatMap((folder) => folder.staying ?? []);
  const holders = plan.folders.flatMap((folder) => folder.holders ?? []);
  const name = called(app, entries);
  const choice = await app.ask({
    title: `Delete ${name} on all devices?`,
    body: [
      h("p", { class: "cost bad" }, `${count(files, "file")}, ${bytes(sum(plan, (folder) => folder.bytes))}, will be deleted everywhere.`),
      holders.length ? [h("p", {}, "It is on:"), h("ul", {}, holders.map((holder) =>
        h("li", {}, `${shown(holder.name || holder.id.slice(0, 7))}: ${count(holder.files, "file")}${holder.connected ? "" : ", not connected; deletes it later"}`)))] : null,
      staying.length ? [h("p", { class: "warn" }, "These are not deleted:"), stayingList(staying)] : null,
    ],
    choices: [{ label: "Cancel", value: null }, { label: "Delete everywhere", value: "delete", kind: "danger" }],
  });
  if (choice !== "delete") return false;
  const done = await app.attempt(() => app.api.run("remove", { paths: paths(entries), dryRun: false }));
  if (done) app.say(`${name} was deleted on all devices.`, await restoring(app, done, changed));
  return Boolean(done);
}
