// Compressed bytes as they stand in a page: gzip, written with the 91 printable characters that end no element and no
// attribute, 13 bits to two of them. The command writes them (`pens/page/packed.rs`).

const [FIRST, LAST] = [33, 126];
const WITHOUT = ["<", "&", '"'];

/** The bytes of a text. */
export function bytesOf(text) {
  const values = new Uint8Array(LAST + 1);
  let count = 0;
  for (let code = FIRST; code <= LAST; code++) {
    if (!WITHOUT.includes(String.fromCharCode(code))) values[code] = count++;
  }
  const plain = text.trim();
  const bytes = new Uint8Array(Math.ceil((plain.length * 13) / 16));
  let [bits, have, size] = [0, 0, 0];
  for (let i = 0; i < plain.length; i += 2) {
    const low = values[plain.charCodeAt(i)];
    const alone = i + 1 === plain.length;
    bits |= (alone ? low : low + 91 * values[plain.charCodeAt(i + 1)]) << have;
    have += alone ? 6 : 13;
    for (; have >= 8; have -= 8, bits >>= 8) bytes[size++] = bits & 255;
  }
  return bytes.subarray(0, size);
}

/** What gzip has compressed, as a response: `text()`, `arrayBuffer()`. */
export function unpacked(bytes) {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}
