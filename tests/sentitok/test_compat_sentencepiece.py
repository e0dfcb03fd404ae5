"""`sentitok.compat.sentencepiece` against sentencepiece 0.2.3: ids, pieces, places, texts, kinds of errors.

Over every model at hand, and small ones that both libraries train. Training is in
`test_compat_sentencepiece_training.py`, the compiled rules in `test_compat_sentencepiece_rules.py`, the cases
of SentencePiece's own suite in `test_compat_sentencepiece_cases.py`.
"""

import io
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
import sentencepiece as theirs
from hypothesis import given
from hypothesis import strategies as st

import shared_data
from sentencepiece_pairs import LINES, TEXTS, Pair, same, trained
from sentitok.compat import sentencepiece as ours

FILES = (
    "t5/spiece.model",
    "mistral-7b-v0.1/tokenizer.model",
    "xlnet-base-cased/spiece.model",
    "sentencepiece-botchan-1000/test_model.model",
)


@pytest.fixture(scope="module", params=FILES)
def both(request: pytest.FixtureRequest) -> Pair:
    file = str(shared_data.folder() / "vocabs" / request.param)
    return theirs.SentencePieceProcessor(model_file=file), ours.SentencePieceProcessor(model_file=file)


@pytest.mark.parametrize("text", TEXTS)
def test_encoding(both: Pair, text: str) -> None:
    for options in (
        {},
        {"out_type": str},
        {"out_type": bytes},
        {"out_type": str, "emit_unk_piece": True},
        {"add_bos": True},
        {"add_eos": True, "out_type": str},
        {"add_eos": True, "reverse": True},
    ):
        same(both, lambda each, options=options: each.encode(text, **options))
        same(both, lambda each, options=options: each.Encode([text, "x", text], **options))
    assert same(both, lambda each: each.encode_as_ids(text)) == both[1].EncodeAsIds(text)
    same(both, lambda each: each.EncodeAsPieces(text))
    same(both, lambda each: each.tokenize(text.encode()))
    same(both, lambda each: each.encode(text, return_type="numpy").tolist())
    same(both, lambda each: each.nbest_encode_as_pieces(text, 1))
    same(both, lambda each: each.NBestEncode([text], nbest_size=1, out_type=int))
    same(both, lambda each: each.normalize(text))
    same(both, lambda each: each.Normalize([text]))


@pytest.mark.parametrize("text", TEXTS)
def test_decoding(both: Pair, text: str) -> None:
    assert isinstance(same(both, lambda each: each.decode(each.encode(text))), str)
    same(both, lambda each: each.decode(each.encode(text), out_type=bytes))
    same(both, lambda each: each.Decode(each.encode([text, "a"])))
    same(both, lambda each: each.decode_pieces(each.encode(text, out_type=str)))
    same(both, lambda each: each.DecodeIds(each.encode(text, return_type="numpy")))


@pytest.mark.parametrize(
    "tokens",
    [
        ["▁zz", "<s>", "</s>", "<unk>", "日"],
        ["▁a", "▁b"],
        ["日", "▁a"],
        ["▁", "▁", "日", "▁b"],
        ["x", "<0xE6>", "日"],
        [b"a", b"b"],
        "▁a",
        5,
        [5, 6],
        [],
        [[]],
        [[5, 6], [7]],
        [[], ["a"]],
        None,
        "",
        ["a", 1],
        [5, 10**7],
        [5, -3],
    ],
    ids=repr,
)
def test_decoding_of_anything(both: Pair, tokens: Any) -> None:
    same(both, lambda each: each.decode(tokens))
    same(both, lambda each: each.Detokenize(tokens, out_type=bytes))


def test_the_vocabulary(both: Pair) -> None:
    for name in (
        "__len__",
        "vocab_size",
        "piece_size",
        "unk_id",
        "bos_id",
        "eos_id",
        "pad_id",
        "serialized_model_proto",
    ):
        same(both, lambda each, name=name: getattr(each, name)())
    ids = list(range(both[0].vocab_size()))
    for name in ("IdToPiece", "get_score", "is_unknown", "IsControl", "is_unused", "is_byte"):
        same(both, lambda each, name=name: getattr(each, name)(ids))
        for id in (3, -1, 10**7, "x", None, [1, 10**7]):
            same(both, lambda each, name=name, at=id: getattr(each, name)(at))
    for piece in ("▁the", "zz▁", ["a", "b"], b"a", 5, ["a", 3]):
        same(both, lambda each, piece=piece: each.piece_to_id(piece))
    assert both[1]["▁the"] == both[0]["▁the"]


