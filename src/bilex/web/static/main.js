// The parts of the page, by the address after #.

import * as browse from "./browse.js";
import { byId, clearProblem } from "./dom.js";
import * as review from "./review.js";
import * as search from "./search.js";

const VIEWS = { search, browse, review };

function route() {
  clearProblem("answer");
  const [wanted, side, text] = location.hash.slice(1).split("/");
  const view = Object.hasOwn(VIEWS, wanted) ? wanted : "search";
  for (const name of Object.keys(VIEWS)) byId(`view-${name}`).hidden = name !== view;
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (view !== "search") return VIEWS[view].show(side);
  return search.show(side === "source" || side === "target" ? side : null, decoded(text));
}

function decoded(text) {
  try {
    return decodeURIComponent(text || "");
  } catch {
    return "";
  }
}

for (const view of Object.values(VIEWS)) view.start();
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part of the address after # is the view
  byId("main").focus();
});
window.addEventListener("hashchange", () => route().catch(() => {}));
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  location.hash = "#search";
  byId("search-word").focus();
  byId("search-word").select();
});
route().catch(() => {});
