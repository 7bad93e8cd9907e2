// Single files to a device and from one: what `synctrain drop` does, by the page. A transfer lives as long as its request, so it goes on
// while other views are shown and ends with the page.
import { digitsQuestion } from "./digits.js";
import { directoryField, joined } from "./directories.js";
import { h, reference, replace } from "./dom.js";
import { Parts } from "./drop-parts.js";
import { answered, begun, canSend, ended, isBusy, isOver, mostSent, secondsLeft, stopped, told, unsent } from "./drop-state.js";
import { nameOf, shown } from "./files-names.js";
import { takeDrops } from "./files-upload.js";
import { act, draw, section, transportName } from "./parts.js";
import { bytes, duration, number, plural, rate, said, t } from "./words.js";

/** How long a device is looked for, and a lost link is waited for, in seconds. */
const patience = 300;
const mostShown = 50;

let one = null;

/** The transfers of this page: there is one of these. */
export function drops(app) { return one ??= new Drops(app); }

/** How many questions wait for an answer. */
export function openQuestions() { return one ? [...one.talks.values()].filter((talk) => talk.state.question).length : 0; }

/** The item of a menu that sends entries; false where not all of each is on the agent's disk. */
export function sendItem(app, entries) {
  return entries.length > 0 && entries.every(canSend) && { label: t`Send to a device…`, run: () => drops(app).send(entries) };
}

class Drops {
  constructor(app) {
    this.app = app;
    /** What is under way, or was last, by `send` and `receive`. */
    this.talks = new Map();
    this.cards = new Map(["send", "receive"].map((kind) => [kind, new Card(app, kind, this)]));
    const part = section(t`Send and receive files`);
    this.input = h("input", { type: "file", multiple: true, hidden: true, "aria-label": t`Files to send` });
    this.input.addEventListener("change", () => {
      this.sendFiles([...this.input.files]);
      this.input.value = "";
    });
    this.choosing = h("div", { class: "tools" }, act(t`Send files…`, () => this.input.click()), this.input);
    this.sign = h("p", { class: "drop-sign", hidden: true }, t`Drop files to send them to a device`);
    this.directory = h("input", { type: "text", required: true, autocomplete: "off", spellcheck: "false" });
    this.form = h("form", { class: "form", onsubmit: (event) => { event.preventDefault(); this.receive(this.directory.value.trim()); } },
      directoryField(app, t`Directory for received files`, this.directory, t`full path; it must exist`),
      h("div", { class: "tools" }, h("button", {}, t`Receive files`)));
    part.body.append(
      h("p", { class: "quiet" }, t`Single files, without a shared folder. “Send files…” sends files of the computer or phone that shows this page; leave the page open until they are sent. For a file of a folder, choose “Send to a device…” in its menu under Files. The other device must be receiving: on its page, with “synctrain drop receive”, or in a GhostDrop app.`),
      this.choosing, ...[...this.cards.values()].map((card) => card.element), this.form, this.sign);
    this.element = part.element;
    this.element.classList.add("takes-drops");
    takeDrops(this.element, {
      isRefused: () => this.#isUnderWay("send"), show: (isOver) => { this.sign.hidden = !isOver; }, take: (transfer) => this.#sendDropped(transfer) });
    this.heading = part.element.querySelector("h2");
    addEventListener("beforeunload", (event) => { if ([...this.talks.values()].some((talk) => isBusy(talk.state))) event.preventDefault(); });
  }

  /** Proposes where received files go, as long as nobody has said. */
  async propose() {
    if (this.directory.value) return;
    try {
      const { path, directories } = await this.app.api.get("directories");
      const name = directories.find((directory) => directory.name === "Downloads" && directory.readable)?.name;
      if (!this.directory.value) this.directory.value = name ? joined(path, name) : path;
    } catch { /* Then it is chosen or typed. */ }
  }

  reveal() {
    this.element.scrollIntoView({ block: "nearest" });
    this.heading.focus({ preventScroll: true });
  }

  /** Sends entries of folders, which are on the agent's disk. */
  send(entries) {
    return this.#send(entries, entries.map((entry) => nameOf(entry.path)), { files: entries.map((entry) => reference(entry.folder, entry.path)) });
  }

  /** Sends files of the machine that shows the page. */
  sendFiles(files) {
    if (files.length === 0) return undefined;
    const names = files.map((file) => file.name.normalize("NFC"));
    return this.#send(files, names, { provided: files.map((file, place) => ({ name: names[place], size: file.size })) });
  }

  #sendDropped(transfer) {
    // Only now does the browser say which of them are directories.
    const directory = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).find((entry) => entry?.isDirectory);
    if (directory) return this.app.fail({ message: t`${shown(directory.name)} is a directory; pack it into one file first, with tar for example.` });
    return this.sendFiles([...transfer.files]);
  }

