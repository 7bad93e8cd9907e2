// What moves, what is done, what happened, and what is in the way.
import { bytes, count, duration, h, when } from "./dom.js";
import { readySection } from "./ready.js";
import { act, choice, draw, isFailed, isHalted, poll, section, soon, stateName, transportName, trouble } from "./parts.js";

export const title = "Activity";
export const icon = "activity";

const changesShown = 50;
const hour = 3600;

export function mount(root, app) {
  const { api } = app;
  const tools = h("div", { class: "tools" });
  const held = section("Restricted by policies");
  const wrong = section("Problems");
  const moving = section("Transfers");
  const jobs = section("Jobs");
  const parts = section("Folders and devices", tools);
  const filter = choice([["", "all folders"]], "", { "aria-label": "Folder to show changes of" });
  const changes = section("Recent changes", filter);
  const ready = readySection(app);
  root.append(h("h2", { class: "unseen" }, title), ready.element, wrong.element, held.element, moving.element, jobs.element,
    parts.element, changes.element);

  tools.append(
    act("Pause all", () => pause({ all: true, paused: true })),
    act("Pause all for an hour", () => pause({ all: true, paused: true, seconds: hour })),
    act("Resume all", () => pause({ all: true, paused: false })),
    act("Retry everything now", () => app.attempt(async () => {
      await api.post("sync", {});
      app.say("Connecting to all devices and retrying failed transfers.");
    }), { title: "Connects to all devices and retries failed transfers" }));

  const pause = (change) => app.attempt(async () => {
    await api.patch("pause", { folders: [], devices: [], all: false, ...change });
    app.say(change.paused ? "Paused." : "Resumed.");
    app.refresh();
  });

  // Transfers: asked for only while they are looked at.
  const stopTransfers = poll(async () => {
    try { drawTransfers(await api.get("transfers")); } catch (error) { if (error.status !== 404) app.fail(error); }
  }, 1000);

  function drawTransfers({ transfers, total }) {
    const files = new Map();
    for (const row of transfers) {
      const key = JSON.stringify([row.direction, row.folder, row.path]);
      if (!files.has(key)) files.set(key, []);
      files.get(key).push(row);
    }
    draw(moving.body, [transfers, total], () => {
      if (files.size === 0) return h("p", { class: "quiet" }, "No transfers in progress.");
      const list = [...files].slice(0, 50).map(([key, rows]) => transfer(key, rows));
      const rest = files.size - list.length;
      return [h("ul", { class: "plain" }, list), rest > 0 && h("p", { class: "quiet" }, `and ${count(rest, "file")} more`)];
    });
  }

  function transfer(key, rows) {
    const { direction, folder, path, size } = rows[0];
    const isComing = direction === "in";
    const done = isComing ? rows[0].fileBytesDone ?? 0 : Math.max(...rows.map((row) => row.bytesDone));
    const left = rows[0].secondsLeft;
    return h("li", { class: "transfer", "data-path": path },
      h("div", { class: "line" },
        h("span", { class: "main-text" }, h("span", { class: "tag" }, isComing ? "in" : "out"), " ",
          h("a", { href: app.address("files", folder, ...path.split("/")), "data-key": key }, path),
          h("span", { class: "quiet" }, ` in ${app.folderName(folder)}`)),
        h("span", { class: "numbers" }, `${bytes(done)} of ${bytes(size)}`,
          left !== undefined && left !== null ? `, ${duration(left)} left` : "")),
      h("progress", { max: Math.max(1, size), value: Math.min(done, size), "aria-label": path }),
      rows.filter((row) => row.device).map((row) => h("div", { class: "numbers" },
        `${isComing ? "from" : "to"} ${app.deviceName(row.device)}`, row.transport ? ` by ${transportName(row.transport)}` : "",
        `: ${bytes(row.bytesDone)}, ${bytes(row.bytesPerSecond)}/s`)),
      rows.every((row) => !row.device) && h("div", { class: "numbers" }, "waiting for a device"));
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
      h("span", { class: "main-text" }, h("strong", {}, job.kind), " ", h("span", { class: `tag ${jobClass(job)}` }, job.state),
        h("div", { class: "quiet" }, jobText(job))),
      act(job.state === "running" ? "Cancel" : "Forget", () => app.attempt(async () => {
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
    const chosen = filter.value;
    draw(filter, status.folders.map(({ id, label }) => [id, label]), () => [
      h("option", { value: "" }, "all folders"),
      status.folders.map((folder) => h("option", { value: folder.id, selected: folder.id === chosen }, folder.label || folder.id)),
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
      ? [h("p", {}, "The policies for metered connections and batteries are suspended",
        policies.ignoredUntil ? [" until ", new Date(policies.ignoredUntil).toLocaleTimeString()] : "", "."),
      h("div", { class: "tools" }, act("Re-enable policies", () => set(false), { "data-key": "hold" }))]
      : [h("ul", { class: "plain" }, policies.holds.map((hold) => trouble(
        { metered: "Metered connection", battery: "Battery" }[hold.cause] ?? hold.cause, sentence(hold.message), sentence(hold.remedy)))),
      h("div", { class: "tools" }, act("Ignore for an hour", () => set(true, hour), { "data-key": "ignore" }))]);
  }

  function drawTroubles(status) {
    const list = troubles(status, app);
    wrong.element.hidden = list.length === 0;
    draw(wrong.body, list, () => h("ul", { class: "plain" }, list.map(({ what, message, remedy, link, isWait }) => {
      const item = trouble(what, message, remedy, ...link ? [h("a", { href: app.address(...link) }, "View")] : []);
      if (isWait) item.classList.add("wait");
      return item;
    })));
  }

  function drawParts(status) {
    const value = [status.folders.map((folder) => [folder.id, folder.label, folder.state, folder.progress, folder.need, folder.copy]),
      status.devices.map((device) => [device.id, device.name, device.connected, device.paused, device.pausedUntil, device.transport])];
    draw(parts.body, value, () => {
      if (status.folders.length + status.devices.length === 0) return h("p", { class: "quiet" }, "No folders or devices yet.");
      return h("ul", { class: "plain" },
        status.folders.map((folder) => h("li", { class: "line", "data-folder": folder.id },
          h("span", { class: "main-text" }, h("strong", {}, folder.label || folder.id), " ",
            h("span", { class: `tag ${isFailed(folder) ? "bad" : folder.state === "idle" ? "good" : ""}` }, stateName(folder.state)),
            h("div", { class: "quiet" }, folderText(folder))),
          rest("folder", folder.label || folder.id, folder.state === "paused", (paused) => pause({ folders: [folder.id], paused })))),
        status.devices.map((device) => h("li", { class: "line", "data-device": device.id },
          h("span", { class: "main-text" }, h("strong", {}, app.deviceName(device.id)), " ",
            h("span", { class: `tag ${device.connected ? "good" : ""}` },
              device.paused ? "paused" : device.connected ? `connected over ${transportName(device.transport)}` : "not connected"),
            device.pausedUntil && h("div", { class: "quiet" }, `until ${new Date(device.pausedUntil).toLocaleString()}`)),
          rest("device", app.deviceName(device.id), device.paused, (paused) => pause({ devices: [device.id], paused })))));
    });
  }

  function rest(kind, name, isPaused, set) {
    const label = isPaused ? "Resume" : "Pause";
    return act(label, () => set(!isPaused), { "aria-label": `${label} the ${kind} ${name}`, "data-key": `rest ${kind} ${name}` });
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
      if (list.length === 0) return h("p", { class: "quiet" }, "No changes recorded yet.");
      return [h("ul", { class: "plain changes" }, list.map((change) => h("li", { class: "line" },
        h("span", { class: "main-text" }, h("span", { class: "tag" }, change.what), " ", changed(change)),
        h("span", { class: "quiet" }, change.local ? "here" : change.name || change.device ? `by ${change.name || change.device}` : "",
          change.local || change.name || change.device ? ", " : "", when(change.time))))),
      list.length >= shown && shown < 10000 && h("div", { class: "tools" },
        act("Show more", () => { shown = Math.min(10000, shown * 2); loadChanges(); }, { "data-key": "more" }))];
    });
  }

  function changed(change) {
    const place = h("span", { class: "quiet" }, ` in ${app.folderName(change.folder)}`);
    if (change.what === "many") return [`${count(change.count, "name")} changed at once`, place];
    const name = change.what === "deleted" ? h("span", {}, change.path)
      : h("a", { href: app.address("files", change.folder, ...change.path.split("/")) }, change.path);
    return [change.from && `${change.from} → `, name, place];
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

function jobClass(job) { return { done: "good", failed: "bad", cancelled: "warn" }[job.state] ?? ""; }

function jobText(job) {
  if (job.error) return job.error.message;
  const { progress } = job;
  if (job.state !== "running" || !progress) return "";
  if (progress.bytesTotal) {
    return `${progress.path ?? ""} ${bytes(progress.bytesDone)} of ${bytes(progress.bytesTotal)}, ${bytes(progress.bytesPerSecond)}/s`.trim();
  }
  return progress.path ?? "";
}

function folderText(folder) {
  if (folder.progress) {
    const { filesDone, filesTotal, bytesDone, bytesTotal } = folder.progress;
    const files = filesTotal === undefined ? count(filesDone, "file") : `${filesDone} of ${count(filesTotal, "file")}`;
    return `${files}, ${bytes(bytesDone)}${bytesTotal === undefined ? "" : ` of ${bytes(bytesTotal)}`}`;
  }
  if (folder.incomplete) return "the index of other devices is incomplete";
  const { files, bytes: size, deletions = 0 } = folder.need;
  const needs = [files > 0 && `${count(files, "file")} (${bytes(size)}) to download`, deletions > 0 && `${count(deletions, "name")} to delete`]
    .filter(Boolean);
  if (needs.length > 0) return needs.join(", ");
  return { complete: "up to date (full copy)", selected: "up to date", partial: "incomplete", unknown: "waiting for the index of other devices" }[folder.copy] ?? "";
}

/** All that is in the way, with its remedy: what the agent, its folders and its devices say. */
export function troubles(status, app) {
  const list = [];
  for (const problem of status.problems ?? []) list.push({ what: "The agent", message: problem });
  if (status.bluetooth?.remedy) list.push({ what: "Bluetooth", message: status.bluetooth.message, remedy: status.bluetooth.remedy });
  for (const folder of status.folders) {
    const what = folder.label || folder.id;
    if (folder.message) list.push({ what, message: folder.message, link: isHalted(folder) ? ["attention"] : undefined });
    for (const wait of folder.waits ?? []) {
      if (wait.reason === "paused" || wait.reason === "halted" && folder.message) continue;
      list.push({ what, message: wait.message, remedy: wait.remedy, isWait: true, link: wait.reason === "unshared" ? ["devices"] : undefined });
    }
    if (folder.watch && ["partial", "failed"].includes(folder.watch.state)) {
      list.push({ what, message: folder.watch.message ?? "Not all changes are noticed immediately; the next scan finds them." });
    }
    for (const problem of folder.problems ?? []) list.push({ what: `${what}: ${problem.path}`, message: problem.message });
    const rest = folder.errors - (folder.problems ?? []).length;
    if (folder.problems?.length && rest > 0) list.push({ what, message: `and ${count(rest, "more name")} with problems` });
  }
  for (const device of status.devices) {
    if (device.connected || device.paused || !device.lastError) continue;
    list.push({ what: app.deviceName(device.id), message: device.lastError, isWait: true, link: ["devices"] });
  }
  return list;
}
