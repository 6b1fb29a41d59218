// The search: one word, its translations and neighbours.

import { RequestError, get } from "./api.js";
import { combobox } from "./combobox.js";
import { addressOf, byId, element, names, number, otherSide, percent, score, requestTracker, word, wordLink } from "./dom.js";
import { picture } from "./picture.js";

const EXAMPLES = 12;
const RARER = 300; // the words before are mostly "of" and "which"
const SURE = 0.9;
let shown = null;
const newest = requestTracker();

export function start() {
  combobox(byId("search-word"), byId("search-list"), { choose: go });
  let timer = 0;
  window.addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => shown && drawPicture(shown), 150);
  });
}

async function go(text, side) {
  if (side) return open(side, text);
  const current = newest();
  const found = await get("complete", { prefix: text.trim() });
  if (!current()) return; // another word was requested meanwhile
  const exact = found.words.find((item) => item.word === text.trim()) || found.words[0];
  if (exact) return open(exact.side, exact.word);
  const { sides } = await get("outside", { word: text.trim() }); // composed from its words, or from its subwords
  if (!current()) return;
  if (sides.length) return open(sides[0], text.trim());
  shown = null;
  byId("word").replaceChildren(
    element("p", { class: "empty" }, "No word of either language begins with “", word(text.trim()), "”. Check its spelling, or try its base form: only words with a vector can be found."),
  );
}

function open(side, text) {
  location.hash = addressOf(side, text);
}

export async function show(side, text) {
  const input = byId("search-word");
  const current = newest();
  if (!side) {
    input.focus();
    if (shown) drawPicture(shown); // it may have arrived while another view was shown
    else await welcome(current);
    return;
  }
  const typed = input.value;
  try {
    const found = await get("word", { side, word: text });
    if (!current()) return; // another word was requested meanwhile
    shown = found;
    if (input.value === typed) input.value = found.word; // otherwise the next word is being typed
    byId("word").replaceChildren(...describe(found));
    drawPicture(found);
  } catch (error) {
    if (!(error instanceof RequestError) || !current()) return;
    shown = null;
    byId("word").replaceChildren(element("p", { class: "empty" }, word(text), `: ${error.message}`));
  }
}

async function welcome(current) {
  let page = await get("entries", { limit: 120, matched: 1, min_frequency: RARER, min_confidence: SURE });
  if (!page.rows.length) page = await get("entries", { limit: EXAMPLES, matched: 1 }); // few words, or an older run
  if (!current()) return;
  const telling = page.rows.filter((row) => /^\p{L}{5,}$/u.test(row.source) && row.source !== row.target);
  const chosen = (telling.length >= EXAMPLES ? telling : page.rows).slice(0, EXAMPLES);
  const words = chosen.flatMap((row) => [wordLink(row.source, "source"), " "]);
  byId("word").replaceChildren(
    element("p", { class: "empty" }, "Type the beginning of a word. Accents and capitals do not matter."),
    words.length ? element("p", { class: "try" }, "For example: ", ...words) : "",
  );
}

function describe(found) {
  const other = otherSide(found.side);
  return [
    element(
      "div",
      { class: "headword" },
      element("h2", {}, word(found.word, found.side)),
      element("p", {}, `${names[found.side]}, ${rank(found)}`, ...elsewhere(found)),
    ),
    matched(found, other),
    ...(found.hub?.hub && !found.entries.some((entry) => entry.mutual) ? [hub(found)] : []),
    element(
      "div",
      { class: "lists" },
      ranking(`Best translations in ${names[other]}`, found.best[0]?.confidence === undefined ? "by cosine, hubs discounted" : "by weight, with confidence", found.best, other),
      ranking(`Nearest in ${names[other]}`, "by cosine", found.nn, other),
      ranking(`Neighbours in ${names[found.side]}`, "by cosine", found.neighbours, found.side),
      caption(),
    ),
  ];
}

function caption() {
  return element(
    "figure",
    { class: "picture" },
    element("div", { id: "picture" }),
    element(
      "figcaption",
      {},
      element("span", { class: "key source" }, names.source),
      element("span", { class: "key target" }, names.target),
      "The shared space around the word, projected on its two principal components. Lines join pairs of the lexicon.",
    ),
  );
}

function rank(found) {
  return found.frequency ? `frequency rank ${number(found.frequency)}` : "not in the vocabulary: its vector is composed";
}

function elsewhere(found) {
  if (!found.elsewhere) return [];
  const link = element("a", { href: addressOf(found.elsewhere, found.word) }, `also ${found.frequency ? "a word of" : "in"} ${names[found.elsewhere]}`);
  return [" · ", link];
}

function matched(found, other) {
  if (!found.entries.length) {
    return element(
      "p",
      { class: "matched none" },
      found.frequency ? "Not in the lexicon: no translation was probable enough." : "Not in the lexicon.",
      ...(found.unmatched ? [" ", translationLink(found.unmatched)] : []),
    );
  }
  const entries = found.entries.map((entry) =>
    element(
      "li",
      {},
      wordLink(entry[other], other),
      element("span", { class: "score" }, entry.confidence === null ? "" : `confidence ${percent(entry.confidence)}`),
      element("span", { class: "tag" }, entry.origin),
      element("span", { class: "tag" }, entry.mutual ? "mutual" : "not mutual"),
      element(
        "a",
        { class: "review-link", href: `#review/${entry.entry}` },
        entry.decision === "undecided" ? "review" : decisionTag(entry),
      ),
    ),
  );
  return element("div", { class: "matched" }, element("h3", {}, "In the lexicon"), element("ul", {}, ...entries));
}

function translationLink(row) {
  const link = (...content) => element("a", { href: `#review/${row.entry}` }, ...content);
  return row.correction ? link("In the review: ", word(row.correction, "target")) : link("Give it a translation");
}

export function decisionTag(entry) {
  const tag = element("span", { class: `tag ${entry.decision}` }, entry.decision);
  if (entry.correction) tag.append(": ", word(entry.correction, "target"));
  return tag;
}

function hub(found) {
  const { count } = found.hub;
  const text = `A hub: it is the nearest neighbour of ${number(count)} ${names[otherSide(found.side)]} words, and the translation of few of them.`;
  return element("p", { class: "hub is" }, text);
}

function ranking(title, note, found, side) {
  const value = (item) => (item.confidence === undefined ? item.score : item.confidence);
  const top = found[0]?.confidence === undefined ? Math.max(...found.map(value), 0.001) : 1;
  return element(
    "section",
    { class: "ranking" },
    element("h3", {}, title, " ", element("small", {}, note)),
    element(
      "ol",
      {},
      ...found.map((item) =>
        element(
          "li",
          {},
          wordLink(item.word, side),
          element("meter", { min: 0, max: top, value: Math.max(value(item), 0), "aria-hidden": "true" }),
          element("span", { class: "score" }, item.confidence === undefined ? score(item.score) : percent(item.confidence)),
        ),
      ),
    ),
  );
}

function drawPicture(found) {
  const holder = byId("picture");
  if (!holder || byId("view-search").hidden) return;
  const place = new Map(found.picture.map((point, index) => [`${point.side} ${point.word}`, index]));
  picture(holder, found.picture, found.pairs.map(([s, t]) => [place.get(`source ${s}`), place.get(`target ${t}`)]));
}
