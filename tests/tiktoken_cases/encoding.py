"""Cases of `test_encoding.py`: ids that are known, and texts that come back."""

from . import Library, case

FILE = "test_encoding.py::test_"
NAMED = ("r50k_base", "cl100k_base")


def each(lib: Library, name: str, *rows: tuple[str, list[int]]) -> None:
    """Each row: a text, and its ids."""
    enc = lib.get_encoding(name)
    for text, ids in rows:
        assert enc.encode(text) == ids, text


@case(FILE + "simple_repeated")
def _(lib: Library) -> None:
    ids = [
        [15], [405], [830], [2388], [20483], [10535], [24598], [8269], [10535, 830], [8269, 405], [8269, 830],
        [8269, 2388], [8269, 20483], [8269, 10535], [8269, 24598], [25645], [8269, 10535, 830],
    ]  # fmt: skip
    each(lib, "gpt2", *(("0" * n, found) for n, found in enumerate(ids, 1)))


@case(FILE + "large_repeated")
def _(lib: Library) -> None:
    assert lib.get_encoding("o200k_base").encode("x" * 1_000_000)


@case(FILE + "simple_regex")
def _(lib: Library) -> None:
    each(
        lib, "cl100k_base",
        ("rer", [38149]), ("'rer", [2351, 81]), ("today\n ", [31213, 198, 220]),
        ("today\n \n", [31213, 27907]), ("today\n  \n", [31213, 14211]),
    )  # fmt: skip


@case(FILE + "basic_encode")
def _(lib: Library) -> None:
    for name in ("r50k_base", "p50k_base"):
        each(lib, name, ("hello world", [31373, 995]))
    each(lib, "cl100k_base", ("hello world", [15339, 1917]), (" \x850", [220, 126, 227, 15]))


@case(FILE + "encode_empty")
def _(lib: Library) -> None:
    each(lib, "r50k_base", ("", []))


@case(FILE + "encode_bytes")
def _(lib: Library) -> None:
    enc = lib.get_encoding("cl100k_base")
    assert enc._encode_bytes(b" \xec\x8b\xa4\xed") == [62085]
    for n in range(10):
        assert enc.decode_bytes(enc._encode_bytes(b"\x80" * n)) == b"\x80" * n


@case(FILE + "encode_surrogate_pairs")
def _(lib: Library) -> None:
    each(lib, "cl100k_base", ("👍", [9468, 239, 235]), ("\ud83d\udc4d", [9468, 239, 235]))
    enc = lib.get_encoding("cl100k_base")
    assert enc.encode("\ud83d") == enc.encode("\ufffd")


def comes_back(lib: Library, name: str, *texts: str) -> None:
    enc = lib.get_encoding(name)
    for text in texts:
        assert enc.decode(enc.encode(text)) == text
        assert enc.decode(enc.encode_ordinary(text)) == text


for named in NAMED:

    def repetitive(lib: Library, name: str = named) -> None:
        for unit in ("^", "0", "a", "'s", " ", "\n"):
            comes_back(lib, name, unit * 10_000, " " + unit * 10_000, " " + unit * 10_000 + "\n")

    def basic(lib: Library, name: str = named) -> None:
        hello = ("hello", "hello ", "hello  ", " hello", " hello ", " hello  ")
        comes_back(lib, name, *hello, "hello world", "请考试我的软件！12345")

    def batches(lib: Library, name: str = named) -> None:
        enc = lib.get_encoding(name)
        for texts in (["hello world"], ["hello world", "goodbye world"]):
            assert enc.encode_batch(texts) == [enc.encode(text) for text in texts]
            assert enc.encode_ordinary_batch(texts) == [enc.encode_ordinary(text) for text in texts]

    case(f"{FILE}catastrophically_repetitive[{named}]")(repetitive)
    case(f"{FILE}basic_roundtrip[{named}]")(basic)
    case(f"{FILE}batch_encode[{named}]")(batches)
