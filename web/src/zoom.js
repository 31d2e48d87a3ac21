// Pan and zoom of a picture: by pointer, wheel, keys and buttons. Only a transform changes, so it stays smooth.
import { el } from "./dom.js";

const STEP = 1.25;

export function zoom(figure) {
  const svg = figure.querySelector("svg");
  if (!svg || figure.parentElement.classList.contains("zoom")) return;
  const wrap = el("div", { class: "zoom" });
  figure.replaceWith(wrap);
  let [x, y, k] = [0, 0, 1];
  const draw = () => {
    svg.style.transform = k === 1 && x === 0 && y === 0 ? "" : `translate(${x}px, ${y}px) scale(${k})`;
  };
  // About a point of the figure, which stays where it is.
  const by = (factor, px = figure.clientWidth / 2, py = figure.clientHeight / 2) => {
    const next = Math.min(20, Math.max(0.2, k * factor));
    [x, y] = [px - ((px - x) * next) / k, py - ((py - y) * next) / k];
    k = next;
    draw();
  };
  const home = () => {
    // The whole picture, also where it is wider than the page.
    const width = svg.width?.baseVal?.value || figure.clientWidth;
    const shown = svg.clientWidth || width;
    [x, y, k] = [0, 0, Math.min(1, figure.clientWidth / Math.max(shown, 1))];
    draw();
  };
  const button = (text, label, does) => el("button", { type: "button", "aria-label": label, onclick: does }, text);
  wrap.append(
    el(
      "div",
      { class: "buttons" },
      button("+", "larger", () => by(STEP)),
      button("−", "smaller", () => by(1 / STEP)),
      button("whole", "the whole picture", home),
    ),
    figure,
  );
  figure.tabIndex = 0;
  figure.setAttribute("aria-label", "picture: arrows move it, plus and minus change its size, 0 shows all of it");
  figure.addEventListener("keydown", (e) => {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (moves[e.key] && e.target === figure) {
      [x, y] = [x + moves[e.key][0], y + moves[e.key][1]];
      draw();
    } else if (e.key === "+" || e.key === "=") by(STEP);
    else if (e.key === "-") by(1 / STEP);
    else if (e.key === "0") home();
    else return;
    e.preventDefault();
  });
  figure.addEventListener(
    "wheel",
    (e) => {
      // A plain wheel scrolls the page, as everywhere.
      if (!e.ctrlKey && document.activeElement !== figure) return;
      e.preventDefault();
      const box = figure.getBoundingClientRect();
      by(Math.exp(-e.deltaY / 300), e.clientX - box.left, e.clientY - box.top);
    },
    { passive: false },
  );
  let from = null;
  figure.addEventListener("pointerdown", (e) => {
    if (e.button === 0) from = { px: e.clientX, py: e.clientY, x, y, id: e.pointerId, moved: false };
  });
  figure.addEventListener("pointermove", (e) => {
    if (!from || e.pointerId !== from.id) return;
    const [dx, dy] = [e.clientX - from.px, e.clientY - from.py];
    if (!from.moved && Math.hypot(dx, dy) < 4) return;
    if (!from.moved) figure.setPointerCapture(e.pointerId);
    from.moved = true;
    [x, y] = [from.x + dx, from.y + dy];
    draw();
  });
  const up = () => setTimeout(() => (from = null), 0);
  figure.addEventListener("pointerup", up);
  figure.addEventListener("pointercancel", up);
  // The end of a drag is no click.
  figure.addEventListener("click", (e) => from?.moved && e.stopPropagation(), true);
}
