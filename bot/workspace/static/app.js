// The page: who is looking, at which channel and thread; what comes over the live connection; what is sent back.

import { avatar, clock, h } from "./dom.js";
import { renderMessage } from "./message.js";
import { drawModal } from "./modal.js";

const $ = (id) => document.getElementById(id);
const at = { me: "U0BEN", channel: "C0INCIDENTS", thread: null, single: null };
let state = null;
let socket = null;
let awaiting = null; // what this person just did: the bot's reply to it opens by itself
const unread = new Set();

const ERRORS = {
  not_in_channel: "You are not in this channel. Join it first.",
  is_archived: "This channel is archived.",
  unknown_command: "There is only /runbook here, and only people of this workspace have it.",
  no_commands_in_threads: "Slack has no slash commands in threads. Write @runbook and your question instead.",
  already_reacted: "You have put this reaction there already.",
  dispatch_failed: "The bot is not connected. Is it running?",
  operation_timeout: "The bot did not acknowledge this within three seconds.",
  no_text: "There is nothing to send.",
  view_not_found: "This window is closed already.",
};

// --- talking to the workspace ---

async function act(what, fields = {}) {
  try {
    const response = await fetch("/page/do", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ do: what, as: at.me, ...fields }),
    });
    const answer = await response.json();
    if (!answer.ok) toast(ERRORS[answer.error] ?? `The workspace says: ${answer.error}`);
    return answer;
  } catch {
    toast("The workspace does not answer. Is it still running?");
    return { ok: false };
  }
}

function connect() {
  socket?.close();
  const here = new WebSocket(`ws://${location.host}/page/live?as=${encodeURIComponent(at.me)}`);
  socket = here;
  here.onmessage = (event) => { if (here === socket) take(JSON.parse(event.data)); };
  here.onclose = () => {
    if (here !== socket) return;
    if (!state) at.me = "U0BEN"; // the address named nobody
    setTimeout(() => here === socket && connect(), 1000);
  };
}

function take(told) {
  switch (told.kind) {
    case "state":
      state = told;
      at.me = state.me;
      at.channel = (state.channels.find((one) => one.id === at.channel || one.name === at.channel) ?? firstChannel())?.id;
      drawAll();
      break;
    case "message":
      upsert(told.channel, told.message);
      break;
    case "gone":
      state.messages[told.channel] = state.messages[told.channel].filter((one) => one.ts !== told.ts);
      drawMessages();
      drawPanel();
      break;
    case "ephemeral":
      state.ephemerals = state.ephemerals.filter((one) => one.ts !== told.ts);
      if (told.message) {
        state.ephemerals.push(told.message);
        arrived(told.channel, alone(told.message));
      }
      redraw(told.ts, told.channel, told.message);
      break;
    case "views":
      state.views = told.views;
      drawModal($("modal"), state.views.at(-1), { names, act });
      break;
    case "home":
      state.home = told.home;
      break;
  }
}

function upsert(channel, message) {
  const list = (state.messages[channel] ??= []);
  const index = list.findIndex((one) => one.ts === message.ts);
  if (index < 0) {
    list.push(message);
    arrived(channel, message);
  } else list[index] = message;
  redraw(message.ts, channel, message);
}

function arrived(channel, message) {
  if (channel !== at.channel) {
    unread.add(channel);
    drawPlaces();
  }
  if (awaiting && channel === awaiting.channel && message.user === state.bot && Number(message.ts) > awaiting.since) {
    const root = message.thread_ts;
    if (root && (root === awaiting.root || Number(root) > awaiting.since) && innerWidth > 900) {
      at.thread = root;
      at.single = null;
      remember();
    } else if (message.alone && !root && !at.thread && innerWidth > 900 && state.why) at.single = message.ts;
  }
}

// --- looking things up ---

const person = (id) => state.people.find((one) => one.id === id);
const names = (id) => person(id)?.name ?? state.channels.find((one) => one.id === id)?.name ?? id;
const place = () => state.channels.find((one) => one.id === at.channel);
const firstChannel = () => state.channels.find((one) => one.joined) ?? state.channels[0];
const alone = (message) => ({ ...message, alone: true });
const mine = () => state.ephemerals.filter((one) => one.channel === at.channel).map(alone);

