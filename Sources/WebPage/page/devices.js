import { h } from "./dom.js";

export const title = "Devices";
export const icon = "devices";

export function mount(root) {
  root.append(h("p", { class: "empty" }, "Nothing to show."));
  return { route() {}, unmount() {} };
}
