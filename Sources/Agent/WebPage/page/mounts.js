// Where folders are mounted, who reads there, and what mounts and unmounts them.
import { directoryField } from "./directories.js";
import { h, when } from "./dom.js";
import { shown } from "./files-names.js";
import { act, choice, draw, field, poll, section } from "./parts.js";
import { bytes, plural, rate, said, t } from "./words.js";

/** A section that asks while it is seen; `show` gets each new status, `stop` ends the asking. */
export function mountsSection(app) {
  const { api } = app;
  const part = section(t`Mounted folders`);
  const list = h("div", {});
  const form = h("div", {});
  part.body.append(list, form);
  part.element.hidden = true;
  let mounts = null;
  let folders = [];

  const ask = async () => {
    try { mounts = (await api.get("mounts")).mounts; } catch (error) {
      if (error.status !== 404) app.failAgain(error);
      return;
    }
    show();
  };
  const stop = poll(ask, 2000);

  /** Several at once would overtake each other's answers. */
  const change = (body, done) => app.attempt(async () => {
    mounts = (await api.patch("mounts", body)).mounts;
    app.say(done);
    show();
  });

  function show() {
    part.element.hidden = mounts === null || folders.length === 0;
    if (part.element.hidden) return;
    draw(list, [mounts, folders, Math.floor(Date.now() / 60000)], () => mounts.length === 0
      ? h("p", { class: "quiet" }, t`No folder is mounted. A mounted folder shows all its files in one directory; programs download what they read.`)
      : h("ul", { class: "plain" }, mounts.map(line)));
    const others = folders.filter(({ id }) => !mounts.some((mount) => mount.folder === id));
    draw(form, others, () => others.length > 0 && mountForm(others));
  }

  function line(mount) {
    const { folder, directory, state, since, problem } = mount;
    const name = app.folderName(folder);
    const [word, tone] = { mounted: [t`mounted`, "good"], "not-answering": [t`does not answer`, "bad"] }[state] ?? [t`not mounted`, problem ? "bad" : ""];
    const facts = [since && t`since ${when(since)}`, mount.readOnly && t`read-only`, mount.configured && t`whenever the agent starts`].filter(Boolean);
    return h("li", { class: "line", "data-mount": folder },
      h("span", { class: "main-text" }, h("strong", {}, name), " ", h("span", { class: `tag ${tone}` }, word),
        h("div", {}, shown(directory)),
        facts.length > 0 && h("div", { class: "quiet" }, facts.map((fact, index) => [index > 0 && ", ", fact])),
        problem && h("p", { class: "bad" }, said(problem.message, problem.text)),
        mount.readers.map((reader) => h("div", { class: "numbers", "data-reader": reader.process },
          t`${shown(reader.program)} (${String(reader.process)}) reads ${shown(reader.path)}: ${bytes(reader.bytes)} of ${plural(reader.files, "{1} file", "{1} files")}, ${rate(reader.bytesPerSecond)}`)),
        mount.moreReaders > 0 && h("div", { class: "quiet" }, plural(mount.moreReaders, "{1} more program reads", "{1} more programs read"))),
      h("span", { class: "tools" }, buttons(mount, name)));
  }

  function buttons({ folder, directory, state, configured }, name) {
    const spoken = { "aria-label": state === "unmounted" ? t`Mount ${name}` : t`Unmount ${name}`, "data-key": `mount ${folder} ${directory}` };
    if (state !== "unmounted") {
      return act(t`Unmount`, () => change({ folder, directory, mounted: false, configured: configured ? false : undefined }, t`${name} is not mounted any more.`), spoken);
    }
    return [act(t`Mount`, () => change({ folder, mounted: true }, t`${name} is mounted on ${directory}.`), spoken),
      configured && act(t`Forget`, () => change({ folder, mounted: false, configured: false }, t`${name} is not mounted any more.`),
        { "aria-label": t`Do not mount ${name} any more`, "data-key": `forget ${folder}` })];
  }

  function mountForm(others) {
    // Beside a folder's own directory of that name, as `mount --at-login` does.
    const proposal = ({ id, label }) => {
      const name = (label || id).replaceAll("/", "-");
      return `~/${name}${folders.some(({ path }) => path?.endsWith(`/${name}`)) ? "-all" : ""}`;
    };
    const directory = h("input", { type: "text", required: true, value: proposal(others[0]), autocomplete: "off", spellcheck: "false" });
    const pick = choice(others.map(({ id, label }) => [id, shown(label || id)]), others[0].id,
      { onchange: () => { directory.value = proposal(others.find(({ id }) => id === pick.value)); } });
    const readOnly = h("input", { type: "checkbox" });
    const submit = () => change({ folder: pick.value, directory: directory.value.trim(), mounted: true, readOnly: readOnly.checked, configured: true },
      t`${app.folderName(pick.value)} is mounted on ${directory.value}.`);
    return h("details", {}, h("summary", {}, t`Mount a folder`),
      h("form", { class: "form", onsubmit: (event) => { event.preventDefault(); submit(); } },
        field(t`Folder`, pick), directoryField(app, t`Directory`, directory, t`full path, empty or new; it stays mounted there whenever the agent runs`, { isNew: true }),
        h("label", { class: "check" }, readOnly, h("span", {}, t`Refuse changes`)),
        h("div", { class: "tools" }, h("button", { class: "main" }, t`Mount`))));
  }

  return {
    element: part.element,
    show(status) {
      folders = status.folders.map(({ id, label, path }) => ({ id, label, path }));
      show();
    },
    stop,
  };
}
