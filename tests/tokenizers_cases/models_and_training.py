"""Cases of `test_models.py` and `test_trainers.py`."""

import copy
import json
import pickle
import tempfile
from pathlib import Path
from typing import Any

import pytest

import shared_data

from . import Library, case, pickled
from .decoding import sets
from .tokenizer import bert_vocab

MODELS = "bindings/test_models.py::"
TRAINERS = "bindings/test_trainers.py::"


@case(MODELS + "TestBPE::test_can_modify")
def _(lib: Library) -> None:
    affixes = {"continuing_subword_prefix": "__prefix__", "end_of_word_suffix": "__suffix__"}
    model = lib.models.BPE(dropout=0.5, unk_token="[UNK]", fuse_unk=False, **affixes)
    assert (model.dropout, model.unk_token, model.fuse_unk, model.byte_fallback) == (
        0.5,
        "[UNK]",
        False,
        False,
    )
    assert {name: getattr(model, name) for name in affixes} == affixes
    model.dropout = 0.1
    assert model.dropout == pytest.approx(0.1)
    sets(model, unk_token="<unk>", continuing_subword_prefix=None, end_of_word_suffix="suff")
    sets(model, fuse_unk=True, byte_fallback=True)


@case(MODELS + "TestBPE::test_dropout_zero")
def _(lib: Library) -> None:
    assert lib.models.BPE(dropout=0.0).dropout == 0.0


@case(MODELS + "TestUnigram::test_can_modify")
def _(lib: Library) -> None:
    model = lib.models.Unigram(alpha=0.5)
    assert model.alpha == 0.5
    assert model.nbest_size is None
    model.alpha = 0.1
    assert model.alpha == pytest.approx(0.1)
    sets(model, nbest_size=64)


@case(MODELS + "TestUnigram::test_alpha_zero")
def _(lib: Library) -> None:
    assert lib.models.Unigram(alpha=0.0).alpha == 0.0


@case(MODELS + "TestWordPiece::test_instantiate")
def _(lib: Library) -> None:
    kind = lib.models.WordPiece
    for model in (kind(), kind({"a": 0, "b": 1, "ab": 2}), kind.from_file(bert_vocab()), kind(bert_vocab())):
        assert isinstance(model, lib.models.Model)
        assert isinstance(pickled(model), kind)


@case(MODELS + "TestWordPiece::test_can_modify")
def _(lib: Library) -> None:
    options = {
        "unk_token": "<oov>", "continuing_subword_prefix": "__prefix__", "max_input_chars_per_word": 200,
    }  # fmt: skip
    model = lib.models.WordPiece(**options)
    assert {name: getattr(model, name) for name in options} == options
    sets(model, unk_token="<unk>", continuing_subword_prefix="$$$", max_input_chars_per_word=10)


@case(MODELS + "TestWordLevel::test_instantiate")
def _(lib: Library) -> None:
    path = str(shared_data.folder() / "vocabs" / "gpt2" / "encoder.json")
    kind = lib.models.WordLevel
    for model in (kind(), kind({"a": 0, "b": 1, "ab": 2}), kind.from_file(path), kind(path)):
        assert isinstance(model, lib.models.Model)
        assert type(model) is kind


@case(MODELS + "TestWordLevel::test_can_modify")
def _(lib: Library) -> None:
    model = lib.models.WordLevel(unk_token="<oov>")
    assert model.unk_token == "<oov>"
    sets(model, unk_token="<unk>")


def modifies(lib: Library, kind: Any, options: dict[str, Any], **changes: Any) -> None:
    """A trainer keeps its options, and takes new ones."""
    trainer = kind(vocab_size=12345, show_progress=False, special_tokens=["1", "2"], **options)
    assert trainer.special_tokens == [lib.AddedToken(text, special=True) for text in "12"]
    for name, value in {"vocab_size": 12345, "show_progress": False, **options}.items():
        found = getattr(trainer, name)
        assert (sorted(found) if name == "initial_alphabet" else found) == value
    for name, value in {"vocab_size": 20000, "show_progress": True, "special_tokens": [], **changes}.items():
        setattr(trainer, name, value)
        found = getattr(trainer, name)
        assert (sorted(found) if name == "initial_alphabet" else found) == value


MERGING = {
    "min_frequency": 12, "limit_alphabet": 13, "initial_alphabet": ["a", "b", "c"],
    "continuing_subword_prefix": "pref", "end_of_word_suffix": "suf",
}  # fmt: skip
OTHER = {
    "min_frequency": 1, "limit_alphabet": None, "initial_alphabet": ["d", "z"],
    "continuing_subword_prefix": None, "end_of_word_suffix": None,
}  # fmt: skip


