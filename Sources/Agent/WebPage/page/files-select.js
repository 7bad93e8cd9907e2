// What a tick does: at once where it can be taken back and is small, else after a question that shows what it costs.
import { h, reference } from "./dom.js";
import { nameOf, shown } from "./files-names.js";
import { isReachable, selectionOf, undoing } from "./files-undo.js";
import { bytes, number, plural, said, t } from "./words.js";

function paths(entries) {
  return entries.map((entry) => ({ text: reference(entry.folder, entry.path), workingDirectory: "/" }));
}

const sum = (answer, pick) => answer.folders.reduce((total, folder) => total + (pick(folder) ?? 0), 0);

/** Entries as people call them: the name, or how many. */
function called(app, entries) {
  if (entries.length !== 1) return plural(entries.length, "{1} entry", "{1} entries");
  return t`“${shown(nameOf(entries[0].path) || app.folderName(entries[0].folder))}”`;
}

function lines(answer) {
  const changes = answer.folders.flatMap(({ added, removed }) => [...removed.map((line) => `− ${line}`), ...added.map((line) => `+ ${line}`)]);
  if (changes.length === 0) return null;
  return h("details", {}, h("summary", {}, t`Lines of .stignore`), h("pre", {}, changes.map(shown).join("\n")));
}

/** Names that stay with the reason for it, ten at most. */
export function stayingList(staying, total = staying.length) {
  return h("ul", { class: "staying" }, staying.slice(0, 10).map(({ path, message, text, size }) =>
    h("li", {}, h("bdi", {}, shown(path)), ` (${bytes(size)}): ${said(message, text)}`)),
  total > 10 ? h("li", {}, t`and ${number(total - 10)} more`) : null);
}

/** Says by how much what is selected does not fit on the disk. */
function tooLarge(plan) {
  const short = Math.max(0, ...plan.folders.map((folder) => folder.short ?? 0));
  if (short === 0) return null;
  return h("p", { class: "warn", role: "alert" }, t`It does not fit: ${bytes(short)} more free space is needed. What fits is downloaded.`);
}

function willDownload(files, size) {
  if (!files) return t`No download needed.`;
  return plural(files, "{1} file, {2}, will be downloaded.", "{1} files, {2}, will be downloaded.", bytes(size));
}

/** Bytes to download or to free above which a change is asked about before it is made. */
const askedAbove = 1024 ** 3;

/** Keeps the entries; asks before where that downloads much or does not fit. Answers whether anything was changed. */
export async function keep(app, entries, changed) {
  const body = { paths: paths(entries), select: true };
  const plan = await app.attempt(() => app.api.post("selection", { ...body, dryRun: true }));
  if (!plan) return false;
  const files = sum(plan, ({ cost }) => cost.fetchFiles);
  const size = sum(plan, ({ cost }) => cost.fetchBytes);
  const name = called(app, entries);
  const doesNotFit = tooLarge(plan);
  if ((size > askedAbove || doesNotFit) && await askToKeep(app, entries, plan, { name, files, size, doesNotFit }) !== "keep") return false;
  const before = await app.attempt(() => selectionOf(app, entries));
  const done = await app.attempt(() => app.api.run("selection", { ...body, dryRun: false }));
  if (!done) return false;
  app.say(files ? t`${name} is now kept; downloading ${bytes(size)}.` : t`${name} is now kept.`,
    before && await undoing(app, { entries, before, answer: done, selects: true }, changed));
  return true;
}

function askToKeep(app, entries, plan, { name, files, size, doesNotFit }) {
  const adopted = sum(plan, ({ cost }) => cost.adoptedFiles);
  return app.ask({
    title: t`Keep ${name} on this device?`,
    body: [
      h("p", { class: "cost" }, willDownload(files, size)),
      adopted ? h("p", {}, plural(adopted, "{1} file already on this disk will be kept.", "{1} files already on this disk will be kept.")) : null,
      doesNotFit,
      h("p", { class: "quiet" }, entries.some((entry) => entry.type === "directory")
        ? t`Files added to it later, on any device, are downloaded as well.` : t`Changes on other devices are downloaded as well.`),
      lines(plan),
    ],
    choices: [{ label: t`Keep`, value: "keep", kind: "main" }, { label: t`Cancel`, value: null }],
  });
}

