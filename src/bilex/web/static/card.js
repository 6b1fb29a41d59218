// The card of the entry under review.

import { element, names, number, percent, plainText, score, word, wordLink } from "./dom.js";
import { decisionTag } from "./search.js";

// `found` describes the source word, once the server has answered; `act` holds the actions of the buttons.
export function card(row, act, alternatives = null, found = null) {
  const decided = row.decision !== "undecided";
  const unmatched = row.target === null;
  return [
    element(
      "div",
      { class: "decisions", role: "group", "aria-label": "Your decision" },
      ...(unmatched ? [] : [button("accept", "a", "Accept", () => act.decide("accepted"))]),
      ...(unmatched ? [] : [button("reject", "r", "Reject", () => act.decide("rejected"))]),
      button("correct", "c", unmatched ? "Translate" : "Correct", act.correct),
      button("undo", "u", "Undo", act.undo),
      button("", "k", "Back", () => act.move(-1)),
      button("", "j", "Skip", () => act.move(1)),
    ),
    element("div", { id: "correction", hidden: true }),
    element(
      "p",
      { class: "pair-of-words" },
      wordLink(row.source, "source"),
      element("span", { class: "arrow", role: "img", "aria-label": unmatched ? "has no translation" : "is translated as" }, "→"),
      unmatched ? element("span", { class: "aside" }, "—") : wordLink(row.target, "target"),
    ),
    element("p", { class: "facts" }, unmatched ? `no entry · frequency rank ${rankOf(row.frequency)}` : facts(row)),
    decided ? element("p", { class: "decided" }, "Decided: ", decisionTag(row), unknownNote(row)) : null,
    row.origin === "review" && !decided ? element("p", { class: "decided" }, "Settled by an earlier review; decide again to overrule it.") : null,
    element(
      "div",
      { class: "context" },
      element(
        "section",
        {},
        element("h3", {}, unmatched ? `Suggestions in ${names.target}` : `Alternatives in ${names.target}`),
        found ? choices(alternatives, act) : element("p", { class: "aside" }, "…"),
      ),
      element(
        "section",
        {},
        element("h3", {}, `Neighbours in ${names.source}`),
        element("p", {}, ...(found ? listed(found.neighbours.slice(0, 8), "source") : ["…"])),
      ),
    ),
  ].filter(Boolean);
}

const rankOf = (place) => (place ? number(place) : "?");
const confidence = (row) => (row.confidence === null ? "" : `confidence ${percent(row.confidence)} · `);
const facts = (row) =>
  `${confidence(row)}cosine ${score(row.score)} · ${row.mutual ? "mutual neighbours" : "not mutual"} · rank ${number(row.rank)} among its neighbours, hubs discounted · ` +
  `frequency ranks ${rankOf(row.frequency)} → ${rankOf(row.target_frequency)} · ${row.origin}`;
export const pairText = (row) => `${plainText(row.source)} → ${row.target === null ? "—" : plainText(row.target)}`;

const unknownNote = (row) =>
  row.known === false ? element("span", { class: "aside" }, " (no vector: exported, but not used when learning again)") : null;

function listed(items, side) {
  return items.flatMap((item, place) => (place ? [", ", wordLink(item.word, side)] : [wordLink(item.word, side)]));
}

function button(kind, key, text, act) {
  return element(
    "button",
    { type: "button", class: kind, "aria-keyshortcuts": key, onclick: act },
    text,
    " ",
    element("kbd", { "aria-hidden": "true" }, key),
  );
}

function choices(alternatives, act) {
  return element(
    "ol",
    { class: "alternatives" },
    ...alternatives.map((item, place) =>
      element(
        "li",
        {},
        element(
          "button",
          { type: "button", "aria-keyshortcuts": String(place + 1), onclick: () => act.decide("corrected", item.word) },
          element("kbd", { "aria-hidden": "true" }, String(place + 1)),
          " ",
          word(item.word, "target"),
          element("span", { class: "score" }, item.confidence === undefined ? score(item.score) : percent(item.confidence)),
        ),
      ),
    ),
  );
}
