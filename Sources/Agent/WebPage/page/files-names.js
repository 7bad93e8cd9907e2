// What a name and an entry are to a person: pure, no elements, no requests.
import { bytes, number, plural, said, t } from "./words.js";

/** Characters that are not seen, or that turn the direction of writing, so that a name could pass for another. */
const unseen = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** A name as it may be shown: what cannot be seen is shown as its number, `⟨202E⟩`. */
export function shown(name) {
  return name.replace(unseen, (character) => `⟨${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

export function nameOf(path) { return path.slice(path.lastIndexOf("/") + 1); }
export function parentOf(path) { return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ""; }

const endings = {
  picture: "jpg jpeg jpe png gif webp avif bmp ico",
  photo: "heic heif tif tiff dng cr2 cr3 nef arw orf rw2 raf jxl psd",
  film: "mp4 m4v webm mkv mov ogv avi mpg mpeg ts m2ts wmv flv 3gp",
  sound: "mp3 m4a aac ogg oga opus flac wav weba wma aiff",
  pdf: "pdf",
  archive: "zip jar cbz epub iso apk docx xlsx pptx odt ods odp",
  text: "txt md markdown rst org tex log csv tsv json ndjson jsonl yaml yml toml ini conf cfg xml svg html htm css js mjs ts "
    + "jsx tsx py rb rs go swift c h cc cpp hpp m mm java kt cs sh bash zsh fish pl php lua sql diff patch srt vtt sub gpx ics "
    + "vcf eml bib asc sha256 md5 gitignore stignore dockerfile makefile cmake gradle properties env",
};
const kinds = new Map();
for (const [kind, list] of Object.entries(endings)) {
  for (const ending of list.split(" ")) if (!kinds.has(ending)) kinds.set(ending, kind);
}

/** `picture`, `photo` (a picture that browsers cannot show), `film`, `sound`, `pdf`, `archive`, `text` or `file`, by the ending. */
export function kindOfName(name) {
  const lower = name.toLowerCase();
  return kinds.get(lower.slice(lower.lastIndexOf(".") + 1)) ?? "file";
}

export function kindOf(entry) {
  if (entry.type === "directory") return "folder";
  return entry.type === "symlink" ? "link" : kindOfName(nameOf(entry.path));
}

export function hasThumbnail(entry) {
  return entry.type === "file" && ["picture", "photo", "film"].includes(kindOf(entry));
}

const words = {
  absent: [t`Not here`, "cloud", "quiet"],
  queued: [t`Queued`, "clock", "accent"],
  downloading: [t`Downloading`, "clock", "accent"],
  partial: [t`Partly here`, "clock", "accent"],
  present: [t`Here`, "check", "good"],
  modified: [t`Changed here`, "changed", "accent"],
  conflict: [t`Conflict`, "attention", "bad"],
  extraneous: [t`Extraneous`, "attention", "warn"],
  downloaded: [t`Downloaded`, "check", "quiet"],
};

/** Why an entry does not come, by the words of `waitsFor`. */
const reasons = {
  device: t`no device that has it is connected`,
  paused: t`the folder is paused`,
  halted: t`the folder is halted; the view Attention shows why`,
};

/** The same in a word. */
const causes = { policy: t`Waits`, paused: t`Paused`, halted: t`Halted` };

/** How an entry stands on this device: `{word, icon, tone, title}`. The word is green only if all that is selected is here. */
export function stateOf(entry) {
  const state = standing(entry);
  if (!entry.waiting) return state;
  const title = [state.title, sentence(reasonOf(entry))].filter(Boolean).join(". ");
  if (entry.waitsFor === "space" && entry.short) return { word: t`${bytes(entry.short)} short`, icon: "attention", tone: "bad", title };
  // Of a directory how much is here says more than that it waits.
  const word = entry.waitsFor === "device" || isCounted(entry) ? state.word : causes[entry.waitsFor] ?? t`Waits`;
  return { word, icon: "clock", tone: "warn", title };
}

/** Why it does not come, in a sentence. */
function reasonOf(entry) {
  if (entry.waitsFor === "space" && entry.short) return t`does not fit: ${bytes(entry.short)} short`;
  return reasons[entry.waitsFor] ?? said(entry.waiting, entry.waitingText);
}

function sentence(text) { return text.charAt(0).toUpperCase() + text.slice(1); }

/** Whether it is a directory with something selected in it. */
function isCounted(entry) { return entry.type === "directory" && Boolean(entry.selectedFiles); }

/** The same without what it waits for. */
function standing(entry) {
  if (entry.state === "downloading" || entry.state === "partial" && !isCounted(entry)) {
    const share = percent(entry.presentBytes, entry.selectedBytes);
    const word = entry.state === "partial" ? words.partial[0] : share === null ? words.downloading[0] : t`Downloading ${share} %`;
    return { word, icon: "clock", tone: "accent", title: entry.selectedBytes ? t`${presence(entry)} on this disk` : titles.downloading };
  }
  if (entry.type === "directory" && ["present", "partial", "queued"].includes(entry.state) && (entry.selectedFiles || entry.state === "present")) {
    const title = plural(entry.selectedFiles ?? 0, "{2} of {1} selected file in it on this disk", "{2} of {1} selected files in it on this disk",
      number(entry.presentFiles ?? 0));
    if (entry.state !== "present") return { word: t`${presence(entry)} here`, icon: "clock", tone: "accent", title };
    return boxOf(entry) === "true"
      ? { word: t`Kept`, icon: "check", tone: "good", title: t`Everything in it is selected and on this disk` }
      : { word: t`${presence(entry)} here`, icon: "check", tone: "accent", title };
  }
  if (entry.state === "absent" && entry.available === false) {
    return { word: t`Not available`, icon: "cloud", tone: "quiet", title: t`Only on devices that are not connected` };
  }
  const [word, icon, tone] = words[entry.state] ?? [entry.state, "file", "quiet"];
  return { word, icon, tone, title: titles[entry.state] ?? "" };
}

/** Whole percent, 100 only of all; null of nothing. */
export function percent(part, whole) {
  if (!whole) return null;
  return part >= whole ? 100 : Math.min(99, Math.floor((part ?? 0) / whole * 100));
}

/** How much of what is selected in a directory is on this disk: "12 MB of 67 MB"; in files where they have no bytes. */
function presence({ selectedFiles, selectedBytes, presentFiles, presentBytes, state }) {
  if (!selectedBytes) {
    return state === "present" ? plural(presentFiles ?? 0, "{1} file", "{1} files")
      : plural(selectedFiles ?? 0, "{2} of {1} file", "{2} of {1} files", number(presentFiles ?? 0));
  }
  if (state === "present") return bytes(presentBytes);
  return t`${presentBytes ? bytes(presentBytes) : 0} of ${bytes(selectedBytes)}`;
}

const titles = {
  absent: t`Only on other devices; open it to read it from there`,
  queued: t`Selected; not on this disk yet`,
  downloading: t`Being downloaded`,
  partial: t`Partly on this disk`,
  present: t`On this disk, in the newest version`,
  modified: t`On this disk, changed here`,
  conflict: t`In conflict with another version`,
  extraneous: t`On this disk, but not selected`,
  downloaded: t`Fetched to this disk; not selected, so changes on other devices are not downloaded`,
};

/** The selection box's state: `true`, `false` or `mixed`. */
export function boxOf(entry) {
  if (entry.selected !== "no") return entry.leftOutBelow ? "mixed" : "true";
  return entry.selectedBelow ? "mixed" : "false";
}

/** Which way a tick goes: what is kept as a whole is let go, anything else is kept. */
export function tickSelects(entry) { return boxOf(entry) !== "true"; }
