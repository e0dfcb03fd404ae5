"""`accelerate` over random tokenizers: every kind of model, stage and added token, every option of a call.

Each call is compared with the untouched object: fields, encodings, errors, and the text of ids.
"""

import json
import pickle
import random
from functools import partial
from typing import Any

import pytest
import tokenizers

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("torch", reason="torch is not installed")

import sentitok  # noqa: E402  # 2026-11-29: skipped where transformers is missing
from oracles.accelerated import asked, outcome, runs, same, some_options  # noqa: E402  # 2026-11-29: the same
from oracles.random_pipelines import KINDS, Pipeline, pipeline, text  # noqa: E402  # 2026-11-29: the same

# 2026-11-29: those of transformers, of what its calls ignore.
pytestmark = pytest.mark.filterwarnings("ignore")

#: Tokenizers of each kind in an ordinary run, and in a long one.
FEW = 15
MANY = 12_500
CALLS = 6


def file_of(case: Pipeline) -> str | None:
    """The tokenizer.json of a pipeline with its added tokens; `None` if tokenizers refuses it.

    Also `None` where the normalizer leaves nothing of an added token, which tokenizers then finds without
    end, or makes two alike, of which it finds one or the other.
    """

    def made() -> str:
        backend = tokenizers.Tokenizer.from_str(json.dumps(case.file))
        for content, special, flags in case.added:
            token = tokenizers.AddedToken(content, **flags)
            (backend.add_special_tokens if special else backend.add_tokens)([token])
        normalize = backend.normalizer.normalize_str if backend.normalizer else str
        tokens = backend.get_added_tokens_decoder().values()
        found = [normalize(token.content) if token.normalized else token.content for token in tokens]
        if not all(found) or len({*found}) < len(found):
            raise ValueError(found)
        return str(backend.to_str())

    file = outcome(made)
    return file if isinstance(file, str) else None


def some_words(draw: random.Random) -> list[str]:
    return [text(draw) for _ in range(draw.randrange(1, 4))]


def some_call(draw: random.Random) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call: texts, pairs or words, and options."""
    options = some_options(draw)
    if draw.random() < 0.5:
        options["return_offsets_mapping"] = True
    n = draw.choice((1, 1, 2, 3))
    if draw.random() < 0.2:
        rows = [some_words(draw) for _ in range(n)]
        options["is_split_into_words"] = True
        return draw.choice([(rows,), (rows[0],), (rows, [some_words(draw) for _ in rows])]), options
    texts, pairs = ([text(draw) for _ in range(n)] for _ in range(2))
    return draw.choice([(texts,), (texts[0],), (texts, pairs), (texts[0], pairs[0])]), options


def pickled(given: tuple[Any, ...], options: dict[str, Any], tokenizer: Any) -> Any:
    """The encodings of a batch that another process gets."""
    batch = pickle.loads(pickle.dumps(tokenizer(*given, **options)))
    assert type(batch.encodings) is list
    return [json.loads(encoding.__getstate__()) for encoding in batch.encodings]


def decoded(ids: list[int], skips: bool, tokenizer: Any) -> Any:
    return tokenizer.decode(ids, skip_special_tokens=skips)


def check(kind: str, number: int) -> bool | None:
    """Compares random calls of a random tokenizer; returns whether it runs here, `None` if none was made."""
    draw = random.Random(f"{kind} {number}")
    case = pipeline(kind, draw)
    file = file_of(case)
    if file is None:
        return None
    names = [*tokenizers.Tokenizer.from_str(file).get_vocab()]
    settings: dict[str, Any] = {
        "pad_token": draw.choice(["[PAD]", *sorted(names)]),
        "padding_side": draw.choice(["left", "right"]),
        "truncation_side": draw.choice(["left", "right"]),
        "clean_up_tokenization_spaces": draw.random() < 0.3,
    }
    first, second = (
        transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer.from_str(file), **settings)
        for _ in range(2)
    )
    sentitok.accelerate(second)
    n_ids = len(first)
    for _ in range(CALLS):
        given, options = some_call(draw)
        same(first, second, asked(*given, **options))
        same(first, second, partial(pickled, given, options))
        ids, skips = [draw.randrange(n_ids) for _ in range(draw.randrange(6))], draw.random() < 0.5
        same(first, second, partial(decoded, ids, skips))
    return runs(second)


def check_all(kind: str, numbers: range) -> None:
    ran = []
    for number in numbers:
        try:
            ran.append(check(kind, number))
        except AssertionError as error:
            raise AssertionError(f"tokenizer {kind} {number}") from error
    # Most that tokenizers makes run here: else nothing was compared.
    assert ran.count(True) > 0.5 * (len(ran) - ran.count(None))


@pytest.mark.parametrize("kind", KINDS)
def test_random_tokenizers(kind: str) -> None:
    check_all(kind, range(FEW))


def test_an_added_token_that_is_the_unknown_one_too() -> None:
    """Its offsets are trimmed by the source text, those of an unknown word are not."""
    assert check("wordpiece", 22_676)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_tokenizers(kind: str) -> None:
    check_all(kind, range(FEW, MANY))
