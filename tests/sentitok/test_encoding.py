"""`Encoding` and `EncodingBatch`: arrays, offsets, padding."""

import io
import pickle
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sentencepiece
import tokenizers
from numpy.typing import NDArray
from tokenizers import models, pre_tokenizers, processors

from sentitok import Encoding, Tokenizer, train_bpe

TEXT = "  A naïve  film\n\n — 10/10 日本語 😀 "


def test_arrays(tokenizer: Tokenizer) -> None:
    encoding = tokenizer.encode(TEXT)
    n = len(encoding)
    arrays: list[tuple[NDArray[Any], type[np.generic]]] = [
        (encoding.ids, np.uint32),
        (encoding.type_ids, np.int64),
        (encoding.special_tokens_mask, np.bool_),
    ]
    for values, dtype in arrays:
        assert values.dtype == dtype
        assert values.shape == (n,)
        assert not values.flags.writeable
    assert encoding.ids is encoding.ids
    assert encoding.type_ids is encoding.type_ids
    assert encoding.offsets().shape == (n, 2)
    assert encoding.offsets().dtype == np.int64
    assert len(encoding.tokens) == n
    assert encoding.tokens == [tokenizer.id_to_token(id) for id in encoding.ids.tolist()]
    assert repr(encoding).startswith(f"Encoding({n} ids: [")


def test_html_shows_tokens_and_no_markup_of_theirs(tokenizer: Tokenizer) -> None:
    text = "a <b>film</b>\n\u202e😀" + " x" * 3000
    encoding = tokenizer.encode(text)
    for shown in (encoding, pickle.loads(pickle.dumps(encoding))):
        html = shown._repr_html_()
        assert html.count("<span title=") == html.count("</span>") == 2000
        assert f"{len(encoding)} tokens" in html
        assert "<b>" not in html
        assert "\u202e" not in html


