// The page: its controls, what they ask for, and what comes back, piece by piece.

import { NO_SERVER, Refused, answered, byId, showError, showLines } from "./asking.js";
import { FIGURES, Figure, WAYS, element, short } from "./plots.js";

const PAUSE = 30; // milliseconds without a change before it is asked
const LONGEST = 60; // characters of a value in a link: no right one has as many
const CURVES = { quick: "a first plan", plan: "the plan", profile: "epsilon against delta", account: "what the plan gives", meaning: "what the best attacker reaches", users: "error at n =", epsilon: "error at ε =", honest: "epsilon at the honest share" };

const figures = FIGURES.map((about) => new Figure(about));
byId("figures").append(...figures.map((figure) => figure.element));

let about = {}; // what the server says of the controls
let values = {}; // as typed
let surplus = []; // what else a link says, for the server to refuse
let asked; // the request in progress
let timer, drawing, told;
let wanted = [], known = new Map();
let rows = new Map(); // of the plans by how they were found, of the last settings until there are new ones

// Controls.

function drawControls() {
  const protocol = element("select", { id: "bitsum", name: "bitsum", "aria-describedby": "bitsum-error" },
    ...about.bitsums.map((name) => element("option", { value: name }, name)));
  protocol.addEventListener("input", () => change("bitsum", protocol.value));
  const rows = [element("div", { className: "control" }, element("label", { htmlFor: "bitsum" }, "Protocol"), protocol, problem("bitsum"))];
  for (const [name, control] of Object.entries(about.controls)) {
    const stops = control.optional ? ["", ...control.stops] : control.stops;
    const slider = element("input", { type: "range", id: `${name}-slider`, min: 0, max: stops.length - 1, step: 1, "aria-label": control.label });
    const field = element("input", { type: "text", id: name, name, inputMode: "decimal", maxLength: 40, spellcheck: false,
      placeholder: control.optional ? "none" : "", "aria-describedby": `${name}-help ${name}-error` });
    slider.addEventListener("input", () => { field.value = stops[slider.value]; change(name, stops[slider.value]); });
    field.addEventListener("input", () => change(name, field.value.trim()));
    rows.push(element("div", { className: "control" }, element("label", { htmlFor: name }, control.label), field, slider,
      element("p", { className: "help", id: `${name}-help` }, `${control.help} ${control.range}.`), problem(name)));
  }
  byId("controls").replaceChildren(...rows);
}

function problem(name) {
  return element("p", { className: "problem", id: `${name}-error`, hidden: true, "aria-live": "polite" });
}

function nearest(stops, text) {
  const value = Number(text);
  if (!(value > 0)) return null;
  const far = stops.map((stop) => (stop === "" ? Infinity : Math.abs(Math.log(value / Number(stop)))));
  return far.indexOf(Math.min(...far));
}

function showValues() {
  byId("bitsum").value = values.bitsum;
  for (const name of Object.keys(about.controls)) {
    if (byId(name).value.trim() !== values[name]) byId(name).value = values[name];
    place(name);
  }
}

function place(name) {
  const control = about.controls[name], slider = byId(`${name}-slider`);
  const stops = control.optional ? ["", ...control.stops] : control.stops;
  const found = control.optional && values[name] === "" ? 0 : nearest(stops, values[name]);
  if (found !== null) slider.value = found;
  slider.setAttribute("aria-valuetext", values[name] === "" ? "none" : values[name]);
}

function change(name, text) {
  values[name] = text;
  surplus = [];
  if (name !== "bitsum") place(name);
  showLink();
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
}

function showLink() {
  history.replaceState(null, "", `?${query()}`);
  byId("link").textContent = location.href;
}

function readLink() {
  values = { bitsum: about.bitsums[0] };
  for (const [name, control] of Object.entries(about.controls)) values[name] = control.first;
  surplus = [];
  const said = new Set();
  for (const [name, text] of new URLSearchParams(location.search)) {
    const fits = Object.hasOwn(values, name) && !said.has(name);
    said.add(name);
    if (fits) values[name] = text.slice(0, LONGEST);
    else if (surplus.length < 10) surplus.push([name.slice(0, LONGEST), text.slice(0, LONGEST)]);
  }
}

function query() {
  return new URLSearchParams([...Object.entries(values), ...surplus]);
}

// Answers.

async function ask() {
  asked?.abort();
  const mine = (asked = new AbortController());
  byId("results").setAttribute("aria-busy", "true");
  wanted = []; known = new Map(); told = undefined;
  figures.forEach((figure) => figure.begin());
  for (const name of ["plans", "risks"]) byId(name).classList.add("stale");
  byId("waiting").textContent = "Asking the engine ...";
  try {
    for await (const lines of answered(`/answers?${query()}`, mine.signal)) {
      showErrors({});
      lines.forEach(take);
      drawSoon();
    }
    if (mine.signal.aborted) return;
    if (known.size < wanted.length) throw new TypeError("the answer broke off");
    await drawn();
    if (mine.signal.aborted) return;
    byId("results").setAttribute("aria-busy", "false");
    byId("status").textContent = `All computed. ${summary()}`;
  } catch (error) {
    if (error.name === "AbortError") return;
    const refused = error instanceof Refused;
    showErrors(refused ? error.errors : { link: NO_SERVER });
    showLines({});
    byId("waiting").textContent = refused ? "Waiting for settings that can be computed." : "";
    if (refused) byId("progress").value = 0;
  }
}

