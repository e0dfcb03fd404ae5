"""Names of encodings: the tables against tiktoken's, and where ranks are looked for."""

import hashlib
import subprocess
import sys
import tempfile
import unittest.mock
from pathlib import Path
from typing import Any

import pytest
import tiktoken.model
from tiktoken_ext import openai_public

import sentitok
import shared_data
from sentitok import names

FILES = {
    "cl100k_base.tiktoken": "cl100k_base.tiktoken",
    "o200k_base.tiktoken": "o200k_base.tiktoken",
    "r50k_base.tiktoken": "gpt2/r50k_base.tiktoken",
    "vocab.bpe": "gpt2/vocab.bpe",
}


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and nothing remembered."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(names, "_found", {})
    return tmp_path


def published(name: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """What tiktoken says of a name, and the files it would read, with their hashes."""
    files: list[tuple[str, str]] = []

    def ranks(address: str, expected_hash: str) -> dict[bytes, int]:
        files.append((address, expected_hash))
        return {}

    def merges(**given: str) -> dict[bytes, int]:
        files.append((given["vocab_bpe_file"], given["vocab_bpe_hash"]))
        return {}

    with (
        unittest.mock.patch.object(openai_public, "load_tiktoken_bpe", ranks),
        unittest.mock.patch.object(openai_public, "data_gym_to_mergeable_bpe_ranks", merges),
    ):
        return openai_public.ENCODING_CONSTRUCTORS[name](), files


@pytest.mark.parametrize("name", names.names())
def test_tables_equal_those_of_tiktoken(name: str) -> None:
    theirs, files = published(name)
    ours = names._NAMED[name]
    twice = {"<|reserved_200018|>"} & theirs["special_tokens"].keys()  # another name of one id
    assert ours.special_tokens == {t: id for t, id in theirs["special_tokens"].items() if t not in twice}
    assert files == [(ours.files[0].address, ours.files[0].sha256)]
    # A published pattern is known by its text.
    ranks = b"".join(b"%s %d\n" % (_base64(bytes([byte])), byte) for byte in range(256))
    by_pattern = sentitok.Tokenizer.from_tiktoken(ranks, theirs["pat_str"])
    assert by_pattern == sentitok.Tokenizer.from_tiktoken(ranks, ours.pattern)


def _base64(data: bytes) -> bytes:
    import base64

    return base64.b64encode(data)


def test_names_are_all_there() -> None:
    assert set(names.names()) == set(openai_public.ENCODING_CONSTRUCTORS)


MODELS = [
    *tiktoken.model.MODEL_TO_ENCODING,
    *(beginning + "2026-11" for beginning in tiktoken.model.MODEL_PREFIX_TO_ENCODING),
]


@pytest.mark.parametrize("model", MODELS)
def test_models_equal_those_of_tiktoken(model: str) -> None:
    assert names.encoding_name_for_model(model) == tiktoken.model.encoding_name_for_model(model)


@pytest.mark.parametrize("model", ["", "gpt", "o1mini", "claude"])
def test_unknown_models(model: str) -> None:
    with pytest.raises(KeyError, match="no encoding is known"):
        sentitok.encoding_for_model(model)


def test_ranks_from_a_file_a_folder_or_the_cache(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = shared_data.folder() / "vocabs" / "gpt2" / "r50k_base.tiktoken"
    by_file = sentitok.get_encoding("r50k_base", source)
    assert by_file == sentitok.get_encoding("r50k_base", source.parent)
    with pytest.raises(FileNotFoundError) as error:
        sentitok.get_encoding("r50k_base")
    cached = nowhere / hashlib.sha1(names._R50K.address.encode()).hexdigest()
    for told in (str(cached), "TIKTOKEN_CACHE_DIR", "download=True", names._R50K.address):
        assert told in str(error.value)
    cached.write_bytes(source.read_bytes())
    found = sentitok.get_encoding("r50k_base")
    assert found == by_file
    assert found is sentitok.get_encoding("r50k_base")
    assert found.encode("<|endoftext|>", specials="all").ids.tolist() == [50256]
    assert found.vocab_size == 50257
    # tiktoken's other variable, and the folder of a machine where neither is set.
    monkeypatch.setattr(names, "_found", {})
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(nowhere))
    assert sentitok.get_encoding("r50k_base") == by_file


def test_gpt2_from_its_merges_or_its_ranks(nowhere: Path) -> None:
    folder = shared_data.folder() / "vocabs" / "gpt2"
    by_merges = sentitok.get_encoding("gpt2", folder / "vocab.bpe")
    assert by_merges == sentitok.get_encoding("gpt2", folder / "r50k_base.tiktoken")
    with pytest.raises(sentitok.FormatError, match="SHA-256"):
        sentitok.get_encoding("r50k_base", folder / "vocab.bpe")


def test_other_files_are_refused(nowhere: Path) -> None:
    other = nowhere / "cl100k_base.tiktoken"
    other.write_bytes(b"YQ== 0\n")
    for path in (other, nowhere, None):
        with pytest.raises(sentitok.FormatError, match="SHA-256"):
            sentitok.get_encoding("cl100k_base", path)
    with pytest.raises(ValueError, match="there are gpt2, r50k_base"):
        sentitok.get_encoding("cl100k")


def test_a_path_that_is_not_there(nowhere: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        sentitok.get_encoding("r50k_base", nowhere / "none" / "r50k_base.tiktoken")
    for told in (
        str(nowhere / "none"),
        "no such file or folder",
        "path=",
        "download=True",
        names._R50K.address,
    ):
        assert told in str(error.value)


@pytest.mark.parametrize("wrong", [None, 3, b"gpt2", ["gpt2"]])
def test_what_is_no_name(wrong: Any) -> None:
    for call, argument in ((sentitok.get_encoding, "name"), (sentitok.encoding_for_model, "model")):
        with pytest.raises(TypeError, match=rf"^{argument} is .*; it is a str, such as"):
            call(wrong)


@pytest.mark.parametrize("name", ["/no/such/file", "ranks.tiktoken", "folder/ranks"])
def test_a_path_in_the_place_of_a_name(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}.* there are gpt2.*get_encoding\('cl100k_base', path\)"):
        sentitok.get_encoding(name)
    with pytest.raises(ValueError, match=r"o200k_harmony \(did you mean cl100k_base\?\)$"):
        sentitok.get_encoding("cl100k")
    with pytest.raises(ValueError, match=r"o200k_harmony$"):
        sentitok.get_encoding("zzz")


def test_a_gap_where_the_special_token_is(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As p50k_base has: ranks continue behind the id of <|endoftext|>."""
    import tiktoken

    ranks = {bytes([byte]): byte for byte in range(256)} | {b"  ": 257, b"    ": 258}
    content = b"".join(b"%s %d\n" % (_base64(token), rank) for token, rank in ranks.items())
    file = names._Ranks("https://example.invalid/p50k_base.tiktoken", hashlib.sha256(content).hexdigest())
    named = names._Named((file,), "r50k", {"<|endoftext|>": 256})
    monkeypatch.setitem(names._NAMED, "p50k_base", named)
    (nowhere / file.cached_name).write_bytes(content)
    ours = sentitok.get_encoding("p50k_base")
    theirs = tiktoken.Encoding(
        "p50k_base", pat_str=openai_public.r50k_pat_str, mergeable_ranks=ranks,
        special_tokens=named.special_tokens,
    )  # fmt: skip
    text = "def f(x):\n        return x<|endoftext|>  y"
    assert ours.encode(text).ids.tolist() == theirs.encode_ordinary(text)
    assert ours.encode(text, specials="all").ids.tolist() == theirs.encode(text, allowed_special="all")
    assert ours.vocab_size == theirs.n_vocab == 259


def test_download_only_where_asked(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    content = b"".join(b"%s %d\n" % (_base64(bytes([byte])), byte) for byte in range(256))
    fsspec.filesystem("memory").pipe("/published/r50k_base.tiktoken", content)
    address = "memory://published/r50k_base.tiktoken"
    file = names._Ranks(address, hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(names._NAMED, "r50k_base", names._Named((file,), "r50k", {"<|endoftext|>": 50256}))
    with pytest.raises(FileNotFoundError, match="download=True"):
        sentitok.get_encoding("r50k_base")
    made = sentitok.get_encoding("r50k_base", download=True)
    assert (nowhere / file.cached_name).read_bytes() == content
    assert sentitok.get_encoding("r50k_base", nowhere) == made
    # Where no folder is named nothing is written.
    monkeypatch.setattr(names, "_found", {})
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(nowhere / "temporary"))
    assert sentitok.get_encoding("r50k_base", download=True) == made
    assert not (nowhere / "temporary").exists()
    # The downloaded file must be the published one.
    fsspec.filesystem("memory").pipe("/published/r50k_base.tiktoken", b"another")
    monkeypatch.setattr(names, "_found", {})
    with pytest.raises(sentitok.FormatError, match="SHA-256"):
        sentitok.get_encoding("r50k_base", download=True)


def test_import_stays_light() -> None:
    code = "import sys, sentitok; sentitok.get_encoding; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"fsspec", "tiktoken", "torch", "requests"} & set(run.stdout.split())
