// The figures: what is drawn of the pieces that have been computed, and the same as tables.

export const WAYS = { published: "Published formula", exact: "Exact law", joint: "Exact law, joint changes" };

const MOST = 3; // reasons that are told
const LEGEND = { published: "published", exact: "exact", joint: "joint" };
const DASH = { published: "dash", exact: "solid", joint: "dot" };
const MARK = { published: "square", exact: "circle", joint: "triangle-up" };

export const FIGURES = [
  { name: "profile", title: "Epsilon against delta", x: "delta", xTitle: "δ", yTitle: "ε that the plan gives, nats",
    caption: "The privacy profile of each plan, between its two proved ends; an epsilon of 0 has no place here.", ends: true },
  { name: "users", title: "Error against users", x: "users", xTitle: "n, users", yTitle: "error of a sum, users",
    caption: "The error of the plan for the same budget at other numbers of users." },
  { name: "epsilon", title: "Error against epsilon", x: "epsilon", xTitle: "ε, nats", yTitle: "error of a sum, users",
    caption: "The error of the plan for other budgets." },
  { name: "honest", title: "Epsilon against the honest share", x: "honest", xTitle: "honest share of the users",
    yTitle: "ε that is left, nats", caption: "What is left of the plan above, which stays as it is.", ends: true },
];

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const number = (value) => (typeof value === "number" && value > 0 ? value : null);
export const short = (value) => Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// One figure of the page.
export class Figure {
  constructor(about) {
    this.about = { ways: WAYS, legend: LEGEND, ...about };
    this.points = {};
    this.before = {}; // of the settings before, shown faintly until a curve is complete
    this.left = {}; // how many pieces of a curve are still to come
    this.errors = new Map();
    this.ends = {}; // of the axes
    this.plot = element("div", { className: "plot", role: "img", "aria-label": `${about.title}, computing` });
    this.reasons = element("ul", { className: "problem", hidden: true });
    this.table = element("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": `${about.title}, numbers` });
    const title = element("h2", { id: `${about.name}-title` }, about.title);
    this.element = element("figure", { "aria-labelledby": title.id, id: `figure-${about.name}` }, title, this.plot,
      element("figcaption", {}, about.caption), this.reasons,
      element("details", {}, element("summary", {}, "Numbers"), this.table));
  }

  // New settings: what is drawn is of the last ones, until there is something of these.
  begin() {
    this.fresh = true;
    this.plot.classList.add("stale");
    this.table.classList.add("stale");
  }

  // These pieces are to come.
  expect(wanted) {
    this.left = {};
    for (const [curve, way] of wanted.map((name) => name.split("/"))) {
      if (curve === this.about.name) this.left[way] = (this.left[way] ?? 0) + 1;
    }
    this.expected = Object.keys(this.left).length > 0;
    if (!this.expected) { this.points = {}; this.before = {}; this.errors = new Map(); this.fresh = false; this.dirty = true; }
  }

  add(way, points, error, at) {
    if (this.fresh) {
      for (const old of Object.keys(this.left)) if (this.points[old]?.length) this.before[old] = this.points[old];
      this.points = {}; this.errors = new Map(); this.fresh = false;
    }
    this.left[way] -= 1;
    if (error) this.errors.set(error, [...(this.errors.get(error) ?? []), `${this.about.ways[way].toLowerCase()}${at}`]);
    this.points[way] = [...(this.points[way] ?? []), ...points].sort((a, b) => a.x - b.x);
  }

  // All that is known of a curve.
  put(way, points, left) {
    this.points[way] = points;
    this.left[way] = left;
  }

  draw(values) {
    if (this.fresh && this.expected) return;
    const waiting = Object.keys(this.left).filter((way) => this.left[way] > 0);
    this.before = Object.fromEntries(Object.entries(this.before).filter(([way]) => waiting.includes(way)));
    this.plot.classList.remove("stale");
    this.table.classList.remove("stale");
    const { about } = this;
    const ways = Object.keys(about.ways).filter((way) => this.points[way]?.length);
    const faint = Object.entries(this.before).map(([way, points]) => this.curve(way, points, { opacity: 0.25, showlegend: false, hoverinfo: "skip" }));
    const own = ways.flatMap((way) => this.traces(way)), traces = [...faint, ...own];
    const ink = colour("ink"), grid = colour("grid");
    const axis = { type: about.linear ? "linear" : "log", rangemode: "tozero", color: ink, gridcolor: grid, zeroline: false, linecolor: colour("rule"), fixedrange: true,
      automargin: true, exponentformat: "power", minexponent: 5, minor: { ticks: "" } };
    const now = Number(values[about.x]);
    const narrow = this.plot.clientWidth < 400;
    const layout = {
      xaxis: { ...axis, title: { text: about.xTitle, standoff: 8 }, ...this.ticks(own, "x", now, narrow ? 4 : 7, waiting.length), tickangle: 0 },
      yaxis: { ...axis, title: { text: about.yTitle, standoff: 6 }, ...this.ticks(own, "y", undefined, 6, waiting.length) },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: narrow ? 11 : 13, family: "system-ui, sans-serif" },
      margin: { l: 40, r: 12, t: 8, b: 40 }, dragmode: false, hovermode: "closest",
      showlegend: true, legend: { orientation: "h", traceorder: "normal", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 } },
      shapes: now > 0 ? [{ type: "line", xref: "x", yref: "paper", x0: now, x1: now, y0: 0, y1: 1, layer: "below",
        line: { color: colour("faint"), width: 1, dash: "dot" } }] : [],
    };
    Plotly.react(this.plot, traces, layout, { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false });
    this.plot.setAttribute("aria-label", this.inWords(ways));
    this.tell(ways);
  }

  curve(way, points, more) {
    return { x: points.map((point) => point.x), y: points.map((point) => number(this.about.ends ? point.upper : point.y)),
      name: this.about.legend[way], mode: "lines+markers",
      line: { color: colour(way), dash: DASH[way], width: 2, shape: this.about.steps ? "vh" : "linear" }, connectgaps: false,
      marker: { color: colour(way), size: 7, symbol: points.map((p) => MARK[way] + (p.proved === false ? "-open" : "")) }, ...more };
  }

  traces(way) {
    const points = this.points[way];
    const drawn = this.curve(way, points, { text: points.map((point) => point.text ?? short(point.y)),
      hovertemplate: "%{x}: %{text}<extra></extra>" });
    if (this.left[way] > 0) Object.assign(drawn, { name: `${this.about.legend[way]} (${this.left[way]} to come)`, opacity: 0.5 });
    if (!this.about.ends) return [drawn];
    const end = { x: drawn.x, mode: "lines", line: { ...drawn.line, width: 0 }, showlegend: false, hoverinfo: "skip" };
    const lower = { ...end, y: points.map((point) => number(point.lower)) };
    if (this.about.steps) lower.line = { ...lower.line, shape: "hv" }; // never below what it was, never above what it will be
    return [lower, { ...end, y: drawn.y, fill: "tonexty" }, drawn];
  }

  // The ends of what is drawn; they only move outwards until all has come, so that nothing jumps to and fro.
  ticks(traces, key, also, most, waiting) {
    const all = traces.flatMap((trace) => trace[key]).filter((value) => value > 0);
    if (also > 0) all.push(also);
    if (this.about.linear) return {};
    if (waiting) all.push(...(this.ends[key] ?? []));
    if (all.length) this.ends[key] = [Math.min(...all), Math.max(...all)];
    return this.ends[key] ? ticks(...this.ends[key], most) : {};
  }

  inWords(ways) {
    const said = ways.map((way) => {
      const known = this.points[way].filter((point) => number(this.about.ends ? point.upper : point.y));
      if (!known.length) return `${this.about.ways[way]}: nothing finite`;
      const say = (point) => `${point.text ?? short(point.y)} at ${point.x}`;
      return `${this.about.ways[way]}: from ${say(known[0])} to ${say(known[known.length - 1])}`;
    });
    return `${this.about.title}. ${said.join(". ")}. All numbers are in the table below.`;
  }

  tell(ways) {
    const reasons = [...this.errors].map(([error, where]) => {
      const some = where.length > 3 ? `${where.slice(0, 3).join(", ")} and ${where.length - 3} more` : where.join(", ");
      return element("li", {}, `${some}: ${error}`);
    });
    if (reasons.length > MOST) reasons.splice(MOST, Infinity, element("li", {}, `and ${reasons.length - MOST} more such reasons`));
    this.reasons.replaceChildren(...reasons);
    this.reasons.hidden = reasons.length === 0;
    const places = [...new Set(ways.flatMap((way) => this.points[way].map((point) => point.x)))].sort((a, b) => a - b);
    const cell = (way, x) => {
      const point = this.points[way].find((one) => one.x === x);
      return element("td", {}, point ? (point.text ?? short(point.y)) + (point.proved === false ? " (not confirmed)" : "") : "");
    };
    this.table.replaceChildren(element("table", {}, element("caption", { className: "unseen" }, this.about.title),
      element("thead", {}, element("tr", {}, ...[this.about.xTitle, ...ways.map((way) => this.about.ways[way])]
        .map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...places.map((x) => element("tr", {},
        element("th", { scope: "row" }, x.toString()), ...ways.map((way) => cell(way, x)))))));
  }
}

// Ticks of a logarithmic axis: round numbers where it spans little, 1, 2 and 5 where it spans more, and powers of ten.
function ticks(least, largest, most) {
  const low = Math.log10(least), high = Math.log10(largest), room = 0.04 * Math.max(high - low, 0.3);
  const range = [low - room, high + room];
  if (high - low > most) return { range, dtick: Math.ceil((high - low) / most) };
  if (high - low > 0.6) return { range, dtick: high - low > 2.5 ? 1 : "D2" };
  const span = (10 ** range[1] - 10 ** range[0]) / 4, power = 10 ** Math.floor(Math.log10(span));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= span);
  const tickvals = [];
  for (let place = Math.ceil(10 ** range[0] / step); place * step <= 10 ** range[1]; place += 1) tickvals.push(place * step);
  return { range, tickmode: "array", tickvals, ticktext: tickvals.map((value) => Number(value.toPrecision(6)).toLocaleString("en", { maximumSignificantDigits: 6 })) };
}
