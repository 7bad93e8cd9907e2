// Whether everything selected is here, and one button that finishes it: before one goes offline.
import { h } from "./dom.js";
import { percent, shown } from "./files-names.js";
import { act, draw, poll, section } from "./parts.js";
import { bytes, dateTime, duration, number, plural, rate, said, t } from "./words.js";

/** A section that asks while it is seen; `stop` ends that. calls `told(folders)` with each answer, and with an empty list after an error. */
export function readySection(app, told) {
  const part = section(t`Ready for the train`);
  part.element.hidden = true;
  const ask = async () => {
    let answer;
    try { answer = await app.api.get("ready"); } catch (error) {
      if (error.status !== 404) app.failAgain(error);
      told([]);
      return;
    }
    told(answer.folders);
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
        ? t`Everything selected is on this device.`
        : total ? plural(missing.length, "{1} folder is not ready; {2} missing.", "{1} folders are not ready; {2} missing.", bytes(total))
          : plural(missing.length, "{1} folder is not ready.", "{1} folders are not ready.")),
      h("ul", { class: "plain" }, folders.map(line)),
      missing.length > 0 && h("div", { class: "tools" },
        act(t`Finish now`, () => finish(missing), { class: "main", disabled: !canFinish, "data-key": "finish",
          title: t`Resumes paused folders, connects to all devices, and downloads what is missing` })),
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
        : h("progress", { max: 100, value: share, "aria-label": t`${shown(folder.label || folder.id)}: ${share} % here` }),
      h("p", { class: "quiet" }, since(folder)),
      waits.map(({ message, text, remedy, remedyText }) => h("p", { class: "quiet" }, `${said(message, text)}; ${said(remedy, remedyText)}`)));
  }

  async function finish(folders) {
    const paused = folders.filter((folder) => folder.paused).map((folder) => folder.id);
    await app.attempt(async () => {
      if (paused.length > 0) await app.api.patch("pause", { folders: paused, devices: [], all: false, paused: false });
      await app.api.post("sync", {});
      app.say(t`Downloading what is missing.`);
      app.refresh();
    });
    await ask();
  }

  return { element: part.element, stop };
}

/** What came to be missing since nothing was; null where that is not known. */
function since(folder) {
  if (!folder.completeUntil || folder.missingNames.length === 0) return null;
  const [time, names] = [dateTime(folder.completeUntil), folder.missingNames.map(shown).join(", ")];
  const rest = folder.missing.files - folder.missingNames.length;
  return rest > 0 ? t`complete until ${time}; missing since then: ${names} and ${number(rest)} more`
    : t`complete until ${time}; missing since then: ${names}`;
}

function wordOf(folder, share) {
  if (folder.ready) return folder.paused ? { word: t`ready when it was paused`, tone: "warn" } : { word: t`ready`, tone: "good" };
  if (folder.short > 0) return { word: t`does not fit: ${bytes(folder.short)} short`, tone: "bad" };
  if (folder.paused) return { word: t`paused`, tone: "warn" };
  if (share === null || folder.missing.files === 0) return { word: t`not known to be ready`, tone: "warn" };
  return { word: t`${share} % here`, tone: "warn" };
}

function numbers(folder) {
  const part = folder.selectedBytes ? t`${bytes(folder.presentBytes)} of ${bytes(folder.selectedBytes)}` : plural(folder.selectedFiles, "{1} file", "{1} files");
  const have = folder.bytesPerSecond ? `${part}, ${rate(folder.bytesPerSecond)}` : part;
  if (folder.ready) return folder.selectedFiles ? `${plural(folder.selectedFiles, "{1} file", "{1} files")}, ${bytes(folder.selectedBytes)}` : t`nothing selected`;
  if (folder.etaSeconds !== null) return t`${have}, about ${duration(folder.etaSeconds)} left`;
  return folder.short > 0 || folder.paused ? have : t`${have}, time left unknown`;
}
