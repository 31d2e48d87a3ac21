// Completion out of the JSON Schema of scenarios: keys of the table at hand, their words, names of the library and of
// parts in the text.

/** The head of the table that a line is in: `["parts", "nic"]`. */
export function tableAt(lines, at) {
  for (let i = at; i >= 0; i--) {
    const head = /^\s*\[([^\[\]]+)\]\s*(#.*)?$/.exec(lines[i]);
    if (head) return head[1].match(/"[^"]*"|[^.\s]+/g)?.map((k) => k.replace(/^"|"$/g, "")) ?? [];
  }
  return [];
}

/** All keys that a table of a section may have, with their schemas. */
export function keysOf(schema, section) {
  const of = schema.properties?.[section];
  if (!of) return {};
  const table = of.additionalProperties || of;
  const forms = table.anyOf ?? [table];
  return Object.assign({}, ...forms.map((f) => f.properties ?? {}));
}

/** The words that a key takes. */
function wordsOf(schema) {
  if (!schema) return [];
  if (schema.enum) return schema.enum.filter((w) => typeof w === "string");
  return [...new Set((schema.anyOf ?? []).flatMap(wordsOf))];
}

/** Options at a place of a text; null for none. `pos` counts characters of the line. */
export function options({ schema, library }, lines, line, pos) {
  const before = lines[line].slice(0, pos);
  const [section] = tableAt(lines, line);
  const head = /^\s*\[([\w-]*)$/.exec(before);
  if (head) {
    const all = ["parts.", "links.", "flows.", "run]"];
    return { from: pos - head[1].length, list: all.map((label) => ({ label, type: "namespace" })) };
  }
  const keys = section ? keysOf(schema, section) : (schema.properties ?? {});
  const value = /^\s*"?([\w-]+)"?\s*=\s*("?)([^"#]*)$/.exec(before);
  if (value) {
    const [, key, quote, typed] = value;
    let words = wordsOf(keys[key]);
    if (key === "use" || key === "platform") words = library;
    if (["from", "to", "between"].includes(key)) {
      const names = lines.map((l) => /^\s*\[parts\.("?)(.+?)\1\]/.exec(l)?.[2]).filter(Boolean);
      words = names.flatMap((n) => [n, `${n}.*`]);
    }
    const list = words.map((w) => ({ label: w, apply: quote ? w : JSON.stringify(w), type: "enum" }));
    return list.length ? { from: pos - typed.length - (quote ? 0 : 0), list } : null;
  }
  const key = /^\s*([\w-]*)$/.exec(before);
  if (!key) return null;
  const list = Object.entries(keys)
    .filter(([, s]) => !["object"].includes(s.type) || section)
    .map(([label, s]) => ({ label, apply: `${label} = `, type: "property", info: s.description }));
  return { from: pos - key[1].length, list };
}
