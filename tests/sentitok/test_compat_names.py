"""Names of the libraries whose calls are here: each is here, too, or its page names the replacement."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest
import sentencepiece
import tiktoken
import tokenizers

from sentitok.compat import sentencepiece as our_sentencepiece
from sentitok.compat import tiktoken as our_tiktoken
from sentitok.compat import tokenizers as our_tokenizers

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference"
LIBRARIES = [
    (tiktoken, our_tiktoken, "compat-tiktoken.md"),
    (tokenizers, our_tokenizers, "compat-tokenizers.md"),
    (sentencepiece, our_sentencepiece, "compat-sentencepiece.md"),
]
#: What they import for themselves.
ASIDE = {"Enum", "List", "Tuple", "Union", "csv", "importlib", "io", "os", "sys", "tokenizers"}


#: Modules that are names of their package from their first import on.
importlib.import_module("sentencepiece.sentencepiece_model_pb2")
importlib.import_module("sentencepiece.sentencepiece_pb2")


def public(owner: object) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_")}


@pytest.fixture(params=LIBRARIES, ids=[theirs.__name__ for theirs, *_ in LIBRARIES])
def library(request: pytest.FixtureRequest) -> tuple[ModuleType, ModuleType, str]:
    """The library, ours, and our page."""
    theirs, ours, page = request.param
    return theirs, ours, (DOCS / page).read_text("utf-8")


def made_of(kind: type) -> object:
    """An instance, where one can be made of nothing: some names are those of instances alone."""
    if kind is our_tokenizers.Tokenizer:
        return our_tokenizers.Tokenizer(our_tokenizers.models.BPE())
    if kind in (our_tokenizers.NormalizedString, our_tokenizers.PreTokenizedString):
        return kind("a")
    if kind is our_tokenizers.implementations.BaseTokenizer:
        return kind(our_tokenizers.Tokenizer(our_tokenizers.models.BPE()))
    if kind is our_tokenizers.AddedToken:
        return our_tokenizers.AddedToken("a")
    try:
        return kind()
    except (TypeError, ValueError):
        return kind


def test_every_name_is_here_or_on_the_page(library: tuple[ModuleType, ModuleType, str]) -> None:
    theirs, ours, page = library
    missing = public(theirs) - public(ours) - ASIDE
    n_classes = 0
    for name in public(theirs) & public(ours):
        kind, own = getattr(theirs, name), getattr(ours, name)
        if isinstance(kind, type) and isinstance(own, type):
            n_classes += 1
            made = made_of(own)
            missing |= {each for each in public(kind) if not hasattr(own, each) and not hasattr(made, each)}
    assert n_classes > 0
    spelled = page.replace("_", "").lower()
    assert {name for name in missing if name.replace("_", "").lower() not in spelled} == set()


MODULES = [(theirs, ours) for theirs, ours, _ in LIBRARIES] + [
    (getattr(tokenizers, name), getattr(our_tokenizers, name))
    for name in (
        "decoders",
        "implementations",
        "models",
        "normalizers",
        "pre_tokenizers",
        "processors",
        "trainers",
    )
]


# 2026-11-25: of `words`, which tokenizers deprecates as well
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("theirs", "ours"), MODULES, ids=[theirs.__name__ for theirs, _ in MODULES])
def test_a_name_that_is_not_here_says_what_is_in_its_place(theirs: ModuleType, ours: ModuleType) -> None:
    owners: list[tuple[object, object]] = [(theirs, ours)]
    owners += [
        (kind, made_of(getattr(ours, name)))
        for name, kind in vars(theirs).items()
        if isinstance(kind, type) and isinstance(getattr(ours, name, None), type)
    ]
    for owner, own in owners:
        # A module of tokenizers has itself under its own name.
        for name in public(owner) - ASIDE - {theirs.__name__.split(".")[-1]}:
            if hasattr(own, name):
                continue
            with pytest.raises(AttributeError, match=f"no attribute '{name}': "):
                getattr(own, name)


def test_the_version_is_that_of_the_calls(library: tuple[ModuleType, ModuleType, str]) -> None:
    theirs, ours, page = library
    assert ours.__version__ == theirs.__version__
    assert f'`__version__` is `"{ours.__version__}"`' in page
