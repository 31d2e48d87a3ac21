// The page's side of the worker: questions as promises, progress as calls.
import { serve } from "./service.js";

export class Client {
  /** `engine` and `worker` are the texts that stand in the page. */
  constructor(engine, worker) {
    this.waiting = new Map();
    this.next = 0;
    const receive = (message) => this.receive(message);
    try {
      const url = URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
      this.worker = new Worker(url);
      this.worker.onmessage = (event) => receive(event.data);
      this.worker.onerror = (event) => {
        event.preventDefault();
        for (const { resolve } of this.waiting.values()) resolve({ error: `the worker has failed: ${event.message}` });
        this.waiting.clear();
      };
      this.send = (message) => this.worker.postMessage(message);
    } catch {
      // No worker may begin here: the same work, in pieces, in the page itself.
      const handle = serve(receive);
      this.send = (message) => setTimeout(() => handle(message), 0);
    }
    this.opened = this.post({ open: engine });
  }

  receive({ id, answer, progress, said }) {
    const waiting = this.waiting.get(id);
    if (!waiting) return;
    if (answer === undefined) return waiting.progress?.(progress, said);
    this.waiting.delete(id);
    waiting.resolve(answer);
  }

  post(message, progress) {
    const id = this.next++;
    return new Promise((resolve) => {
      this.waiting.set(id, { resolve, progress });
      this.send({ ...message, id });
    });
  }

  ask(question) {
    return this.post({ question });
  }

  simulate(progress) {
    return this.post({ kind: "simulate" }, progress);
  }

  film(step, progress) {
    return this.post({ kind: "film", step }, progress);
  }

  stop() {
    this.send({ kind: "stop" });
  }
}
