"""Random pipelines, and everything that can be done to a tokenizer.

Batches, limits, windows, alignment, `doctor`, `prune`, `with_specials`, `transplant` and every format, each
against the single call or what its documentation says.
"""

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import sentitok
from oracles import alignment_of_two
from oracles.random_pipelines import KINDS, loaded, pipeline, text
from sentitok import EncodeError, FormatError, Tokenizer
from sentitok.embeddings.tensor_files import TensorFile, write_tensors

# Pairs of models of each kind in an ordinary run, and in a long one.
FEW, MANY = 15, 5_000
TEXTS = 6
WIDTH = 2
# A token that no text and no model has. It begins as no added token goes on, so that none reaches into it.
NEW = "☃new"


def ids_of(tokenizer: Tokenizer, given: str, **options: Any) -> list[int] | None:
    """The ids, or `None` for a text without ids."""
    try:
        ids: list[int] = tokenizer.encode(given, **options).ids.tolist()
    except EncodeError:
        return None
    return ids


def check_calls(tokenizer: Tokenizer, texts: list[str], rng: random.Random) -> None:
    """A batch is its texts; a limit keeps a prefix; windows are slices."""
    for specials in ("none", "all"):
        batch = tokenizer.encode_batch(texts, threads=2, offsets=True, specials=specials)
        single = [tokenizer.encode(given, specials=specials) for given in texts]
        assert list(batch) == single, texts
        assert batch.type_ids.tolist() == [id for one in single for id in one.type_ids.tolist()]
        assert batch.offsets().tolist() == [span for one in single for span in one.offsets().tolist()]
        counts = tokenizer.count_batch(texts, threads=2, specials=specials).tolist()
        assert counts == [len(one) for one in single]
        assert counts == [tokenizer.count(given, specials=specials) for given in texts]
        assert tokenizer.decode_batch(batch) == [tokenizer.decode(one.ids) for one in single]
    for given in texts:
        encoding = tokenizer.encode(given, add_special_tokens=False)
        ids = encoding.ids.tolist()
        spans = encoding.offsets().tolist()
        assert all(0 <= start <= end <= len(given) for start, end in spans), given
        limit = rng.randrange(len(ids) + 2)
        cut = tokenizer.encode(given, add_special_tokens=False, max_tokens=limit)
        assert cut.ids.tolist() == ids[:limit], given
        assert tokenizer.fits(given, limit, add_special_tokens=False) == (len(ids) <= limit)
        size = rng.randint(1, 4)
        stride = rng.randrange(size)
        windows = tokenizer.windows(given, size, stride, add_special_tokens=False)
        starts = range(0, max(1, len(ids) - stride), size - stride)
        assert [one.ids.tolist() for one in windows] == [ids[at : at + size] for at in starts], given


def check_doctor(tokenizer: Tokenizer, texts: list[str]) -> None:
    """What `doctor` lists, no text is encoded as."""
    found = tokenizer.doctor()
    listed = {*found["unreachable"], *found["gaps"]}
    for given in texts:
        ids = tokenizer.encode(given, add_special_tokens=False).ids.tolist()
        assert listed.isdisjoint(ids), (given, ids, found)


def check_prune(tokenizer: Tokenizer, texts: list[str], rng: random.Random) -> Tokenizer | None:
    """Texts whose ids are all kept keep them; `None` where pruning is refused."""
    encoded = [tokenizer.encode(given).ids for given in texts]
    known = sorted(tokenizer.vocab().values())
    keep = set(rng.sample(known, rng.randint(0, min(len(known), 40)))) | set(rng.choice(encoded).tolist())
    try:
        pruned, new_ids = tokenizer.prune(sorted(keep))
    except FormatError:
        return None
    assert all(new_ids[id] >= 0 for id in keep)
    unknown = tokenizer.info()["unk_token"] if tokenizer.info()["model"] == "WordPiece" else None
    unknown_id = tokenizer.token_to_id(unknown) if unknown is not None else None
    for given, ids in zip(texts, encoded, strict=True):
        # A word that WordPiece does not know may become known when a longer token is removed.
        if (new_ids[ids] >= 0).all() and unknown_id not in ids:
            assert pruned.encode(given).ids.tolist() == new_ids[ids].tolist(), (given, keep)
    return pruned


