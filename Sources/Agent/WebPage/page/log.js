// What the agent notes and what happens in it, live: the newest at the bottom.
import { h } from "./dom.js";
import { shown } from "./files-names.js";
import { act, choice, draw } from "./parts.js";
import { dateTime, number as shownNumber, plural, t, timeOfDay } from "./words.js";

export const title = t`Log`;
export const icon = "log";

/** So many lines are kept, and shown; the oldest go. */
const kept = 2000;
const levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"];
const retryPause = 3000;

/** A text with the names in it as they may be shown. */
function readable(text) { return text.split("\n").map(shown).join("\n"); }

export function mount(root, app) {
  const { api } = app;
  let lines = [];
  let number = 0;
  const seen = new Set();
  let isFollowing = true;
  let missed = 0;
  const waiting = [];
  let frame = null;

  const list = h("ol", { class: "records", tabindex: "0", "aria-label": t`Log` });
  const text = h("input", { type: "search", placeholder: t`Filter`, "aria-label": t`Lines containing this text` });
  const level = choice([["trace", t`all levels`], ["info", t`info and above`], ["notice", t`notice and above`], ["warning", t`warnings and errors`], ["error", t`errors`]], "trace", { "aria-label": t`Level` });
  const about = h("select", { "aria-label": t`Subject` });
  const said = h("span", { class: "quiet", role: "status" });
  const follow = act(t`Jump to newest`, () => { setFollowing(true); list.focus(); });
  root.append(h("h2", { class: "unseen" }, title), h("div", { class: "tools" }, text, level, about, follow,
    act(t`Save as NDJSON`, save), act(t`Clear`, clear), said), list);

  for (const control of [text, level, about]) control.addEventListener("input", redraw);
  list.addEventListener("scroll", () => setFollowing(list.scrollHeight - list.scrollTop - list.clientHeight < 8));
  const stopStatus = app.onStatus((status) => {
    const chosen = about.value;
    draw(about, [status.folders.map(({ id, label }) => [id, label]), status.devices.map(({ id, name }) => [id, name])], () => [
      h("option", { value: "" }, t`everything`),
      status.folders.map((folder) => h("option", { value: `folder ${folder.id}`, selected: chosen === `folder ${folder.id}` }, t`folder ${shown(folder.label || folder.id)}`)),
      status.devices.map((device) => h("option", { value: `device ${device.id}`, selected: chosen === `device ${device.id}` }, t`device ${app.deviceName(device.id)}`))]);
  });

  // Lines come in
  const stopEvents = app.onEvent((event) => {
    const { type, time, device, folder, message } = event;
    add({ source: "event", time: time ?? new Date().toISOString(), level: "info", label: type, message: message ?? "", metadata: { ...device && { device }, ...folder && { folder } }, original: event });
  });
  const ending = new AbortController();
  read();

  async function read() {
    while (!ending.signal.aborted) {
      try {
        for await (const record of api.lines("GET", "records", { query: { limit: 500, level: "trace", follow: true }, signal: ending.signal })) {
          const key = `${record.id} ${record.time}`;
          if (seen.has(key)) continue;
          seen.add(key);
          add({ source: "record", key, time: record.time, level: record.level, label: record.label, message: record.message, metadata: record.metadata ?? {}, original: record });
        }
      } catch (error) {
        if (ending.signal.aborted || error.status === 401) return;
        // An agent that keeps no records has events all the same.
        if (error.status === 404) return;
        if (error.status && error.status < 500) return app.fail(error);
      }
      // The agent has ended, or is another one now: what it says again is known by its number and time.
      await new Promise((resolve) => setTimeout(resolve, retryPause));
    }
  }

  function add(line) {
    line.number = number;
    number += 1;
    line.haystack = `${line.label} ${line.message} ${Object.entries(line.metadata).map(([name, value]) => `${name}=${value}`).join(" ")}`.toLowerCase();
    waiting.push(line);
    // Of a flood only what is kept is ever drawn.
    if (waiting.length > kept) forget(waiting.shift());
    frame ??= requestAnimationFrame(flush);
  }

  function forget(line) { if (line.key) seen.delete(line.key); }

  function flush() {
    frame = null;
    const matches = filter();
    const isFirst = lines.length === 0;
    const fragment = document.createDocumentFragment();
    // Records and events come by two ways: a late one is put where its time says, among the last ones.
    waiting.sort((one, other) => (one.time < other.time ? -1 : one.time > other.time ? 1 : one.number - other.number));
    let added = 0;
    for (const line of waiting.splice(0)) {
      lines.push(line);
      if (!matches(line)) continue;
      fragment.append(item(line));
      added += 1;
    }
    list.append(fragment);
    const excess = lines.length - kept;
    if (excess > 0) {
      for (const line of lines.splice(0, excess)) forget(line);
      const oldest = lines[0].number;
      const height = list.scrollHeight;
      while (list.firstChild && Number(list.firstChild.dataset.number) < oldest && list.childElementCount > 1) list.firstChild.remove();
      // What is being read stays where it is.
      if (!isFollowing) list.scrollTop -= height - list.scrollHeight;
    }
    if (isFollowing) list.scrollTop = list.scrollHeight;
    else if (!isFirst) missed += added;
    drawSaid();
  }

  // Lines are shown
  function filter() {
    const words = text.value.trim().toLowerCase();
    const least = levels.indexOf(level.value);
    const [kind, id] = about.value ? [about.value.slice(0, 6), about.value.slice(7)] : [];
    return (line) => (!words || line.haystack.includes(words)) && levels.indexOf(line.level) >= least
      && (!kind || (kind === "folder" ? line.metadata.folder === id : id.startsWith((line.metadata.device ?? "-").slice(0, 7))));
  }

  function redraw() {
    const matches = filter();
    list.replaceChildren(...lines.filter(matches).map(item));
    setFollowing(true);
    drawSaid();
  }

  function item(line) {
    const time = new Date(line.time);
    const facts = Object.entries(line.metadata).map(([name, value]) => ` ${name}=${name === "device" ? shortDevice(value) : value}`).join("");
    return h("li", { class: line.level, "data-number": line.number, "data-source": line.source },
      h("time", { datetime: line.time, title: dateTime(time) }, timeOfDay(time, { hour12: false })),
      h("span", { class: "level" }, line.source === "event" ? t`event` : line.level),
      h("span", { class: "text" }, line.source === "event" ? h("strong", {}, line.label, " ") : null, readable(line.message), h("span", { class: "meta" }, readable(facts))));
  }

  function shortDevice(id) {
    const device = app.status?.devices.find((one) => one.id.startsWith(String(id).slice(0, 7)));
    return device?.name || String(id).slice(0, 7);
  }

  function setFollowing(value) {
    isFollowing = value;
    follow.hidden = value;
    if (!value) return;
    missed = 0;
    list.scrollTop = list.scrollHeight;
    drawSaid();
  }

  function drawSaid() {
    follow.textContent = missed > 0 ? plural(missed, "Jump to newest ({1} new line)", "Jump to newest ({1} new lines)") : t`Jump to newest`;
    const now = list.childElementCount < lines.length
      ? plural(list.childElementCount, "{1} line of {2}", "{1} lines of {2}", shownNumber(lines.length)) : plural(list.childElementCount, "{1} line", "{1} lines");
    if (said.textContent !== now) said.textContent = now;
  }

  function save() {
    const matches = filter();
    const content = lines.filter(matches).map((line) => JSON.stringify(line.original) + "\n").join("");
    const link = h("a", { href: URL.createObjectURL(new Blob([content], { type: "application/x-ndjson" })), download: `synctrain-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.ndjson` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function clear() {
    lines = [];
    missed = 0;
    list.replaceChildren();
    setFollowing(true);
  }

  setFollowing(true);
  return {
    route() {},
    unmount() {
      ending.abort();
      stopEvents();
      stopStatus();
      if (frame !== null) cancelAnimationFrame(frame);
    },
  };
}
