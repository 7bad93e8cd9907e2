// Changes of devices that may only read: accepted or given back.
import { bytes, count, h, reference, when } from "./dom.js";
import { act, draw, section, soon } from "./parts.js";

const pageSize = 100;
const kinds = { new: "new", changed: "changed", deleted: "deleted" };

/** A section of the view Attention. */
export function refused(app, done) {
  const { api } = app;
  const part = section("Refused changes from read-only devices");
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
      h("span", { class: "main-text" }, h("span", { class: "tag warn" }, kinds[change.change] ?? change.change), " ", change.path,
        h("div", { class: "quiet" }, `by ${change.name || app.deviceName(change.device)} in ${app.folderName(change.folder)}`,
          change.change === "deleted" ? "" : `, ${bytes(change.size)}`, change.modified ? ", " : "", change.modified && when(change.modified),
          change.current ? `; the folder has ${bytes(change.current.size)}${change.current.here ? "" : ", not on this disk"}` : "; not in the folder")),
      h("span", { class: "tools" },
        act("Revert…", () => settle(change, "revert"), { "data-key": `revert ${change.path}`, "aria-label": `Revert ${change.path}` }),
        act("Accept…", () => settle(change, "accept"), { "data-key": `accept ${change.path}`, "aria-label": `Accept ${change.path}` }))))));
    draw(more, [found, answer.total], () => (answer.total ?? 0) > found && limit < 1000
      ? act(`Show more of ${answer.total}`, () => { limit = Math.min(1000, limit + pageSize); load(); }, { "data-key": "more" }) : null);
    done();
  });

  async function settle(change, action) {
    const body = { paths: [{ text: reference(change.folder, change.path), workingDirectory: "/" }], action, device: change.device };
    const plan = await app.attempt(() => api.post("refused", { ...body, dryRun: true }));
    if (!plan) return;
    const sum = (name) => plan.folders.reduce((all, outcome) => all + outcome[name], 0);
    const who = change.name || app.deviceName(change.device);
    const answer = await app.ask({
      title: action === "accept" ? `Accept what ${who} made of ${change.path}?` : `Give ${who} back what the folder has of ${change.path}?`,
      body: [h("p", {}, action === "accept"
        ? `The change is then applied on all devices (${count(sum("count"), "name")}; ${sum("replacements")} replaced, ${sum("deletions")} deleted).`
        : `What ${who} changed is reverted there, and lost unless the device keeps old versions: ${count(sum("count"), "name")}.`),
      plan.folders.flatMap((outcome) => outcome.staying).map((name) => h("p", { class: "warn" }, `${name.path} stays: ${name.message}`))],
      choices: [{ label: "Cancel", value: "no" }, { label: action === "accept" ? "Accept" : "Revert", value: "yes", kind: "danger" }],
    });
    if (answer !== "yes") return;
    const outcome = await app.attempt(() => api.post("refused", { ...body, dryRun: false }));
    if (outcome) app.say(action === "accept" ? "Accepted." : "Reverted.");
    app.refresh();
    load();
  }

  return { element: part.element, load, stop: () => load.stop(), get count() { return found; } };
}
