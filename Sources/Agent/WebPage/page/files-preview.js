// What is in a file, shown without keeping it.
import { h, icon, reference, replace } from "./dom.js";
import { kindOfName, nameOf, shown } from "./files-names.js";
import { bytes, dateTime, plural, t } from "./words.js";

const textMost = 64 << 10;
/** What is not here and larger than this is fetched only if somebody says so. */
const unaskedMost = 24 << 20;
const membersAtOnce = 200;

/**
 * A preview: `{element, close()}`. `file` is `{name, url, size, isHere}`, with `thumbnail`, the address of a small picture, and
 * `archive`, the file's reference, where there may be such.
 */
export function preview(app, file) {
  const controller = new AbortController();
  const element = h("div", { class: "preview" });
  const kind = kindOfName(file.name);
  const show = () => { replace(element); (makers[kind] ?? makers.file)(app, file, element, controller.signal); };
  const isLarge = !file.isHere && file.size > unaskedMost && kind === "picture";
  if (isLarge) {
    replace(element, small(file), h("p", {}, h("button", { type: "button", onclick: show }, t`Download the picture (${bytes(file.size)})`)));
  } else {
    show();
  }
  return {
    element,
    close() {
      controller.abort();
      // A player that is only taken out of the page goes on reading.
      for (const player of element.querySelectorAll("video, audio")) { player.removeAttribute("src"); player.load(); }
      replace(element);
    },
  };
}

function small(file) {
  const place = h("div", { class: "stand-in" }, icon(kindOfName(file.name)));
  if (file.thumbnail) {
    const image = h("img", { alt: "", src: file.thumbnail });
    image.addEventListener("load", () => replace(place, image));
  }
  return place;
}

function remark(element, text) { replace(element, h("p", { class: "quiet" }, text)); }

const otherProgram = t`Copy a link and open it with another program.`;

const makers = {
  picture(app, file, element) {
    const image = h("img", { alt: t`Picture ${shown(file.name)}`, decoding: "async" });
    image.addEventListener("error", () => replace(element, small(file), h("p", { class: "quiet" }, t`This browser cannot show it, or no connected device has it.`, " ", otherProgram)));
    image.src = file.url;
    element.append(image);
  },
  photo(app, file, element) {
    element.append(small(file), h("p", { class: "quiet" }, t`Browsers cannot show this type of picture.`, " ", otherProgram));
  },
  film(app, file, element) { play("video", t`Film ${shown(file.name)}`, file, element); },
  sound(app, file, element) { play("audio", t`Sound ${shown(file.name)}`, file, element); },
  pdf(app, file, element) {
    element.append(h("iframe", { src: file.url, title: t`Document ${shown(file.name)}` }));
  },
  async text(app, file, element, signal) {
    if (file.size === 0) return remark(element, t`The file is empty.`);
    remark(element, t`Reading…`);
    try {
      const response = await fetch(file.url, { signal, credentials: "same-origin", headers: { Range: `bytes=0-${textMost - 1}` } });
      if (!response.ok) throw new app.api.APIError(await response.json().catch(() => ({})), response.status);
      const text = new TextDecoder().decode(await response.arrayBuffer());
      const isBinary = text.includes("\u0000");
      if (isBinary) return remark(element, `${t`Not a text file.`} ${otherProgram}`);
      replace(element, h("pre", { tabindex: "0", role: "region", "aria-label": t`Beginning of ${shown(file.name)}` }, text),
        file.size > textMost ? h("p", { class: "quiet" }, t`The first 64 KiB of ${bytes(file.size)}.`) : null);
    } catch (error) {
      if (error.name !== "AbortError") remark(element, error.message);
    }
  },
  archive(app, file, element, signal) {
    if (!file.archive) return makers.file(app, file, element);
    showMembers(app, file, element, signal);
  },
  file(app, file, element) { element.append(small(file)); },
};

function play(tag, label, file, element) {
  const player = h(tag, { controls: true, preload: "metadata", "aria-label": label });
  player.addEventListener("error", () => {
    if (!player.isConnected) return;
    replace(element, small(file), h("p", { class: "quiet" }, t`This browser cannot play it, or no connected device has it.`, " ", otherProgram));
  });
  player.src = file.url;
  element.append(player);
}

/** The names in an archive; one of them is looked at in their place. */
async function showMembers(app, file, element, signal) {
  const rows = h("tbody");
  const more = h("button", { type: "button", hidden: true }, t`Show more`);
  const head = h("p", { class: "quiet" }, t`Reading the contents…`);
  const table = h("table", { class: "members", hidden: true }, h("caption", { class: "unseen" }, t`In ${shown(file.name)}`),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t`Name`), h("th", { scope: "col" }, t`Size`), h("th", { scope: "col" }, h("span", { class: "unseen" }, t`Download`)))), rows);
  const list = h("div", {}, head, table, more);
  const look = h("div", { hidden: true });
  replace(element, list, look);
  let shownCount = 0;
  let open = null;
  const back = (member) => {
    open?.close();
    open = null;
    look.hidden = true;
    list.hidden = false;
    member.focus();
  };
  signal.addEventListener("abort", () => open?.close());
  const load = async () => {
    more.disabled = true;
    try {
      const answer = await app.api.get("archive", { path: file.archive, limit: membersAtOnce, offset: shownCount }, signal);
      shownCount += answer.members.length;
      head.textContent = plural(answer.total, "{1} member; it can be opened without downloading the whole archive.",
        "{1} members; each can be opened without downloading the whole archive.");
      table.hidden = answer.total === 0;
      rows.append(...answer.members.map((member) => row(member)));
      more.hidden = shownCount >= answer.total || answer.members.length === 0;
    } catch (error) {
      if (error.name !== "AbortError") head.textContent = error.message;
    } finally {
      more.disabled = false;
    }
  };
  const row = (member) => {
    const name = shown(member.path);
    const isFile = member.kind === "file" && !member.encrypted;
    const url = isFile && app.api.memberURL(file.archive, member.path);
    const open_ = h("button", { type: "button", class: "plain" }, h("bdi", {}, name));
    open_.addEventListener("click", () => {
      open = preview(app, { name: nameOf(member.path), url, size: member.size, isHere: file.isHere });
      list.hidden = true;
      look.hidden = false;
      const button = h("button", { type: "button", onclick: () => back(open_) }, t`Back to the archive`);
      replace(look, h("p", {}, button, " ", h("bdi", {}, name)), open.element);
      button.focus();
    });
    return h("tr", {},
      h("td", {}, isFile ? open_ : h("bdi", {}, name), member.encrypted ? h("span", { class: "quiet" }, " ", t`(encrypted)`) : null),
      h("td", { title: member.modified ? dateTime(member.modified) : "" }, member.kind === "file" ? bytes(member.size) : ""),
      h("td", {}, url ? h("a", { href: app.api.memberURL(file.archive, member.path, { download: true }), download: nameOf(member.path), "aria-label": t`Download ${name}` }, icon("download")) : null));
  };
  more.addEventListener("click", load);
  await load();
}

/** The preview of an entry, or null where there is nothing to look at. */
export function previewOf(app, entry) {
  if (entry.type !== "file") return null;
  const path = reference(entry.folder, entry.path);
  const name = nameOf(entry.path);
  const hasPicture = ["picture", "photo", "film"].includes(kindOfName(name));
  return preview(app, {
    name, url: app.api.fileURL(path), size: entry.size, isHere: entry.state === "present" || entry.state === "modified" || entry.state === "extraneous",
    thumbnail: hasPicture ? app.api.thumbnailURL(path) : null, archive: path,
  });
}
