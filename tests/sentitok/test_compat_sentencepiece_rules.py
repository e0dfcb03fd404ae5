"""`SentencePieceNormalizer` and its compiled rules, against sentencepiece 0.2.3."""

import io
import pickle
from pathlib import Path
from typing import Any

import pytest
import sentencepiece as theirs
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import CORPUS
from sentitok import FormatError
from sentitok.compat import sentencepiece as ours
from sentitok.compat.sentencepiece import charsmap, protobuf

LETTERS = st.text("aåb\u0301é日本😀 ▁", min_size=1, max_size=4)
RULES = st.dictionaries(LETTERS, st.text("ab 日▁", max_size=3), min_size=1, max_size=30).map(
    lambda rules: {source: target for source, target in rules.items() if source != target} or {"a": "b"}
)


@given(
    RULES, st.lists(st.text("aåb\u0301é日本😀 ▁x")), st.tuples(*[st.sampled_from([None, True, False])] * 3)
)
@example(
    # Leaves that hold the value 0 are not free.
    dict.fromkeys(["é", "\u0301", "日", "😀", "a ", "åa", "▁a", "b▁▁", "baå▁", "b a▁"], ""),
    [],
    (None, None, None),
)
def test_any_rules(rules: dict[str, str], texts: list[str], flags: tuple[bool | None, ...]) -> None:
    names = ("add_dummy_prefix", "escape_whitespaces", "remove_extra_whitespaces")
    options: dict[str, Any] = dict(zip(names, flags, strict=True))
    pairs = list(rules.items())
    both = [library.SentencePieceNormalizer(norm_map=pairs, **options) for library in (ours, theirs)]
    # Each reads what the other has compiled.
    both.append(ours.SentencePieceNormalizer(normalizer_spec=both[1].serialized_normalizer_spec()))
    both.append(theirs.SentencePieceNormalizer(normalizer_spec=both[0].serialized_normalizer_spec()))
    both.append(pickle.loads(pickle.dumps(both[0])))
    both.append(theirs.SentencePieceNormalizer(model_proto=both[0].serialized_model_proto()))
    for text in [*texts, *rules, "".join(rules)]:
        found = [made.normalize(text) for made in both]
        assert found == [found[0]] * len(both)
    assert [made.Decompile() for made in both] == [both[1].Decompile()] * len(both)


def test_many_rules(tmp_path: Path) -> None:
    """Those of a published name, through a file of rules, keep their meaning."""
    named = theirs.SentencePieceNormalizer(rule_name="nfkc_cf").Decompile()[::37]
    file = tmp_path / "rules.tsv"
    lines = ("\t".join(" ".join(f"{ord(char):04X}" for char in part) for part in rule) for rule in named)
    file.write_text("\n".join(lines) + "\n", "utf-8")
    mine, other = (library.SentencePieceNormalizer(rule_tsv=str(file)) for library in (ours, theirs))
    assert mine.decompile() == other.Decompile() == named
    for text in ("".join(source for source, _ in named[at : at + 50]) for at in range(0, len(named), 50)):
        assert mine.normalize(text) == other.normalize(text)


@pytest.mark.parametrize("rule", ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"])
def test_rules_that_have_a_name(rule: str) -> None:
    mine, other = (library.SentencePieceNormalizer(rule_name=rule) for library in (ours, theirs))
    for text in ("ＡＢＣ  ﬁ㍻\u200b ß\u0130", " e\u0301 ﾊﾞ\x07\t", ""):
        assert mine.normalize(text, with_offsets=True) == other.normalize(text, with_offsets=True)
    if rule == "nfkc":
        assert mine.decompile() == other.Decompile()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({}, ValueError, "pass model_file, rule_name, norm_map|give one of"),
        ({"rule_name": "zzz"}, RuntimeError, "nmt_nfkc"),
        ({"model_file": "/no/such/file"}, RuntimeError, "/no/such/file.*No such file"),
        ({"rule_tsv": "/no/such/file"}, RuntimeError, "/no/such/file.*No such file"),
        ({"model_proto": b"zz"}, RuntimeError, "kind 2|is of kind|bytes"),
        ({"norm_map": []}, ValueError, "no rules are given"),
        ({"norm_map": [("a", "b"), ("a", "c")]}, ValueError, "'a' has two rules"),
        ({"norm_map": [("", "b")]}, ValueError, "is not empty"),
        ({"norm_map": [("a", "a")]}, ValueError, "changes nothing"),
        ({"norm_map": [(b"\xff", "a")]}, ValueError, "utf-8"),
        ({"norm_map": {"a": "b"}}, TypeError, r"list\(norm_map.items\(\)\)"),
        ({"norm_map": [("a",)]}, TypeError, "it is a pair of texts"),
        ({"norm_map": [("a", 3)]}, TypeError, "it is a pair of texts"),
    ],
)
def test_what_both_refuse(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind):
        theirs.SentencePieceNormalizer(**options)
    with pytest.raises(kind, match=f"(?s){message}"):
        ours.SentencePieceNormalizer(**options)


