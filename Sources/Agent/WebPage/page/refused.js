// Changes of devices that may only read: accepted or given back.
import { h, reference, when } from "./dom.js";
import { shown } from "./files-names.js";
import { moreButton } from "./menu.js";
import { act, draw, section, soon } from "./parts.js";
import { bytes, number, plural, t } from "./words.js";

const pageSize = 100;
const kinds = { new: t`new`, changed: t`changed`, deleted: t`deleted` };

/** A section of the view Attention. */
export function refused(app, done) {
  const { api } = app;
  const part = section(t`Refused changes from read-only devices`);
  part.element.hidden = true;
  const list = h("div", {});
  const more = h("div", { class: "tools" });
  part.body.append(list, more);
  let limit = pageSize;
  let found = 0;

  const load = soon(async () => {
    let answer;
    try { answer = await api.page("refused", { limit }); } catch (error) { return app.fail(error); }
    found = answer.entries.length;
    part.element.hidden = found === 0;
    draw(list, answer.entries, () => h("ul", { class: "plain" }, answer.entries.map((change) => h("li", { class: "line", "data-refused": change.path },
      h("span", { class: "main-text" }, h("span", { class: "tag warn" }, kinds[change.change] ?? change.change), " ", h("bdi", {}, shown(change.path)),
        h("div", { class: "quiet" }, t`by ${shown(change.name || app.deviceName(change.device))} in ${app.folderName(change.folder)}`,
          change.change === "deleted" ? "" : `, ${bytes(change.size)}`, change.modified ? ", " : "", change.modified && when(change.modified),
          "; ", !change.current ? t`not in the folder` : change.current.here ? t`the folder has ${bytes(change.current.size)}`
            : t`the folder has ${bytes(change.current.size)}, not on this disk`)),
      h("span", { class: "tools" },
        act(t`Revert…`, () => settle(change, "revert"), { class: "main", "data-key": `revert ${change.path}`, "aria-label": t`Revert ${shown(change.path)}` }),
        moreButton(t`More actions for ${shown(change.path)}`, () => [
          { label: t`Accept…`, run: () => settle(change, "accept") },
        ], { "data-key": `more ${change.path}` }))))));
    draw(more, [found, answer.total], () => (answer.total ?? 0) > found && limit < 1000
      ? act(t`Show more of ${number(answer.total)}`, () => { limit = Math.min(1000, limit + pageSize); load(); }, { "data-key": "more" }) : null);
    done();
  });

  async function settle(change, action) {
    const body = { paths: [{ text: reference(change.folder, change.path), workingDirectory: "/" }], action, device: change.device };
    const plan = await app.attempt(() => api.post("refused", { ...body, dryRun: true }));
    if (!plan) return;
    const sum = (name) => plan.folders.reduce((all, outcome) => all + outcome[name], 0);
    const who = shown(change.name || app.deviceName(change.device));
    const answer = await app.ask({
      title: action === "accept" ? t`Accept what ${who} made of ${change.path}?` : t`Give ${who} back what the folder has of ${change.path}?`,
      body: [h("p", {}, action === "accept"
        ? plural(sum("count"), "The change is then applied on all devices ({1} name; {2} replaced, {3} deleted).",
          "The change is then applied on all devices ({1} names; {2} replaced, {3} deleted).", number(sum("replacements")), number(sum("deletions")))
        : plural(sum("count"), "What {2} changed is reverted there, and lost unless the device keeps old versions: {1} name.",
          "What {2} changed is reverted there, and lost unless the device keeps old versions: {1} names.", who)),
      plan.folders.flatMap((outcome) => outcome.staying).map((name) => h("p", { class: "warn" }, t`${shown(name.path)} stays: ${name.message}`))],
      choices: [{ label: t`Cancel`, value: "no" }, { label: action === "accept" ? t`Accept` : t`Revert`, value: "yes", kind: "danger" }],
    });
    if (answer !== "yes") return;
    const outcome = await app.attempt(() => api.post("refused", { ...body, dryRun: false }));
    if (outcome) app.say(action === "accept" ? t`Accepted.` : t`Reverted.`);
    app.refresh();
    load();
  }

  return { element: part.element, load, stop: () => load.stop(), get count() { return found; } };
}
