import { h } from "./dom.js";

export const title = "Files";
export const icon = "files";

export function mount(root) {
  root.append(h("p", { class: "empty" }, "Nothing to show."));
  return { route() {}, unmount() {} };
}
