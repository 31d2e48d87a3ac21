// What a page begins with: it unpacks the page's script, which the policy knows by its hash, and lets it run.
import { bytesOf, unpacked } from "./packed.js";

const $ = (id) => document.getElementById(id);

function say(text) {
  const status = $("status");
  status.textContent = text;
  status.classList.add("alarm");
}

async function load() {
  if (typeof DecompressionStream === "undefined") {
    return say("This browser is too old to unpack the page's script: this is the report as it was written.");
  }
  const script = document.createElement("script");
  script.textContent = await unpacked(bytesOf($("page").textContent)).text();
  document.body.append(script);
}

load().catch((e) => say(`This page does not unpack: ${e.message}. This is the report as it was written.`));
