"""`of_files`: the tokenizer of a folder without tokenizer.json, as transformers' class makes it.

Such a folder holds a vocabulary, and the class that its settings name adds the rest: how text is cut,
and the special tokens around it. The classes of `_CLASSES` are built here, as parts of a tokenizer.json,
and those of files of ranks in `ranks`. Any other is refused by its name, because its ids would differ from
transformers'. A tokenizer.json or tekken.json says all of this itself and is not read here.

Source of what classes do: transformers 5.24, `models/*/tokenization_*.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _sentitok
from .._sentitok import FormatError, Tokenizer
from ..messages import shown
from .documents import Part, document_of, from_document, of_vocab_and_merges, template
from .ranks import RANKS_CLASSES, of_ranks, ranks_file
from .settings import config_of, object_of, roles_of, tokens_of

__all__ = ["of_files", "roles_of_class"]

_Document = dict[str, Any]
_Config = Mapping[str, Any]
_Token = tuple[str, int]
_Roles = Callable[[str], _Token]
#: A file may ask for any number; T5 has 100.
_MOST_SENTINELS = 100_000
_END_OF_WORD = "</w>"
_CLIP_WORDS = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


@dataclass(frozen=True)
class _Class:
    """A class of transformers.

    Attributes:
        model: the type of its model.
        roles: the roles of its special tokens, where the settings do not say.
        stages: writes its stages into the parts of a tokenizer.json, by the settings.
        around: returns its post-processor, of a function from a role to a token and its id, and the settings.
        more: returns the special tokens that it adds to the ones with a role, by the settings.
        end_of_word: the suffix of the last symbol of a word.
    """

    model: str
    roles: Mapping[str, str]
    stages: Callable[[_Document, _Config], None]
    around: Callable[[_Roles, _Config], _Document]
    more: Callable[[_Config], list[str]] = lambda _: []
    end_of_word: str | None = None


def _byte_level(document: _Document, config: _Config) -> None:
    document["pre_tokenizer"] = _byte_level_stage(bool(config.get("add_prefix_space")), True)


def _byte_level_stage(add_prefix_space: bool, use_regex: bool) -> _Document:
    return {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": use_regex,
    }


def _qwen2(document: _Document, config: _Config) -> None:
    split = {"type": "Split", "pattern": {"Regex": _QWEN2}, "behavior": "Isolated", "invert": False}
    spelled = _byte_level_stage(bool(config.get("add_prefix_space")), False)
    document["normalizer"] = {"type": "NFC"}
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, spelled]}


def _gpt1(document: _Document, _: _Config) -> None:
    document["normalizer"] = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    }
    document["pre_tokenizer"] = {"type": "BertPreTokenizer"}
    document["decoder"] = {"type": "BPEDecoder", "suffix": _END_OF_WORD}
    document["model"]["unk_token"] = "<unk>"


def _clip(document: _Document, _: _Config) -> None:
    spaces = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
    document["normalizer"] = {
        "type": "Sequence",
        "normalizers": [{"type": "NFC"}, spaces, {"type": "Lowercase"}],
    }
    split = {"type": "Split", "pattern": {"Regex": _CLIP_WORDS}, "behavior": "Removed", "invert": True}
    spelled = _byte_level_stage(False, True)
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, spelled]}
    # transformers writes a space for each end of a word and strips the text.
    document["decoder"] = {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": _END_OF_WORD}, "content": "\u0120"},
            {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            {"type": "Strip", "content": " ", "start": 1, "stop": 1},
        ],
    }
    document["model"]["unk_token"] = _END


def _bert(document: _Document, config: _Config) -> None:
    document["normalizer"] = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": bool(config.get("tokenize_chinese_chars", True)),
        "strip_accents": config.get("strip_accents"),
        "lowercase": bool(config.get("do_lower_case", True)),
    }


def _llama(document: _Document, config: _Config) -> None:
    prefixes = config.get("add_prefix_space")
    prefixes = True if prefixes is None else bool(prefixes)
    scheme = ("always" if config.get("legacy") else "first") if prefixes else "never"
    document["normalizer"] = None
    document["pre_tokenizer"] = {
        "type": "Metaspace",
        "replacement": "\u2581",
        "prepend_scheme": scheme,
        "split": False,
    }
    decoders: list[_Document] = [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if prefixes:
        decoders.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    document["decoder"] = {"type": "Sequence", "decoders": decoders}
    model = document["model"]
    model |= {"unk_token": None, "fuse_unk": True, "byte_fallback": True, "merges": _merges(model["vocab"])}


def _merges(vocab: Mapping[str, int]) -> list[tuple[str, str]]:
    """Each way to make a token of two, by the token's id and then by the length of the first."""
    # Only where both sides have the length of some token: no long token is copied at each of its places.
    lengths = {len(token) for token in vocab}
    cuts = ((token, cut) for token in sorted(vocab, key=vocab.__getitem__) for cut in range(1, len(token)))
    fitting = ((token, cut) for token, cut in cuts if cut in lengths and len(token) - cut in lengths)
    pairs = ((token[:cut], token[cut:]) for token, cut in fitting)
    return [(left, right) for left, right in pairs if left in vocab and right in vocab]


