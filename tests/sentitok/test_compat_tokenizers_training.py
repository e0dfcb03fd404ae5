"""`sentitok.compat.tokenizers`: training against tokenizers 0.23, stages that change, and refusals."""

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers as theirs

import sentitok
from sentitok.compat import tokenizers as ours

FOLDER = Path(__file__).resolve().parent.parent / "data" / "corpus"
LINES = (FOLDER / "sherlock-holmes.txt").read_text("utf-8").split("\n")[:600]
SPECIAL = ["[UNK]", "[CLS]", "[SEP]"]


def stages(lib: Any, kind: str) -> dict[str, Any]:
    n, p = lib.normalizers, lib.pre_tokenizers
    made: dict[str, dict[str, Any]] = {
        "words": {"pre_tokenizer": p.Whitespace()},
        "lower": {
            "normalizer": n.Sequence([n.NFD(), n.Lowercase(), n.StripAccents()]),
            "pre_tokenizer": p.Sequence([p.Whitespace(), p.Digits(individual_digits=True)]),
        },
        "bytes": {"pre_tokenizer": p.ByteLevel(add_prefix_space=False)},
        "split": {
            "pre_tokenizer": p.Sequence(
                [p.Split(lib.Regex(r"\d{1,3}"), "isolated"), p.ByteLevel(use_regex=True)]
            )
        },
        "marks": {"normalizer": n.NFKC(), "pre_tokenizer": p.Metaspace()},
        "whole": {},
    }
    return made[kind]


#: The stages, the model, its options, the trainer's options.
TRAININGS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("words", "BPE", {"unk_token": "[UNK]"}, {"vocab_size": 400}),
    ("lower", "BPE", {"unk_token": "[UNK]"}, {"vocab_size": 300, "min_frequency": 3}),
    ("words", "BPE", {}, {"vocab_size": 300, "initial_alphabet": ["é", "東"], "max_token_length": 4}),
    ("bytes", "BPE", {}, {"vocab_size": 500, "initial_alphabet": "bytes"}),
    ("bytes", "BPE", {}, {"vocab_size": 300}),
    ("split", "BPE", {}, {"vocab_size": 400, "initial_alphabet": "bytes"}),
    ("marks", "BPE", {"unk_token": "[UNK]", "fuse_unk": True}, {"vocab_size": 300}),
    ("words", "WordLevel", {"unk_token": "[UNK]"}, {"vocab_size": 300}),
    ("lower", "WordLevel", {"unk_token": "[UNK]"}, {"min_frequency": 3}),
]


def trained(lib: Any, row: tuple[str, str, dict[str, Any], dict[str, Any]]) -> Any:
    kind, name, model, options = row
    tokenizer = lib.Tokenizer(getattr(lib.models, name)(**model))
    for stage, made in stages(lib, kind).items():
        setattr(tokenizer, stage, made)
    options = {**options, "special_tokens": SPECIAL, "show_progress": False}
    if options.get("initial_alphabet") == "bytes":
        options["initial_alphabet"] = lib.pre_tokenizers.ByteLevel.alphabet()
    trainer = getattr(lib.trainers, name.replace("BPE", "Bpe") + "Trainer")(**options)
    tokenizer.train_from_iterator(LINES, trainer)
    return tokenizer


@pytest.mark.parametrize("row", TRAININGS, ids=lambda row: f"{row[0]}-{row[1]}-{len(row[3])}")
def test_training_writes_the_same_file(row: tuple[str, str, dict[str, Any], dict[str, Any]]) -> None:
    mine, other = trained(ours, row), trained(theirs, row)
    assert mine.to_str() == other.to_str()
    text = "It was the quartering of 1,234 cafés."
    assert mine.encode(text).tokens == other.encode(text).tokens


def test_pieces_of_words_are_the_same_tokens() -> None:
    """Their ids differ from run to run there, and so do some tokens: those of all runs are here."""
    row: Any = ("lower", "WordPiece", {"unk_token": "[UNK]"}, {"vocab_size": 250})
    runs = [set(trained(theirs, row).get_vocab()) for _ in range(12)]
    always, ever = set.intersection(*runs), set.union(*runs)
    mine = set(trained(ours, row).get_vocab())
    assert len(mine) == len(runs[0])
    assert len(always) > 200
    assert len(always - mine) <= len(ever - always)