const inOrder = (list) => list.sort((one, other) => (one.ts < other.ts ? -1 : 1));
const roots = () => inOrder([...(state.messages[at.channel] ?? []), ...mine()].filter(
  (one) => !one.thread_ts || one.thread_ts === one.ts || one.subtype === "thread_broadcast"));
const repliesTo = (ts) => inOrder([...(state.messages[at.channel] ?? []), ...mine()].filter(
  (one) => one.thread_ts === ts && one.ts !== ts));
const threads = (ts) => {
  const all = repliesTo(ts);
  const own = all.filter((one) => one.alone).length;
  return { count: all.length - own, alone: own };
};

// --- drawing ---

function drawAll() {
  drawPeople();
  drawPlaces();
  drawHead();
  drawMessages(true);
  drawPanel(true);
  drawModal($("modal"), state.views.at(-1), { names, act });
}

function drawPeople() {
  const people = state.people.filter((one) => !one.bot);
  $("people").replaceChildren(...people.map((one) => h("li", {},
    h("button", { type: "button", "aria-pressed": String(one.id === at.me), onclick: () => become(one.id) },
      avatar(one.name), h("span", {}, h("b", {}, one.name), h("small", {}, one.role))))));
}

const MARK = { channel: "#", group: "🔒", mpim: "👥", im: "" };

function drawPlaces() {
  const item = (one) => h("li", {},
    h("button", {
      type: "button", class: unread.has(one.id) ? "unread" : "", "aria-current": one.id === at.channel ? "page" : null,
      onclick: () => go(one.id),
    },
      h("span", { class: "mark", "aria-hidden": "true" }, one.kind === "im" ? avatar("Runbook", "own") : MARK[one.kind]),
      h("span", { class: "label" }, one.kind === "im" ? "Runbook" : one.name),
      one.shared ? h("small", { title: "Shared with another company" }, "Acme") : null,
      one.guests && !one.shared ? h("small", { title: "A guest is in it" }, "guest") : null,
      !one.bot ? h("small", { title: "The bot was not invited" }, "no bot") : null));
  $("channels").replaceChildren(...state.channels.filter((one) => one.kind !== "im").map(item));
  $("direct").hidden = !state.channels.some((one) => one.kind === "im");
  $("apps").replaceChildren(...state.channels.filter((one) => one.kind === "im").map(item));
}

function drawHead() {
  const here = place();
  if (!here) return;
  const dm = here.kind === "im";
  $("name").textContent = dm ? "Runbook" : `${MARK[here.kind]} ${here.name}`;
  const kind = { channel: "public", group: "private", mpim: "group message", im: "direct message with the bot" }[here.kind];
  const facts = [kind];
  if (here.shared) facts.push("shared with Acme");
  if (here.guests) facts.push("a guest reads along");
  if (!dm) facts.push(here.members.filter((id) => !person(id)?.bot).map((id) => names(id)).sort().join(", "));
  const change = (fields, label) => h("button", { type: "button", class: "small", onclick: () => act("move", { channel: here.id, ...fields }) }, label);
  $("facts").replaceChildren(facts.join(" · "), " ",
    ...(!dm && !here.bot && here.joined ? [change({ bot: true, in: true }, "Invite the bot")] : []),
    ...(!here.joined ? [change({ in: true }, "Join")] : []));
  $("fire").hidden = dm || !here.joined;
  $("alerts").replaceChildren(...state.alerts.map((one) => h("li", {},
    h("button", { type: "button", "data-alert": one.id, onclick: () => fire(one.id) }, h("b", {}, one.title), h("small", {}, one.sender)))));
  $("words").placeholder = here.joined ? `Message ${dm ? "Runbook" : "#" + here.name}, or /runbook and what you need` : "Join the channel to write here";
  $("words").disabled = !here.joined;
  document.title = `${dm ? "Runbook" : "#" + here.name} · local workspace`;
  hint();
}

