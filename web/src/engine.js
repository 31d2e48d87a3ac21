// The engine: a module of WebAssembly that takes JSON and gives JSON. It imports nothing, so it can ask for nothing.

/** Bytes of a text in base64. */
export function fromBase64(text) {
  const plain = atob(text.trim());
  const bytes = new Uint8Array(plain.length);
  for (let i = 0; i < plain.length; i++) bytes[i] = plain.charCodeAt(i);
  return bytes;
}

/** What gzip has compressed. */
async function unpacked(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

export class Engine {
  /** Opens the engine that stands in a page: gzip in base64. */
  static async open(base64) {
    const engine = new Engine();
    engine.module = await WebAssembly.compile(await unpacked(fromBase64(base64)));
    await engine.restart();
    return engine;
  }

  /** A new instance: after a trap the old one cannot be trusted. */
  async restart() {
    this.exports = (await WebAssembly.instantiate(this.module, {})).exports;
  }

  text(at, length) {
    return new TextDecoder().decode(new Uint8Array(this.exports.memory.buffer, at, length));
  }

  /** Asks one question. A trap is an answer, too: `{ error, broken: true }`. */
  ask(question) {
    try {
      const bytes = new TextEncoder().encode(JSON.stringify(question));
      const at = this.exports.lanescope_room(bytes.length);
      new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
      const length = this.exports.lanescope_call();
      return JSON.parse(this.text(this.exports.lanescope_answer(), length));
    } catch (trap) {
      let said = "";
      try {
        said = this.text(this.exports.lanescope_said(), this.exports.lanescope_panic());
      } catch {
        // Nothing more is to be had from it.
      }
      const what = said === "" ? `no memory was left (${trap.message})` : said;
      return {
        broken: true,
        error: `the engine of this page has failed: ${what}. Save the scenario and run it natively: lanescope run FILE`,
      };
    }
  }
}
