// Six digits that two devices show and their users compare.
import { h } from "./dom.js";
import { act } from "./parts.js";
import { t } from "./words.js";

/**
 * The question whether the other device shows the same digits, the safe answer first: `{element, differ, same}`. `name` is what its ids begin
 * with, `about` who the other device is; `refuse` and `confirm` are called with a press of a button and never otherwise.
 */
export function digitsQuestion({ name, code, about, refuse, confirm }) {
  const spoken = [...code.slice(0, 3)].join(" ") + ", " + [...code.slice(3)].join(" ");
  const attributes = { "aria-describedby": `${name}-digits` };
  const differ = act(t`They differ`, refuse, { ...attributes, "data-key": "differ" });
  const same = act(t`They are the same`, confirm, { ...attributes, class: "main", "data-key": "same" });
  const element = h("div", { class: "code", role: "group", "aria-labelledby": `${name}-question` },
    h("h3", { id: `${name}-question` }, t`Does the other device show the same digits?`),
    h("p", { id: `${name}-digits`, class: "digits", role: "img", "aria-label": spoken, "data-code": code }, `${code.slice(0, 3)} ${code.slice(3)}`),
    h("p", { class: "quiet" }, about), h("div", { class: "choices" }, differ, same));
  return { element, differ, same };
}
