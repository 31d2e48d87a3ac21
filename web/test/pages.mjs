// Pages of scenarios for a test or a measurement: written by the command to a folder of their own, opened with the
// network off in headless Chromium, driven through playwright-core.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const command = process.argv[2];
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const dir = mkdtempSync(join(tmpdir(), "lanescope-page-"));
export const at = (name) => join(dir, name);
export const run = (...args) => {
  const done = spawnSync(command, args, {
    encoding: "utf8",
    cwd: dir,
    env: { ...process.env, NO_COLOR: "1" },
    maxBuffer: 1 << 28,
  });
  assert.ok(done.status === 0 || done.status === 1, `${args.join(" ")}: ${done.status} ${done.stderr}`);
  return done.stdout;
};

/** The text of a scenario: so many switches with so many devices below each. */
export const wide = (switches, below) => {
  let text = 'title = "wide"\n[parts.host]\nuse = "example/root-complex"\n';
  text += `[parts.sw]\nuse = "example/pcie-switch"\ncount = ${switches}\n`;
  text += '[links.up]\nbetween = ["host", "sw.*.up"]\npcie = "gen3 x8"\n';
  for (let s = 0; s < switches; s++) {
    text += `[parts.nic${s}]\nuse = "example/nic-25g"\ncount = ${below}\n`;
    text += `[links.slot${s}]\nbetween = ["sw.${s}.down.*", "nic${s}.*"]\npcie = "gen3 x4"\n`;
    text += `[flows.rx${s}]\nfrom = "nic${s}.*"\nto = "host.memory"\ndo = "write"\nsize = "2 KiB"\n`;
  }
  return text;
};

export const browser = await chromium.launch({
  executablePath: browserPath,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
export const trouble = [];

/** Opens a page from the disk, offline; every request and every complaint of the console is trouble. */
export async function open(name, options = {}) {
  const { hash = "", ready = true, init, ...context } = options;
  const here = await browser.newContext({ offline: true, acceptDownloads: true, ...context });
  const page = await here.newPage();
  if (init) await page.addInitScript(init);
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && trouble.push(`${name}: ${m.text()}`));
  page.on("pageerror", (e) => trouble.push(`${name}: ${e.message}`));
  page.on("request", (r) => /^(file|blob|data):/.test(r.url()) || trouble.push(`${name} asked for ${r.url()}`));
  await page.goto(pathToFileURL(at(name)).href + hash);
  if (ready) await page.waitForSelector("body[data-ready=yes]", { timeout: 20_000 });
  return page;
}
