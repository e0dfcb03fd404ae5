"""Cases of `test_tokenizer.py`."""

import copy
from typing import Any

import numpy as np
import pytest

import shared_data

from . import Library, case, pickled

FILE = "bindings/test_tokenizer.py::TestTokenizer::"
NAMES = ["my", "name", "is", "john", "pair"]


def words(lib: Library, tokens: list[Any] = NAMES) -> Any:
    tokenizer = lib.Tokenizer(lib.models.BPE())
    tokenizer.add_tokens(list(tokens))
    return tokenizer


def bert_vocab() -> str:
    return str(shared_data.folder() / "vocabs" / "bert-base-uncased" / "vocab.txt")


def gpt2(lib: Library) -> Any:
    folder = shared_data.folder() / "vocabs" / "gpt2"
    tokenizer = lib.Tokenizer(lib.models.BPE(str(folder / "encoder.json"), str(folder / "vocab.bpe")))
    tokenizer.pre_tokenizer = lib.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = lib.decoders.ByteLevel()
    return tokenizer


@case(FILE + "test_has_expected_type_and_methods")
def _(lib: Library) -> None:
    tokenizer = lib.Tokenizer(lib.models.BPE())
    for name in (
        "num_special_tokens_to_add", "get_vocab", "get_vocab_size", "enable_truncation", "no_truncation",
        "enable_padding", "no_padding", "encode", "encode_batch", "async_encode_batch", "decode",
        "decode_batch", "async_decode_batch", "token_to_id", "id_to_token", "add_tokens",
        "add_special_tokens", "train", "post_process",
    ):  # fmt: skip
        assert callable(getattr(tokenizer, name))
    assert isinstance(tokenizer.model, lib.models.Model)
    assert not any(
        getattr(tokenizer, name) for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder")
    )
    assert isinstance(pickled(tokenizer), lib.Tokenizer)


@case(FILE + "test_add_tokens")
def _(lib: Library) -> None:
    tokenizer = lib.Tokenizer(lib.models.BPE())
    assert tokenizer.add_tokens(["my", "name", "is", "john"]) == 4
    tokens = [lib.AddedToken("the"), lib.AddedToken("quick", normalized=False), lib.AddedToken()]
    assert tokens[0].normalized is True
    assert tokenizer.add_tokens(tokens) == 2
    assert [token.normalized for token in tokens[:2]] == [True, False]


@case(FILE + "test_add_tokens_with_normalizer")
def _(lib: Library) -> None:
    tokenizer = lib.Tokenizer(lib.models.BPE())
    tokenizer.normalizer, tokenizer.decoder = lib.normalizers.ByteLevel(), lib.decoders.ByteLevel()
    contents = ["Začnimo", "kuća", "međa"]
    tokens = [lib.AddedToken(contents[0], normalized=False, special=True)]
    tokens += [lib.AddedToken(content) for content in contents[1:]]
    tokenizer.add_tokens(tokens)
    found = tokenizer.encode("Začnimokuća međa")
    assert tokenizer.decode(found.ids, False) == "Za\rnimokućameđa"
    known = tokenizer.get_added_tokens_decoder()
    assert [known[id].content for id in found.ids[:3]] == contents


@case(FILE + "test_normalizer_change_refreshes_added_tokens")
def _(lib: Library) -> None:
    tokenizer = lib.Tokenizer(lib.models.BPE())
    tokenizer.decoder = lib.decoders.ByteLevel()
    tokenizer.add_tokens([lib.AddedToken("kuća"), lib.AddedToken("međa")])
    tokenizer.normalizer = lib.normalizers.ByteLevel()
    assert tokenizer.decode(tokenizer.encode("kuća međa").ids, False) == "kućameđa"
    tokenizer.normalizer = None
    assert tokenizer.decode(tokenizer.encode("kuća međa").ids, False) == "ku\x07ame\x11a"


