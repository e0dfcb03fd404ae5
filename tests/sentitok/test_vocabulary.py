"""`Tokenizer.doctor` and `Tokenizer.prune`: useless tokens, and life without them."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_runs import run, run_json
from conftest import CORPUS
from oracles.merging import CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from oracles.model_file import bpe_model
from sentitok import DecodeError, FormatError, Tokenizer, TrainError, train_bpe

TEXT = CORPUS / "sherlock-holmes.txt"


@pytest.fixture(scope="module")
def trained() -> Tokenizer:
    return train_bpe(TEXT, vocab_size=1500, special_tokens=["<|end|>"])


def test_a_trained_tokenizer_is_healthy(trained: Tokenizer) -> None:
    found = trained.doctor()
    assert found["unreachable"] == found["split"] == found["gaps"] == []
    # At least the 128 bytes that are not characters.
    assert len(found["partial"]) >= 128
    for id in range(trained.vocab_size):
        data = trained.id_to_bytes(id)
        assert data is not None
        assert (id in found["partial"]) == ("�" in data.decode("utf-8", "replace"))


def test_what_no_text_becomes_is_found(trained: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    trained.save(path)
    file = json.loads(path.read_text("utf-8"))
    vocab, merges = file["model"]["vocab"], file["model"]["merges"]
    size = len(vocab)
    # No merge makes the first; the splitter cuts the second; one id is left out.
    vocab["zebra"] = size
    vocab["e,"] = size + 2
    merges.append(["e", ","])
    path.write_text(json.dumps(file), encoding="utf-8")
    found = Tokenizer.from_file(path).doctor()
    assert found["unreachable"] == [size]
    assert found["split"] == [size + 2]
    assert found["gaps"] == [size + 1]


def test_affixes_and_marks_of_spaces_split_no_token() -> None:
    """`cat</w>` is how the model spells the end of a word; a mark that no stage makes of a space is text."""
    texts = ["the cat sat on the mat"] * 5
    for suffix, prefix in (("</w>", None), (None, "##")):
        tokenizer = train_bpe(
            texts=texts, vocab_size=80, unit="chars", unk_token="<unk>", pre_tokenizer="whitespace",
            end_of_word_suffix=suffix, continuing_subword_prefix=prefix,
        )  # fmt: skip
        assert tokenizer.doctor()["split"] == []
    marked = {
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "▁b": 1, "a b": 2}},
    }
    tokenizer = Tokenizer.from_bytes(json.dumps(marked).encode())
    assert tokenizer.encode("▁b").tokens == ["▁b"]
    assert tokenizer.doctor()["split"] == [2]


@given(data=st.data())
def test_kept_texts_keep_their_tokens(data: st.DataObject, trained: Tokenizer) -> None:
    text = data.draw(st.sampled_from(TEXT.read_text("utf-8").splitlines()))
    ids = trained.encode(text).ids
    others = data.draw(st.lists(st.integers(0, trained.vocab_size - 1), max_size=200))
    pruned, new_ids = trained.prune([*ids.tolist(), *others])
    assert pruned.vocab_size == int((new_ids >= 0).sum()) < trained.vocab_size
    assert sorted(new_ids[new_ids >= 0].tolist()) == list(range(pruned.vocab_size))
    assert pruned.encode(text).ids.tolist() == new_ids[ids].tolist()
    for id in np.flatnonzero(new_ids >= 0).tolist():
        assert pruned.id_to_token(int(new_ids[id])) == trained.id_to_token(id)
    # Whatever the text, nothing is lost.
    assert pruned.decode(pruned.encode("naïve 日本 " + text).ids) == "naïve 日本 " + text


def test_what_cannot_go_stays(trained: Tokenizer) -> None:
    pruned, new_ids = trained.prune([])
    assert pruned.vocab_size == 257
    assert pruned.token_to_id("<|end|>") == new_ids[trained.token_to_id("<|end|>")]


def test_an_id_without_a_token_is_refused(trained: Tokenizer) -> None:
    with pytest.raises(DecodeError, match="1500"):
        trained.prune([1500])


def by_scores(*pieces: tuple[str, float, int]) -> Tokenizer:
    return Tokenizer.from_bytes(bpe_model([("<unk>", 0.0, UNKNOWN), *pieces]))


def of_kind(kind: int, **scores: float) -> list[tuple[str, float, int]]:
    return [(text, score, kind) for text, score in scores.items()]


def test_equal_scores() -> None:
    tokenizer = by_scores(*of_kind(NORMAL, a=-9, b=-9, ab=-1, aa=-3, aab=-3))
    assert tokenizer.encode("aab").ids.tolist() == [5]
    assert tokenizer.doctor()["unreachable"] == []
    pruned, new_ids = tokenizer.prune([5])
    assert new_ids.tolist() == [0, 1, 2, 3, -1, 4]
    assert pruned.encode("aab").ids.tolist() == [4]
    # `ab` and then `aab`, or, when `ab` is passed over, `aa` and then `aab`.
    drawn = tokenizer.with_dropout(0.5).encode_batch(["aab"] * 10_000)
    assert sum(row.ids.tolist() == [5] for row in drawn) == pytest.approx(3750, abs=300)


def test_pieces_of_the_users_are_reachable() -> None:
    tokenizer = by_scores(*of_kind(USER_DEFINED, a=0, b=0, bbb=0))
    assert tokenizer.encode("abbbb").ids.tolist() == [1, 3, 2]
    assert tokenizer.doctor()["unreachable"] == []
    # A user's piece inside keeps what holds it from being merged.
    tokenizer = by_scores(*of_kind(NORMAL, a=0, b=0, ab=-1, abb=-2), *of_kind(USER_DEFINED, bb=0))
    assert tokenizer.encode("abb").ids.tolist() == [1, 5]
    assert tokenizer.doctor()["unreachable"] == [4]


def test_characters_without_a_piece_merge() -> None:
    tokenizer = by_scores(*of_kind(NORMAL, ab=-1, abc=-2))
    assert tokenizer.encode("abcab").ids.tolist() == [2, 1]
    assert tokenizer.doctor()["unreachable"] == []
    pruned, new_ids = tokenizer.prune([2])
    assert new_ids.tolist() == [0, 1, 2]
    assert pruned.encode("abc").ids.tolist() == [2]


def test_unused_pieces_stay() -> None:
    pieces = of_kind(NORMAL, a=-1, b=1, c=-2.5, ac=-2), of_kind(UNUSED, ca=1, cb=-3)
    tokenizer = by_scores(*pieces[0], *pieces[1])
    assert tokenizer.encode("aca").ids.tolist() == [1, 3, 1]
    assert tokenizer.doctor()["unreachable"] == []
    pruned, new_ids = tokenizer.prune([1, 3, 4])
    assert new_ids[[5, 6]].min() > 0
    assert pruned.encode("aca").ids.tolist() == new_ids[[1, 3, 1]].tolist()


def test_pieces_that_shield_spaces_stay() -> None:
    pieces = [*of_kind(NORMAL, a=-1, b=-1.5), ("▁", -2.0, NORMAL), ("  ", 0.0, USER_DEFINED)]
    tokenizer = Tokenizer.from_bytes(bpe_model([("<unk>", 0.0, UNKNOWN), *pieces], normalizer=(1, 1, 1)))
    before = tokenizer.encode("a  b").ids.tolist()
    assert before == [3, 1, 3, 3, 2]
    pruned, new_ids = tokenizer.prune([1, 2, 3])
    assert pruned.encode("a  b").ids.tolist() == new_ids[before].tolist()


def test_a_mark_is_in_a_text_that_gets_no_space_in_front() -> None:
    pieces = [("<unk>", 0.0, UNKNOWN), *of_kind(NORMAL, a=-1), ("▁", -2.0, NORMAL)]
    tokenizer = Tokenizer.from_bytes(bpe_model(pieces, normalizer=(0, 1, 1)))
    assert tokenizer.encode("a a").ids.tolist() == [1, 2, 1]
    assert tokenizer.doctor()["split"] == []


def test_control_pieces_stay_what_they_are(tmp_path: Path) -> None:
    pieces = of_kind(NORMAL, a=-1, b=-1, c=-1), [("<s>", 0.0, CONTROL)], of_kind(USER_DEFINED, d=0)
    tokenizer = by_scores(*pieces[0], *pieces[1], *pieces[2])
    pruned, new_ids = tokenizer.prune([2])
    assert new_ids.tolist() == [0, -1, 1, -1, 2, -1]
    assert pruned.decode([1, 2, 1]) == tokenizer.decode([2, 4, 2]) == "bb"
    pruned.save(tmp_path / "pruned.model")
    again = Tokenizer.from_file(tmp_path / "pruned.model")
    assert again.to_bytes() == pruned.to_bytes()


def test_an_affix_that_begins_a_token() -> None:
    model = {"type": "BPE", "vocab": {"#": 0, "##": 1, "#a": 2}, "merges": []}
    file = {"version": "1.0", "added_tokens": [], "model": {**model, "continuing_subword_prefix": "#"}}
    tokenizer = Tokenizer.from_bytes(json.dumps(file).encode())
    assert tokenizer.encode("##a").ids.tolist() == [0, 1, 2]
    assert tokenizer.doctor()["unreachable"] == []


def test_long_affixes_are_refused() -> None:
    model = {"type": "BPE", "vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "x" * 257}
    file = {"version": "1.0", "added_tokens": [], "model": model}
    with pytest.raises(FormatError, match="257 bytes"):
        Tokenizer.from_bytes(json.dumps(file).encode())


def test_scores_that_no_list_follows_are_not_extended() -> None:
    tied = by_scores(*of_kind(NORMAL, a=-9, b=-9, ab=-1, ba=-1))
    with pytest.raises(TrainError, match="have one score"):
        train_bpe(texts=["aba"], vocab_size=300, extend=tied)
    apart = by_scores(*of_kind(NORMAL, a=-9, b=-9, ab=-1, ba=-2))
    assert train_bpe(texts=["aba"], vocab_size=300, extend=apart).encode("bab").ids.tolist() == [2, 3]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_dropout_that_a_format_cannot_say(tmp_path: Path) -> None:
    tokenizer = by_scores(*of_kind(NORMAL, a=-9, b=-9, ab=-1)).with_dropout(0.5)
    with pytest.warns(UserWarning, match="dropout falls otherwise"):
        tokenizer.save(tmp_path / "tokenizer.json")
    with pytest.warns(UserWarning, match="dropout is left out"):
        tokenizer.save(tmp_path / "saved.model")


@pytest.mark.parametrize(
    ("asked", "size", "reason"),
    [
        (["--vocab", "258"], 258, None),
        (["--vocab", "259"], 258,
         "the next most frequent token, abcd, takes 3 with the tokens it is merged from, and 1 would fit"),
        (["--vocab", "260"], 258,
         "the next most frequent token, abcd, takes 3 with the tokens it is merged from, and 2 would fit"),
        (["--vocab", "261"], 261, None),
        (["--vocab", "300"], 261, "the texts use 3 tokens; all other tokens that can be removed are"),
        (["--vocab", "300", "--min-count", "3"], 258,
         "the texts use 1 token 3 times or more; all other tokens that can be removed are"),
        ([], 261, None),
    ],
)  # fmt: skip
def test_prune_says_why_it_keeps_fewer(
    asked: list[str], size: int, reason: str | None, tmp_path: Path
) -> None:
    texts = ["abcd abcd abcd abcd abcd ab cd x xyz xyz"]
    tokenizer = train_bpe(texts=texts, vocab_size=261, pre_tokenizer="whitespace")
    assert [tokenizer.id_to_token(id) for id in range(256, 261)] == ["ab", "cd", "abcd", "xy", "xyz"]
    tokenizer.save(tmp_path / "tokenizer.json")
    (tmp_path / "texts.txt").write_text("xyz xyz xyz abcd abcd ab\n", encoding="utf-8")
    call = ["prune", "tokenizer.json", "texts.txt", "-o", "small.json", *asked]
    found = run_json(*call, cwd=tmp_path)
    assert (found["vocab_size"], found["reason"]) == (size, reason)
    assert Tokenizer.from_file(tmp_path / "small.json").n_tokens == size
    said = run(*call, cwd=tmp_path).out
    assert ("removed      nothing: " in said) == (size == 261)
    told = [line for line in said.splitlines() if line.startswith("fewer")]
    assert told == ([] if reason is None else [f"fewer        than the {asked[1]} asked for: {reason}"])


def test_a_piece_that_loses_to_a_special_token_is_reachable() -> None:
    """By default the text of a special token is text, and no piece."""
    vocab = [["<unk>", 0.0], ["a", -1.0], ["b", -1.0], ["ab", -3.0]]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [{"id": 1, "content": "a", "special": True, **flags}]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab}
    file = {"version": "1.0", "added_tokens": added, "model": model}
    tokenizer = Tokenizer.from_bytes(json.dumps(file).encode())
    assert tokenizer.encode("ab").ids.tolist() == [3]
    assert tokenizer.encode("ab", specials="all").ids.tolist() == [1, 2]
    assert tokenizer.doctor()["unreachable"] == []