def check_with_specials(tokenizer: Tokenizer, texts: list[str]) -> None:
    """A new special token gets the next id, and texts without it keep theirs."""
    more = tokenizer.with_specials([NEW])
    assert more.vocab() == {**tokenizer.vocab(), NEW: tokenizer.vocab_size}
    for given in texts:
        for specials in ("none", "all"):
            assert more.encode(given, specials=specials) == tokenizer.encode(given, specials=specials), given
        ids = more.encode(given + NEW, specials={NEW}, add_special_tokens=False).ids
        assert int(ids[-1]) == tokenizer.vocab_size, given
        assert more.decode(ids[-1:]) == NEW


def check_align(first: Tokenizer, second: Tokenizer, texts: list[str]) -> None:
    for given in texts:
        spans = [
            [(int(start), int(end)) for start, end in encoding.offsets(trim=False)]
            for encoding in (one.encode(given, add_special_tokens=False) for one in (first, second))
        ]
        found = [
            tuple(tuple(map(int, pair)) for pair in row)
            for row in zip(*sentitok.align(first, second, given), strict=True)
        ]
        assert found == alignment_of_two.align(*spans), (given, spans)


def table(path: Path) -> NDArray[Any]:
    file = TensorFile(path)
    return np.array(file.bits(file.tensors["wte.weight"]))


def check_transplant(tokenizer: Tokenizer, other: Tokenizer, pruned: Tokenizer | None, path: Path) -> None:
    """To itself, every row stays; to its pruned form, the kept ones; to another, every token gets a row."""
    rows = np.arange(tokenizer.vocab_size * WIDTH, dtype=np.float32).reshape(-1, WIDTH)
    model = path / "m.safetensors"
    write_tensors(model, [("wte.weight", "F32", rows.shape, lambda: [rows.tobytes()])], {}, lambda _: None)
    for new in (tokenizer, pruned, other):
        if new is None:
            continue
        try:
            done = sentitok.transplant(tokenizer, new, model, path / "out", replace=True)
        except FormatError:
            continue
        now = table(path / "out" / "m.safetensors").view(np.float32).reshape(-1, WIDTH)
        assert len(now) == new.vocab_size
        assert done.copied + done.composed + done.filled == new.n_tokens
        if new is not tokenizer:
            continue
        assert done.copied == tokenizer.n_tokens
        known = sorted(tokenizer.vocab().values())
        assert np.array_equal(now[known], rows[known])


def check_formats(tokenizer: Tokenizer, texts: list[str], path: Path) -> None:
    """Each format is refused, warns of what it leaves out, or gives the same ids again."""
    formats: dict[str, Callable[[Path], Tokenizer]] = {
        "t.json": Tokenizer.from_file,
        "t.sentitok": Tokenizer.from_file,
        "t.model": Tokenizer.from_file,
        "vocab.txt": lambda place: Tokenizer.from_bert_vocab(place, lowercase=True),
    }
    expected = [ids_of(tokenizer, given, add_special_tokens=False) for given in texts]
    for name, read in formats.items():
        with warnings.catch_warnings(record=True) as left_out:
            warnings.simplefilter("always", UserWarning)
            try:
                tokenizer.save(path / name)
            except FormatError:
                assert name != "t.sentitok"
                continue
        again = read(path / name)
        if not left_out:
            found = [ids_of(again, given, add_special_tokens=False) for given in texts]
            assert found == expected, (name, texts)


def check(kind: str, rng: random.Random, path: Path) -> bool:
    """Checks a pair of models; whether both could be loaded."""
    tokenizer, other = loaded(pipeline(kind, rng)), loaded(pipeline(rng.choice(KINDS), rng))
    texts = [text(rng) for _ in range(TEXTS)]
    if tokenizer is None or other is None:
        return False
    # A text that has no ids is an error in every call.
    texts = [
        given for given in texts if ids_of(tokenizer, given) is not None and ids_of(other, given) is not None
    ]
    if not texts:
        return False
    check_calls(tokenizer, texts, rng)
    check_doctor(tokenizer, texts)
    pruned = check_prune(tokenizer, texts, rng)
    check_with_specials(tokenizer, texts)
    check_align(tokenizer, other, texts)
    check_transplant(tokenizer, other, pruned, path)
    check_formats(tokenizer, texts, path)
    return True


def check_models(kind: str, numbers: range, path: Path) -> int:
    n_checked = 0
    for number in numbers:
        seed = f"operations {kind} {number}"
        try:
            n_checked += check(kind, random.Random(seed), path)
        except Exception as error:
            error.add_note(f"the pair of seed {seed!r}")
            raise
    return n_checked


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_random_operations(kind: str, tmp_path: Path) -> None:
    assert check_models(kind, range(FEW), tmp_path) > FEW // 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_operations(kind: str, tmp_path: Path) -> None:
    assert check_models(kind, range(FEW, MANY), tmp_path) > MANY // 3
