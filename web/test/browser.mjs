// The page in a real browser, with the network off: headless Chromium, driven through playwright-core.
//
// node test/browser.mjs LANESCOPE [SCREENSHOTS] . Each check prints a line; the first that fails ends with code 1.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { at, browser, command, dir, open, run, trouble, wide } from "./pages.mjs";

const pictures = process.argv[3];
const fixtures = fileURLToPath(new URL("../../crates/lanescope/tests/fixtures/", import.meta.url));
const json = (...args) => JSON.parse(run(...args, "--json"));
let passed = 0;
const ok = (what) => console.log(`ok ${++passed} ${what}`);

writeFileSync(at("nics.toml"), run("new"));
writeFileSync(at("lan.toml"), run("new", "--ethernet"));
writeFileSync(at("disks.toml"), run("new", "--storage"));
writeFileSync(at("ranks.toml"), run("new", "--cluster"));
writeFileSync(at("bus.toml"), run("new", "--pci"));
writeFileSync(at("gpus.toml"), run("new", "--gpus"));
const ladder = ["gpus.toml", "--min", "8", "--max", "1G", "--factor", "16"];
writeFileSync(at("nccl.txt"), `$ ./all_reduce_perf\n${run("collective", "all_reduce", ...ladder, "--table")}`);
const evil = '<img src=x onerror="window.hit=1"></script><script>window.hit=1</script>';
writeFileSync(at("evil.toml"), run("new").replace(/title = .*/, `title = ${JSON.stringify(evil)}`));
writeFileSync(at("wide.toml"), wide(10, 5));
writeFileSync(at("large.toml"), wide(50, 9));

const cell = (page, table, row, column) =>
  page.$eval(
    `table[data-table=${table}]`,
    (t, [row, column]) => {
      const heads = [...t.tHead.rows[0].cells].map((c) => c.textContent);
      const found = [...t.tBodies[0].rows].find((r) => r.cells[0].textContent === row);
      return found?.cells[heads.indexOf(column)]?.dataset.v;
    },
    [row, column],
  );
const status = (page) => page.textContent("#status");
const until = (page, words, timeout = 30_000) =>
  page.waitForFunction((w) => document.getElementById("status").textContent.includes(w), words, { timeout });

