// This device and the others: links, who may do what, and how new ones come in.
import { addDevice, ownId } from "./devices-add.js";
import { directoryField } from "./directories.js";
import { doctor } from "./doctor.js";
import { h, replace, when } from "./dom.js";
import { drops, openQuestions } from "./drop.js";
import { shown } from "./files-names.js";
import { moreButton } from "./menu.js";
import { act, addressList, choice, draw, field, poll, section, soon, transportName } from "./parts.js";
import { keepModes, pendingDevice, pendingFolder, share } from "./pending.js";
import { reachViews } from "./reach.js";
import { bytes, dateTime, number, plural, rate, said, t } from "./words.js";

export const title = t`Devices`;
export const icon = "devices";

/** Transfers that wait for an answer. */
export function badge() { return openQuestions(); }

const roles = [["read", t`may read`], ["write", t`may read and change`], ["admin", t`may also add devices and folders`]];

export function mount(root, app) {
  const { api } = app;
  const adding = addDevice(app);
  const self = section(t`This device`);
  const pending = section(t`Pending devices and folders`);
  const list = section(t`Other devices`, adding.button);
  const folder = section(t`Share a new folder`);
  list.body.className = "cards";
  pending.element.hidden = true;
  const none = h("p", { class: "quiet" }, t`No other devices yet. Add one that is nearby, by an invitation or by its id.`);
  list.element.append(none);
  const drop = drops(app);
  drop.propose();
  root.append(h("h2", { class: "unseen" }, title), pending.element, list.element, adding.element, drop.element, folder.element, self.element);

  const reach = reachViews(app);
  const facts = h("div", {});
  const technical = h("div", {});
  self.body.append(facts, doctor(app), h("details", { "data-part": "advanced" }, h("summary", {}, t`Advanced`), technical, reach.ofThis()));
  drawNewFolder(folder.body, app);

  const loadPending = soon(async () => {
    let waiting;
    try { waiting = await api.get("pending"); } catch (error) { return app.fail(error); }
    pending.element.hidden = waiting.devices.length + waiting.folders.length === 0;
    // Each try of a device comes from another port: its form is not drawn again for that.
    const value = [waiting.devices.map(({ id, name }) => [id, name]), waiting.folders.map(({ id, label, device }) => [id, label, device])];
    draw(pending.body, value, () => h("ul", { class: "plain" },
      waiting.devices.map((device) => pendingDevice(device, app, loadPending)),
      waiting.folders.map((offer) => pendingFolder(offer, app, loadPending))));
  });

  const cards = new Map();
  const stopStatus = app.onStatus((status) => {
    drawSelf(facts, technical, status);
    adding.show(status);
    for (const [id, card] of cards) if (!status.devices.some((device) => device.id === id)) { card.element.remove(); cards.delete(id); }
    for (const device of status.devices) {
      let card = cards.get(device.id);
      if (!card) {
        card = deviceCard(device.id, app, reach);
        cards.set(device.id, card);
        list.body.append(card.element);
      }
      card.show(device, status);
    }
    none.hidden = status.devices.length > 0;
  });
  const stopRates = poll(async () => {
    try {
      const { transfers } = await api.get("transfers");
      for (const [id, card] of cards) card.showRates(transfers.filter((row) => row.device === id));
    } catch { /* Rates are an extra: what is wrong with the agent the status says. */ }
  }, 2000);
  // Each name of each folder is counted: the longer that takes, the less often it is done.
  let mayCount = 0;
  const stopStandings = poll(async () => {
    if (cards.size === 0 || performance.now() < mayCount) return;
    const began = performance.now();
    try {
      const { folders } = await api.get("completion");
      for (const [id, card] of cards) {
        card.showStandings(new Map(folders.map(({ folder, devices }) => [folder, devices.find((device) => device.id === id)])));
      }
    } catch { /* As with rates. */ }
    mayCount = performance.now() + 20 * (performance.now() - began);
  }, 3000);
  const stopEvents = app.onEvent((event) => {
    if (["device-pending", "folder-pending", "configuration-changed", "gap"].includes(event.type)) loadPending();
    if (["configuration-changed", "gap"].includes(event.type)) adding.load();
  });
  loadPending();

  return {
    route([part]) {
      if (["pair", "invite", "add"].includes(part)) return adding.open(part);
      if (part === "drop") return drop.reveal();
      if (part !== "pending") return;
      pending.element.scrollIntoView();
      pending.element.querySelector("h2").focus({ preventScroll: true });
    },
    unmount() {
      adding.stop();
      stopStatus();
      reach.stop();
      stopRates();
      stopStandings();
      stopEvents();
      loadPending.stop();
    },
  };
}

