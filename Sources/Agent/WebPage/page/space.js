// How full the disks are, above every view: one line with a bar, and what it is made of below it.
import { button, h, replace } from "./dom.js";
import { shown } from "./files-names.js";
import { freeSpace } from "./files-space.js";
import { draw, poll } from "./parts.js";
import { bytes, t } from "./words.js";

/** What a disk's bytes are, in the order of the bar. Pure. */
export function partsOf({ total, free, here, selected, present, cache }) {
  const used = Math.max(0, total - free);
  const mine = Math.min(here, used);
  const kept = Math.min(present, mine);
  const cached = Math.min(cache, used - mine);
  const coming = Math.min(Math.max(0, selected - present), free);
  return { other: used - mine - cached, present: kept, unselected: mine - kept, cache: cached, coming, free: free - coming };
}

/** The disk that is the first to be full: one that something does not fit on, else the one with the least left. Pure. */
export function tightest(disks) {
  const left = (disk) => disk.short > 0 ? -disk.short : partsOf(disk).free;
  return disks.filter((disk) => disk.folders.length > 0).sort((one, other) => left(one) - left(other))[0] ?? null;
}

/** Draws into `element` while the page is visible; hides it if there are no folders or the agent does not report disk space. */
export function spaceBar(element, app) {
  const summary = h("summary", {});
  const body = h("div", { class: "disks", hidden: true });
  const details = h("details", { ontoggle: () => { body.hidden = !details.open; } }, summary, body);
  replace(element, details);
  element.hidden = true;
  const ask = async () => {
    let answer;
    try { answer = await app.api.get("space"); } catch (error) {
      if (error.status === 401 || error.status === 404) element.hidden = true;
      return;
    }
    const disk = tightest(answer.disks);
    element.hidden = !disk;
    if (!disk) return;
    draw(summary, [disk, answer.disks.length], () => line(disk, answer.disks));
    // Folders may get other names.
    draw(body, [answer.disks, app.status?.folders.map(({ id, label }) => [id, label])], () => answer.disks.map((one) => card(one, app)));
  };
  poll(ask, 10_000);
  let last = "";
  app.onStatus((status) => {
    const now = JSON.stringify(status.folders.map(({ id, label, local, need }) => [id, label, local.bytes, need.bytes]));
    if (now !== last) ask();
    last = now;
  });
}

function line(disk, disks) {
  return [h("span", { class: "unseen" }, t`Space`, " "), bar(disk), h("span", { class: "amounts" },
    h("span", {}, disks.length > 1 ? t`${bytes(disk.free)} free of ${bytes(disk.total)} on the fullest disk` : t`${bytes(disk.free)} free of ${bytes(disk.total)}`),
    disk.short > 0 ? h("strong", { class: "bad" }, t`does not fit: ${bytes(disk.short)} short`) : h("span", { class: "extra" }, chosen(disk)),
    h("span", { class: "extra" }, t`cache ${bytes(disk.cache)}`))];
}

function chosen({ selected, present }) {
  if (selected === 0) return t`nothing selected`;
  return present < selected ? t`${bytes(present)} of ${bytes(selected)} selected on this disk` : t`${bytes(selected)} selected, all on this disk`;
}

/** Only a picture: the words beside it say the same. */
function bar(disk) {
  const parts = partsOf(disk);
  return h("span", { class: "space-bar", "aria-hidden": "true" }, kinds.map(([key]) => {
    const part = h("span", { class: key });
    part.style.flexGrow = share(parts[key], disk.total);
    return part;
  }));
}

/** In thousandths; the least is still seen. */
function share(part, total) { return part > 0 && total > 0 ? Math.max(4, Math.round(part * 1000 / total)) : 0; }

/** In the order of the bar. */
const kinds = [
  ["other", t`Everything else`], ["present", t`Selected, on this disk`], ["unselected", t`Not selected or outdated, on this disk`],
  ["cache", t`Cache`], ["coming", t`Selected, to be downloaded`], ["free", t`Free`],
];

function card(disk, app) {
  const sizes = { ...partsOf(disk), coming: Math.max(0, disk.selected - disk.present), free: disk.free };
  const folders = disk.folders.map((id) => app.status?.folders.find((folder) => folder.id === id)).filter(Boolean);
  const named = (folder) => shown(folder.label || folder.id);
  return h("section", {},
    h("h2", {}, folders.length > 0 ? t`Disk of ${folders.map(named).join(", ")}` : t`Disk of the cache`),
    bar(disk),
    h("dl", {}, kinds.filter(([key]) => sizes[key] > 0 || key === "free" || key === "cache").map(([key, words]) => [
      h("dt", {}, h("span", { class: `swatch ${key}` }), words), h("dd", {}, bytes(sizes[key]))]),
    h("dt", {}, h("span", { class: "swatch" }), t`Size of the disk`), h("dd", {}, bytes(disk.total))),
    disk.short > 0 && h("p", { class: "bad" }, t`What is selected does not fit: ${bytes(disk.short)} short. Free some space, or deselect files.`),
    folders.length > 0 && h("div", { class: "tools" }, folders.map((folder) => button(t`Free space in ${named(folder)}…`,
      () => freeSpace(app, folder), { "data-key": `space ${folder.id}` }))));
}
