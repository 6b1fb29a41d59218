// The review: one entry after the other, with keys alone.
//
// Every decision says which version of the entry was looked at. If another tab was quicker the server refuses, and
// the newer decision is shown instead of being overwritten.

import { Refused, get, post } from "./api.js";
import { combobox } from "./combobox.js";
import { byId, complain, element, names, number, plainText, score, word, wordLink } from "./dom.js";
import { watchRetraining, startRetraining } from "./retraining.js";
import { decisionTag } from "./search.js";

const BATCH = 50;
const AROUND = 6;
const ALTERNATIVES = 6;
const KEPT = "bilex-decided"; // what this tab has decided, so that undo after a reload is still its own

const state = { queue: [], place: 0, more: true, alternatives: [], correcting: false, busy: false };

export function start() {
  byId("queue-order").addEventListener("change", (event) => {
    event.target.blur();
    restart();
  });
  byId("retrain").addEventListener("click", startRetraining);
  document.addEventListener("keydown", onKey);
}

export async function show() {
  watchRetraining();
  await refreshProgress();
  if (!state.queue.length) await restart();
  else await draw();
}

async function restart() {
  const queue = [];
  Object.assign(state, { queue, place: 0, more: true });
  await loadMore();
  if (queue === state.queue) await draw(); // else another order was chosen meanwhile
}

async function loadMore() {
  if (!state.more) return;
  const skipped = state.queue.filter((row) => row.decision === "undecided").length;
  const order = byId("queue-order").value;
  const descending = order.startsWith("-");
  const sort = order.replace("-", "");
  const query = { decision: "undecided", sort, descending: Number(descending), offset: skipped, limit: BATCH };
  const queue = state.queue;
  const page = await get("entries", query);
  if (queue !== state.queue) return;
  const known = new Set(state.queue.map((row) => row.entry));
  state.queue.push(...page.rows.filter((row) => !known.has(row.entry)));
  state.more = page.rows.length === BATCH;
}

async function refreshProgress(found = null) {
  const progress = found || (await get("progress"));
  byId("progress-text").textContent =
    `${number(progress.reviewed)} of ${number(progress.entries)} reviewed: ` +
    `${number(progress.accepted)} accepted, ${number(progress.rejected)} rejected, ${number(progress.corrected)} corrected`;
  byId("progress").max = Math.max(1, progress.entries);
  byId("progress").value = progress.reviewed;
  const percent = (value) => `${(100 * value).toFixed(1)}%`;
  byId("precision").textContent =
    progress.precision === null
      ? "Precision: nothing reviewed yet"
      : `Precision ${percent(progress.precision)} (95% interval ${percent(progress.low)} to ${percent(progress.high)})`;
  byId("precision").title = "An estimate for the whole lexicon only if the entries were taken in random order";
  byId("retrain").disabled = !progress.reviewed;
  return progress;
}

async function draw() {
  state.correcting = false;
  const row = state.queue[state.place];
  drawQueue();
  if (!row) {
    byId("card").replaceChildren(element("p", { class: "empty" }, "Every entry of this lexicon is reviewed."));
    return;
  }
  state.alternatives = [];
  byId("card").replaceChildren(...card(row));
  byId("card").focus({ preventScroll: true });
  let found;
  try {
    found = await get("word", { side: "source", word: row.source });
  } catch {
    return;
  }
  if (state.queue[state.place] !== row || state.correcting) return;
  state.alternatives = found.csls.filter((item) => item.word !== row.target).slice(0, ALTERNATIVES);
  byId("card").replaceChildren(...card(row, found));
}

