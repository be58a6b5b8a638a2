"use strict";
// Numbers sort by data-v, all else as text with numbers inside taken as numbers; rows without a value stay last.
function key(row, column) {
  const cell = row.cells[column];
  const value = cell.dataset.v;
  return value === undefined || value === "" ? cell.textContent.trim() : Number(value);
}
function before(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}
function empty(value) {
  return value === "–" || value === "";
}
function sortBy(head) {
  const table = head.closest("table");
  const column = head.cellIndex;
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = Array.from(table.tBodies[0].rows, (row, place) => ({ row, place, value: key(row, column) }));
  rows.sort((a, b) => {
    if (empty(a.value) !== empty(b.value)) return empty(a.value) ? 1 : -1;
    return (down ? -1 : 1) * before(a.value, b.value) || a.place - b.place;
  });
  table.tBodies[0].append(...rows.map((entry) => entry.row));
}
for (const head of document.querySelectorAll("table.sortable th")) {
  head.addEventListener("click", () => sortBy(head));
  head.addEventListener("keydown", (event) => {
    if (event.key === "Enter") sortBy(head);
  });
}
for (const input of document.querySelectorAll("section input[type=search]")) {
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of input.closest("section").querySelectorAll("tbody tr"))
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
}
