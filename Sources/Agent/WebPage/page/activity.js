// What moves, what is done, what happened, and what is in the way.
import { h, when } from "./dom.js";
import { shown as readable } from "./files-names.js";
import { mountsSection } from "./mounts.js";
import { readySection } from "./ready.js";
import { act, choice, draw, isFailed, isHalted, poll, section, soon, stateName, transportName, trouble } from "./parts.js";
import { bytes, dateTime, duration, number, plural, rate, said, t, timeOfDay } from "./words.js";

export const title = t`Activity`;
export const icon = "activity";

const changesShown = 50;
const hour = 3600;

export function mount(root, app) {
  const { api } = app;
  /** How fast each folder is downloaded and how long the rest takes; "" where nothing moves. */
  let speeds = new Map();
  const tools = h("div", { class: "tools" });
  const held = section(t`Restricted by policies`);
  const wrong = section(t`Problems`);
  const moving = section(t`Transfers`);
  const jobs = section(t`Jobs`);
  const parts = section(t`Folders and devices`, tools);
  const filter = choice([["", t`all folders`]], "", { "aria-label": t`Folder to show changes of` });
  const changes = section(t`Recent changes`, filter);
  const ready = readySection(app, (folders) => {
    speeds = new Map(folders.map((folder) => [folder.id, speedText(folder)]));
    drawSpeeds();
  });
  const mounts = mountsSection(app);
  root.append(h("h2", { class: "unseen" }, title), ready.element, wrong.element, held.element, moving.element, jobs.element,
    mounts.element, parts.element, changes.element);

  tools.append(
    act(t`Pause all`, () => pause({ all: true, paused: true })),
    act(t`Pause all for an hour`, () => pause({ all: true, paused: true, seconds: hour })),
    act(t`Resume all`, () => pause({ all: true, paused: false })),
    act(t`Retry everything now`, () => app.attempt(async () => {
      await api.post("sync", {});
      app.say(t`Connecting to all devices and retrying failed transfers.`);
    }), { title: t`Connects to all devices and retries failed transfers` }));

  const pause = (change) => app.attempt(async () => {
    await api.patch("pause", { folders: [], devices: [], all: false, ...change });
    app.say(change.paused ? t`Paused.` : t`Resumed.`);
    app.refresh();
  });

  // Transfers: asked for only while they are looked at.
  const stopTransfers = poll(async () => {
    try { drawTransfers(await api.get("transfers")); } catch (error) { if (error.status !== 404) app.failAgain(error); }
  }, 1000);

  function drawTransfers({ transfers, total }) {
    const files = new Map();
    for (const row of transfers) {
      const key = JSON.stringify([row.direction, row.folder, row.path]);
      if (!files.has(key)) files.set(key, []);
      files.get(key).push(row);
    }
    draw(moving.body, [transfers, total], () => {
      if (files.size === 0) return h("p", { class: "quiet" }, t`No transfers in progress.`);
      const list = [...files].slice(0, 50).map(([key, rows]) => transfer(key, rows));
      const rest = files.size - list.length;
      return [h("ul", { class: "plain" }, list), rest > 0 && h("p", { class: "quiet" }, plural(rest, "and {1} more file", "and {1} more files"))];
    });
  }

  function transfer(key, rows) {
    const { direction, folder, path, size } = rows[0];
    const isComing = direction === "in";
    const done = isComing ? rows[0].fileBytesDone ?? 0 : Math.max(...rows.map((row) => row.bytesDone));
    const left = rows[0].secondsLeft;
    return h("li", { class: "transfer", "data-path": path },
      h("div", { class: "line" },
        h("span", { class: "main-text" }, h("span", { class: "tag" }, isComing ? t.as("direction")`in` : t.as("direction")`out`), " ",
          h("a", { href: app.address("files", folder, ...path.split("/")), "data-key": key }, h("bdi", {}, readable(path))),
          h("span", { class: "quiet" }, " ", t`in ${app.folderName(folder)}`)),
        h("span", { class: "numbers" }, t`${bytes(done)} of ${bytes(size)}`,
          left !== undefined && left !== null ? `, ${t`${duration(left)} left`}` : "")),
      h("progress", { max: Math.max(1, size), value: Math.min(done, size), "aria-label": readable(path) }),
      rows.filter((row) => row.device).map((row) => h("div", { class: "numbers" },
        wayOf(isComing, app.deviceName(row.device), row.transport && transportName(row.transport)), `: ${bytes(row.bytesDone)}, ${rate(row.bytesPerSecond)}`)),
      rows.every((row) => !row.device) && h("div", { class: "numbers" }, t`waiting for a device`));
  }

  // Jobs
  const known = new Map();
  const loadJobs = soon(async () => {
    try {
      const { jobs: list } = await api.get("jobs");
      known.clear();
      for (const job of list) known.set(job.id, job);
    } catch (error) {
      if (error.status !== 404) app.fail(error);
    }
    drawJobs();
  });

  function drawJobs() {
    const list = [...known.values()].sort((a, b) => b.id - a.id);
    jobs.element.hidden = list.length === 0;
    draw(jobs.body, list, () => h("ul", { class: "plain" }, list.slice(0, 100).map((job) => h("li", { class: "line" },
      h("span", { class: "main-text" }, h("strong", {}, jobKinds[job.kind] ?? job.kind), " ", h("span", { class: `tag ${jobClass(job)}` }, jobStates[job.state] ?? job.state),
        h("div", { class: "quiet" }, jobText(job))),
      act(job.state === "running" ? t`Cancel` : t`Forget`, () => app.attempt(async () => {
        await api.remove(`jobs/${job.id}`);
        if (job.state !== "running") known.delete(job.id);
        drawJobs();
      }), { "data-key": `job ${job.id}` })))));
  }

  // What holds back, what is wrong, what rests
  const stopStatus = app.onStatus((status) => {
    drawPolicies(status.policies);
    drawTroubles(status);
    drawParts(status);
    mounts.show(status);
    const chosen = filter.value;
    draw(filter, status.folders.map(({ id, label }) => [id, label]), () => [
      h("option", { value: "" }, t`all folders`),
      status.folders.map((folder) => h("option", { value: folder.id, selected: folder.id === chosen }, readable(folder.label || folder.id))),
    ]);
  });

  function drawPolicies(policies) {
    const isShown = policies && (policies.holds.length > 0 || policies.ignored);
    held.element.hidden = !isShown;
    if (!isShown) return;
    const set = (ignored, seconds) => app.attempt(async () => {
      await api.patch("policies", { ignored, seconds });
      app.refresh();
    });
    draw(held.body, policies, () => policies.ignored
      ? [h("p", {}, policies.ignoredUntil ? t`The policies for metered connections and batteries are suspended until ${timeOfDay(policies.ignoredUntil)}.`
        : t`The policies for metered connections and batteries are suspended.`),
      h("div", { class: "tools" }, act(t`Re-enable policies`, () => set(false), { "data-key": "hold" }))]
      : [h("ul", { class: "plain" }, policies.holds.map((hold) => trouble(
        { metered: t`Metered connection`, battery: t`Battery` }[hold.cause] ?? hold.cause, sentence(said(hold.message, hold.text)), sentence(said(hold.remedy, hold.remedyText))))),
      h("div", { class: "tools" }, act(t`Ignore for an hour`, () => set(true, hour), { "data-key": "ignore" }))]);
  }

  function drawTroubles(status) {
    const list = troubles(status, app);
    wrong.element.hidden = list.length === 0;
    draw(wrong.body, list, () => h("ul", { class: "plain" }, list.map(({ what, message, remedy, link, isWait }) => {
      const item = trouble(what, message, remedy, ...link ? [h("a", { href: app.address(...link) }, t`View`)] : []);
      if (isWait) item.classList.add("wait");
      return item;
    })));
  }

  function drawParts(status) {
    const value = [status.folders.map((folder) => [folder.id, folder.label, folder.state, folder.progress, folder.need, folder.copy]),
      status.devices.map((device) => [device.id, device.name, device.connected, device.paused, device.pausedUntil, device.pauseMessage, device.transport])];
    draw(parts.body, value, () => {
      if (status.folders.length + status.devices.length === 0) return h("p", { class: "quiet" }, t`No folders or devices yet.`);
      return h("ul", { class: "plain" },
        status.folders.map((folder) => h("li", { class: "line", "data-folder": folder.id },
          h("span", { class: "main-text" }, h("strong", {}, app.folderName(folder.id)), " ",
            h("span", { class: `tag ${isFailed(folder) ? "bad" : folder.state === "idle" ? "good" : ""}` }, stateName(folder.state)),
            h("div", { class: "quiet" }, folderText(folder), h("span", { class: "speed", "data-speed": folder.id }))),
          rest("folder", app.folderName(folder.id), folder.state === "paused", (paused) => pause({ folders: [folder.id], paused })))),
        status.devices.map((device) => h("li", { class: "line", "data-device": device.id },
          h("span", { class: "main-text" }, h("strong", {}, app.deviceName(device.id)), " ",
            h("span", { class: `tag ${device.connected ? "good" : ""}` },
              device.paused ? t`paused` : device.connected ? t`connected over ${transportName(device.transport)}` : t`not connected`),
            device.pausedUntil && h("div", { class: "quiet" }, t`until ${dateTime(device.pausedUntil)}`),
            device.pauseMessage && h("div", { class: "bad" }, said(device.pauseMessage, device.pauseText))),
          rest("device", app.deviceName(device.id), device.paused, (paused) => pause({ devices: [device.id], paused })))));
    });
    drawSpeeds();
  }

  /** In the rows that are there: drawing these again every two seconds would take buttons from below the pointer. */
  function drawSpeeds() {
    for (const place of parts.body.querySelectorAll("[data-speed]")) {
      const words = speeds.get(place.dataset.speed) ?? "";
      if (place.textContent !== words) place.textContent = words;
    }
  }

  function rest(kind, name, isPaused, set) {
    const spoken = kind === "folder" ? isPaused ? t`Resume the folder ${name}` : t`Pause the folder ${name}`
      : isPaused ? t`Resume the device ${name}` : t`Pause the device ${name}`;
    return act(isPaused ? t`Resume` : t`Pause`, () => set(!isPaused), { "aria-label": spoken, "data-key": `rest ${kind} ${name}` });
  }

  // Changes
  let shown = changesShown;
  const loadChanges = soon(async () => {
    const folder = filter.value;
    const query = { limit: shown, path: folder ? `${folder}:` : undefined };
    const list = [];
    try {
      for await (const change of api.lines("GET", "changes", { query })) list.push(change);
    } catch (error) {
      return app.fail(error);
    }
    if (folder !== filter.value) return;
    drawChanges(list.reverse());
  });
  filter.addEventListener("change", () => { shown = changesShown; loadChanges(); });

  function drawChanges(list) {
    draw(changes.body, [list, shown, Math.floor(Date.now() / 60000)], () => {
      if (list.length === 0) return h("p", { class: "quiet" }, t`No changes recorded yet.`);
      return [h("ul", { class: "plain changes" }, list.map((change) => h("li", { class: "line" },
        h("span", { class: "main-text" }, h("span", { class: "tag" }, changeWords[change.what] ?? change.what), " ", changed(change)),
        h("span", { class: "quiet" }, change.local ? t`here` : change.name || change.device ? t`by ${readable(change.name || change.device)}` : "",
          change.local || change.name || change.device ? ", " : "", when(change.time))))),
      list.length >= shown && shown < 10000 && h("div", { class: "tools" },
        act(t`Show more`, () => { shown = Math.min(10000, shown * 2); loadChanges(); }, { "data-key": "more" }))];
    });
  }

  function changed(change) {
    const place = h("span", { class: "quiet" }, " ", t`in ${app.folderName(change.folder)}`);
    if (change.what === "many") return [plural(change.count, "{1} name changed at once", "{1} names changed at once"), place];
    const name = change.what === "deleted" ? h("bdi", {}, readable(change.path))
      : h("a", { href: app.address("files", change.folder, ...change.path.split("/")) }, h("bdi", {}, readable(change.path)));
    return [change.from && [h("bdi", {}, readable(change.from)), " → "], name, place];
  }

  const stopEvents = app.onEvent((event) => {
    if (event.type === "job" && event.job) {
      known.set(event.job.id, event.job);
      drawJobs();
    }
    if (["files-changed", "folder-changed", "index-updated", "gap"].includes(event.type)) loadChanges();
    if (event.type === "gap") loadJobs();
  });
  loadJobs();
  loadChanges();

  return {
    route() {},
    unmount() {
      ready.stop();
      mounts.stop();
      stopTransfers();
      stopStatus();
      stopEvents();
      loadJobs.stop();
      loadChanges.stop();
    },
  };
}

