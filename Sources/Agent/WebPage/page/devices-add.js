// The one way to add a device: a panel with what leads there, by what is at hand.
import { h, replace } from "./dom.js";
import { invitations } from "./invitations.js";
import { pairing } from "./pairing.js";
import { act, addressList, field, section } from "./parts.js";
import { t } from "./words.js";

/** By the address behind `devices`. */
const ways = [
  ["pair", t`Nearby device`, t`For a device in this network or within reach of Bluetooth; both show six digits.`],
  ["invite", t`Invitation`, t`One device creates a code, the other one uses it; also for devices that are far away.`],
  ["add", t`Id or QR code`, t`Enter the id of each device on the other one; works with every Syncthing device.`],
];

/**
 * The panel, hidden until `open(way)`, and the button that opens it. `show` is for each new status, `load` asks for the invitations
 * again; `stop` ends a pairing that is under way.
 */
export function addDevice(app) {
  const panel = section(t`Add a device`, h("button", { type: "button", onclick: () => close() }, t`Close`));
  panel.element.hidden = true;
  const button = h("button", { type: "button", class: "main", "aria-expanded": "false", onclick: () => open("pair") }, t`Add device`);
  const bodies = new Map(ways.map(([way]) => [way, h("div", { role: "tabpanel", id: `way-${way}`, "aria-labelledby": `tab-${way}` })]));
  const tabs = ways.map(([way, label]) => h("button", { type: "button", role: "tab", id: `tab-${way}`, "aria-controls": `way-${way}`, onclick: () => choose(way) }, label));
  const list = h("div", { class: "ways", role: "tablist", "aria-label": t`Ways to add a device` }, tabs);
  const words = h("p", { class: "quiet" });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const at = tabs.indexOf(event.target);
    if (!step || at < 0) return;
    event.preventDefault();
    choose(ways.at((at + step) % ways.length)[0]);
    list.querySelector("[aria-selected=true]").focus();
  });
  panel.element.addEventListener("keydown", (event) => { if (event.key === "Escape" && event.target === event.target.closest("[role=tab]")) close(); });
  panel.body.append(list, words, ...bodies.values());

  let pair = pairing(bodies.get("pair"), app);
  const invited = invitations(bodies.get("invite"), app);
  const own = h("div", {});
  const form = h("div", {});
  bodies.get("add").append(form, own);
  drawForm(form, app);
  choose("pair");

  function choose(chosen) {
    ways.forEach(([way, , text], i) => {
      const isChosen = way === chosen;
      tabs[i].setAttribute("aria-selected", String(isChosen));
      tabs[i].setAttribute("tabindex", isChosen ? "0" : "-1");
      bodies.get(way).hidden = !isChosen;
      if (isChosen) words.textContent = text;
    });
  }

  function open(way) {
    choose(way);
    panel.element.hidden = false;
    button.setAttribute("aria-expanded", "true");
    panel.element.scrollIntoView({ block: "nearest" });
    panel.element.querySelector("h2").focus({ preventScroll: true });
  }

  function close() {
    // A pairing that nobody sees does not go on.
    pair.stop();
    pair = pairing(bodies.get("pair"), app);
    panel.element.hidden = true;
    button.setAttribute("aria-expanded", "false");
    button.focus();
  }

  return {
    element: panel.element,
    button,
    open,
    load: () => invited.load(),
    show(status) {
      invited.show(status);
      if (own.dataset.device === status.device) return;
      own.dataset.device = status.device;
      replace(own, ownId(status, app));
    },
    stop: () => pair.stop(),
  };
}

/** What the other device is given of this one. */
export function ownId(status, app) {
  return h("div", { class: "self" },
    h("img", { class: "qr", src: "/v1/devices/qr", alt: t`This device's id as a QR code`, onerror: (event) => { event.target.hidden = true; } }),
    h("div", {}, h("h3", {}, t`Add this device there, too`), h("p", {}, t`Scan the code with the other device, or enter this id there:`),
      h("p", { class: "id own-id" }, status.device),
      navigator.clipboard && act(t`Copy id`, () => app.attempt(async () => {
        await navigator.clipboard.writeText(status.device);
        app.say(t`Id copied.`);
      }))));
}

function drawForm(body, app) {
  const { api } = app;
  const id = h("input", { type: "text", required: true, autocomplete: "off", spellcheck: "false", placeholder: t`8 groups of 7 letters and digits` });
  const name = h("input", { type: "text", autocomplete: "off", maxlength: "100" });
  const addresses = h("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: "dynamic" });
  const wrong = h("p", { class: "bad whole", role: "alert" });
  const submit = async () => {
    wrong.textContent = "";
    try {
      const list = addressList(addresses.value);
      await api.post("devices", { id: id.value.trim(), name: name.value.trim() || undefined, addresses: list.length > 0 ? list : undefined });
      app.say(t`${name.value || t`The device`} was added. Add this device there, too.`);
      for (const input of [id, name, addresses]) input.value = "";
      app.refresh();
    } catch (error) {
      wrong.textContent = error.message;
      id.focus();
    }
  };
  replace(body, h("form", { class: "form", onsubmit: (event) => { event.preventDefault(); submit(); } },
    field(t`Id`, id, t`as the other device shows it`), field(t`Name`, name), field(t`Addresses`, addresses, t`for example tcp://HOST:PORT; empty for discovery`),
    wrong, h("div", { class: "tools" }, h("button", { class: "main" }, t`Add`), pictureButton(id, wrong))));
}

/** Reads an id from a picture of its QR code, where the browser can. */
function pictureButton(id, wrong) {
  if (!("BarcodeDetector" in window)) return null;
  const file = h("input", { type: "file", accept: "image/*", capture: "environment", onchange: read });
  async function read() {
    wrong.textContent = "";
    try {
      const picture = await createImageBitmap(file.files[0]);
      const [found] = await new BarcodeDetector({ formats: ["qr_code"] }).detect(picture);
      if (!found) throw new Error(t`No QR code found in this picture. Take a closer picture of the whole code.`);
      id.value = found.rawValue.trim();
      id.focus();
    } catch (error) {
      wrong.textContent = error.message;
    }
  }
  return field(t`Or picture of its QR code`, file);
}
