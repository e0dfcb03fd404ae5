"""Unigram models by chance, against SentencePiece, tokenizers and the specification.

Encoded, saved in every format and read again, pruned, looked through and sampled.
"""

import json
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import tokenizers

from oracles import unigram, unigram_models
from oracles.unigram_models import Model
from sentitok import FormatError, Tokenizer

#: How many models a run makes, and how many the thorough one.
MODELS = 50
MANY = 20_000


def ids_of(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    batch = tokenizer.encode_batch(texts)
    return [row.tolist() for row in np.split(batch.ids, batch.row_offsets[1:-1])]


def saved(tokenizer: Tokenizer, path: Path) -> bool:
    """Whether the format can say what the tokenizer does; what it leaves out is said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            tokenizer.save(path)
        except FormatError:
            return False
    return True


def check_doctor(tokenizer: Tokenizer, model: Model) -> None:
    """No text becomes a piece called unreachable; all clearly lost pieces are called so."""
    unreachable = set(tokenizer.doctor()["unreachable"])
    alphabet = model.alphabet.replace("▁", " ") + "z"
    short = unigram_models.strings(alphabet, 6 if len(alphabet) < 4 else 5)
    used = set(tokenizer.encode_batch(short).ids.tolist())
    assert not unreachable & used
    if not model.exact:
        return
    lost = set()
    for i, (piece, kind) in enumerate(zip(model.pieces, model.kinds, strict=True)):
        found_in_text = kind in ("normal", "user_defined") or (not model.single and kind == "byte")
        if found_in_text and unigram.encode(model, piece) != [i]:
            lost.add(i)
    assert unreachable == lost


def check_prune(tokenizer: Tokenizer, texts: list[str], ids: list[list[int]], rng: random.Random) -> None:
    kept = rng.sample(range(tokenizer.vocab_size), rng.randint(0, min(tokenizer.vocab_size, 12)))
    pruned, new_ids = tokenizer.prune(kept)
    for text, old in zip(texts, ids, strict=True):
        if all(new_ids[id] >= 0 for id in old):
            assert pruned.encode(text).ids.tolist() == new_ids[old].tolist(), (text, kept)


def check_ways(tokenizer: Tokenizer, model: Model, texts: list[str]) -> None:
    for text in texts[:4]:
        spelled = text.replace(" ", "▁")[:6]
        ways = unigram_models.ways(model, spelled)
        # With unknown characters there are further ways.
        if not ways or any(c not in model.usable() for c in spelled) or not spelled:
            continue
        found = [(tuple(ids.tolist()), score) for ids, score in tokenizer.n_best(spelled, 50)]
        assert found[0][0] == tuple(tokenizer.encode(spelled).ids.tolist())
        assert len(set(found)) == len(found) == min(50, len(ways))
        scores = [score for _, score in found]
        assert scores == pytest.approx(sorted(ways.values(), reverse=True)[: len(found)], abs=1e-4)
        for ids, score in found:
            assert score == pytest.approx(ways[ids], abs=1e-4)
        for seed in range(3):
            assert tuple(tokenizer.sample(spelled, 0.5, seed).tolist()) in ways


def check_model_file(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    model = unigram_models.model(rng, single=True)
    path = folder / "a.model"
    path.write_bytes(model.file())
    reference = sentencepiece.SentencePieceProcessor(model_proto=model.file())
    tokenizer = Tokenizer.from_file(path)
    texts = unigram_models.texts(rng, model)
    # What spells a byte is text: to tokenizers, which has no kinds, it is that byte, of which `save` warns.
    bytes_spelled = ["<0x41>a", "a <0x41><0xE4>", "<0x41>"]
    assert ids_of(tokenizer, bytes_spelled) == reference.encode(bytes_spelled), model
    spelled = [unigram.encode(model, text.replace(" ", "▁")) for text in bytes_spelled]
    assert ids_of(tokenizer, bytes_spelled) == spelled, model
    ids = ids_of(tokenizer, texts)
    assert ids == reference.encode(texts), (model, texts)
    assert ids == [unigram.encode(model, text.replace(" ", "▁")) for text in texts], (model, texts)
    assert Tokenizer.from_bytes(tokenizer.to_bytes()) == tokenizer
    assert saved(tokenizer, path)
    assert ids_of(Tokenizer.from_file(path), texts) == ids
    again = sentencepiece.SentencePieceProcessor(model_file=str(path))
    assert again.encode(texts + bytes_spelled) == [*ids, *spelled]
    json_path = folder / "a.json"
    # Where sums are rounded, ties fall otherwise in 64 bits, which is said.
    if saved(tokenizer, json_path) and model.exact:
        assert ids_of(Tokenizer.from_file(json_path), texts) == ids, (model, texts)
        file = tokenizers.Tokenizer.from_file(str(json_path))
        assert [file.encode(text).ids for text in texts] == ids, (model, texts)
    check_doctor(tokenizer, model)
    check_prune(tokenizer, texts, ids, rng)
    check_ways(tokenizer, model, texts)


def check_json_file(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    model = unigram_models.model(rng, single=False)
    path = folder / "a.json"
    vocab = list(zip(model.pieces, model.scores, strict=True))
    unknown = list(model.kinds).index("unknown")
    body = {"type": "Unigram", "unk_id": unknown, "vocab": vocab, "byte_fallback": model.byte_fallback}
    path.write_text(json.dumps({"version": "1.0", "model": body}), encoding="utf-8")
    reference = tokenizers.Tokenizer.from_file(str(path))
    tokenizer = Tokenizer.from_file(path)
    texts = [*unigram_models.texts(rng, model), "a<unk>b", "<s>", "<0x41>a"]
    ids = ids_of(tokenizer, texts)
    assert ids == [reference.encode(text).ids for text in texts], (model, texts)
    assert Tokenizer.from_bytes(tokenizer.to_bytes()) == tokenizer
    assert saved(tokenizer, path)
    assert ids_of(Tokenizer.from_file(path), texts) == ids
    check_doctor(tokenizer, model)
    check_prune(tokenizer, texts, ids, rng)


def test_pruning_is_refused_where_no_piece_is_normal(tmp_path: Path) -> None:
    """There an unknown character costs less than any piece: without `a` the text `ab` changes."""
    kinds = ["unknown", "user_defined", "user_defined", "user_defined"]
    model = Model(["<unk>", "a", "b", "ab"], [0.0, -1.0, -1.0, -1.0], kinds, single=True)
    path = tmp_path / "a.model"
    path.write_bytes(model.file())
    tokenizer = Tokenizer.from_file(path)
    with pytest.raises(FormatError, match="a smaller vocabulary: the model has no normal piece"):
        tokenizer.prune([3])
    pruned, _ = tokenizer.prune([0, 1, 2, 3])
    assert pruned.encode("ab").ids.tolist() == tokenizer.encode("ab").ids.tolist()


CHECKS = {"model": check_model_file, "tokenizer.json": check_json_file}


@pytest.mark.parametrize("kind", CHECKS)
def test_random_models(kind: str, tmp_path: Path) -> None:
    for seed in range(MODELS):
        CHECKS[kind](seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHECKS)
def test_many_random_models(kind: str, tmp_path: Path) -> None:
    for seed in range(MODELS, MANY):
        CHECKS[kind](seed, tmp_path)


def test_a_piece_that_is_not_used_stays_unused(tmp_path: Path) -> None:
    """tokenizer.json has no kinds: such a piece gets a score by which it never wins."""
    pieces, scores = ["<unk>", "b", "c", "bc"], [0.0, -1.0, -1.0, -0.5]
    model = Model(pieces, scores, ["unknown", "normal", "normal", "unused"])
    (tmp_path / "a.model").write_bytes(model.file())
    tokenizer = Tokenizer.from_file(tmp_path / "a.model")
    assert saved(tokenizer, tmp_path / "a.json")
    for text in ("bc", "bcbc", "cbzbc"):
        ids = tokenizer.encode(text).ids.tolist()
        assert tokenizers.Tokenizer.from_file(str(tmp_path / "a.json")).encode(text).ids == ids
        assert Tokenizer.from_file(tmp_path / "a.json").encode(text).ids.tolist() == ids


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        # Without other pieces that write its text, tokenizers would use it.
        ([("b", "normal"), ("c", "unused")], "not used"),
        ([("b", "normal"), ("bc", "unused")], "not used"),
        # Its score would be the least, and set what an unknown character costs.
        ([("b", "normal"), ("c", "normal"), ("bc", "unused"), ("bz", "normal")], "cost more"),
    ],
)
def test_what_would_be_used_there_is_refused(
    pieces: list[tuple[str, str]], message: str, tmp_path: Path
) -> None:
    texts, kinds = zip(("<unk>", "unknown"), *pieces, strict=True)
    model = Model(texts, [-1.0] * len(texts), kinds)
    (tmp_path / "a.model").write_bytes(model.file())
    with pytest.raises(FormatError, match=message):
        Tokenizer.from_file(tmp_path / "a.model").save(tmp_path / "a.json")


@pytest.mark.parametrize("single", [True, False])
def test_what_rounding_alone_makes_is_reachable(single: bool, tmp_path: Path) -> None:
    """After a long text sums are rounded so that a piece wins which else would lose."""
    pieces = ["<unk>", "a", "b", "c", "ab"]
    scores = [0.0, -1.0, -1.0, -1000.0, -2.001 if single else -2.0 - 2**-50]
    model = Model(pieces, scores, ["unknown", *["normal"] * 4], single=single)
    path = tmp_path / ("a.model" if single else "a.json")
    if single:
        path.write_bytes(model.file())
    else:
        body = {"type": "Unigram", "unk_id": 0, "vocab": list(zip(pieces, scores, strict=True))}
        path.write_text(json.dumps({"version": "1.0", "model": body}), encoding="utf-8")
    tokenizer = Tokenizer.from_file(path)
    assert tokenizer.encode("ab").ids.tolist() == [1, 2]
    assert 4 in tokenizer.encode("c" * 95 + "ab").ids
    assert tokenizer.doctor()["unreachable"] == []


def test_a_piece_that_clearly_loses_is_unreachable(tmp_path: Path) -> None:
    pieces = ["<unk>", "a", "b", "ab"]
    model = Model(pieces, [0.0, -1.0, -1.0, -2.1], ["unknown", *["normal"] * 3])
    (tmp_path / "a.model").write_bytes(model.file())
    assert Tokenizer.from_file(tmp_path / "a.model").doctor()["unreachable"] == [3]