def test_wrong_calls(both: Pair) -> None:
    for text in (5, None, [1], ("a", "b"), ["a", 3]):
        same(both, lambda each, text=text: each.encode(text))
    for options in (
        {"out_type": float},
        {"out_type": int, "return_type": int},
        {"num_threads": "x"},
        {"enable_sampling": True, "nbest_size": 1},
        {"enable_sampling": True, "nbest_size": 600},
    ):
        same(both, lambda each, options=options: each.encode("a", **options))
    empty = (theirs.SentencePieceProcessor(), ours.SentencePieceProcessor())
    for call in (
        lambda each: each.encode("a"),
        lambda each: each.load(),
        lambda each: each.load("/no/such/file"),
        lambda each: each.load("a", b"b"),
        lambda each: each.Load(model_proto=b"no model"),
        lambda each: each.load(__file__),
        lambda each: each.unk_id(),
        lambda each: each.get_piece_size(),
    ):
        same(empty, call)


@pytest.mark.parametrize("text", [*TEXTS, "x 日本 y", "\u3000a \u200b b ", "\x01", "ﾊﾞ\u1100\u1161 \ufb01"])
def test_places(both: Pair, text: str) -> None:
    for form in (text, text.encode()):
        same(both, lambda each, form=form: each.encode(form, return_type="serialized_proto"))
        same(both, lambda each, form=form: each.encode(form, return_type="offset_mapping"))
        same(both, lambda each, form=form: each.normalize(form, with_offsets=True))
        same(both, lambda each, form=form: each.normalize([form, form]))
    same(both, lambda each: each.encode([text, "a"], return_type="offset_mapping", return_bytes=True))
    same(both, lambda each: each.parallel_encode(text, chunk_len=100, return_type="serialized_proto"))
    for kind in (int, str, bytes):
        for row in (both[0].encode(text, return_type=kind), both[0].encode([text, "b"], return_type=kind)):
            same(both, lambda each, row=row: each.decode(row, return_type="serialized_proto"))
            same(both, lambda each, row=row: each.decode(row, return_type="offset_mapping"))


@pytest.mark.parametrize("text", ["I saw a girl with a telescope.", "x 日本 y", ""])
def test_places_of_the_best_ways(both: Pair, text: str) -> None:
    if same(both, lambda each: type(each.nbest_encode(text, nbest_size=3))) is RuntimeError:
        return  # BPE
    best, found = (each.nbest_encode_as_proto(text, 3).nbests[0] for each in both)
    assert found.score == pytest.approx(best.score, rel=1e-4)
    read = type(best).FromString(found.SerializeToString())
    read.score = best.score
    assert read == best


@pytest.mark.parametrize(
    "pieces", [["<0xE6>", "<0x97>", "<0xA5>", "▁a"], ["<0xE6>", "▁a", "<0x97>"], ["▁", "▁▁a", "</s>", "▁b"]]
)
def test_places_of_decoded_pieces(both: Pair, pieces: list[str]) -> None:
    """Bytes that are not a character, and spaces at the beginning."""
    same(both, lambda each: each.decode(pieces, return_type="serialized_proto"))
    same(both, lambda each: each.decode(pieces))


def test_places_that_are_not_there(both: Pair) -> None:
    for option in ("add_bos", "add_eos", "reverse", "emit_unk_piece"):
        for kind in ("proto", "serialized_proto", "offset_mapping"):
            same(
                both,
                lambda each, option=option, kind=kind: each.encode("a", return_type=kind, **{option: True}),
            )
    with pytest.raises(RuntimeError, match="reverse"):
        both[1].encode("a", return_type="proto", reverse=True)
    for call in (
        lambda each: each.encode("a", return_type="immutable_proto"),
        lambda each: each.nbest_encode("a", return_type="offset_mapping"),
        lambda each: each.parallel_encode("a"),
        lambda each: each.parallel_encode("a", chunk_len=0),
        lambda each: each.decode([5], num_threads="x"),
    ):
        same(both, call)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("EncodeAsImmutableProto", "return_type='proto'"),
        ("decode_ids_as_serialized_proto", "return_type='serialized_proto'"),
        ("calculate_entropy", r"entropy\(text, alpha\)"),
        ("SampleEncodeAndScoreAsIds", r"sample\(text, alpha, seed\)"),
        ("override_normalizer_spec", "SentencePieceNormalizer"),
        ("SetVocabulary", "prune"),
    ],
)
def test_calls_of_earlier_versions_name_what_is_here(both: Pair, name: str, remedy: str) -> None:
    assert not hasattr(both[0], name)
    with pytest.raises(AttributeError, match=f"{name}.*{remedy}"):
        getattr(both[1], name)
    with pytest.raises(AttributeError, match="encode_as_music"):
        both[1].encode_as_music  # noqa: B018  # 2026-11-24: refused


