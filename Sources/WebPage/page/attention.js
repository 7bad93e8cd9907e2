import { h } from "./dom.js";

export const title = "Attention";
export const icon = "attention";

export function mount(root) {
  root.append(h("p", { class: "empty" }, "Nothing to show."));
  return { route() {}, unmount() {} };
}
