"""Every stage that tokenizers 0.23 reads, with its options, as JSON, and small files around one.

A file has one stage of interest and a model that shows what the stage does: `words` has one
token and makes each piece unknown, so that offsets are those of pieces; `chars` and `bytes`
have merges.
"""

import json
from typing import Any

from oracles.random_pipelines import BYTE_CHARS

Json = dict[str, Any]

BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
SPECIAL = {"id": 1, "content": "<s>", "special": True}
RULES = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


def _split(pattern: Json, behavior: str, invert: bool = False) -> Json:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def _regex(pattern: str) -> Json:
    return {"Regex": pattern}


def _level(prefix: bool = False, use_regex: bool = True) -> Json:
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": use_regex}


def _sequence(key: str, *steps: Json) -> Json:
    return {"type": "Sequence", key: list(steps)}


def _pre(*steps: Json) -> Json:
    return _sequence("pretokenizers", *steps)


def _metaspace(scheme: str = "always", split: bool = True, mark: str = "▁") -> Json:
    return {"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": split}


_PATTERNS = [
    {"String": " "},
    {"String": "--"},
    {"String": "aa"},
    {"String": ""},
    {"String": "."},
    _regex(r"\s+"),
    _regex(r"[ab]+|\d"),
    _regex(r"\p{L}+"),
    _regex("a*"),
    _regex(r"(?<=a)b|c(?!d)"),
    _regex("^"),
    _regex("$"),
    _regex("^ +"),
    _regex(r"\s+$"),
    _regex("^a|b$"),
    _regex("(?:^|x)a"),
    _regex(r"\n^"),
    _regex(r"\A\s|\s\z"),
    _regex(r"\b"),
    _regex(r"(?:\r?\n)+(?!\r?\n)"),
    _regex(r"\p{N}{1,3}"),
    _regex(r"'s|'t| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    _regex(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
]
_PUNCTUATION = {"type": "Punctuation", "behavior": "Isolated"}
_DIGITS = {"type": "Digits", "individual_digits": False}
_WORDS = {"type": "WhitespaceSplit"}

PRE_TOKENIZERS: list[Json] = [
    *(
        _split(pattern, behavior, invert)
        for pattern in _PATTERNS
        for behavior in BEHAVIORS
        for invert in (False, True)
    ),
    *({"type": "Punctuation", "behavior": behavior} for behavior in BEHAVIORS),
    {"type": "Punctuation"},
    {"type": "Digits", "individual_digits": True},
    _DIGITS,
    *({"type": "CharDelimiterSplit", "delimiter": c} for c in (" ", "-", "é", "中", "😀")),
    *({"type": "FixedLength", "length": length} for length in (1, 2, 5, 1000)),
    {"type": "UnicodeScripts"},
    _pre({"type": "UnicodeScripts"}, _DIGITS),
    _pre(_WORDS, {"type": "UnicodeScripts"}, _metaspace()),
    _pre(_metaspace(), {"type": "UnicodeScripts"}),
    {"type": "BertPreTokenizer"},
    {"type": "Whitespace"},
    _WORDS,
    *(
        _metaspace(scheme, split, mark)
        for scheme in ("always", "first", "never")
        for split in (True, False)
        for mark in ("▁", "·", "_", "a", " ")
    ),
    {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
    _pre(),
    _pre(_WORDS, _metaspace()),
    _pre(_WORDS, _metaspace("first")),
    _pre(_WORDS, _metaspace("never")),
    _pre(_PUNCTUATION, _metaspace()),
    _pre(_PUNCTUATION, _metaspace("first")),
    _pre(_PUNCTUATION, _metaspace("always", False)),
    _pre(_PUNCTUATION, _DIGITS, _metaspace("always", mark="·"), _PUNCTUATION),
    _pre(_metaspace(), _PUNCTUATION, _DIGITS),
    _pre(_metaspace("never"), _split({"String": "▁"}, "Removed")),
    _pre(_DIGITS, _pre(_pre(_PUNCTUATION), _WORDS)),
    _pre(
        _split(_regex(r"\s"), "Removed"),
        _split({"String": "a"}, "Contiguous"),
        {"type": "FixedLength", "length": 2},
    ),
]

BYTE_PRE_TOKENIZERS: list[Json] = [
    *(_level(prefix, use_regex) for prefix in (False, True) for use_regex in (False, True)),
    _pre(_PUNCTUATION, _level()),
    _pre(_PUNCTUATION, _level(prefix=True)),
    _pre(_PUNCTUATION, _level(prefix=True, use_regex=False)),
    _pre(
        {"type": "Punctuation", "behavior": "Contiguous"},
        _level(),
        _DIGITS,
        _split(_regex("[0-9][0-9][0-9]"), "Isolated"),
    ),
    _pre({"type": "UnicodeScripts"}, _level(prefix=True)),
    _pre(_level(use_regex=False), {"type": "UnicodeScripts"}),
    _pre(_level(), {"type": "Digits", "individual_digits": True}),
    _pre(_level(use_regex=False), _PUNCTUATION, _split(_regex(r"\p{L}+"), "MergedWithNext")),
    _pre(_level(prefix=True), _split({"String": "Ġ"}, "Isolated"), _split(_regex("[^a]"), "Contiguous")),
    _pre(_level(use_regex=False), {"type": "FixedLength", "length": 3}),
    _pre(_split(_regex(r"\p{L}+|\p{N}"), "Removed", True), _level()),
    _pre(_WORDS, _level(prefix=True)),
    _pre(_metaspace(), _level(use_regex=False)),
    _pre(_metaspace("never"), _level()),
]


def _replace(pattern: Json, content: str) -> Json:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _bert(clean: bool, chinese: bool, strip: bool | None, lowercase: bool) -> Json:
    return {
        "type": "BertNormalizer",
        "clean_text": clean,
        "handle_chinese_chars": chinese,
        "strip_accents": strip,
        "lowercase": lowercase,
    }


NORMALIZERS: list[Json] = [
    *({"type": kind} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt")),
    *(
        {"type": "Strip", "strip_left": left, "strip_right": right}
        for left in (False, True)
        for right in (False, True)
    ),
    *({"type": "Prepend", "prepend": text} for text in ("▁", "ab ")),
    *(
        _bert(clean, chinese, strip, lower)
        for clean in (False, True)
        for chinese in (False, True)
        for strip in (None, False, True)
        for lower in (False, True)
    ),
    *(_replace(pattern, content) for pattern in _PATTERNS for content in ("", "▁", "xy")),
    _sequence("normalizers"),
    _sequence("normalizers", {"type": "NFC"}, _replace(_regex(r"\s+"), " "), {"type": "Lowercase"}),
    _sequence("normalizers", {"type": "Prepend", "prepend": "▁"}, _replace({"String": " "}, "▁")),
]

BYTE_NORMALIZERS: list[Json] = [
    {"type": "ByteLevel"},
    _sequence("normalizers", {"type": "ByteLevel"}),
    _sequence("normalizers", {"type": "NFC"}, {"type": "Lowercase"}, {"type": "ByteLevel"}),
]


def _strip(content: str, start: int, stop: int) -> Json:
    return {"type": "Strip", "content": content, "start": start, "stop": stop}


def _decoders(*steps: Json) -> Json:
    return _sequence("decoders", *steps)


def _ctc(cleanup: bool, pad: str = "<s>", delimiter: str = "|") -> Json:
    return {"type": "CTC", "pad_token": pad, "word_delimiter_token": delimiter, "cleanup": cleanup}


_FALLBACK, _FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}
_SPACES = _replace({"String": "▁"}, " ")

DECODERS: list[Json | None] = [
    None,
    _FALLBACK,
    _FUSE,
    _level(prefix=True),
    *(
        _replace({"String": pattern}, content)
        for pattern in ("▁", "a", "ab", ".")
        for content in (" ", "", "aa")
    ),
    *(_strip(content, start, 0) for content in (" ", "a", "é") for start in (0, 1, 3)),
    _strip("a", 0, 1),
    *(
        {"type": "WordPiece", "prefix": prefix, "cleanup": cleanup}
        for prefix in ("##", "a", "")
        for cleanup in (False, True)
    ),
    *({"type": "BPEDecoder", "suffix": suffix} for suffix in ("</w>", "a", "")),
    *(_metaspace(scheme, mark=mark) for scheme in ("always", "first", "never") for mark in ("▁", "a", "·")),
    *(
        _ctc(cleanup, pad, delimiter)
        for cleanup in (False, True)
        for pad in ("<s>", "a")
        for delimiter in ("|", "b", ".")
    ),
    _decoders(),
    _decoders(_FUSE),
    _decoders(_SPACES, _FALLBACK, _FUSE, _strip(" ", 1, 0)),
    _decoders(_SPACES, _FALLBACK, _FUSE, _strip(" ", 1, 1)),
    _decoders(_FUSE, _replace({"String": "ab"}, "-"), _strip("-", 2, 0)),
    _decoders(_FALLBACK, _metaspace(), _strip("a", 1, 0)),
    _decoders(_strip("a", 1, 0), {"type": "WordPiece", "prefix": "b", "cleanup": True}, _FUSE),
    _decoders({"type": "BPEDecoder", "suffix": "a"}, _replace({"String": " "}, "_")),
    _decoders(_ctc(True), {"type": "WordPiece", "prefix": "##", "cleanup": True}),
    _decoders(
        _metaspace("first", mark="a"),
        {"type": "BPEDecoder", "suffix": "b"},
        _FUSE,
        _replace({"String": " "}, ""),
    ),
    _decoders(_level(), _replace({"String": "a"}, "b")),
    _decoders(_decoders(_replace({"String": "a"}, "▁")), _decoders(_SPACES, _FUSE)),
]


def _template(single: list[Json], pair: list[Json]) -> Json:
    names = {
        "<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]},
        "two": {"id": "two", "ids": [1, 1], "tokens": ["<s>"] * 2},
    }
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": names}


def _text(name: str, type_id: int = 0) -> Json:
    return {"Sequence": {"id": name, "type_id": type_id}}


def _token(name: str, type_id: int = 0) -> Json:
    return {"SpecialToken": {"id": name, "type_id": type_id}}


def template(single: list[str], pair: list[str]) -> Json:
    """A template of texts alone, `$A` and `$B`."""
    return _template(*([_text(text[1:]) for text in texts] for texts in (single, pair)))


_PAIR = [_text("A"), _token("<s>"), _text("B", 1)]
_TRIMS = {"trim_offsets": True, "add_prefix_space": True}
POST_PROCESSORS: list[Json] = [
    _level(),
    _template([_text("A")], [_text("A"), _text("B", 1)]),
    _template([_token("<s>"), _text("A"), _token("two", 1)], _PAIR),
    _template([_text("A", 3)], [_text("B"), _token("two"), _text("A", 2)]),
    _template([_text("A"), _text("A", 1)], [_text("A"), _text("B", 1)]),
    _template([_token("<s>")], [_token("<s>"), _text("B", 2)]),
    _template([], [_token("<s>"), _text("A", 1)]),
    _template(
        [_text("A", 1), _token("two", 1), _text("A"), _text("A", 2)],
        [_text("B"), _text("A"), _token("<s>"), _text("B", 1), _text("A", 3)],
    ),
    {"type": "BertProcessing", "sep": ["<s>", 1], "cls": ["<s>", 1]},
    {"type": "RobertaProcessing", "sep": ["<s>", 1], "cls": ["<s>", 1], **_TRIMS},
    _sequence("processors", _level(), _template([_token("<s>"), _text("A")], _PAIR)),
    _sequence("processors", _template([_token("<s>"), _text("A")], _PAIR), _level()),
    _sequence("processors"),
]


def _model(kind: str) -> Json:
    if kind == "words":
        return {"type": "WordLevel", "vocab": {"[UNK]": 0, "<s>": 1}, "unk_token": "[UNK]"}
    if kind in ("unigram", "spelled-words", "spelled-pieces"):
        return _spelled_model(kind)
    if kind == "level":
        names = ["[UNK]", "<s>", "a", "ab", "▁a", " ", ".", "a b", "##b", "é"]
        return {
            "type": "WordLevel",
            "vocab": {name: id for id, name in enumerate(names)},
            "unk_token": "[UNK]",
        }
    letters = BYTE_CHARS if kind == "bytes" else list("abcdé中😀▁ .-_·1|#\nA<w/>x'")
    fallback = [] if kind == "bytes" else [f"<0x{byte:02X}>" for byte in range(256)]
    merges = [["a", "b"], ["a", "a"], ["Ġ" if kind == "bytes" else "▁", "a"], ["ab", "a"], ["1", "1"]]
    names = ["[UNK]", "<s>", *letters, *fallback, *("".join(pair) for pair in merges), "##b", "</w>"]
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": "[UNK]",
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": kind == "fallback",
        "ignore_merges": False,
        "vocab": {name: id for id, name in enumerate(dict.fromkeys(names))},
        "merges": merges,
    }


def _spelled_model(kind: str) -> Json:
    """A model of what ByteLevel spells, which is not BPE."""
    letters = [c for c in BYTE_CHARS if c not in "dzĊ"]
    longer = ["Ġa", "ab", "aa", "Ã©", "ä¸Ń", "ĠaÌģ", "11", "Ġ-", "--", "a.b", "ðŁĺĢ", "Ċa", "âĸģ"]
    if kind == "unigram":
        scores = [-4.0 - n / 64 for n in range(len(letters))] + [-3.0 - n / 8 for n in range(len(longer))]
        vocab = zip(["[UNK]", "<s>", *letters, *longer], [0.0, 0.0, *scores], strict=True)
        return {"type": "Unigram", "unk_id": 0, "vocab": list(map(list, vocab)), "byte_fallback": False}
    if kind == "spelled-words":
        names = ["[UNK]", "<s>", *letters, *longer]
        return {
            "type": "WordLevel",
            "vocab": {name: id for id, name in enumerate(names)},
            "unk_token": "[UNK]",
        }
    names = ["[UNK]", "<s>", *letters, *longer, *(f"##{c}" for c in letters), "##ab", "##aa"]
    return {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 20,
        "vocab": {name: id for id, name in enumerate(names)},
    }


def file(model: str, **stages: Json | None) -> str:
    """A tokenizer.json around a model: `words`, `level`, `chars`, `fallback`, `bytes`; of what
    ByteLevel spells, `unigram`, `spelled-words`, `spelled-pieces`."""
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [SPECIAL | RULES],
            "normalizer": stages.get("normalizer"),
            "pre_tokenizer": stages.get("pre_tokenizer"),
            "post_processor": stages.get("post_processor"),
            "decoder": stages.get("decoder"),
            "model": _model(model),
        }
    )
