// One model on the page: its probabilities, its tokens, the text that it writes.

import { ask, askLines, Latest } from "./asking.mjs";
import { Bars } from "./bars.mjs";
import { Decoding } from "./decoding.mjs";
import { signed, Tokens } from "./tokens.mjs";
import { ending, Written } from "./writing.mjs";

// Tokens that are drawn at first; drawing all of a long text takes a browser seconds.
const DRAWN = 1000;

function made(tag, className, text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.textContent = text;
  return element;
}

/** Makes the place where more is said of a token that is pointed at, or reached by the arrow keys. */
function details() {
  const box = made("div", "details");
  box.setAttribute("aria-live", "polite");
  return box;
}

/** Says how many tokens there are. */
function counted(count) {
  return `${count.toLocaleString("en")} ${count === 1 ? "token" : "tokens"}`;
}

/** Says what the parts sum up to. */
function summed({ scores, baseline, gap }, place) {
  const total = signed(scores[place] - baseline[place]);
  return `In all ${total}: score ${signed(scores[place])}, of unknown tokens ${signed(baseline[place])}; the parts miss ${gap.toExponential(0)}.`;
}

export class Panel {
  /** @param about what the server says of the model. @param say tells a screen reader. */
  constructor(about, number, say) {
    this.about = about;
    this.say = say;
    this.answering = new Latest();
    this.explaining = new Latest();
    this.writing = new Latest();
    this.drawn = DRAWN;
    this.last = null;
    this.text = "";
    this.element = made("section", "panel");
    const title = made("h2", "", about.name);
    title.id = `model-${number}`;
    this.element.setAttribute("aria-labelledby", title.id);
    this.failure = made("p", "failure");
    this.element.append(title, made("p", "quiet", this.summary()), this.failure);
    if (this.does("predict")) {
      this.bars = new Bars(about.labels);
      this.element.append(this.bars.element);
    }
    if (this.does("generate")) this.addWriting();
    this.addTokens();
  }

  does(what) {
    return this.about.answers.includes(what);
  }

  summary() {
    const parts = [this.about.summary];
    if (this.about.vocab_size) parts.push(`${this.about.vocab_size.toLocaleString("en")} ids`);
    return parts.join(", ");
  }

  addTokens() {
    this.heading = made("h3", "", "Tokens");
    this.copy = made("button", "", "Copy ids");
    this.all = made("button", "", "Show all");
    const detail = details();
    this.tokens = new Tokens(this.about.name, detail);
    const buttons = made("div", "row");
    buttons.append(this.copy, this.all);
    this.copy.addEventListener("click", () => this.copyIds());
    this.all.addEventListener("click", () => {
      this.drawn = Infinity;
      this.ask(this.text);
    });
    this.notice = made("p", "quiet");
    this.element.append(this.heading, this.tokens.element, detail, this.notice, buttons);
    if (this.does("decode")) this.element.append(new Decoding(this.about.name, this.about.pace).element);
    this.buttons = buttons;
    this.show(null);
  }

  addWriting() {
    const detail = details();
    this.written = new Written(this.about.name, detail);
    this.go = made("button", "", "Continue");
    this.stop = made("button", "", "Stop");
    this.stop.disabled = true;
    this.told = made("p", "quiet");
    const buttons = made("div", "row");
    buttons.append(this.go, this.stop);
    this.stop.addEventListener("click", () => this.halt());
    this.element.append(buttons, this.written.element, detail, this.told);
  }

  /** Asks for the answer to a text. */
  ask(text) {
    this.asked = this.answer(text);
  }

  async answer(text) {
    if (text !== this.text) this.explaining.cancel();
    this.text = text;
    if (!text) {
      this.answering.cancel();
      this.show(null);
      return;
    }
    const path = this.does("predict") ? "/api/predict" : "/api/tokenize";
    const most = Math.min(this.drawn, this.about.max_tokens);
    await this.attempt(this.answering, async (signal) =>
      ask(path, { text, model: this.about.name, max_tokens: most }, signal),
    (answer) => this.show(answer, text));
  }

