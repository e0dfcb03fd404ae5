"""Equality with tokenizers and tiktoken on the bundled texts.

Training is compared with `tokenizers` 0.23.3 (vocabulary, ids, merges, order),
encoding with it and with tiktoken. The same over all data sets: `test_parity_data.py`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tokenizers
from tokenizers import Regex, decoders, models, pre_tokenizers, processors, trainers

from conftest import CORPUS
from sentitok import PreTokenizer, Tokenizer, train_bpe

SHERLOCK = CORPUS / "sherlock-holmes.txt"
PRIDE = CORPUS / "pride-and-prejudice.txt"
DECLARATIONS = CORPUS / "udhr-23-languages.txt"
FIXTURES = [
    CORPUS / "fixtures" / name
    for name in ("mixed.txt", "emoji.txt", "code.txt", "crlf.txt", "empty-lines.txt")
]


def byte_level() -> Any:
    return pre_tokenizers.ByteLevel(add_prefix_space=False)


def split(name: str) -> Callable[[], Any]:
    """The pre-tokenizer of a published pattern, in front of bytes."""

    def make() -> Any:
        pattern = PreTokenizer(name).pattern
        assert pattern is not None
        return pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(pattern), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )

    return make


ALPHABET = pre_tokenizers.ByteLevel.alphabet()

# (name, files, their pre-tokenizer, options of both, options of theirs, options of ours)
Case = tuple[str, list[Path], Callable[[], Any], dict[str, Any], dict[str, Any], dict[str, Any]]
BYTES: dict[str, Any] = {"initial_alphabet": ALPHABET}
CASES: list[Case] = [
    ("prose", [SHERLOCK], byte_level, {"vocab_size": 2000}, BYTES, {}),
    ("prose, large", [SHERLOCK, PRIDE], byte_level, {"vocab_size": 12_000}, BYTES, {}),
    ("prose, no more pairs", [FIXTURES[2]], byte_level, {"vocab_size": 5000}, BYTES, {}),
    ("23 languages", [DECLARATIONS], byte_level, {"vocab_size": 8000}, BYTES, {}),
    ("23 languages, alphabet alone", [DECLARATIONS], byte_level, {"vocab_size": 256}, BYTES, {}),
    ("all", [SHERLOCK, PRIDE, DECLARATIONS, *FIXTURES], byte_level, {"vocab_size": 5000}, BYTES, {}),
    ("hostile lines", FIXTURES, byte_level, {"vocab_size": 700}, BYTES, {}),
    (
        "cl100k",
        [SHERLOCK, DECLARATIONS],
        split("cl100k"),
        {"vocab_size": 3000},
        BYTES,
        {"pre_tokenizer": "cl100k"},
    ),
    (
        "o200k",
        [SHERLOCK, DECLARATIONS],
        split("o200k"),
        {"vocab_size": 3000},
        BYTES,
        {"pre_tokenizer": "o200k"},
    ),
    (
        "special tokens",
        [SHERLOCK],
        byte_level,
        {"vocab_size": 1500, "special_tokens": ["<s>", "<pad>", "the", "Ġand"]},
        BYTES,
        {},
    ),
    ("min frequency", [PRIDE], byte_level, {"vocab_size": 30_000, "min_frequency": 25}, BYTES, {}),
    ("short tokens", [PRIDE], byte_level, {"vocab_size": 4000, "max_token_length": 5}, BYTES, {}),
    ("alphabet seen", [DECLARATIONS], byte_level, {"vocab_size": 3000}, {}, {"initial_alphabet": "none"}),
    (
        "continuing prefix",
        [SHERLOCK],
        pre_tokenizers.Whitespace,
        {"vocab_size": 2500, "continuing_subword_prefix": "##"},
        {},
        {"unit": "chars", "pre_tokenizer": "whitespace"},
    ),
    (
        "end of word",
        [PRIDE],
        pre_tokenizers.WhitespaceSplit,
        {"vocab_size": 2500, "end_of_word_suffix": "</w>"},
        {},
        {"unit": "chars", "pre_tokenizer": "whitespace-split"},
    ),
    (
        "characters, bert",
        [DECLARATIONS],
        pre_tokenizers.BertPreTokenizer,
        {"vocab_size": 6000, "special_tokens": ["[UNK]"]},
        {},
        {"unit": "chars", "pre_tokenizer": "bert", "unk_token": "[UNK]"},
    ),
    (
        "metaspace",
        [DECLARATIONS, SHERLOCK],
        pre_tokenizers.Metaspace,
        {"vocab_size": 6000, "special_tokens": ["<unk>"]},
        {},
        {"pre_tokenizer": "metaspace", "unk_token": "<unk>"},
    ),
]
# Texts that no case is trained on.
OTHERS = ["", " ", "naïve 😀👩‍👩‍👧 \u3000x", "日本語 한국어 हिन्दी", "a\x00b\r\n\t  c", "zzz ¤¤¤ \U0010ffff"]
ARGUMENTS = ("files", "splitter", "both", "theirs", "ours")


def reference(files: list[Path], splitter: Callable[[], Any], options: dict[str, Any]) -> Any:
    affixes = {k: options[k] for k in ("continuing_subword_prefix", "end_of_word_suffix") if k in options}
    unk = next((token for token in options.get("special_tokens", ()) if "unk" in token.lower()), None)
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token=unk, **affixes))
    tokenizer.pre_tokenizer = splitter()
    trainer = trainers.BpeTrainer(show_progress=False, **options)
    tokenizer.train(list(map(str, files)), trainer)
    return tokenizer


def model_of(tokenizer: Any) -> dict[str, Any]:
    model: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return model


# With a prefix or suffix `tokenizers` numbers the symbols that carry it in the
# order of a hash map: another vocabulary each time. Ours is one of them.
DETERMINISTIC = [
    case for case in CASES if not {"continuing_subword_prefix", "end_of_word_suffix"} & case[3].keys()
]


@pytest.mark.parametrize(
    ARGUMENTS, [case[1:] for case in DETERMINISTIC], ids=[case[0] for case in DETERMINISTIC]
)
def test_training(
    files: list[Path],
    splitter: Callable[[], Any],
    both: dict[str, Any],
    theirs: dict[str, Any],
    ours: dict[str, Any],
    tmp_path: Path,
) -> None:
    expected = reference(files, splitter, {**both, **theirs})
    path = tmp_path / "tokenizer.json"
    trained = train_bpe(files, **both, **ours)
    trained.save(path)
    written = json.loads(path.read_text("utf-8"))["model"]
    model = model_of(expected)
    assert list(written["vocab"].items()) == list(model["vocab"].items())
    assert written["merges"] == model["merges"]
    assert trained.vocab_size == expected.get_vocab_size() <= both["vocab_size"]


@pytest.mark.parametrize(ARGUMENTS, [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_our_files_mean_the_same_there(
    files: list[Path],
    splitter: Callable[[], Any],
    both: dict[str, Any],
    theirs: dict[str, Any],
    ours: dict[str, Any],
    tmp_path: Path,
) -> None:
    path = tmp_path / "tokenizer.json"
    trained = train_bpe(files, **both, **ours)
    trained.save(path)
    loaded = tokenizers.Tokenizer.from_file(str(path))
    documents = [
        *OTHERS,
        *(line for file in files for line in file.read_bytes().decode().splitlines(keepends=True)[:300]),
    ]
    batch = trained.encode_batch(documents, specials="all")
    for document, row, encoding in zip(documents, batch, loaded.encode_batch(documents), strict=True):
        assert row.ids.tolist() == encoding.ids, document
        assert trained.decode(row) == loaded.decode(encoding.ids, skip_special_tokens=False), document


def test_files_are_theirs_byte_for_byte(tmp_path: Path) -> None:
    expected = reference(
        [SHERLOCK], byte_level, {"vocab_size": 3000, "special_tokens": ["<|endoftext|>"], **BYTES}
    )
    expected.decoder = decoders.ByteLevel()
    ours, theirs = tmp_path / "ours.json", tmp_path / "theirs.json"
    expected.save(str(theirs))
    trained = train_bpe(SHERLOCK, vocab_size=3000, special_tokens=["<|endoftext|>"])
    trained.save(ours)
    written, read = json.loads(ours.read_text()), json.loads(theirs.read_text())
    assert written["model"] == read["model"]
    assert written["added_tokens"] == read["added_tokens"]
    assert written["pre_tokenizer"] == read["pre_tokenizer"]
    # Loaded and written again, nothing is gained or lost.
    again = tmp_path / "again.json"
    Tokenizer.from_file(theirs).save(again)
    assert again.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k"])
def test_tiktoken(name: str, lines: list[str]) -> None:
    trained = train_bpe(texts=lines, vocab_size=4000, pre_tokenizer=name)
    pattern = trained.pre_tokenizer.pattern
    assert pattern is not None
    ranks: dict[Any, int] = {trained.id_to_bytes(id): id for id in range(trained.vocab_size)}
    rival = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|end|>": 4000})
    ours = trained.with_specials(["<|end|>"])
    for line, row in zip(lines, trained.encode_batch(lines), strict=True):
        assert row.ids.tolist() == rival.encode_ordinary(line), line
    text = "".join(lines[:2000]) + "<|end|>" + "".join(lines[-500:])
    assert ours.encode(text, specials="all").ids.tolist() == rival.encode(text, allowed_special="all")
    assert ours.encode(text).ids.tolist() == rival.encode_ordinary(text)
    spans = ours.encode(text).offsets("chars")[:, 0].tolist()
    assert spans == rival.decode_with_offsets(rival.encode_ordinary(text))[1]


def test_template_of_a_pair(lines: list[str]) -> None:
    expected = reference(
        [SHERLOCK], byte_level, {"vocab_size": 1000, "special_tokens": ["[CLS]", "[SEP]"], **BYTES}
    )
    expected.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 0), ("[SEP]", 1)],
    )
    ours = Tokenizer.from_bytes(expected.to_str().encode())
    for first, second in zip(lines[:200], lines[-200:], strict=True):
        for encoding, theirs in [
            (ours.encode(first), expected.encode(first)),
            (ours.encode(first, second), expected.encode(first, second)),
        ]:
            assert encoding.ids.tolist() == theirs.ids
            assert encoding.tokens == theirs.tokens
            assert encoding.type_ids.tolist() == theirs.type_ids
            assert encoding.special_tokens_mask.tolist() == list(map(bool, theirs.special_tokens_mask))
            assert encoding.offsets().tolist() == [list(span) for span in theirs.offsets]
        expected.enable_truncation(12)
        assert ours.encode(first, second, max_tokens=12).ids.tolist() == expected.encode(first, second).ids
        expected.no_truncation()
        bare = expected.encode(first, add_special_tokens=False)
        assert ours.encode(first, add_special_tokens=False).ids.tolist() == bare.ids
