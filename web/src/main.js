// The page: the report stands in it as it was written; this makes it answer. What it shows comes from the engine.
import { bars } from "./bars.js";
import { Client } from "./client.js";
import { el, copy, save } from "./dom.js";
import { editor } from "./editor.js";
import { player } from "./film.js";
import { fragment, held } from "./share.js";
import { sort, sorted, tables } from "./tables.js";
import { values } from "./values.js";
import { zoom } from "./zoom.js";

const $ = (id) => document.getElementById(id);
const begin = JSON.parse($("begin").textContent);
const state = {
  name: begin.name,
  text: begin.text,
  sets: begin.sets ?? [],
  files: begin.files ?? [],
  full: begin.full ?? false,
  library: begin.library ?? false,
  // Of a cluster of GPUs: which collective, and the ladder of sizes.
  collective: begin.collective ?? null,
};
let client = null;
let language = null;
let edit = null;
let form = null;
let chosen = null;
let six = null;
let simulated = false;
let refused = false;
let diagnostics = [];

/** Says something below the heading; `alarm` for what went wrong. */
function say(text, alarm = false) {
  const status = $("status");
  status.textContent = text;
  status.classList.toggle("alarm", alarm);
}

// ---- What the report's own parts do ----

const REPORT = [
  ...["answer", "remarks", "topology", "waterfall", "links", "latency", "time", "words", "provenance"],
  ...["curve", "rows", "refused", "not-modelled"],
];

/** Puts new sections in place of the old; what did not change is left alone. */
function show(sections) {
  const wanted = new Map(sections.map((s) => [s.id, s]));
  for (const id of REPORT) {
    const old = $(id);
    const s = wanted.get(id);
    if (!s) {
      old?.remove();
      continue;
    }
    let section = old;
    if (!section) {
      section = el(
        "section",
        { id, "aria-labelledby": `h-${id}` },
        el("h2", { id: `h-${id}` }, s.title),
        el("div", { class: "body" }),
      );
      const after = REPORT.slice(REPORT.indexOf(id) + 1)
        .map($)
        .find(Boolean);
      if (after) after.before(section);
      else $("report").append(section);
    }
    if (section.made === s.html) continue;
    section.made = s.html;
    const body = section.querySelector(".body");
    const open = [...body.querySelectorAll("details")].map((d) => d.open);
    const orders = [...body.querySelectorAll("table[data-live]")].map((t) => [t.dataset.table, sorted(t)]);
    // The engine's own markup, in which every text of a scenario is escaped; this page's policy runs no script in it.
    body.innerHTML = s.html;
    [...body.querySelectorAll("details")].forEach((d, i) => (d.open = open[i] ?? d.open));
    enliven(section);
    for (const [id, order] of orders) {
      const table = order && [...body.querySelectorAll("table[data-live]")].find((t) => t.dataset.table === id);
      if (table) sort(table, ...order);
    }
    if (!old && id === "answer" && document.body.dataset.ready) section.scrollIntoView({ block: "start" });
  }
  if ($("text")) $("text").textContent = state.text;
  if (chosen !== null) pick(chosen, false);
}

/** Makes a section answer to pointer and keys. */
function enliven(section) {
  tables(section, say);
  for (const figure of section.querySelectorAll("figure[data-method]")) zoom(figure);
  for (const g of section.querySelectorAll('svg g[data-id^="links."]')) {
    const svg = g.closest("svg");
    if (!svg.closest("#topology")) continue;
    svg.setAttribute("role", "group");
    g.setAttribute("tabindex", "0");
    g.setAttribute("role", "button");
    g.setAttribute("aria-label", g.querySelector("title")?.textContent ?? g.dataset.id);
  }
  for (const cell of section.querySelectorAll("th[data-link]")) {
    cell.tabIndex = 0;
    cell.setAttribute("role", "rowheader");
    cell.title = "show where its bits go";
  }
  for (const span of section.querySelectorAll(".upgrade[data-set]")) {
    const [path, value] = split(span.dataset.set);
    if (path === null) continue;
    span.after(" ", el("button", { type: "button", onclick: () => change(path, value) }, "Try it"));
  }
}

/** `path=value` of a proposed change. */
function split(set) {
  const at = set.indexOf("=");
  return at < 0 || /[ ,]/.test(set.slice(0, at)) ? [null, null] : [set.slice(0, at), set.slice(at + 1)];
}