@pytest.mark.parametrize("kind", ["words", "bytes"])
def test_files_are_read_as_lines(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "text.csv"  # whatever it is called
    path.write_text('"a, b"\n\nlow lower lowest\r\nlow, "lowest"\n' * 3, "utf-8")
    found = []
    for lib in (ours, theirs):
        tokenizer = lib.Tokenizer(lib.models.BPE())
        for stage, made in stages(lib, kind).items():
            setattr(tokenizer, stage, made)
        tokenizer.train([str(path)], lib.trainers.BpeTrainer(vocab_size=60, show_progress=False))
        found.append(tokenizer.to_str())
    assert found[0] == found[1]


def test_unigram_is_trained() -> None:
    """With sentitok's pieces, and the ids of special tokens that tokenizers gives."""
    ends = ["<s>", "</s>"]
    for unk, expected in ((None, ends), ("<unk>", ["<unk>", *ends]), ("<s>", ends)):
        tokenizer = ours.Tokenizer(ours.models.Unigram())
        tokenizer.pre_tokenizer = ours.pre_tokenizers.Metaspace()
        trainer = ours.trainers.UnigramTrainer(vocab_size=200, special_tokens=ends, unk_token=unk)
        tokenizer.train_from_iterator([LINES[:300], "one more"], trainer)
        assert [tokenizer.id_to_token(id) for id in range(len(expected))] == expected
        assert tokenizer.get_vocab_size() == 200
        assert "".join(tokenizer.encode("the adventure").tokens) == "▁the▁adventure"


#: Options that training may change.
OPTIONS = (
    "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
    "ignore_merges", "max_input_chars_per_word", "alpha", "nbest_size",
)  # fmt: skip
#: A model, its options, the options of its trainer, and later changes of the trainer.
CHANGES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("BPE", {}, {}, {}),
    ("BPE", {"dropout": 0.1, "unk_token": "x", "fuse_unk": True, "byte_fallback": True}, {}, {}),
    ("BPE", {"continuing_subword_prefix": "@@", "end_of_word_suffix": "</w>", "ignore_merges": True}, {}, {}),
    ("BPE", {"end_of_word_suffix": "</w>"}, {"continuing_subword_prefix": "##"}, {}),
    ("BPE", {}, {"end_of_word_suffix": "</w>"}, {"continuing_subword_prefix": ""}),
    ("BPE", {}, {"end_of_word_suffix": "</w>"}, {"end_of_word_suffix": None}),
    ("WordPiece", {}, {}, {}),
    ("WordPiece", {"unk_token": "x", "max_input_chars_per_word": 7}, {}, {}),
    ("WordPiece", {"continuing_subword_prefix": "@@"}, {}, {}),
    ("WordPiece", {}, {"continuing_subword_prefix": ""}, {}),
    ("WordPiece", {"continuing_subword_prefix": "@@"}, {}, {"continuing_subword_prefix": None}),
    ("WordLevel", {}, {}, {}),
    ("WordLevel", {"unk_token": "x"}, {}, {}),
    ("Unigram", {}, {}, {}),
    ("Unigram", {"byte_fallback": True, "nbest_size": 3}, {}, {}),
    ("Unigram", {"alpha": 0.1, "nbest_size": 2}, {"unk_token": "<s>"}, {}),
    ("Unigram", {"vocab": [("x", 0.0), ("y", -1.0)], "unk_id": 1}, {"unk_token": "[UNK]"}, {}),
]


