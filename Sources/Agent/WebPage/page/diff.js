// What diff(1) says in its unified form, line by line, with words and signs beside the colours.
import { h } from "./dom.js";
import { t } from "./words.js";

/** Lines as `{kind, text}`, kind `where`, `theirs`, `mine`, `both` or `remark`. Pure. */
export function parse(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  let isInside = false;
  return lines.flatMap((line) => {
    if (line.startsWith("@@")) { isInside = true; return [{ kind: "where", text: line }]; }
    if (!isInside) return [];
    switch (line[0]) {
      case "-": return [{ kind: "theirs", text: line.slice(1) }];
      case "+": return [{ kind: "mine", text: line.slice(1) }];
      case "\\": return [{ kind: "remark", text: line.slice(2) }];
      default: return [{ kind: "both", text: line.slice(1) }];
    }
  });
}

const signs = { theirs: t`− theirs`, mine: t`+ mine`, both: "", where: "", remark: "" };

export function difference(text, isCut) {
  const lines = parse(text);
  return [
    h("div", { class: "diff", tabindex: "0", role: "group", "aria-label": t`Differences, from theirs to mine` },
      lines.slice(0, 2000).map(({ kind, text: line }) => h("div", { class: kind === "where" ? "hunk" : kind }, h("span", { class: "sign" }, signs[kind]), h("span", {}, line || " ")))),
    (isCut || lines.length > 2000) && h("p", { class: "quiet" }, t`Truncated; open both files to see everything.`),
  ];
}
