// A text field that completes words while they are typed (the combobox pattern of WAI-ARIA).

import { get } from "./api.js";
import { element, names, word } from "./dom.js";

export function combobox(input, list, { side = null, choose }) {
  let options = [];
  let active = -1;
  let running = null;
  let timer = 0;

  function close() {
    clearTimeout(timer);
    running?.abort();
    options = [];
    active = -1;
    list.hidden = true;
    list.replaceChildren();
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function show(found) {
    options = found;
    active = -1;
    list.replaceChildren(
      ...found.map((item, place) =>
        element(
          "li",
          { id: `${list.id}-${place}`, role: "option", "aria-selected": "false", onmousedown: (event) => pick(event, place) },
          word(item.word, item.side),
          element("span", { class: "aside" }, `${side ? "" : names[item.side] + " · "}${item.frequency.toLocaleString("en")}`),
        ),
      ),
    );
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", String(found.length > 0));
  }

  function pick(event, place) {
    event.preventDefault();
    const item = options[place];
    close();
    choose(item.word, item.side, true);
  }

  function move(step) {
    if (!options.length) return;
    active = (active + step + options.length + (active < 0 && step < 0 ? 1 : 0)) % options.length;
    Array.from(list.children).forEach((item, place) => {
      item.setAttribute("aria-selected", String(place === active));
      if (place === active) item.scrollIntoView({ block: "nearest" });
    });
    input.setAttribute("aria-activedescendant", `${list.id}-${active}`);
  }

  async function complete() {
    running?.abort();
    running = new AbortController();
    const prefix = input.value;
    if (!prefix.trim()) return close();
    try {
      const found = await get("complete", side ? { prefix, side } : { prefix }, running.signal);
      if (input.value === prefix && document.activeElement === input) show(found.words);
    } catch {
      /* aborted for a newer request, or the problem is shown already */
    }
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(complete, 60);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return; // an input method is composing
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (active >= 0) return pick(event, active);
      const typed = input.value;
      close();
      if (typed.trim()) choose(typed, side, false);
    } else if (event.key === "Escape" && !list.hidden) {
      event.stopPropagation();
      event.preventDefault();
      close();
    }
  });
  return { close };
}
