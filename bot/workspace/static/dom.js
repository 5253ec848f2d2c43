// Building elements. Text always goes in as a text node: nothing that a message says can become markup.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// A link that leaves the page; anything but a web or mail address stays text.
export function link(url, ...children) {
  const label = children.length ? children : [url];
  if (!/^(https?:\/\/|mailto:)/i.test(url)) return h("span", {}, ...label);
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, ...label);
}

export function clock(ts) {
  return new Date(Number(ts) * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

const COLOURS = ["#2f7d6d", "#a2552b", "#5b5fb0", "#8a3f6b", "#4a7a2c", "#356f9e", "#8a6a1f"];

// `kind`: "own" is the runbook bot, "bot" another app, otherwise a person.
export function avatar(name, kind = "") {
  if (kind === "own") return h("img", { class: "avatar", src: "/static/icon.svg", alt: "" });
  const sum = [...name].reduce((total, letter, index) => total + letter.codePointAt(0) * (index + 3), 0);
  const picture = h("span", { class: `avatar ${kind}`, "aria-hidden": "true" }, name.slice(0, 1).toUpperCase());
  picture.style.setProperty("--own", COLOURS[sum % COLOURS.length]);
  return picture;
}
