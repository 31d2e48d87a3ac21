// The engine of the page beside the library: every quick row of every study, to the last digit, and how quick.
//
// cargo run -p lanescope-page --example rows > ROWS; node test/rows.mjs ENGINE.wasm.gz < ROWS
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Engine } from "../src/engine.js";

const engine = await Engine.open(readFileSync(process.argv[2]));
let [rows, simulated, events, seconds, native] = [0, 0, 0, 0, 0];
for await (const line of createInterface({ input: process.stdin })) {
  const { row, question, report, seconds: took } = JSON.parse(line);
  const answer = engine.ask(question);
  assert.ok(answer.sections, `${row}: ${JSON.stringify(answer).slice(0, 500)}`);
  if (report.simulation) {
    const from = performance.now();
    assert.ok(engine.ask({ ask: "begin" }).begun, row);
    while (!engine.ask({ ask: "advance", events: 1 << 18 }).done);
    seconds += (performance.now() - from) / 1000;
    engine.ask({ ask: "end" });
    events += report.simulation.events;
    simulated++;
    native += took;
  }
  assert.deepEqual(engine.ask({ ask: "report" }).report, report, row);
  rows++;
}
assert.ok(rows > 20, `only ${rows} rows`);
const speed = (events / seconds / 1e6).toFixed(1);
const share = (native / seconds).toFixed(2);
console.log(
  `${rows} questions, ${simulated} simulated at ${speed} million events a second, ${share} of the native speed: ` +
    "all numbers are the library's",
);
// Where the native program was built with assertions (CI), this says little; it is a goal of a release.
if (process.env.LANESCOPE_SPEED) assert.ok(native / seconds > 1 / 3, `the page simulates at ${share} of native`);