def _t5(document: _Document, _: _Config) -> None:
    marks = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, marks]}
    document["decoder"] = marks


def _around_bert(roles: _Roles, _: _Config) -> _Document:
    cls, sep = roles("cls_token"), roles("sep_token")
    single: list[Part] = [(cls, 0), ("A", 0), (sep, 0)]
    return template(single, [*single, ("B", 1), (sep, 1)])


def _around_roberta(roles: _Roles, config: _Config) -> _Document:
    return {
        "type": "RobertaProcessing",
        "sep": roles("sep_token"),
        "cls": roles("cls_token"),
        "trim_offsets": bool(config.get("trim_offsets", True)),
        "add_prefix_space": bool(config.get("add_prefix_space")),
    }


def _around_clip(roles: _Roles, _: _Config) -> _Document:
    return {
        "type": "RobertaProcessing",
        "sep": roles("eos_token"),
        "cls": roles("bos_token"),
        "trim_offsets": False,
        "add_prefix_space": False,
    }


def _nothing_around(_: _Roles, __: _Config) -> _Document:
    return template([("A", 0)], [("A", 0), ("B", 1)])


def _around_t5(roles: _Roles, _: _Config) -> _Document:
    end = roles("eos_token")
    return template([("A", 0), (end, 0)], [("A", 0), (end, 0), ("B", 0), (end, 0)])


def _sentinels(config: _Config) -> list[str]:
    n = config.get("extra_ids", 100)
    if type(n) is not int or not 0 <= n <= _MOST_SENTINELS:
        raise FormatError(
            f"tokenizer_config.json: extra_ids is {shown(n)}; it is a whole number from 0 to "
            f"{_MOST_SENTINELS:,}"
        )
    return [f"<extra_id_{i}>" for i in reversed(range(n))]


def _by_flags(roles: _Roles, config: _Config) -> _Document:
    before = [roles("bos_token")] if config.get("add_bos_token") else []
    behind = [roles("eos_token")] if config.get("add_eos_token") else []

    def one(text: str, type_id: int) -> list[Part]:
        parts: list[str | _Token] = [*before, text, *behind]
        return [(part, type_id) for part in parts]

    return template(one("A", 0), [*one("A", 0), *one("B", 1)])