def test_html_of_a_tokenizer_names_what_it_is(tokenizer: Tokenizer) -> None:
    html = tokenizer._repr_html_()
    for part in ("BPE", "3000", "gpt2", tokenizer.fingerprint, "&#60;|endoftext|&#62;", 'title="2999"'):
        assert part in html, part
    assert html.count("<span title=") == html.count("</span>") == 2 + 32  # special tokens, the last ones
    plain = train_bpe(texts=["a film"], vocab_size=258)._repr_html_()
    assert "special tokens" not in plain
    # Tokens of a stranger are not markup.
    hostile = tokenizer.with_specials(["<script>x</script>"])._repr_html_()
    assert "<script" not in hostile
    assert "&#60;script&#62;x" in hostile
    # A long gap between ids costs no time.
    ranks = b"".join(b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
    gap = Tokenizer.from_tiktoken(ranks, "gpt2", {"<s>": 1_000_000})._repr_html_()
    assert gap.count('title="1000000"') == 2


def test_empty(tokenizer: Tokenizer) -> None:
    encoding = tokenizer.encode("")
    assert len(encoding) == 0
    assert encoding.tokens == []
    assert encoding.offsets("bytes").shape == (0, 2)
    batch = tokenizer.encode_batch([], offsets=True)
    assert len(batch) == 0
    assert batch.row_offsets.tolist() == [0]
    assert batch.offsets().shape == (0, 2)
    assert batch.pad()[0].shape == (0, 0)
    assert batch.to_list() == []


@pytest.mark.parametrize("text", [TEXT, "", "a\ud800b", "😀" * 50, "é\u0301" * 70])
def test_offsets_lead_to_the_text(text: str, tokenizer: Tokenizer) -> None:
    encoding = tokenizer.encode(text)
    clean = (
        text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if "\ud800" not in text else "a�b"
    )
    data = clean.encode()
    at = 0
    for id, (start, end), (first, last) in zip(
        encoding.ids.tolist(),
        encoding.offsets("bytes").tolist(),
        encoding.offsets("chars").tolist(),
        strict=True,
    ):
        assert start == at
        assert data[start:end] == tokenizer.id_to_bytes(id)
        # The characters that the bytes touch.
        assert first == len(data[:start].decode("utf-8", "ignore"))
        assert last == len(data.decode("utf-8")) - len(data[end:].decode("utf-8", "ignore"))
        at = end
    assert at == len(data)


def test_offsets_in_bytes_that_are_no_text(tokenizer: Tokenizer) -> None:
    data = b"a\xe2\x82 \xff\xffb\xf0\x9f"
    encoding = tokenizer.encode(data)
    assert tokenizer.decode_bytes(encoding.ids) == data
    text = data.decode("utf-8", "replace")
    covered = "".join(text[start:end] for start, end in np.unique(encoding.offsets(), axis=0))
    assert covered == text
    assert encoding.offsets("bytes").tolist() == [[i, i + 1] for i in range(len(data))] or len(
        encoding
    ) < len(data)


def test_trim_is_that_of_hugging_face(tokenizer: Tokenizer) -> None:
    reference = tokenizers.Tokenizer.from_str(tokenizer_json(tokenizer))
    reference.post_processor = processors.ByteLevel(trim_offsets=True, add_prefix_space=False)
    for text in [TEXT, "   ", " a", "a ", "\n \n", " a  b", "x\t y"]:
        expected = [list(span) for span in reference.encode(text).offsets]
        assert tokenizer.encode(text).offsets("chars", trim=True).tolist() == expected
        batch = tokenizer.encode_batch([text, text], offsets=True)
        assert batch.offsets(trim=True).tolist() == expected * 2


def tokenizer_json(tokenizer: Tokenizer) -> str:
    """The tokenizer as Hugging Face's file."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "tokenizer.json"
        tokenizer.save(path)
        return path.read_text("utf-8")


def test_char_offsets_are_those_of_hugging_face(tokenizer: Tokenizer) -> None:
    reference = tokenizers.Tokenizer.from_str(tokenizer_json(tokenizer))
    assert isinstance(reference.pre_tokenizer, pre_tokenizers.PreTokenizer)
    for text in [TEXT, "naïve 😀😀 日本", "e\u0301\u0302 x"]:
        expected = reference.encode(text)
        assert tokenizer.encode(text).ids.tolist() == expected.ids
        assert tokenizer.encode(text).offsets().tolist() == [list(span) for span in expected.offsets]


def test_batch(tokenizer: Tokenizer) -> None:
    texts = [TEXT, "", "film", "a b c"]
    batch = tokenizer.encode_batch(texts, offsets=True)
    assert len(batch) == 4
    assert batch.ids.dtype == np.uint32
    assert batch.row_offsets.dtype == np.int64
    assert batch.row_offsets[-1] == len(batch.ids)
    for row, text in enumerate(texts):
        view = batch[row].ids
        assert batch[row] == tokenizer.encode(text)
        assert view.size == 0 or np.shares_memory(view, batch.ids)
        assert batch[row - 4] == batch[row]
        assert batch[np.int64(row)] == batch[row]
    assert [row.ids.tolist() for row in batch] == batch.to_list()
    assert batch.ids is batch.ids
    assert repr(batch) == f"EncodingBatch(4 rows, {len(batch.ids)} ids)"


def pad_slowly(rows: list[list[int]], columns: int, pad_id: int, side: str) -> tuple[Any, Any]:
    ids = [
        [pad_id] * (columns - len(row)) * (side == "left")
        + row
        + [pad_id] * (columns - len(row)) * (side == "right")
        for row in rows
    ]
    mask = [
        [False] * (columns - len(row)) * (side == "left")
        + [True] * len(row)
        + [False] * (columns - len(row)) * (side == "right")
        for row in rows
    ]
    return ids, mask


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    ("length", "multiple_of"), [(None, None), (40, None), (None, 8), (37, 16), (None, 1)]
)
def test_padding_equals_its_definition(
    side: Any, length: int | None, multiple_of: int | None, tokenizer: Tokenizer
) -> None:
    batch = tokenizer.encode_batch([TEXT, "", "film"])
    rows = batch.to_list()
    columns = length or max(map(len, rows))
    if multiple_of:
        columns = -(-columns // multiple_of) * multiple_of
    ids, mask = batch.pad(length, 7, side, multiple_of)
    assert ids.shape == mask.shape == (3, columns)
    assert (ids.tolist(), mask.tolist()) == pad_slowly(rows, columns, 7, side)
    ids[0, 0] = 5  # writable: it is the caller's


def test_pad_token(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode_batch(["a", ""]).pad()[0].tolist()[1] == [1]
    plain = Tokenizer.from_bytes(tokenizer.with_specials([]).to_bytes())
    assert plain.encode_batch(["a", ""]).pad(pad_id=9)[0].tolist()[1] == [9]


def test_to_arrow_is_no_copy(tokenizer: Tokenizer) -> None:
    batch = tokenizer.encode_batch([TEXT, "", "film"])
    column = batch.to_arrow()
    assert column.type == pa.large_list(pa.uint32())
    assert column.to_pylist() == batch.to_list()
    assert column.values.buffers()[1].address == batch.ids.ctypes.data
    assert column.offsets.buffers()[1].address == batch.row_offsets.ctypes.data


def test_a_table_is_a_batch(tokenizer: Tokenizer) -> None:
    batch = tokenizer.encode_batch([(TEXT, "film"), ("", ""), "film"])
    table = batch.to_table(type_ids=True)
    types = {"input_ids": pa.int32(), "token_type_ids": pa.int8(), "attention_mask": pa.int8()}
    assert table.schema == pa.schema({name: pa.list_(kind) for name, kind in types.items()})
    assert table["input_ids"].to_pylist() == batch.to_list()
    assert table["attention_mask"].to_pylist() == [[1] * len(row) for row in batch]
    assert table["token_type_ids"].to_pylist() == [row.type_ids.tolist() for row in batch]
    beside = {"n": np.arange(3), "input_ids": ["a", "b", "c"]}
    for given in (beside, pa.table(beside)):
        assert batch[1:].to_table(pa.table(given)[1:])["n"].to_pylist() == [1, 2]
        assert batch.to_table(given).column_names == ["n", "input_ids", "attention_mask"]
    with pytest.raises(ValueError, match=r"beside has 3 rows in 'n', and this batch 2; .*source_rows"):
        batch[1:].to_table(beside)
    with pytest.raises(TypeError, match="beside is a list; it is a table, or a mapping of columns"):
        batch.to_table([1, 2, 3])


def test_arrays_outlive_what_made_them(tokenizer: Tokenizer) -> None:
    ids, views = tokenizer.encode(TEXT * 500).ids, list(tokenizer.encode_batch([TEXT * 500, "film"]))
    garbage: list[Encoding] = [tokenizer.encode("x" * 1000) for _ in range(50)]
    assert tokenizer.decode(ids) == TEXT * 500
    assert tokenizer.decode_batch(views) == [TEXT * 500, "film"]
    assert len(garbage) == 50


TRIMMED = [TEXT, "   ", " a", "a ", "\n \n", " a  b", "x\t y", "  film 10", "film"]


@pytest.mark.parametrize("put", [False, True])
@pytest.mark.parametrize("trims", [False, True])
@pytest.mark.parametrize("kind", ["ByteLevel", "Roberta", "Sequence"])
def test_offsets_are_trimmed_as_the_file_says(
    put: bool, trims: bool, kind: str, tokenizer: Tokenizer
) -> None:
    reference = tokenizers.Tokenizer.from_str(tokenizer_json(tokenizer))
    reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    level = processors.ByteLevel(trim_offsets=trims, add_prefix_space=put)
    frame = ("<pad>", 1), ("<|endoftext|>", 0)
    reference.post_processor = {
        "ByteLevel": level,
        "Roberta": processors.RobertaProcessing(*frame, trim_offsets=trims, add_prefix_space=put),
        "Sequence": processors.Sequence([processors.BertProcessing(*frame), level]),
    }[kind]
    ours = Tokenizer.from_bytes(reference.to_str().encode())
    again = Tokenizer.from_bytes(ours.to_bytes())
    for text in TRIMMED:
        expected = [list(span) for span in reference.encode(text).offsets]
        for each in (ours, again):
            encoding, batch = each.encode(text), each.encode_batch([text, text], offsets=True)
            for made in (encoding, pickle.loads(pickle.dumps(encoding))):
                assert made.offsets().tolist() == expected, text
            for many in (batch, pickle.loads(pickle.dumps(batch))):
                assert many.offsets().tolist() == expected * 2
            in_bytes = encoding.offsets("bytes").tolist()
            data = text.encode()
            for (first, last), (start, end) in zip(expected, in_bytes, strict=True):
                if not text[first:last].strip():
                    continue
                # A token may be a part of its characters.
                assert text[first:last].encode().find(data[start:end]) >= 0
        pair = [list(span) for span in reference.encode(text, " b").offsets]
        assert ours.encode(text, " b").offsets().tolist() == pair


def test_surfaces_are_those_of_the_references(declarations: Path) -> None:
    theirs = tokenizers.Tokenizer(models.Unigram([("<unk>", 0.0), ("▁", -1.0), ("a", -2.0)], unk_id=0))
    theirs.pre_tokenizer = pre_tokenizers.Metaspace()
    theirs.add_special_tokens([tokenizers.AddedToken("<M>", lstrip=True)])
    ours = Tokenizer.from_bytes(theirs.to_str().encode())
    for text in ("a bé <M>a", "日本a", "", "<M>"):
        expected = theirs.encode(text)
        encoding = ours.encode(text, specials="all")
        assert encoding.surfaces == expected.tokens
        assert pickle.loads(pickle.dumps(encoding)).surfaces == expected.tokens
        assert encoding.tokens == [theirs.id_to_token(id) for id in expected.ids]
        whole = len(expected.ids)
        for n in range(whole):
            assert ours.encode(text, specials="all", max_tokens=n).surfaces == expected.tokens[:n]
    for kind in ("bpe", "unigram"):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            input=str(declarations), model_writer=model, model_type=kind, vocab_size=1500,
            character_coverage=0.98, hard_vocab_limit=False, minloglevel=2,
        )  # fmt: skip
        reference = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        tokenizer = Tokenizer.from_bytes(model.getvalue())
        for text in ["ａ 日本語 🙂🙂 x", *declarations.read_text("utf-8").splitlines()[:200]]:
            encoding = tokenizer.encode(text)
            assert encoding.surfaces == reference.encode(text, out_type=str)
            assert encoding.tokens == [reference.id_to_piece(id) for id in encoding.ids.tolist()]


def test_an_encoding_is_iterated_as_its_ids(tokenizer: Tokenizer) -> None:
    batch = tokenizer.encode_batch([TEXT])
    for encoding in (tokenizer.encode(TEXT), batch[0], pickle.loads(pickle.dumps(batch[0]))):
        assert list(encoding) == encoding.tolist() == encoding.ids.tolist()
        assert all(type(id) is int for id in encoding)
        for name in ("shape", "dtype", "astype", "sum"):
            with pytest.raises(AttributeError, match=r"\.ids"):
                getattr(encoding, name)
    assert (batch.type_ids - 1).min() == (batch[0].type_ids - 1).min() == -1
