"""Cases of `test_encoding.py` and `test_offsets.py` that draw texts, bytes and ids."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from . import Library, case
from .encoding import FILE, NAMED

for named in NAMED:

    def bytes_come_back(lib: Library, name: str = named) -> None:
        enc = lib.get_encoding(name)

        @given(st.binary())
        def holds(data: bytes) -> None:
            assert enc.decode_bytes(enc._encode_bytes(data)) == data

        holds()

    def texts_come_back(lib: Library, name: str = named) -> None:
        enc = lib.get_encoding(name)

        # Hypothesis also draws strings that it finds in modules; one that spells a special token is refused.
        @given(st.text().filter(lambda text: not any(one in text for one in enc.special_tokens_set)))
        def holds(text: str) -> None:
            assert enc.decode(enc.encode(text)) == text

        holds()

    def nothing_is_special(lib: Library, name: str = named) -> None:
        enc = lib.get_encoding(name)

        @given(st.text())
        def holds(text: str) -> None:
            assert enc.encode(text, disallowed_special=()) == enc.encode_ordinary(text)

        holds()

    def batches_come_back(lib: Library, name: str = named) -> None:
        enc = lib.get_encoding(name)

        @given(st.lists(st.text()))
        def holds(texts: list[str]) -> None:
            found = enc.encode_batch(texts, allowed_special="all")
            assert found == [enc.encode(text, allowed_special="all") for text in texts]
            assert enc.decode_batch(found) == texts

        holds()

    case(f"{FILE}hyp_encode_bytes[{named}]")(bytes_come_back)
    case(f"{FILE}hyp_roundtrip[{named}]")(texts_come_back)
    case(f"{FILE}hyp_special_ordinary[{named}]")(nothing_is_special)
    case(f"{FILE}hyp_batch_roundtrip[{named}]")(batches_come_back)


def slow_offsets(enc: Any, ids: list[int]) -> list[int]:
    """Where the text of the first ids stops to be that of all, for each id."""
    text = enc.decode(ids, errors="strict")
    found = []
    for n in range(len(ids)):
        before = enc.decode(ids[:n], errors="ignore")
        same = (at for at, (a, b) in enumerate(zip(text, before, strict=False)) if a != b)
        found.append(next(same, min(len(text), len(before))))
    return found


@case("test_offsets.py::test_hyp_offsets[cl100k_base]")
def _(lib: Library) -> None:
    enc = lib.get_encoding("cl100k_base")
    known = sorted({*enc._special_tokens.values(), *enc._mergeable_ranks.values()})

    @given(st.lists(st.sampled_from(known), min_size=1, max_size=20))
    def holds(drawn: list[int]) -> None:
        # Ids as drawn may not be text; the ids of their decoded text are.
        ids = enc.encode(enc.decode(drawn, errors="ignore"), allowed_special="all")
        assert enc.decode_with_offsets(ids)[1] == slow_offsets(enc, ids)

    holds()


@case("test_offsets.py::test_basic_offsets")
def _(lib: Library) -> None:
    enc = lib.get_encoding("cl100k_base")
    # Tokens of the last two lie across characters.
    rows = {
        "hello world": [0, 5],
        "hello world<|endoftext|> green cow": [0, 5, 11, 24, 30],
        "我非常渴望与人工智能一起工作": [0, 1, 2, 3, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12, 13],
        "நடிகர் சூர்யா": [0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 9, 10, 11, 12, 12],
        " Ġ除": [0, 1],
    }
    for text, offsets in rows.items():
        assert enc.decode_with_offsets(enc.encode(text, allowed_special="all")) == (text, offsets)
