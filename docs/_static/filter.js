/* A field over each long table that keeps the rows with the typed words. */
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("article table.docutils")) {
    const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
    if (rows.length < 25) continue;
    const field = document.createElement("input");
    Object.assign(field, { type: "search", className: "table-filter", placeholder: `Filter ${rows.length} rows` });
    field.setAttribute("aria-label", "Filter the table");
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/);
      for (const [row, text] of rows) row.hidden = !words.every((word) => text.includes(word));
    });
    (table.closest(".table-wrapper") ?? table).before(field);
  }
});
