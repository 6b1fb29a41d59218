// The review: one entry after the other, by keyboard.
//
// Every decision is sent with the version of the entry that was shown. If another tab was quicker the server refuses,
// and the newer decision is shown instead of being overwritten.

import { RequestError, get, post } from "./api.js";
import { card, pairText } from "./card.js";
import { combobox } from "./combobox.js";
import { byId, showProblem, element, identity, names, number, percent, plainText, requestTracker, word } from "./dom.js";
import { running, startRetraining, watchRetraining } from "./retraining.js";

const BATCH = 50;
const AROUND = 6;
const ALTERNATIVES = 6;
const OWN_DECISIONS = `bilex-decided ${identity}`; // in the tab's storage, so that undo after a reload is still about them
const newest = requestTracker();

const state = { queue: [], place: 0, more: true, alternatives: [], correcting: false, busy: false };

const act = { decide, correct, undo, move };

export function start() {
  const order = byId("queue-order");
  let typed = false; // letters that choose an order must not go on to the card, where they decide
  order.addEventListener("keydown", () => (typed = true));
  order.addEventListener("pointerdown", () => (typed = false));
  order.addEventListener("change", () => {
    if (!typed) order.blur();
    restart();
  });
  byId("retrain").addEventListener("click", startRetraining);
  document.addEventListener("keydown", onKey);
}

export async function show(entry = undefined) {
  watchRetraining().catch(() => {});
  await refreshProgress();
  if (!state.queue.length && !(await refill())) return;
  if (/^\d+$/.test(entry || "")) await showEntry(Number(entry));
  else await draw();
}

// Show one row first, whatever the order of the queue is.
async function showEntry(entry) {
  let row;
  try {
    row = await get("entry", { entry });
  } catch (error) {
    if (error instanceof RequestError) showProblem(error.message);
    return;
  }
  history.replaceState(null, "", "#review"); // so that a reload shows the queue
  const known = state.queue.findIndex((item) => item.entry === entry);
  if (known >= 0) Object.assign(state.queue[known], row);
  else state.queue.splice(state.place, 0, row);
  state.place = known >= 0 ? known : state.place;
  await draw();
}

async function restart() {
  if (await refill()) await draw();
}

// Start a new queue; false if another was started before the answer came.
async function refill() {
  const queue = [];
  Object.assign(state, { queue, place: 0, more: true });
  await loadMore();
  return queue === state.queue;
}

async function loadMore() {
  if (!state.more) return;
  const order = byId("queue-order").value;
  const counted = (row) => row.decision === "undecided" && (row.target === null) === (order === "unmatched");
  const skipped = state.queue.filter(counted).length;
  const descending = order.startsWith("-");
  const sort = order.replace("-", "");
  const query = { decision: "undecided", sort, descending: Number(descending), offset: skipped, limit: BATCH };
  if (order === "unmatched") Object.assign(query, { origin: "unmatched", sort: "frequency" });
  const queue = state.queue;
  const page = await get("entries", query);
  if (queue !== state.queue) return;
  const known = new Set(state.queue.map((row) => row.entry));
  state.queue.push(...page.rows.filter((row) => !known.has(row.entry)));
  state.more = page.rows.length === BATCH;
}

async function refreshProgress(found = null) {
  const current = newest();
  const progress = found || (await get("progress"));
  if (!current()) return; // newer figures are shown, or on their way
  byId("progress-text").textContent =
    `${number(progress.reviewed)} of ${number(progress.entries)} reviewed: ` +
    `${number(progress.accepted)} accepted, ${number(progress.rejected)} rejected, ${number(progress.corrected)} corrected` +
    (progress.added ? `; ${number(progress.added)} without an entry translated` : "") +
    (progress.settled ? `; ${number(progress.settled)} settled in the earlier review` : "");
  byId("progress").max = Math.max(1, progress.entries);
  byId("progress").value = progress.reviewed;
  const expected = progress.expected === null ? "" : `, expected ${percent(progress.expected)}`;
  byId("precision").textContent =
    progress.precision === null
      ? `Precision: nothing reviewed yet${expected}`
      : `Precision ${percent(progress.precision)} of those reviewed (95% interval ${percent(progress.low)} to ${percent(progress.high)})${expected}`;
  byId("precision").title = "Estimates the precision of the whole lexicon only if entries are reviewed in random order";
  byId("retrain").disabled = running() || !(progress.reviewed || progress.added);
}

