// What the buttons below the text box put into it.

const SENTENCES = [
  "A dreadful film: two hours of my life that I will never get back.",
  "The plot is thin, and the jokes mostly miss.",
  "The film opens on Friday and runs for ninety minutes.",
  "A warm and funny story, even if the ending is a little long.",
  "Simply wonderful; the best performance I have seen this year!",
];
const TOKENS = [
  "It is a truth universally acknowledged, naïvely.",
  "Emoji of several parts: 👍🏽 👩‍👩‍👧‍👦 🇯🇵",
  "我喜欢这部电影。日本語も한국어도 ภาษาไทย",
  "def f(x):\n\treturn x  # tab, two spaces",
  "1234567890 3.14159 $1,000,000",
];
const PROMPTS = [
  "It was a dark and stormy night",
  "Once upon a time there was a little",
  "The film is",
  "\"I do not know,\" said",
  "In the morning",
];

/** Returns the examples that suit the kinds of models. */
export function examples(kinds) {
  if (kinds.some((kind) => kind === "classifier" || kind === "ensemble")) return SENTENCES;
  return kinds.includes("language-model") ? PROMPTS : TOKENS;
}