function card(row, found = null) {
  const decided = row.decision !== "undecided";
  return [
    element(
      "p",
      { class: "pair-of-words" },
      wordLink(row.source, "source"),
      element("span", { class: "arrow", "aria-label": "is translated as" }, "→"),
      wordLink(row.target, "target"),
    ),
    element(
      "p",
      { class: "facts" },
      `score ${score(row.score)} · ${row.mutual ? "mutual neighbours" : "not mutual"} · `,
      `CSLS place ${number(row.rank)} · rank ${row.frequency ? number(row.frequency) : "?"}`,
      ` → ${row.target_frequency ? number(row.target_frequency) : "?"} · ${row.origin}`,
    ),
    decided ? element("p", { class: "decided" }, "Decided: ", decisionTag(row), unknownNote(row)) : null,
    element(
      "div",
      { class: "verdicts", role: "group", "aria-label": "Your verdict" },
      action("accept", "a", "Accept", () => decide("accepted")),
      action("reject", "r", "Reject", () => decide("rejected")),
      action("correct", "c", "Correct", correct),
      action("undo", "u", "Undo", undo),
      action("", "k", "Back", () => move(-1)),
      action("", "j", "Skip", () => move(1)),
    ),
    element("div", { id: "correction", hidden: true }),
    element(
      "div",
      { class: "context" },
      element(
        "section",
        {},
        element("h3", {}, `Or rather, in ${names.target}`),
        found ? alternatives() : element("p", { class: "aside" }, "…"),
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

const unknownNote = (row) =>
  row.known === false ? element("span", { class: "aside" }, " (no vector: exported, but cannot teach)") : null;

function listed(items, side) {
  return items.flatMap((item, place) => (place ? [", ", wordLink(item.word, side)] : [wordLink(item.word, side)]));
}

function action(kind, key, text, act) {
  return element(
    "button",
    { type: "button", class: kind, "aria-keyshortcuts": key, onclick: act },
    text,
    " ",
    element("kbd", { "aria-hidden": "true" }, key),
  );
}

function alternatives() {
  return element(
    "ol",
    { class: "alternatives" },
    ...state.alternatives.map((item, place) =>
      element(
        "li",
        {},
        element(
          "button",
          { type: "button", "aria-keyshortcuts": String(place + 1), onclick: () => decide("corrected", item.word) },
          element("kbd", { "aria-hidden": "true" }, String(place + 1)),
          " ",
          word(item.word, "target"),
          element("span", { class: "score" }, score(item.score)),
        ),
      ),
    ),
  );
}

function drawQueue() {
  const first = Math.max(0, state.place - AROUND);
  const items = state.queue.slice(first, state.place + AROUND + 1).map((row, step) => {
    const here = first + step === state.place;
    return element(
      "li",
      { "aria-current": here ? "true" : null, class: row.decision },
      element(
        "button",
        { type: "button", onclick: () => jump(first + step) },
        word(row.source, "source"),
        " → ",
        word(row.correction || row.target, "target"),
        row.decision === "undecided" ? null : element("span", { class: `tag ${row.decision}` }, row.decision),
      ),
    );
  });
  byId("queue").replaceChildren(...items);
}

async function jump(place) {
  state.place = place;
  await draw();
}

async function move(step) {
  const last = state.queue.length - 1;
  if (state.place + step > last - 5) await loadMore();
  const next = Math.min(Math.max(0, state.place + step), Math.max(0, state.queue.length - 1));
  if (next === state.place && step > 0) say("This is the last entry of the queue.");
  state.place = next;
  await draw();
}

function correct() {
  const row = state.queue[state.place];
  if (!row) return;
  state.correcting = true;
  const input = element("input", {
    id: "correct-word", type: "text", dir: "auto", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
    role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "correct-list",
    maxlength: 1000,
  });
  const list = element("ul", { id: "correct-list", class: "options", role: "listbox", "aria-label": "Completions", hidden: true });
  const stop = () => {
    state.correcting = false;
    byId("correction").hidden = true;
    byId("card").focus({ preventScroll: true });
  };
  byId("correction").replaceChildren(
    element("label", { for: "correct-word" }, `The right ${names.target} word`),
    element("div", { class: "combo" }, input, list),
    element("p", { class: "aside" }, "Enter to save, Esc to leave it"),
  );
  byId("correction").hidden = false;
  combobox(input, list, { side: "target", choose: (text) => decide("corrected", text) });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && list.hidden) stop();
  });
  input.focus();
}

async function decide(verdict, correction = null) {
  const row = state.queue[state.place];
  if (!row || state.busy) return;
  await change("decide", { entry: row.entry, version: row.version, verdict, correction }, row, async (answer) => {
    remember([...remembered(), row.entry]);
    const what = answer.row.correction ? `corrected to ${plainText(answer.row.correction)}` : answer.row.decision;
    say(`${plainText(row.source)} → ${plainText(row.target)}: ${what}. ${answer.row.known ? "" : "It has no vector. "}u to undo.`);
    await move(1);
  });
}

async function undo() {
  if (state.busy) return;
  const mine = remembered();
  const progress = await get("progress");
  const entry = mine.length ? mine[mine.length - 1] : progress.last?.entry;
  if (entry === undefined || entry === null) return say("There is nothing to undo.");
  let row = state.queue.find((item) => item.entry === entry);
  if (!row) {
    row = await find(entry, progress);
    if (!row) {
      remember(mine.slice(0, -1));
      return say("There is nothing to undo.");
    }
    state.queue.splice(state.place, 0, row);
  }
  await change("undo", { entry, version: row.version }, row, async (answer) => {
    remember(mine.slice(0, -1));
    state.place = state.queue.indexOf(row);
    say(`Undone: ${plainText(row.source)} → ${plainText(row.target)} is ${answer.row.decision}.`);
    await draw();
  });
}

async function find(entry, progress) {
  if (progress.last?.entry === entry) return progress.last;
  const row = await get("entry", { entry });
  return row.decision === "undecided" ? null : row;
}

// Send a change, and take over the answer; or show what someone else has decided.
async function change(path, body, row, then) {
  state.busy = true;
  try {
    const answer = await post(path, body);
    Object.assign(row, answer.row);
    await refreshProgress(answer.progress);
    state.busy = false;
    await then(answer);
  } catch (error) {
    state.busy = false;
    if (!(error instanceof Refused)) return;
    if (error.status !== 409) {
      complain(error.message);
      return;
    }
    Object.assign(row, error.body.current);
    if (path === "undo") remember(remembered().filter((entry) => entry !== row.entry));
    state.place = Math.max(0, state.queue.indexOf(row));
    await refreshProgress();
    await draw();
    const to = row.correction ? ` to ${plainText(row.correction)}` : "";
    say(`Not saved: another tab has ${row.decision} it${to} meanwhile. Decide again to overrule that, or j to go on.`, true);
  } finally {
    state.busy = false;
  }
}

function say(text, warn = false) {
  byId("said").textContent = text;
  byId("said").classList.toggle("warn", warn);
}

const remembered = () => JSON.parse(sessionStorage.getItem(KEPT) || "[]");
const remember = (entries) => sessionStorage.setItem(KEPT, JSON.stringify(entries.slice(-1000)));

function onKey(event) {
  if (byId("view-review").hidden || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const keys = {
    a: () => decide("accepted"),
    r: () => decide("rejected"),
    c: correct,
    u: undo,
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowRight: () => move(1),
    ArrowUp: () => move(-1),
    ArrowLeft: () => move(-1),
  };
  const digit = /^[1-9]$/.test(event.key) ? state.alternatives[Number(event.key) - 1] : null;
  const act = digit ? () => decide("corrected", digit.word) : keys[event.key];
  if (!act || event.repeat) return;
  event.preventDefault();
  act();
}
