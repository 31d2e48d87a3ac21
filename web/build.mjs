// Builds what the command embeds, into crates/lanescope-cli/page: the bundled scripts, the engine compressed, and
// built.txt, which says of which sources. A test of the command holds that list against the sources.
//
// The engine is built before, by `make page`. `node build.mjs FILE.wasm`.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

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
const page = await bundle("main.js");
const worker = await bundle("worker.js");
// The level is fixed, and no time is written: the same engine gives the same file.
const packed = gzipSync(readFileSync(engine), { level: 9 });
writeFileSync(join(out, "page.js"), page);
writeFileSync(join(out, "page.js.sha256"), createHash("sha256").update(page).digest("base64"));
writeFileSync(join(out, "worker.js"), worker);
writeFileSync(join(out, "engine.wasm.gz"), packed);

const sources = [
  ...files(join(root, "crates/lanescope/src"), [".rs", ".toml"]),
  ...files(join(root, "crates/lanescope-page/src"), [".rs"]),
  ...files(join(root, "platforms"), [".toml"]),
  ...files(join(web, "src"), [".js"]),
  join(web, "package-lock.json"),
].map((p) => [relative(root, p), p]);
sources.sort(([a], [b]) => (a < b ? -1 : 1));
const lines = sources.map(([name, path]) => `${crc(essence(path))} ${name}`);
for (const name of ["engine.wasm.gz", "page.js", "page.js.sha256", "worker.js"]) {
  lines.push(`${crc(readFileSync(join(out, name)))} built/${name}`);
}
writeFileSync(join(out, "built.txt"), lines.join("\n") + "\n");
console.log(`page.js ${page.length} B, worker.js ${worker.length} B, engine.wasm.gz ${packed.length} B`);
