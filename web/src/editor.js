// The editor of the scenario's text: CodeMirror with TOML, the engine's diagnostics at their place, and completion.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Annotation, EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { options } from "./complete.js";

// A change that the page makes itself: the form has asked for it already.
const own = Annotation.define();

const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--soft)" },
  { tag: tags.string, color: "var(--string)" },
  { tag: [tags.number, tags.atom, tags.bool], color: "var(--number)" },
  { tag: [tags.propertyName, tags.keyword], color: "var(--token)" },
]);

/** An editor in `parent`. `language()` gives the schema once it is known; `changed(text)` is called as one types. */
export function editor(parent, text, language, changed) {
  const complete = (context) => {
    const known = language();
    if (!known) return null;
    const at = context.state.doc.lineAt(context.pos);
    const found = options(known, context.state.doc.toString().split("\n"), at.number - 1, context.pos - at.from);
    if (!found || (!context.explicit && found.from === context.pos - at.from)) return null;
    return { from: at.from + found.from, options: found.list, validFor: /^[\w.*/-]*$/ };
  };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        bracketMatching(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        lintGutter(),
        StreamLanguage.define(toml),
        syntaxHighlighting(colours),
        autocompletion({ override: [complete] }),
        // Tab leaves the editor, as anywhere in a page.
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap]),
        EditorView.contentAttributes.of({ "aria-label": "scenario, TOML" }),
        EditorView.updateListener.of((u) => {
          if (u.docChanged && !u.transactions.some((t) => t.annotation(own))) changed(u.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    view,
    /** Replaces what differs, so that the cursor and undo stay. */
    set(next) {
      const old = view.state.doc.toString();
      if (old === next) return;
      let start = 0;
      while (start < old.length && old[start] === next[start]) start++;
      let end = 0;
      const most = Math.min(old.length, next.length) - start;
      while (end < most && old[old.length - 1 - end] === next[next.length - 1 - end]) end++;
      const changes = { from: start, to: old.length - end, insert: next.slice(start, next.length - end) };
      view.dispatch({ changes, annotations: own.of(true) });
    },
    /** Shows the engine's diagnostics at their places. */
    diagnostics(list) {
      const most = view.state.doc.length;
      const here = list.filter((d) => d.from !== null);
      const all = here.map((d) => ({
        from: Math.min(d.from, most),
        to: Math.min(Math.max(d.to, d.from), most),
        severity: d.error ? "error" : "warning",
        message: [d.message, d.label, d.hint].filter(Boolean).join("\n"),
      }));
      view.dispatch(setDiagnostics(view.state, all));
    },
    /** Goes to a place. */
    go(at) {
      view.dispatch({ selection: { anchor: Math.min(at, view.state.doc.length) }, scrollIntoView: true });
      view.focus();
    },
  };
}