@pytest.mark.parametrize("line", ["zz\t41", "41\tzz", "110000\t41", "FFFFFFFFFFFF\t41"])
def test_wrong_lines_of_rules(line: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.tsv"
    file.write_text(f"41\t42\n{line}\n", "utf-8")
    with pytest.raises(RuntimeError, match=r"rules.tsv.*, line 2: .* is not a list of code points"):
        ours.SentencePieceNormalizer(rule_tsv=file)
    file.write_text("\n41\t42\n", "utf-8")
    with pytest.raises(ValueError, match="is not empty"):
        ours.SentencePieceNormalizer(rule_tsv=file)


def test_no_rules_to_list() -> None:
    with pytest.raises(RuntimeError, match="has no rules"):
        ours.SentencePieceNormalizer(rule_name="identity").decompile()


@given(st.binary(max_size=300))
def test_any_bytes_are_no_map_or_one(data: bytes) -> None:
    """Rules in a model are checked before they are listed; listing alone ends, too."""
    try:
        charsmap.rules(data)
    except FormatError:
        return


@given(st.binary(max_size=60))
def test_any_bytes_are_no_message_or_one(data: bytes) -> None:
    try:
        found = list(protobuf.fields(data))
    except FormatError:
        return
    assert all(number >= 0 for number, _ in found)


def test_training_by_rules(tmp_path: Path) -> None:
    """By a normalizer, or by a file: both libraries' models give the same ids."""
    file = tmp_path / "rules.tsv"
    file.write_text("0048 006F\t0058\n0065\t0045\n", "utf-8")
    lines = (CORPUS / "sherlock-holmes.txt").read_text("utf-8").split("\n")[:2000]
    models = []
    for library in (ours, theirs):
        rules = library.SentencePieceNormalizer(norm_map=[("Ho", "X"), ("e", "E")])
        for options in ({"normalizer": rules}, {"normalization_rule_tsv": str(file)}):
            writer = io.BytesIO()
            library.SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_writer=writer, vocab_size=400, model_type="bpe",
                minloglevel=2, **options,
            )  # fmt: skip
            models.append(theirs.SentencePieceProcessor(model_proto=writer.getvalue()))
    for text in ("Holmes opened the letter", *lines[:50]):
        found = [model.encode(text, out_type=str) for model in models]
        assert found == [found[0]] * 4
    with pytest.raises(TypeError, match="it is a SentencePieceNormalizer"):
        ours.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=writer, normalizer="nfkc")
    with pytest.raises(ValueError, match="add_dummy_prefix: the normalizer says that already"):
        ours.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=writer, add_dummy_prefix=True,
            normalizer=ours.SentencePieceNormalizer(rule_name="nfkc"),
        )  # fmt: skip


def test_lines_without_an_end(tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_text("a b c\n" + "x" * 500 + "\n", "utf-8")
    with pytest.raises(RuntimeError, match=r"long.txt, line 2: the line is longer than 100 .*max_line_bytes"):
        ours.SentencePieceTrainer.train(
            input=str(file), model_writer=io.BytesIO(), vocab_size=10, max_line_bytes=100
        )


def test_names_of_the_module() -> None:
    pool = ours.ThreadPool(3)
    assert pool.num_threads() == 3
    assert ours.ThreadPool(-1).num_threads() >= 1
    with pytest.raises(TypeError, match="num_threads='x' is not a whole number: it is 1 or more"):
        ours.ThreadPool("x")  # type: ignore[arg-type]  # 2026-11-24: refused
    with pytest.raises(TypeError, match="thread_pool is 3; it is a ThreadPool"):
        ours.SentencePieceProcessor().encode(["a"], thread_pool=3)  # type: ignore[arg-type]  # 2026-11-24: refused
    for name in ("SetNBestTimeout", "set_data_dir", "ConvertToFlatbuffer"):
        assert hasattr(theirs, name)
        with pytest.raises(AttributeError, match=f"has no attribute '{name}': "):
            getattr(ours, name)
    with pytest.raises(AttributeError, match="has no attribute 'music'"):
        ours.music  # noqa: B018  # 2026-11-24: refused