_END = "<|endoftext|>"
_BERT = _Class(
    "WordPiece",
    {
        "unk_token": "[UNK]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
    },
    _bert,
    _around_bert,
)
_ROBERTA = _Class(
    "BPE",
    {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "sep_token": "</s>",
        "pad_token": "<pad>",
        "cls_token": "<s>",
        "mask_token": "<mask>",
    },
    _byte_level,
    _around_roberta,
)
_T5 = _Class(
    "Unigram",
    {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"},
    _t5,
    _around_t5,
    _sentinels,
)
_CLASSES = {
    "BertTokenizer": _BERT,
    "DistilBertTokenizer": _BERT,
    "ElectraTokenizer": _BERT,
    "RobertaTokenizer": _ROBERTA,
    "BartTokenizer": _ROBERTA,
    "GPT2Tokenizer": _Class(
        "BPE", {"bos_token": _END, "eos_token": _END, "unk_token": _END}, _byte_level, _by_flags
    ),
    "Qwen2Tokenizer": _Class(
        "BPE", {"eos_token": _END, "unk_token": _END, "pad_token": _END}, _qwen2, _by_flags
    ),
    "LlamaTokenizer": _Class(
        "BPE", {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}, _llama, _by_flags
    ),
    "T5Tokenizer": _T5,
    "OpenAIGPTTokenizer": _Class(
        "BPE", {"unk_token": "<unk>"}, _gpt1, _nothing_around, end_of_word=_END_OF_WORD
    ),
    "CLIPTokenizer": _Class(
        "BPE",
        {"unk_token": _END, "bos_token": "<|startoftext|>", "eos_token": _END, "pad_token": _END},
        _clip,
        _around_clip,
        end_of_word=_END_OF_WORD,
    ),
}
#: The classes of models whose settings name none.
_OF_MODELS = {
    "bert": "BertTokenizer",
    "distilbert": "DistilBertTokenizer",
    "electra": "ElectraTokenizer",
    "roberta": "RobertaTokenizer",
    "bart": "BartTokenizer",
    "gpt2": "GPT2Tokenizer",
    "openai-gpt": "OpenAIGPTTokenizer",
    "clip": "CLIPTokenizer",
    "qwen": "QWenTokenizer",
    "qwen2": "Qwen2Tokenizer",
    "qwen3": "Qwen2Tokenizer",
    "llama": "LlamaTokenizer",
    "t5": "T5Tokenizer",
    "mt5": "T5Tokenizer",
}


def of_files(folder: Path) -> tuple[Tokenizer, Mapping[str, str] | None]:
    """Returns the tokenizer of a folder without tokenizer.json, and what its special tokens are for.

    Where nothing names a class it is that of the files alone, and its special tokens are for what
    they usually are.

    Raises:
        FormatError: for a class that is not known here, and a special token of its that is not a token.
    """
    config = config_of(folder)
    name = _class_of(folder, config)
    ranks = ranks_file(folder)
    if name is None:
        return (_sentitok.read_folder(folder) if ranks is None else Tokenizer.from_file(ranks)), None
    if ranks is not None:
        return of_ranks(ranks, name, config), None
    if name in RANKS_CLASSES:
        raise FormatError(
            f"{folder}: the class {name} reads a file of ranks, and there is none: tiktoken.model, "
            "tokenizer.model or a .tiktoken file, each line of it a token in base64 and its rank"
        )
    made = _CLASSES.get(name)
    if made is None:
        raise FormatError(
            f"{folder} has no tokenizer.json, and what transformers makes of its files by the class "
            f"{shown(name)} is not known here; let transformers write that file, as in "
            "AutoTokenizer.from_pretrained(folder).save_pretrained(folder), or read its files alone: "
            "Tokenizer.from_file(file) or Tokenizer.from_gpt2(vocab, merges)"
        )
    roles = roles_of({**made.roles, **config})
    more, added = made.more(config), tokens_of(folder, usual=made.roles)
    vocabulary, is_model = _vocabulary(folder, made)
    tokenizer = vocabulary.with_specials(more).with_specials(added)

    def of_role(role: str) -> _Token:
        token = roles.get(role)
        id = None if token is None else tokenizer.token_to_id(token)
        if token is None or id is None:
            raise FormatError(
                f"{folder}: the class {name} puts {role} around texts, and the settings name none"
            )
        return token, id

    document = document_of(tokenizer)
    if document["model"]["type"] != made.model:
        raise FormatError(
            f"{folder}: the class {name} makes a tokenizer of {made.model}, and the files are of "
            f"{document['model']['type']}; name another class in tokenizer_config.json, or read it alone: "
            "Tokenizer.from_file(file)"
        )
    made.stages(document, config)
    document["post_processor"] = made.around(of_role, config)
    if not is_model:
        # A vocabulary does not say which of its tokens are special: the settings and the class do.
        kept = {*more, *(token.content for token in added)}
        document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] in kept]
    return from_document(document), roles


def roles_of_class(folder: Path) -> Mapping[str, str]:
    """Returns the roles of special tokens of the class of a folder where its settings do not say.

    The folder has a file of a whole tokenizer. transformers adds no tokens of `LlamaTokenizer` to one that
    is byte-level, as Llama-3's is, or whose settings name no class.

    Raises:
        FormatError: for settings that cannot be read.
    """
    name = _class_of(folder, config_of(folder)) or ""
    if name == "LlamaTokenizer" and (
        _declared_class(folder, config_of(folder)) is None or _is_byte_level(folder / "tokenizer.json")
    ):
        return {}
    made = _CLASSES.get(name)
    return {} if made is None else made.roles


def _is_byte_level(path: Path) -> bool:
    """Whether a tokenizer.json has a byte-level stage, found as transformers finds it."""
    return path.is_file() and b'"ByteLevel"' in path.read_bytes()


def _declared_class(folder: Path, config: _Config) -> str | None:
    return config.get("tokenizer_class") or object_of(folder / "config.json").get("tokenizer_class")


def _class_of(folder: Path, config: _Config) -> str | None:
    """The name of the class, less the `Fast` of older ones; None where nothing names one."""
    kind = object_of(folder / "config.json").get("model_type")
    name = _declared_class(folder, config)
    if name is None and kind is not None:
        name = _OF_MODELS.get(str(kind), f"of {kind}")
    if name is None and "do_lower_case" in config and (folder / "vocab.txt").is_file():
        name = "BertTokenizer"
    return None if name is None else str(name).removesuffix("Fast")


def _vocabulary(folder: Path, made: _Class) -> tuple[Tokenizer, bool]:
    """The tokenizer of the files alone, and whether they are a model that names its special tokens."""
    if (folder / "vocab.txt").is_file():
        return Tokenizer.from_bert_vocab(folder / "vocab.txt"), False
    for vocab, merges in (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")):
        if (folder / vocab).is_file() and (folder / merges).is_file():
            suffix = {"end_of_word_suffix": made.end_of_word}
            return of_vocab_and_merges(folder / vocab, folder / merges, **suffix), False
    return _sentitok.read_folder(folder), True
