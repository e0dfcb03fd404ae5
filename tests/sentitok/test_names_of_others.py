"""Names that users of other libraries type: each error says what to write here.

`test_compat_names.py` tests the modules of `sentitok.compat`, which have those names.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sentitok
import sentitok.datasets
from commands import run
from sentitok import Tokenizer

TEXTS = ["low lower lowest", "newer"]
#: Not checked: the calls are wrong.
ANY: Any = sentitok


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return sentitok.train_bpe(texts=TEXTS, vocab_size=270)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.encode("a", max_length=8), r"encode\(\) has no max_length=: .*max_tokens="),
        (lambda t: t.encode_batch(TEXTS, padding=True), r"has no padding=: .*\.to_torch\(\)"),
        (lambda t: t.encode_batch(TEXTS, return_tensors="pt"), r"has no return_tensors=: .*to_torch"),
        (lambda t: t.windows_batch(TEXTS, 8, return_offsets_mapping=True), "has no return_offsets_mapping="),
        (lambda t: t.encode_batch(TEXTS, foo=1), r"got an unexpected keyword argument 'foo'"),
        (lambda t: t.encode_batch(TEXTS).pad(pad_to_multiple_of=8), "has no pad_to_multiple_of=: it is mul"),
        (lambda t: t.encode_batch(TEXTS).to_torch(device="cpu"), r"has no device=: .*tensor\.to\(device\)"),
        (lambda t: t.encode_batch(TEXTS).to_torch(other=1), r"to_torch\(\) got an unexpected keyword"),
        (lambda _: ANY.Tokenizer.from_pretrained("a/b", use_fast=True), "has no use_fast=: leave it out"),
        (lambda _: ANY.Tokenizer.from_pretrained("a/b", local_files_only=True), "nothing is fetched unless"),
        (lambda _: ANY.train_bpe(texts=TEXTS, model_type="bpe"), "train_bpe.* has no model_type=: "),
        (lambda _: ANY.train_unigram(texts=TEXTS, control_symbols=["<a>"]), "are special_tokens="),
        (lambda _: ANY.train_wordpiece(texts=TEXTS, trainer=None), "train_wordpiece.* has no trainer="),
        (lambda _: ANY.train_bpe("T", 8000), r"8000 one, as in vocab_size=8000"),
        (lambda _: ANY.train_bpe(texts=TEXTS, vocab=300), r"train_bpe.* has no vocab=: .*vocab_size="),
        (lambda _: ANY.train_unigram(texts=TEXTS, add=30), r"train_unigram.* has no add=: .*vocab_size="),
        (lambda _: ANY.train_bpe(texts=TEXTS, special=["<a>"]), "it is special_tokens="),
        (lambda _: ANY.train_bpe(text=TEXTS), "are texts="),
        (lambda _: ANY.train_bpe(texts=TEXTS, extend=5), "extend is a Tokenizer or the path of one, not 5"),
        (lambda _: ANY.Tokenizer("file.json"), r"Tokenizer\.from_file\(path\)"),
        (lambda _: ANY.Tokenizer(vocab={}, merges=[]), r"Tokenizer\.from_file\(path\)"),
        (lambda t: t.count_batch("text"), r"call count\(text\)"),
        (lambda t: t.encode_batch("text"), r"call encode\(text\)"),
        (lambda t: t.windows_batch("text", 8), r"call windows\(text, size\)"),
        (lambda t: t.encode(TEXTS), r"encode_batch\(texts\)"),
        (lambda t: t.count(TEXTS), r"count_batch\(texts\)"),
        (lambda t: t.windows(TEXTS, 8), r"windows_batch\(texts, size\)"),
        (lambda t: t.fits(TEXTS, 8), r"count_batch\(texts\)"),
        (lambda t: t.decode(5), "ids are a list or an array of ints, not 5; one id goes in a list"),
        (lambda t: t.decode_batch([72]), "not 72; .*decode_batch takes a list of rows"),
        (lambda t: t.decode([[1, 2]]), r"an id is an int, not \[1, 2\]; decode_batch\(rows\)"),
        (lambda t: t.decode(t.encode_batch(TEXTS)), r"decode_batch\(rows\) takes rows of ids"),
    ],
)  # fmt: skip
def test_arguments(call: Callable[[Any], object], message: str, tokenizer: Tokenizer) -> None:
    with pytest.raises(TypeError, match=message):
        call(tokenizer)


def test_attributes_of_encodings(tokenizer: Tokenizer) -> None:
    batch = tokenizer.encode_batch(TEXTS)
    each: list[Any] = [batch, batch[0], tokenizer.encode("low")]
    for made in each:
        with pytest.raises(AttributeError, match=r"no attribute 'attention_mask': .*pad"):
            _ = made.attention_mask
        with pytest.raises(AttributeError, match="no attribute 'input_ids': it is ids"):
            _ = made.input_ids
        assert not hasattr(made, "something")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("get_vocab", r"it is vocab\(\)"),
        ("getVocab", r"it is vocab\(\)"),
        ("n_vocab", "it is vocab_size"),
        ("encode_ordinary", r"it is encode\(text\)"),
        ("EncodeAsIds", r"it is encode\(text\)\.ids"),
        ("encode_as_pieces", r"it is encode\(text\)\.tokens"),
        ("IdToPiece", r"it is id_to_token\(id\)"),
        ("tokenize", r"it is encode\(text\)\.tokens"),
        ("batch_decode", r"it is decode_batch\(rows\)"),
        ("convert_tokens_to_ids", r"it is token_to_id\(token\)"),
        ("eos_token_id", "settings.special_tokens"),
        ("add_tokens", r"with_specials\(tokens\)"),
        ("train", r"sentitok\.train_bpe"),
    ],
)
def test_attributes_of_tokenizers(name: str, remedy: str, tokenizer: Tokenizer) -> None:
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': .*{remedy}"):
        getattr(tokenizer, name)
    assert not hasattr(tokenizer, name)


def test_what_a_tokenizer_is_advised_exists(tokenizer: Tokenizer) -> None:
    """The calls that the errors name."""
    for call in ("vocab", "encode", "encode_batch", "decode_batch", "id_to_bytes", "n_best", "entropy"):
        assert callable(getattr(tokenizer, call))
    assert not hasattr(tokenizer, "something")
    assert not hasattr(tokenizer, "__array_interface__")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("load", r"Tokenizer\.from_file\(path\)"),
        ("from_file", r"Tokenizer\.from_file\(path\)"),
        ("AutoTokenizer", r"Tokenizer\.from_pretrained"),
        ("train", "train_bpe, train_unigram and train_wordpiece"),
        ("SentencePieceProcessor", r"sentitok\.compat\.sentencepiece"),
        ("bounded_lines", r"import sentitok\.bounded_lines"),
    ],
)
def test_names_of_the_package(name: str, remedy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sentitok, name, raising=False)  # a module that another test has imported
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': .*{remedy}"):
        getattr(sentitok, name)
    assert not hasattr(sentitok, "something")
    assert not hasattr(sentitok, "__wrapped__")


class Rows(Mapping[str, list[str]]):
    """What datasets hands to a function: a mapping that is not a dict."""

    def __getitem__(self, key: str) -> list[str]:
        return TEXTS

    def __iter__(self) -> Any:
        return iter(["text", "label"])

    def __len__(self) -> int:
        return 2


@pytest.mark.parametrize("given", [{"text": TEXTS, "label": [1]}, Rows()], ids=["dict", "mapping"])
def test_a_mapping_is_no_list_of_texts(given: Any, tokenizer: Tokenizer) -> None:
    calls: list[Callable[[], object]] = [
        lambda: tokenizer.encode_batch(given),
        lambda: tokenizer.encode_batch(given, is_split_into_words=True),
        lambda: tokenizer.encode_batch(TEXTS, given),
        lambda: tokenizer.count_batch(given),
        lambda: sentitok.train_bpe(given, vocab_size=300),
        lambda: sentitok.train_unigram(texts=given, vocab_size=300),
        lambda: sentitok.count(given),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"with 'text', 'label': .*\['text'\]"):
            call()
    with pytest.raises(TypeError, match=r"is a dict: .*\[\"text\"\]"):
        tokenizer.encode_batch({})


def test_a_base_is_a_tokenizer_or_a_path(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "base.json")
    wanted = sentitok.train_bpe(texts=TEXTS, vocab_size=272, extend=tokenizer)
    for base in (tmp_path / "base.json", str(tmp_path / "base.json")):
        assert sentitok.train_bpe(texts=TEXTS, vocab_size=272, extend=base) == wanted
    with pytest.raises(FileNotFoundError, match=r"no-base\.json"):
        sentitok.train_bpe(texts=TEXTS, vocab_size=272, extend=tmp_path / "no-base.json")


@pytest.mark.parametrize(
    "call", [sentitok.train_bpe, sentitok.train_unigram, sentitok.train_wordpiece, sentitok.count]
)
def test_texts_where_paths_belong(call: Callable[..., object]) -> None:
    for source in (["text"], "text", ["A text.", "another"], "one text", ("a gripping film.",)):
        with pytest.raises(FileNotFoundError, match=r"texts in memory are texts=\[") as raised:
            call(source)
        assert raised.value.filename == (source if isinstance(source, str) else source[0])
    for source in (["corpus.txt"], "corpus.txt", "data/corpus"):
        with pytest.raises(FileNotFoundError) as raised:
            call(source)
        assert "texts=" not in str(raised.value)


def test_counts_are_no_texts() -> None:
    counts = sentitok.count(texts=TEXTS)
    with pytest.raises(TypeError, match="is a WordCounts; pass counts as counts="):
        sentitok.train_bpe(counts, vocab_size=300)


def test_splits_of_a_data_set() -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    splits = datasets.DatasetDict(train=datasets.Dataset.from_dict({"text": TEXTS}))
    with pytest.raises(TypeError, match=r"is a DatasetDict with 'train': .*source\['train'\]"):
        sentitok.train_bpe(splits, vocab_size=300)


@pytest.mark.parametrize("name", ["nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf", "identity"])
def test_rules_of_sentencepiece(name: str) -> None:
    usual = {"identity": "sentencepiece-collapse"}.get(name, f"sentencepiece-{name.replace('_', '-')}")
    with pytest.raises(ValueError, match=f"no such name .*SentencePiece's rules of that name are {usual}"):
        sentitok.train_bpe(texts=TEXTS, normalizer=name)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
def test_types_of_numpy(dtype: Any, tokenizer: Tokenizer) -> None:
    batch = tokenizer.encode_batch(TEXTS)
    for given in (dtype, np.dtype(dtype), np.dtype(dtype).name):
        ids, _ = batch.pad(dtype=given)
        assert ids.dtype == dtype
        assert np.array_equal(ids, batch.pad()[0])
    for wrong in (np.float32, "float32", object()):
        with pytest.raises(ValueError, match="it is 'int64', 'int32' or 'uint32'"):
            batch.pad(dtype=wrong)  # type: ignore[call-overload]  # 2026-11-25: refused


def test_names_of_encodings() -> None:
    with pytest.raises(ValueError, match=r"gpt-4o is a model of o200k_base: encoding_for_model\('gpt-4o'\)"):
        sentitok.get_encoding("gpt-4o")
    with pytest.raises(ValueError, match=r"did you mean cl100k_base\?"):
        sentitok.get_encoding("cl100k")
    with pytest.raises(ValueError, match="A path is the second argument"):
        sentitok.get_encoding("folder/cl100k_base.tiktoken")


def test_sizes_and_tokens_of_commands(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("low lower lowest\n" * 20, "utf-8")
    code, _, said = run("train-bpe corpus.txt --vocab 32kk -o x.json", cwd=tmp_path)
    assert (code, "such as 32000 or 32k" in " ".join(said.split())) == (2, True)
    code, _, said = run("train-unigram corpus.txt --vocab 32 --special <s> -o x.json", cwd=tmp_path)
    assert code == 2
    assert "are added automatically" in " ".join(said.split())
