// The page: a text box, and a panel for each model that the server has.

import { paced, settled } from "./asking.mjs";
import { examples } from "./examples.mjs";
import { Panel } from "./panel.mjs";
import { read, write } from "./state.mjs";

// At most one question in so many milliseconds; effects take many passes of a model, so they wait.
const PACE = 30;
const SETTLED = 400;

const by = (id) => document.getElementById(id);
const text = by("text");
// What of the address each of these shows.
const SHOWN = {
  method: by("effect-method"), label: by("effect-label"), tokens: by("max-new-tokens"),
  temperature: by("temperature"), top_p: by("top-p"), seed: by("seed"),
};
let panels = [];
let view = "text";

/** Tells a screen reader, once the typing has paused. */
const spoken = new Map();
const speak = settled(() => {
  by("status").textContent = [...spoken.values()].join(". ");
  spoken.clear();
}, 700);
function say(words) {
  spoken.set(words.split(":")[0], words);
  speak();
}

const keep = settled(() => {
  const state = { text: text.value, view, effects: by("effects").checked ? "1" : "" };
  for (const [name, control] of Object.entries(SHOWN)) state[name] = control.value;
  const fragment = write(state);
  history.replaceState(null, "", `${location.pathname}${fragment}`);
}, 300);
const explain = settled(() => {
  if (!by("effects").checked) return;
  for (const panel of panels) panel.explain(text.value, SHOWN.label.value, SHOWN.method.value);
}, SETTLED);
const askAll = paced(() => {
  for (const panel of panels) panel.ask(text.value);
}, PACE);

function typed() {
  const characters = Array.from(text.value).length;
  by("counts").textContent = `${characters.toLocaleString("en")} ${characters === 1 ? "character" : "characters"}`;
  askAll();
  explain();
  keep();
}

function setView(chosen) {
  view = chosen;
  for (const { tokens, buttons } of panels) {
    tokens.element.classList.remove("view-text", "view-both", "view-ids", "view-none");
    tokens.element.classList.add(`view-${view}`);
    buttons.hidden = view === "none";
  }
  document.querySelector(`input[name="view"][value="${view}"]`).checked = true;
}

function settings() {
  const value = ({ value }) => (value === "" ? null : Number(value));
  return {
    max_new_tokens: value(SHOWN.tokens),
    temperature: value(SHOWN.temperature),
    top_p: value(SHOWN.top_p),
    seed: value(SHOWN.seed),
  };
}

function restore() {
  const state = read(location.hash);
  if (state.text !== null) text.value = state.text;
  by("effects").checked = state.effects === "1";
  for (const [name, control] of Object.entries(SHOWN)) control.value = state[name];
  if (SHOWN.label.selectedIndex < 0) SHOWN.label.value = ""; // of other runs
  setView(state.view);
  typed();
}

function addExamples(kinds) {
  for (const example of examples(kinds)) {
    const button = document.createElement("button");
    button.textContent = example;
    button.addEventListener("click", () => {
      text.value = example;
      text.focus();
      typed();
    });
    by("examples").append(button);
  }
}

function addLabels() {
  const labels = [...new Set(panels.flatMap((panel) => panel.about.labels ?? []))];
  for (const [value, words] of [["", "the answer"], ...labels.map((label) => [label, label])]) {
    const option = document.createElement("option");
    option.value = value;
    option.textContent = words;
    SHOWN.label.append(option);
  }
}

async function begin() {
  const answer = await fetch("/api/model");
  const { models, limits, version } = await answer.json();
  panels = models.map((about, number) => new Panel({ ...about, max_tokens: limits.tokens, pace: PACE }, number, say));
  by("panels").replaceChildren(...panels.map((panel) => panel.element));
  const kinds = models.map((about) => about.kind);
  const tokenizers = kinds.every((kind) => kind === "tokenizer");
  by("title").textContent = tokenizers ? "Tokens as you type" : "Try your runs";
  by("subtitle").textContent = `sentitok ${version}. What you type stays on this server; it is not logged.`;
  document.title = `${models.map((about) => about.name).join(", ")} – sentitok`;
  addExamples(kinds);
  addLabels();
  by("effect-settings").hidden = !panels.some((panel) => panel.does("effects"));
  const writers = panels.filter((panel) => panel.does("generate"));
  by("writing-settings").hidden = !writers.length;
  by("writing-settings").addEventListener("input", keep);
  for (const panel of writers) panel.go.addEventListener("click", () => panel.write(text.value, settings()));
  text.addEventListener("input", typed);
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.ctrlKey) for (const panel of writers) panel.write(text.value, settings());
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const panel of writers) panel.halt();
  });
  by("view").addEventListener("change", (event) => {
    setView(event.target.value);
    keep();
  });
  for (const id of ["effects", "effect-method", "effect-label"]) {
    by(id).addEventListener("change", () => {
      if (by("effects").checked) explain();
      else for (const panel of panels) panel.explainNoMore();
      keep();
    });
  }
  window.addEventListener("hashchange", restore);
  restore();
}

begin().catch(() => {
  by("failure").textContent = "The server does not answer; is it still running?";
});