  /** Asks for the effect of each token on a label; on the answer, without one. */
  async explain(text, label, method) {
    if (!this.does("effects") || !text) return;
    await this.asked; // it would be drawn over the effects
    if (text !== this.text) return;
    // An ensemble knows one method alone.
    const by = this.about.explains.includes(method) ? method : this.about.explains[0];
    await this.attempt(this.explaining, async (signal) =>
      ask("/api/effects", { text, model: this.about.name, method: by }, signal),
    (answer) => {
      const place = this.about.labels.indexOf(label || likeliest(answer));
      if (place < 0) return;
      this.tokens.show(answer.tokens, text, answer.tokens.map((token) => token.effects[place]));
      const name = `“${this.about.labels[place]}”`;
      const what = answer.scores ? `part of each in the score of ${name}` : `effect of each on ${name}`;
      this.heading.textContent = `${counted(answer.n_tokens)}: ${what}`;
      this.notice.textContent = answer.scores ? summed(answer, place) : "";
      this.all.hidden = true; // they are all there
    });
  }

  /** Shows the answer again without effects. */
  explainNoMore() {
    this.explaining.cancel();
    this.ask(this.text);
  }

  /** Has the model go on with a text. */
  async write(text, settings) {
    const focused = document.activeElement === this.go;
    this.go.disabled = true;
    this.stop.disabled = false;
    if (focused) this.stop.focus(); // a button that is disabled loses it
    this.told.textContent = "";
    this.written.begin(text);
    const ended = await this.attempt(this.writing, async (signal) => {
      const lines = askLines("/api/generate", { text, model: this.about.name, ...settings }, signal);
      for await (const line of lines) {
        if (line.error) throw new Error(line.error);
        this.written.add(line);
        if (line.end) return line;
      }
      throw new Error("the text broke off");
    }, ({ end }) => {
      this.told.textContent = ending(end);
      this.say(`${this.about.name}: ${ending(end)}`);
    }, this.told);
    if (ended) this.goAgain();
  }

  goAgain() {
    const focused = document.activeElement === this.stop;
    this.go.disabled = false;
    this.stop.disabled = true;
    if (focused) this.go.focus();
  }

  halt() {
    if (this.stop.disabled) return;
    this.writing.cancel();
    this.element.removeAttribute("aria-busy");
    this.goAgain();
    this.told.textContent = "stopped";
  }

  /** Runs a task and shows its answer; returns false if a newer one took its place. */
  async attempt(latest, task, done, where = this.failure) {
    this.element.setAttribute("aria-busy", "true");
    try {
      const answer = await latest.run(task);
      if (answer === undefined) return false;
      where.textContent = "";
      done(answer);
    } catch (error) {
      const lost = error instanceof TypeError;
      where.textContent = lost ? "The server does not answer; is it still running?" : error.message;
      this.say(`${this.about.name}: ${where.textContent}`);
    }
    this.element.removeAttribute("aria-busy");
    return true;
  }

  show(answer, text = "") {
    this.last = answer;
    this.element.removeAttribute("aria-busy");
    this.bars?.show(answer ? answer.probs.map((one) => one.p) : null);
    this.tokens.show(answer ? answer.tokens : [], text);
    const count = answer ? answer.n_tokens : 0;
    const listed = answer ? answer.tokens.length : 0;
    const bytes = answer?.n_bytes && count ? `, ${(answer.n_bytes / count).toFixed(2)} bytes each` : "";
    this.heading.textContent = `${counted(count)}${bytes}`;
    const notes = [];
    if (listed < count) notes.push(`The first ${listed.toLocaleString("en")} are shown.`);
    if (answer?.cut) notes.push(`${answer.cut.said}.`);
    this.notice.textContent = notes.join(" ");
    this.all.hidden = !(listed < count && listed < this.about.max_tokens);
    this.copies = listed < count ? `Copy the first ${listed.toLocaleString("en")} ids` : "Copy ids";
    this.copy.textContent = this.copies;
    this.copy.hidden = !answer || !answer.tokens.some((token) => token.id !== null);
    if (answer?.label !== undefined) {
      const best = Math.max(...answer.probs.map((one) => one.p));
      const said = Array.isArray(answer.label) ? answer.label.join(", ") || "no label" : (answer.label ?? "unsure");
      this.say(`${this.about.name}: ${said}, ${best.toFixed(2)}`);
    }
  }

  async copyIds() {
    const ids = this.tokens.shown.filter((token) => token.id !== null).map((token) => token.id);
    try {
      await navigator.clipboard.writeText(JSON.stringify(ids));
      this.say(`${ids.length} ids copied`);
      this.copy.textContent = "Copied";
    } catch {
      this.copy.textContent = "The browser refuses to copy";
    }
    setTimeout(() => (this.copy.textContent = this.copies), 1500);
  }
}

/** Returns the label of an answer, of several the most probable one. */
function likeliest(answer) {
  return answer.probs.reduce((best, one) => (one.p > best.p ? one : best)).label;
}
