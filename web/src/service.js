// What runs in the worker: questions one after the other, and long work in pieces between them.
import { Engine } from "./engine.js";

/** Events of one piece: some milliseconds. */
const EVENTS = 1 << 15;

/** Serves messages; `post` sends answers. Where a page can have no worker, this runs in the page itself. */
export function serve(post) {
  let engine = null;
  let opened = null;
  // The long work that is under way, by the id of its question.
  let work = null;
  let stopping = false;
  const channel = new MessageChannel();
  const later = (next) => {
    channel.port1.onmessage = next;
    channel.port2.postMessage(0);
  };
  async function mend(answer) {
    if (answer.broken) await engine.restart();
    return answer;
  }

  // One piece of a simulation, then other messages have their turn.
  async function piece() {
    if (!work) return;
    const { id, kind, keep } = work;
    if (kind === "simulate") {
      let at = null;
      const until = performance.now() + 30;
      do at = engine.ask({ ask: "advance", events: EVENTS });
      while (!at.error && !at.done && performance.now() < until);
      if (at.error) return end(await mend(at));
      if (at.done || stopping) return end({ ...engine.ask({ ask: "end", keep }), stopped: stopping && !at.done });
      post({ id, progress: at.progress, said: at.said });
    } else {
      let at = null;
      const until = performance.now() + 30;
      do at = engine.ask({ ask: "shoot" });
      while (!at.error && !at.done && performance.now() < until);
      if (at.error || at.done) return end(await mend(at));
      if (stopping) return end({ stopped: true });
      post({ id, progress: at.progress, said: "" });
    }
    later(piece);
  }
  function end(answer) {
    const { id } = work;
    work = null;
    stopping = false;
    post({ id, answer });
  }

  return async function handle(message) {
    if (message.open !== undefined) {
      opened = Engine.open(message.open).then(
        (e) => {
          engine = e;
          post({ id: message.id, answer: { opened: true } });
        },
        (why) => post({ id: message.id, answer: { error: `the engine does not start: ${why.message}` } }),
      );
      return;
    }
    await opened;
    if (!engine) return;
    const { id, question, kind } = message;
    if (kind === "stop") {
      stopping = work !== null;
    } else if (kind === "simulate" || kind === "film") {
      if (work) end({ stopped: true, superseded: true });
      const begun = await mend(engine.ask(kind === "film" ? { ask: "film", step: message.step } : { ask: "begin" }));
      if (begun.error) return post({ id, answer: begun });
      work = { id, kind, keep: message.keep };
      stopping = false;
      later(piece);
    } else {
      // A new scenario makes what is under way pointless.
      if (work && question.ask === "estimate") end({ stopped: true, superseded: true });
      post({ id, answer: await mend(engine.ask(question)) });
    }
  };
}
