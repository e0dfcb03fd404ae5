"""Cases of `test_normalizers.py` and `test_pre_tokenizers.py` that make a stage, and pickle it."""

from typing import Any

from . import Library, case, pickled

NORMAL = "bindings/test_normalizers.py::"
SPLIT = "bindings/test_pre_tokenizers.py::"


def is_kind(made: Any, base: Any, kind: Any) -> None:
    assert isinstance(made, base)
    assert type(made) is kind
    assert type(pickled(made)) is kind


class TwoArguments:
    def normalize(self, normalized: Any, more: Any) -> None: ...

    def pre_tokenize(self, pretok: Any, more: Any) -> None: ...


def plain(room: str, *names: str) -> None:
    """Registers the cases that make a stage, and pickle it."""
    file, base = (NORMAL, "Normalizer") if room == "normalizers" else (SPLIT, "PreTokenizer")
    for name in names:

        def made(lib: Library, name: str = name) -> None:
            kinds = getattr(lib, room)
            is_kind(getattr(kinds, name)(), getattr(kinds, base), getattr(kinds, name))

        case(f"{file}Test{name}::test_instantiate")(made)


plain("normalizers", "BertNormalizer", "Lowercase", "Strip")
plain(
    "pre_tokenizers", "Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Digits", "FixedLength",
    "UnicodeScripts",
)  # fmt: skip
