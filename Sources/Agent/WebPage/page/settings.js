// The view Settings: of the agent, each folder and each device, as the agent declares them. One is saved at a time.
import { h, replace } from "./dom.js";
import { changeMode } from "./files-select.js";
import { directoryButton } from "./directories.js";
import { shown as readable } from "./files-names.js";
import { chooseLanguage, chosenLanguage, languages } from "./language.js";
import { act, choice, draw, soon } from "./parts.js";
import { patternsPart } from "./settings-patterns.js";
import { labelOf, settingRow } from "./settings-row.js";
import { plural, said, t } from "./words.js";

export const title = t`Settings`;
export const icon = "settings";

/** Settings whose path is that of a directory. */
const directories = new Set(["path", "mount", "versions-path", "offered-folders", "thumbnails.cache"]);

export function mount(root, app) {
  const { api } = app;
  const waiting = h("div", { class: "waiting", role: "status" });
  const list = h("nav", { "aria-label": t`Whose settings` });
  const find = h("input", { type: "search", autocomplete: "off", spellcheck: "false", oninput: () => filter() });
  const none = h("p", { class: "quiet", hidden: true, role: "status" }, t`No setting matches. Clear the field to see all.`);
  const panel = h("div", {});
  const main = h("div", { class: "panel" }, h("label", { class: "field find" }, h("span", {}, t`Find a setting`), find), none, panel);
  replace(root, waiting, h("div", { class: "subjects" }, list, main));

  let known = null;
  let place = ["agent", ""];
  /** What `panel` shows: the subject and its rows. */
  let opened = null;
  let undoable = null;

  const nameOf = (id) => readable(known.devices.find((device) => device.id === id)?.name || id.slice(0, 7));

  function subject() {
    const [scope, id] = place;
    if (scope === "agent") return { scope, id: "", name: t`This agent`, settings: known.agent };
    const found = (scope === "folder" ? known.folders : known.devices).find((one) => one.id === id);
    return found && { scope, ...found, name: readable(found.name || found.id) };
  }

  const load = async () => {
    known = await api.get("settings");
    drawList();
    drawWaiting();
    drawPanel();
  };
  const reload = soon(() => app.attempt(load));

  function drawList() {
    const link = (scope, id, name) => h("a", {
      href: id ? app.address("settings", scope, id) : app.address("settings"), "data-key": `${scope} ${id}`,
      "aria-current": place[0] === scope && place[1] === id && "page",
    }, name);
    draw(list, [place, known.folders.map(({ id, name }) => [id, name]), known.devices.map(({ id, name }) => [id, name])], () => [
      link("agent", "", t`This agent`),
      known.folders.length > 0 && [h("h2", {}, t`Folders`), known.folders.map(({ id, name }) => link("folder", id, readable(name || id)))],
      known.devices.length > 0 && [h("h2", {}, t`Devices`), known.devices.map(({ id, name }) => link("device", id, readable(name || id.slice(0, 7))))]]);
  }

  function drawWaiting() {
    const states = known.agent.filter((state) => state.running !== undefined);
    draw(waiting, states.map((state) => state.key), () => states.length > 0 && h("p", { class: "notice" }, h("span", {},
      plural(states.length, "Restart the agent so that {1} change takes effect: {2}", "Restart the agent so that {1} changes take effect: {2}",
        h("code", {}, "synctrain agent restart")), h("br", {}),
      h("span", { class: "quiet" }, states.map((state) => labelOf(state.key)).join(", ")))));
  }

  function drawPanel() {
    const now = subject();
    if (!now) {
      opened?.patterns?.stop();
      opened = null;
      replace(panel, h("p", { class: "empty" }, place[0] === "folder" ? t`This folder is not shared here any more.` : t`This device is not known any more.`));
      return;
    }
    if (opened?.scope !== now.scope || opened.id !== now.id) open(now);
    opened.heading.textContent = now.name;
    for (const state of now.settings) opened.rows.get(state.key)?.update(state);
  }

  function open(now) {
    const rows = new Map();
    const groups = new Map();
    for (const declaration of known.settings.filter((one) => one.scope === now.scope)) {
      const row = settingRow(declaration, now, {
        devices: known.devices, nameOf, change: (input, before) => change(now, rows.get(declaration.key), declaration.key, input, before),
        more: declaration.scope === "folder" && declaration.key === "mode" && modeButton(now),
        directories: (input) => directories.has(declaration.key) && directoryButton(app, input, { title: labelOf(declaration.key), isNew: declaration.key !== "path" }),
      });
      rows.set(declaration.key, row);
      if (!groups.has(declaration.group)) groups.set(declaration.group, []);
      groups.get(declaration.group).push(row);
    }
    const heading = h("h2", { tabindex: "-1" }, now.name);
    opened?.patterns?.stop();
    const patterns = now.scope === "folder" ? patternsPart(now.id, app) : null;
    const browsers = now.scope === "agent" ? browsersPart() : null;
    const speech = now.scope === "agent" ? languagePart() : null;
    replace(panel, heading, speech, [...groups].map(([group, members]) => {
      const name = said(group);
      const [usual, advanced] = [members.filter((row) => !row.isAdvanced), members.filter((row) => row.isAdvanced)];
      return h("section", { class: "part", "aria-label": name }, h("h3", {}, name), usual.map((row) => row.element),
        advanced.length > 0 && h("details", {}, h("summary", {}, t`Advanced`, h("span", { class: "unseen" }, `: ${name}`)), advanced.map((row) => row.element)));
    }), patterns?.element, browsers);
    opened = { scope: now.scope, id: now.id, rows, heading, patterns };
    opened.parts = [patterns?.element, browsers, speech].filter(Boolean).map((element) => [element, element.textContent.toLowerCase()]);
    undoable = null;
    for (const state of now.settings) rows.get(state.key)?.update(state);
    filter();
  }

  function modeButton(now) {
    return act(t`Change…`, async () => {
      const folder = app.status?.folders.find((one) => one.id === now.id);
      if (folder && await changeMode(app, folder)) reload();
    }, { "aria-label": t`Change what is kept here` });
  }

  function browsersPart() {
    return h("section", { class: "part", "aria-label": t`Browsers` }, h("h3", {}, t`Browsers`), h("div", { class: "setting" },
      h("p", { class: "quiet" }, t`A browser stays logged in for 30 days without use, 180 days at most, also when the agent is restarted.`, " ",
        location.protocol === "https:"
          ? t`To log in, enter the password, which ${h("code", {}, "synctrain ui --set-password")} on that machine changes.`
          : t`To log in, run ${h("code", {}, "synctrain ui")}.`),
      h("div", { class: "control" }, act(t`Log out everywhere`, logOut, { class: "danger" }))));
  }

  /** The language of the page in this browser; another one counts when the page is loaded again. */
  function languagePart() {
    const list = choice([["", t`as the browser`], ...Object.entries(languages)], chosenLanguage(), {
      id: "language", "aria-describedby": "language-hint", onchange: () => { save.hidden = list.value === chosenLanguage(); },
    });
    const save = act(t`Save`, () => {
      chooseLanguage(list.value);
      location.reload();
    }, { class: "main", "aria-label": t`Save the language`, hidden: true });
    return h("section", { class: "part", "aria-label": t`Language` }, h("h3", {}, t`Language`), h("div", { class: "setting" },
      h("div", { class: "heading" }, h("label", { class: "label", for: "language" }, t`Language of this page`)),
      h("div", { class: "control" }, list, save),
      h("p", { class: "quiet", id: "language-hint" }, t`Only in this browser. Commands in a terminal use the language of the terminal (LANG).`)));
  }

  async function logOut() {
    const choice = await app.ask({
      title: t`Log out all browsers?`, body: location.protocol === "https:" ? h("p", {}, t`This one is logged out, too. To log in again, enter the password.`)
        : h("p", {}, t`This one is logged out, too. To log in again, run ${h("code", {}, "synctrain ui")} in a terminal on this machine.`),
      choices: [{ label: t`Cancel`, value: null }, { label: t`Log out everywhere`, value: "out", kind: "danger" }],
    });
    if (choice !== "out") return;
    await app.attempt(() => api.remove("sessions"));
    // The answer to whatever is asked next shows how to log in.
    app.refresh();
  }

  async function change(now, row, key, input, before) {
    const target = now.scope === "agent" ? {} : { [now.scope]: now.id };
    const { settings: [answer] } = await api.patch("settings", { ...target, settings: [{ key, ...input }] });
    undoable?.dropUndo();
    undoable = null;
    // A password that nobody sees cannot be given back.
    if (!before.hidesPassword && answer.from !== answer.to) {
      row.offerUndo(before.isDefault ? {} : before.values ? { values: before.values } : { value: before.value });
      undoable = row;
    }
    app.refresh();
    await load();
    return answer;
  }

  /** Shows the settings that have each word that is typed. */
  function filter() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of opened?.rows.values() ?? []) {
      row.element.hidden = !words.every((word) => row.text.includes(word));
      if (!row.element.hidden) shown += 1;
    }
    for (const part of panel.querySelectorAll("section, details")) {
      if (opened?.parts.some(([element]) => element === part)) continue;
      part.hidden = !part.querySelector(".setting:not([hidden])");
      if (part.matches("details") && words.length > 0) part.open = true;
    }
    for (const [element, text] of opened?.parts ?? []) {
      element.hidden = !words.every((word) => text.includes(word));
      if (!element.hidden) shown += 1;
    }
    none.hidden = !opened || shown > 0;
  }

  const stopEvents = app.onEvent((event) => {
    if (["configuration-changed", "gap"].includes(event.type)) reload();
    if (["selection-changed", "selection-followed", "gap"].includes(event.type) && (!event.folder || event.folder === opened?.id)) opened?.patterns?.update();
  });

  return {
    route([scope, id]) {
      const next = ["folder", "device"].includes(scope) && id ? [scope, id] : ["agent", ""];
      const isOther = next.join(" ") !== place.join(" ");
      place = next;
      if (!known || isOther) {
        find.value = "";
        app.attempt(async () => {
          await load();
          if (!isOther) return;
          root.scrollTop = 0;
          opened?.heading.focus({ preventScroll: true });
        });
      }
    },
    unsaved() {
      const rows = [...opened?.rows.values() ?? []].filter((row) => row.isUnsaved).map((row) => row.label);
      return opened?.patterns?.isUnsaved ? [...rows, t`Ignore patterns`] : rows;
    },
    unmount() {
      stopEvents();
      reload.stop();
      opened?.patterns?.stop();
    },
  };
}
