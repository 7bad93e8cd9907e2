// Whether everything selected is here, and one button that finishes it: before one goes offline.
import { bytes, count, duration, h } from "./dom.js";
import { percent, shown } from "./files-names.js";
import { act, draw, poll, section } from "./parts.js";

/** A section that asks while it is seen; `stop` ends that. */
export function readySection(app) {
  const part = section("Ready for the train");
  part.element.hidden = true;
  const ask = async () => {
    let answer;
    try { answer = await app.api.get("ready"); } catch (error) {
      if (error.status !== 404) app.fail(error);
      return;
    }
    part.element.hidden = answer.folders.length === 0;
    draw(part.body, answer.folders, () => body(answer.folders));
  };
  const stop = poll(ask, 2000);

  function body(folders) {
    const missing = folders.filter((folder) => !folder.ready);
    const total = missing.reduce((sum, folder) => sum + folder.missing.bytes, 0);
    const canFinish = missing.some((folder) => folder.short === 0);
    return [
      h("p", { class: missing.length ? "" : "good" }, missing.length === 0
        ? "Everything selected is on this device."
        : `${count(missing.length, "folder is", "folders are")} not ready${total ? `; ${bytes(total)} missing` : ""}.`),
      h("ul", { class: "plain" }, folders.map(line)),
      missing.length > 0 && h("div", { class: "tools" },
        act("Finish now", () => finish(missing), { class: "main", disabled: !canFinish, "data-key": "finish",
          title: "Resumes paused folders, connects to all devices, and downloads what is missing" })),
    ];
  }

  function line(folder) {
    const share = percent(folder.presentBytes, folder.selectedBytes);
    const { word, tone } = wordOf(folder, share);
    const waits = folder.waits.filter(({ reason }) => reason !== "space" && reason !== "paused");
    return h("li", { class: "ready", "data-ready": folder.id },
      h("div", { class: "line" },
        h("span", { class: "main-text" },
          h("a", { href: app.address("files", folder.id), "data-key": `ready ${folder.id}` }, shown(folder.label || folder.id)), " ",
          h("span", { class: `tag ${tone}` }, word)),
        h("span", { class: "numbers" }, numbers(folder))),
      folder.ready || share === null ? null
        : h("progress", { max: 100, value: share, "aria-label": `${shown(folder.label || folder.id)}: ${share} % here` }),
      waits.map(({ message, remedy }) => h("p", { class: "quiet" }, `${message}; ${remedy}`)));
  }

  async function finish(folders) {
    const paused = folders.filter((folder) => folder.paused).map((folder) => folder.id);
    await app.attempt(async () => {
      if (paused.length > 0) await app.api.patch("pause", { folders: paused, devices: [], all: false, paused: false });
      await app.api.post("sync", {});
      app.say("Downloading what is missing.");
      app.refresh();
    });
    await ask();
  }

  return { element: part.element, stop };
}

function wordOf(folder, share) {
  if (folder.ready) return folder.paused ? { word: "ready when it was paused", tone: "warn" } : { word: "ready", tone: "good" };
  if (folder.short > 0) return { word: `does not fit: ${bytes(folder.short)} short`, tone: "bad" };
  if (folder.paused) return { word: "paused", tone: "warn" };
  if (share === null || folder.missing.files === 0) return { word: "not known to be ready", tone: "warn" };
  return { word: `${share} % here`, tone: "warn" };
}

function numbers(folder) {
  const have = folder.selectedBytes ? `${bytes(folder.presentBytes)} of ${bytes(folder.selectedBytes)}` : count(folder.selectedFiles, "file");
  if (folder.ready) return folder.selectedFiles ? `${count(folder.selectedFiles, "file")}, ${bytes(folder.selectedBytes)}` : "nothing selected";
  if (folder.etaSeconds !== null) return `${have}, about ${duration(folder.etaSeconds)} left`;
  return folder.short > 0 || folder.paused ? have : `${have}, time left unknown`;
}
