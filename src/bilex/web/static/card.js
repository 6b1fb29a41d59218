// The entry under review, as it is shown.

import { element, names, number, plainText, score, word, wordLink } from "./dom.js";
import { decisionTag } from "./search.js";

// `found` is what is known of the source word, once that has come; `act` are the things that can be done.
export function card(row, act, alternatives = null, found = null) {
  const decided = row.decision !== "undecided";
  const alone = row.target === null;
  return [
    element(
      "p",
      { class: "pair-of-words" },
      wordLink(row.source, "source"),
      element("span", { class: "arrow", role: "img", "aria-label": alone ? "has no translation" : "is translated as" }, "→"),
      alone ? element("span", { class: "aside" }, "—") : wordLink(row.target, "target"),
    ),
    element("p", { class: "facts" }, alone ? `left alone by the matching · rank ${rankOf(row.frequency)}` : facts(row)),
    decided ? element("p", { class: "decided" }, "Decided: ", decisionTag(row), unknownNote(row)) : null,
    element(
      "div",
      { class: "verdicts", role: "group", "aria-label": "Your verdict" },
      ...(alone ? [] : [button("accept", "a", "Accept", () => act.decide("accepted"))]),
      ...(alone ? [] : [button("reject", "r", "Reject", () => act.decide("rejected"))]),
      button("correct", "c", alone ? "Translate" : "Correct", act.correct),
      button("undo", "u", "Undo", act.undo),
      button("", "k", "Back", () => act.move(-1)),
      button("", "j", "Skip", () => act.move(1)),
    ),
    element("div", { id: "correction", hidden: true }),
    element(
      "div",
      { class: "context" },
      element(
        "section",
        {},
        element("h3", {}, alone ? `Perhaps, in ${names.target}` : `Or rather, in ${names.target}`),
        found ? choices(alternatives, act) : element("p", { class: "aside" }, "…"),
      ),
      element(
        "section",
        {},
        element("h3", {}, `Near it in ${names.source}`),
        element("p", {}, ...(found ? listed(found.neighbours.slice(0, 8), "source") : ["…"])),
      ),
    ),
  ].filter(Boolean);
}

const rankOf = (place) => (place ? number(place) : "?");
const sure = (row) => (row.confidence === null ? "" : `confidence ${row.confidence.toFixed(2)} · `);
const facts = (row) =>
  `${sure(row)}score ${score(row.score)} · ${row.mutual ? "mutual neighbours" : "not mutual"} · CSLS place ${number(row.rank)} · ` +
  `rank ${rankOf(row.frequency)} → ${rankOf(row.target_frequency)} · ${row.origin}`;
export const pairText = (row) => `${plainText(row.source)} → ${row.target === null ? "—" : plainText(row.target)}`;

const unknownNote = (row) =>
  row.known === false ? element("span", { class: "aside" }, " (no vector: exported, but cannot teach)") : null;

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
          element("span", { class: "score" }, score(item.score)),
        ),
      ),
    ),
  );
}
