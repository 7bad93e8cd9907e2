// Pairing with a nearby device: both devices show six digits, and their users say whether they are the same.
import { digitsQuestion } from "./digits.js";
import { h, replace } from "./dom.js";
import { shown } from "./files-names.js";
import { act, draw, field, transportName } from "./parts.js";
import { t } from "./words.js";

const outcomes = {
  "pairing-mismatch": t`The two devices did not agree on a code`,
  "pairing-refused": t`Refused on the other device`,
  "confirmation-needed": t`You said that they differ`,
  "pairing-blocked": t`Pairing has failed too often`,
  "not-pairing": t`The other device is not waiting to be paired`,
  "pairing-failed": t`Pairing failed`,
  timeout: t`Pairing timed out`,
  busy: t`Another pairing is in progress`,
};

/**
 * The panel for one pairing after the other, drawn into `root`. `stop` ends the one that is under way: it lives as long as
 * its request, so closing the page ends it, too.
 */
export function pairing(root, app) {
  const { api } = app;
  let request = null;
  let timer = null;

  drawIdle();
  api.get("pair").then((status) => {
    if (request) return;
    if (status.blockedSeconds) drawBlocked(status.blockedSeconds);
  }, () => {});

  function drawIdle(...before) {
    clearInterval(timer);
    const boxes = (app.status?.folders ?? []).map((folder) => h("label", { class: "check" },
      h("input", { type: "checkbox", value: folder.id }), h("span", {}, shown(folder.label || folder.id))));
    replace(root, before,
      h("p", {}, t`Start pairing here and on the other device, which must be nearby or at a known address. Both then show six digits.`),
      boxes.length > 0 && h("fieldset", { class: "whole" }, h("legend", {}, t`Folders to share`), boxes),
      h("div", { class: "tools" }, act(t`Start pairing`, () => {
        begin(boxes.map((box) => box.firstChild).filter((box) => box.checked).map((box) => box.value));
      }, { class: "main", "data-key": "begin" })));
  }

  function drawBlocked(seconds) {
    const end = Date.now() + seconds * 1000;
    const left = h("strong", {});
    const show = () => {
      const rest = Math.ceil((end - Date.now()) / 1000);
      left.textContent = t`${Math.max(0, rest)} s`;
      if (rest <= 0 && !request) drawIdle();
    };
    clearInterval(timer);
    timer = setInterval(show, 1000);
    replace(root, h("h3", { tabindex: "-1" }, outcomes["pairing-blocked"]),
      h("p", {}, t`Somebody may be trying to guess the code. Try again in ${left}.`));
    show();
  }

  async function begin(folders) {
    request = new AbortController();
    const mine = request;
    const waiting = h("div", {});
    const near = h("div", { "aria-live": "polite" });
    const left = h("span", {});
    const address = h("input", { type: "text", placeholder: t`device id or tcp://HOST:PORT`, autocomplete: "off", spellcheck: "false" });
    const form = h("form", { onsubmit: (event) => { event.preventDefault(); dial(address.value.trim()); } },
      field(t`Or id or address of the other device`, address), h("button", {}, t`Connect`));
    replace(waiting, h("h3", { tabindex: "-1" }, t`Waiting for the other device`),
      h("p", {}, t`This device waits for ${left} more. Start pairing on the other device, too, then choose it here or there.`),
      near, form, h("div", { class: "tools" }, act(t`Stop`, stop)));
    replace(root, waiting);
    waiting.querySelector("h3").focus();
    drawNear([]);

    const dial = (where) => where && app.attempt(() => api.post("pair/answer", { action: "dial", address: where }));
    function drawNear(devices) {
      draw(near, devices, () => devices.length === 0
        ? h("p", { class: "quiet" }, t`No device waiting to be paired found yet.`)
        : h("ul", { class: "plain near" }, devices.map((device) => h("li", { class: "line" },
          h("span", { class: "main-text" }, h("strong", {}, h("bdi", {}, shown(device.name || device.address))), " ",
            h("span", { class: "quiet" }, [transportName(device.transport), device.address, device.signal && `${device.signal} dBm`,
              device.known && t`already known`].filter(Boolean).join(", "))),
          act(t`Pair`, () => dial(device.address), { class: "main", "aria-label": t`Pair with ${shown(device.name || device.address)}`, "data-key": device.address })))));
    }

    try {
      for await (const event of api.lines("POST", "pair", { body: { folders }, signal: mine.signal })) {
        if (mine !== request) return;
        switch (event.type) {
          case "waiting": {
            const end = Date.now() + event.seconds * 1000;
            const show = () => { left.textContent = t`${Math.max(0, Math.ceil((end - Date.now()) / 1000))} s`; };
            timer = setInterval(show, 1000);
            show();
            break;
          }
          case "nearby": drawNear(event.devices); break;
          case "dialling": app.say(t`Calling ${event.address}.`); break;
          case "code": drawCode(event); break;
          case "confirmed-there": drawConfirmed(); break;
          case "attempt-failed": app.say(event.message); break;
          case "paired": return drawPaired(event);
          case "already-paired": return drawAlready(event);
        }
      }
      if (mine === request) fail(new api.APIError({ code: "interrupted", message: t`Nothing was stored: the agent stopped the pairing.` }));
    } catch (error) {
      if (mine === request && error.name !== "AbortError") fail(error);
    } finally {
      if (mine === request) request = null;
    }
  }

  function drawCode({ code, address, transport, device }) {
    clearInterval(timer);
    const said = h("p", { id: "pair-said", "aria-live": "polite" });
    const question = digitsQuestion({
      name: "pair", code, about: t`Device ${device.slice(0, 7)}, ${transportName(transport)} ${address}`,
      refuse: () => app.attempt(() => api.post("pair/answer", { action: "refuse" })),
      confirm: () => app.attempt(async () => {
        await api.post("pair/answer", { action: "confirm", code });
        question.same.remove();
        if (!said.textContent) said.textContent = t`Waiting for the other device's user to confirm.`;
      }),
    });
    question.element.append(said);
    replace(root, question.element);
    question.differ.focus();
  }

  function drawConfirmed() {
    const said = root.querySelector("#pair-said");
    if (said) said.textContent = root.querySelector('[data-key="same"]')
      ? t`The other device's user confirmed the digits.` : t`Both users confirmed.`;
  }

  function drawPaired(event) {
    const folders = event.folders.map((id) => app.folderName(id)).join(", ");
    finish(t`Paired with ${shown(event.name || event.device.slice(0, 7))}`,
      h("p", {}, event.mutual ? t`Both devices stored each other.` : t`This device stored the other one; the other device did not confirm.`,
        folders && [" ", t`It shares ${folders}.`]));
  }

  function drawAlready(event) {
    finish(t`${shown(event.name || event.device.slice(0, 7))} is already paired`, h("p", {}, t`Both devices already knew each other.`));
  }

  async function fail(error) {
    if (error.status === 401) return;
    if (error.code === "pairing-blocked") {
      const status = await api.get("pair").catch(() => ({}));
      return drawBlocked(status.blockedSeconds ?? 60);
    }
    finish(outcomes[error.code] ?? t`Not paired`, h("p", { class: "bad" }, error.message));
  }

  function finish(heading, ...body) {
    request = null;
    const head = h("h3", { tabindex: "-1", class: "outcome" }, heading);
    drawIdle(h("div", { class: "card", role: "status" }, head, body));
    head.focus();
    app.refresh();
  }

  function stop() {
    request?.abort();
    request = null;
    clearInterval(timer);
    drawIdle();
  }

  return {
    stop() {
      request?.abort();
      request = null;
      clearInterval(timer);
    },
  };
}