async function draw() {
  state.correcting = false;
  const row = state.queue[state.place];
  drawQueue();
  if (!row) {
    const done = byId("queue-order").value === "unmatched" ? "Every word has an entry or a translation: choose another order." : "Every entry is reviewed. Export the lexicon, or learn again from your decisions.";
    byId("card").replaceChildren(element("p", { class: "empty" }, done));
    return;
  }
  state.alternatives = [];
  byId("card").replaceChildren(...card(row, act));
  if (document.activeElement !== byId("queue-order")) byId("card").focus({ preventScroll: true });
  let found;
  try {
    found = await get("word", { side: "source", word: row.source });
  } catch {
    return;
  }
  if (state.queue[state.place] !== row || state.correcting) return;
  state.alternatives = found.best.filter((item) => item.word !== row.target).slice(0, ALTERNATIVES);
  byId("card").replaceChildren(...card(row, act, state.alternatives, found));
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
        word(row.correction || row.target || "—", "target"),
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

// Go on at once where the queue allows it, so that the next key is about the entry shown next.
async function move(step) {
  const wanted = Math.max(0, state.place + step);
  if (wanted >= state.queue.length) {
    const { queue } = state;
    state.busy = true; // until then no key may decide about the previous entry
    await loadMore().finally(() => (state.busy = false));
    if (queue !== state.queue) return; // another order was chosen
  }
  const next = Math.min(wanted, Math.max(0, state.queue.length - 1));
  if (next === state.place && step > 0) showMessage("This is the last entry of the queue.");
  state.place = next;
  const drawn = draw();
  if (next > state.queue.length - AROUND) loadMore().then(drawQueue, () => {});
  await drawn;
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
    element("p", { class: "aside" }, "Enter to save, Esc to cancel"),
  );
  byId("correction").hidden = false;
  combobox(input, list, { side: "target", choose: (text) => decide("corrected", text) });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && list.hidden) stop();
  });
  input.focus();
}

async function decide(decision, correction = null) {
  const row = state.queue[state.place];
  if (!row || state.busy) return;
  if (row.target === null && decision !== "corrected") return showMessage("This word has no translation yet: press c to give it one.");
  await change("decide", { entry: row.entry, version: row.version, decision, correction }, row, async (answer) => {
    saveOwnDecisions([...ownDecisions(), row.entry]);
    const what = answer.row.correction ? `corrected to ${plainText(answer.row.correction)}` : answer.row.decision;
    showMessage(`${pairText(row)}: ${what}. ${answer.row.known ? "" : "It has no vector. "}Press u to undo.`);
    await move(1);
  });
}

async function undo() {
  if (state.busy) return;
  state.busy = true; // a second press of the key does nothing until the first is done
  const mine = ownDecisions();
  const row = await lastDecided(mine).finally(() => (state.busy = false));
  if (!row) {
    saveOwnDecisions(mine.slice(0, -1));
    return showMessage("There is nothing to undo.");
  }
  await change("undo", { entry: row.entry, version: row.version }, row, async (answer) => {
    saveOwnDecisions(mine.slice(0, -1));
    state.place = state.queue.indexOf(row);
    showMessage(`Undone: ${pairText(row)} is ${answer.row.decision}.`);
    await draw();
  });
}

// Find the row to undo, this tab's own if it has one, and put it into the queue.
async function lastDecided(mine) {
  const entry = mine.length ? mine[mine.length - 1] : (await get("progress")).last?.entry;
  if (entry === undefined || entry === null) return null;
  const known = state.queue.find((item) => item.entry === entry);
  if (known) return known;
  const row = await get("entry", { entry });
  if (row.decision === "undecided") return null;
  state.queue.splice(state.place, 0, row);
  return row;
}

// Send a change and apply the answer, or show the decision of someone else. The page is free again as soon as the
// answer is there: what `then` does may overlap with the next change.
async function change(path, body, row, then) {
  state.busy = true;
  let answer;
  try {
    answer = await post(path, body);
  } catch (error) {
    state.busy = false;
    if (error instanceof RequestError && error.status === 409) await showConflict(path, row, error.body.current);
    else if (error instanceof RequestError) showProblem(error.message);
    return;
  }
  state.busy = false;
  Object.assign(row, answer.row);
  refreshProgress(answer.progress);
  await then(answer);
}

async function showConflict(path, row, current) {
  Object.assign(row, current);
  if (path === "undo") saveOwnDecisions(ownDecisions().filter((entry) => entry !== row.entry));
  state.place = Math.max(0, state.queue.indexOf(row));
  refreshProgress().catch(() => {});
  const to = row.correction ? ` to ${plainText(row.correction)}` : "";
  showMessage(`Not saved: another tab has ${row.decision} it${to} meanwhile. Decide again to overrule that, or press j to go on.`, true);
  await draw();
}

function showMessage(text, warn = false) {
  byId("message").textContent = text;
  byId("message").classList.toggle("warn", warn);
}

const ownDecisions = () => JSON.parse(sessionStorage.getItem(OWN_DECISIONS) || "[]");
const saveOwnDecisions = (entries) => sessionStorage.setItem(OWN_DECISIONS, JSON.stringify(entries.slice(-1000)));

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
