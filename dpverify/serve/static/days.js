// The page of designs and days: a text, what it asks for, and what comes back, part by part.

import { NO_SERVER, Refused, answered, byId, showError, showLines } from "./asking.js";
import { Figure, element } from "./plots.js";

const PAUSE = 300; // milliseconds without a key before it is asked
const FIELDS = ["delta", "at_most"];
const FIRST = { delta: "1e-6", at_most: "" };

const examples = new Map([...document.querySelectorAll("[data-example]")].map((one) => [one.dataset.example, one.content.textContent]));
let figures = [], asked, timer;

// The text, the fields, and the link that holds them.

byId("examples").append(...[...examples.keys()].map((name) => element("button", { type: "button" }, name)));
byId("examples").addEventListener("click", (event) => {
  const text = examples.get(event.target.textContent);
  if (text) location.hash = new URLSearchParams({ ...FIRST, text }); // a step back is to what was written before
});
byId("settings").addEventListener("submit", (event) => event.preventDefault());
byId("settings").addEventListener("input", () => {
  asked?.abort();
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
});
addEventListener("hashchange", begin);

function begin() {
  const said = new URLSearchParams(location.hash.slice(1));
  byId("text").value = said.get("text") ?? [...examples.values()][0];
  for (const name of FIELDS) byId(name).value = said.get(name) ?? FIRST[name];
  clearTimeout(timer);
  ask();
}

function values(names) {
  return Object.fromEntries(names.map((name) => [name, byId(name).value]));
}

// Answers.

async function ask() {
  asked?.abort();
  const mine = (asked = new AbortController());
  const said = values([...FIELDS, "text"]);
  history.replaceState(null, "", `#${new URLSearchParams(said)}`);
  byId("link").textContent = location.href;
  URL.revokeObjectURL(byId("save").href);
  byId("save").href = URL.createObjectURL(new Blob([said.text]));
  byId("results").setAttribute("aria-busy", "true");
  byId("found").classList.add("stale");
  figures.forEach((figure) => figure.begin());
  byId("progress").removeAttribute("value");
  byId("waiting").textContent = "Asking the engine ...";
  try {
    const longest = byId("text").dataset.longest;
    if (new Blob([said.text]).size > longest) throw new Refused({ text: `text must have ${longest} bytes at most.` });
    const address = `/texts?${new URLSearchParams(values(FIELDS))}`;
    for await (const lines of answered(address, mine.signal, { method: "POST", body: said.text })) lines.forEach(take);
    if (mine.signal.aborted) return;
    if (byId("found").matches(".stale") || figures.some((figure) => figure.left.exact)) throw new TypeError("the answer broke off");
    byId("results").setAttribute("aria-busy", "false");
    byId("progress").value = 1;
    byId("waiting").textContent = "All computed.";
    byId("status").textContent = `All computed. ${byId("found").querySelector("p")?.textContent ?? ""}`;
  } catch (error) {
    if (error.name !== "AbortError") refuse(error instanceof Refused ? error.errors : { link: NO_SERVER });
  }
}

// What was computed before stays, and says so.
function refuse(errors) {
  showErrors(errors);
  showLines({});
  byId("before").hidden = !byId("found").childElementCount;
  byId("progress").value = 0;
  byId("waiting").textContent = "Waiting for a text that can be computed.";
}

function showErrors(errors) {
  for (const name of ["text", "link", ...FIELDS]) showError(name, errors[name]);
  if (FIELDS.some((name) => errors[name])) byId("fields").hidden = false; // a link may have brought them
}

function take(line) {
  if (line.name) {
    const designs = line.name.endsWith("toml");
    byId("save").download = line.name;
    byId("save").textContent = `Save as ${line.name}`;
    byId("kind").textContent = `It is read as ${designs ? "a design" : "days"}.`;
    byId("fields").hidden = designs;
    byId("waiting").textContent = designs ? "Searching for the least noise that keeps all budgets ..." : "Composing the days ...";
  } else if (line.parts) {
    showErrors({});
    byId("before").hidden = true;
    showLines(line);
    showFound(line);
  } else if (line.curve === undefined) throw new Refused({ text: line.error });
  else showCurve(figures[line.curve], line);
}

function showFound(line) {
  byId("found").classList.remove("stale");
  byId("found").replaceChildren(...line.parts.map((part, place) => (part.text ? element("p", { className: place ? "small" : "" }, part.text) : table(part))));
  if (line.left_out) byId("found").append(element("p", { className: "small" }, `Of budgets at other deltas, ${line.left_out} have no figure.`));
  figures = line.curves.map(({ delta, budgets, left }, place) => {
    const designed = budgets.length > 0;
    const figure = new Figure({ name: `spent-${place}`, title: `Epsilon over the ${designed ? "days" : "runs"}, δ = ${delta}`,
      xTitle: designed ? "days" : "runs", yTitle: "ε, nats", ends: true, steps: true, linear: !designed,
      ways: { exact: "Spent", published: "Budget" }, legend: { exact: "spent, at most", published: "budget" },
      caption: designed ? "What any so many days together spend, below each budget." : "What the first runs spend, between two proved ends." });
    figure.put("exact", [], left);
    if (designed) figure.put("published", [{ ...budgets[0], x: 1 }, ...budgets], 0);
    return figure;
  });
  byId("figures").replaceChildren(...figures.map((figure) => figure.element));
}

function table({ headers, numbers, rows }) {
  const cell = (tag, scope) => (text, place) => element(text ? tag : "td",
    { className: numbers[place] ? "number" : "", "data-label": headers[place], ...(text && scope ? { scope } : {}) }, text);
  const row = ([first, ...others]) => element("tr", {}, cell("th", "row")(first, 0), ...others.map((text, place) => cell("td")(text, place + 1)));
  return element("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": `Table of ${headers[0] || "epsilon and delta"}` },
    element("table", {}, element("thead", {}, element("tr", {}, ...headers.map(cell("th", "col")))), element("tbody", {}, ...rows.map(row))));
}

function showCurve(figure, { points = figure.points.exact, left = 0, error }) {
  figure.put("exact", points, left);
  if (error) figure.errors.set(error, ["spent"]);
  figure.draw({});
  const all = figures.map((one) => one.left.exact).reduce((sum, number) => sum + number, 0);
  byId("waiting").textContent = `Composing: ${all} points to come ...`;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => figures.forEach((figure) => figure.draw({})));
begin();