function drawSelf(body, technical, status) {
  draw(body, [status.name, status.listening.length, status.bluetooth], () => [h("h3", {}, shown(status.name)),
    h("p", {}, status.listening.length > 0 ? t`It accepts connections of other devices.` : t`It accepts no connections; it connects to other devices.`),
    status.bluetooth && h("p", { class: "quiet" }, t`Bluetooth: ${[said(status.bluetooth.message, status.bluetooth.text), said(status.bluetooth.remedy, status.bluetooth.remedyText)].filter(Boolean).join(" ")}`)]);
  draw(technical, [status.device, status.version, status.listening], () => h("dl", { class: "pairs" },
    h("dt", {}, t`id`), h("dd", { class: "id" }, status.device),
    h("dt", {}, t`listens on`), h("dd", {}, status.listening.join(", ") || t`nothing`), h("dt", {}, t`version`), h("dd", {}, status.version)));
}

/** A device as a card whose forms keep what is typed into them while what it shows changes. */
function deviceCard(id, app, reach) {
  const { api } = app;
  const head = h("header", {});
  const line = h("div", {});
  const rates = h("p", { class: "quiet" });
  const acceptance = h("div", {});
  const shares = h("div", {});
  const sharing = h("div", {});
  const name = h("input", { type: "text", autocomplete: "off", maxlength: "100" });
  const addresses = h("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const isUnchanged = (input) => input !== document.activeElement && input.dataset.typed !== "yes";
  for (const input of [name, addresses]) input.addEventListener("input", () => { input.dataset.typed = "yes"; });
  const technical = h("dl", { class: "pairs" });
  const advanced = h("details", { "data-part": "advanced" }, h("summary", {}, t`Advanced`), technical,
    h("form", { onsubmit: (event) => { event.preventDefault(); rename(); } }, field(t`Name`, name), h("button", {}, t`Rename`)),
    h("form", { onsubmit: (event) => { event.preventDefault(); move(); } },
      field(t`Addresses`, addresses, t`dynamic for discovery, or tcp://HOST:PORT; separate several with commas`), h("button", {}, t`Set addresses`)),
    reach.ofDevice(id), h("p", {}, h("a", { href: app.address("settings", "device", id) }, t`All settings`)));
  const element = h("article", { class: "card", "data-device": id }, head, line, acceptance, rates, shares,
    h("details", { "data-part": "sharing" }, h("summary", {}, t`Change what is shared`), sharing), advanced);
  let device = null;
  /** What it has of each folder, by the folder's id. */
  let standings = new Map();
  let latest = null;

  const change = (work, said) => app.attempt(async () => { await work(); if (said) app.say(said); app.refresh(); });
  const rename = () => change(async () => {
    await api.patch("devices", { device: id, name: name.value.trim() });
    name.dataset.typed = "";
  }, t`Renamed.`);
  const move = () => change(async () => {
    await api.post("devices", { id, addresses: addressList(addresses.value) });
    addresses.dataset.typed = "";
  }, t`Addresses saved.`);
  async function remove() {
    const answer = await app.ask({
      title: t`Remove ${device.name || id.slice(0, 7)}?`,
      body: h("p", {}, t`Its folders are no longer shared. Files are kept on both devices.`),
      choices: [{ label: t`Cancel`, value: "keep" }, { label: t`Remove device`, value: "remove", kind: "danger" }],
    });
    if (answer !== "remove") return;
    await change(async () => {
      const settings = await api.remove("devices", { device: id });
      app.say(t`Removed.`, async () => {
        await api.post("devices", settings);
        app.refresh();
      });
    });
  }

  return {
    element,
    showRates(rows) {
      const sum = (direction) => rows.filter((row) => row.direction === direction).reduce((all, row) => all + row.bytesPerSecond, 0);
      const [come, go] = [sum("in"), sum("out")];
      rates.textContent = rows.length === 0 ? "" : t`now ${rate(come)} in, ${rate(go)} out`;
    },
    showStandings(found) {
      standings = found;
      if (latest) drawShares(latest);
    },
    show(now, status) {
      [device, latest] = [now, status];
      if (isUnchanged(name)) name.value = device.name;
      if (isUnchanged(addresses)) addresses.value = device.addresses.join(", ");
      const label = shown(device.name || id.slice(0, 7));
      const pause = (paused) => change(() => api.patch("pause", { folders: [], devices: [id], all: false, paused }));
      draw(head, [label, device.paused], () => [
        h("h3", { tabindex: "-1" }, label),
        device.paused ? act(t`Resume`, () => pause(false), { "aria-label": t`Resume ${label}`, "data-key": "resume" }) : null,
        moreButton(t`More actions for ${label}`, () => [
          device.paused ? null : { label: t`Pause`, run: () => pause(true) },
          { label: t`All settings`, run: () => app.go("settings", "device", id) }, null,
          { label: t`Remove this device…`, kind: "danger", run: remove },
        ].slice(device.paused ? 1 : 0), { "data-key": "more" })]);
      const minute = Math.floor(Date.now() / 60000);
      draw(line, [device.connected, device.paused, device.pausedUntil, device.pauseMessage, device.transport, device.lastSeen, device.lastError, device.acceptance, device.addresses, minute], () => {
        const reason = device.pauseMessage ? said(device.pauseMessage, device.pauseText)
          : (!device.connected || isUnaccepted(device)) && !device.paused && (said(device.lastError, device.lastErrorText) || waitingText(device));
        return [h("p", { class: "state-line" }, h("span", { class: `dot ${device.connected && !device.paused && !isUnaccepted(device) ? "on" : ""}`, "aria-hidden": "true" }), h("span", {}, stateLine(device))),
          reason && h("p", { class: "quiet" }, reason)];
      });
      // What is needed there.
      const isShown = isUnaccepted(device);
      draw(acceptance, [isShown, status.device], () => isShown ? ownId(status, app) : null);
      draw(technical, [device.client, device.bytesIn, device.bytesOut, device.introducedBy, device.connected, device.transport, device.address, waysText(device)], () => [
        device.connected && [h("dt", {}, t`link`), h("dd", {}, `${transportName(device.transport)}, ${device.address}`)],
        waysText(device) && [h("dt", {}, t`addresses`), h("dd", {}, t`${waysText(device)}: see “Connections and addresses tried”`)],
        device.client && [h("dt", {}, t`program`), h("dd", {}, shown(device.client))],
        h("dt", {}, t`carried`), h("dd", {}, t`${bytes(device.bytesIn)} in, ${bytes(device.bytesOut)} out`),
        device.introducedBy && [h("dt", {}, t`added by`), h("dd", {}, app.deviceName(device.introducedBy))],
        h("dt", {}, t`id`), h("dd", { class: "id" }, id)]);
      drawShares(status);
    },
  };

  function drawShares(status) {
    const shared = status.folders.filter((folder) => folder.devices.includes(id));
    const others = status.folders.filter((folder) => !folder.devices.includes(id));
    const roleOf = (folder) => folder.roles?.[id] ?? "write";
    const called = (folder) => shown(folder.label || folder.id);
    const standing = (folder) => standingText(standings.get(folder.id));
    draw(shares, shared.map((folder) => [folder.id, folder.label, roleOf(folder), standing(folder)]), () => shared.length === 0
      ? h("p", { class: "quiet" }, t`No shared folders.`)
      : h("ul", { class: "plain" }, shared.map((folder) => h("li", { class: "line", "data-folder": folder.id },
        h("span", {}, h("a", { href: app.address("files", folder.id) }, called(folder)), h("div", { class: "quiet" }, standing(folder))),
        h("span", { class: "quiet" }, roles.find(([word]) => word === roleOf(folder))?.[1] ?? roleOf(folder))))));
    draw(sharing, [shared.map((folder) => [folder.id, folder.label, roleOf(folder)]), others.map((folder) => [folder.id, folder.label])], () => {
      const pick = choice(others.map((folder) => [folder.id, called(folder)]), undefined, { "aria-label": t`Folder to share` });
      return [
        shared.map((folder) => field(called(folder), choice(roles, roleOf(folder), {
          "aria-label": t`Role in ${called(folder)}`, "data-key": `role ${folder.id}`,
          onchange: (event) => change(() => api.patch("folders/role", { folder: folder.id, device: id, role: event.target.value }), t`Role saved.`),
        }))),
        others.length > 0 && h("div", { class: "tools" }, pick, act(t`Share`, () => {
          const folder = others.find((one) => one.id === pick.value);
          return change(() => share(api, folder, [id]), t`${called(folder)} is now shared with this device.`);
        }, { "data-key": "share" })),
        shared.length + others.length === 0 && h("p", { class: "quiet" }, t`There is no folder on this device yet.`)];
    });
  }
}

/** What a device has of a folder, by what it said last; empty where it has said nothing. */
function standingText(standing) {
  if (!standing?.index) return "";
  const { missing, notKept } = standing;
  const { deletions = 0 } = missing;
  const lacks = [missing.files > 0 ? plural(missing.files, "lacks {1} file, {2}", "lacks {1} files, {2}", bytes(missing.bytes))
    : missing.directories > 0 && plural(missing.directories, "lacks {1} directory", "lacks {1} directories"),
  deletions > 0 && plural(deletions, "has {1} name to delete", "has {1} names to delete")].filter(Boolean);
  if (lacks.length > 0) return lacks.join(", ");
  return notKept.files + notKept.directories > 0 ? t`has all that it keeps` : t`has everything`;
}

/** Whether it refuses this device until somebody adds that there. It is connected for a moment then, again and again. */
function isUnaccepted(device) { return device.acceptance === "needed" && !device.paused; }

/** How a device stands, in a line. */
function stateLine(device) {
  if (device.paused) return device.pausedUntil ? t`Paused until ${dateTime(device.pausedUntil)}` : t`Paused`;
  if (isUnaccepted(device)) return t`Waiting for ${shown(device.name || device.id.slice(0, 7))} to accept this device`;
  if (device.connected) return t`Connected over ${transportName(device.transport)}`;
  return device.lastSeen ? t`Not connected; last seen ${when(device.lastSeen)}` : t`Never connected yet; it has to accept this device, too`;
}

/** How many addresses are in use, failed and are not tried; empty where there is nothing to explain. */
function waysText({ ways }) {
  const count = (outcome) => ways.filter((way) => way.outcome === outcome).length;
  const [used, failed, untried] = [count("connected"), count("failed"), count("not-tried")];
  if (failed + untried === 0) return "";
  return [used > 0 && t`${number(used)} in use`, failed > 0 && t`${number(failed)} failed`, untried > 0 && t`${number(untried)} not tried`].filter(Boolean).join(", ");
}

function waitingText(device) {
  if (device.addresses.length === 0) return t`No address configured; waiting for it to connect. Check that it is switched on.`;
  return device.addresses.every((address) => address === "dynamic")
    ? t`Not found yet: switch it on, or enter its address below.` : t`Connecting; check that it is switched on.`;
}

// MARK: new ones

function drawNewFolder(body, app) {
  const { api } = app;
  const id = h("input", { type: "text", required: true, autocomplete: "off", spellcheck: "false" });
  const label = h("input", { type: "text", autocomplete: "off" });
  const directory = h("input", { type: "text", required: true, autocomplete: "off", spellcheck: "false" });
  const mode = choice(keepModes, "full");
  const submit = () => app.attempt(async () => {
    await api.post("folders", { id: id.value.trim(), label: label.value.trim(), path: directory.value.trim(), mode: mode.value, type: "sendreceive", devices: [], paused: false });
    app.say(t`${label.value || id.value} was added. Share it with a device above.`);
    for (const input of [id, label, directory]) input.value = "";
    app.refresh();
  });
  replace(body, h("details", {}, h("summary", {}, t`Share a directory of this device`),
    h("form", { class: "form", onsubmit: (event) => { event.preventDefault(); submit(); } },
      field(t`Id`, id, t`the same on all devices`), field(t`Name`, label), directoryField(app, t`Directory`, directory, t`full path; created if it does not exist`, { isNew: true }), field(t`Keep on this device`, mode),
      h("div", { class: "tools" }, h("button", { class: "main" }, t`Add folder`)))));
}
