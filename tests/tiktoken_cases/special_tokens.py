"""Cases of `test_encoding.py` and `test_pickle.py` about special tokens."""

import pytest

from restated import pickled

from . import Library, case


@case("test_encoding.py::test_special_token")
def _(lib: Library) -> None:
    enc = lib.get_encoding("cl100k_base")
    end, prefix, middle = "<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>"
    ids = {token: enc.encode_single_token(token) for token in (end, prefix, middle)}
    assert ids[end] == enc.eot_token

    text = f"{end} hello {prefix}"
    assert ids[end] not in enc.encode(text, disallowed_special=())
    for options in ({}, {"disallowed_special": "all"}, {"disallowed_special": {end}},
                    {"disallowed_special": {prefix}}):  # fmt: skip
        with pytest.raises(ValueError, match="disallowed"):
            enc.encode(text, **options)

    text = f"{end} hello {prefix} there {middle}"
    rows: list[tuple[object, object, set[str]]] = [
        (set(), (), set()),
        ("all", (), {end, prefix, middle}),
        ("all", "all", {end, prefix, middle}),
        ({prefix}, (), {prefix}),
        ({end}, (), {end}),
        ({middle}, (), {middle}),
    ]
    for allowed, disallowed, found in rows:
        tokens = enc.encode(text, allowed_special=allowed, disallowed_special=disallowed)
        assert {token for token, id in ids.items() if id in tokens} == found


@case("test_pickle.py::test_pickle")
def _(lib: Library) -> None:
    named = lib.get_encoding("r50k_base")
    assert pickled(named).encode("hello world") == named.encode("hello world")
    custom = lib.Encoding(
        name="custom_enc",
        pat_str=named._pat_str,
        mergeable_ranks=named._mergeable_ranks,
        special_tokens={"<|pickle|>": 100_000},
    )
    for enc in (custom, pickled(custom)):
        assert enc.encode("hello world") == named.encode("hello world")
        assert enc.encode("<|pickle|>", allowed_special="all") == [100_000]
