"""`from_datatrove`: files that datatrove wrote, files of other widths, and files that do not fit together."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sentitok import FormatError, Tokenizer, train_bpe
from sentitok import datatrove as module
from sentitok.datasets import TokenDataset, from_datatrove

WRITTEN = Path(__file__).resolve().parents[1] / "data" / "datatrove"
TEXTS = ["a b c", "d e fé 日本", "x" * 50, "the end"]
END = "<|endoftext|>"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_bpe(texts=["a b c d the end"], vocab_size=262, special_tokens=[END])


def write(path: Path, documents: Sequence[Sequence[int]], width: int = 2) -> Path:
    """Writes what datatrove would."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(np.array([id_ for one in documents for id_ in one], f"<u{width}").tobytes())
    ends = np.cumsum([len(one) for one in documents], dtype="<u8")
    path.with_name(f"{path.name}.index").write_bytes(ends.tobytes())
    path.with_name(f"{path.name}.metadata").write_text(f"some/name|{width}\n{ends[-1:].sum()}\n1 T")
    return path


def test_files_of_datatrove_are_read(tokenizer: Tokenizer, tmp_path: Path) -> None:
    manifest = from_datatrove(WRITTEN, tmp_path / "out", tokenizer)
    dataset = TokenDataset(tmp_path / "out")
    dataset.verify()
    end = tokenizer.token_to_id(END)
    assert [one.tolist() for one in dataset] == [[*tokenizer.encode(text).ids, end] for text in TEXTS]
    assert (manifest["separator"], manifest["documents"], manifest["dtype"]) == (end, 4, "uint16")
    assert dataset.tokenizer_sha256 == tokenizer.fingerprint
    with pytest.raises(FileExistsError, match="holds token shards already; give another directory"):
        from_datatrove(WRITTEN, tmp_path / "out", tokenizer)


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("at_once", [1, 3, 1 << 20])
def test_all_files_of_a_folder_in_order(
    width: int, at_once: int, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    documents = [[1, 2, 0], [3, 0], [4, 5, 6, 7, 0], [0], [8, 0]]
    write(tmp_path / "in" / "00001.ds", documents[3:], width)
    write(tmp_path / "in" / "00000.ds", documents[:3], width)
    write(tmp_path / "in" / "00002.ds", [], width)
    from_datatrove(tmp_path / "in", tmp_path / "out", tokenizer)
    dataset = TokenDataset(tmp_path / "out")
    dataset.verify()
    assert [one.tolist() for one in dataset] == documents
    assert dataset.manifest["separator"] == 0
    assert [shard["first_document"] for shard in dataset.manifest["shards"]] == [0, 3]
    # Named one by one, in another order.
    from_datatrove([tmp_path / "in" / f"0000{n}.ds" for n in (1, 0)], tmp_path / "two", tokenizer)
    assert [one.tolist() for one in TokenDataset(tmp_path / "two")] == documents[3:] + documents[:3]


# Other ends, an empty document, an end that is not a special token, no documents.
@pytest.mark.parametrize("documents", [[[1, 0], [1, 2]], [[1, 0], [], [2, 0]], [[1, 2], [3, 2]], [[]], []])
def test_documents_without_a_common_end_have_no_separator(
    documents: list[list[int]], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    from_datatrove(write(tmp_path / "a.ds", documents), tmp_path / "out", tokenizer)
    dataset = TokenDataset(tmp_path / "out")
    assert dataset.manifest["separator"] is None
    assert [one.tolist() for one in dataset] == documents


def damaged(path: Path, what: str) -> None:
    index = path.with_name(f"{path.name}.index")
    if what == "cut ids":
        path.write_bytes(path.read_bytes()[:-1])
    elif what == "cut index":
        index.write_bytes(index.read_bytes()[:-1])
    elif what == "order":
        index.write_bytes(np.array([4, 2, 5], "<u8").tobytes())
    elif what == "too far":
        index.write_bytes(np.array([2, 4, 2**63 + 5], "<u8").tobytes())
    elif what == "empty index":
        index.write_bytes(b"")
    elif what == "no index":
        index.unlink()
    elif what == "no ids":
        path.unlink()
    elif what == "large id":
        write(path, [[1, 0], [300, 0], [0]])


@pytest.mark.parametrize(
    ("what", "kind", "said"),
    [
        ("cut ids", FormatError, r"a\.ds: 9 bytes, where a\.ds\.index says 5 ids of two bytes or of four"),
        ("cut index", FormatError, r"a\.ds\.index: 23 bytes, expected 8 for each document"),
        ("order", FormatError, r"a\.ds\.index: a document ends before the one in front of it"),
        ("too far", FormatError, r"a\.ds: 10 bytes, where a\.ds\.index says 9223372036854775813 ids"),
        ("empty index", FormatError, r"a\.ds\.index: no documents, though a\.ds has 10 bytes"),
        ("no index", FileNotFoundError, r"datatrove writes it next to the ids .*a\.ds\.in"),
        ("no ids", FileNotFoundError, r"no such file: '.*a\.ds'"),
        ("large id", FormatError, r"a\.ds: id 300, where the tokenizer has ids below 262; give the tokenizer "
         r"that datatrove used, 'some/name' by its metadata"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(
    what: str, kind: type[Exception], said: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.ds", [[1, 0], [2, 0], [0]])
    damaged(path, what)
    with pytest.raises(kind, match=said):
        from_datatrove(path, tmp_path / "out", tokenizer)
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_folder_without_such_files_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no \.ds file in it; datatrove's DocumentTokenizer"):
        from_datatrove(tmp_path, tmp_path / "out", tokenizer)
    with pytest.raises(FileNotFoundError, match=r"no \.ds file was named"):
        from_datatrove([], tmp_path / "out", tokenizer)