@pytest.mark.parametrize("row", CHANGES, ids=lambda row: f"{row[0]}-{row[1]}-{row[2]}-{row[3]}")
@pytest.mark.parametrize("texts", [LINES, []])
def test_options_after_training(row: tuple[str, Any, Any, Any], texts: list[str]) -> None:
    """Of the model that was given, of the one that the tokenizer gives, of the trainer and its tokens."""
    name, options, given, after = row

    def state(lib: Any) -> list[Any]:
        model = getattr(lib.models, name)(**options)
        tokenizer = lib.Tokenizer(model)
        tokenizer.pre_tokenizer = lib.pre_tokenizers.Whitespace()
        tokens = ["[UNK]", lib.AddedToken("<s>", lstrip=True, normalized=True), lib.AddedToken("</s>")]
        kind = getattr(lib.trainers, name.replace("BPE", "Bpe") + "Trainer")
        trainer = kind(vocab_size=200, show_progress=False, special_tokens=tokens, **given)
        for option, value in after.items():
            setattr(trainer, option, value)
        tokenizer.train_from_iterator(texts, trainer)
        document = json.loads(tokenizer.to_str())
        fields = {key: value for key, value in document["model"].items() if key not in ("vocab", "merges")}
        return [
            [getattr(one, option, None) for one in (model, tokenizer.model) for option in OPTIONS],
            fields,
            document["added_tokens"],
            [repr(token) for token in (*trainer.special_tokens, *tokens)],
            [tokenizer.token_to_id(token) for token in ("[UNK]", "<s>", "</s>")],
            json.loads(trainer.__getstate__()) if not texts else None,  # words are counted in it
        ]

    assert state(ours) == state(theirs)


def test_a_trainer_of_another_model() -> None:
    for model, trainer in (("BPE", "WordLevel"), ("WordPiece", "Bpe"), ("Unigram", "WordPiece")):
        for lib in (theirs, ours):
            tokenizer = lib.Tokenizer(getattr(lib.models, model)())
            made = getattr(lib.trainers, f"{trainer}Trainer")(show_progress=False)
            with pytest.raises(Exception, match=f"{trainer}Trainer can only train a"):
                tokenizer.train_from_iterator(["a"], made)


def test_a_stage_that_is_changed_counts() -> None:
    """As does one that was given, and one inside of a sequence."""
    n, p = ours.normalizers, ours.pre_tokenizers
    tokenizer = ours.Tokenizer(ours.models.WordLevel({"A": 0, "a": 1, "?": 2, "a-b": 3, "b": 4}, "?"))
    split = p.CharDelimiterSplit(" ")
    tokenizer.pre_tokenizer, tokenizer.normalizer = split, n.Sequence([n.Strip(), n.Strip()])
    assert tokenizer.encode("a-b A").tokens == ["a-b", "A"]
    split.delimiter = "-"
    assert tokenizer.encode("a-b").tokens == ["a", "b"]
    tokenizer.normalizer[1] = n.Lowercase()
    assert tokenizer.encode("A-b").tokens == ["a", "b"]
    tokenizer.model.unk_token = "b"  # type: ignore[attr-defined]  # 2026-11-24: one of four kinds, of which BPE has it
    assert tokenizer.encode("x").ids == [4]
    before = tokenizer.sentitok
    split.delimiter = "-"
    assert tokenizer.sentitok is before  # nothing changed
    tokenizer.add_tokens(["x"])
    assert tokenizer.encode("x").ids == [5]


def test_copies_are_their_own() -> None:
    tokenizer = trained(ours, TRAININGS[0])
    tokenizer.enable_padding(length=4)
    for again in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer)):
        assert again.to_str() == tokenizer.to_str()
        again.no_padding()
        assert tokenizer.padding is not None
    model = pickle.loads(pickle.dumps(tokenizer.model))
    assert (
        model.tokenize("street")[0].value
        == theirs.Tokenizer.from_str(tokenizer.to_str()).model.tokenize("street")[0].value
    )