try {
  // ---- Every kind of report opens, live and static ----
  const kinds = [
    ["nics", ["run", "nics.toml"]],
    ["lan", ["simulate", "lan.toml"]],
    ["disks", ["run", "disks.toml"]],
    ["ranks", ["run", "ranks.toml"]],
    ["bus", ["run", "bus.toml"]],
    ["evil", ["estimate", "evil.toml"]],
    ["sweep", ["estimate", "nics.toml", "--vary", "flows.rx.size=256 B,1 KiB,4 KiB"]],
    ["study", ["study", "run", "t5440", "--quick"]],
    ["explained", ["explain", join(fixtures, "hosts/hwloc/hwloc-nvidiaDGX2.xml")]],
    ["compared", ["compare", join(fixtures, "fio/seqread.json+"), "disks.toml", "--estimate"]],
    ["ladder", ["collective", "all_reduce", ...ladder]],
    ["beside", ["compare", "nccl.txt", "gpus.toml"]],
    ["wide", ["estimate", "wide.toml"]],
    ["large", ["estimate", "large.toml"]],
  ];
  for (const [name, args] of kinds) {
    run(...args, "--html", `${name}.html`);
    run(...args, "--html", `${name}-static.html`, "--static");
    const [live, fixed] = [`${name}.html`, `${name}-static.html`].map((f) => statSync(at(f)).size);
    assert.ok(live < 3_000_000 && fixed < 300_000, `${name}: ${live} B live, ${fixed} B static`);
    const page = await open(`${name}.html`);
    assert.ok((await page.$$("#report section")).length > 0, name);
    // Pictures are drawn for a light page, and turned dark with it.
    assert.deepEqual(await page.$$eval("figure:not(.picture) svg", (all) => all.map((s) => s.textContent)), [], name);
    await page.close();
    const plain = await open(`${name}-static.html`, { ready: false, javaScriptEnabled: false });
    assert.ok((await plain.$$("h2")).length > 0, name);
    await plain.close();
    ok(`${name}: ${live} B live, ${fixed} B static`);
  }

  // ---- Names are no markup ----
  {
    const page = await open("evil.html");
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.equal(await page.textContent("#title"), evil);
    assert.equal(await page.$("#title img"), null);
    await page.close();
    ok("a title of markup stays text");
  }

  // ---- What a visitor has done stays ----
  {
    const page = await open("nics.html");
    const heads = () => page.$$eval("table[data-table=flows] th", (all) => all.map((c) => c.textContent));
    const link = pathToFileURL(at("nics.html")).href;
    assert.ok((await heads()).includes("simulated"));
    await page.click("#what-if summary");
    await page.waitForSelector('[data-path="links.slots.pcie"]');
    assert.ok((await heads()).includes("simulated"), "the editor was opened, and the simulation is gone");
    // A table that was sorted is sorted again.
    const order = () => page.$eval("table[data-table=links] th[aria-sort]", (t) => t.textContent);
    await page.click("table[data-table=links] th:nth-child(6) button");
    const sorted = await order();
    // Each keystroke is answered, and none is lost.
    const size = page.locator('[data-path="flows.rx.size"]');
    await size.focus();
    await page.keyboard.press("Control+A");
    await page.keyboard.type("300 B", { delay: 15 });
    await page.waitForFunction(() => window.lanescope.state.text.includes('size = "300 B"'));
    const share = (...set) => json("estimate", "nics.toml", ...set).flows[0].share.typical;
    const wanted = share("--set", "flows.rx.size=300 B");
    // Else the answer before would be taken for the one that is awaited.
    assert.notEqual(wanted, share());
    const cell = "table[data-table=flows] td[data-v]";
    await page.waitForFunction(
      ([at, v]) => [...document.querySelectorAll(at)].some((c) => c.dataset.v === v),
      [cell, String(wanted)],
    );
    assert.equal(await size.inputValue(), "300 B");
    assert.equal(await order(), sorted);
    // What the text says itself is in the form, and what is printed is what was asked.
    for (const path of ["title", "parts.nic.count", "parts.nic.use", "flows.rx.from"])
      assert.ok(await page.$(`[data-path="${path}"]`), path);
    assert.ok((await page.textContent("#text")).includes('size = "300 B"'));
    // A link that is put into the address of a page that is open.
    await page.click("#link");
    await page.waitForFunction(() => location.hash.startsWith("#s="));
    const hash = await page.evaluate(() => location.hash);
    await page.click("#reset");
    await page.waitForFunction(() => !window.lanescope.state.text.includes('size = "300 B"'));
    await page.goto(link + "#");
    await page.goto(link + hash);
    await page.waitForFunction(() => window.lanescope.state.text.includes('size = "300 B"'));
    await page.close();
    ok("a simulation, a sorted table and what is typed stay; a link works in an open page");
  }

  // ---- A value changes, and the answer is the command's ----
  const page = await open("nics.html");
  await page.click("#what-if summary");
  await page.waitForSelector('[data-path="parts.nic.tags"], [data-path="links.uplink.pcie"]');
  const uplink = page.locator('[data-path="links.uplink.pcie"]');
  await uplink.fill("gen3 x8");
  await uplink.press("Tab");
  await page.waitForFunction(() => /change[^]*[▲▼]/.test(document.querySelector("#answer")?.textContent));
  const wanted = json("estimate", "nics.toml", "--set", "links.uplink.pcie=gen3 x8");
  assert.equal(await cell(page, "flows", "rx", "share"), String(wanted.flows[0].share.typical));
  const asked = await page.evaluate(() => window.lanescope.ask({ ask: "report" }));
  assert.deepEqual(asked.report.flows, wanted.flows);
  assert.equal(asked.report.provenance.plan, wanted.provenance.plan);
  assert.match(await page.evaluate(() => window.lanescope.state.text), /pcie = "gen3 x8"/);
  assert.ok(await cell(page, "flows", "rx", "share before"));
  ok("a value changed in the form gives the command's estimate, with before beside it");

  // What the editor holds when it is wrong: the same place as the command says, the last answer still there.
  await uplink.fill("gen33 x8");
  await uplink.press("Tab");
  await page.waitForSelector(".values .wrong");
  assert.match(await status(page), /links\.uplink\.pcie/);
  await uplink.fill("gen3 x4");
  await uplink.press("Tab");
  await page.waitForFunction(() => !document.querySelector(".values .wrong"));
  const broken = (await page.evaluate(() => window.lanescope.state.text)).replace(
    'pcie = "gen3 x4"',
    'pcie = "gen3 x5"',
  );
  writeFileSync(at("broken.toml"), broken);
  await page.click(".cm-content");
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(broken);
  await page.waitForSelector("#diagnostics li");
  const check = spawnSync(command, ["check", "broken.toml", "--json"], { encoding: "utf8", cwd: dir });
  const first = JSON.parse(check.stdout).diagnostics.find((d) => d.severity === "error");
  const said = await page.textContent("#diagnostics li");
  assert.ok(said.includes(first.message) && said.includes(`:${first.line}:`), `${said} / ${JSON.stringify(first)}`);
  assert.match(await status(page), /does not read/);
  assert.ok(await cell(page, "flows", "rx", "share"));
  ok("a scenario that does not read is said at the command's place, and the last answer stays");

  // Completion out of the schema.
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(readFileSync(at("nics.toml"), "utf8").trimEnd() + "\n");
  await page.keyboard.press("Control+End");
  await page.keyboard.type("se");
  await page.keyboard.press("Control+Space");
  await page.waitForSelector(".cm-tooltip-autocomplete");
  assert.match(await page.textContent(".cm-tooltip-autocomplete"), /seed/);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Backspace");
  ok("keys are completed out of the schema");

  // ---- Simulation in the page: the same fingerprint ----
  await page.waitForFunction(() => !document.querySelector("#simulate").disabled);
  await page.click("#simulate");
  await until(page, "Simulated.");
  const simulated = json("simulate", "nics.toml");
  const seen = (await page.evaluate(() => window.lanescope.ask({ ask: "report" }))).report;
  assert.equal(seen.simulation.fingerprint, simulated.simulation.fingerprint);
  assert.deepEqual(seen.simulation, simulated.simulation);
  ok(`simulated in the page: fingerprint ${seen.simulation.fingerprint}, all numbers as the command's`);

  // ---- A collective of a cluster of GPUs: another cluster, other sizes, packet by packet ----
  const gpus = await open("ladder.html");
  await gpus.click("#what-if summary");
  const nodes = gpus.locator('[data-path="nodes"]');
  await nodes.fill("4");
  await nodes.press("Tab");
  await gpus.waitForFunction(() => document.querySelector("#curve")?.textContent.includes("4 nodes of 8"));
  const rows = async () => (await gpus.evaluate(() => window.lanescope.ask({ ask: "report" }))).report.rows;
  assert.deepEqual(await rows(), json("collective", "all_reduce", ...ladder, "--set", "nodes=4").rows);
  // Two changes and the run in one breath: the run is of what was changed, and no late estimate ends it.
  const few = ["gpus.toml", "--min", "8", "--max", "32K", "--factor", "16", "--set", "nodes=4"];
  await gpus.evaluate(() => {
    for (const [id, value] of [["collective", "all_gather"], ["size-max", "32K"]]) {
      const control = document.getElementById(id);
      control.value = value;
      control.dispatchEvent(new Event("change"));
    }
    document.getElementById("simulate").click();
  });
  await until(gpus, "Simulated.");
  assert.deepEqual(await rows(), json("collective", "all_gather", ...few, "--simulate").rows);
  ok("a collective of another cluster and other sizes is the command's, in closed form and simulated");

  // ---- The waterfall of a link, by keyboard ----
  const link = page.locator('#topology g[data-id="links.slots.0"]').first();
  await link.focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#waterfall h3")?.textContent.includes("slots.0"));
  assert.ok((await page.textContent("#waterfall table")).includes("raw"));
  ok("a link chosen by keyboard shows where its bits go");

  // ---- The film ----
  await page.click("#film summary");
  await page.click("#shoot");
  await page.waitForSelector("#player input[type=range]", { timeout: 30_000 });
  const before = await page.textContent("#player output");
  await page.click('#player button[aria-label="one frame on"]');
  assert.notEqual(await page.textContent("#player output"), before);
  await page.click("#player button.main");
  await page.waitForFunction((b) => document.querySelector("#player output").textContent !== b, before);
  await page.click("#player button.main");
  assert.ok(await page.$("#time figure svg"));
  ok("the run plays as a film, frame by frame, and its curves are drawn");

  // ---- Iometer's bars ----
  {
    const disks = await open("disks.html");
    await disks.click("#six summary");
    await disks.waitForSelector("#six .bar");
    assert.equal(await disks.locator("#six .bar").count(), 6);
    const ran = json("run", "disks.toml").simulation;
    const ios = ran.flows.reduce((sum, f) => sum + (f.ios?.per_second ?? 0), 0);
    const shown = Number(await disks.locator("#six .v").first().getAttribute("data-v"));
    assert.ok(Math.abs(shown / ios - 1) < 0.05, `${shown} and ${ios} I/Os a second`);
    await disks.selectOption('#six select[aria-label="statistic of bar 2"]', "Read I/Os per Second");
    await disks.click("#simulate");
    await until(disks, "Simulated.");
    await disks.waitForFunction(() => document.querySelector("#six output").textContent.includes("counted"));
    await disks.close();
    ok("six bars show the statistics of a run");
  }

  // ---- A long run is stopped ----
  await page.click(".cm-content");
  await page.keyboard.press("Control+A");
  const long = readFileSync(at("nics.toml"), "utf8").replace(
    'until = "±1 %"',
    'for = "10 s"\nmax_packets = 1000000000',
  );
  await page.keyboard.insertText(long);
  await page.waitForFunction(() => document.querySelector("#status").textContent.startsWith("Estimated"));
  await page.click("#simulate");
  await page.waitForFunction(() => document.querySelector("#progress").value > 0);
  await page.click("#stop");
  await until(page, "Stopped");
  ok("a run is stopped, and what was seen is shown");

  // ---- Save, link, print ----
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  assert.equal(readFileSync(await download.path(), "utf8"), long);
  await page.click("#link");
  await until(page, "link is");
  const hash = await page.evaluate(() => location.hash);
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.isVisible("#tools"), false);
  assert.ok((await page.pdf({ format: "A4" })).length > 10_000);
  await page.close();
  ok("the scenario is saved, and the report prints");
  {
    const other = await open("nics.html", { hash });
    assert.equal(await other.evaluate(() => window.lanescope.state.text), long);
    assert.match(await status(other), /came with the link/);
    await other.close();
    const cut = await open("nics.html", { hash: hash.slice(0, -20) });
    assert.match(await status(cut), /cut/);
    assert.ok(await cell(cut, "flows", "rx", "share"));
    await cut.close();
    ok("a link carries the scenario; one that was cut says so, and the report stays");
  }

  // ---- What a browser may lack ----
  {
    const without = await open("nics.html", { ready: false, init: () => delete globalThis.WebAssembly });
    await until(without, "no WebAssembly");
    assert.ok(await cell(without, "flows", "rx", "share"));
    await without.close();
    const worker = await open("nics.html", {
      init: () =>
        (globalThis.Worker = class {
          constructor() {
            throw new Error("barred");
          }
        }),
    });
    await worker.click("#simulate");
    await until(worker, "Simulated.");
    await worker.close();
    const storage = await open("nics.html", {
      init: () =>
        ["localStorage", "sessionStorage", "indexedDB"].forEach((s) =>
          Object.defineProperty(window, s, {
            get() {
              throw new Error("barred");
            },
          }),
        ),
    });
    await storage.close();
    ok("without WebAssembly the report stands, without workers or storage the page works");
  }
  {
    const huge = readFileSync(at("nics.toml"), "utf8")
      .replace("count = 2", "count = 4500")
      .replace("[parts.nic]", "ports = 4600\n[parts.nic]");
    const big = await open("nics.html");
    const answer = await big.evaluate(
      (text) => window.lanescope.ask({ ask: "estimate", name: "huge.toml", text }),
      huge,
    );
    assert.match(answer.error ?? JSON.stringify(answer.diagnostics), /lanescope run huge\.toml/);
    await big.close();
    ok("a scenario too large for the page names the command");
  }

  // ---- A large picture pans ----
  {
    const pan = await open("large.html");
    const figure = pan.locator("#topology figure").first();
    await figure.scrollIntoViewIfNeeded();
    const box = await figure.boundingBox();
    await pan.mouse.move(box.x + 200, box.y + 150);
    await pan.mouse.down();
    for (let i = 0; i < 60; i++) await pan.mouse.move(box.x + 200 + 2 * i, box.y + 150 + i);
    await pan.mouse.up();
    assert.match(await pan.$eval("#topology svg", (s) => s.style.transform), /translate/);
    await pan.close();
    ok("the picture of 500 parts pans");
  }

  // ---- Labels for those who do not see: every control has a name ----
  {
    const named = await open("nics.html");
    await named.click("#what-if summary");
    await named.waitForSelector(".values input");
    const nameless = await named.evaluate(() =>
      [...document.querySelectorAll("button, input, select, [role=button]")]
        .filter((e) => !(e.textContent.trim() || e.getAttribute("aria-label") || e.closest("label") || e.title))
        .map((e) => e.outerHTML.slice(0, 120)),
    );
    assert.deepEqual(nameless, []);
    // Contrast of text in both schemes, WCAG AA.
    for (const scheme of ["light", "dark"]) {
      await named.emulateMedia({ colorScheme: scheme });
      const weak = await named.evaluate(() => {
        const rgb = (c) => (c.match(/[\d.]+/g) ?? []).map(Number);
        const light = ([r, g, b]) => {
          const f = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
        };
        const back = light(rgb(getComputedStyle(document.body).backgroundColor));
        return [".soft", ".binds", "h2", "td", "summary"]
          .map((s) => {
            const ink = light(rgb(getComputedStyle(document.querySelector(s)).color));
            return [s, (Math.max(ink, back) + 0.05) / (Math.min(ink, back) + 0.05)];
          })
          .filter(([, ratio]) => ratio < 4.5);
      });
      assert.deepEqual(weak, [], scheme);
    }
    await named.close();
    ok("controls have names, texts have contrast in both schemes");
  }

  if (pictures) {
    mkdirSync(pictures, { recursive: true });
    for (const scheme of ["light", "dark"]) {
      for (const [width, name] of [
        [1280, "wide"],
        [420, "narrow"],
      ]) {
        const shot = await open("nics.html", { viewport: { width, height: 900 }, colorScheme: scheme });
        await shot.click("#what-if summary");
        await shot.waitForSelector(".values input");
        await shot.screenshot({ path: join(pictures, `page-${name}-${scheme}.png`) });
        await shot.close();
      }
    }
    ok(`screenshots in ${pictures}`);
  }
  assert.deepEqual(trouble, []);
  ok("no request, and no complaint of the console");
} catch (e) {
  console.error(e);
  if (trouble.length) console.error(trouble.join("\n"));
  process.exitCode = 1;
} finally {
  await browser.close();
  rmSync(dir, { recursive: true, force: true });
}
