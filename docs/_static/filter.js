/* A page that has <div class="table-filter"></div> gets a field there: the tables after it show the rows that have all
   typed words, and a section whose rows are all hidden is hidden too. */
document.addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector("div.table-filter");
  if (!place) return;
  const isBehind = (table) => place.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING;
  const tables = [...document.querySelectorAll("article table.docutils")].filter(isBehind).map((table) => ({
    box: table.closest("section:not(:has(section))") ?? table,
    rows: [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]),
  }));
  const count = tables.reduce((sum, { rows }) => sum + rows.length, 0);
  const field = document.createElement("input");
  Object.assign(field, { type: "search", placeholder: `Filter ${count} rows` });
  field.setAttribute("aria-label", "Filter the tables of this page");
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const { box, rows } of tables) {
      for (const [row, text] of rows) row.hidden = !words.every((word) => text.includes(word));
      box.hidden = rows.every(([row]) => row.hidden);
    }
  });
  place.append(field);
});