  #send(items, names, request) {
    const { app } = this;
    if (this.#isUnderWay("send")) return app.fail({ message: t`Files are being sent already. Wait until that is done, or stop it under Devices.` });
    if (items.length > mostSent) return app.fail({ message: t`At most ${number(mostSent)} files can be sent at once. Pick fewer.` });
    app.go("devices", "drop");
    return this.#run("send", "drop/send", { ...request, seconds: patience }, begun("send", names), items);
  }

  receive(directory) {
    if (this.#isUnderWay("receive")) return undefined;
    return this.#run("receive", "drop/receive", { directory }, begun("receive"));
  }

  #isUnderWay(kind) {
    const talk = this.talks.get(kind);
    return talk !== undefined && !isOver(talk.state);
  }

  /** `items` are what is sent, in the order of `state.files`. */
  async #run(kind, path, body, state, items = []) {
    const talk = { kind, state, items, isProvided: body.provided !== undefined, controller: new AbortController() };
    const parts = new Parts(this.app.api, items, talk.controller.signal);
    this.talks.set(kind, talk);
    this.#take(talk, state);
    try {
      for await (const notice of this.app.api.lines("POST", path, { body, signal: talk.controller.signal })) {
        this.#take(talk, told(talk.state, notice));
        if (notice.type === "wanted") parts.give(talk.state.session, notice);
      }
      this.#take(talk, ended(talk.state, null));
    } catch (error) {
      this.#take(talk, error.name === "AbortError" ? stopped(talk.state) : ended(talk.state, error));
    }
    // What is still asked for nobody waits for.
    talk.controller.abort();
  }

  #take(talk, state) {
    const before = talk.state.question;
    talk.state = state;
    if (this.talks.get(talk.kind) !== talk) return;
    this.cards.get(talk.kind).show(state);
    (talk.kind === "receive" ? this.form : this.choosing).hidden = !isOver(state);
    if (before === state.question) return;
    // The number beside the view's name.
    this.app.refresh();
    if (state.question) this.app.say(spoken(state, this.app));
  }

  // What the cards' buttons do

  stop(kind) { this.talks.get(kind)?.controller.abort(); }

  close(kind) {
    this.talks.delete(kind);
    this.cards.get(kind).hide();
    this.heading.focus({ preventScroll: true });
  }

  again() {
    const { state, items, isProvided } = this.talks.get("send");
    const rest = unsent(state).map((place) => items[place]);
    return isProvided ? this.sendFiles(rest) : this.send(rest);
  }

  /** An answer to the question that was shown when the button was pressed, and to no other. */
  async answer(kind, question, { action, ...more }) {
    const talk = this.talks.get(kind);
    if (!talk || talk.state.question !== question) return;
    const asked = talk.state;
    await this.app.attempt(async () => {
      await this.app.api.post("drop/answer", { session: asked.session, action, ...more });
      // What the agent has said meanwhile is newer.
      if (talk.state === asked) this.#take(talk, answered(asked, action));
    });
  }
}

