// Devices that want to connect and folders that are offered: what is said of them, and the forms that let them in.
import { directoryField } from "./directories.js";
import { h, when } from "./dom.js";
import { shown } from "./files-names.js";
import { choice, field } from "./parts.js";
import { t } from "./words.js";

/** What of a folder is kept on this device. */
export const keepModes = [["selective", t`only selected files`], ["full", t`everything`]];

/** Shares a folder that is here with further devices. */
export function share(api, folder, devices) {
  return api.post("folders", { id: folder.id, path: folder.path, mode: folder.mode, type: folder.type, devices, paused: false });
}

/** A device that wants to connect, with the form that lets it in; `reload` asks for those that wait again. */
export function pendingDevice(device, app, reload) {
  const { api } = app;
  const name = h("input", { type: "text", value: device.name, maxlength: "100", autocomplete: "off" });
  const boxes = app.status?.folders.map((folder) => h("label", { class: "check" },
    h("input", { type: "checkbox", value: folder.id }), h("span", {}, shown(folder.label || folder.id)))) ?? [];
  const accept = () => app.attempt(async () => {
    await api.post("devices", { id: device.id, name: name.value.trim() });
    for (const box of boxes.map((box) => box.firstChild).filter((box) => box.checked)) {
      await share(api, app.status.folders.find((folder) => folder.id === box.value), [device.id]);
    }
    app.say(t`${name.value || device.id.slice(0, 7)} was added.`);
    app.refresh();
    reload();
  });
  const ignore = () => app.attempt(async () => {
    await api.patch("ignored", { device: device.id, ignored: true });
    app.say(t`${device.name || device.id.slice(0, 7)} is ignored. Undo: synctrain device ignore --undo`);
    app.refresh();
    reload();
  });
  return h("li", { "data-pending": device.id },
    h("p", {}, t`${h("strong", {}, h("bdi", {}, shown(device.name || t`An unnamed device`)))} at ${device.address} wants to connect, ${when(device.lastSeen)}`),
    h("p", { class: "id" }, device.id),
    h("p", { class: "quiet" }, t`A name proves nothing: compare the id with the one on the other device.`),
    h("details", {}, h("summary", {}, t`Add`),
      h("form", { class: "form", onsubmit: (event) => { event.preventDefault(); accept(); } }, field(t`Name`, name),
        boxes.length > 0 && h("fieldset", {}, h("legend", {}, t`Folders to share`), boxes),
        h("div", { class: "tools" }, h("button", { class: "main" }, t`Add device`)))),
    h("button", { type: "button", title: t`Never list this device again`, onclick: ignore }, t`Ignore`));
}

/** A folder that a device offers, the same way. */
export function pendingFolder(offer, app, reload) {
  const { api } = app;
  const directory = h("input", { type: "text", required: true, value: proposedDirectory(app.status, offer.label || offer.id), autocomplete: "off", spellcheck: "false" });
  const mode = choice(keepModes, "selective");
  const accept = () => app.attempt(async () => {
    await api.post("folders", { id: offer.id, label: offer.label, path: directory.value.trim(), mode: mode.value, type: "sendreceive", devices: [offer.device], paused: false });
    app.say(t`${offer.label || offer.id} was added.`);
    app.refresh();
    reload();
  });
  const ignore = () => app.attempt(async () => {
    await api.patch("ignored", { device: offer.device, folder: offer.id, ignored: true });
    app.say(t`${offer.label || offer.id} is ignored. Undo: synctrain folder ignore --undo`);
    app.refresh();
    reload();
  });
  return h("li", { "data-offer": offer.id },
    h("p", {}, t`${app.deviceName(offer.device)} offers the folder ${h("strong", {}, h("bdi", {}, shown(offer.label || offer.id)))} ${h("span", { class: "quiet" }, `(${shown(offer.id)})`)}, ${when(offer.lastSeen)}`),
    h("details", {}, h("summary", {}, t`Accept`),
      h("form", { class: "form", onsubmit: (event) => { event.preventDefault(); accept(); } },
        directoryField(app, t`Directory on this device`, directory, t`full path; created if it does not exist`, { isNew: true }),
        field(t`Keep on this device`, mode),
        h("div", { class: "tools" }, h("button", { class: "main" }, t`Accept folder`)))),
    h("button", { type: "button", title: t`Never list this folder of this device again`, onclick: ignore }, t`Ignore`));
}

/** Beside the folders that there are, else where the command line puts it (`TargetPath`): in Library of the agent's user. */
function proposedDirectory(status, name) {
  const parent = status?.folders[0]?.path.replace(/\/[^/]*$/, "") ?? "~/Library";
  return `${parent}/${name.replace(/[\u0000-\u001f\u007f-\u009f/\\]/g, "-").replace(/^[\s.]+|\s+$/g, "") || "folder"}`;
}