@case(FILE + "test_add_special_tokens")
def _(lib: Library) -> None:
    tokenizer = lib.Tokenizer(lib.models.BPE())
    assert tokenizer.add_special_tokens(["my", "name", "is", "john"]) == 4
    tokens = [lib.AddedToken("the"), lib.AddedToken("quick", normalized=True), lib.AddedToken()]
    assert tokens[0].normalized is True
    assert tokenizer.add_special_tokens(tokens) == 2
    assert [token.normalized for token in tokens[:2]] == [False, True]


@case(FILE + "test_encode")
def _(lib: Library) -> None:
    tokenizer = words(lib)
    found = tokenizer.encode("my name is john")
    assert found.tokens == NAMES[:4]
    for name in (
        "ids", "type_ids", "offsets", "word_ids", "special_tokens_mask", "attention_mask", "overflowing",
    ):  # fmt: skip
        assert type(getattr(found, name)) is list
    with pytest.warns(DeprecationWarning, match="word_ids"):
        assert type(found.words) is list
    pair = tokenizer.encode("my name is john", "pair")
    assert pair.tokens == NAMES
    assert isinstance(pickled(pair), lib.Encoding)
    assert tokenizer.encode(NAMES[:4], is_pretokenized=True).tokens == NAMES[:4]
    assert len(tokenizer.encode_batch(["my name is john", ("my name is john", "pair")])) == 2


ONE, TWO = "My name is John", "My name is Georges"
SPLIT = (ONE.split(), TWO.split())


@case(FILE + "test_encode_formats")
def _(lib: Library) -> None:
    tokenizer = lib.BertWordPieceTokenizer(bert_vocab())
    name = ["[CLS]", "my", "name", "is", "john", "[SEP]"]
    assert tokenizer.encode("my name is john").tokens == name
    assert tokenizer.encode("my name is john", "pair").tokens == [*name, "pair", "[SEP]"]
    split = ["my", "name", "is", "john"]
    assert tokenizer.encode(split, is_pretokenized=True).tokens == name
    assert tokenizer.encode(split, ["pair"], is_pretokenized=True).tokens == [*name, "pair", "[SEP]"]

    single = [["[CLS]", "my", "name", "is", who, "[SEP]"] for who in ("john", "georges")]
    pairs = [[*one, "pair", "[SEP]"] for one in single]
    rows: list[tuple[Any, bool, list[list[str]]]] = [
        ([ONE, TWO], False, single),
        ((ONE, TWO), False, single),
        (np.array([ONE, TWO]), False, single),
        ([(ONE, "pair"), (TWO, "pair")], False, pairs),
        ([[ONE, "pair"], [TWO, "pair"]], False, pairs),
        (((ONE, "pair"), (TWO, "pair")), False, pairs),
        (np.array([(ONE, "pair"), (TWO, "pair")]), False, pairs),
        ([*SPLIT], True, single),
        (tuple(map(tuple, SPLIT)), True, single),
        (np.array(SPLIT), True, single),
        ([(SPLIT[0], ["pair"]), (SPLIT[1], ["pair"])], True, pairs),
        ([[SPLIT[0], ["pair"]], [SPLIT[1], ["pair"]]], True, pairs),
        (((tuple(SPLIT[0]), ("pair",)), (tuple(SPLIT[1]), ("pair",))), True, pairs),
        (((SPLIT[0], ["pair"]), (SPLIT[1], ["pair"])), True, pairs),
        (np.array([[SPLIT[0], ["pair"]], [SPLIT[1], ["pair"]]], dtype=object), True, pairs),
        (np.array(((tuple(SPLIT[0]), ("pair",)), (tuple(SPLIT[1]), ("pair",))), dtype=object), True, pairs),
    ]
    for number, (given, is_split, tokens) in enumerate(rows):
        found = tokenizer.encode_batch(given, is_pretokenized=is_split)
        assert [encoding.tokens for encoding in found] == tokens, number

    no_texts: list[tuple[Any, ...]] = [([["my", "name"]],), (ONE, [["pair"]]), (ONE, ["pair"])]
    for arguments in no_texts:
        with pytest.raises(TypeError, match="TextInputSequence must be str"):
            tokenizer.encode(*arguments)
    no_words: list[tuple[Any, ...]] = [(ONE,), (ONE, ["pair"]), (SPLIT[0], "pair")]
    for arguments in no_words:
        with pytest.raises(TypeError, match=r"InputSequence must be Union\[List\[str\]"):
            tokenizer.encode(*arguments, is_pretokenized=True)


