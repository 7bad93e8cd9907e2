// Freeing space in a folder, and removing a folder: what would go and what stays is said before.
import { h } from "./dom.js";
import { shown } from "./files-names.js";
import { stayingList } from "./files-select.js";
import { field } from "./parts.js";
import { bytes, number, plural, t } from "./words.js";

const unit = 1024 ** 3;
const usual = 20;
const namesMost = 100;
const plansMost = 5;

/** Asks how much, lists what would go, frees it and says what was freed. */
export async function freeSpace(app, folder) {
  const name = shown(folder.label || folder.id);
  const work = (until, dryRun) => ({ folder: folder.id, until: Math.round(until), dryRun });
  const now = await app.attempt(() => app.api.post("free", work(0, true)));
  if (!now) return;
  let [{ available }] = now.folders;
  const wanted = await askHowMuch(app, name, available);
  if (!wanted) return;
  let plan;
  // The agent is told how much is to be free in the end. What others write or delete meanwhile is not what was asked for.
  for (let tries = 0; tries < plansMost; tries += 1) {
    const answer = await app.attempt(() => app.api.post("free", work(available + wanted, true)));
    if (!answer) return;
    [plan] = answer.folders;
    if (Math.abs(plan.available - available) * 20 < wanted) break;
    ({ available } = plan);
  }
  if (!await agreed(app, name, wanted, plan)) return;
  const done = await app.attempt(() => app.api.run("free", work(available + wanted, false)));
  if (!done?.folders) return;
  app.say(said(name, wanted, done.folders[0]));
  app.refresh();
}

function said(name, wanted, { outcome: { freeing }, missing, available }) {
  const short = shortOf(wanted, freeing);
  if (!freeing?.freedFiles) {
    return missing > 0 ? t`Nothing was freed in ${name}: no other device promised to keep what is here.`
      : t`Nothing had to be freed in ${name}: ${bytes(available)} are free on this disk now.`;
  }
  return [plural(freeing.freedFiles, "{1} file was freed in {2}: {3}.", "{1} files were freed in {2}: {3}.", name, bytes(freeing.freedBytes)),
    missing > 0 && short > 0 && t`${bytes(short)} of what you asked for could not be freed.`].filter(Boolean).join(" ");
}

/** How many bytes are missing of what was asked for. */
function shortOf(wanted, freeing) { return Math.max(0, wanted - (freeing?.freedBytes ?? 0)); }

async function askHowMuch(app, name, available) {
  const input = h("input", { type: "number", min: "0.1", step: "any", value: String(usual), autofocus: true, required: true });
  const choice = await app.ask({
    title: t`Free space in ${name}`,
    body: [h("p", {}, t`Files that other devices keep are removed from this disk: large ones first, and those unused for long. They stay on the other devices.`),
      field(t`Space to free, in GiB`, input, t`${bytes(available)} are free on this disk now`)],
    choices: [{ label: t`Cancel`, value: null }, { label: t`Show what would be freed`, value: "show", kind: "main" }],
  });
  const amount = Number(input.value);
  if (choice !== "show") return 0;
  if (amount > 0) return amount * unit;
  app.fail({ message: t`Enter how many GiB to free, for example 20.` });
  return 0;
}

async function agreed(app, name, wanted, { outcome: { freeing }, missing, available }) {
  const short = shortOf(wanted, freeing);
  const files = freeing?.freedFiles ?? 0;
  const stays = freeing?.stayingFiles > 0
    && h("details", {}, h("summary", {}, plural(freeing.stayingFiles, "{1} file stays on this disk", "{1} files stay on this disk")), stayingList(freeing.staying, freeing.stayingFiles));
  if (files === 0) {
    await app.ask({
      title: t`Nothing can be freed in ${name}`,
      body: [h("p", {}, missing > 0 ? t`No selected file on this disk is known to be on another device in the same version.`
        : t`Enough space became free meanwhile: ${bytes(available)} are free on this disk now.`), stays],
      choices: [{ label: t`Close`, value: null }],
    });
    return false;
  }
  return await app.ask({
    title: t`Free ${bytes(freeing.freedBytes)} in ${name}?`,
    body: [
      h("p", { class: "cost" }, plural(files, "{1} file will be removed from this disk; other devices keep it.", "{1} files will be removed from this disk; other devices keep them.")),
      short > 0 ? h("p", { class: "warn" }, t`That is ${bytes(short)} less than the ${bytes(wanted)} that you asked for.`) : null,
      h("ul", { class: "staying", tabindex: "0", role: "region", "aria-label": t`Files to remove from this disk` },
        freeing.freed.slice(0, namesMost).map((path) => h("li", {}, h("bdi", {}, shown(path)))),
        files > namesMost ? h("li", {}, t`and ${number(files - namesMost)} more`) : null),
      stays,
    ],
    choices: [{ label: t`Cancel`, value: null }, { label: t`Free space`, value: "free", kind: "main" }],
  }) === "free";
}

/** Removes a folder from this device after a question. Answers whether it did. */
export async function removeFolder(app, folder) {
  const name = shown(folder.label || folder.id);
  const { files, bytes: size } = folder.local;
  const choice = await app.ask({
    title: t`Remove the folder ${name} from this device?`,
    body: [
      h("p", {}, t`It is no longer synced here. Nothing is deleted, on this device or on others.`),
      h("p", {}, files > 0 ? plural(files, "{1} file, {2}, stays on this disk in {3}", "{1} files, {2}, stay on this disk in {3}", bytes(size), h("bdi", { class: "mono path" }, shown(folder.path)))
        : t`The directory ${h("bdi", { class: "mono path" }, shown(folder.path))} stays; none of the folder's files are on this disk.`),
      folder.global.files > files ? h("p", {}, t`Files that are only on other devices can no longer be opened here.`) : null,
      folder.need.files > 0 ? h("p", { class: "warn" }, t`${bytes(folder.need.bytes)} still to download will not be downloaded.`) : null,
    ],
    choices: [{ label: t`Cancel`, value: null }, { label: t`Remove folder`, value: "remove", kind: "danger" }],
  });
  if (choice !== "remove") return false;
  const done = await app.attempt(() => app.api.remove("folders", { folder: folder.id }));
  if (!done) return false;
  app.say(t`The folder ${name} was removed from this device. Its files stay in ${shown(folder.path)}.`);
  app.refresh();
  return true;
}