const on = {
  act: (message, element, option, button) => press(button, act("click", { channel: at.channel, ts: message.ts, action: element.action_id, option })),
  react(message, name, remove) {
    expect(message.thread_ts ?? message.ts);
    act("react", { channel: at.channel, ts: message.ts, name, remove });
  },
  thread: (message) => openThread(message.ts),
  why: (message) => { openThread(message.thread_ts ?? (message.alone ? null : message.ts), message); why(message); },
};

const view = (inThread) => ({ names, person, me: at.me, bot: state.bot, inThread, threads, whyKnown: state.why });

function drawMessages(jump = false) {
  const list = $("messages");
  const near = jump || nearEnd(list);
  const all = roots();
  list.replaceChildren(...(all.length ? all.map((one) => renderMessage(one, view(false), on)) : [empty()]));
  if (near) list.scrollTop = list.scrollHeight;
}

function empty() {
  const here = place();
  const tries = here?.bot && here.kind !== "im"
    ? ["/runbook postgres too many clients", "/runbook orders pile up in kafka", "/runbook restore checkout-db from a backup"]
    : ["/runbook postgres too many clients"];
  return h("li", { class: "empty" },
    h("h3", {}, here?.kind === "im" ? "Ask the bot in private" : `This is ${MARK[here?.kind] ?? ""}${here?.name ?? ""}`),
    h("p", {}, "Fire an alert, put 🔎 on a message, or ask:"),
    ...tries.map((words) => h("p", {}, h("button", { type: "button", class: "try", onclick: () => say(words) }, words))),
    h("p", {}, h("small", {}, "Then become somebody else on the left, and ask again: who may read what decides what is quoted.")));
}

// One message changed or came: only its own element is drawn anew, so that nothing jumps.
function redraw(ts, channel, message) {
  if (channel !== at.channel) return;
  const root = message?.thread_ts && message.thread_ts !== ts ? message.thread_ts : ts;
  replace($("messages"), root, roots().find((one) => one.ts === root), false, () => drawMessages());
  if (at.thread === root || at.single === ts) drawPanel(!$("thread").querySelector(`[data-ts="${ts}"]`));
}

function replace(list, ts, message, inThread, otherwise) {
  const old = list.querySelector(`[data-ts="${ts}"]`);
  if (!message) return old ? otherwise() : undefined;
  const near = nearEnd(list);
  const fresh = renderMessage(message, view(inThread), on);
  if (old) {
    const focused = old.contains(document.activeElement) ? document.activeElement.dataset.action : null;
    old.replaceWith(fresh);
    if (focused) fresh.querySelector(`[data-action="${CSS.escape(focused)}"]`)?.focus();
  } else if (list.querySelector(".empty") || (list.lastElementChild?.dataset.ts ?? "") > ts) {
    return otherwise();
  } else list.append(fresh);
  if (near) list.scrollTop = list.scrollHeight;
}

const nearEnd = (list) => list.scrollHeight - list.scrollTop - list.clientHeight < 120;

function drawPanel(jump = false) {
  const single = at.single && mine().find((one) => one.ts === at.single);
  const root = at.thread && (state.messages[at.channel] ?? []).find((one) => one.ts === at.thread);
  const shown = root ? [root, ...repliesTo(at.thread)] : single ? [single] : [];
  $("panel").classList.toggle("why-only", !root);
  $("panel-name").textContent = root ? "Thread" : "Behind the answer";
  $("panel").hidden = !shown.length;
  $("workspace").classList.toggle("with-panel", shown.length > 0);
  if (!shown.length) return;
  const list = $("thread");
  list.replaceChildren(...(root ? shown : []).map((one) => renderMessage(one, view(true), on)));
  $("reply").hidden = !root || !place()?.joined;
  if (jump) list.scrollTop = 0;
  if (jump) toAnswer(list);
  const answer = shown.filter((one) => one.user === state.bot && (one.ts !== root?.ts || shown.length === 1)).at(-1);
  if (answer) why(answer, jump);
  else $("why").hidden = true;
}

// The newest answer's beginning, as far up as it goes: what was asked may be long.
function toAnswer(list) {
  const last = [...list.querySelectorAll(".by-bot")].at(-1);
  if (last && last !== list.firstElementChild) list.scrollTop = last.offsetTop - 4;
}

