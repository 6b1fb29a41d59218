// Retraining from the review, and what it changed.

import { RequestError, get, post } from "./api.js";
import { byId, element, names, number, requestTracker, word } from "./dom.js";

const TITLES = {
  decided: "By your decisions",
  drift: "Drift: words you did not decide about",
};
const DRIFT =
  "All words share one map, which was fitted again, so words on the edge may tip over: those with two nearly equal candidates, " +
  "often forms of one word, and those near the lowest confidence that is listed. Reject what got worse, and it stays away.";
const newest = requestTracker();
let watching = 0;
let closed = null; // the run whose changes were read

export async function startRetraining() {
  byId("retrain").disabled = true;
  const current = newest();
  try {
    const found = await post("retrain/start");
    if (current()) draw(found);
    watch();
  } catch (error) {
    if (error instanceof RequestError) draw({ state: "failed", error: error.message });
  }
}

export async function watchRetraining() {
  const current = newest();
  const found = await get("retrain");
  if (!current()) return;
  draw(found);
  if (found.state === "running") watch();
}

export const running = () => byId("retraining").classList.contains("running");

function watch() {
  clearTimeout(watching);
  watching = setTimeout(() => watchRetraining().catch(watch), 400); // also if the request failed
}

function draw(found) {
  const place = byId("retraining");
  place.hidden = found.state === "idle" || (found.state === "done" && found.run === closed);
  if (found.state !== "idle") byId("retrain").disabled = found.state === "running"; // else the review decides
  place.className = `retraining ${found.state}`;
  if (found.state === "running") {
    place.replaceChildren(
      element("p", {}, `Learning again into ${found.run}: ${found.stage}.`),
      element("progress", { "aria-label": "Learning again", max: 1, value: found.done ?? 0 }),
    );
  } else if (found.state === "failed") {
    place.replaceChildren(element("p", {}, `Learning again failed: ${found.error}`));
  } else if (found.state === "done") {
    place.replaceChildren(...result(found));
  }
}

function result(found) {
  const { decided, drift, replaced, same } = found.counts;
  const close = () => {
    closed = found.run;
    byId("retraining").hidden = true;
    byId("card").focus({ preventScroll: true });
  };
  const open = async (event) => {
    event.preventDefault();
    event.target.textContent = `Opening ${found.run}…`; // it is read first, which takes seconds
    location.assign(`${(await post("retrain/open")).address}#review`);
  };
  return [
    element(
      "div",
      { class: "closable" },
      element("h2", {}, "What changed"),
      element("button", { type: "button", onclick: close }, "Close"),
    ),
    ...(found.expected ? [moved(found.expected)] : []),
    verdict(found),
    element("p", {}, `Your decisions changed the translations of ${number(decided)} source words; ${number(same)} stayed the same.`),
    ...(drift
      ? [element("p", {}, `${number(drift)} others changed without a decision of yours (drift): ${number(drift - replaced)} got or lost their entry, ${number(replaced)} took another translation. ${DRIFT}`)]
      : []),
    element(
      "p",
      {},
      element("a", { href: "#review", onclick: open }, `Open ${found.run}`),
      " to go on there; it knows your decisions. Later: ",
      element("code", {}, `bilex explore ${found.run}`),
    ),
    element("div", { class: "changes" }, ...Object.keys(TITLES).map((kind) => changes(kind, found))),
  ];
}

function moved([before, after]) {
  const share = (value) => `${(100 * value).toFixed(1)}%`;
  const text = before.toFixed(3) === after.toFixed(3) ? "is still" : `moved from ${share(before)} to`;
  return element("p", {}, `The expected precision ${text} ${share(after)}.`);
}

const VERDICTS = { sound: "looks sound", doubtful: "looks doubtful", failed: "failed: do not use it" };

function verdict(found) {
  const { level, reasons, advice } = found.verdict;
  const why = level === "sound" ? "" : ` ${[...reasons.slice(0, 2), ...advice.slice(0, 2)].join(" ").replaceAll("`", "")}`;
  return element(
    "p",
    { class: `new-verdict ${level}` },
    element("strong", {}, `The new lexicon ${VERDICTS[level]}.`),
    `${why} Its report is `,
    element("code", {}, `${found.run}/${found.report}`),
    ".",
  );
}

function changes(kind, found) {
  const items = found.changes[kind].map((change) =>
    element(
      "li",
      {},
      word(change.source, "source"),
      ": ",
      ...(change.before.length ? [element("del", {}, ...joined(change.before)), " "] : []),
      ...(change.after.length ? [element("ins", {}, ...joined(change.after))] : []),
    ),
  );
  const total = found.counts[kind];
  const more = total > items.length ? `, the first ${number(items.length)}` : "";
  return element(
    "details",
    { open: kind === "decided" },
    element("summary", {}, `${TITLES[kind]} (${number(total)}${more})`),
    element("ul", { "aria-label": `${names.source} words: ${TITLES[kind]}` }, ...items),
  );
}

const joined = (words) => words.flatMap((text, place) => (place ? [", ", word(text, "target")] : [word(text, "target")]));
