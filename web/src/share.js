// A scenario in a link: compressed into the fragment, which no server ever sees, with a check against cut links.

const MOST = 60_000;

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** A sum over bytes (Adler-32): a link that was cut or changed has another. */
function sum(bytes) {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return ((b << 16) | a) >>> 0;
}

/** The fragment of a scenario, `#s=…`; null where it is too long for a link. */
export async function fragment(what) {
  const bytes = new TextEncoder().encode(JSON.stringify(what));
  const packed = await through(bytes, new CompressionStream("deflate-raw"));
  let plain = "";
  for (const byte of packed) plain += String.fromCharCode(byte);
  const text = btoa(plain).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return text.length > MOST ? null : `#s=${sum(packed).toString(36)}.${text}`;
}

/** What a fragment holds; undefined where it holds nothing.
 * @throws where it is cut or broken. */
export async function held(hash) {
  if (!hash.startsWith("#s=")) return undefined;
  const [, check, text] = /^#s=([0-9a-z]+)\.([A-Za-z0-9_-]+)$/.exec(hash) ?? [];
  const broken = new Error(
    "this link was cut or changed on its way; ask for it again. Shown is the page as it was written",
  );
  if (!check) throw broken;
  try {
    const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const packed = Uint8Array.from(plain, (c) => c.charCodeAt(0));
    if (sum(packed).toString(36) !== check) throw broken;
    const bytes = await through(packed, new DecompressionStream("deflate-raw"));
    const what = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof what?.text !== "string") throw broken;
    return what;
  } catch {
    throw broken;
  }
}
