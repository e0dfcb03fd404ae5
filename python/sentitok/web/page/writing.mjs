// A text that a language model goes on with: each token shaded by its probability, as it comes.

import { arrows } from "./tokens.mjs";

const ENDINGS = { end: "the model ended the text", stop: "stopped", length: "at the limit", time: "out of time" };

/** Returns a piece as it can be read: what is no character, or none to look at, as its tokens spell it. */
export function readable(text, tokens) {
  const odd = /[\ufffd\u0000-\u0008\u000b-\u001f\u007f]/.test(text);
  return odd ? tokens.map((token) => token.text).join("") : text;
}

/** Says how a text ended. */
export function ending({ reason, n_tokens: count, ms }) {
  const speed = ms > 0 ? `, ${Math.round((count * 1000) / ms)} a second` : "";
  return `${count} tokens${speed}: ${ENDINGS[reason] ?? reason}`;
}

/** The text that one language model writes. */
export class Written {
  /** @param name of the model. @param detail where probabilities are listed. */
  constructor(name, detail) {
    this.element = document.createElement("div");
    this.element.className = "written";
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", `Text of ${name}`);
    this.detail = detail;
    this.pieces = [];
    arrows(this.element, ".piece", (item) => this.point(item));
  }

  /** Begins anew behind a prompt. */
  begin(prompt) {
    const before = document.createElement("span");
    before.className = "prompt";
    before.textContent = prompt;
    this.element.replaceChildren(before);
    this.detail.replaceChildren();
    this.pieces = [];
  }

  /** Adds what follows: a text, and the tokens that it comes from. */
  add({ text, tokens }) {
    if (!tokens.length) return;
    const piece = document.createElement("span");
    piece.className = "piece";
    piece.tabIndex = this.pieces.length ? -1 : 0;
    piece.dataset.number = this.pieces.length;
    piece.textContent = readable(text, tokens);
    piece.style.setProperty("--p", Math.min(...tokens.map((token) => token.p)));
    this.pieces.push(tokens);
    this.element.append(piece);
    this.element.scrollTop = this.element.scrollHeight;
  }

  point(item) {
    this.element.querySelectorAll(".here").forEach((one) => one.classList.remove("here"));
    item.classList.add("here");
    const lists = this.pieces[Number(item.dataset.number)].map((token) => {
      const list = document.createElement("dl");
      const term = document.createElement("dt");
      term.className = "unseen";
      term.textContent = `Probabilities in the place of ${token.text}`;
      const others = token.likely.filter((one) => one.id !== token.id);
      const values = [token, ...others].map((one, place) => {
        const value = document.createElement("dd");
        value.textContent = `${one.text || "(nothing)"} ${one.p.toFixed(3)}`;
        if (place === 0) value.className = "taken";
        return value;
      });
      list.append(term, ...values);
      return list;
    });
    this.detail.replaceChildren(...lists);
  }
}
