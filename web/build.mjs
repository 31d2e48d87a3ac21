// Builds what the command embeds, into crates/lanescope-cli/page: the bundled scripts, page and engine compressed, and
// built.txt, which says of which sources. A test of the command holds that list against the sources.
//
// The engine is built before, by `make page`. `node build.mjs FILE.wasm`.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(fileURLToPath(import.meta.url));
const root = dirname(web);
const out = join(root, "crates/lanescope-cli/page");

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let i = 0; i < 8; i++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});
/** CRC-32 as of gzip, in hexadecimal. */
function crc(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = TABLE[(sum ^ byte) & 0xff] ^ (sum >>> 8);
  return ((sum ^ 0xffffffff) >>> 0).toString(16).padStart(8, "0");
}

/** The lines of a source that matter to what is built: comments of whole lines may change. The test does the same. */
function essence(path) {
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .map((l) => l.trim());
  return Buffer.from(lines.filter((l) => l !== "" && !l.startsWith("//")).join("\n"));
}

function files(dir, ends, list = []) {
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) {
      if (!["node_modules", "tests", "test", "target"].includes(entry.name)) files(path, ends, list);
    } else if (ends.some((e) => entry.name.endsWith(e)) && entry.name !== "tests.rs") list.push(path);
  }
  return list;
}

async function bundle(entry) {
  const made = await build({
    entryPoints: [join(web, "src", entry)],
    bundle: true,
    minify: true,
    format: "iife",
    target: ["chrome111", "firefox115", "safari16.4"],
    charset: "utf8",
    legalComments: "none",
    write: false,
  });
  const text = made.outputFiles[0].text.trim();
  if (/<\/script|<!--/i.test(text)) throw new Error(`${entry} holds what would end its element`);
  return text;
}

const engine = process.argv[2];
if (!engine) throw new Error("node build.mjs FILE.wasm");
mkdirSync(out, { recursive: true });
// Smaller by a twentieth than the best of gzip, which every page that is written carries. No time is written: the same
// engine gives the same file.
function packed(path) {
  try {
    return execFileSync("zopfli", ["--gzip", "--i5", "-c", path], { maxBuffer: 1 << 30 });
  } catch (e) {
    throw e.code === "ENOENT" ? new Error("zopfli is not installed: on Debian, apt-get install zopfli") : e;
  }
}
const scripts = { loader: await bundle("loader.js"), page: await bundle("main.js") };
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const built = {
  "loader.js": scripts.loader,
  // As the page's policy has them: the scripts that may run.
  "scripts.sha256": Object.values(scripts).map(hash).join(" "),
  "worker.js": await bundle("worker.js"),
  "engine.wasm.gz": packed(engine),
};
const script = join(dirname(engine), "page.js");
writeFileSync(script, scripts.page);
built["page.js.gz"] = packed(script);
for (const [name, content] of Object.entries(built)) writeFileSync(join(out, name), content);

const sources = [
  ...files(join(root, "crates/lanescope/src"), [".rs", ".toml"]),
  ...files(join(root, "crates/lanescope-page/src"), [".rs"]),
  ...files(join(root, "platforms"), [".toml"]),
  ...files(join(web, "src"), [".js"]),
  join(web, "package-lock.json"),
].map((p) => [relative(root, p), p]);
sources.sort(([a], [b]) => (a < b ? -1 : 1));
const lines = sources.map(([name, path]) => `${crc(essence(path))} ${name}`);
for (const name of Object.keys(built).sort()) lines.push(`${crc(readFileSync(join(out, name)))} built/${name}`);
writeFileSync(join(out, "built.txt"), lines.join("\n") + "\n");
console.log(
  Object.entries(built)
    .map(([name, content]) => `${name} ${content.length} B`)
    .join(", "),
);