/** One transfer: what it is at, what it asks, and how each file ended. A part is drawn again only if it says something else. */
class Card {
  constructor(app, kind, actions) {
    this.app = app;
    this.kind = kind;
    this.actions = actions;
    this.head = h("header", {});
    this.said = h("p", { role: "status" });
    this.ask = h("div", {});
    this.name = h("div", { class: "line" });
    this.bar = h("progress", { max: 1, value: 0 });
    this.numbers = h("div", { class: "numbers" });
    this.moving = h("div", { class: "transfer", hidden: true }, this.name, this.bar, this.numbers);
    this.results = h("div", {});
    this.tools = h("div", { class: "tools" });
    this.element = h("article", { class: "card", "data-drop": kind, hidden: true }, this.head, this.said, this.ask, this.moving, this.results, this.tools);
  }

  hide() { this.element.hidden = true; }

  show(state) {
    this.element.hidden = false;
    const { kind, app } = this;
    draw(this.head, [state.files, kind], () => h("h3", { tabindex: "-1" }, kind === "receive" ? t`Receiving files`
      : state.files.length === 1 ? t`Send “${shown(state.files[0])}”` : plural(state.files.length, "Send {1} file", "Send {1} files")));
    const words = stepWords(state);
    if (this.said.textContent !== words) this.said.textContent = words;
    this.said.className = state.step === "failed" ? "bad" : "";
    draw(this.ask, [state.step === "choosing" && state.receivers, state.question], () => state.question ? this.#question(state.question)
      : state.step === "choosing" ? this.#receivers(state) : null);
    this.#drawMoving(state);
    draw(this.results, state.results, () => state.results.length === 0 ? null
      : h("ul", { class: "plain" }, state.results.slice(-mostShown).reverse().map((result) => resultLine(result, app))));
    draw(this.tools, [isOver(state), unsent(state).length > 0], () => !isOver(state)
      ? act(kind === "send" ? t`Stop sending` : t`Stop receiving`, () => this.actions.stop(kind), { "data-key": "stop" })
      : [kind === "send" && unsent(state).length > 0 && act(t`Send again`, () => this.actions.again(), { class: "main", "data-key": "again" }),
        act(t`Close`, () => this.actions.close(kind), { "data-key": "close", "aria-label": kind === "send" ? t`Close what was sent` : t`Close what was received` })]);
  }

  /** Moves the bar; the elements stay, so that what is below the pointer does. */
  #drawMoving({ step, file }) {
    const isReading = step === "preparing" && file.done > 0;
    this.moving.hidden = step !== "moving" && !isReading;
    if (this.moving.hidden) return;
    const name = shown(file.file);
    if (this.bar.getAttribute("aria-label") !== name) {
      this.bar.setAttribute("aria-label", name);
      replace(this.name, h("bdi", { class: "main-text" }, name));
    }
    this.bar.value = file.size > 0 ? file.done / file.size : 1;
    const left = secondsLeft(file);
    this.numbers.textContent = [t`${bytes(file.done)} of ${bytes(file.size)}`, file.rate > 0 && rate(file.rate), left !== null && t`${duration(left)} left`,
      !isReading && wayOf(this.kind, file.peer, this.app)].filter(Boolean).join(", ");
  }