/**
 * Lets the entries go and frees what other devices have of them; asks before where that frees much, or something that cannot be
 * downloaded again now. `local` is "keep" to leave the files on the disk. Answers whether anything was changed.
 */
export async function letGo(app, entries, changed, local = "free") {
  const body = { paths: paths(entries), select: false };
  const plan = await app.attempt(() => app.api.post("selection", { ...body, local, dryRun: true }));
  if (!plan) return false;
  const freed = sum(plan, ({ freeing }) => freeing?.freedFiles);
  const size = sum(plan, ({ freeing }) => freeing?.freedBytes);
  const name = called(app, entries);
  const isFar = freed > 0 && entries.some((entry) => !isReachable(app, entry.folder));
  if (size > askedAbove || isFar) {
    local = await askToLetGo(app, plan, { name, freed, size, isFar });
    if (!local) return false;
  }
  const before = await app.attempt(() => selectionOf(app, entries));
  const done = await app.attempt(() => app.api.run("selection", { ...body, local, dryRun: false }));
  if (!done) return false;
  const gone = done.folders ? sum(done, ({ freeing }) => freeing?.freedBytes) : 0;
  const stays = done.folders ? sum(done, ({ freeing }) => freeing?.stayingFiles) : 0;
  const [first] = done.folders?.flatMap(({ freeing }) => freeing?.staying ?? []) ?? [];
  app.say([gone ? t`Deselected ${name}; freed ${bytes(gone)}.` : t`Deselected ${name}.`,
    stays > 0 && plural(stays, "{1} file stays on this disk.", "{1} files stay on this disk."),
    stays > 0 && first && t`${shown(nameOf(first.path))}: ${said(first.message, first.text)}`].filter(Boolean).join(" "),
  before && await undoing(app, { entries, before, answer: done, selects: false }, changed));
  return true;
}

function askToLetGo(app, plan, { name, freed, size, isFar }) {
  const stays = sum(plan, ({ freeing }) => freeing?.stayingFiles);
  const spared = sum(plan, ({ cost }) => cost.sparedFiles);
  return app.ask({
    title: t`Stop keeping ${name} on this device?`,
    body: [
      h("p", { class: "cost" }, plural(freed, "{1} file, {2}, can be freed: other devices have the same version.",
        "{1} files, {2}, can be freed: other devices have the same version.", bytes(size))),
      isFar ? h("p", { class: "warn" }, t`None of these devices is connected now: what is freed can be downloaded again only when one of them is.`) : null,
      spared ? h("p", {}, plural(spared, "{1} file will no longer be downloaded.", "{1} files will no longer be downloaded.")) : null,
      stays ? [h("p", { class: "warn" }, plural(stays, "{1} file will stay on this disk:", "{1} files will stay on this disk:")),
        stayingList(plan.folders.flatMap(({ freeing }) => freeing?.staying ?? []), stays)] : null,
      h("p", { class: "quiet" }, t`Nothing is deleted on other devices.`),
      lines(plan),
    ],
    choices: [{ label: t`Cancel`, value: null }, { label: t`Stop keeping, leave the files here`, value: "keep" },
      { label: t`Stop keeping and free ${bytes(size)}`, value: "free", kind: "main" }],
  });
}