@case(TRAINERS + "TestBpeTrainer::test_can_modify")
def _(lib: Library) -> None:
    modifies(lib, lib.trainers.BpeTrainer, MERGING, **OTHER)


@case(TRAINERS + "TestBpeTrainer::test_can_pickle")
def _(lib: Library) -> None:
    trainer = lib.trainers.BpeTrainer(min_frequency=12)
    none = dict.fromkeys(("continuing_subword_prefix", "end_of_word_suffix", "max_token_length"))
    fields: dict[str, Any] = {
        "min_frequency": 12, "vocab_size": 30000, "show_progress": True, "progress_format": "Indicatif",
        "special_tokens": [], "limit_alphabet": None, "initial_alphabet": [], **none, "words": {},
    }  # fmt: skip
    assert trainer.__getstate__() == json.dumps({"BpeTrainer": fields}, separators=(",", ":")).encode()
    assert isinstance(pickled(trainer), lib.trainers.BpeTrainer)
    assert isinstance(copy.deepcopy(trainer), lib.trainers.BpeTrainer)
    assert pickle.dumps(pickled(trainer)) == pickle.dumps(trainer)


@case(TRAINERS + "TestWordPieceTrainer::test_can_modify")
def _(lib: Library) -> None:
    modifies(lib, lib.trainers.WordPieceTrainer, MERGING, **OTHER)


@case(TRAINERS + "TestWordLevelTrainer::test_can_modify")
def _(lib: Library) -> None:
    modifies(lib, lib.trainers.WordLevelTrainer, {"min_frequency": 12}, min_frequency=1)


for name, kind in (
    ("TestWordPieceTrainer", "WordPieceTrainer"),
    ("TestWordLevelTrainer", "WordLevelTrainer"),
    ("TestUnigram", "UnigramTrainer"),
):

    def can_pickle(lib: Library, kind: str = kind) -> None:
        assert type(pickled(getattr(lib.trainers, kind)())) is getattr(lib.trainers, kind)

    case(f"{TRAINERS}{name}::test_can_pickle")(can_pickle)


@case(TRAINERS + "TestUnigram::test_can_modify")
def _(lib: Library) -> None:
    trainer = lib.trainers.UnigramTrainer(
        vocab_size=12345,
        show_progress=False,
        special_tokens=["1", lib.AddedToken("2", lstrip=True)],
        initial_alphabet=["a", "b", "c"],
    )
    assert (trainer.vocab_size, trainer.show_progress) == (12345, False)
    assert trainer.special_tokens == [
        lib.AddedToken("1", normalized=False, special=True),
        lib.AddedToken("2", lstrip=True, normalized=False, special=True),
    ]
    assert sorted(trainer.initial_alphabet) == ["a", "b", "c"]
    sets(trainer, vocab_size=20000, show_progress=True, special_tokens=[])
    trainer.initial_alphabet = ["d", "z"]
    assert sorted(trainer.initial_alphabet) == ["d", "z"]


def corpus() -> str:
    """A path of a bundled text, where the suite has `small.txt` and `big.txt`."""
    folder = Path(__file__).resolve().parent.parent / "data" / "corpus"
    return str(folder / "fixtures" / "mixed.txt")


@case(TRAINERS + "TestUnigram::test_train")
def _(lib: Library) -> None:
    tokenizer = lib.SentencePieceUnigramTokenizer()
    tokenizer.train(corpus(), vocab_size=300, show_progress=False)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "unigram_trained.json")
        tokenizer.save(path)
        assert lib.Tokenizer.from_file(path).get_vocab() == tokenizer.get_vocab()


@case(TRAINERS + "TestUnigram::test_cannot_train_different_model")
def _(lib: Library) -> None:
    tokenizer = lib.Tokenizer(lib.models.BPE())
    with pytest.raises(Exception, match="UnigramTrainer can only train a Unigram"):
        tokenizer.train([], lib.trainers.UnigramTrainer(show_progress=False))


@case(TRAINERS + "TestUnigram::test_continuing_prefix_trainer_mismatch")
def _(lib: Library) -> None:
    p = lib.pre_tokenizers
    tokenizer = lib.Tokenizer(lib.models.BPE(unk_token="[UNK]", continuing_subword_prefix="##"))
    tokenizer.pre_tokenizer = p.Sequence([p.Whitespace(), p.Digits(individual_digits=True)])
    tokenizer.train([corpus()], lib.trainers.BpeTrainer(special_tokens=["[UNK]"], show_progress=False))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "tokenizer.json")
        tokenizer.save(path)
        assert lib.Tokenizer.from_file(path).get_vocab() == tokenizer.get_vocab()
