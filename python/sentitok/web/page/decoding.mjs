// Ids that lead back to text: what is pasted or typed into the box of one model.

import { ask, Latest, paced } from "./asking.mjs";

/** Reads whole numbers, with or without brackets and commas; null where something else stands between. */
export function numbers(text) {
  return /^[\s[\](),;\d]*$/.test(text) ? (text.match(/\d+/g) ?? []).map(Number) : null;
}

/** A box for ids and the text that they are. */
export class Decoding {
  /** @param model its name. @param pace milliseconds between two questions at least. */
  constructor(model, pace) {
    this.model = model;
    this.latest = new Latest();
    this.element = document.createElement("details");
    const [summary, label, box, text] = ["summary", "label", "textarea", "output"].map((tag) => document.createElement(tag));
    summary.textContent = "Decode ids";
    label.textContent = `Ids of ${model}`;
    box.rows = 2;
    box.spellcheck = false;
    box.autocomplete = "off";
    box.addEventListener("input", paced(() => this.decode(box.value), pace));
    text.className = "decoded";
    text.setAttribute("aria-label", `Text of the ids of ${model}`);
    label.append(box);
    this.text = text;
    this.element.append(summary, label, text);
  }

  show(text, failed = false) {
    this.text.textContent = text;
    this.text.classList.toggle("failure", failed);
  }

  async decode(typed) {
    this.latest.cancel();
    const ids = numbers(typed);
    if (ids === null) return this.show("Ids are whole numbers, as in 12, 345.", true);
    if (!ids.length) return this.show("");
    try {
      const answer = await this.latest.run((signal) => ask("/api/decode", { ids, model: this.model }, signal));
      if (answer !== undefined) this.show(answer.text);
    } catch (error) {
      const lost = error instanceof TypeError;
      this.show(lost ? "The server does not answer; is it still running?" : error.message, true);
    }
  }
}
