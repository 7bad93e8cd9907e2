import { h } from "./dom.js";

export const title = "Activity";
export const icon = "activity";

export function mount(root) {
  root.append(h("p", { class: "empty" }, "Nothing to show."));
  return { route() {}, unmount() {} };
}
