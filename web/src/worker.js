// The worker: the service, and nothing else.
import { serve } from "./service.js";

const handle = serve((message) => self.postMessage(message));
self.onmessage = (event) => handle(event.data);