function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/** Where bytes come from or go to: `from nas by TCP`. */
function wayOf(isComing, name, transport) {
  if (isComing) return transport ? t`from ${name} by ${transport}` : t`from ${name}`;
  return transport ? t`to ${name} by ${transport}` : t`to ${name}`;
}

/** By the path of what was asked for. */
const jobKinds = {
  fetch: t.as("job")`fetch`, selection: t.as("job")`selection`, remove: t.as("job")`delete`, extraneous: t.as("job")`files not selected`,
  "conflicts/resolve": t.as("job")`resolve conflicts`, "folders/action": t.as("job")`halted folder`, free: t.as("job")`free space`,
};
const changeWords = {
  added: t`added`, changed: t`changed`, deleted: t`deleted`, renamed: t`renamed`, conflict: t`conflict`, freed: t`freed`, restored: t`restored`, many: t`many`,
};
const jobStates = { running: t`running`, done: t`done`, failed: t`failed`, cancelled: t`cancelled` };

function jobClass(job) { return { done: "good", failed: "bad", cancelled: "warn" }[job.state] ?? ""; }

function jobText(job) {
  if (job.error) return said(job.error.message, job.error.text);
  const { progress } = job;
  const path = readable(progress?.path ?? "");
  if (job.state !== "running" || !progress) return "";
  if (progress.bytesTotal) {
    return `${path} ${t`${bytes(progress.bytesDone)} of ${bytes(progress.bytesTotal)}`}, ${rate(progress.bytesPerSecond)}`.trim();
  }
  return path;
}

