// The lexicon as a table; the server sorts, filters and cuts out the page.

import { RequestError, get } from "./api.js";
import { byId, showProblem, element, number, percent, plainText, score, clearProblem, requestTracker, wordLink } from "./dom.js";
import { decisionTag } from "./search.js";

const PAGE = 50;
const state = { sort: "frequency", descending: false, offset: 0, total: 0 };
const newest = requestTracker();

const fields = () => Array.from(byId("filters").querySelectorAll("input, select"));

export function start() {
  if (window.matchMedia("(max-width: 48rem)").matches) byId("filter-box").open = false;
  let timer = 0;
  for (const field of fields()) {
    field.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => load(0), field.tagName === "SELECT" ? 0 : 150);
    });
  }
  byId("clear-filters").addEventListener("click", () => {
    for (const field of fields()) field.value = "";
    load(0);
  });
  for (const button of document.querySelectorAll("[data-sort]")) {
    button.addEventListener("click", () => {
      const { sort } = button.dataset;
      state.descending = state.sort === sort ? !state.descending : sort === "score" || sort === "confidence";
      state.sort = sort;
      load(0);
    });
  }
  byId("first-page").addEventListener("click", () => load(0));
  byId("previous-page").addEventListener("click", () => load(Math.max(0, state.offset - PAGE)));
  byId("next-page").addEventListener("click", () => load(Math.min(lastPage(), state.offset + PAGE)));
  byId("last-page").addEventListener("click", () => load(lastPage()));
}

export const show = () => load(state.offset);

const lastPage = () => Math.max(0, Math.floor((state.total - 1) / PAGE) * PAGE);

async function load(offset) {
  const current = newest();
  state.offset = offset; // at once, so that two quick clicks are two steps
  const filters = Object.fromEntries(fields().filter((field) => field.value).map((field) => [field.name, field.value]));
  const query = { ...filters, sort: state.sort, descending: Number(state.descending), offset, limit: PAGE };
  let page;
  try {
    page = await get("entries", query);
  } catch (error) {
    if (error instanceof RequestError && current()) showProblem(error.message);
    return;
  }
  if (!current()) return; // a newer request was made
  clearProblem("answer");
  state.total = page.total;
  if (!page.rows.length && offset > 0) return load(lastPage()); // fewer rows than there were
  byId("table").tBodies[0].replaceChildren(...(page.rows.length ? page.rows.map(line) : [nothing()]));
  const end = offset + page.rows.length;
  byId("found").textContent = counted(page.entries, page.total - page.entries);
  byId("place").textContent = page.total ? `${number(offset + 1)}–${number(end)}` : "none";
  for (const id of ["first-page", "previous-page"]) byId(id).disabled = offset === 0;
  for (const id of ["next-page", "last-page"]) byId(id).disabled = end >= page.total;
  for (const button of document.querySelectorAll("[data-sort]")) {
    const direction = state.descending ? "descending" : "ascending";
    button.parentElement.setAttribute("aria-sort", button.dataset.sort === state.sort ? direction : "none");
  }
}

const plural = (count, one, more) => `${number(count)} ${count === 1 ? one : more}`;

function counted(entries, unmatched) {
  const rest = plural(unmatched, "word without an entry", "words without an entry");
  if (!entries && unmatched) return rest;
  return plural(entries, "entry", "entries") + (unmatched ? ` and ${rest}` : "");
}

function nothing() {
  const clear = element("button", { type: "button", onclick: () => byId("clear-filters").click() }, "Clear the filters");
  return element("tr", {}, element("td", { colspan: 10, class: "empty" }, "No entry passes these filters. ", clear));
}

function line(row) {
  const cell = (kind, ...content) => element("td", { class: kind }, ...content);
  return element(
    "tr",
    { class: row.target === null && !row.correction ? "unmatched" : row.decision },
    cell("number", row.frequency ? number(row.frequency) : ""),
    cell("", wordLink(row.source, "source")),
    cell("", row.target === null ? element("span", { class: "aside" }, "—") : wordLink(row.target, "target")),
    cell("number extra", row.target_frequency ? number(row.target_frequency) : ""),
    cell("number", percent(row.confidence)),
    cell("number extra", score(row.score)),
    cell("number extra", row.rank === null ? "" : number(row.rank)),
    cell("extra", row.mutual === null ? "" : row.mutual ? "yes" : "no"),
    cell("extra", row.target === null ? "no entry" : row.origin),
    cell("", reviewLink(row)),
  );
}

// The decision, or an invitation to decide; both lead to the review of this row.
function reviewLink(row) {
  const undecided = row.target === null ? "translate" : "review";
  return element(
    "a",
    { class: "review-link", href: `#review/${row.entry}`, "aria-label": `Review ${plainText(row.source)}` },
    row.decision === "undecided" ? undecided : decisionTag(row),
  );
}
