// The modal on top of a person's screen.

import { renderBlocks, valuesOf } from "./blocks.js";
import { h } from "./dom.js";

let shown = null;

export function drawModal(dialog, view, { names, act }) {
  shown = view ?? null;
  if (!view) {
    if (dialog.open) dialog.close();
    return;
  }
  const press = async (element, option, button) => {
    button?.classList.add("busy");
    await act("click", { view: view.id, action: element.action_id, option });
    button?.classList.remove("busy");
  };
  const body = h("div", { class: "modal-body", tabindex: "0" }, ...renderBlocks(view.blocks, names, press));
  for (const [block, text] of Object.entries(view.errors ?? {})) {
    body.querySelector(`[data-block="${CSS.escape(block)}"]`)?.after(h("small", { class: "error", role: "alert" }, text));
  }
  const form = h("form", { onsubmit: (event) => { event.preventDefault(); act("submit", { view: view.id, values: valuesOf(body) }); } },
    h("header", {}, h("h2", { id: "modal-title" }, view.title.text), h("button", { type: "button", class: "plain", "aria-label": "Close", onclick: () => act("close") }, "✕")),
    body,
    h("footer", {},
      h("button", { type: "button", onclick: () => act("close") }, view.close?.text ?? "Close"),
      view.submit ? h("button", { type: "submit", class: "primary" }, view.submit.text) : null));
  const kept = dialog.querySelector(".modal-body")?.scrollTop ?? 0;
  const same = dialog.dataset.view === view.id;
  dialog.replaceChildren(form);
  dialog.dataset.view = view.id;
  dialog.oncancel = (event) => { event.preventDefault(); if (shown) act("close"); };
  if (!dialog.open) dialog.showModal();
  body.scrollTop = same ? kept : 0;
  if (!same) body.focus();
}
