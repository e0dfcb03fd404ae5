"""`continue_texts`: how a language model continues the beginnings of texts, and scores of that.

Reports of style transfer score BLEU against the rest of each text, before and after fine-tuning. It rewards
the very words of one rest among many that would do, so more telling scores are next to it: the perplexity of
the rests, how much the continuations repeat (distinct n-grams), and which share of their words was copied
from the training texts. `language_model.py` draws texts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sentimodels.alignment.judge import distinct_n
from sentimodels.arguments import texts_of, whole
from sentimodels.errors import DataError
from sentimodels.evaluation.translation import bleu_tokenizer, translation_scores
from sentimodels.language_model import LanguageModel

__all__ = ["Continued", "continue_texts"]


@dataclass(frozen=True)
class Continued:
    """Texts in two parts, and what a model made of them.

    Attributes:
        prompts: the beginnings.
        rests: what follows them in the texts, as long as a continuation may be.
        answers: what follows them by the model.
        left_out: texts that were too short to have a rest, or whose beginning ends within a character.
        perplexity: of a token of the rests, after their beginnings.
        bits_per_byte: of the rests, comparable across tokenizers.
    """

    prompts: list[str]
    rests: list[str]
    answers: list[str]
    left_out: int
    perplexity: float
    bits_per_byte: float

    def scores(self, training: Sequence[str] = (), n_copied: int = 5) -> dict[str, Any]:
        """Returns all scores of the continuations.

        Args:
            training: the texts that were trained on, which words are copied from.
            n_copied: adjacent words that count as copied.

        Returns:
            `texts`, `left_out`, `bleu` with its `signature`, `perplexity` and `bits_per_byte`; `distinct_1`,
            `distinct_2` and `copied` of the continuations, and the same of the rests under `rests`.

        Raises:
            TypeError: if `training` is not a list of texts.
            ConfigError: if sacrebleu is not installed, or `n_copied` is out of range.
        """
        n_copied = whole("n_copied", n_copied, "a whole number from 1 on", least=1)
        copies = Copies(texts_of("training", training), n_copied)
        scored = translation_scores(self.answers, self.rests)

        def said(texts: list[str]) -> dict[str, float]:
            return {
                "distinct_1": distinct_n(texts, 1), "distinct_2": distinct_n(texts, 2),
                "copied": copies.share(texts),
            }  # fmt: skip

        return {
            "texts": len(self.answers), "left_out": self.left_out, "bleu": scored["bleu"],
            "signature": scored["signatures"]["bleu"], "perplexity": self.perplexity,
            "bits_per_byte": self.bits_per_byte, **said(self.answers), "rests": said(self.rests),
        }  # fmt: skip

    def better_than(self, other: "Continued") -> int:
        """Returns for how many texts the BLEU of this continuation is above that of another model's.

        Raises:
            DataError: if the two are not of the same texts.
            ConfigError: if sacrebleu is not installed.
        """
        if self.rests != other.rests:
            raise DataError("continuations of different texts, or of other lengths: continue the same ones")
        own, others = (text_bleu(one.answers, one.rests) for one in (self, other))
        return sum(a > b for a, b in zip(own, others, strict=True))


def continue_texts(
    model: LanguageModel,
    texts: Sequence[str],
    *,
    prompt_tokens: int = 100,
    new_tokens: int = 100,
    seed: int = 0,
    temperature: float = 1.0,
) -> Continued:
    """Continues texts after their first tokens.

    Args:
        model: a causal model.
        texts: the texts; those with no more tokens than a beginning are left out, and those whose beginning
            has more tokens alone than in the text, as where a character is divided.
        prompt_tokens: tokens of a beginning, from 1 on.
        new_tokens: tokens of a continuation at most, and of a rest, from 1 on.
        seed: of the draws.
        temperature: see `LanguageModel.generate`.

    Raises:
        TypeError: if `texts` is not a list of texts, or a number is none.
        DataError: if no text can be continued, or the context has no room for beginning and continuation.
        ConfigError: if a number is out of range, or the model cannot write.
    """
    texts = texts_of("continue_texts", texts)
    prompt_tokens = whole("prompt_tokens", prompt_tokens, "a whole number from 1 on", least=1)
    new_tokens = whole("new_tokens", new_tokens, "a whole number from 1 on", least=1)
    # All of a text but its last token is read, after an end token where there is one. It must fit one window:
    # in a second one its rest would be scored without its whole beginning.
    read = prompt_tokens + new_tokens - (model.end is None)
    if model.context is not None and read > model.context:
        raise DataError(
            f"prompt_tokens {prompt_tokens}, new_tokens {new_tokens}: the model reads {model.context} "
            "tokens; give fewer of one or both"
        )
    prompts, rests, wholes, divided = [], [], [], False
    for text in texts:
        ends = model.tokenizer.encode(text, add_special_tokens=False).offsets("chars")[:, 1].tolist()
        if len(ends) <= prompt_tokens:
            continue
        begin, end = ends[prompt_tokens - 1], ends[min(len(ends), prompt_tokens + new_tokens) - 1]
        alone = model.tokenizer.encode(text[:begin], add_special_tokens=False)
        if begin == end or len(alone) > prompt_tokens:  # a character is divided
            divided = True
            continue
        prompts.append(text[:begin])
        rests.append(text[begin:end])
        wholes.append(text[:end])
    if divided and not prompts:
        raise DataError(
            f"the first {prompt_tokens} tokens of every text that has more end within a character; give "
            "another prompt_tokens"
        )
    if not prompts:
        raise DataError(
            f"no text has more than {prompt_tokens} tokens; give longer texts, or a smaller prompt_tokens"
        )
    answers = model.generate(prompts, max_new_tokens=new_tokens, temperature=temperature, seed=seed)
    log_probs: list[float] = []
    n_bytes = 0
    for score, prompt, rest in zip(model.score(wholes), prompts, rests, strict=True):
        of_rest = score.offsets[:, 1] > len(prompt)
        log_probs += score.log_probs[of_rest].tolist()
        n_bytes += len(rest.encode("utf-8", "surrogatepass"))
    mean = float(np.mean(log_probs))
    bits = -float(np.sum(log_probs)) / np.log(2) / n_bytes
    return Continued(prompts, rests, answers, len(texts) - len(prompts), float(np.exp(-mean)), float(bits))


def text_bleu(translations: Sequence[str], references: Sequence[str]) -> list[float]:
    """Returns the BLEU of each text alone, 0 to 100; of a short one, of the orders that it has.

    Raises:
        ValueError: if there are not as many references.
    """
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize=bleu_tokenizer(references), effective_order=True)
    pairs = zip(translations, references, strict=True)
    return [float(metric.sentence_score(one, [other]).score) for one, other in pairs]


def _ngrams(words: Sequence[str], n: int) -> Iterable[tuple[str, ...]]:
    return (tuple(words[start : start + n]) for start in range(len(words) - n + 1))


class Copies:
    """Adjacent words that texts have in common with training texts.

    Args:
        training: the texts that were trained on.
        n: how many adjacent words count as copied.
    """

    def __init__(self, training: Iterable[str], n: int = 8) -> None:
        self.n = n
        self._known = {hash(ngram) for text in training for ngram in _ngrams(text.split(), n)}

    def share(self, texts: Iterable[str]) -> float:
        """Returns the share of the words of texts in a run of n that was trained on."""
        copied = total = 0
        for text in texts:
            words = text.split()
            inside = [False] * len(words)
            for start, ngram in enumerate(_ngrams(words, self.n)):
                if hash(ngram) in self._known:
                    inside[start : start + self.n] = [True] * self.n
            copied += sum(inside)
            total += len(words)
        return copied / total if total else 0.0
