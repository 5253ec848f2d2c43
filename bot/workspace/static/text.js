// Slack's two text formats as elements: mrkdwn (`*bold*`, `<url|label>`) and the `markdown` block.

import { emoji } from "./emoji.js";
import { h, link } from "./dom.js";

export const unescape = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");

// --- mrkdwn ---

const INLINE = /```\n?([\s\S]+?)\n?```|`([^`\n]+)`|<([^<>\n]+)>|(?<![\w*])\*(\S(?:[^*\n]*\S)?)\*(?![\w*])|(?<![\w_])_(\S(?:[^_\n]*\S)?)_(?![\w_])|(?<![\w~])~(\S(?:[^~\n]*\S)?)~(?![\w~])|:([a-z0-9_+-]+):/g;

// `names` gives the shown name of a user, channel or group id.
export function mrkdwn(text, names) {
  const parts = [];
  const fenced = text.split(/(```[\s\S]+?```)/);
  for (const piece of fenced) {
    if (piece.startsWith("```") && piece.length > 6) parts.push(...inline(piece, names));
    else parts.push(...quotes(piece, names));
  }
  return parts;
}

function quotes(text, names) {
  const parts = [];
  let quoted = [];
  const flush = () => {
    if (quoted.length) parts.push(h("blockquote", {}, ...inline(quoted.join("\n"), names)));
    quoted = [];
  };
  text.split("\n").forEach((line, index, lines) => {
    const found = line.match(/^&gt;\s?(.*)$/);
    if (found) return quoted.push(found[1]);
    const wasQuoted = quoted.length > 0;
    flush();
    if (index > 0 && !wasQuoted) parts.push("\n");
    if (line || index < lines.length - 1) parts.push(...inline(line, names));
  });
  flush();
  return parts;
}

function inline(text, names) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    parts.push(unescape(text.slice(end, found.index)));
    end = found.index + found[0].length;
    const [, pre, code, token, bold, italic, strike, name] = found;
    if (pre !== undefined) parts.push(h("pre", {}, unescape(pre)));
    else if (code !== undefined) parts.push(h("code", {}, unescape(code)));
    else if (token !== undefined) parts.push(reference(token, names));
    else if (bold !== undefined) parts.push(h("strong", {}, ...inline(bold, names)));
    else if (italic !== undefined) parts.push(h("em", {}, ...inline(italic, names)));
    else if (strike !== undefined) parts.push(h("s", {}, ...inline(strike, names)));
    else parts.push(emoji(name));
  }
  parts.push(unescape(text.slice(end)));
  return parts.filter((part) => part !== "");
}

function reference(token, names) {
  const [target, label] = token.split(/\|(.*)/s);
  if (target.startsWith("@")) return mention("@" + names(target.slice(1)));
  if (target.startsWith("#")) return mention("#" + (label || names(target.slice(1))));
  if (target.startsWith("!subteam^")) return mention(label || "@" + names(target.slice(9)));
  if (target.startsWith("!date")) return h("span", {}, label || "");
  if (target.startsWith("!")) return mention("@" + target.slice(1), "mention loud");
  return link(unescape(target), ...(label ? inline(label, names) : []));
}

export const mention = (text, kind = "mention") => h("span", { class: kind }, text);

// --- the markdown block ---

export function markdown(text) {
  const parts = [];
  const lines = text.split("\n");
  for (let i = 0; i < lines.length; ) {
    const line = lines[i];
    const fence = line.match(/^\s*(`{3,}|~{3,})/);
    const heading = line.match(/^(#{1,6})\s+(.*)$/);
    if (fence) {
      const body = [];
      for (i++; i < lines.length && !lines[i].trim().startsWith(fence[1]); i++) body.push(lines[i]);
      i++;
      parts.push(h("pre", {}, body.join("\n")));
    } else if (heading) {
      parts.push(h("h4", {}, ...span(heading[2])));
      i++;
    } else if (/^\s*([-*+]|\d+[.)])\s+/.test(line)) {
      const ordered = /^\s*\d/.test(line);
      const list = h(ordered ? "ol" : "ul", ordered ? { start: parseInt(line, 10) || 1 } : {});
      for (; i < lines.length && /^\s*([-*+]|\d+[.)])\s+/.test(lines[i]); i++) {
        list.append(h("li", {}, ...span(lines[i].replace(/^\s*([-*+]|\d+[.)])\s+/, ""))));
      }
      parts.push(list);
    } else if (/^\s*\|/.test(line)) {
      const rows = [];
      for (; i < lines.length && /^\s*\|/.test(lines[i]); i++) rows.push(lines[i].trim());
      parts.push(table(rows));
    } else if (/^\s*>/.test(line)) {
      const body = [];
      for (; i < lines.length && /^\s*>/.test(lines[i]); i++) body.push(lines[i].replace(/^\s*>\s?/, ""));
      parts.push(h("blockquote", {}, ...span(body.join("\n"))));
    } else if (/^\s*(---+|\*\*\*+)\s*$/.test(line)) {
      parts.push(h("hr"));
      i++;
    } else if (!line.trim()) {
      i++;
    } else {
      const body = [];
      for (; i < lines.length && lines[i].trim() && !/^\s*(#{1,6}\s|```|~~~|>|\||([-*+]|\d+[.)])\s)/.test(lines[i]); i++) body.push(lines[i]);
      if (!body.length) body.push(lines[i++]);
      parts.push(h("p", {}, ...span(body.join("\n"))));
    }
  }
  return parts;
}

function table(rows) {
  const cells = (row) => row.replace(/^\||\|$/g, "").split("|").map((cell) => span(cell.trim()));
  const body = rows.filter((row, index) => !(index === 1 && /^[\s|:-]+$/.test(row)));
  return h("table", {}, ...body.map((row, index) =>
    h("tr", {}, ...cells(row).map((cell) => h(index ? "td" : "th", {}, ...cell)))));
}

const SPAN = /`([^`\n]+)`|\[([^\]\n]+)\]\(([^)\s]+)\)|\*\*(\S(?:[^\n]*?\S)?)\*\*|(?<![\w*])\*(\S(?:[^*\n]*\S)?)\*(?![\w*])|(?<![\w_])_(\S(?:[^_\n]*\S)?)_(?![\w_])|~~(\S(?:[^~\n]*\S)?)~~|\\([\\`*_{}[\]()#+.!|>~-])/g;

function span(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(SPAN)) {
    parts.push(text.slice(end, found.index));
    end = found.index + found[0].length;
    const [, code, label, url, bold, star, bar, strike, escaped] = found;
    if (code !== undefined) parts.push(h("code", {}, code));
    else if (label !== undefined) parts.push(link(url, ...span(label)));
    else if (bold !== undefined) parts.push(h("strong", {}, ...span(bold)));
    else if (star !== undefined || bar !== undefined) parts.push(h("em", {}, ...span(star ?? bar)));
    else if (strike !== undefined) parts.push(h("s", {}, ...span(strike)));
    else parts.push(escaped);
  }
  parts.push(text.slice(end));
  return parts.filter((part) => part !== "");
}
