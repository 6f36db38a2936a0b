// What both pages share: how they ask, the lines for elsewhere, and what is copied.

const NO_LINES = "None: this cannot be computed.";
export const NO_SERVER = "The server does not answer: start `dpverify serve` again, and reload this page.";
export const byId = (id) => document.getElementById(id);

let texts = {};

// What is wrong with a question, by the name of what was asked.
export class Refused extends Error {
  constructor(errors) { super("refused"); this.errors = errors; }
}

// The lines of JSON of an answer, those together that come together.
export async function* answered(address, signal, options = {}) {
  const answer = await fetch(address, { headers: { "X-Dpverify": "page" }, signal, ...options });
  if (!answer.ok) {
    const told = (answer.headers.get("content-type") ?? "").includes("json");
    throw new Refused(told ? (await answer.json()).errors : { link: await answer.text() });
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done || signal.aborted) return;
    const lines = (text + value).split("\n");
    text = lines.pop();
    yield lines.filter(Boolean).map((line) => JSON.parse(line));
  }
}

// What the lines would say of what cannot be computed, they said of something else.
export function showLines(said) {
  texts = said;
  for (const name of ["shell", "python"]) {
    byId(name).textContent = said[name] ?? NO_LINES;
    document.querySelector(`[data-copy=${name}]`).disabled = !said[name];
  }
}

export function showError(name, text = "") {
  const place = byId(`${name}-error`);
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
  if (byId(name)?.form) byId(name).setAttribute("aria-invalid", String(Boolean(text)));
}

document.addEventListener("click", async (event) => {
  const name = event.target.dataset?.copy;
  if (!name) return;
  const text = name === "link" ? location.href : texts[name] ?? "";
  let copied = true;
  try { await navigator.clipboard.writeText(text); } catch { copied = false; getSelection().selectAllChildren(byId(name)); }
  event.target.textContent = copied ? "Copied" : "Selected";
  byId("status").textContent = copied ? `${name} copied` : `${name} selected: copy it with your keyboard`;
  setTimeout(() => { event.target.textContent = "Copy"; }, 1500);
});

// On a phone the bar lies over the end of the page, which leaves it as much room.
new ResizeObserver(([bar]) => document.documentElement.style.setProperty("--bar", `${bar.target.offsetHeight}px`))
  .observe(document.querySelector(".progress"));
