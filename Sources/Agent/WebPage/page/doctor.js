// Everything that can be wrong with this device, and what helps: as `synctrain doctor` shows it.
import { h, replace } from "./dom.js";
import { act } from "./parts.js";
import { plural, said, t } from "./words.js";

const signs = { problem: [t`problem`, "bad"], warning: [t`warning`, "warn"], note: [t`note`, ""], ok: [t`ok`, "good"] };

/** A button that has the agent examine its device, and what it found below it. */
export function doctor(app) {
  const found = h("div", { "aria-live": "polite" });
  const button = act(t`Check this device`, async () => {
    replace(found, [h("p", { class: "quiet" }, t`Checking; this takes some seconds.`)]);
    try { replace(found, report((await app.api.get("doctor")).findings)); } catch (error) { replace(found, [h("p", {}, error.message)]); }
  }, { title: t`Check configuration, permissions, index, connections, folders and space` });
  return h("div", {}, h("div", { class: "tools" }, button), found);
}

function report(findings) {
  const wrong = findings.filter((finding) => finding.state !== "ok");
  const well = findings.filter((finding) => finding.state === "ok");
  const problems = wrong.filter((finding) => finding.state === "problem").length;
  return [h("p", { "data-doctor": "sum" }, problems > 0 ? plural(problems, "{1} problem found.", "{1} problems found.") : t`No problems found.`),
    h("ul", { class: "plain" }, wrong.map(item)),
    h("details", {}, h("summary", {}, plural(well.length, "{1} check without a finding", "{1} checks without a finding")), h("ul", { class: "plain" }, well.map(item)))];
}

function item({ code, state, message, text, why, whyText, remedy, remedyText, command, details, detailTexts }) {
  const [word, look] = signs[state] ?? [state, ""];
  return h("li", { "data-finding": code }, h("span", { class: `tag ${look}` }, word), " ", said(message, text),
    details.length > 0 && h("ul", {}, details.map((line, i) => h("li", { class: "quiet" }, said(line, detailTexts?.[i])))),
    why && h("p", { class: "quiet" }, said(why, whyText)),
    remedy && h("p", {}, said(remedy, remedyText), command && [" ", h("code", {}, command)]));
}
