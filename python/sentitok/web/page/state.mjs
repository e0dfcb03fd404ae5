// What is typed and chosen, in the address after #: it can be kept and sent, and no server sees it.

// A longer text is left out: browsers limit addresses.
export const LONGEST = 4000;
const NUMBER = /^\d*\.?\d*$/;
// What can be chosen: as it is at the beginning, which no address says, and what else it may be.
const CHOICES = {
  view: ["text", /^(both|ids|none)$/],
  effects: ["", /^1$/],
  method: ["leave-one-out", /^integrated-gradients$/],
  label: ["", /^/],
  tokens: ["64", NUMBER],
  temperature: ["0.8", NUMBER],
  top_p: ["0.95", NUMBER],
  seed: ["", NUMBER],
};

/** Reads an address's fragment. */
export function read(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = { text: given.get("text") };
  for (const [name, [first, other]] of Object.entries(CHOICES)) {
    const value = given.get(name);
    state[name] = value !== null && other.test(value) ? value : first;
  }
  return state;
}

/** Writes the fragment. */
export function write(state) {
  const made = new URLSearchParams();
  if (state.text && state.text.length <= LONGEST) made.set("text", state.text);
  for (const [name, [first]] of Object.entries(CHOICES)) {
    if (state[name] !== first) made.set(name, state[name]);
  }
  const fragment = made.toString();
  return fragment ? `#${fragment}` : "";
}