  #receivers({ receivers }) {
    if (receivers.length === 0) return h("p", { class: "quiet" }, t`No device found yet. A paired device must be connected; any other one must be nearby with Bluetooth on, and receiving.`);
    return h("ul", { class: "plain near" }, receivers.map((device) => h("li", { class: "line" },
      h("span", { class: "main-text" }, h("strong", {}, h("bdi", {}, shown(device.name || device.address))), " ",
        h("span", { class: "quiet" }, [transportName(device.transport), device.signal && `${device.signal} dBm`,
          device.known ? t`paired` : t`not paired: both devices show six digits`].filter(Boolean).join(", "))),
      act(t`Send`, () => this.actions.answer(this.kind, null, { action: "choose", address: device.address }),
        { class: "main", "aria-label": t`Send to ${shown(device.name || device.address)}`, "data-key": device.address }))));
  }

  #question(question) {
    const give = (answer) => this.actions.answer(this.kind, question, answer);
    if (question.kind === "code") {
      const { code, peer } = question;
      return digitsQuestion({ name: `drop-${this.kind}`, code, about: `${peerName(peer, this.app)}, ${transportName(peer.transport)} ${peer.address}`,
        refuse: () => give({ action: "refuse" }), confirm: () => give({ action: "confirm", code }) }).element;
    }
    const { file, size, peer, present, number: place } = question;
    const name = shown(file);
    return h("div", { role: "group", "aria-label": name },
      h("p", {}, t`${h("strong", {}, h("bdi", {}, peerName(peer, this.app)))} sends ${h("strong", {}, h("bdi", {}, name))}, ${bytes(size)}.`),
      h("p", { class: "quiet" }, [peer.device ? t`A paired device.` : t`Not a paired device.`, present > 0 && t`${bytes(present)} of it are here from an earlier attempt.`].filter(Boolean).join(" ")),
      h("div", { class: "tools" },
        act(t`Decline`, () => give({ action: "decline", question: place }), { "aria-label": t`Decline ${name}`, "data-key": "decline" }),
        act(t`Accept`, () => give({ action: "accept", question: place }), { class: "main", "aria-label": t`Accept ${name}`, "data-key": "accept" })));
  }
}

function peerName(peer, app) { return shown(peer.name || (peer.device && app.deviceName(peer.device)) || peer.address); }

function wayOf(kind, peer, app) {
  const [name, transport] = [peerName(peer, app), transportName(peer.transport)];
  if (!transport) return kind === "send" ? t`to ${name}` : t`from ${name}`;
  return kind === "send" ? t`to ${name} by ${transport}` : t`from ${name} by ${transport}`;
}

/** What a question is about, for who looks at another view. */
function spoken({ kind, question }, app) {
  const name = peerName(question.peer, app);
  if (question.kind === "offer") return t`${name} sends ${shown(question.file)}. Accept or decline it under Devices.`;
  return kind === "send" ? t`${name} shows six digits. Compare them under Devices.` : t`${name} wants to send a file. Compare the digits under Devices.`;
}

/** What it is at, in a sentence or two. */
function stepWords(state) {
  const name = state.file && `“${shown(state.file.file)}”`;
  switch (state.step) {
    case "choosing": return t`To which device?`;
    case "preparing": return t`Reading ${name}.`;
    case "connecting": return state.to ? t`Connecting to ${shown(state.to)}.` : t`Connecting.`;
    case "confirmed": return t`Waiting for the other device's user to confirm.`;
    case "offered": return t`${name} was offered. Waiting for the other device.`;
    case "accepted": return t`Accepted. Waiting for the first bytes.`;
    case "declined": return t`Declined.`;
    case "retrying": return [said(state.remark.message, state.remark.text), t`Trying again.`].join(" ");
    case "waiting": return t`Ready to receive files into ${shown(state.directory)}. They are accepted only when you press “Accept”. Leave this page open.`;
    case "ended": return plural(state.files.length, "{2} of {1} file sent.", "{2} of {1} files sent.", number(state.counts.done));
    case "stopped": return state.kind === "send" ? t`Stopped. A file that was not sent completely resumes when it is sent again.`
      : t`Stopped. A file that did not arrive completely resumes when it is sent again to the same directory.`;
    case "failed": return state.error.message || t`The agent ended the transfer. Try again.`;
    case "starting": return t`Starting.`;
    default: return "";
  }
}

function resultLine({ outcome, file, size, peer, path, error }, app) {
  if (outcome === "failed") {
    const words = said(error.message, error.text);
    return h("li", { class: "bad", "data-outcome": outcome }, file ? [h("bdi", {}, shown(file)), `: ${words}`] : words);
  }
  const name = h("bdi", {}, shown(outcome === "received" ? path : file));
  return h("li", { "data-outcome": outcome }, outcome === "received" ? t`Received ${name} from ${peerName(peer, app)}, ${bytes(size)}.`
    : t`Sent ${name} to ${peerName(peer, app)}, ${bytes(size)}.`);
}
