// How quick the page is, as a visitor feels it: first paint, an answer to a keystroke, frames while a picture pans.
// Each is measured in turn with the least that the same browser does: an empty page, a message to a worker and back,
// frames of an empty page. Nothing fails here; a machine that does other things is slow.
//
// node test/speed.mjs LANESCOPE
import { rmSync, writeFileSync } from "node:fs";
import { at, browser, dir, open, run, wide } from "./pages.mjs";

const middle = (all) => all.sort((a, b) => a - b)[all.length >> 1];
const ROUNDS = 9;
writeFileSync(at("nics.toml"), run("new"));
writeFileSync(at("wide.toml"), wide(10, 5));
writeFileSync(at("large.toml"), wide(50, 9));
writeFileSync(at("empty.html"), "<!doctype html><title>empty</title><p>one line");
for (const name of ["nics", "wide", "large"]) run("estimate", `${name}.toml`, "--html", `${name}.html`);

/** Milliseconds until the first text of a page is painted. */
async function paint(name, ready) {
  const page = await open(name, { ready });
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length);
  const after = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  await page.close();
  return after;
}

/** Milliseconds between frames of a page while the mouse is dragged over `selector`. */
async function frames(name, selector, ready) {
  const page = await open(name, { ready });
  const shown = page.locator(selector).first();
  await shown.scrollIntoViewIfNeeded();
  const box = await shown.boundingBox();
  await page.mouse.move(box.x + 20, box.y + 5);
  await page.mouse.down();
  const gaps = page.evaluate(
    () =>
      new Promise((done) => {
        const all = [];
        let last = performance.now();
        const tick = (t) => {
          all.push(t - last);
          last = t;
          if (all.length < 60) requestAnimationFrame(tick);
          else done(all.slice(1));
        };
        requestAnimationFrame(tick);
      }),
  );
  for (let i = 0; i < 60; i++) await page.mouse.move(box.x + 20 + 2 * i, box.y + 5 + i);
  await page.mouse.up();
  const all = await gaps;
  await page.close();
  return middle(all);
}

/** Milliseconds of an estimate of 50 devices in the page's worker, and of a worker that only answers. */
async function keystrokes() {
  const page = await open("wide.html");
  await page.click("#what-if summary");
  await page.waitForSelector(".cm-content");
  const times = await page.evaluate(
    async ([text, rounds]) => {
      const source = URL.createObjectURL(new Blob(["onmessage = (e) => postMessage(e.data)"]));
      const worker = new Worker(source);
      const echo = (what) =>
        new Promise((done) => {
          worker.onmessage = done;
          worker.postMessage(what);
        });
      await echo(text);
      const all = [];
      for (let i = 0; i < rounds; i++) {
        const changed = text.replaceAll('"2 KiB"', `"${(i % 4) + 1} KiB"`);
        const from = performance.now();
        await window.lanescope.ask({ ask: "estimate", name: "wide.toml", text: changed });
        const answered = performance.now();
        await echo(changed);
        all.push([answered - from, performance.now() - answered]);
      }
      return all;
    },
    [wide(10, 5), 3 * ROUNDS],
  );
  await page.close();
  return [middle(times.map((t) => t[0])), middle(times.map((t) => t[1]))];
}

const say = (what, ours, least) =>
  console.log(`${what}: ${ours.toFixed(1)} ms, at least ${least.toFixed(1)} ms (${(ours / least).toFixed(1)} times)`);
try {
  const painted = [[], []];
  const panned = [[], []];
  for (let i = 0; i < ROUNDS; i++) {
    painted[0].push(await paint("nics.html", true));
    painted[1].push(await paint("empty.html", false));
  }
  say("first paint of a report", middle(painted[0]), middle(painted[1]));
  say("an estimate of 50 devices", ...(await keystrokes()));
  for (let i = 0; i < 3; i++) {
    panned[0].push(await frames("large.html", "#topology figure", true));
    panned[1].push(await frames("empty.html", "p", false));
  }
  say("a frame while 500 parts pan", middle(panned[0]), middle(panned[1]));
} finally {
  await browser.close();
  rmSync(dir, { recursive: true, force: true });
}
