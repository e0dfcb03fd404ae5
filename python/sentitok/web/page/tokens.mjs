// The tokens of a text: coloured, with ids, those that share a character as one group.

const N_COLOURS = 6;

/** Puts tokens that share a character of the text together. */
export function groups(tokens) {
  const found = [];
  for (const token of tokens) {
    const last = found.at(-1);
    if (last && token.end > token.start && token.start < last.end) {
      last.tokens.push(token);
      last.end = Math.max(last.end, token.end);
    } else {
      found.push({ tokens: [token], start: token.start, end: token.end });
    }
  }
  return found;
}

/** Writes an effect with its sign. */
export function signed(effect) {
  return `${effect < 0 ? "−" : "+"}${Math.abs(effect).toFixed(3)}`;
}

/** Says all that is known of a token. */
export function told(token) {
  const parts = [`“${token.text}”`];
  parts.push(token.id === null ? "no id of its own" : `id ${token.id}`);
  if (token.special) parts.push("special token");
  else parts.push(token.end - token.start === 1 ? `character ${token.start}` : `characters ${token.start} to ${token.end}`);
  if (token.bytes) parts.push(`bytes ${token.bytes.match(/../g).join(" ")}`);
  return parts.join(", ");
}

/** Makes the items of a list reachable by the arrow keys, with one stop for the tab key. */
export function arrows(list, selector, reached) {
  const stops = () => [...list.querySelectorAll(selector)];
  list.addEventListener("keydown", (event) => {
    const all = stops();
    const at = all.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || to === undefined || !all[to]) return;
    event.preventDefault();
    all[at].tabIndex = -1;
    all[to].tabIndex = 0;
    all[to].focus();
  });
  for (const kind of ["focusin", "pointerover"]) {
    list.addEventListener(kind, (event) => {
      const item = event.target.closest(selector);
      if (item) reached(item);
    });
  }
}

/** The tokens of one model. */
export class Tokens {
  /** @param name of the model. @param detail where what is known of a token is said. */
  constructor(name, detail) {
    this.element = document.createElement("ol");
    this.element.className = "tokens";
    this.element.setAttribute("aria-label", `Tokens of ${name}`);
    this.detail = detail;
    this.shown = [];
    arrows(this.element, ".token", (item) => this.point(item));
  }

  /** Draws tokens. @param text what they are of. @param effects of each, or null. */
  show(tokens, text, effects = null) {
    const characters = Array.from(text);
    const greatest = effects ? Math.max(1e-9, ...effects.map(Math.abs)) : 1;
    const list = document.createDocumentFragment();
    this.shown = tokens;
    let number = 0;
    let end = 0;
    for (const group of groups(tokens)) {
      const item = document.createElement("li");
      // What no token covers, such as the spaces between words, is a gap.
      if (group.start > end) item.classList.add("apart");
      end = Math.max(end, group.end);
      if (group.tokens.length > 1) {
        item.classList.add("group");
        const char = document.createElement("span");
        char.className = "char";
        char.textContent = characters.slice(group.start, group.end).join("");
        item.append(char);
      }
      for (const token of group.tokens) {
        item.append(this.token(token, number, effects && effects[number], greatest));
        number += 1;
      }
      list.append(item);
      if (group.tokens.at(-1).text.endsWith("↵")) {
        const line = document.createElement("li");
        line.className = "break";
        line.setAttribute("aria-hidden", "true");
        list.append(line);
      }
    }
    this.element.replaceChildren(list);
    const first = this.element.querySelector(".token");
    if (first) first.tabIndex = 0;
    this.detail.textContent = "";
  }

  token(token, number, effect, greatest) {
    const box = document.createElement("span");
    const [text, id] = ["b", "i"].map((tag) => document.createElement(tag));
    box.className = `token c${number % N_COLOURS}`;
    box.tabIndex = -1;
    box.dataset.number = number;
    text.textContent = token.text;
    id.textContent = token.id ?? "–";
    box.append(text, id);
    box.setAttribute("role", "img");
    let label = `${token.text}, ${token.id === null ? "no id" : `id ${token.id}`}`;
    if (token.special) box.classList.add("special");
    else if (effect !== null) {
      const value = document.createElement("u");
      value.textContent = signed(effect);
      box.append(value);
      box.classList.add(effect < 0 ? "less" : "more");
      box.style.setProperty("--p", Math.abs(effect) / greatest);
      label += `, effect ${signed(effect)}`;
    }
    box.setAttribute("aria-label", label);
    return box;
  }

  point(item) {
    this.element.querySelectorAll(".here").forEach((one) => one.classList.remove("here"));
    item.classList.add("here");
    this.detail.textContent = told(this.shown[Number(item.dataset.number)]);
  }
}