/** Shows the waterfalls of a link by its name. */
async function pick(name, scroll = true) {
  const rows = [...document.querySelectorAll("#links th[data-link]")].filter((c) => c.textContent === name);
  if (rows.length === 0 || !client) return;
  chosen = name;
  const answers = await Promise.all(rows.map((r) => client.ask({ ask: "link", at: Number(r.dataset.link) })));
  const body = document.querySelector("#waterfall .body");
  if (chosen !== name || !body || answers.some((a) => a.error)) return;
  body.innerHTML = answers.map((a) => a.html).join("");
  $("waterfall").made = null;
  enliven($("waterfall"));
  document.querySelectorAll("#links tr.chosen").forEach((r) => r.classList.remove("chosen"));
  rows.forEach((r) => r.parentElement.classList.add("chosen"));
  if (scroll) {
    $("waterfall").scrollIntoView({ block: "start" });
    const head = $("h-waterfall");
    head.tabIndex = -1;
    head.focus({ preventScroll: true });
  }
}

function picked(event) {
  if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
  const cell = event.target.closest?.("th[data-link]");
  const g = event.target.closest?.("#topology g[data-id^='links.'], #topology g[data-of^='links.']");
  const name = cell ? cell.textContent : (g?.dataset.id ?? g?.dataset.of)?.slice("links.".length);
  if (!name) return;
  event.preventDefault();
  pick(name);
}

// ---- What if ----

/** The answer that is awaited, while one is. */
let asked = null;
let again = false;

/** Answers the text as it stands; of many changes in a row the last. */
async function estimate(first = {}) {
  if (asked) {
    again = true;
    return null;
  }
  asked = answered(first);
  return asked;
}

async function answered(first) {
  let answer = null;
  do {
    again = false;
    answer = await client.ask({ ask: "estimate", ...state, ...first });
  } while (again);
  asked = null;
  took(answer);
  return answer;
}

/** What was changed is answered first: an estimate that comes behind a run's beginning would end that run. */
async function settled() {
  await last.catch(() => null);
  while (asked) await asked;
  return !refused;
}

function took(answer) {
  diagnostics = answer.diagnostics ?? [];
  diagnose(diagnostics);
  refused = Boolean(answer.refused || answer.error);
  $("report").classList.toggle("stale", refused);
  $("simulate").disabled = refused;
  if (answer.error) return say(answer.error, true);
  if (answer.refused) return say("The scenario does not read: what is shown is the last one that did.", true);
  simulated = Boolean(answer.simulated);
  if (answer.title) {
    $("title").textContent = answer.title;
    document.title = answer.title;
  }
  const changed = state.text !== begin.text;
  say(changed ? (simulated ? "" : "Estimated; simulate to see what queues.") : "");
  filmReady(simulated);
  $("six").hidden = !answer.ios;
  if ($("six").open) six.look();
  show(answer.sections);
  if (form) refreshValues();
}

function diagnose(list) {
  edit?.diagnostics(list);
  const ul = $("diagnostics");
  if (!ul) return;
  ul.replaceChildren(
    ...list.map((d) => {
      const where = d.line ? `${d.file}:${d.line}: ` : "";
      const text = el("span", {}, where, el("b", {}, d.error ? "error: " : "warning: "), d.message);
      const item = el("li", { class: d.error ? "" : "warn" }, text);
      if (d.label) item.append(` — ${d.label}`);
      if (d.hint) item.append(el("div", { class: "soft" }, d.hint));
      if (d.from !== null)
        item.append(" ", el("button", { type: "button", onclick: () => edit?.go(d.from) }, "go there"));
      return item;
    }),
  );
}

let last = Promise.resolve(null);

/** Changes one value, after those that were changed before; gives null, or what is wrong with it. */
function change(path, value) {
  // One that failed stops none behind it.
  last = last.catch(() => null).then(() => changed(path, value));
  return last;
}

async function changed(path, value) {
  const had = state.text;
  const answer = await client.ask({ ask: "set", text: state.text, path, value });
  if (answer.error) {
    say(answer.error, true);
    return answer.error;
  }
  state.text = answer.text;
  state.library = false;
  // What was laid over the text must not hide what is now written there.
  const sets = state.sets;
  state.sets = sets.filter((s) => s.slice(0, s.indexOf("=")) !== path);
  const then = await estimate();
  if (then?.refused) {
    // The engine still has the answer before; the text goes back to it, and the form says what is wrong.
    const why = then.diagnostics.find((d) => d.error)?.message ?? "it does not read";
    [state.text, state.sets, refused] = [had, sets, false];
    diagnose([]);
    $("report").classList.remove("stale");
    $("simulate").disabled = false;
    say(`${path} = ${value}: ${why}`, true);
    return why;
  }
  edit?.set(state.text);
  return null;
}

