// Iometer's six bars: statistics of the I/Os of a run, while it is under way and after it.
import { el } from "./dom.js";

const EVERY = [100, 200, 500, 1000, 2000, 5000, 10000];

/** A display in `parent`; `ask` asks the engine. Gives `{ reset, look, begin, end }`. */
export function bars(parent, ask) {
  let wanted = [];
  let timer = null;
  let every = 500;
  let rows = [];
  const choice = (label, options, value, does) => {
    const list = options.map(([v, text]) => el("option", { value: v }, text));
    const select = el("select", { "aria-label": label, onchange: () => does(select.value) }, ...list);
    select.value = value;
    return select;
  };
  const time = el("output", {});
  const field = el("div", { class: "film six" });
  const since = choice(
    "counted since",
    [
      ["start", "since the start of the test"],
      ["last", "since the last update"],
    ],
    "start",
    () => {
      wanted = wanted.map((b) => ({ ...b, most: 0 }));
      look();
    },
  );
  const times = EVERY.map((t) => [String(t), t < 1000 ? `every ${t} ms` : `every ${t / 1000} s`]);
  const often = choice("updated", times, String(every), (v) => (every = Number(v)));
  parent.replaceChildren(el("div", { class: "controls" }, since, often, time), field);

  function make(shown) {
    rows = shown.bars.map((bar, i) => {
      const change = (what) => (value) => {
        wanted[i] = { ...wanted[i], [what]: value, most: 0 };
        look();
      };
      const names = shown.statistics.map((s) => [s, s]);
      const whom = shown.whom.map((w) => [w, w === "all" ? "all flows" : w]);
      const statistic = choice(`statistic of bar ${i + 1}`, names, bar.statistic, change("statistic"));
      const who = choice(`whose, of bar ${i + 1}`, whom, bar.who, change("who"));
      const [fill, value] = [el("i"), el("span", { class: "v" })];
      const nodes = [el("span", { class: "of" }, statistic, " ", who), el("span", { class: "bar" }, fill), value];
      return { nodes, fill, value, statistic, who };
    });
    rows.whom = shown.whom.join("\n");
    field.replaceChildren(...rows.flatMap((r) => r.nodes));
  }

  /** Shows what is there now. */
  async function look() {
    const { shown } = await ask({ ask: "bars", bars: wanted, latest: since.value === "last" });
    if (!shown) {
      field.replaceChildren(el("p", { class: "soft" }, "Simulate: the bars show what is counted."));
      rows = [];
      time.textContent = "";
      return;
    }
    if (rows.length !== shown.bars.length || rows.whom !== shown.whom.join("\n")) make(shown);
    wanted = shown.bars.map(({ statistic, who, most }) => ({ statistic, who, most }));
    shown.bars.forEach((bar, i) => {
      rows[i].fill.style.transform = `scaleX(${bar.share})`;
      rows[i].value.textContent = `${bar.value} of ${bar.of}`;
      rows[i].value.dataset.v = bar.exact ?? "";
      rows[i].who.value = bar.who;
    });
    time.textContent = `${shown.time.toPrecision(4)} s counted`;
  }
  /** A run is under way. */
  function begin() {
    wanted = wanted.map((b) => ({ ...b, most: 0 }));
    const again = async () => {
      await look();
      if (timer !== null) timer = setTimeout(again, every);
    };
    timer = setTimeout(again, Math.min(every, 100));
  }
  /** It is over. */
  function end() {
    clearTimeout(timer);
    timer = null;
    return look();
  }
  return { look, begin, end };
}
