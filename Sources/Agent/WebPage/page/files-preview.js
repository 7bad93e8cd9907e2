// What is in a file, shown without keeping it.
import { h, icon, reference, replace } from "./dom.js";
import { code, languageOf } from "./files-code.js";
import { markdown } from "./files-markdown.js";
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
  picture(app, file, element, signal) {
    const image = h("img", { alt: t`Picture ${shown(file.name)}`, decoding: "async" });
    if (!file.isHere) return readPicture(app, file, image, element, signal);
    image.addEventListener("error", () => explain(app, file, element, signal, t`This browser cannot show it.`));
    image.src = file.url;
    return element.append(image);
  },
  photo(app, file, element) {
    element.append(small(file), h("p", { class: "quiet" }, t`Browsers cannot show this type of picture.`, " ", otherProgram));
  },
  film(app, file, element, signal) { play("video", t`Film ${shown(file.name)}`, app, file, element, signal); },
  sound(app, file, element, signal) { play("audio", t`Sound ${shown(file.name)}`, app, file, element, signal); },
  async pdf(app, file, element, signal) {
    if (file.size === 0) return remark(element, t`The file is empty.`);
    remark(element, t`Reading…`);
    // A frame does not tell why it stays empty.
    const refused = await refusalOf(app, file, signal);
    if (signal.aborted) return;
    if (refused) showRefusal(app, file, element, signal, refused);
    else replace(element, h("iframe", { src: file.url, title: t`Document ${shown(file.name)}` }));
    return undefined;
  },
  async text(app, file, element, signal) {
    if (file.size === 0) return remark(element, t`The file is empty.`);
    remark(element, t`Reading…`);
    try {
      const response = await fetch(file.url, { signal, credentials: "same-origin", headers: { Range: `bytes=0-${textMost - 1}` } });
      if (!response.ok) throw await refusal(app, response);
      // A character that the end of what is read cuts through is not shown.
      const text = new TextDecoder().decode(await beginning(response, textMost), { stream: file.size > textMost });
      const isBinary = text.includes("\u0000");
      if (isBinary) return remark(element, `${t`Not a text file.`} ${otherProgram}`);
      const label = file.size > textMost ? t`Beginning of ${shown(file.name)}` : t`Text of ${shown(file.name)}`;
      const plain = h("pre", { tabindex: "0", role: "region", "aria-label": label }, written(text, file.name));
      const isCut = file.size > textMost ? h("p", { class: "quiet" }, t`The first 64 KiB of ${bytes(file.size)}.`) : null;
      if (isMarkdown(file.name)) replace(element, eitherOf(plain, text, label), isCut);
      else replace(element, plain, isCut);
    } catch (error) {
      if (error.name !== "AbortError") showRefusal(app, file, element, signal, error);
    }
  },
  archive(app, file, element, signal) {
    if (!file.archive) return makers.file(app, file, element);
    showMembers(app, file, element, signal);
  },
  file(app, file, element) { element.append(small(file)); },
};

/** So many bytes of an answer at most: one for a part of a compressed member brings all of it. */
async function beginning(response, most) {
  const reader = response.body.getReader();
  const parts = [];
  let count = 0;
  while (count < most) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    count += value.length;
  }
  reader.cancel().catch(() => {});
  return new Blob(parts).slice(0, most).arrayBuffer();
}

function written(text, name) {
  const language = languageOf(name);
  return language ? code(text, language) : text;
}

function isMarkdown(name) { return /\.(md|markdown)$/i.test(name); }

/** A text as it is meant, and by a button as it is written. */
function eitherOf(plain, text, label) {
  const meant = h("div", { class: "markdown", tabindex: "0", role: "region", "aria-label": label }, markdown(text));
  const place = h("div", { class: "either" }, meant);
  const button = h("button", { type: "button", "aria-pressed": "false" }, t`As written`);
  button.addEventListener("click", () => {
    const isPlain = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isPlain));
    replace(place, isPlain ? plain : meant);
  });
  return [h("div", { class: "tools" }, button), place];
}

