// The neighbourhood of a word in both languages: points in the plane, with labels that do not overlap.

import { drawn, languageOf, names, plainText } from "./dom.js";

const RADIUS = 4.5;
const GAP = 3;
const ANGLES = [0, 1, -0.5, 0.5, -0.25, 0.25, -0.75, 0.75].map((part) => part * Math.PI);
const BETWEEN = [-1, 1, -3, 3, -5, 5, -7, 7].map((part) => (part * Math.PI) / 8);

export function picture(holder, points, pairs) {
  const width = Math.max(300, Math.min(760, holder.clientWidth || 640));
  const height = Math.round(width < 480 ? width * 0.95 : width * 0.8);
  const described = `The neighbourhood of ${plainText(points[0].word)} in ${names.source} and ${names.target}`;
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": described });
  holder.replaceChildren(svg);
  const places = spread(points, width, height);
  for (const [from, to] of pairs) {
    const [a, b] = [places[from], places[to]];
    svg.append(drawn("line", { class: "pair", x1: a.x, y1: a.y, x2: b.x, y2: b.y }));
  }
  const radius = (index) => (points[index].self ? RADIUS + 2 : RADIUS);
  const taken = places.map((at, index) => box(at.x - radius(index), at.y - radius(index), 2 * radius(index), 2 * radius(index)));
  const labels = [];
  points.forEach((point, index) => {
    const at = places[index];
    const kind = `${point.side} ${point.self ? "self" : ""}`;
    svg.append(
      point.side === "source"
        ? drawn("circle", { class: `point ${kind}`, cx: at.x, cy: at.y, r: radius(index) })
        : drawn("rect", {
            class: `point ${kind}`,
            x: at.x - radius(index), y: at.y - radius(index), width: 2 * radius(index), height: 2 * radius(index),
          }),
    );
    const text = shortened(plainText(point.word));
    labels.push(drawn("text", { class: `label ${kind}`, lang: languageOf(point.side), direction: "ltr" }, `\u2068${text}\u2069`));
  });
  labels.forEach((label) => svg.append(label));
  labels.forEach((label, index) => {
    const size = label.getBBox();
    const spot = free(places[index], radius(index), size, taken, width, height);
    taken.push(spot);
    label.setAttribute("x", spot.left);
    label.setAttribute("y", spot.top + size.height * 0.78);
    if (spot.far) {
      const to = { x: clamp(places[index].x, spot.left, spot.right), y: clamp(places[index].y, spot.top, spot.bottom) };
      const line = { class: "leader", x1: places[index].x, y1: places[index].y, x2: to.x, y2: to.y };
      svg.insertBefore(drawn("line", line), svg.firstChild);
    }
  });
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const box = (left, top, width, height) => ({ left, top, right: left + width, bottom: top + height });
const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

function shortened(text) {
  const letters = Array.from(text);
  return letters.length > 24 ? `${letters.slice(0, 23).join("")}…` : text;
}

// Stretch both axes to the available room, by no more than three to one.
function spread(points, width, height) {
  const range = (axis) => {
    const values = points.map((point) => point[axis]);
    return [Math.min(...values), Math.max(...values)];
  };
  const [x0, x1] = range("x");
  const [y0, y1] = range("y");
  const margin = { x: Math.min(90, width * 0.16), y: 30 };
  const fit = { x: (width - 2 * margin.x) / (x1 - x0 || 1), y: (height - 2 * margin.y) / (y1 - y0 || 1) };
  const scale = { x: Math.min(fit.x, fit.y * 3), y: Math.min(fit.y, fit.x * 3) };
  return points.map((point) => ({
    x: width / 2 + (point.x - (x0 + x1) / 2) * scale.x,
    y: height / 2 - (point.y - (y0 + y1) / 2) * scale.y,
  }));
}

// Look for room around the point, nearest first: right, left, above, below, then on wider and wider rings.
function free(at, radius, { width, height }, taken, right, bottom) {
  const fits = (spot) =>
    spot.left >= 1 && spot.top >= 1 && spot.right <= right - 1 && spot.bottom <= bottom - 1 &&
    !taken.some((other) => overlap(spot, other));
  for (let ring = 0; ring < 40; ring += 1) {
    const reach = radius + GAP + ring * 7;
    for (const angle of ring ? [...ANGLES, ...BETWEEN] : ANGLES) {
      const x = at.x + Math.cos(angle) * (reach + width / 2) - width / 2;
      const y = at.y + Math.sin(angle) * (reach + height / 2) - height / 2;
      const spot = { ...box(x, y, width, height), far: ring > 1 };
      if (fits(spot)) return spot;
    }
  }
  return { ...box(clamp(at.x, 1, right - width - 1), clamp(at.y, 1, bottom - height - 1), width, height), far: false };
}
