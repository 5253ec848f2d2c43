// Block Kit as elements. `act(element, option, button)` is called for whatever a person presses or chooses.

import { emoji } from "./emoji.js";
import { h, link } from "./dom.js";
import { markdown, mention, mrkdwn, unescape } from "./text.js";

export function renderBlocks(blocks, names, act) {
  return (blocks ?? []).map((block) => h("div", { class: `block ${String(block.type).replace(/\W/g, "")}` }, ...inside(block, names, act)));
}

function inside(block, names, act) {
  switch (block.type) {
    case "header":
      return [h("h3", {}, ...plain(block.text))];
    case "divider":
      return [h("hr")];
    case "section":
      return [
        h("div", { class: "words" },
          block.text ? h("div", { class: "text" }, ...words(block.text, names)) : null,
          block.fields ? h("div", { class: "fields" }, ...block.fields.map((field) => h("div", {}, ...words(field, names)))) : null),
        block.accessory ? element(block.accessory, names, act) : null,
      ];
    case "context":
      return block.elements.map((one) => (one.type === "image" ? picture(one) : h("span", {}, ...words(one, names))));
    case "actions":
    case "context_actions":
      return block.elements.map((one) => element(one, names, act));
    case "image":
      return [picture(block)];
    case "rich_text":
      return block.elements.map((one) => rich(one, names));
    case "markdown":
      return markdown(block.text);
    case "input":
      return [h("label", {}, ...plain(block.label), block.optional ? h("small", {}, " (optional)") : null,
        element(block.element, names, act, block.block_id), block.hint ? h("small", {}, ...plain(block.hint)) : null)];
    default:
      return [h("em", {}, `a ${block.type} block, which this stand-in does not draw`)];
  }
}

function words(text, names) {
  return text.type === "mrkdwn" ? mrkdwn(text.text, names) : plain(text);
}

function plain(text) {
  if (!text) return [];
  const shown = text.emoji === false ? text.text : text.text.replace(/:([a-z0-9_+-]+):/g, (_, name) => emoji(name));
  return [unescape(shown)];
}

// Pictures of other places are not fetched: nothing leaves this computer.
function picture(image) {
  return h("span", { class: "picture" }, image.alt_text ? `🖼 ${image.alt_text}` : "🖼");
}

// --- what can be pressed ---

function element(one, names, act, block) {
  switch (one.type) {
    case "button": {
      const press = (event) => act(one, null, event.currentTarget);
      const attributes = { class: one.style ?? "", "data-action": one.action_id, "aria-label": one.accessibility_label, onclick: press };
      if (one.url && /^https?:\/\//i.test(one.url)) {
        return h("a", { ...attributes, class: `button ${one.style ?? ""}`, href: one.url, target: "_blank", rel: "noopener noreferrer" }, ...plain(one.text), " ↗");
      }
      return h("button", { type: "button", ...attributes }, ...plain(one.text));
    }
    case "icon_button":
      return h("button", { type: "button", "data-action": one.action_id, onclick: (event) => act(one, null, event.currentTarget) }, ...plain(one.text));
    case "feedback_buttons":
      return h("span", { class: "feedback" }, ...["positive_button", "negative_button"].map((side) =>
        h("button", { type: "button", "data-action": one.action_id, "aria-label": one[side].accessibility_label, onclick: (event) => act(one, one[side].value, event.currentTarget) },
          side === "positive_button" ? "👍 " : "👎 ", ...plain(one[side].text))));
    case "overflow":
    case "static_select": {
      const first = one.type === "overflow" ? "⋯" : one.placeholder?.text ?? "Choose…";
      const choose = (event) => { if (event.target.value && !block) act(one, event.target.value, event.target); };
      return h("select", { "data-action": one.action_id, "data-block": block, "aria-label": first, onchange: choose },
        h("option", { value: "" }, first),
        ...(one.options ?? []).map((option) => h("option", { value: option.value, selected: option.value === one.initial_option?.value }, ...plain(option.text))));
    }
    case "checkboxes":
    case "radio_buttons": {
      const type = one.type === "checkboxes" ? "checkbox" : "radio";
      const on = new Set((one.initial_options ?? [one.initial_option]).map((option) => option?.value));
      const group = h("fieldset", { "data-action": one.action_id, "data-block": block });
      const change = () => { if (!block) act(one, [...group.querySelectorAll(":checked")].map((box) => box.value).join(","), group); };
      group.append(...one.options.map((option) => h("label", {},
        h("input", { type, name: one.action_id, value: option.value, checked: on.has(option.value), onchange: change }), " ",
        ...words(option.text, names))));
      return group;
    }
    case "plain_text_input": {
      const attributes = { "data-action": one.action_id, "data-block": block, placeholder: one.placeholder?.text, maxlength: one.max_length };
      const input = one.multiline ? h("textarea", { rows: 4, ...attributes }) : h("input", { type: "text", ...attributes });
      input.value = one.initial_value ?? "";
      return input;
    }
    case "image":
      return picture(one);
    default:
      return h("em", {}, one.type);
  }
}

// What stands in a modal's inputs, as Slack's `state.values`.
export function valuesOf(root) {
  const values = {};
  for (const input of root.querySelectorAll("[data-block]")) {
    const { block, action } = input.dataset;
    const chosen = [...input.querySelectorAll(":checked")].map((box) => ({ value: box.value }));
    let state;
    if (input.tagName === "SELECT") state = { type: "static_select", selected_option: input.value ? { value: input.value } : null };
    else if (input.tagName === "FIELDSET") {
      const many = input.querySelector("input")?.type === "checkbox";
      state = many ? { type: "checkboxes", selected_options: chosen } : { type: "radio_buttons", selected_option: chosen[0] ?? null };
    } else state = { type: "plain_text_input", value: input.value || null };
    (values[block] ??= {})[action] = state;
  }
  return values;
}

// --- rich text ---

function rich(one, names) {
  const leaves = () => (one.elements ?? []).map((leaf) => richLeaf(leaf, names));
  switch (one.type) {
    case "rich_text_preformatted":
      return h("pre", {}, ...leaves());
    case "rich_text_quote":
      return h("blockquote", {}, ...leaves());
    case "rich_text_list": {
      const list = h(one.style === "ordered" ? "ol" : "ul", one.style === "ordered" ? { start: (one.offset ?? 0) + 1 } : {},
        ...one.elements.map((item) => h("li", {}, ...item.elements.map((leaf) => richLeaf(leaf, names)))));
      list.style.setProperty("--indent", one.indent ?? 0);
      return list;
    }
    default:
      return h("div", { class: "text" }, ...leaves());
  }
}

function richLeaf(leaf, names) {
  switch (leaf.type) {
    case "text": return styled(leaf.text, leaf.style);
    case "link": return link(leaf.url, styled(leaf.text || leaf.url, leaf.style));
    case "user": return mention("@" + names(leaf.user_id));
    case "usergroup": return mention("@" + names(leaf.usergroup_id));
    case "channel": return mention("#" + names(leaf.channel_id));
    case "broadcast": return mention("@" + leaf.range, "mention loud");
    case "emoji": return emoji(leaf.name);
    default: return leaf.fallback ?? "";
  }
}

function styled(text, style = {}) {
  let shown = text;
  for (const [name, tag] of [["code", "code"], ["bold", "strong"], ["italic", "em"], ["strike", "s"]]) {
    if (style[name]) shown = h(tag, {}, shown);
  }
  return shown;
}