function folderText(folder) {
  if (folder.progress) {
    const { filesDone, filesTotal, bytesDone, bytesTotal } = folder.progress;
    const files = filesTotal === undefined ? plural(filesDone, "{1} file", "{1} files") : plural(filesTotal, "{2} of {1} file", "{2} of {1} files", number(filesDone));
    return `${files}, ${bytesTotal === undefined ? bytes(bytesDone) : t`${bytes(bytesDone)} of ${bytes(bytesTotal)}`}`;
  }
  if (folder.incomplete) return t`the index of other devices is incomplete`;
  const { files, bytes: size, deletions = 0 } = folder.need;
  const needs = [files > 0 && plural(files, "{1} file ({2}) to download", "{1} files ({2}) to download", bytes(size)),
    deletions > 0 && plural(deletions, "{1} name to delete", "{1} names to delete")]
    .filter(Boolean);
  if (needs.length > 0) return needs.join(", ");
  if (folder.state === "syncing") return t`counting what is needed`;
  // That it is up to date its state says.
  return { complete: t`full copy`, partial: t`incomplete`, unknown: t`waiting for the index of other devices` }[folder.copy] ?? "";
}

/** `, 1.4 MiB/s, 3 min left`, behind what a folder is at; empty where nothing moves. */
function speedText({ bytesPerSecond, etaSeconds }) {
  if (!bytesPerSecond) return "";
  return `, ${[rate(bytesPerSecond), etaSeconds && t`${duration(etaSeconds)} left`].filter(Boolean).join(", ")}`;
}

