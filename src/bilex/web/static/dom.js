// Elements of the page. Words only ever become text nodes, so whatever they hold is shown and never run.

const SVG = "http://www.w3.org/2000/svg";

// Direction marks, which would reorder the text around them, and control characters: shown by their code point.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/;

export const byId = (id) => document.getElementById(id);
const meta = (name) => document.querySelector(`meta[name="bilex-${name}"]`).content;
export const names = { source: meta("source"), target: meta("target") };
export const token = meta("token");
export const identity = meta("identity");
export const otherSide = (side) => (side === "source" ? "target" : "source");

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  set(node, attributes);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function drawn(tag, attributes = {}, text = "") {
  const node = document.createElementNS(SVG, tag);
  set(node, attributes);
  if (text) node.textContent = text;
  return node;
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
}

// A word as it is written: kept apart from the direction of the text around it, in the language's own glyphs.
export function word(text, side) {
  const node = element("bdi", { class: `word ${side || ""}`, lang: languageOf(side) });
  for (const char of visible(text)) {
    node.append(char.hidden ? element("span", { class: "hidden-character" }, char.text) : char.text);
  }
  return node;
}

export function plainText(text) {
  return visible(text).map((part) => part.text).join("");
}

function visible(text) {
  if (!HIDDEN.test(text)) return [{ text }];
  return Array.from(text, (char) =>
    HIDDEN.test(char)
      ? { hidden: true, text: `U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}` }
      : { text: char },
  );
}

export function languageOf(side) {
  return /^[a-z]{2,3}$/.test(names[side] || "") ? names[side] : null;
}

export function wordLink(text, side) {
  return element("a", { class: "word-link", href: addressOf(side, text) }, word(text, side));
}

export const addressOf = (side, text) => `#search/${side}/${encodeURIComponent(text)}`;
export const number = (value) => value.toLocaleString("en");
// As in the report: only exactly 0 is shown as 0%, and only exactly 1 as 100%.
export function percent(value) {
  if (value === null || value === undefined) return "";
  if (value > 0 && value < 0.005) return "<0.5%";
  return value > 0.995 && value < 1 ? ">99%" : `${Math.round(100 * value)}%`;
}
export const score = (value) => (value === null ? "" : value.toFixed(3).replace("-", "−"));

// A problem stays until something of its `kind` succeeds: the connection, or a change.
export function showProblem(text, kind = "answer") {
  const place = byId("problem");
  place.textContent = text;
  place.dataset.kind = text ? kind : "";
  place.hidden = !text;
}

export function clearProblem(kind) {
  if (byId("problem").dataset.kind === kind) showProblem("");
}

// Requests of one kind, of which only the newest may change the page: `newest()` returns a test for "still the newest".
export function requestTracker() {
  let last = 0;
  return () => {
    const mine = (last += 1);
    return () => mine === last;
  };
}