@case(FILE + "test_encode_add_special_tokens")
def _(lib: Library) -> None:
    """With GPT-2's vocabulary, which RoBERTa's has too, in other places."""
    tokenizer = gpt2(lib)
    tokenizer.add_special_tokens(["<s>", "</s>"])
    tokenizer.pre_tokenizer = lib.pre_tokenizers.ByteLevel(add_prefix_space=True)
    ends = [(name, tokenizer.token_to_id(name)) for name in ("</s>", "<s>")]
    tokenizer.post_processor = lib.processors.RobertaProcessing(*ends)
    tokens = ["ĠMy", "Ġname", "Ġis", "ĠJohn"]
    assert tokenizer.encode(ONE, add_special_tokens=True).tokens == ["<s>", *tokens, "</s>"]
    assert tokenizer.encode(ONE, add_special_tokens=False).tokens == tokens


@case(FILE + "test_truncation")
def _(lib: Library) -> None:
    tokenizer = words(lib)
    tokenizer.enable_truncation(2)
    assert tokenizer.encode("my name is john").tokens == ["my", "name"]
    assert tokenizer.encode("my name is john", "pair").tokens == ["my", "pair"]
    tokenizer.enable_truncation(**tokenizer.truncation)
    tokenizer.enable_truncation(2, direction="left")
    assert tokenizer.encode("my name is john").tokens == ["is", "john"]
    assert tokenizer.encode("my name is john", "pair").tokens == ["john", "pair"]


@case(FILE + "test_padding")
def _(lib: Library) -> None:
    tokenizer = words(lib)
    tokenizer.enable_padding()
    assert tokenizer.encode("my name").tokens == ["my", "name"]
    assert [len(found) for found in tokenizer.encode_batch(["my name", "my name is john"])] == [4, 4]
    tokenizer.enable_padding(length=4)
    assert tokenizer.encode("my name").tokens == ["my", "name", "[PAD]", "[PAD]"]
    assert tokenizer.encode("my name", "pair").tokens == ["my", "name", "pair", "[PAD]"]
    tokenizer.enable_padding(**tokenizer.padding)


@case(FILE + "test_decode")
def _(lib: Library) -> None:
    tokenizer, stream_of = words(lib), lib.decoders.DecodeStream
    assert tokenizer.decode([0, 1, 2, 3]) == "my name is john"
    assert tokenizer.decode_batch([[0, 1, 2, 3], [4]]) == ["my name is john", "pair"]
    stream = stream_of(skip_special_tokens=False)
    assert [stream.step(tokenizer, id) for id in range(4)] == ["my", " name", " is", " john"]
    assert stream_of(ids=[0, 1, 2]).step(tokenizer, 3) == " john"


@case(FILE + "test_decode_stream_copy_and_prefix_ids")
def _(lib: Library) -> None:
    tokenizer, stream_of = words(lib), lib.decoders.DecodeStream
    stream = stream_of(skip_special_tokens=False)
    assert [stream.step(tokenizer, id) for id in (0, 1)] == ["my", " name"]
    other = copy.copy(stream)
    for id, text in ((2, " is"), (3, " john")):
        assert stream.step(tokenizer, id) == text
        assert other.step(tokenizer, id) == text
    assert stream_of([0, 1, 2]).step(tokenizer, 3) == " john"


@case(FILE + "test_decode_stream_fallback")
def _(lib: Library) -> None:
    tokenizer, stream_of = gpt2(lib), lib.decoders.DecodeStream
    assert tokenizer.encode("อั").ids == [19567, 255, 19567, 109]
    for parts, texts in (
        ([[19567], [255], [19567], [109]], [None, "อ", None, "ั"]),
        ([[19567, 255, 19567, 109]], ["อั"]),
        ([[19567], [255, 19567, 109]], [None, "อั"]),
        ([[19567], [255], [19567, 109]], [None, "อ", "ั"]),
    ):
        stream = stream_of()
        assert [stream.step(tokenizer, ids) for ids in parts] == texts
    assert stream_of([19567, 255, 19567]).step(tokenizer, [109]) == "อั"