async function refreshValues() {
  const answer = await client.ask({ ask: "values" });
  if (answer.things) form.show(answer.things);
}

async function openLab() {
  if (edit) return;
  edit = editor(
    $("editor"),
    state.text,
    () => language,
    (text) => {
      Object.assign(state, { text, library: false });
      estimate();
    },
  );
  form = values($("values"), change);
  client.ask({ ask: "language" }).then((l) => (language = l));
  // The engine has answered this text already, and may have simulated it.
  diagnose(diagnostics);
  await refreshValues();
}

async function simulate() {
  const bar = $("progress");
  if (!(await settled())) return;
  busy(true);
  if ($("six").open) six.begin();
  const answer = await client.simulate((share, said) => {
    bar.value = share;
    say(`Simulating: ${Math.round(share * 100)} % of its caps, ${said}.`);
  });
  busy(false);
  if ($("six").open) six.end();
  if (answer.superseded) return say("The scenario changed: the simulation was given up.");
  if (answer.error) return say(answer.error, true);
  simulated = !state.collective;
  if (answer.left) say(`Not all: ${answer.left}`, true);
  else say(answer.stopped ? "Stopped: what is shown was seen so far." : "Simulated.");
  filmReady(simulated);
  show(answer.sections);
}

async function film() {
  const bar = $("progress");
  const step = $("step").value.trim() || null;
  if (!(await settled()) || !simulated) return;
  busy(true);
  const answer = await client.film(step, (share) => {
    bar.value = share;
    say(`Filming: ${Math.round(share * 100)} %.`);
  });
  busy(false);
  if (answer.error) return say(answer.error, true);
  if (answer.stopped) return say("No film: it was stopped.");
  say("");
  show(answer.sections);
  player($("player"), answer.film, () => document.querySelector("#topology svg"));
}

function filmReady(ready) {
  $("shoot").disabled = !ready;
  if (!ready) $("player").replaceChildren();
}

function busy(on) {
  $("simulate").disabled = on || refused;
  $("shoot").disabled = on || !simulated;
  $("stop").hidden = !on;
  $("progress").hidden = !on;
  $("progress").value = 0;
}

async function keep() {
  const answer = await client.ask({ ask: "keep" });
  if (answer.sections) show(answer.sections);
  say("From now on changes stand beside this answer.");
}

