// Tables that sort, and copy as CSV. Cells carry their number with all digits.
import { copy, el } from "./dom.js";

const value = (cell) => cell.dataset.v ?? cell.textContent;

/** A table as CSV: numbers with all digits, their unit in the heading. */
export function csv(table) {
  const quoted = (t) => (/[",\n]/.test(t) ? `"${t.replaceAll('"', '""')}"` : t);
  const cell = (c) => quoted(c.dataset.unit ? `${value(c)}, ${c.dataset.unit}` : value(c));
  const lines = [...table.rows].map((row) => [...row.cells].map(cell).join(","));
  return lines.join("\n") + "\n";
}

/** How a table is sorted: column and direction, or null. */
export function sorted(table) {
  const heads = [...table.tHead.rows[0].cells];
  const column = heads.findIndex((th) => th.hasAttribute("aria-sort"));
  return column < 0 ? null : [column, heads[column].getAttribute("aria-sort") === "descending"];
}

export function sort(table, column, down) {
  const body = table.tBodies[0];
  const key = (row) => {
    const cell = row.cells[column];
    return cell?.dataset.v !== undefined ? Number(cell.dataset.v) : (cell?.textContent ?? "");
  };
  const rows = [...body.rows];
  rows.sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    const order =
      typeof x === "number" && typeof y === "number"
        ? x - y
        : String(x).localeCompare(String(y), "en", { numeric: true });
    return down ? -order : order;
  });
  body.append(...rows);
  [...table.tHead.rows[0].cells].forEach((th, i) => {
    if (i === column) th.setAttribute("aria-sort", down ? "descending" : "ascending");
    else th.removeAttribute("aria-sort");
  });
}

/** Makes the heads of all tables in `root` buttons, and adds a button that copies. */
export function tables(root, say) {
  for (const table of root.querySelectorAll("table[data-table]:not([data-live])")) {
    table.dataset.live = "";
    [...table.tHead.rows[0].cells].forEach((th, column) => {
      const name = th.textContent;
      const button = el("button", { type: "button", title: `sort by ${name}` }, name);
      button.addEventListener("click", () => sort(table, column, th.getAttribute("aria-sort") === "ascending"));
      th.replaceChildren(button);
    });
    const button = el("button", { type: "button", class: "copy" }, "Copy as CSV");
    button.addEventListener("click", async () => {
      say((await copy(csv(table))) ? "The table is on the clipboard." : "This browser lets no page copy.");
    });
    table.closest(".scroll").after(button);
  }
}
