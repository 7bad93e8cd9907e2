// Invitations: a code that lets one device into one folder; made, listed, revoked, and redeemed.
import { h, replace, when } from "./dom.js";
import { act, choice, draw, field, soon } from "./parts.js";

const roles = [["read", "may read"], ["write", "may read and change"], ["admin", "may also add devices and folders"]];
const times = [["3600", "an hour"], ["86400", "a day"], ["604800", "a week"], ["2592000", "30 days"]];
const states = { open: "open", redeemed: "used", expired: "expired" };

/** Draws into `body`; `load` asks for the list again, `show` is for each new status. */
export function invitations(body, app) {
  const { api } = app;
  const list = h("div", {});
  const made = h("div", { role: "status" });
  const folder = h("select", {});
  const role = choice(roles, "read");
  const time = choice(times, "86400");
  const code = h("input", { type: "text", required: true, autocomplete: "off", spellcheck: "false" });
  const directory = h("input", { type: "text", required: true, autocomplete: "off", spellcheck: "false" });
  const mode = choice([["selective", "only selected files"], ["full", "everything"]], "selective");

  const make = () => app.attempt(async () => {
    const invitation = await api.post("invitations", { folder: folder.value, role: role.value, seconds: Number(time.value) });
    replace(made, h("div", { class: "card" }, h("p", {}, `Give this code to one person; it lets one device join ${app.folderName(invitation.folder)} until `,
      new Date(invitation.expires).toLocaleString(), ". It is shown only once."),
    h("p", { class: "id", "data-code": invitation.code }, invitation.code),
    navigator.clipboard && act("Copy code", () => app.attempt(async () => {
      await navigator.clipboard.writeText(invitation.code);
      app.say("Code copied.");
    }))));
    load();
  });

  const join = () => app.attempt(async () => {
    const joined = await api.post("join", { code: code.value.trim(), directory: directory.value.trim(), parent: false, mode: mode.value });
    app.say(`${joined.label || joined.folder} of ${joined.name || joined.device.slice(0, 7)} is at ${joined.path}.`);
    code.value = "";
    app.refresh();
  });

  const load = soon(async () => {
    let invited;
    try { ({ invitations: invited } = await api.get("invitations")); } catch (error) { return app.fail(error); }
    draw(list, invited, () => invited.length === 0 ? h("p", { class: "quiet" }, "No invitations.")
      : h("ul", { class: "plain" }, invited.map((one) => h("li", { class: "line", "data-invitation": one.number },
        h("span", { class: "main-text" }, `${app.folderName(one.folder)}, ${roles.find(([word]) => word === one.role)?.[1] ?? one.role} `,
          h("span", { class: "tag" }, states[one.state] ?? one.state), one.name || one.device ? ` by ${one.name || one.device.slice(0, 7)}` : ""),
        h("span", { class: "quiet" }, "until ", when(one.expires)),
        act(one.state === "open" ? "Revoke" : "Forget", () => app.attempt(async () => {
          await api.remove("invitations", { number: one.number });
          load();
        }), { "aria-label": `${one.state === "open" ? "Revoke" : "Forget"} invitation ${one.number}`, "data-key": `revoke ${one.number}` })))));
  });
  load();

  replace(body, list, made,
    h("details", {}, h("summary", {}, "Invite a device"),
      h("form", { class: "form", onsubmit: (event) => { event.preventDefault(); make(); } },
        field("Folder", folder), field("Role of the device", role), field("Valid for", time),
        h("div", { class: "tools" }, h("button", { class: "main" }, "Create invitation")))),
    h("details", {}, h("summary", {}, "Use an invitation"),
      h("form", { class: "form", onsubmit: (event) => { event.preventDefault(); join(); } },
        field("Code", code), field("Directory on this device", directory, "full path of the folder"), field("Keep on this device", mode),
        h("div", { class: "tools" }, h("button", { class: "main" }, "Join")))));
  return {
    load,
    show(status) {
      const chosen = folder.value;
      draw(folder, status.folders.map(({ id, label }) => [id, label]), () => status.folders.map((one) =>
        h("option", { value: one.id, selected: one.id === chosen }, one.label || one.id)));
    },
  };
}
