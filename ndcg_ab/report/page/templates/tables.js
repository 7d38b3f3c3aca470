// Tables that can be sorted by a click on a head: rising, falling, then as they were given.
function cellKey(row, index, isNumber) {
  const text = row.cells[index].textContent.trim();
  if (!isNumber) return text || null;
  const number = Number.parseFloat(text.replace("−", "-").replace(/[≥≤,]/g, ""));
  return Number.isNaN(number) ? null : number;
}

function sortTable(table, index, direction) {
  const body = table.tBodies[0];
  const isNumber = table.tHead.rows[0].cells[index].dataset.sort === "number";
  const given = table.givenRows || (table.givenRows = [...body.rows]);
  const keyed = given.map((row) => [cellKey(row, index, isNumber), row]);
  if (direction) {
    const sign = direction === "ascending" ? 1 : -1;
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (isNumber ? a - b : collator.compare(a, b));
    });
  }
  body.replaceChildren(...keyed.map(([, row]) => row));
}

function listenToHeads() {
  for (const head of document.querySelectorAll("table.sortable thead th[data-sort]")) {
    const button = element("button", { type: "button" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const table = head.closest("table");
      const now = head.getAttribute("aria-sort");
      const next = now === null ? "ascending" : now === "ascending" ? "descending" : null;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      if (next) head.setAttribute("aria-sort", next);
      sortTable(table, head.cellIndex, next);
    });
  }
}
