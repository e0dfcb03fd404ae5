// What is typed and chosen, in the address after #: it can be kept and sent, and no server sees it.

// A longer text is left out: browsers limit addresses.
export const LONGEST = 4000;
// Ways to explain an answer, the one of the beginning first.
const METHODS = ["leave-one-out", "integrated-gradients"];

/** Reads an address's fragment. */
export function read(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const view = given.get("view");
  return {
    text: given.get("text"),
    view: ["text", "both", "ids", "none"].includes(view) ? view : "text",
    effects: given.get("effects") === "1",
    method: given.get("method") === METHODS[1] ? METHODS[1] : METHODS[0],
  };
}

/** Writes the fragment; nothing for what is as at the beginning. */
export function write({ text, view, effects, method }) {
  const made = new URLSearchParams();
  if (text && text.length <= LONGEST) made.set("text", text);
  if (view !== "text") made.set("view", view);
  if (effects) made.set("effects", "1");
  if (method && method !== METHODS[0]) made.set("method", method);
  const fragment = made.toString();
  return fragment ? `#${fragment}` : "";
}
