"""`accelerate`: what remains a tokenizer of transformers: its copies, its files, its class.

`test_acceleration.py` tests what its calls answer.
"""

import copy
import json
import os
import pickle
import re
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import sentitok
import shared_data
from oracles.model_file import charsmap
from sampled_cases import chosen

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("torch", reason="torch is not installed")

from oracles.accelerated import TEXTS, asked, encoding_of, pair_of, pair_of_file, plain, runs, same  # noqa: E402  # 2026-11-28: needs both
from oracles.families import file_of  # noqa: E402  # 2026-11-28: needs both

# 2026-11-23: warnings of its imports, and of arguments that its calls ignore.
pytestmark = pytest.mark.filterwarnings("ignore")

# transformers 4 brings a huggingface_hub that is too old for it.
DATASETS = "datasets is missing, or does not suit the huggingface_hub that is here"


def test_what_draws_or_cannot_run_stays(caplog: pytest.LogCaptureFixture) -> None:
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, "a"))
    levels = [tokenizers.pre_tokenizers.ByteLevel(False, use_regex=False)] * 2
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(levels)
    twice = sentitok.accelerate(transformers.PreTrainedTokenizerFast(tokenizer_object=backend))
    assert twice("a")["input_ids"] == [0]
    twice("a")
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "this tokenizer runs in transformers as before"
    ]
    assert "byte-level after byte-level" in caplog.text
    _, second = pair_of("RoBERTa")
    second._tokenizer.model.dropout = 1.0
    assert second(TEXTS[6])["input_ids"] != pair_of("RoBERTa")[0](TEXTS[6])["input_ids"]
    assert "draws at random" in caplog.text


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_run_here_too(copied: Callable[[Any], Any]) -> None:
    first, second = pair_of("BERT", pad_token="[PAD]")
    again = copied(second)
    assert runs(again)
    assert type(again) is type(second)
    same(first, again, lambda t: t(TEXTS, padding=True))
    again.add_tokens(["quick brown"])
    if copied is copy.deepcopy:
        same(first, second, lambda t: t(TEXTS))
    assert again("quick brown")["input_ids"] != first("quick brown")["input_ids"]


def test_pickles_and_files_are_those_of_the_untouched_object(tmp_path: Path) -> None:
    first, second = pair_of("Llama-3", chat_template="{{ messages }}", pad_token="<|eot_id|>")
    same(first, second, lambda t: t("a b", truncation=True, max_length=9, padding="max_length"))
    first.save_pretrained(tmp_path / "first")
    second.save_pretrained(tmp_path / "second")
    for path in (tmp_path / "first").iterdir():
        assert (tmp_path / "second" / path.name).read_bytes() == path.read_bytes()
    for protocol in range(2, 6):
        again = pickle.loads(pickle.dumps(second, protocol))
        assert type(again) is type(first)
        assert plain(again(TEXTS)) == plain(first(TEXTS))
    batch = second(TEXTS)
    back = pickle.loads(pickle.dumps(batch))
    assert [encoding_of(e) for e in back.encodings] == [encoding_of(e) for e in first(TEXTS).encodings]
    (tmp_path / "it").write_bytes(pickle.dumps([second, batch]))
    code = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb')); assert 'sentitok' not in sys.modules"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "it")], check=True)


def with_charsmap(file: str) -> str:
    """The file with the normalizer of SentencePiece's own files, a table of what replaces graphemes."""
    document = json.loads(file)
    rules = charsmap((shared_data.folder() / "vocabs" / "t5" / "spiece.model").read_bytes())
    document["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": b64encode(rules).decode()}
    return json.dumps(document)


def with_all_symbols(file: str) -> str:
    """CLIP's published vocabulary has all bytes, alone and at the end of a word."""
    document = json.loads(file)
    vocab = document["model"]["vocab"]
    for char in tokenizers.pre_tokenizers.ByteLevel.alphabet():
        for symbol in (char, f"{char}</w>"):
            vocab.setdefault(symbol, len(vocab))
    return json.dumps(document)