@given(
    text=st.text(
        st.sampled_from("ab \u3000㍻Ａ①\u0301e\u200b\x07▁.ﾊﾞ日😀\ufb01") | st.characters(codec="utf-8")
    )
)
def test_places_in_any_text(small: Pair, text: str) -> None:
    same(small, lambda each: each.encode(text, return_type="serialized_proto"))
    same(small, lambda each: each.normalize(text.encode(), with_offsets=True))


def test_options_of_the_class_and_pickles(both: Pair) -> None:
    proto = both[0].serialized_model_proto()
    options: dict[str, Any] = {"out_type": str, "add_eos": True, "reverse": True}
    made = (
        theirs.SentencePieceProcessor(model_proto=proto, **options),
        ours.SentencePieceProcessor(model_proto=proto, **options),
    )
    same(made, lambda each: each.encode("this is it"))
    same(made, lambda each: each.encode("this is it", out_type=int, reverse=False))
    assert pickle.loads(pickle.dumps(made[1])).encode("this is it") == made[0].encode("this is it")
    assert ours.SentencePieceProcessor.from_proto(proto).encode("a") == both[0].encode("a")


@given(text=st.text())
def test_any_text(small: Pair, text: str) -> None:
    for kind in (int, str):
        same(small, lambda each, kind=kind: each.encode(text, out_type=kind))
    same(small, lambda each: each.decode(each.encode(text, out_type=str)))


@pytest.fixture(scope="module")
def small() -> Pair:
    writer = io.BytesIO()
    theirs.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=writer, vocab_size=500, minloglevel=2
    )
    proto = writer.getvalue()
    return theirs.SentencePieceProcessor(model_proto=proto), ours.SentencePieceProcessor(model_proto=proto)


def test_samples(small: Pair) -> None:
    """Draws are our own; their distribution is the library's."""
    text, n = "the girl", 3000
    drawing: list[dict[str, Any]] = [{"nbest_size": -1, "alpha": 0.5}, {"nbest_size": 4, "alpha": 0.3}]
    for options in drawing:
        counts = []
        for each in small:
            drawn = (tuple(each.sample_encode_as_pieces(text, **options)) for _ in range(n))
            counts.append(Counter(drawn))
        for way in set(counts[0]) | set(counts[1]):
            assert abs(counts[0][way] - counts[1][way]) < 6 * np.sqrt(
                2 * max(counts[0][way], counts[1][way], 9)
            ), way
    found = []
    for _ in range(2):
        ours.set_random_generator_seed(7)
        found.append([small[1].encode(text, enable_sampling=True, alpha=0.3) for _ in range(9)])
    assert found[0] == found[1]
    assert len(set(map(tuple, found[0]))) > 1
    unknown = small[1].sample_encode_as_pieces("日本 x 日", nbest_size=-1, alpha=0.1)
    assert "".join(unknown) == "▁日本▁x▁日"


def test_n_best(small: Pair) -> None:
    for text in ("the girl", "telescope 日"):
        expected = small[0].nbest_encode_as_pieces(text, 5)
        assert sorted(small[1].NBestEncodeAsPieces(text, 5)) == sorted(expected)


def test_dropout() -> None:
    both = trained(model_type="bpe", vocab_size=500)
    same(both, lambda each: each.nbest_encode("a"))
    same(both, lambda each: each.encode("the girl", enable_sampling=True, alpha=0.0))
    same(both, lambda each: each.encode("the girl", enable_sampling=True, alpha=1.0, out_type=str))
