// Every value of the scenario, to be changed in place: menus for words, all else as text that the engine checks.
import { el } from "./dom.js";

/** A form in `parent`. `change(path, value)` gives null, or what is wrong. */
export function values(parent, change) {
  const filter = el("input", { type: "search", placeholder: "filter: nic tags", "aria-label": "filter values" });
  const list = el("div", { class: "values" });
  parent.replaceChildren(filter, list);
  let things = [];
  const draw = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const open = document.activeElement?.dataset?.path;
    list.replaceChildren();
    let shown = 0;
    for (const thing of things) {
      const rows = thing.values.filter((v) => {
        const text = `${thing.path} ${v.key} ${v.value}`.toLowerCase();
        return v.known && words.every((w) => text.includes(w));
      });
      if (rows.length === 0 || shown > 600) continue;
      shown += rows.length;
      const body = el("tbody");
      for (const v of rows) body.append(row(thing.path, v));
      const head = el("th", { colspan: "3", scope: "colgroup" }, thing.path || thing.name);
      list.append(el("table", {}, el("thead", {}, el("tr", {}, head)), body));
    }
    if (open) list.querySelector(`[data-path="${CSS.escape(open)}"]`)?.focus();
  };
  const row = (thing, v) => {
    const path = thing ? `${thing}.${v.key}` : v.key;
    const about = [v.doc, `${v.origin}, ${v.confidence}`, v.default ? "default" : "", v.source]
      .filter(Boolean)
      .join("; ");
    let input;
    if (v.words) {
      input = el(
        "select",
        {},
        ...v.words.map((w) => el("option", { value: w, selected: String(w) === v.value }, String(w))),
      );
      if (!v.words.map(String).includes(v.value))
        input.prepend(el("option", { value: v.value, selected: true }, v.value));
    } else {
      input = el("input", { type: "text", spellcheck: "false" });
      input.value = v.value;
    }
    input.dataset.path = path;
    input.setAttribute("aria-label", path);
    input.title = about;
    const said = el("span", { class: "alarm", role: "alert" });
    input.addEventListener("change", async () => {
      const wrong = await change(path, input.value);
      input.classList.toggle("wrong", wrong !== null);
      input.setAttribute("aria-invalid", String(wrong !== null));
      said.textContent = wrong ?? "";
    });
    const range = v.range ? ` (${v.range[0]} … ${v.range[1]})` : "";
    return el(
      "tr",
      {},
      el("th", { scope: "row", title: about }, v.key),
      el("td", {}, input, said),
      el("td", { class: "soft" }, `${v.default ? "default" : v.origin}${range}`),
    );
  };
  filter.addEventListener("input", draw);
  return {
    show(next) {
      things = next;
      draw();
    },
  };
}