#: Families whose results are pickled without tokenizers, and changes of their files.
PICKLED: dict[str, Callable[[str], str]] = {
    "BERT": str, "Llama-3": str, "Llama-2, newer files": str, "RoBERTa": str, "NLLB": str, "ALBERT": str,
    "DeBERTa v2 and v3": str, "DeBERTa v2, newer files": str, "XLM-R": with_charsmap, "mBART": with_charsmap,
    "CLIP": with_all_symbols,
}  # fmt: skip


@pytest.mark.parametrize("family", chosen(PICKLED, "BERT", "ALBERT", "XLM-R", "CLIP"))
def test_pickling_a_result_does_not_run_tokenizers(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = pair_of_file(PICKLED[family](file_of(family)), pad_token="</s>")
    texts = [text for text in TEXTS if text]
    if PICKLED[family] is with_charsmap:
        texts = [text for text in texts if not re.search("[\u0301\r\u200d]", text)]
    texts += ["a </s>日本", "[MASK]☃ ☃<|endoftext|>é", "日</s>", "ab  c"]
    unknown = first.convert_tokens_to_ids("<unk>")
    known = [text for text in texts if unknown not in first(text)["input_ids"]]
    calls = [
        asked([*texts, ""]),
        asked(texts, texts[::-1], padding=True, pad_to_multiple_of=8),
        asked(known, truncation=True, max_length=9, stride=2, padding=True),
        asked(known, truncation=True, max_length=9, return_overflowing_tokens=True),
    ]
    expected = [call(first).encodings for call in calls]
    monkeypatch.setattr(type(second.__dict__["_sentitok_running"]._known), "copy_of_backend", pytest.fail)
    found = [pickle.loads(pickle.dumps(call(second))).encodings for call in calls]
    assert [[*map(windows_of, row)] for row in found] == [[*map(windows_of, row)] for row in expected]


def test_pickled_graphemes_have_the_places_of_tokenizers() -> None:
    """Where a table makes one character of several, tokenizers gives the place of the first."""
    first, second = pair_of_file(with_charsmap(file_of("Llama-2, newer files")))
    texts = ["e\u0301", "a\r\nb", "ｶﾞ ﷺ", "x e\u0301 y"]
    expected = first(texts).encodings
    ours = sentitok.Tokenizer.from_bytes(second.backend_tokenizer.to_str().encode())
    assert expected[0].offsets[-1] == (0, 1)
    assert tuple(ours.encode(texts[0]).offsets()[-1]) == (0, 2)
    found = pickle.loads(pickle.dumps(second(texts))).encodings
    assert [encoding_of(e) for e in found] == [encoding_of(e) for e in expected]


@pytest.mark.parametrize("single", ["$A:1 [SEP]:1", "[CLS]:0 $A:1 [SEP]:0"])
def test_windows_of_texts_whose_type_is_1(single: str) -> None:
    """tokenizers gives type 0 to windows after the first."""
    backend = tokenizers.Tokenizer.from_str(file_of("BERT"))
    ids = [(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single=single, pair="[CLS] $A:0 [SEP] $B:1", special_tokens=ids
    )
    first, second = pair_of_file(backend.to_str(), pad_token="[PAD]")
    texts = ["a quick brown fox jumps", "x"]
    for windows in (True, False):
        call = asked(texts, truncation=True, max_length=4, return_overflowing_tokens=windows)
        same(first, second, call)
        found = pickle.loads(pickle.dumps(call(second))).encodings
        assert [plain(e) for e in map(windows_of, found)] == [windows_of(e) for e in call(first).encodings]


def windows_of(encoding: Any) -> list[Any]:
    return [encoding_of(e) for e in (encoding, *encoding.overflowing)]


def test_offsets_of_added_tokens_that_begin_with_a_space() -> None:
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1}, "a"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Punctuation()
    backend.post_processor = tokenizers.processors.ByteLevel(trim_offsets=True)
    backend.add_tokens(
        [tokenizers.AddedToken(" a", normalized=True), tokenizers.AddedToken("b", lstrip=True)]
    )
    first, second = pair_of_file(backend.to_str())
    same(first, second, asked(["x a", "b a b", " b"], return_offsets_mapping=True))


def test_classes_of_models_keep_what_they_do() -> None:
    """What a class does itself it does; what it asks of its parent is answered here."""

    class Shouting(transformers.PreTrainedTokenizerFast):  # type: ignore[misc, name-defined]  # 2026-11-24: transformers has no types there
        def _encode_plus(self, text: Any, *arguments: Any, **options: Any) -> Any:
            return super()._encode_plus(text.upper(), *arguments, **options)

        def _decode(self, *arguments: Any, **options: Any) -> Any:
            return super()._decode(*arguments, **options) + "!"

    first, second = (
        Shouting(tokenizer_object=tokenizers.Tokenizer.from_str(file_of("RoBERTa"))) for _ in range(2)
    )
    sentitok.accelerate(second)
    assert isinstance(second, Shouting)
    assert type(second).__name__ == "Shouting"
    for call in (
        lambda t: t("a fox"),
        lambda t: t.tokenize("a fox"),
        lambda t: t.decode([5, 6, 7]),
        lambda t: t.batch_decode([[5, 6], [7]]),
    ):
        same(first, second, call)
    assert second.decode([5]).endswith("!")
    made = type(second)(tokenizer_object=tokenizers.Tokenizer.from_str(file_of("BLOOM")))
    assert type(made) is Shouting


def test_what_the_class_makes_is_untouched(tmp_path: Path) -> None:
    """A class that builds its backend from what a file holds looks into its own `__dict__`.

    Source: `test_save_and_load_tokenizer` and `test_chat_template_dict_saving` of transformers 5.16.
    """
    pieces = [(piece, 0.0) for piece in ("<s>", "<pad>", "</s>", "<unk>", "▁", "a", "b", "▁ab", "<mask>")]
    options: dict[str, Any] = {"vocab": pieces, "chat_template": "{{ messages }}"}
    if int(transformers.__version__.split(".")[0]) < 5:
        backend = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, 3))
        options = {"tokenizer_object": backend, "chat_template": "{{ messages }}"}
    first, second = (transformers.LayoutXLMTokenizerFast(**options) for _ in range(2))
    sentitok.accelerate(second).save_pretrained(tmp_path)
    for made in (second.from_pretrained(tmp_path), type(second).from_pretrained(tmp_path)):
        assert type(made) is type(first)
        assert made.backend_tokenizer.to_str() == first.backend_tokenizer.to_str()
        assert made.chat_template == "{{ messages }}"