function take(line) {
  if (line.state) {
    wanted = line.pieces;
    showLines({ shell: line.shell, python: line.python });
    figures.forEach((figure) => figure.expect(wanted));
    return;
  }
  known.set(line.piece, line);
  const [curve, way, x] = line.piece.split("/");
  const figure = figures.find((one) => one.about.name === curve);
  if (figure) {
    const points = line.points ?? (line.error ? [] : [line]);
    figure.add(way, points, line.error, x ? ` at ${x}` : "");
    figure.dirty = true;
  }
}

// One figure a frame: the controls stay usable while much comes in at once.
function drawSoon() {
  drawing ??= requestAnimationFrame(() => {
    drawing = undefined;
    if (wanted.length && known.size !== told) showProgress();
    const figure = figures.find((one) => one.dirty);
    if (!figure) return;
    figure.dirty = false;
    figure.draw(values);
    drawSoon();
  });
}

async function drawn() {
  while (figures.some((figure) => figure.dirty)) await new Promise(requestAnimationFrame);
}

function showProgress() {
  told = known.size;
  drawPlans();
  const next = wanted.find((name) => !known.has(name));
  byId("progress").max = Math.max(wanted.length, 1);
  byId("progress").value = known.size;
  byId("waiting").textContent = next ? `${known.size} of ${wanted.length}; waiting for ${inWords(next)}` : "All computed.";
}

function inWords(piece) {
  const [curve, way, x] = piece.split("/");
  return `${CURVES[curve]}${x ? ` ${x}` : ""}, ${WAYS[way].toLowerCase()}`;
}

function drawPlans() {
  const ways = Object.keys(WAYS).filter((way) => wanted.includes(`plan/${way}`));
  const notes = new Set(), answers = [];
  rows = new Map(ways.map((way) => {
    const plan = known.get(`plan/${way}`), first = known.get(`quick/${way}`)?.plan, account = known.get(`account/${way}`);
    const row = (...cells) => [way, element("tr", {},
      element("th", { scope: "row" }, element("span", { className: `key ${way}` }), WAYS[way]), ...cells)];
    if (!plan && !first) {
      rows.get(way)?.classList.add("stale");
      return rows.has(way) ? [way, rows.get(way)] : row(element("td", { colSpan: 3 }, "computing ..."));
    }
    if (plan?.error) return row(element("td", { colSpan: 3, className: "problem" }, plan.error));
    const { bitsum_rmse: error, messages_per_user: messages, notes: said, proved, text } = plan?.plan ?? first;
    said.forEach((note) => notes.add(`${WAYS[way]}: ${note.replace(/\.$/, "")}.`));
    if (!proved) notes.add(`${WAYS[way]}: that it keeps the budget is the formula's claim, not proved.`);
    const bound = proved ? `at most ${text}` : "computing ...";
    const epsilon = account ? (account.error ?? account.text) : bound;
    answers.push(`${plan ? "" : "at most "}${short(error)} (${way})`);
    const found = plan ? [short(error)] : [`at most ${short(error)} `, element("span", { className: "small" }, "being refined")];
    return row(element("td", {}, ...found), element("td", {}, epsilon), element("td", {}, short(messages)));
  }));
  byId("plans").classList.remove("stale");
  placeRows(byId("plans").tBodies[0], [...rows.values()]);
  const risks = known.get("meaning/exact");
  const body = byId("risks").tBodies[0];
  if (risks?.rows) placeRows(body, risks.rows.map(({ about, blind, least, most }) => element("tr", {},
    element("th", { scope: "row" }, about), ...[blind, least, most].map((text) => element("td", {}, text)))));
  else if (risks) placeRows(body, [element("tr", {}, element("td", { colSpan: 4, className: "problem" }, risks.error))]);
  byId("risks").classList.toggle("stale", !risks);
  if (answers.length) byId("answer").textContent = `Error: ${answers.join(", ")}`;
  byId("notes").replaceChildren(...[...notes].map((note) => element("li", {}, note)));
}

// A row that stays is not touched, so that it fades in peace.
function placeRows(body, wanted) {
  [...body.rows].filter((row) => !wanted.includes(row)).forEach((row) => row.remove());
  wanted.forEach((row, place) => { if (body.rows[place] !== row) body.insertBefore(row, body.rows[place] ?? null); });
}

function summary() {
  const said = Object.keys(WAYS).filter((way) => known.get(`plan/${way}`)?.plan)
    .map((way) => `${WAYS[way]}: error ${short(known.get(`plan/${way}`).plan.bitsum_rmse)} users`);
  return `${said.join("; ")}.`;
}

function showErrors(errors) {
  for (const name of ["bitsum", ...Object.keys(about.controls), "link"]) showError(name, errors[name]);
}

// The rest.

byId("settings").addEventListener("submit", (event) => event.preventDefault());
byId("settings").addEventListener("reset", (event) => {
  event.preventDefault();
  history.replaceState(null, "", location.pathname);
  begin();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => figures.forEach((figure) => figure.draw(values)));

function begin() {
  readLink();
  showValues();
  if (!surplus.length) showLink();
  ask();
}

about = await (await fetch("/controls")).json();
drawControls();
begin();
