// Retraining from the review, and what it changed.

import { RequestError, get, post } from "./api.js";
import { byId, element, names, number, requestTracker, word } from "./dom.js";

const TITLES = { changed: "Changed", gained: "Gained", lost: "Lost" };
const newest = requestTracker();
let watching = 0;

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
  place.hidden = found.state === "idle";
  byId("retrain").disabled = found.state === "running";
  place.className = `retraining ${found.state}`;
  if (found.state === "running") {
    const pairs = found.pairs === null ? "" : `, ${number(found.pairs)} pairs`;
    place.replaceChildren(
      element("p", {}, `Retraining into ${found.run}: ${found.stage}, iteration ${found.iterations}${pairs}.`),
      element("progress", { "aria-label": "Retraining" }),
    );
  } else if (found.state === "failed") {
    place.replaceChildren(element("p", {}, `Retraining failed: ${found.error}`));
  } else if (found.state === "done") {
    place.replaceChildren(...result(found));
  }
}

function result(found) {
  const { changed, gained, lost, same } = found.counts;
  return [
    element("h2", {}, "What changed"),
    verdict(found),
    element(
      "p",
      {},
      `The new run is ${found.run}, beside this one. ${number(changed)} source words changed their translation, `,
      `${number(gained)} gained one, ${number(lost)} lost theirs, ${number(same)} stayed the same. Open it with `,
      element("code", {}, `bilex explore ${found.run}`),
      ".",
    ),
    element("div", { class: "changes" }, ...Object.keys(TITLES).map((kind) => changes(kind, found))),
  ];
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
    { open: true },
    element("summary", {}, `${TITLES[kind]} (${number(total)}${more})`),
    element("ul", { "aria-label": `${names.source} words that ${kind}` }, ...items),
  );
}

const joined = (words) => words.flatMap((text, place) => (place ? [", ", word(text, "target")] : [word(text, "target")]));