/** All that is in the way, with its remedy: what the agent, its folders and its devices say. */
export function troubles(status, app) {
  const list = [];
  const overQuota = status.devices.filter((device) => device.pauseMessage);
  for (const [index, problem] of (status.problems ?? []).entries()) {
    // The same in English, as one sentence with the device's name.
    if (!overQuota.some((device) => problem.includes(device.pauseMessage))) list.push({ what: t`The agent`, message: said(problem, status.problemTexts?.[index]) });
  }
  for (const device of overQuota) {
    list.push({ what: t`${app.deviceName(device.id)} is paused`, message: said(device.pauseMessage, device.pauseText), link: ["devices"] });
  }
  if (status.bluetooth?.remedy) list.push({ what: "Bluetooth", message: said(status.bluetooth.message, status.bluetooth.text), remedy: said(status.bluetooth.remedy, status.bluetooth.remedyText) });
  for (const folder of status.folders) {
    const what = app.folderName(folder.id);
    if (folder.message) list.push({ what, message: said(folder.message, folder.text), link: isHalted(folder) ? ["attention"] : undefined });
    for (const wait of folder.waits ?? []) {
      if (wait.reason === "paused" || wait.reason === "halted" && folder.message) continue;
      list.push({ what, message: said(wait.message, wait.text), remedy: said(wait.remedy, wait.remedyText), isWait: true, link: wait.reason === "unshared" ? ["devices"] : undefined });
    }
    if (folder.watch && ["partial", "failed"].includes(folder.watch.state)) {
      list.push({ what, message: said(folder.watch.message, folder.watch.text) ?? t`Not all changes are noticed immediately; the next scan finds them.` });
    }
    for (const problem of folder.problems ?? []) list.push({ what: `${what}: ${readable(problem.path)}`, message: said(problem.message, problem.text) });
    const rest = folder.errors - (folder.problems ?? []).length;
    if (folder.problems?.length && rest > 0) list.push({ what, message: plural(rest, "and {1} more name with problems", "and {1} more names with problems") });
  }
  for (const device of status.devices) {
    if (device.connected || device.paused || !device.lastError) continue;
    list.push({ what: app.deviceName(device.id), message: said(device.lastError, device.lastErrorText), isWait: true, link: ["devices"] });
  }
  return list;
}
