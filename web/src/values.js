// Every value of the scenario, to be changed in place: menus for words, all else as text that the engine checks.
import { el } from "./dom.js";

/** Values that are shown at a time. */
const MOST = 600;

/** A form in `parent`. `change(path, value)` gives null, or what is wrong. */
export function values(parent, change) {
  const filter = el("input", { type: "search", placeholder: "filter: nic tags", "aria-label": "filter values" });
  const list = el("div", { class: "values" });
  parent.replaceChildren(filter, list);
  let things = [];
  const draw = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const active = list.contains(document.activeElement) ? document.activeElement : null;
    const open = active?.dataset?.path;
    // What somebody is typing stays as it is, with its selection.
    const typed = open && active.tagName === "INPUT" && {
      value: active.value,
      from: active.selectionStart,
      to: active.selectionEnd,
    };
    list.replaceChildren();
    let [shown, left] = [0, 0];
    for (const thing of things) {
      const rows = thing.values.filter((v) => {
        const text = `${thing.path} ${v.key} ${v.value}`.toLowerCase();
        return v.known && words.every((w) => text.includes(w));
      });
      if (shown + rows.length > MOST && shown > 0) left += rows.length;
      if (rows.length === 0 || left > 0) continue;
      shown += rows.length;
      const body = el("tbody");
      for (const v of rows) body.append(row(thing.path, v));
      const head = el("th", { colspan: "3", scope: "colgroup" }, thing.path || thing.name);
      list.append(el("table", {}, el("thead", {}, el("tr", {}, head)), body));
    }
    if (left > 0) list.append(el("p", { class: "soft" }, `and ${left} more values: the filter finds them`));
    const again = open && list.querySelector(`[data-path="${CSS.escape(open)}"]`);
    if (!again) return;
    again.focus();
    if (!typed) return;
    again.value = typed.value;
    again.setSelectionRange(typed.from, typed.to);
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
    // The answer follows what is typed: of several keystrokes in the time of an answer, the last.
    let [asking, had] = [false, input.value];
    const follow = async () => {
      if (asking) return;
      asking = true;
      while (input.value !== had) {
        had = input.value;
        const wrong = await change(path, had);
        // The form may have been drawn anew meanwhile.
        const now = input.isConnected ? input : list.querySelector(`[data-path="${CSS.escape(path)}"]`);
        now?.classList.toggle("wrong", wrong !== null);
        now?.setAttribute("aria-invalid", String(wrong !== null));
        const place = now?.parentElement.querySelector("[role=alert]");
        if (place) place.textContent = wrong ?? "";
        if (now && now !== input) {
          if (now.value !== had) now.dispatchEvent(new Event("input"));
          break;
        }
      }
      asking = false;
    };
    input.addEventListener("input", follow);
    input.addEventListener("change", follow);
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
