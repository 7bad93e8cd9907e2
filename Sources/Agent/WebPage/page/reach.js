// How this device is reached, and which addresses of the others are in use, failed or are not tried.
import { h, replace, when } from "./dom.js";
import { act, draw, poll, transportName } from "./parts.js";
import { ago, plural, rate, said, t } from "./words.js";

const sources = { configured: t`entered here`, local: t`local network`, introduced: t`introducer`, global: t`discovery server` };

/** Details that are read from the agent while they are open. */
export function reachViews(app) {
  const views = [];
  async function load() {
    const open = views.filter((view) => view.element.open && view.element.isConnected);
    if (open.length === 0) return;
    try {
      const report = await app.api.get("reach");
      for (const view of open) draw(view.body, view.part(report), () => view.lines(report));
    } catch (error) {
      for (const view of open) draw(view.body, error.message, () => h("p", {}, error.message));
    }
  }
  function details(title, part, lines, ...more) {
    const body = h("div", {});
    const element = h("details", { "data-part": "reach", ontoggle: () => { if (element.open) load(); } }, h("summary", {}, title), body, more);
    views.push({ element, body, part, lines });
    return element;
  }
  return {
    stop: poll(load, 5000),
    ofDevice(id) {
      const part = (report) => report.devices.find((device) => device.id === id) ?? null;
      return details(t`Connections and addresses tried`, part, (report) => deviceLines(part(report)));
    },
    ofThis: () => details(t`How other devices reach this one`,
      ({ announcedAddresses, servers, relays, routers, proxy }) => [announcedAddresses, servers, relays, routers, proxy], ownLines, tester(app)),
  };
}

/** A button that has other devices test whether they can connect, and what they found. */
function tester(app) {
  const found = h("div", { "aria-live": "polite" });
  const show = (...lines) => replace(found, lines);
  const button = act(t`Test`, async () => {
    show(h("p", { class: "quiet" }, t`Other devices try to connect; this takes 15 s at most.`));
    try { show(...testLines(await app.api.post("reach/test"), app)); } catch (error) { show(h("p", {}, error.message)); }
  }, { title: t`Ask connected devices whether they can connect to this one` });
  return h("div", {}, h("div", { class: "tools" }, button), found);
}

function testLines({ devices, relay, advice, adviceText }, app) {
  const lines = devices.flatMap((device) => {
    const name = device.local ? t`${app.deviceName(device.id)} (in this network)` : app.deviceName(device.id);
    const problem = device.problem && h("li", {}, t`${name} tested nothing: ${said(device.problem, device.problemText)}`);
    return [problem, ...device.results.map((result) => item(result.address, testText(name, result)))].filter(Boolean);
  });
  return [h("p", {}, said(advice, adviceText)), h("ul", { class: "plain" }, lines, item(t`Relay`, said(relay.message, relay.text)))];
}

function testText(name, { outcome, message, text }) {
  if (outcome === "reached") return t`${name} connected`;
  return outcome === "not-tried" ? t`${name} did not try: ${said(message, text)}` : t`${name} could not connect: ${said(message, text)}`;
}

function deviceLines(device) {
  const links = [...new Set(device?.links)].map((link) => {
    const [kind, ...address] = link.split(" ");
    const count = device.links.filter((other) => other === link).length;
    const measured = device.rates[link];
    return item(address.join(" "), [t`in use (${transportName(kind)})`, count > 1 && plural(count, "{1} connection", "{1} connections"),
      measured !== undefined && t`${rate(measured)} when busy`].filter(Boolean).join(", "));
  });
  const failures = (device?.failures ?? []).map((failure) =>
    item(failure.address, [said(failure.message, failure.text), " (", sources[failure.source] ?? failure.source, ", ", when(failure.time), ")"]));
  const untried = (device?.untried ?? []).map((one) => item(one.address, t`not tried: ${said(one.message, one.text)}`));
  return list([...links, ...failures, ...untried], t`No address is known yet.`);
}

function ownLines(report) {
  return [whatIsTold(report), h("dl", { class: "pairs" },
    h("dt", {}, t`announced addresses`), h("dd", {}, list(report.announcedAddresses.map((address) => item(address)), t`none`)),
    h("dt", {}, t`discovery servers`), h("dd", {}, list(report.servers.map((server) => item(server.url, serverState(server))), t`off`)),
    h("dt", {}, t`relays`), h("dd", {}, list(report.relays.map((relay) => item(relay.address ?? relay.source, relayState(relay))), t`off`)),
    h("dt", {}, t`routers`), h("dd", {}, list(report.routers.map((router) => item(router)), t`not asked for a port`)),
    report.proxy && [h("dt", {}, t`proxy`), h("dd", {}, report.proxy)])];
}

/** Who learns what of this device beyond the local network, and how to switch that off. */
function whatIsTold({ servers, relays }) {
  if (servers.length + relays.length === 0) return h("p", { class: "quiet" }, t`Nothing is told to any server.`);
  return h("div", { class: "quiet" },
    servers.length > 0 && h("p", {}, t`Discovery servers learn this device's id, the addresses below, the address it connects from, and the ids of the devices it searches for.`),
    relays.length > 0 && h("p", {}, t`The relay that is joined learns this device's id and address, and which devices connect through it, when and how much. It cannot read what they exchange.`),
    h("p", {}, t`Neither learns names, folders or files. To switch both off: ${h("code", {}, "synctrain network --global-discovery off --relays off")}`));
}

const serverState = (server) => said(server.problem, server.problemText)
  ?? (server.announcedSeconds === undefined ? t`not announced yet` : t`announced ${ago(server.announcedSeconds)}`);

const relayStates = { choosing: t`choosing a relay`, connecting: t`connecting`, waiting: t`waiting`, stopped: t`stopped` };

const relayState = (relay) => relay.state === "joined"
  ? [t`joined`, relay.roundTripMilliseconds !== undefined && `${relay.roundTripMilliseconds} ms`].filter(Boolean).join(", ")
  : [relayStates[relay.state] ?? relay.state, said(relay.problem, relay.problemText)].filter(Boolean).join(": ");

const item = (name, text) => h("li", {}, h("span", { class: "id" }, name), text && [": ", text]);
const list = (items, none) => items.length === 0 ? h("p", { class: "quiet" }, none) : h("ul", { class: "plain" }, items);
