// How this device is reached, and which addresses of the others are in use, failed or are not tried.
import { bytes, h, replace, when } from "./dom.js";
import { act, draw, poll, transportName } from "./parts.js";

const sources = { configured: "entered here", local: "local network", introduced: "introducer", global: "discovery server" };

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
    const element = h("details", { ontoggle: () => { if (element.open) load(); } }, h("summary", {}, title), body, more);
    views.push({ element, body, part, lines });
    return element;
  }
  return {
    stop: poll(load, 5000),
    ofDevice(id) {
      const part = (report) => report.devices.find((device) => device.id === id) ?? null;
      return details("Connections and addresses tried", part, (report) => deviceLines(part(report)));
    },
    ofThis: () => details("How other devices reach this one",
      ({ announcedAddresses, servers, relays, routers, proxy }) => [announcedAddresses, servers, relays, routers, proxy], ownLines, tester(app)),
  };
}

/** A button that has other devices test whether they can connect, and what they found. */
function tester(app) {
  const found = h("div", { "aria-live": "polite" });
  const show = (...lines) => replace(found, lines);
  const button = act("Test", async () => {
    show(h("p", { class: "quiet" }, "Other devices try to connect; this takes 15 s at most."));
    try { show(...testLines(await app.api.post("reach/test"), app)); } catch (error) { show(h("p", {}, error.message)); }
  }, { title: "Ask connected devices whether they can connect to this one" });
  return h("div", {}, h("div", { class: "tools" }, button), found);
}

function testLines({ devices, relay, advice }, app) {
  const lines = devices.flatMap((device) => {
    const name = device.local ? `${app.deviceName(device.id)} (in this network)` : app.deviceName(device.id);
    const problem = device.problem && h("li", {}, `${name} tested nothing: ${device.problem}`);
    return [problem, ...device.results.map((result) => item(result.address, testText(name, result)))].filter(Boolean);
  });
  return [h("p", {}, advice), h("ul", { class: "plain" }, lines, item("Relay", relay.message))];
}

function testText(name, { outcome, message }) {
  if (outcome === "reached") return `${name} connected`;
  return outcome === "not-tried" ? `${name} did not try: ${message}` : `${name} could not connect: ${message}`;
}

function deviceLines(device) {
  const links = [...new Set(device?.links)].map((link) => {
    const [kind, ...address] = link.split(" ");
    const count = device.links.filter((other) => other === link).length;
    const rate = device.rates[link];
    return item(address.join(" "), [`in use (${transportName(kind)})`, count > 1 && `${count} connections`,
      rate !== undefined && `${bytes(rate)}/s when busy`].filter(Boolean).join(", "));
  });
  const failures = (device?.failures ?? []).map((failure) =>
    item(failure.address, `${failure.message} (${sources[failure.source] ?? failure.source}, ${when(failure.time)})`));
  const untried = (device?.untried ?? []).map((one) => item(one.address, `not tried: ${one.message}`));
  return list([...links, ...failures, ...untried], "No address is known yet.");
}

function ownLines(report) {
  return [whatIsTold(report), h("dl", { class: "pairs" },
    h("dt", {}, "announced addresses"), h("dd", {}, list(report.announcedAddresses.map((address) => item(address)), "none")),
    h("dt", {}, "discovery servers"), h("dd", {}, list(report.servers.map((server) => item(server.url, serverState(server))), "off")),
    h("dt", {}, "relays"), h("dd", {}, list(report.relays.map((relay) => item(relay.address ?? relay.source, relayState(relay))), "off")),
    h("dt", {}, "routers"), h("dd", {}, list(report.routers.map((router) => item(router)), "not asked for a port")),
    report.proxy && [h("dt", {}, "proxy"), h("dd", {}, report.proxy)])];
}

/** Who learns what of this device beyond the local network, and how to switch that off. */
function whatIsTold({ servers, relays }) {
  if (servers.length + relays.length === 0) return h("p", { class: "quiet" }, "Nothing is told to any server.");
  return h("div", { class: "quiet" },
    servers.length > 0 && h("p", {}, "Discovery servers learn this device's id, the addresses below, the address it connects from, and the ids of the devices it searches for."),
    relays.length > 0 && h("p", {}, "The relay that is joined learns this device's id and address, and which devices connect through it, when and how much. It cannot read what they exchange."),
    h("p", {}, "Neither learns names, folders or files. To switch both off: ", h("code", {}, "synctrain network --global-discovery off --relays off")));
}

const serverState = (server) => server.problem
  ?? (server.announcedSeconds === undefined ? "not announced yet" : `announced ${server.announcedSeconds} s ago`);

const relayState = (relay) => relay.state === "joined"
  ? ["joined", relay.roundTripMilliseconds !== undefined && `${relay.roundTripMilliseconds} ms`].filter(Boolean).join(", ")
  : [relay.state, relay.problem].filter(Boolean).join(": ");

const item = (name, text) => h("li", {}, h("span", { class: "id" }, name), text && `: ${text}`);
const list = (items, none) => items.length === 0 ? h("p", { class: "quiet" }, none) : h("ul", { class: "plain" }, items);
