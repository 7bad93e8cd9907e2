// What waits for a person: folders that have stopped, conflicts, files that are not selected, changes that were refused, and
// who wants to be let in. Each with the safe choice first.
import { h } from "./dom.js";
import { conflicts } from "./conflicts.js";
import { extraneous } from "./extraneous.js";
import { shown } from "./files-names.js";
import { freeSpace } from "./files-space.js";
import { moreButton } from "./menu.js";
import { refused } from "./refused.js";
import { act, draw, isFailed, section, soon, stateName } from "./parts.js";
import { bytes, plural, said, t } from "./words.js";

export const title = t`Attention`;
export const icon = "attention";

/** How many things there are to look at: each folder that has stopped or holds deletions, each conflict, each refused change, each folder with files that are not selected, and each who waits. */
export function badge(status) {
  return status.folders.reduce((sum, folder) => sum + (isFailed(folder) || folder.heldDeletions ? 1 : 0) + (folder.conflicts ?? 0) + (folder.refused ?? 0)
    + ((folder.extraneous ?? 0) > 0 ? 1 : 0), status.pending ?? 0);
}

export function mount(root, app) {
  const { api } = app;
  const stopped = section(t`Halted folders`);
  const held = section(t`Deletions to confirm`);
  const waiting = section(t`Pending devices and folders`);
  const well = h("div", { class: "well", hidden: true, role: "status" }, h("p", { class: "sign", "aria-hidden": "true" }, "✓"),
    h("h2", {}, t`Nothing needs attention`), h("p", { class: "quiet" }, t`No halted folders, no deletions to confirm, no conflicts, and no pending devices or folders.`),
    h("p", {}, h("a", { href: app.address("files") }, t`To the files`), " · ", h("a", { href: app.address("activity") }, t`To the activity`)));
  const loaded = new Set();
  const parts = [conflicts, extraneous, refused].map((make) => make(app, () => { loaded.add(make); drawWell(); }));
  stopped.element.hidden = held.element.hidden = waiting.element.hidden = true;
  root.append(h("h2", { class: "unseen", tabindex: "-1" }, title), stopped.element, held.element, ...parts.map((part) => part.element), waiting.element, well);

  function drawWell() {
    // Nothing is said to be well before all was looked at.
    well.hidden = loaded.size < 4 || !stopped.element.hidden || !held.element.hidden || !waiting.element.hidden || parts.some((part) => part.count > 0);
  }

  const loadPending = soon(async () => {
    let pending;
    try { pending = await api.get("pending"); } catch (error) { return app.fail(error); }
    const total = pending.devices.length + pending.folders.length;
    waiting.element.hidden = total === 0;
    loaded.add(loadPending);
    draw(waiting.body, [pending.devices.map(({ id, name }) => [id, name]), pending.folders.map(({ id, label }) => [id, label])], () => h("ul", { class: "plain" },
      pending.devices.map((device) => h("li", { class: "line" }, h("span", { class: "main-text" }, t`The device ${shown(device.name || device.id.slice(0, 7))} wants to connect.`),
        h("a", { class: "button", href: app.address("devices", "pending") }, t`View`))),
      pending.folders.map((folder) => h("li", { class: "line" }, h("span", { class: "main-text" }, t`${app.deviceName(folder.device)} offers the folder ${shown(folder.label || folder.id)}.`),
        h("a", { class: "button", href: app.address("devices", "pending") }, t`View`)))));
    drawWell();
  });

  let counts = "";
  const stopStatus = app.onStatus((status) => {
    drawStopped(status.folders.filter(isFailed));
    drawHeld(status.folders.filter((folder) => folder.heldDeletions));
    const now = JSON.stringify(status.folders.map((folder) => [folder.id, folder.conflicts, folder.extraneous, folder.refused]));
    if (now !== counts) { counts = now; for (const part of parts) part.load(); }
    drawWell();
  });
  const [conflicting, , refusing] = parts;
  const again = soon(() => { conflicting.load(); refusing.load(); }, 3000);
  const stopEvents = app.onEvent((event) => {
    // Most changes show in the counts; one that went and one that came do not.
    if (["files-changed", "index-updated"].includes(event.type)) again();
    if (event.type === "gap") for (const part of parts) part.load();
    if (["device-pending", "folder-pending", "configuration-changed", "gap"].includes(event.type)) loadPending();
  });
  loadPending();

  function drawStopped(folders) {
    stopped.element.hidden = folders.length === 0;
    draw(stopped.body, folders.map(({ id, label, state, message, path, need }) => [id, label, state, message, path, state === "low-space" && need]), () => folders.map((folder) => {
      const canConfirm = ["halted-root-emptied", "halted-mass-delete"].includes(folder.state);
      return h("article", { class: "card", "data-stopped": folder.id },
        h("header", {}, h("h3", { tabindex: "-1" }, app.folderName(folder.id)), h("span", { class: "tag bad" }, stateName(folder.state))),
        h("p", {}, said(folder.message, folder.text)), h("p", { class: "quiet" }, shown(folder.path)),
        folder.state === "low-space" && h("p", {}, plural(folder.need.files, "{1} file, {2}, to download. Free some space on the disk, or deselect files in {3}.",
          "{1} files, {2}, to download. Free some space on the disk, or deselect files in {3}.", bytes(folder.need.bytes),
          h("a", { href: app.address("files", folder.id) }, t`Files`))),
        folder.state.startsWith("halted-") && h("div", { class: "tools" },
          act(t`Restore the files…`, () => settle(folder, "repair"), { class: "main", "data-key": `repair ${folder.id}` }),
          moreButton(t`More actions for ${app.folderName(folder.id)}`, () => [
            { label: t`Settings`, run: () => app.go("settings", "folder", folder.id) },
            canConfirm && { label: t`Confirm the deletion…`, kind: "danger", run: () => settle(folder, "confirm") },
          ], { "data-key": `more ${folder.id}` })),
        folder.state === "low-space" && h("div", { class: "tools" },
          act(t`Free space…`, () => freeSpace(app, folder), { class: "main", "data-key": `free ${folder.id}` })));
    }));
  }

  function drawHeld(folders) {
    held.element.hidden = folders.length === 0;
    draw(held.body, folders.map(({ id, label, heldDeletions, path }) => [id, label, heldDeletions, path]), () => folders.map((folder) =>
      h("article", { class: "card", "data-held": folder.id },
        h("header", {}, h("h3", { tabindex: "-1" }, app.folderName(folder.id)), h("span", { class: "tag bad" }, plural(folder.heldDeletions.names, "{1} name", "{1} names"))),
        h("p", {}, said(folder.heldDeletions.message, folder.heldDeletions.text)), h("p", { class: "quiet" }, shown(folder.path)),
        h("div", { class: "tools" }, act(t`Confirm the deletion…`, () => settle(folder, "confirm"), { class: "danger", "data-key": `confirm ${folder.id}` })))));
  }

  async function settle(folder, action) {
    const plan = await app.attempt(() => api.post("folders/action", { folder: folder.id, action, dryRun: true }));
    if (!plan) return;
    const name = app.folderName(folder.id);
    const numbers = [plan.files > 0 && `${plural(plan.files, "{1} file", "{1} files")} (${bytes(plan.bytes)})`,
      plan.directories > 0 && plural(plan.directories, "{1} directory", "{1} directories"),
      plan.deletions > 0 && plural(plan.deletions, "{1} name to delete", "{1} names to delete")].filter(Boolean).join(", ") || t`nothing`;
    const text = {
      repair: { title: t`Restore the missing files of ${name}?`, body: t`Nothing is deleted anywhere. The missing files are restored: ${numbers}.`,
        yes: t`Restore the files`, done: t`${name} resumes; the missing files are being restored.` },
      confirm: plan.here
        ? { title: t`Delete the files on this device, too?`, body: t`Other devices deleted these files on purpose, and they are deleted here, too: ${numbers}.`,
          yes: t`Delete here`, done: t`${name}: the files are being deleted on this device.` }
        : { title: t`Delete the files on the other devices, too?`, body: t`The files missing here were deleted on purpose, and the other devices delete them, too: ${numbers}.`,
          yes: t`Delete everywhere`, done: t`${name} resumes; the other devices delete the files.` },
    }[action];
    const answer = await app.ask({
      title: text.title,
      body: [h("p", {}, text.body), plan.lostFiles > 0 && h("p", {}, plural(plan.lostFiles,
        "{1} file cannot be restored: no other device has it.", "{1} files cannot be restored: no other device has them.")), plan.paths.length > 0 && h("ul", {}, plan.paths.slice(0, 10).map((path) => h("li", {}, h("bdi", {}, shown(path)))))],
      choices: [{ label: t`Not now`, value: "no" }, { label: text.yes, value: "yes", kind: action === "repair" ? "main" : "danger" }],
    });
    if (answer !== "yes") return;
    const outcome = await app.attempt(() => api.run("folders/action", { folder: folder.id, action, dryRun: false }));
    if (outcome) app.say(text.done);
    app.refresh();
  }

  return {
    route() {},
    unmount() {
      stopStatus();
      stopEvents();
      loadPending.stop();
      again.stop();
      for (const part of parts) part.stop();
    },
  };
}
