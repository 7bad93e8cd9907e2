// Menus: of what is below the pointer, and of a button for what is not done every day.
import { h, icon } from "./dom.js";

let open = null;

/**
 * Opens a menu at a place of the window. `items` are `{label, run, kind?}`, null for a line between them, or false; the focus goes
 * back to `from` when it closes.
 */
export function openMenu(items, { x, y, label, from }) {
  open?.close();
  const buttons = [];
  const menu = h("div", { class: "menu", role: "menu", "aria-label": label },
    items.filter((item) => item !== false && item !== undefined).map((item) => {
      if (!item) return h("div", { role: "separator" });
      const entry = h("button", { type: "button", role: "menuitem", tabindex: "-1", class: item.kind, onclick: () => { close(); item.run(); } }, item.label);
      buttons.push(entry);
      return entry;
    }));
  const isButton = from.matches(".more");
  const close = () => {
    if (open?.close !== close) return;
    open = null;
    const hadFocus = menu.contains(document.activeElement);
    menu.remove();
    document.removeEventListener("pointerdown", outside, true);
    window.removeEventListener("hashchange", close);
    window.removeEventListener("resize", close);
    if (isButton) from.setAttribute("aria-expanded", "false");
    if (hadFocus) from.focus({ preventScroll: true });
  };
  // A press on the button that opened it is the button's.
  const outside = (event) => { if (!menu.contains(event.target) && !(isButton && from.contains(event.target))) close(); };
  menu.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement);
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
    if (event.key in moves) buttons.at(moves[event.key] % buttons.length).focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key.length === 1 && event.key !== " ") {
      const starts = (button) => button.textContent.toLowerCase().startsWith(event.key.toLowerCase());
      (buttons.slice(at + 1).find(starts) ?? buttons.find(starts))?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  menu.addEventListener("focusout", (event) => { if (event.relatedTarget && !menu.contains(event.relatedTarget)) close(); });
  document.addEventListener("pointerdown", outside, true);
  window.addEventListener("hashchange", close);
  window.addEventListener("resize", close);
  document.getElementById("view").append(menu);
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
  menu.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
  open = { close };
  if (isButton) from.setAttribute("aria-expanded", "true");
  buttons[0]?.focus();
}

/** A button that opens a menu of what is not done every day; `items()` says what. */
export function moreButton(label, items, attributes = {}) {
  const button = h("button", { type: "button", class: "more", "aria-label": label, title: label, "aria-haspopup": "menu", "aria-expanded": "false", ...attributes }, icon("more"));
  button.addEventListener("click", () => {
    if (button.getAttribute("aria-expanded") === "true") return open?.close();
    const { left, bottom } = button.getBoundingClientRect();
    return openMenu(items(), { x: left, y: bottom + 4, label, from: button });
  });
  return button;
}
