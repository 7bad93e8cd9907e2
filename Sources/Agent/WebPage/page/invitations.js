// Invitations: a code that lets one device into one folder; made, listed, revoked, and redeemed.
import { h, replace, when } from "./dom.js";
import { shown } from "./files-names.js";
import { act, choice, draw, field, soon } from "./parts.js";
import { dateTime, t } from "./words.js";

const roles = [["read", t`may read`], ["write", t`may read and change`], ["admin", t`may also add devices and folders`]];
const times = [["3600", t`an hour`], ["86400", t`a day`], ["604800", t`a week`], ["2592000", t`30 days`]];
const states = { open: t`open`, redeemed: t`used`, expired: t`expired` };

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
  const mode = choice([["selective", t`only selected files`], ["full", t`everything`]], "selective");

  const make = () => app.attempt(async () => {
    const invitation = await api.post("invitations", { folder: folder.value, role: role.value, seconds: Number(time.value) });
    replace(made, h("div", { class: "card" }, h("p", {},
      t`Give this code to one person; it lets one device join ${app.folderName(invitation.folder)} until ${dateTime(invitation.expires)}. It is shown only once.`),
    h("p", { class: "id", "data-code": invitation.code }, invitation.code),
    navigator.clipboard && act(t`Copy code`, () => app.attempt(async () => {
      await navigator.clipboard.writeText(invitation.code);
      app.say(t`Code copied.`);
    }))));
    load();
  });

  const join = () => app.attempt(async () => {
    const request = { code: code.value.trim(), directory: directory.value.trim(), parent: false, mode: mode.value };
    const joined = await api.post("join", request).catch(async (error) => {
      if (error.code !== "confirmation-needed") throw error;
      const choice = await app.ask({
        title: t`Share this folder?`,
        body: h("p", {}, error.message),
        choices: [{ label: t`Cancel`, value: null }, { label: t`Share folder`, value: "share", kind: "danger" }],
      });
      return choice === "share" ? api.post("join", { ...request, confirmed: true }) : null;
    });
    if (!joined) return;
    app.say(t`${joined.label || joined.folder} of ${joined.name || joined.device.slice(0, 7)} is at ${joined.path}.`);
    code.value = "";
    app.refresh();
  });

  const load = soon(async () => {
    let invited;
    try { ({ invitations: invited } = await api.get("invitations")); } catch (error) { return app.fail(error); }
    draw(list, invited, () => invited.length === 0 ? h("p", { class: "quiet" }, t`No invitations.`)
      : h("ul", { class: "plain" }, invited.map((one) => h("li", { class: "line", "data-invitation": one.number },
        h("span", { class: "main-text" }, `${app.folderName(one.folder)}, ${roles.find(([word]) => word === one.role)?.[1] ?? one.role} `,
          h("span", { class: "tag" }, states[one.state] ?? one.state), (one.name || one.device) && [" ", t`by ${shown(one.name || one.device.slice(0, 7))}`]),
        h("span", { class: "quiet" }, t`until ${when(one.expires)}`),
        act(one.state === "open" ? t`Revoke` : t`Forget`, () => app.attempt(async () => {
          await api.remove("invitations", { number: one.number });
          load();
        }), { "aria-label": one.state === "open" ? t`Revoke invitation ${one.number}` : t`Forget invitation ${one.number}`, "data-key": `revoke ${one.number}` })))));
  });
  load();

  replace(body, list, made,
    h("details", {}, h("summary", {}, t`Invite a device`),
      h("form", { class: "form", onsubmit: (event) => { event.preventDefault(); make(); } },
        field(t`Folder`, folder), field(t`Role of the device`, role), field(t`Valid for`, time),
        h("div", { class: "tools" }, h("button", { class: "main" }, t`Create invitation`)))),
    h("details", {}, h("summary", {}, t`Use an invitation`),
      h("form", { class: "form", onsubmit: (event) => { event.preventDefault(); join(); } },
        field(t`Code`, code), field(t`Directory on this device`, directory, t`full path of the folder`), field(t`Keep on this device`, mode),
        h("div", { class: "tools" }, h("button", { class: "main" }, t`Join`)))));
  return {
    load,
    show(status) {
      const chosen = folder.value;
      draw(folder, status.folders.map(({ id, label }) => [id, label]), () => status.folders.map((one) =>
        h("option", { value: one.id, selected: one.id === chosen }, shown(one.label || one.id))));
    },
  };
}
