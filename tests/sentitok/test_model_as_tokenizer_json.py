"""A `.model` saved as tokenizer.json: ids and text stay, or `save` warns or refuses by name.

Models by chance over all flags of the normalizer; random models of pieces are in
`test_random_unigram_models.py` and `test_random_bpe_models.py`.
"""

import random
import warnings
from itertools import product
from pathlib import Path

import pytest
import sentencepiece
import tokenizers

from oracles.model_file import field
from sentitok import FormatError, Tokenizer, train_unigram

FLAGS = list(product((0, 1), repeat=3))
UNIGRAM, BPE = 1, 2
NORMAL, UNKNOWN, CONTROL = 1, 2, 3
#: What a file says that is otherwise in decoding, by the words of its warnings.
OTHERWISE = ("at the start of a text",)
TEXTS = ["", " ", "▁", "a", " a", "a ", "  a", "▁a", " ▁a", "a▁", "a ▁ ", "▁▁", "▁ ▁", "b  a", " b▁ a▁ "]


def model_file(kind: int, pieces: list[tuple[str, float, int]], flags: tuple[int, ...]) -> bytes:
    """A model; of the flags: a space in front, repeated spaces go, spaces become `▁`."""
    entries = b"".join(
        field(1, field(1, text) + field(2, score) + field(3, of)) for text, score, of in pieces
    )
    trainer = field(3, kind) + b"".join(field(number, (1 << 64) - 1) for number in (41, 42, 43))
    normalizer = b"".join(field(3 + n, flag) for n, flag in enumerate(flags))
    return entries + field(2, trainer) + field(3, normalizer)


def saved(tokenizer: Tokenizer, path: Path) -> list[str]:
    """What `save` warns of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tokenizer.save(path)
    return [str(warning.message) for warning in found]


def pieces(rng: random.Random) -> list[tuple[str, float, int]]:
    """Pieces with marks and spaces in front, and all characters."""
    others = ["▁a", "▁▁", "▁▁a", " a", "  ", "▁ ", "ab", "a▁", "b▁a"]
    chosen = rng.sample(others, rng.randint(0, 5))
    texts = [*rng.sample(["a", "b", "▁", " "], 4), *chosen]
    # Each its own score: with equal ones BPE has no list of merges.
    scores = rng.sample(range(1, 40), len(texts))
    normal = [(text, -score / 8, NORMAL) for text, score in zip(texts, scores, strict=True)]
    return [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), *normal]


@pytest.mark.parametrize("kind", [UNIGRAM, BPE])
def test_flags_of_the_normalizer_and_marks_at_the_start(kind: int, tmp_path: Path) -> None:
    rng = random.Random(kind)
    told = 0
    for _, flags in product(range(12), FLAGS):
        file = model_file(kind, pieces(rng), flags)
        (tmp_path / "a.model").write_bytes(file)
        reference = sentencepiece.SentencePieceProcessor(model_proto=file)
        tokenizer = Tokenizer.from_file(tmp_path / "a.model")
        warned = saved(tokenizer, tmp_path / "a.json")
        ours = Tokenizer.from_file(tmp_path / "a.json")
        theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "a.json"))
        texts = [*TEXTS, *("".join(rng.choices("ab ▁", k=rng.randint(1, 9))) for _ in range(8))]
        for text in texts:
            ids = reference.encode(text)
            assert tokenizer.encode(text).ids.tolist() == ids, (flags, text)
            assert ours.encode(text).ids.tolist() == ids, (flags, text)
            assert theirs.encode(text).ids == ids, (flags, text)
        differs = False
        for _ in range(40):
            ids = rng.choices(range(2, reference.get_piece_size()), k=rng.randint(1, 6))
            text = reference.decode(ids)
            assert tokenizer.decode(ids) == text, (flags, ids)
            assert ours.decode(ids) == theirs.decode(ids), (flags, ids)
            differs |= ours.decode(ids) != text
        is_told = any(words in warning for warning in warned for words in OTHERWISE)
        assert is_told or not differs, (flags, warned)
        told += is_told
    # The warning is for some models: the rest get none.
    assert 0 < told < 12 * len(FLAGS)


def test_a_special_piece_with_a_mark_is_no_piece_of_a_text(tmp_path: Path) -> None:
    """The text has the mark only once it is normalized, where tokenizers finds it as a piece."""
    normal = [("▁", -1.0, NORMAL), ("a", -1.0, NORMAL), ("b", -1.5, NORMAL)]
    entries = [("<unk>", 0.0, UNKNOWN), ("▁▁a", 0.0, CONTROL), *normal]
    (tmp_path / "a.model").write_bytes(model_file(UNIGRAM, entries, (0, 0, 1)))
    tokenizer = Tokenizer.from_file(tmp_path / "a.model")
    saved(tokenizer, tmp_path / "a.json")
    ours = Tokenizer.from_file(tmp_path / "a.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "a.json"))
    for text in ("  a", "b  ab", "▁▁a", "z  a", " a", "   a"):
        ids = tokenizer.encode(text, specials="all").ids.tolist()
        assert ours.encode(text, specials="all").ids.tolist() == ids
        assert theirs.encode(text).ids == ids
    assert tokenizer.encode("  a", specials="all").ids.tolist() == [2, 2, 3]
    # If no other pieces write its text, no score keeps it from being found.
    (tmp_path / "b.model").write_bytes(model_file(UNIGRAM, [*entries[:3], entries[4]], (0, 0, 1)))
    with pytest.raises(FormatError, match='piece of id 1, "▁▁a", is special, and no '):
        Tokenizer.from_file(tmp_path / "b.model").save(tmp_path / "b.json")


def test_special_tokens_that_normalization_makes_are_told(tmp_path: Path) -> None:
    """`＜s＞` becomes `<s>` under NFKC, which tokenizers finds as a piece."""
    tokenizer = train_unigram(
        texts=["a <s film of <s a man s> s>"] * 50,
        vocab_size=40,
        normalizer="nmt+nfkc+sentencepiece-collapse",
    )
    warned = saved(tokenizer, tmp_path / "a.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "a.json"))
    special = tokenizer.token_to_id("<s>")
    assert special in theirs.encode("a ＜s＞").ids
    assert special not in tokenizer.encode("a ＜s＞", specials="all").ids
    assert any("special tokens are found in what normalization makes" in warning for warning in warned)
    plain = train_unigram(texts=["a film of a man"] * 50, vocab_size=25)
    assert not any("special tokens" in warning for warning in saved(plain, tmp_path / "b.json"))
