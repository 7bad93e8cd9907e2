// Conflicts: both versions side by side, how they differ, and which one is kept.
import { h, reference, when } from "./dom.js";
import { act, draw, section, soon } from "./parts.js";
import { difference } from "./diff.js";
import { shown as readable } from "./files-names.js";
import { moreButton } from "./menu.js";
import { bytes, dateTime, number, said, t } from "./words.js";

const shown = 25;
const picture = /\.(jpe?g|png|gif|webp|avif|bmp)$/i;

/** A section of the view Attention; `load` asks for the list again, `done` is called when something was settled. */
export function conflicts(app, done) {
  const { api } = app;
  const part = section(t`Conflicts`);
  const list = h("div", {});
  const more = h("div", { class: "tools" });
  part.body.append(list, more);
  part.element.hidden = true;
  let limit = shown;
  const cards = new Map();

  const load = soon(async () => {
    let answer;
    try { answer = await api.page("conflicts", { limit }); } catch (error) { return app.fail(error); }
    const { entries, total } = answer;
    part.element.hidden = entries.length === 0;
    // A card stays as it is while its conflict does, with what is open and focused in it.
    const keys = new Set(entries.map(key));
    for (const [name, card] of cards) if (!keys.has(name)) { leave(card); cards.delete(name); }
    for (const conflict of entries) {
      if (cards.has(key(conflict))) continue;
      const card = draft(conflict);
      cards.set(key(conflict), card);
      list.append(card);
    }
    draw(more, [entries.length, total], () => (total ?? 0) > entries.length && limit < 1000
      ? act(t`Show more of ${number(total)}`, () => { limit = Math.min(1000, limit + shown); load(); }, { "data-key": "more" }) : null);
    done();
  });

  function leave(card) {
    const hadFocus = card.contains(document.activeElement);
    const next = card.nextElementSibling ?? card.previousElementSibling;
    card.remove();
    if (hadFocus) (next?.querySelector("h3") ?? document.querySelector("#view h2")).focus();
  }

  function draft(conflict) {
    const text = h("div", {});
    const details = h("details", { ontoggle: () => { if (details.open && !text.hasChildNodes()) compare(conflict, text); } },
      h("summary", {}, t`Differences`), text);
    const choices = h("div", { class: "tools" },
      act(t`Keep both`, () => settle(conflict, "both"), { class: "main" }),
      moreButton(t`More actions for ${readable(conflict.path)}`, () => [
        { label: t`Keep mine`, run: () => settle(conflict, "mine") }, { label: t`Keep theirs`, run: () => settle(conflict, "theirs") }, null,
        { label: t`View in Files`, run: () => app.go("files", conflict.folder, ...conflict.path.split("/")) },
      ]));
    const card = h("article", { class: "card", "data-conflict": conflict.path },
      h("header", {}, h("h3", { tabindex: "-1" }, h("bdi", {}, readable(conflict.path))), h("span", { class: "quiet" }, t`in ${app.folderName(conflict.folder)}`)),
      h("div", { class: "sides" }, side(t`Mine`, conflict.folder, conflict.mine, conflict.path), side(t`Theirs`, conflict.folder, conflict.theirs, conflict.path)),
      details, choices);
    if (isText(conflict)) details.open = cards.size === 0;
    return card;
  }

  function side(label, folder, version, name) {
    const isThere = version.size !== undefined && version.size !== null;
    const who = app.status?.device === version.device ? t`this device` : readable(version.name || app.deviceName(version.device));
    return h("div", { class: "side" }, h("h4", {}, label),
      h("dl", { class: "pairs" }, h("dt", {}, t.as("version")`by`), h("dd", {}, who),
        isThere ? [h("dt", {}, t`size`), h("dd", {}, bytes(version.size)), h("dt", {}, t`changed`), h("dd", {}, when(version.modified), h("span", { class: "quiet" }, ` (${exact(version.modified)})`))]
          : [h("dt", {}, t`state`), h("dd", {}, t`deleted, or not present`)],
        h("dt", {}, t`name`), h("dd", {}, h("bdi", {}, readable(version.path)))),
      isThere && picture.test(name) && h("img", { src: api.fileURL(reference(folder, version.path)), alt: `${label}: ${readable(version.path)}`, loading: "lazy" }));
  }

  async function compare(conflict, text) {
    const answer = await app.attempt(() => api.get("conflicts/details", { path: reference(conflict.folder, conflict.copy) }));
    const found = answer?.conflicts.find((one) => one.conflict.copy === conflict.copy);
    if (!found) return;
    text.replaceChildren(...[found.diff ? difference(found.diff, found.cut) : h("p", { class: "quiet" }, said(found.remark, found.remarkText) || t`The differences cannot be shown.`)]
      .flat().filter(Boolean));
  }

  async function settle(conflict, keep) {
    // With an archive the choice can be taken back; without one it is asked about.
    const archives = keep === "both" || await app.attempt(() => isArchiving(conflict.folder));
    if (archives === undefined) return;
    if (!archives) {
      const isMine = keep === "mine";
      const answer = await app.ask({
        title: isMine ? t`Keep mine of ${conflict.path}?` : t`Keep theirs of ${conflict.path}?`,
        body: h("p", {}, isMine
          ? t`The version that is theirs is replaced on all devices, and lost: the folder keeps no old versions on this device.`
          : t`The version that is mine is replaced on all devices, and lost: the folder keeps no old versions on this device.`),
        choices: [{ label: t`Cancel`, value: "no" }, { label: isMine ? t`Keep mine` : t`Keep theirs`, value: "yes", kind: "danger" }],
      });
      if (answer !== "yes") return;
    }
    const answer = await app.attempt(() => api.run("conflicts/resolve",
      { paths: [{ text: reference(conflict.folder, conflict.copy), workingDirectory: "/" }], keep }));
    if (!answer) return load();
    for (const outcome of answer.outcomes ?? []) {
      if (outcome.problem) app.fail(new api.APIError({ message: outcome.problem }));
      else if (outcome.renamed) app.say(t`Both versions are kept; the other is now ${outcome.renamed}.`);
      else app.say(outcome.archived ? t`Resolved; the other version is now ${outcome.archived}.` : t`Resolved.`, outcome.archived && undoing(conflict, keep));
    }
    app.refresh();
    load();
  }

  /** Whether what gives way is archived on this device. */
  async function isArchiving(folder) {
    const known = await api.get("settings");
    const kind = known.folders.find(({ id }) => id === folder)?.settings.find(({ key }) => key === "versions")?.value;
    return ["trashcan", "simple", "staggered"].includes(kind);
  }

  /**
   * What takes a choice back. If the copy gave way it is there again, and with it the conflict; else the version that gave way is
   * in its place again, and the one that was chosen is archived.
   */
  function undoing(conflict, keep) {
    const isCopyKept = conflict[keep].path === conflict.copy;
    const path = isCopyKept ? conflict.path : conflict.copy;
    return async () => {
      await api.post("versions/restore", { path: { text: reference(conflict.folder, path), workingDirectory: "/" }, confirmed: isCopyKept });
      app.say(isCopyKept ? t`Undone: the other version of ${conflict.path} is the newest again; the one that you kept is archived.`
        : t`Undone: ${conflict.path} is in conflict again.`);
      app.refresh();
      load();
    };
  }

  return { element: part.element, load, stop: () => load.stop(), get count() { return cards.size; } };
}

function key(conflict) { return JSON.stringify([conflict.folder, conflict.path, conflict.copy, conflict.mine, conflict.theirs]); }
function isText(conflict) { return !picture.test(conflict.path) && [conflict.mine, conflict.theirs].every((version) => (version.size ?? 0) < 1 << 20); }
function exact(time) { return time ? dateTime(time) : ""; }