@case(FILE + "test_decode_skip_special_tokens")
def _(lib: Library) -> None:
    """With GPT-2's vocabulary instead of Llama-3.1's: ids before the stream, special ones among them."""
    tokenizer, stream_of = gpt2(lib), lib.decoders.DecodeStream
    tokenizer.add_special_tokens(["<|end|>", "<|start|>"])
    end, start = tokenizer.token_to_id("<|end|>"), tokenizer.token_to_id("<|start|>")
    i, am = tokenizer.encode("I").ids[0], tokenizer.encode("'m").ids[0]
    assert stream_of([i]).step(tokenizer, [am, i, i, i]) == "'mIII"
    assert stream_of([i]).step(tokenizer, am) == "'m"
    before = [start, *tokenizer.encode("Cutting Knowledge Date: 26 Jul 2024\n\n").ids, end, start]
    assert stream_of(before, skip_special_tokens=True).step(tokenizer, i) == "I"
    assert stream_of(before).step(tokenizer, i) == "I"


@case(FILE + "test_decode_stream")
def _(lib: Library) -> None:
    vocab = [("<unk>", 0.0), ("<0x20>", -0.1), ("<0xC3>", -0.2), ("<0xA9>", -0.3)]
    tokenizer = lib.Tokenizer(lib.models.Unigram(vocab, 0, byte_fallback=True))
    tokenizer.decoder = lib.decoders.ByteFallback()
    stream = lib.decoders.DecodeStream(skip_special_tokens=False)
    assert [stream.step(tokenizer, id) for id in (1, 2, 3)] == [" ", None, "é"]
    tokenizer = lib.Tokenizer(lib.models.Unigram([("<unk>", 0.0), ("▁This", -0.1)], 0, byte_fallback=False))
    tokenizer.decoder = lib.decoders.Metaspace()
    stream = lib.decoders.DecodeStream(skip_special_tokens=False)
    assert [stream.step(tokenizer, 1) for _ in range(2)] == ["This", " This"]


@case(FILE + "test_get_vocab")
def _(lib: Library) -> None:
    tokenizer = words(lib)
    ids = {name: id for id, name in enumerate(NAMES)}
    assert tokenizer.get_vocab(with_added_tokens=True) == ids
    assert tokenizer.get_vocab(with_added_tokens=False) == {}
    known = tokenizer.get_added_tokens_decoder()
    assert known == {id: lib.AddedToken(name, normalized=True, special=False) for name, id in ids.items()}


@case(FILE + "test_get_vocab_size")
def _(lib: Library) -> None:
    tokenizer = words(lib)
    assert tokenizer.get_vocab_size(with_added_tokens=True) == 5
    assert tokenizer.get_vocab_size(with_added_tokens=False) == 0


@case(FILE + "test_post_process")
def _(lib: Library) -> None:
    tokenizer = words(lib)
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=4)
    one, pair = tokenizer.encode("my name is john"), tokenizer.encode("pair")
    assert tokenizer.post_process(one).tokens == ["my", "name", "[PAD]", "[PAD]"]
    assert tokenizer.post_process(one, pair).tokens == ["my", "pair", "[PAD]", "[PAD]"]


@case(FILE + "test_unigram_byte_fallback")
def _(lib: Library) -> None:
    pieces = ["<unk>", "A", "sen", "te", "n", "ce", "<0xF0>", "<0x9F>", "<0xA4>", "<0x97>", " "]
    scores = [0.0, -0.03, -0.02, -0.03, -0.04, -0.05, -0.06, -0.06, -0.06, -0.06, -0.4]
    vocab = list(zip(pieces, scores, strict=True))
    begin = ["A", " ", "sen", "te", "n", "ce", " "]
    for fallback, ids, tokens in ((False, [0], ["🤗"]), (True, [6, 7, 8, 9], pieces[6:10])):
        tokenizer = lib.Tokenizer(lib.models.Unigram(vocab, 0, byte_fallback=fallback))
        found = tokenizer.encode("A sentence 🤗")
        assert found.ids == [1, 10, 2, 3, 4, 5, 10, *ids]
        assert found.tokens == [*begin, *tokens]


