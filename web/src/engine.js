// The engine: a module of WebAssembly that takes JSON and gives JSON. It imports nothing, so it can ask for nothing.

import { bytesOf, unpacked } from "./packed.js";

export class Engine {
  /** Opens the engine that stands in a page as text, or its compressed bytes. */
  static async open(packed) {
    const engine = new Engine();
    const bytes = typeof packed === "string" ? bytesOf(packed) : packed;
    engine.module = await WebAssembly.compile(await unpacked(bytes).arrayBuffer());
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