def test_models_alone(tmp_path: Path) -> None:
    for row in (TRAININGS[0], TRAININGS[3], TRAININGS[7]):
        mine, other = trained(ours, row), theirs.Tokenizer.from_str(trained(ours, row).to_str())
        written = []
        for tokenizer, name in ((mine, "mine"), (other, "other")):
            paths = tokenizer.model.save(str(tmp_path), name)
            written.append([Path(path).read_bytes() for path in paths])
        assert written[0] == written[1]
        for text in ("street", "streets"):
            tokens = [(token.id, token.value, token.offsets) for token in mine.model.tokenize(text)]
            assert tokens == [(token.id, token.value, token.offsets) for token in other.model.tokenize(text)]
        trainer = type(mine.model.get_trainer()).__name__
        assert trainer == type(other.model.get_trainer()).__name__
    vocab, merges = str(tmp_path / "mine-vocab.json"), str(tmp_path / "mine-merges.txt")
    row = TRAININGS[0]
    trained(ours, row).model.save(str(tmp_path), "mine")
    assert ours.models.BPE.read_file(vocab, merges) == theirs.models.BPE.read_file(vocab, merges)


def test_dropout_draws() -> None:
    tokenizer = trained(ours, TRAININGS[0])
    tokenizer.model.dropout = 0.5
    assert len({tuple(tokenizer.encode("the adventures of the street").ids) for _ in range(30)}) > 5
    tokenizer.model.dropout = None
    assert len({tuple(tokenizer.encode("the adventures of the street").ids) for _ in range(5)}) == 1