@case(FILE + "test_encode_special_tokens")
def _(lib: Library) -> None:
    """With BERT's vocabulary instead of T5's."""
    tokenizer = lib.BertWordPieceTokenizer(bert_vocab())._tokenizer
    tokenizer.add_tokens(["<eot>"])
    tokenizer.add_special_tokens(["<end_of_text>"])
    text = "Hey there<end_of_text> dear<eot>friend!"
    ends = ["dear", "<eot>", "friend", "!"]
    found = tokenizer.encode(text, add_special_tokens=False)
    assert found.tokens == ["hey", "there", "<end_of_text>", *ends]
    tokenizer.encode_special_tokens = True
    assert tokenizer.encode_special_tokens is True
    found = tokenizer.encode(text, add_special_tokens=False)
    assert found.tokens == ["hey", "there", "<", "end", "_", "of", "_", "text", ">", *ends]
    tokenizer.add_tokens(["of_text>"])
    found = tokenizer.encode(text, add_special_tokens=False)
    assert found.tokens == ["hey", "there", "<", "end", "_", "of_text>", *ends]


@case(FILE + "test_splitting")
def _(lib: Library) -> None:
    """With a small vocabulary instead of Llama's."""
    chars = ["<unk>", "<s>", "▁", *"informHey."]
    vocab = {token: id for id, token in enumerate([*dict.fromkeys(chars), "▁▁", "▁."])}
    model = lib.models.BPE(vocab, [("▁", "▁"), ("▁", ".")], unk_token="<unk>", fuse_unk=True)
    tokenizer = lib.Tokenizer(model)
    tokenizer.pre_tokenizer = lib.pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.pre_tokenizer.split = False
    tokenizer.add_tokens([lib.AddedToken("<REPR_END>", rstrip=True, lstrip=True)])
    inform, hey = [*"inform"], ["▁", *"Hey", "."]
    text = "inform<s>. Hey.    ."
    found = tokenizer.encode("<REPR_END>" + text, add_special_tokens=False).tokens
    assert found == ["<REPR_END>", *inform, "<s>", ".", *hey, "▁▁", "▁▁", "."]
    assert tokenizer.encode(text).tokens == ["▁", *inform, "<s>", ".", *hey, "▁▁", "▁▁", "."]


@case(FILE + "test_decode_special")
def _(lib: Library) -> None:
    tokens = [lib.AddedToken("my", special=True), lib.AddedToken("name", special=False), *NAMES[2:]]
    tokenizer = words(lib, tokens)
    assert tokenizer.decode([0, 1, 2, 3], skip_special_tokens=False) == "my name is john"
    assert tokenizer.decode([0, 1, 2, 3], skip_special_tokens=True) == "name is john"
    assert tokenizer.get_added_tokens_decoder()[0] == lib.AddedToken("my", special=True)


@case(FILE + "test_setting_to_none")
def _(lib: Library) -> None:
    tokenizer = lib.Tokenizer(lib.models.BPE())
    tokenizer.normalizer, tokenizer.pre_tokenizer = lib.normalizers.Strip(), lib.pre_tokenizers.Metaspace()
    tokenizer.normalizer = tokenizer.pre_tokenizer = None
    assert tokenizer.normalizer is None
    assert tokenizer.pre_tokenizer is None


@case(FILE + "test_from_pretrained", FILE + "test_from_pretrained_revision")
def _(lib: Library) -> None:
    """From a folder, where the suite asks a server; the real library reads its file."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        words(lib).save(str(Path(folder) / "tokenizer.json"))
        if lib.__name__ == "tokenizers":
            tokenizer = lib.Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        else:
            tokenizer = lib.Tokenizer.from_pretrained(folder)
        assert tokenizer.encode("my name", add_special_tokens=False).tokens == ["my", "name"]
