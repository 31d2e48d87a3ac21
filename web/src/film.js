// A run as a film: bars of queues, throughput and loads in time, and the picture's links in the colour of their load.
import { el } from "./dom.js";

const ROWS = 24;
const SPEEDS = [1, 2, 5, 10, 20, 40, 60];

/** A player in `parent`; `topology()` gives the picture whose links change colour. */
export function player(parent, film, topology) {
  const frames = film.times.length;
  if (frames === 0) {
    parent.replaceChildren(el("p", { class: "alarm" }, `No frame: the run is shorter than a step of ${film.step}.`));
    return { stop() {} };
  }
  const kinds = [...new Map(film.columns.map((c) => [c.kind, c.what])).entries()];
  let [frame, speed, timer] = [0, 10, null];
  const play = el("button", { type: "button", class: "main" }, "Play");
  const slider = el("input", {
    type: "range",
    min: "0",
    max: String(Math.max(frames - 1, 0)),
    value: "0",
    "aria-label": "moment",
  });
  const now = el("output", {});
  const of = el(
    "select",
    { "aria-label": "what is shown" },
    ...kinds.map(([kind, what]) => el("option", { value: kind }, what)),
  );
  const first = kinds.find(([kind]) => kind.startsWith("queued"))?.[0] ?? kinds[0]?.[0];
  if (first) of.value = first;
  const rate = el(
    "select",
    { "aria-label": "frames a second" },
    ...SPEEDS.map((s) => el("option", { value: s }, `${s} frames/s`)),
  );
  rate.value = String(speed);
  const bars = el("div", { class: "film", role: "img", "aria-label": "bars at the moment shown" });
  const step = (by) => {
    stop();
    show(frame + by);
  };
  const button = (text, label, does) => el("button", { type: "button", "aria-label": label, onclick: does }, text);
  parent.replaceChildren(
    el(
      "div",
      { class: "controls" },
      play,
      button("◀", "one frame back", () => step(-1)),
      button("▶", "one frame on", () => step(1)),
      slider,
      now,
      of,
      rate,
    ),
    bars,
    el(
      "p",
      { class: "soft" },
      `${frames} frames, one each ${film.step}; links in the picture have the colour of their load.`,
    ),
  );
  let rows = [];
  const choose = () => {
    const list = film.columns
      .filter((c) => c.kind === of.value)
      .sort((a, b) => b.peak - a.peak)
      .slice(0, ROWS);
    rows = list.map((c) => {
      const [fill, value] = [el("i"), el("span", { class: "v" })];
      return { c, fill, value, nodes: [el("span", { class: "of" }, c.of), el("span", { class: "bar" }, fill), value] };
    });
    bars.replaceChildren(...rows.flatMap((r) => r.nodes));
    show(frame);
  };
  // The lines of each link in the picture, with the columns of its directions.
  const lines = () => {
    const svg = topology();
    if (!svg) return [];
    const loads = film.columns.filter((c) => c.kind === "utilisation");
    return [...svg.querySelectorAll('g[data-id^="links."]')].map((g) => ({
      path: [...g.querySelectorAll("path")].at(-1),
      loads: loads.filter((c) => c.of === g.dataset.id || c.of.startsWith(`${g.dataset.id} toward `)),
    }));
  };
  let picture = null;
  const show = (to) => {
    frame = Math.min(Math.max(to, 0), frames - 1);
    slider.value = String(frame);
    now.textContent = film.times[frame] ?? "";
    for (const { c, fill, value } of rows) {
      fill.style.transform = `scaleX(${(c.shares[frame] ?? 0) / 1000})`;
      value.textContent = c.shown[frame] ?? "";
    }
    if (picture) {
      for (const { path, loads } of picture) {
        const most = loads.reduce((m, c) => Math.max(m, c.shares[frame] ?? 0), 0);
        if (path && loads.length) path.setAttribute("stroke", film.colours[Math.round(most / 50)]);
      }
    }
  };
  const stop = () => {
    if (timer !== null) cancelAnimationFrame(timer);
    timer = null;
    play.textContent = "Play";
  };
  const start = () => {
    picture = lines();
    if (frame >= frames - 1) frame = 0;
    play.textContent = "Pause";
    let last = performance.now();
    const tick = (t) => {
      if (!parent.isConnected) return;
      if (t - last >= 1000 / speed) {
        last = t;
        show(frame + 1);
        if (frame >= frames - 1) return stop();
      }
      timer = requestAnimationFrame(tick);
    };
    timer = requestAnimationFrame(tick);
  };
  play.addEventListener("click", () => (timer === null ? start() : stop()));
  slider.addEventListener("input", () => {
    stop();
    picture ??= lines();
    show(Number(slider.value));
  });
  of.addEventListener("change", choose);
  rate.addEventListener("change", () => (speed = Number(rate.value)));
  choose();
  return { stop };
}