class Own(transformers.PreTrainedTokenizerFast):  # type: ignore[misc, name-defined]  # 2026-11-29: transformers has no types there
    """A class that datasets pickles by name."""


HASHING = """
import sys, sentitok, transformers
from datasets.fingerprint import Hasher
fast = transformers.PreTrainedTokenizerFast(tokenizer_file=sys.argv[1], pad_token="</s>")
print(Hasher.hash(sentitok.accelerate(fast)))
"""


@pytest.mark.parametrize("family", chosen(["RoBERTa", "XLM-R"], "XLM-R"))
def test_datasets_hashes_it_the_same_before_and_after_calls(family: str, tmp_path: Path) -> None:
    hasher = pytest.importorskip("datasets.fingerprint", reason=DATASETS, exc_type=ImportError).Hasher
    file = tmp_path / "tokenizer.json"
    file.write_text(file_of(family), "utf-8")
    second = transformers.PreTrainedTokenizerFast(tokenizer_file=str(file), pad_token="</s>")
    sentitok.accelerate(second)

    def rows_of(rows: Any) -> Any:
        return second(rows["text"])

    start = time.process_time()
    before, of_rows = hasher.hash(second), hasher.hash(rows_of)
    assert time.process_time() - start < 10  # walking through transformers takes a minute
    second(TEXTS, truncation=True, max_length=5, padding=True)
    second.decode([1, 2])
    assert hasher.hash(second) == before
    assert hasher.hash(rows_of) == of_rows
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HASHING, str(file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == before
    second.add_tokens(["another one"])
    assert hasher.hash(second) != before


def test_datasets_hashes_other_classes_otherwise() -> None:
    hasher = pytest.importorskip("datasets.fingerprint", reason=DATASETS, exc_type=ImportError).Hasher
    file = file_of("BERT")

    class Local(transformers.PreTrainedTokenizerFast):  # type: ignore[misc, name-defined]  # 2026-11-29: transformers has no types there
        pass

    kinds = (transformers.PreTrainedTokenizerFast, Own, Local)
    made = [sentitok.accelerate(kind(tokenizer_object=tokenizers.Tokenizer.from_str(file))) for kind in kinds]
    hashes = [hasher.hash(tokenizer) for tokenizer in made]
    assert len({*hashes}) == 3
    assert [hasher.hash(tokenizer) for tokenizer in made] == hashes


def test_a_cached_map_is_found(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason=DATASETS, exc_type=ImportError)
    _, second = pair_of("BERT", pad_token="[PAD]")
    data = datasets.Dataset.from_dict({"text": TEXTS})
    data.save_to_disk(tmp_path / "data")
    names = []
    for _ in range(2):
        loaded = datasets.load_from_disk(tmp_path / "data")
        mapped = loaded.map(lambda rows: second(rows["text"], truncation=True, max_length=9), batched=True)
        names.append([Path(file["filename"]).name for file in mapped.cache_files])
    assert names[0] == names[1]


def test_a_panic_inside_tokenizers_does_not_escape(caplog: pytest.LogCaptureFixture) -> None:
    """The normalizer leaves nothing of an added token, and tokenizers panics at a text with it."""
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "a": 1}, "[UNK]"))
    backend.normalizer = tokenizers.normalizers.BertNormalizer()
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    token = tokenizers.AddedToken("\u200b", normalized=True)
    added = tokenizers.Tokenizer.from_str(backend.to_str())
    added.add_tokens([token])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=added, unk_token="[UNK]")
    assert sentitok.accelerate(fast)("a a")["input_ids"] == [1, 1]
    assert not runs(fast)
    assert "runs in transformers as before" in caplog.text
    # Added to one that runs here.
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")
    sentitok.accelerate(fast).add_tokens([token])
    for _ in range(3):
        assert fast("a a")["input_ids"] == [1, 1]
    assert not runs(fast)