#: A call of both libraries that is refused, and the kind of the error there.
REFUSED: dict[str, tuple[Callable[[Any, Any], object], type[BaseException]]] = {
    "a number": (lambda lib, tok: tok.encode(3), TypeError),
    "no text": (lambda lib, tok: tok.encode(None), TypeError),
    "no batch": (lambda lib, tok: tok.encode_batch(3), TypeError),
    "a batch of numbers": (lambda lib, tok: tok.encode_batch([3]), TypeError),
    "words that are none": (lambda lib, tok: tok.encode("a b", is_pretokenized=True), TypeError),
    "no model": (lambda lib, tok: lib.Tokenizer(3), TypeError),
    "no normalizer": (lambda lib, tok: setattr(tok, "normalizer", 3), TypeError),
    "another stage": (lambda lib, tok: setattr(tok, "decoder", lib.normalizers.NFC()), TypeError),
    "tokens as ids": (lambda lib, tok: tok.decode(["a"]), TypeError),
    "an id below zero": (lambda lib, tok: tok.id_to_token(-1), OverflowError),
    "ids below zero": (lambda lib, tok: tok.decode([-1]), OverflowError),
    "a number as token": (lambda lib, tok: tok.add_tokens([3]), TypeError),
    "a strategy": (lambda lib, tok: tok.enable_truncation(5, strategy="x"), ValueError),
    "a direction": (lambda lib, tok: tok.enable_truncation(5, direction="x"), ValueError),
    "a side": (lambda lib, tok: tok.enable_padding(direction="x"), ValueError),
    "a stride": (lambda lib, tok: tok.enable_truncation(2, stride=3), ValueError),
    "a length": (lambda lib, tok: tok.enable_truncation(-1), OverflowError),
    "a vocabulary alone": (lambda lib, tok: lib.models.BPE({"a": 0}), ValueError),
    "a merge": (lambda lib, tok: lib.models.BPE({"a": 0}, [("a", "b")]), Exception),
    "dropout": (lambda lib, tok: lib.models.BPE(dropout=3.0), Exception),
    "an unknown piece": (lambda lib, tok: lib.models.Unigram([("a", -1.0)], 5), Exception),
    "a scheme": (lambda lib, tok: lib.pre_tokenizers.Metaspace(prepend_scheme="x"), ValueError),
    "a behavior": (lambda lib, tok: lib.pre_tokenizers.Punctuation("x"), ValueError),
    "a replacement": (lambda lib, tok: lib.pre_tokenizers.Metaspace("ab"), ValueError),
    "what replaces": (lambda lib, tok: lib.normalizers.Replace("a", 3), TypeError),
    "a step": (lambda lib, tok: lib.normalizers.Sequence([3]), TypeError),
    "a template": (lambda lib, tok: lib.processors.TemplateProcessing(single="$$"), ValueError),
    "half a pair": (lambda lib, tok: lib.processors.TemplateProcessing(pair="$A $A"), ValueError),
    "a file": (lambda lib, tok: lib.Tokenizer.from_file("no such file"), Exception),
    "half a file": (lambda lib, tok: lib.Tokenizer.from_str("{"), Exception),
    "a list": (lambda lib, tok: lib.Tokenizer.from_str("[]"), Exception),
    "bytes that are no file": (lambda lib, tok: lib.Tokenizer.from_buffer(b"\xff"), ValueError),
    "texts that are none": (lambda lib, tok: tok.train_from_iterator([3]), TypeError),
    "a file to train on": (lambda lib, tok: tok.train(["no such file"]), Exception),
    "files as one text": (lambda lib, tok: tok.train("file"), TypeError),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, kind = REFUSED[name]
    for lib in (theirs, ours):
        tokenizer = lib.Tokenizer(lib.models.BPE())
        with pytest.raises(kind) as caught:
            call(lib, tokenizer)
        assert str(caught.value)


def test_what_is_not_there_names_the_way(tmp_path: Path) -> None:
    bpe = ours.Tokenizer(ours.models.BPE())
    bpe.pre_tokenizer = ours.pre_tokenizers.PreTokenizer.custom(object())
    with pytest.raises(NotImplementedError, match="is_pretokenized=True"):
        bpe.encode("a")
    bpe.pre_tokenizer = None
    bpe.normalizer = ours.normalizers.Normalizer.custom(object())
    with pytest.raises(NotImplementedError, match="normalize_str"):
        bpe.encode("a")
    with pytest.raises(NotImplementedError, match="change the text"):
        ours.decoders.Decoder.custom(object())
    unigram = ours.Tokenizer(ours.models.Unigram([("a", -1.0)], alpha=0.1))
    with pytest.raises(NotImplementedError, match=r"sentitok\.sample"):
        unigram.encode("a")
    with pytest.raises(FileNotFoundError, match="huggingface_hub"):
        ours.Tokenizer.from_pretrained("bert-base-uncased")
    words = ours.Tokenizer(ours.models.WordLevel({"a": 0}, "a"))
    words.pre_tokenizer = ours.pre_tokenizers.Sequence([ours.pre_tokenizers.ByteLevel()] * 2)
    with pytest.raises(sentitok.FormatError, match="byte-level after byte-level is not supported"):
        words.encode("a")
    with pytest.raises(TypeError, match="unexpected keyword"):
        ours.trainers.BpeTrainer(vocabsize=3)  # type: ignore[call-arg]  # 2026-11-24: refused
    with pytest.raises(sentitok.FormatError, match="Rot13"):
        ours.normalizers.Normalizer.from_spec({"type": "Rot13"})
    words.pre_tokenizer = None
    words.save(str(tmp_path / "tokenizer.json"))
    assert ours.Tokenizer.from_pretrained(str(tmp_path)).encode("a").ids == [0]


def test_older_files_are_read() -> None:
    """Models without a type, and merges as texts."""
    document = json.loads(trained(ours, TRAININGS[0]).to_str())
    expected = theirs.Tokenizer.from_str(json.dumps(document)).to_str()
    document["model"]["merges"] = [" ".join(pair) for pair in document["model"]["merges"]]
    assert ours.Tokenizer.from_str(json.dumps(document)).to_str() == expected
    del document["model"]["type"]
    assert ours.Tokenizer.from_str(json.dumps(document)).to_str() == expected


@pytest.mark.parametrize(
    ("trainer", "options"),
    [
        ("BpeTrainer", ("vocab_size", "min_frequency", "limit_alphabet", "max_token_length")),
        ("WordPieceTrainer", ("vocab_size", "min_frequency", "limit_alphabet")),
        ("WordLevelTrainer", ("vocab_size", "min_frequency")),
        ("UnigramTrainer", ("vocab_size", "n_sub_iterations", "max_piece_length", "seed_size")),
    ],
)
def test_wrong_options_fail_at_once(trainer: str, options: tuple[str, ...]) -> None:
    kind = getattr(ours.trainers, trainer)
    made = kind()
    for option in options:
        for wrong in ("x", 1.5, [3]):
            with pytest.raises(TypeError, match=rf"{option}=.* is not a whole number: it is 0 or more"):
                kind(**{option: wrong})
            with pytest.raises(TypeError, match=option):
                setattr(made, option, wrong)
        with pytest.raises(OverflowError, match=rf"{option}=-1: it is 0 or more"):
            kind(**{option: -1})
    with pytest.raises(TypeError, match=r"special_tokens is '\[UNK\]'; it is a list"):
        kind(special_tokens="[UNK]")


def test_wrong_numbers_and_texts_fail_at_once() -> None:
    with pytest.raises(TypeError, match="shrinking_factor='x' is not a number: it is the share"):
        ours.trainers.UnigramTrainer(shrinking_factor="x")  # type: ignore[arg-type]  # 2026-11-24: refused
    with pytest.raises(TypeError, match="unk_token is 3; it is a str or None"):
        ours.trainers.UnigramTrainer(unk_token=3)  # type: ignore[arg-type]  # 2026-11-24: refused
    with pytest.raises(TypeError, match="end_of_word_suffix is 3; it is a str or None"):
        ours.trainers.BpeTrainer(end_of_word_suffix=3)  # type: ignore[arg-type]  # 2026-11-24: refused


@pytest.mark.parametrize("format", ["indicatif", "json", "silent", "Indicatif", "JsonLines", "x"])
def test_progress_format_reads_as_in_tokenizers(format: str) -> None:
    expected, found = (lib.trainers.BpeTrainer(progress_format=format) for lib in (theirs, ours))
    assert (found.progress_format, repr(found)) == (expected.progress_format, repr(expected))
    for trainer in (expected, found):
        trainer.progress_format = "json"
        trainer.progress_format = format
    assert found.progress_format == pickle.loads(pickle.dumps(found)).progress_format
    assert (found.progress_format, found.__getstate__()) == (
        expected.progress_format,
        expected.__getstate__(),
    )
    assert ours.trainers.BpeTrainer().progress_format == theirs.trainers.BpeTrainer().progress_format
    assert not hasattr(ours.trainers.WordPieceTrainer(), "progress_format")


@pytest.mark.parametrize("has_dev", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"num_merges": 80},
        {"num_merges": 200, "total_symbols": True, "special_tokens": ["<s>"]},
        {"num_merges": 3, "total_symbols": True},
        {"num_merges": 60, "variant": "window", "window_size": 5, "alpha": 1.5},
        {"num_merges": 60, "ratio": [1, 2], "global_merges": 20, "initial_alphabet": ["q", "§"]},
    ],
    ids=str,
)
def test_languages_give_the_same_tokenizer(
    declarations: Path, options: dict[str, Any], has_dev: bool
) -> None:
    lines = declarations.read_text("utf-8").splitlines()
    texts = [lines[548:641], lines[1660:1753]]
    found = []
    for lib in (theirs, ours):
        for splitter in (lib.pre_tokenizers.ByteLevel(), lib.pre_tokenizers.Whitespace()):
            tokenizer = lib.Tokenizer(lib.models.BPE(unk_token="[UNK]"))
            tokenizer.pre_tokenizer = splitter
            trainer = lib.trainers.ParityBpeTrainer(show_progress=False, **options)
            dev = [one[:20] for one in texts] if has_dev else None
            trainer.train_from_iterator(tokenizer, [iter(texts[0]), [texts[1]]], dev)
            found.append((json.loads(tokenizer.to_str()), repr(trainer)))
    assert found[:2] == found[2:]


def test_wrong_languages_are_refused() -> None:
    for lib in (theirs, ours):
        trainer = lib.trainers.ParityBpeTrainer(show_progress=False)
        tokenizer = lib.Tokenizer(lib.models.BPE())
        for train, dev, match in (([], None, "must not be empty"), ([["a"]], [["a"], ["b"]], "length")):
            with pytest.raises(ValueError, match=match):
                trainer.train_from_iterator(tokenizer, train, dev)
        with pytest.raises(ValueError, match="base"):
            lib.trainers.ParityBpeTrainer(variant="fair")
