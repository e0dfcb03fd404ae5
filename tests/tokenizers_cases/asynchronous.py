"""Cases of `test_tokenizer.py` that await what they ask."""

import asyncio
from typing import Any

import numpy as np
import pytest

from . import Library, case
from .tokenizer import words

ASYNC = "bindings/test_tokenizer.py::TestAsyncTokenizer::"


def small(lib: Library) -> Any:
    tokenizer = words(lib)
    tokenizer.pre_tokenizer = lib.pre_tokenizers.Whitespace()
    return tokenizer


def same_later(lib: Library, given: Any, tokenizer: Any = None, **options: Any) -> None:
    """An awaited call gives the result of the call."""
    tokenizer = tokenizer or small(lib)

    async def both() -> None:
        for now, later in (
            (tokenizer.encode_batch, tokenizer.async_encode_batch),
            (tokenizer.encode_batch_fast, tokenizer.async_encode_batch_fast),
        ):
            for a, b in zip(now(given, **options), await later(given, **options), strict=True):
                for name in ("tokens", "ids", "offsets", "attention_mask", "special_tokens_mask", "type_ids"):
                    assert getattr(a, name) == getattr(b, name)

    asyncio.run(both())


@case(ASYNC + "test_basic_encoding")
def _(lib: Library) -> None:
    for given in (["my name is john", "my pair"], [("my name", "is john"), ("my", "pair")], []):
        same_later(lib, given)


@case(ASYNC + "test_encode")
def _(lib: Library) -> None:
    tokenizer = small(lib)

    async def check(*texts: str) -> None:
        assert (await tokenizer.async_encode(*texts)).ids == tokenizer.encode(*texts).ids

    asyncio.run(check("my name is john", "my pair"))
    asyncio.run(check("my name is john"))


@case(ASYNC + "test_with_special_tokens")
def _(lib: Library) -> None:
    tokenizer = small(lib)
    tokenizer.add_special_tokens(["[CLS]", "[SEP]"])
    tokenizer.post_processor = lib.processors.TemplateProcessing(
        single=["[CLS]", "$0", "[SEP]"],
        pair=["[CLS]", "$A", "[SEP]", "$B", "[SEP]"],
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    for add in (True, False):
        same_later(lib, ["my name is john", "my pair"], tokenizer, add_special_tokens=add)


@case(ASYNC + "test_with_truncation_padding")
def _(lib: Library) -> None:
    tokenizer = small(lib)
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=4)
    same_later(lib, ["my name is john", "pair longer"], tokenizer)
    same_later(lib, [("my name", "is john"), ("pair", "longer")], tokenizer)


@case(ASYNC + "test_various_input_formats")
def _(lib: Library) -> None:
    for given in (["my name", "is john"], ("my name", "is john"), [("my name", "is john"), ["my", "pair"]]):
        same_later(lib, given)


@case(ASYNC + "test_error_handling")
def _(lib: Library) -> None:
    tokenizer = small(lib)
    for given, options in ((123, {}), ("my name", {"is_pretokenized": True})):
        with pytest.raises(TypeError):
            tokenizer.encode_batch(given, **options)

        async def later(given: Any = given, options: Any = options) -> None:
            await tokenizer.async_encode_batch(given, **options)

        with pytest.raises(TypeError):
            asyncio.run(later())


@case(ASYNC + "test_concurrency")
def _(lib: Library) -> None:
    tokenizer, batch = small(lib), ["my name is john " * 50] * 20

    async def several() -> list[Any]:
        calls = (
            tokenizer.async_encode_batch,
            tokenizer.async_encode_batch_fast,
            tokenizer.async_encode_batch,
        )
        return await asyncio.gather(*[call(batch) for call in calls])

    assert [len(found) for found in asyncio.run(several())] == [20] * 3


@case(ASYNC + "test_decode")
def _(lib: Library) -> None:
    tokenizer = words(lib)
    rows, texts = [[0, 1, 2, 3], [4]], ["my name is john", "pair"]

    async def later() -> Any:
        return await tokenizer.async_decode_batch(rows)

    assert tokenizer.decode(rows[0]) == texts[0]
    assert tokenizer.decode_batch(rows) == texts
    assert asyncio.run(later()) == texts


@case(ASYNC + "test_large_batch")
def _(lib: Library) -> None:
    same_later(lib, ["my name is john"] * 1000)


@case(ASYNC + "test_numpy_inputs")
def _(lib: Library) -> None:
    same_later(lib, np.array(["my name", "is john", "pair longer"]))
    same_later(lib, np.array([["my", "name"], ["is", "john"]], dtype=object), is_pretokenized=True)


@case(ASYNC + "test_async_methods_existence")
def _(lib: Library) -> None:
    tokenizer = words(lib)
    assert callable(tokenizer.async_encode_batch)
    assert callable(tokenizer.async_encode_batch_fast)
