// One message of the channel or of a thread.

import { renderBlocks } from "./blocks.js";
import { avatar, clock, h, link } from "./dom.js";
import { emoji } from "./emoji.js";
import { mrkdwn } from "./text.js";

const QUICK = ["mag_right", "eyes", "white_check_mark"];

// `on` has: act(message, element, option, button), react(message, name, remove), thread(message), why(message).
export function renderMessage(message, view, on) {
  const { names, person, me, inThread } = view;
  const author = authorOf(message, person);
  const act = (element, option, button) => on.act(message, element, option, button);
  const mine = message.alone;
  const body = h("div", { class: "body" },
    h("p", { class: "by" },
      h("b", {}, author.name),
      author.bot ? h("span", { class: "tag" }, "APP") : author.away ? h("span", { class: "tag away" }, "Acme") : null,
      h("time", { datetime: new Date(Number(message.ts) * 1000).toISOString() }, clock(message.ts)),
      view.whyKnown && author.id === view.bot && message.blocks?.length
        ? h("button", { type: "button", class: "ask-why", title: "Only in this stand-in", onclick: () => on.why(message) }, "Why this answer?")
        : null),
    ...content(message, names, act),
    message.edited ? h("small", { class: "edited" }, "(edited)") : null,
    reactions(message, me, on),
    !inThread && !mine ? replies(message, view, on) : null);
  return h("li", {
    class: ["message", mine ? "alone" : "", message.subtype === "tombstone" ? "gone" : "", author.bot ? "by-bot" : ""].join(" "),
    "data-ts": message.ts,
  },
    mine ? h("p", { class: "only" }, "👁 Only visible to you") : null,
    h("article", { "aria-label": `${author.name}, ${clock(message.ts)}` }, avatar(author.name, author.id === view.bot ? "own" : author.bot ? "bot" : ""), body),
    tools(message, view, on));
}

function authorOf(message, person) {
  const known = person(message.user);
  if (known) return { name: known.real_name, bot: known.bot, away: known.away, id: known.id };
  const name = message.username || message.bot_profile?.name || (message.user === "USLACKBOT" ? "Workspace" : "App");
  return { name, bot: true, away: false, id: message.user || message.bot_id };
}

function content(message, names, act) {
  const parts = [];
  if (message.blocks?.length) parts.push(...renderBlocks(message.blocks, names, act));
  else if (message.text) parts.push(h("div", { class: "text" }, ...mrkdwn(message.text, names)));
  for (const one of message.attachments ?? []) parts.push(attachment(one, names, act));
  return parts;
}

function attachment(one, names, act) {
  const drawn = one.blocks?.length > 0;
  const empty = !drawn && !one.title && !one.text && !one.pretext && !one.fields?.length;
  const box = h("div", { class: "attachment" },
    one.author_name ? h("p", {}, h("small", {}, one.author_name)) : null,
    one.title ? h("p", {}, h("b", {}, one.title_link ? link(one.title_link, ...mrkdwn(one.title, names)) : h("span", {}, ...mrkdwn(one.title, names)))) : null,
    one.text ? h("div", { class: "text" }, ...mrkdwn(one.text, names)) : null,
    one.fields?.length ? h("div", { class: "fields" }, ...one.fields.map((field) =>
      h("div", { class: field.short ? "" : "wide" }, h("b", {}, field.title ?? ""), h("div", {}, ...mrkdwn(field.value ?? "", names))))) : null,
    ...(drawn ? renderBlocks(one.blocks, names, act) : []),
    empty ? h("div", { class: "text" }, ...mrkdwn(one.fallback ?? "", names)) : null,
    one.footer ? h("p", {}, h("small", {}, one.footer)) : null);
  if (/^#?[0-9a-f]{6}$/i.test(one.color ?? "")) box.style.setProperty("--bar", "#" + one.color.replace("#", ""));
  return h("div", {}, one.pretext ? h("div", { class: "text" }, ...mrkdwn(one.pretext, names)) : null, box);
}

function reactions(message, me, on) {
  if (!message.reactions?.length) return null;
  return h("p", { class: "reactions" }, ...message.reactions.map((one) => {
    const own = one.users.includes(me);
    return h("button", {
      type: "button", class: own ? "own" : "", "aria-pressed": String(own), "aria-label": `${one.name}, ${one.count}`,
      onclick: () => on.react(message, one.name, own),
    }, emoji(one.name), " ", String(one.count));
  }));
}

function replies(message, { threads }, on) {
  const { count, alone } = threads(message.ts);
  if (!count && !alone) return null;
  const said = [count ? `${count} ${count === 1 ? "reply" : "replies"}` : "", alone ? `${alone} only for you` : ""];
  return h("button", { type: "button", class: "replies", onclick: () => on.thread(message) }, "💬 ", said.filter(Boolean).join(" · "));
}

function tools(message, { inThread }, on) {
  const parts = [];
  if (!message.alone && message.subtype !== "tombstone") {
    parts.push(...QUICK.map((name) => h("button", {
      type: "button", title: name === "mag_right" ? "Search the runbooks for this" : `React with ${name}`,
      "aria-label": `React with ${name}`, onclick: () => on.react(message, name, false),
    }, emoji(name))));
    if (!inThread) parts.push(h("button", { type: "button", title: "Reply in thread", "aria-label": "Reply in thread", onclick: () => on.thread(message) }, "💬"));
  }
  return parts.length ? h("div", { class: "tools", role: "group", "aria-label": "Actions" }, ...parts) : null;
}