/** Asks what it means to keep all of a folder, or only what is ticked from now on, whichever it is not, and does it. */
export async function changeMode(app, folder) {
  const isFull = folder.mode === "full";
  const body = { folder: folder.id, mode: isFull ? "selective" : "full" };
  const plan = await app.attempt(() => app.api.post("folders/mode", { ...body, dryRun: true }));
  if (!plan) return false;
  const name = t`“${shown(folder.label || folder.id)}”`;
  const files = sum(plan, ({ cost }) => cost.fetchFiles);
  const staying = sum(plan, ({ cost }) => cost.extraneousFiles);
  const choice = await app.ask({
    title: isFull ? t`Keep only selected files of ${name}?` : t`Keep all of ${name} on this device?`,
    body: isFull ? [
      h("p", { class: "cost" }, t`Nothing is selected at first, and nothing more is downloaded.`),
      staying ? h("p", {}, plural(staying, "{1} file, {2}, stays on this disk until you tick it, or free its space under Attention.",
        "{1} files, {2}, stay on this disk until you tick them, or free their space under Attention.", bytes(sum(plan, ({ cost }) => cost.extraneousBytes)))) : null,
      lines(plan),
    ] : [
      h("p", { class: "cost" }, willDownload(files, sum(plan, ({ cost }) => cost.fetchBytes))),
      tooLarge(plan),
      h("p", { class: "quiet" }, t`Files added to it later, on any device, are downloaded as well.`),
      lines(plan),
    ],
    choices: [{ label: t`Cancel`, value: null }, { label: isFull ? t`Keep only selected files` : t`Keep everything`, value: "change", kind: "main" }],
  });
  if (choice !== "change") return false;
  const done = await app.attempt(() => app.api.post("folders/mode", { ...body, dryRun: false }));
  if (done) app.say(isFull ? t`Only what you tick of ${name} is kept from now on.` : t`All of ${name} is now kept.`);
  app.refresh();
  return Boolean(done);
}

/**
 * What brings back what was deleted: the versions that this removal archived here, and no earlier ones. Undefined where it archived
 * none. What cannot be brought back is named, and the rest is.
 */
function restoring(app, done, changed) {
  if (!done.folders) return undefined;
  const versions = done.folders.flatMap(({ folder, archived }) => archived.map(({ path, at }) => ({ folder, path, at })));
  if (versions.length === 0) return undefined;
  return async () => {
    const failed = [];
    for (const { folder, path, at } of versions) {
      try {
        await app.api.post("versions/restore", { path: { text: reference(folder, path), workingDirectory: "/" }, at, confirmed: false });
      } catch (error) {
        if (error.status === 401) throw error;
        failed.push({ path, error });
      }
    }
    const restored = versions.length - failed.length;
    const files = done.folders.reduce((all, folder) => all + folder.files, 0);
    await changed?.();
    app.say(restored < files
      ? plural(files, "{2} of {1} file restored. “Deleted” in Files shows what else can be restored here.",
        "{2} of {1} files restored. “Deleted” in Files shows what else can be restored here.", number(restored))
      : plural(restored, "{1} file restored on all devices.", "{1} files restored on all devices."));
    if (failed.length > 0) {
      const names = failed.slice(0, 10).map(({ path }) => shown(path)).join(", ") + (failed.length > 10 ? ", …" : "");
      app.fail(new app.api.APIError({ message: `${t`Not restored: ${names}.`} ${failed[0].error.message}` }));
    }
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
    title: t`Delete ${name} on all devices?`,
    body: [
      h("p", { class: "cost bad" }, plural(files, "{1} file, {2}, will be deleted everywhere.", "{1} files, {2}, will be deleted everywhere.",
        bytes(sum(plan, (folder) => folder.bytes)))),
      holders.length ? [h("p", {}, t`It is on:`), h("ul", {}, holders.map((holder) =>
        h("li", {}, [`${shown(holder.name || holder.id.slice(0, 7))}: ${plural(holder.files, "{1} file", "{1} files")}`,
          !holder.connected && t`not connected; deletes it later`].filter(Boolean).join(", "))))] : null,
      staying.length ? [h("p", { class: "warn" }, t`These are not deleted:`), stayingList(staying)] : null,
    ],
    choices: [{ label: t`Cancel`, value: null }, { label: t`Delete everywhere`, value: "delete", kind: "danger" }],
  });
  if (choice !== "delete") return false;
  const done = await app.attempt(() => app.api.run("remove", { paths: paths(entries), dryRun: false }));
  if (done) app.say(t`${name} was deleted on all devices.`, restoring(app, done, changed));
  return Boolean(done);
}
