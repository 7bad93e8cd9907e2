// What takes a change of the selection back, and says what of it cannot be taken back.
import { reference } from "./dom.js";
import { boxOf } from "./files-names.js";
import { bytes, plural, t } from "./words.js";

const total = (answer, pick) => answer.folders.reduce((all, folder) => all + (pick(folder) ?? 0), 0);

/** What the selection of the entries' folders says now, by folder. */
export async function selectionOf(app, entries) {
  const texts = new Map();
  for (const { folder } of entries) {
    if (!texts.has(folder)) texts.set(folder, (await app.api.get("patterns", { folder })).text);
  }
  return texts;
}

/** Whether a device that the folder is shared with is connected. */
export function isReachable(app, id) {
  const shared = app.status?.folders.find((folder) => folder.id === id)?.devices ?? [];
  return Boolean(app.status?.devices.some((device) => device.connected && shared.includes(device.id)));
}

const inOrder = (lines) => lines.filter(Boolean).sort().join("\n");

/** Whether nobody else changed `.stignore` in between: what was before, without what the answer removed and with what it added, is what is now. */
function isOnlyThis(before, after, { removed, added }) {
  const left = before.split("\n");
  for (const line of removed) {
    const at = left.lastIndexOf(line);
    if (at < 0) return false;
    left.splice(at, 1);
  }
  return inOrder([...left, ...added]) === inOrder(after.split("\n"));
}

/**
 * What takes a change back, or undefined where that cannot be had. The selection of before is written over the one that the change
 * made, so that what somebody else has changed since is not lost. It is said when `done()`, which shows what is now, has ended.
 */
export async function undoing(app, { entries, before, answer, selects }, done) {
  if (!answer.folders) return undefined;
  let after;
  try { after = await selectionOf(app, entries); } catch { return undefined; }
  const changed = [...before].filter(([folder, text]) => after.get(folder) !== text);
  if (changed.length === 0) return undefined;
  const isKnown = changed.every(([folder, text]) => {
    const outcome = answer.folders.find((one) => one.folder === folder);
    return outcome && isOnlyThis(text, after.get(folder), outcome);
  });
  if (!isKnown) return undefined;
  // What came only because of the tick goes with it; what was here before it, or may have been, stays.
  const isFresh = selects && total(answer, ({ cost }) => cost.adoptedFiles) === 0
    && entries.every((entry) => boxOf(entry) === "false" && entry.state === "absent" && hasNothingElse(app, entry.folder));
  return async () => {
    const words = [t`Undone: the selection is as it was before.`];
    if (isFresh) {
      const now = await selectionOf(app, entries);
      for (const [folder] of changed) if (now.get(folder) !== after.get(folder)) throw changedMeanwhile(app, folder);
      const freed = await app.api.run("selection", {
        paths: entries.map((entry) => ({ text: reference(entry.folder, entry.path), workingDirectory: "/" })), select: false, local: "free", dryRun: false });
      after = await selectionOf(app, entries);
      if (freed.folders) words.push(...remains(freed));
    }
    for (const [folder, text] of changed) {
      if (after.get(folder) !== text) await app.api.post("patterns", { folder, text, over: after.get(folder), dryRun: false });
    }
    if (!selects) words.push(...comesAgain(app, entries, answer));
    await done?.();
    app.say(words.join(" "));
  };
}

/** Whether no file of the folder is known to be on this disk without being selected. */
function hasNothingElse(app, id) { return (app.status?.folders.find((folder) => folder.id === id)?.extraneous ?? 0) === 0; }

function changedMeanwhile(app, folder) {
  return new app.api.APIError({ code: "busy", message: t`The selection of ${app.folderName(folder)} was changed meanwhile, so this cannot be undone. Change it in Files.` });
}

/** What became of that which a selection had brought to this disk. */
function remains(freed) {
  const size = total(freed, ({ freeing }) => freeing?.freedBytes);
  const files = total(freed, ({ freeing }) => freeing?.stayingFiles);
  return [size > 0 && t`${bytes(size)} were freed: other devices have them.`,
    files > 0 && plural(files, "{1} file stays on this disk and is not selected; see Attention.", "{1} files stay on this disk and are not selected; see Attention.")].filter(Boolean);
}

/** What has to come again, and whether it can now. */
function comesAgain(app, entries, answer) {
  const size = total(answer, ({ freeing }) => freeing?.freedBytes);
  if (size === 0) return [];
  return [entries.every(({ folder }) => isReachable(app, folder)) ? t`${bytes(size)} that were freed are downloaded again.`
    : t`${bytes(size)} that were freed are downloaded again when a device that has them connects.`];
}