let asked = "";
async function why(message, jump = false) {
  if (!state.why) return;
  asked = message.ts;
  const answer = await act("why", { channel: at.channel, ts: message.ts });
  if (asked !== message.ts) return;
  const reasons = answer.reasons ?? [];
  $("why").hidden = !reasons.length;
  $("why-at").textContent = `of ${clock(message.ts)}${message.alone ? ", for you alone" : ""} · only in this stand-in`;
  $("reasons").replaceChildren(...reasons.map((one) => h("li", {}, one)));
  if (jump) toAnswer($("thread"));
}

// --- what a person does here ---

function become(id) {
  at.me = id;
  // nothing of what the last person was shown stays, an answer that is still on its way included
  asked = "";
  $("reasons").replaceChildren();
  $("thread").replaceChildren();
  close();
  unread.clear();
  remember();
  connect();
  narrow(false);
}

function go(channel) {
  at.channel = channel;
  unread.delete(channel);
  close();
  remember();
  drawPlaces();
  drawHead();
  drawMessages(true);
  narrow(false);
  $("words").focus();
}

function openThread(ts, message = null) {
  at.thread = ts;
  at.single = ts ? null : message?.ts ?? null;
  remember();
  drawPanel(true);
}

function close() {
  at.thread = at.single = null;
  if (state) drawPanel();
}

const expect = (root = null) => { awaiting = { channel: at.channel, since: Date.now() / 1000 - 0.5, root }; };

async function fire(alert) {
  $("fire").open = false;
  expect();
  await act("fire", { channel: at.channel, alert });
}

function say(text, thread = null) {
  expect(thread);
  return act("say", { channel: at.channel, text, thread });
}

async function press(button, work) {
  button?.classList.add("busy");
  await work;
  button?.classList.remove("busy");
  if (button?.tagName === "SELECT") button.value = "";
}

function composer(form, area, send) {
  const grow = () => { area.style.height = "auto"; area.style.height = Math.min(area.scrollHeight + 2, 180) + "px"; };
  area.addEventListener("input", () => { grow(); hint(); });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = area.value.trim();
    if (!text) return;
    area.value = "";
    grow();
    const answer = await send(text);
    if (!answer.ok && !answer.unanswered && !area.value) area.value = text;
    hint();
  });
}

function hint() {
  const slash = $("words").value.startsWith("/");
  $("hint").textContent = slash
    ? "/runbook what you need · /runbook me … only for you · /runbook help · open · list"
    : "Enter sends · Shift+Enter new line · @runbook in a thread asks there";
}

let toasted = 0;
function toast(text) {
  $("toast").textContent = text;
  $("toast").classList.add("on");
  clearTimeout(toasted);
  toasted = setTimeout(() => $("toast").classList.remove("on"), 5000);
}

function narrow(open) {
  document.body.classList.toggle("menu-open", open);
  $("menu").setAttribute("aria-expanded", String(open));
}

// The address says who looks at what, so that two windows can be two people: #ben/incidents
function remember() {
  const parts = [names(at.me), names(at.channel), at.thread].filter(Boolean);
  history.replaceState(null, "", "#" + parts.map(encodeURIComponent).join("/"));
}

function start() {
  const [me, channel, thread] = location.hash.slice(1).split("/").map(decodeURIComponent);
  Object.assign(at, me && { me }, channel && { channel }, thread && { thread });
  connect();
}

composer($("composer"), $("words"), (text) => say(text));
composer($("reply"), $("answer"), (text) => say(text, at.thread));
$("shut").addEventListener("click", () => { close(); remember(); $("words").focus(); });
$("menu").addEventListener("click", () => narrow(!document.body.classList.contains("menu-open")));
$("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).getPropertyValue("color-scheme").trim() === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = localStorage.theme = dark ? "light" : "dark";
});
document.addEventListener("click", (event) => { if (!$("fire").contains(event.target)) $("fire").open = false; });
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || $("modal").open) return;
  if ($("fire").open) $("fire").open = false;
  else if (!$("panel").hidden) $("shut").click();
});
if (localStorage.theme) document.documentElement.dataset.theme = localStorage.theme;
start();
