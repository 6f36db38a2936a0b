"use strict";
// Everything can be read without this: it adds sorting, filters, copying, and the values of points.
document.documentElement.classList.add("scripted");

const SVG = "http://www.w3.org/2000/svg";

for (const canvas of document.querySelectorAll(".canvas")) {
  const svg = canvas.querySelector("svg");
  const points = JSON.parse(svg.dataset.points);
  const reading = canvas.parentElement.querySelector(".reading");
  if (!points.length) { reading.remove(); continue; }
  const here = document.createElementNS(SVG, "circle");
  here.setAttribute("class", "here");
  here.setAttribute("r", "5");
  let current = -1;

  const show = (index) => {
    current = index;
    here.setAttribute("cx", points[index].x);
    here.setAttribute("cy", points[index].y);
    svg.append(here);
    reading.textContent = points[index].t;
  };

  const nearest = (x, y, among) => among.reduce((best, index) => {
    const far = (i) => (points[i].x - x) ** 2 + (points[i].y - y) ** 2;
    return best < 0 || far(index) < far(best) ? index : best;
  }, -1);

  const every = points.map((_, index) => index);

  canvas.addEventListener("pointermove", (event) => {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    show(nearest(place.x, place.y, every));
  });
  canvas.addEventListener("focus", () => { if (current < 0) show(0); });
  canvas.addEventListener("keydown", (event) => {
    const at = points[Math.max(current, 0)];
    const same = every.filter((i) => points[i].s === at.s);
    const lines = [...new Set(points.map((point) => point.s))];
    const place = same.indexOf(Math.max(current, 0));
    const line = (step) => {
      const next = lines[(lines.indexOf(at.s) + step + lines.length) % lines.length];
      return nearest(at.x, at.y, every.filter((i) => points[i].s === next));
    };
    const target = {
      ArrowLeft: () => same[Math.max(0, place - 1)],
      ArrowRight: () => same[Math.min(same.length - 1, place + 1)],
      ArrowUp: () => line(-1),
      ArrowDown: () => line(1),
      Home: () => same[0],
      End: () => same[same.length - 1],
    }[event.key];
    if (target) { event.preventDefault(); show(target()); }
  });
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[column];
        const value = cell.dataset.value;
        return value === undefined ? cell.textContent.trim() : value === "" ? null : Number(value);
      };
      const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
      // Rows without a value come last, whichever way the others are sorted.
      rows.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        const order = typeof a === "number" ? a - b : a.localeCompare(b);
        return down ? -order : order;
      });
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}

for (const choice of document.querySelectorAll("[data-filters]")) {
  choice.addEventListener("change", () => {
    for (const row of document.getElementById(choice.dataset.filters).tBodies[0].rows) {
      row.hidden = choice.value !== "all" && row.dataset.method !== choice.value;
    }
  });
}

for (const button of document.querySelectorAll(".copy")) {
  const code = document.getElementById(button.dataset.copies);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

addEventListener("beforeprint", () => document.querySelectorAll("details.print").forEach((part) => { part.open = true; }));
