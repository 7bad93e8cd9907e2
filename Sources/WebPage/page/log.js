import { h } from "./dom.js";

export const title = "Log";
export const icon = "log";

export function mount(root) {
  root.append(h("p", { class: "empty" }, "Nothing to show."));
  return { route() {}, unmount() {} };
}
