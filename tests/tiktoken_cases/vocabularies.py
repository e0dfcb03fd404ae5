"""Cases of all files about names and single tokens."""

import subprocess
import sys

from . import Library, case
from .encoding import FILE, NAMED

PUBLIC = "test_simple_public.py::test_"
MODELS = {
    "gpt2": "gpt2",
    "text-davinci-003": "p50k_base",
    "text-davinci-edit-001": "p50k_edit",
    "gpt-3.5-turbo-0301": "cl100k_base",
    "gpt-4": "cl100k_base",
    "gpt-4o": "o200k_base",
    "gpt-oss-120b": "o200k_harmony",
}


@case(FILE + "simple", PUBLIC + "simple")
def _(lib: Library) -> None:
    for name, ids, end in (("gpt2", [31373, 995], 50256), ("cl100k_base", [15339, 1917], 100257)):
        enc = lib.get_encoding(name)
        assert enc.encode("hello world") == ids
        assert enc.decode(ids) == "hello world"
        assert enc.encode("hello <|endoftext|>", allowed_special="all") == [ids[0], 220, end]
    assert len(lib.list_encoding_names()) == 7
    for name in lib.list_encoding_names():
        enc = lib.get_encoding(name)
        for token in range(min(10_000, enc.max_token_value - 1)):
            assert enc.encode_single_token(enc.decode_single_token_bytes(token)) == token


@case("test_misc.py::test_encoding_for_model", PUBLIC + "encoding_for_model")
def _(lib: Library) -> None:
    assert {model: lib.encoding_for_model(model).name for model in MODELS} == MODELS


@case("test_misc.py::test_optional_blobfile_dependency", PUBLIC + "optional_blobfile_dependency")
def _(lib: Library) -> None:
    program = f"import sys, {lib.__name__}; assert 'blobfile' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


for named in NAMED:

    def single_tokens(lib: Library, name: str = named) -> None:
        enc = lib.get_encoding(name)
        n_tokens = 0
        for token in range(enc.n_vocab):
            try:
                data = enc.decode_single_token_bytes(token)
            except KeyError:
                continue
            n_tokens += 1
            assert enc.encode_single_token(data) == token
        assert n_tokens == len(enc._mergeable_ranks) + len(enc._special_tokens)

    case(f"{FILE}single_token_roundtrip[{named}]")(single_tokens)