async function link() {
  const hash = await fragment({ ...state });
  if (hash === null) return say("This scenario is too long for a link: save it, and send the file.", true);
  const url = location.href.replace(/#.*$/s, "") + hash;
  try {
    history.replaceState(null, "", hash);
  } catch {
    location.hash = hash;
  }
  say(
    (await copy(url))
      ? "The link is on the clipboard; it carries the scenario in itself."
      : "The link is in the address bar.",
  );
}

async function reset() {
  Object.assign(state, {
    text: begin.text,
    sets: begin.sets ?? [],
    files: begin.files ?? [],
    library: begin.library ?? false,
    collective: begin.collective ?? null,
  });
  arrange();
  await fold();
  edit?.set(state.text);
  await estimate({ report: begin.report ?? null });
}

/** Overrides become part of the text, where they can. */
async function fold() {
  if (state.sets.length === 0) return;
  const folded = await client.ask({ ask: "fold", ...state });
  if (folded.text !== undefined) Object.assign(state, folded);
}

function scheme() {
  const root = document.documentElement;
  const dark = root.dataset.scheme
    ? root.dataset.scheme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.scheme = dark ? "light" : "dark";
}

function fileName(ending) {
  const base = (state.name || "scenario")
    .split("/")
    .pop()
    .replace(/\.toml$/, "")
    .replace(/[^\w.-]/g, "-");
  return `${base || "scenario"}.${ending}`;
}

/** What is asked of a cluster of GPUs: a collective, and from where to where by which factor. */
function ladder() {
  const names = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv"];
  const ask = (key, read) => (event) => {
    state.collective = { ...state.collective, [key]: read(event.target.value) };
    estimate();
  };
  const name = el("select", { id: "collective", onchange: ask("collective", String) });
  name.append(...names.map((n) => el("option", { value: n, selected: n === state.collective.collective }, n)));
  const size = (key, label, read = String) => {
    const input = el("input", { id: `size-${key}`, type: "text", size: "6", onchange: ask(key, read) });
    input.value = state.collective[key];
    return el("label", {}, ` ${label} `, input);
  };
  return el(
    "div",
    { class: "controls", id: "ladder" },
    el("label", {}, "collective ", name),
    size("min", "from"),
    size("max", "to"),
    size("factor", "times", (text) => Math.max(2, Math.floor(Number(text)) || 2)),
    el("span", { class: "soft" }, "sizes as nccl-tests take them: 8, 512K, 64M, 16G"),
  );
}

/** A ladder has its own controls, and no film: that is of a run of one scenario. */
function arrange() {
  $("ladder")?.remove();
  if (state.collective) $("lab").prepend(ladder());
  $("film").hidden = Boolean(state.collective);
}

function build() {
  const button = (id, text, does, more = {}) => el("button", { type: "button", id, onclick: does, ...more }, text);
  $("tools").append(
    button("simulate", "Simulate", simulate, { class: "main", disabled: true }),
    button("stop", "Stop", () => client.stop(), { hidden: true }),
    el("progress", { id: "progress", max: "1", value: "0", hidden: true, "aria-label": "progress" }),
    button("keep", "Compare with this", keep),
    button("reset", "Back to the start", reset),
    button("save", "Save scenario", () => save(fileName("toml"), "text/plain", state.text)),
    button("json", "Save report", async () => {
      const { report } = await client.ask({ ask: "report" });
      save(fileName("json"), "application/json", JSON.stringify(report, null, 2) + "\n");
    }),
    button("link", "Copy link", link),
    button("print", "Print", () => window.print()),
    button("scheme", "Light or dark", scheme),
  );
  const whatIf = el(
    "details",
    { id: "what-if" },
    el("summary", {}, "What if: change values, or the text"),
    el("ul", { id: "diagnostics", class: "diagnostics", "aria-live": "polite" }),
    el("div", { class: "panes" }, el("div", { id: "editor" }), el("div", { id: "values" })),
  );
  whatIf.addEventListener("toggle", () => whatIf.open && openLab());
  const live = el(
    "details",
    { id: "film" },
    el("summary", {}, "The run as a film"),
    el(
      "div",
      { class: "controls" },
      button("shoot", "Make the film", film, { disabled: true }),
      el("label", {}, "a frame each ", el("input", { id: "step", type: "text", size: "8", placeholder: "by itself" })),
      el("span", { class: "soft" }, "of the run that was simulated"),
    ),
    el("div", { id: "player" }),
  );
  const display = el("div");
  six = bars(display, (question) => client.ask(question));
  const results = el("details", { id: "six", hidden: true }, el("summary", {}, "Iometer's bars"), display);
  results.addEventListener("toggle", () => results.open && six.look());
  $("lab").append(whatIf, live, results);
  arrange();
  document.addEventListener("click", picked);
  document.addEventListener("keydown", picked);
}

/** Shows a scenario that came with a link. */
async function take(shared) {
  Object.assign(state, { sets: [], files: [], full: false, library: false, collective: null }, shared);
  arrange();
  await fold();
  edit?.set(state.text);
  await estimate();
  say("This scenario came with the link.");
}

/** A link was put into the address of a page that is open already. */
async function follow() {
  try {
    const shared = await held(location.hash);
    if (shared && shared.text !== state.text) await take(shared);
  } catch (e) {
    say(e.message, true);
  }
}

async function start() {
  document.querySelectorAll("#report > section").forEach(enliven);
  if (typeof WebAssembly === "undefined") {
    return say("This browser has no WebAssembly: this is the report as it was written.", true);
  }
  if (begin.text === "") {
    // The report is of something that is no scenario.
    document.body.dataset.ready = "yes";
    return;
  }
  build();
  client = new Client($("engine").textContent, $("worker").textContent);
  const opened = await client.opened;
  if (opened.error) {
    $("tools").replaceChildren();
    $("lab").replaceChildren();
    return say(`${opened.error}: this is the report as it was written.`, true);
  }
  let shared;
  let cut = null;
  try {
    shared = await held(location.hash);
  } catch (e) {
    cut = e.message;
  }
  await fold();
  const known = await client.ask({ ask: "estimate", ...state, keep: true, report: begin.report ?? null });
  diagnostics = known.diagnostics ?? [];
  // The page shows already what was written into it; only what differs is drawn again.
  if (shared) {
    await take(shared);
  } else {
    simulated = Boolean(known.simulated);
    $("six").hidden = !known.ios;
    if (known.error || known.refused) took(known);
    $("simulate").disabled = Boolean(known.error || known.refused);
    filmReady(simulated);
  }
  addEventListener("hashchange", follow);
  if (begin.open) $("what-if").open = true;
  if (cut) say(cut, true);
  document.body.dataset.ready = "yes";
}

// For tests, and for the curious in the console: the engine's answers as they are.
window.lanescope = { ask: (question) => client.ask(question), state };
start().catch((e) => say(`This page has failed: ${e.message}. The report is as it was written.`, true));