def test_a_backend_that_its_file_does_not_hold_stays(caplog: pytest.LogCaptureFixture) -> None:
    """Patterns and ids of added tokens are made when these are added, from the parts of that time."""
    words = {"[UNK]": 0, "a": 1, "foo": 2}

    def made() -> Any:
        backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, "[UNK]"))
        backend.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
        backend.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        backend.add_tokens([tokenizers.AddedToken("FOO", normalized=True)])
        return backend

    def with_other_normalizer() -> Any:
        backend = made()
        backend.normalizer.lowercase = False
        return backend

    def with_other_model() -> Any:
        backend = made()
        backend.model = tokenizers.models.WordLevel({**words, "x": 3, "y": 4}, "[UNK]")
        return backend

    for change in (with_other_normalizer, with_other_model):
        first, second = (transformers.PreTrainedTokenizerFast(tokenizer_object=made()) for _ in range(2))
        first._tokenizer, second._tokenizer = change(), change()
        sentitok.accelerate(second)
        for options in ({}, {"truncation": True, "max_length": 2}):
            same(first, second, asked(["FOO foo a", "foo x y FOO"], **options))
        assert not runs(second)
        # Added tokens are searched for again.
        for tokenizer in (first, second):
            tokenizer.backend_tokenizer.normalizer = tokenizer.backend_tokenizer.normalizer
        same(first, second, asked(["FOO foo a", "foo x y FOO"]))
    assert "loaded from its file" in caplog.text


def test_again_is_the_same() -> None:
    _, second = pair_of("RoBERTa")
    kind = type(second)
    assert sentitok.accelerate(second) is second
    assert type(second) is kind


@pytest.mark.parametrize("thing", ["tokenizer.json", 7, None, tokenizers.models.BPE()])
def test_other_things_are_refused(thing: object) -> None:
    with pytest.raises(TypeError, match=r"fast tokenizer of transformers, not .*AutoTokenizer"):
        sentitok.accelerate(thing)


def test_importing_sentitok_needs_numpy_alone() -> None:
    code = "import sentitok, sys; sentitok.Tokenizer; assert not {'transformers', 'jinja2'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)