function play(tag, label, app, file, element, signal) {
  const player = h(tag, { controls: true, preload: "metadata", "aria-label": label });
  player.addEventListener("error", async () => {
    if (!player.isConnected) return;
    if (player.error?.code !== MediaError.MEDIA_ERR_NETWORK) return explain(app, file, element, signal, t`This browser cannot play it.`);
    // Which bytes it lacks no player tells: those about where it is are asked for.
    const refused = await refusalOf(app, file, signal, placeOf(player, file.size));
    if (!signal.aborted) showRefusal(app, file, element, signal, refused ?? new app.api.APIError({ message: t`The connection to the agent was lost.` }));
  });
  player.src = file.url;
  element.append(player);
}

/** About which byte of a file of `size` bytes is the next one that a player has to read. */
function placeOf({ buffered, currentTime, duration }, size) {
  let time = currentTime;
  for (let i = 0; i < buffered.length; i += 1) if (buffered.start(i) <= time && time <= buffered.end(i)) time = buffered.end(i);
  return duration > 0 ? Math.min(size - 1, Math.floor(size * time / duration)) : 0;
}

/** What the agent says when it answers without a file. */
async function refusal(app, response) { return new app.api.APIError(await response.json().catch(() => ({})), response.status); }

/** Why the agent does not give the byte at `offset`; null if it does. */
async function refusalOf(app, file, signal, offset = 0) {
  try {
    const response = await fetch(file.url, { signal, credentials: "same-origin", headers: { Range: `bytes=${offset}-${offset}` } });
    if (!response.ok) return await refusal(app, response);
    await response.body?.cancel();
    return null;
  } catch (error) {
    return error;
  }
}

/** Says why there is nothing to see: what the agent says of the bytes from `offset` on, or `otherwise` if it has them. */
async function explain(app, file, element, signal, otherwise, offset = 0) {
  const refused = await refusalOf(app, file, signal, offset);
  if (signal.aborted) return;
  if (refused) showRefusal(app, file, element, signal, refused);
  else replace(element, small(file), h("p", { class: "quiet", role: "status" }, otherwise, " ", otherProgram));
}

/** Says why the bytes do not come, with a button for trying it again. */
function showRefusal(app, file, element, signal, error) {
  const again = h("button", { type: "button", onclick: () => { replace(element); makers[kindOfName(file.name)](app, file, element, signal); } }, t`Try again`);
  replace(element, small(file), h("p", { class: "quiet", role: "status" },
    error instanceof app.api.APIError ? error.message : t`The agent does not answer. Start it: synctrain agent start`), h("p", {}, again));
}

/** A picture that is on other devices, read from there block by block; how far it is, is said meanwhile. */
async function readPicture(app, file, image, element, signal) {
  const words = h("p", { class: "quiet", role: "status" }, t`Reading from other devices…`);
  replace(element, small(file), words);
  const parts = [];
  let count = 0;
  try {
    const response = await fetch(file.url, { signal, credentials: "same-origin" });
    if (!response.ok) throw await refusal(app, response);
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      count += value.length;
      words.textContent = t`Reading from other devices: ${bytes(count)} of ${bytes(file.size)}`;
    }
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof app.api.APIError) showRefusal(app, file, element, signal, error);
    // An answer that ends too soon has no words for it: the bytes that come next are asked for.
    else explain(app, file, element, signal, t`The connection to the agent was lost.`, count);
    return;
  }
  if (signal.aborted) return;
  image.addEventListener("error", () => {
    URL.revokeObjectURL(image.src);
    if (!signal.aborted) explain(app, file, element, signal, t`This browser cannot show it.`);
  });
  image.addEventListener("load", () => {
    URL.revokeObjectURL(image.src);
    if (!signal.aborted) replace(element, image);
  });
  image.src = URL.createObjectURL(new Blob(parts, { type: "" }));
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
    name, url: app.api.fileURL(path), size: entry.size, isHere: ["present", "modified", "extraneous", "downloaded"].includes(entry.state),
    thumbnail: hasPicture ? app.api.thumbnailURL(path) : null, archive: path,
  });
}
