"""`of_ranks`: the tokenizer of a folder with a file of ranks, such as `tiktoken.model`.

Such a file holds tokens alone. The class that the settings name adds how text is cut and the special
tokens, with the ids that follow the ranks. Settings may name each of these tokens (`added_tokens_decoder`).

Sources of what classes do: `tokenization_kimi.py` and `tokenization_moonshot.py` of Moonshot AI,
`tokenization_qwen.py` of Qwen, `tokenization_chatglm.py` of GLM-4; transformers 5.24,
`convert_slow_tokenizer.py` for files of Llama-3.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._sentitok import FormatError, Tokenizer, file_kind
from ..messages import shown
from .documents import Part, document_of, from_document, template
from .settings import named_ids

__all__ = ["RANKS_CLASSES", "of_ranks", "ranks_file"]

_Config = Mapping[str, Any]
_Tokens = list[str]

_KIMI = "|".join(
    [
        r"[\p{Han}]+",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
_FILES = ("tiktoken.model", "tokenizer.model", "qwen.tiktoken")
#: Vocabularies that go before them.
_OTHER_FILES = ("vocab.json", "encoder.json", "vocab.txt", "spiece.model")
#: Where the special tokens of Qwen begin, whatever the ranks are.
_QWEN_START = 151_643


@dataclass(frozen=True)
class _Class:
    """A class of files of ranks.

    Attributes:
        pattern: cuts text; a pattern or a name of `PreTokenizer.names()`.
        specials: returns the special tokens by id, of the number of ranks and the settings.
        nfc: whether text is brought to NFC first.
        before: special tokens before each text.
    """

    pattern: str
    specials: Callable[[int, _Config], dict[int, str]]
    nfc: bool = False
    before: tuple[str, ...] = ()


def _kimi(n: int, config: _Config) -> dict[int, str]:
    # The module of Moonlight and Kimi-VL reserves two more than that of Kimi K2 and later.
    reserved = 258 if "tokenization_moonshot" in _module_of(config) else 256
    return {id: f"<|reserved_token_{id}|>" for id in range(n, n + reserved)}


def _qwen(_: int, __: _Config) -> dict[int, str]:
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|extra_{i}|>" for i in range(205))]
    return dict(enumerate(tokens, _QWEN_START))


def _glm4(n: int, _: _Config) -> dict[int, str]:
    tokens = [
        "<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>",
        "<|assistant|>", "<|observation|>", "<|begin_of_image|>", "<|end_of_image|>", "<|begin_of_video|>",
        "<|end_of_video|>",
    ]  # fmt: skip
    return dict(enumerate(tokens, n))


def _none(_: int, __: _Config) -> dict[int, str]:
    return {}


#: Llama-3's, whose class in transformers is a general one.
_LLAMA = _Class("cl100k", _none)
_CLASSES = {
    "TikTokenTokenizer": _Class(_KIMI, _kimi),
    "QWenTokenizer": _Class("cl100k-1digit", _qwen, nfc=True),
    "ChatGLM4Tokenizer": _Class("cl100k", _glm4, before=("[gMASK]", "<sop>")),
    "LlamaTokenizer": _LLAMA,
    "PreTrainedTokenizer": _LLAMA,
    "TokenizersBackend": _LLAMA,
}

#: Classes that read nothing else.
RANKS_CLASSES = [name for name, made in _CLASSES.items() if made is not _LLAMA]


def ranks_file(folder: Path) -> Path | None:
    """Returns the file of ranks in a folder, if that is what the folder has."""
    if any((folder / name).is_file() for name in _OTHER_FILES):
        return None
    files = [*(folder / name for name in _FILES), *sorted(folder.glob("*.tiktoken"))]
    there = next((file for file in files if file.is_file()), None)
    return there if there is not None and file_kind(there) == "tiktoken" else None


def of_ranks(file: Path, name: str, config: _Config) -> Tokenizer:
    """Returns the tokenizer of a file of ranks, as a class makes it.

    Raises:
        FormatError: for a class that is not known here.
    """
    made = _CLASSES.get(name)
    module = _module_of(config)
    if made is None or (name == "TikTokenTokenizer" and module and not _is_of_moonshot(module)):
        raise FormatError(
            f"{file} is a file of ranks, which does not say how text is cut, and the class {shown(name)}"
            f"{f' of {module}' if module else ''} is not known here; known are {', '.join(_CLASSES)}; call "
            "Tokenizer.from_tiktoken(path, pattern, special_tokens)"
        )
    n_ranks = Tokenizer.from_tiktoken(file, made.pattern).n_tokens
    named = named_ids(file.parent)
    specials = {**made.specials(n_ranks, config), **named}
    twice = {token for id, token in specials.items() if id not in named} & set(named.values())
    ids = {token: id for id, token in specials.items() if id in named or token not in twice}
    if missing := [token for token in made.before if token not in ids]:
        raise FormatError(
            f"{file.parent}: the class {name} puts {missing[0]} before a text; added_tokens_decoder gives "
            "its id to another token"
        )
    tokenizer = Tokenizer.from_tiktoken(file, made.pattern, ids)
    if not (made.nfc or made.before):
        return tokenizer
    document = document_of(tokenizer)
    if made.nfc:
        document["normalizer"] = {"type": "NFC"}
    if made.before:
        before: list[Part] = [((token, ids[token]), 0) for token in made.before]
        single: list[Part] = [*before, ("A", 0)]
        document["post_processor"] = template(single, [*single, ("B", 0)])
    return from_document(document)


def _module_of(config: _Config) -> str:
    """The module of the class, where the settings name it: `tokenization_kimi.TikTokenTokenizer`."""
    auto_map = config.get("auto_map")
    named = auto_map.get("AutoTokenizer") if isinstance(auto_map, dict) else auto_map
    first = next((each for each in named if each), "") if isinstance(named, list | tuple) else named
    return str(first or "")


def _is_of_moonshot(module: str) -> bool:
    return any(name in module for name in ("tokenization_kimi", "tokenization_moonshot"))
