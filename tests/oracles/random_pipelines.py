"""Random tokenizer.json files: small models of each kind, every stage around them at random.

Each is a plain value, so that what a library makes of it is that library's affair. The pools
are small on purpose: contents overlap, are pieces, hold spaces, and change under normalizers.
"""

import json
import random
from dataclasses import dataclass
from typing import Any

import tokenizers

from sentitok import FormatError, Tokenizer

#: What texts and pieces are made of: case, accents, ligatures, white space, marks, parts of specials.
LETTERS = ["a", "b", "A", "é", "e\u0301", "ﬁ", "ß", "İ", "中", "😀", "Ａ"]
SIGNS = [" ", "  ", "\n", "\u00a0", "▁", ".", "'", "<", ">", "s", "#", "1", "Ġ", "</w>"]
CONTENTS = [
    "a", "ab", "b a", " a", "a ", "<s>", "<m>", "s>", "A", "AB", "é", "e\u0301", "▁a", "ﬁ", "A b", " ", "  ",
    "Ġa", "##a", ".", "a</w>", "<0x41>", "中", "foo", "\n",
]  # fmt: skip
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
KINDS = ("bpe", "bytes", "wordpiece", "unigram", "wordlevel")

Json = dict[str, Any]


@dataclass
class Pipeline:
    """A file without added tokens, and the tokens to add: content, special, other flags."""

    kind: str
    file: Json
    added: list[tuple[str, bool, dict[str, bool]]]


def text(rng: random.Random) -> str:
    """A short text over the pools."""
    parts = [rng.choice(rng.choice([LETTERS, LETTERS, SIGNS, CONTENTS])) for _ in range(rng.randrange(9))]
    return "".join(parts)


def pipeline(kind: str, rng: random.Random) -> Pipeline:
    """A random pipeline around a model of this kind."""
    makers = {"bpe": _bpe, "bytes": _byte_bpe, "wordpiece": _wordpiece, "unigram": _unigram}
    model = {**makers, "wordlevel": _wordlevel}[kind](rng)
    names = list(model["vocab"]) if kind != "unigram" else [piece for piece, _ in model["vocab"]]
    flags = ("single_word", "lstrip", "rstrip", "normalized")
    contents = rng.sample(CONTENTS, rng.randrange(6))
    if rng.random() < 0.5:
        contents += [name for name in rng.sample(names, min(2, len(names))) if name not in contents]
    # A special token is not a byte piece: text that becomes one by its bytes is not affected by special
    # tokens.
    added = [
        (content, rng.random() < 0.5 and content not in BYTES, {flag: rng.random() < 0.3 for flag in flags})
        for content in contents
    ]
    is_bytes = kind == "bytes"
    file: Json = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": _sequence(rng, "normalizers", [_normalizer(rng) for _ in range(rng.randrange(4))]),
        "pre_tokenizer": _byte_splitter(rng) if is_bytes else _splitter(rng),
        "post_processor": _post_processor(rng, model, names),
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
        if is_bytes
        else _decoder(rng),
        "model": model,
    }
    return Pipeline(kind, file, added)


def loaded(case: Pipeline) -> Tokenizer | None:
    """The tokenizer of a pipeline with its added tokens; `None` if tokenizers or sentitok refuses it."""
    try:
        theirs = tokenizers.Tokenizer.from_str(json.dumps(case.file))
        for content, special, flags in case.added:
            token = tokenizers.AddedToken(content, **flags)
            (theirs.add_special_tokens if special else theirs.add_tokens)([token])
        return Tokenizer.from_bytes(theirs.to_str().encode())
    except (KeyboardInterrupt, SystemExit):
        raise
    except (FormatError, Exception):
        return None


def barred(file: str, allowed: set[str]) -> str:
    """The file as text must meet it when only some special tokens may be made of text.

    The remaining ones are named by characters (syllables of Yi) that no text here has and no normalizer
    changes, so that neither a search nor a model finds them; merges with them are gone. A byte that
    is a special token stays.
    """
    value: Json = json.loads(file)
    model = value["model"]
    is_bytes = '"ByteLevel"' in json.dumps(value["pre_tokenizer"])
    renamed = {}
    kept = []
    for at, token in enumerate(value["added_tokens"]):
        name = token["content"]
        if token["special"] and name not in allowed:
            if is_bytes and len(name) == 1 and name in model["vocab"]:
                # A special token that is a byte keeps its piece and loses its search.
                continue
            token["content"] = renamed[name] = chr(0xA000 + at)
        kept.append(token)
    value["added_tokens"] = kept
    if model["type"] == "Unigram":
        model["vocab"] = [[renamed.get(piece, piece), score] for piece, score in model["vocab"]]
    else:
        model["vocab"] = {renamed.get(name, name): id for name, id in model["vocab"].items()}
    if model.get("unk_token") in renamed:
        model["unk_token"] = renamed[model["unk_token"]]
    if "merges" in model:
        prefix = len(model["continuing_subword_prefix"] or "")
        model["merges"] = [
            [left, right]
            for left, right in model["merges"]
            if not {left, right, left + right[prefix:]} & set(renamed)
        ]
    return json.dumps(value)


def _some(rng: random.Random, most: int) -> str:
    return "".join(rng.choice(LETTERS + SIGNS) for _ in range(rng.randint(1, most)))


def _bpe(rng: random.Random) -> Json:
    prefix = rng.choice([None, None, "", "##", "_", "a"])
    suffix = rng.choice([None, None, "", "</w>", "_", "b"])
    head, tail = prefix or "", suffix or ""
    symbols = rng.sample("abAés fi</w>#.中'▁Ġ1", rng.randint(2, 10))
    tokens: dict[str, None] = {}
    for c in symbols:
        for token in (c, head + c, c + tail, head + c + tail):
            if token and (token == c or rng.random() < 0.7):
                tokens.setdefault(token, None)
    unk = rng.choice([None, "<unk>", "<unk>", rng.choice(list(tokens))])
    names = list(tokens)
    merges: list[list[str]] = []
    rights = [name for name in names if name.startswith(head)]
    for _ in range(rng.randrange(10)):
        if not rights:
            break
        left, right = rng.choice(names), rng.choice(rights)
        made = left + right[len(head) :]
        if [left, right] in merges:
            continue
        merges.append([left, right])
        if made not in tokens:
            tokens[made] = None
            names.append(made)
            if made.startswith(head):
                rights.append(made)
    fallback = rng.random() < 0.4
    if fallback:
        missing = rng.choice([set(), set(), {"<0xC3>"}, {"<0x61>", "<0xF0>"}])
        names += [name for name in BYTES if name not in missing and name not in tokens]
    if unk and unk not in names:
        names.insert(rng.randrange(len(names) + 1), unk)
    if rng.random() < 0.3:
        names += [name for name in rng.sample(CONTENTS, 2) if name not in names]
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unk,
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix,
        "fuse_unk": rng.random() < 0.5,
        "byte_fallback": fallback,
        "ignore_merges": rng.random() < 0.3,
        "vocab": {name: id for id, name in enumerate(names)},
        "merges": merges,
    }


def _byte_chars() -> list[str]:
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (byte for byte in range(256) if byte not in plain)
    table = {byte: chr(byte) for byte in plain}
    table |= {byte: chr(256 + n) for n, byte in enumerate(others)}
    return [table[byte] for byte in range(256)]


BYTE_CHARS = _byte_chars()


def _spelled(text: str) -> str:
    return "".join(BYTE_CHARS[byte] for byte in text.encode())


def _byte_bpe(rng: random.Random) -> Json:
    prefix = rng.choice([None, None, None, "", "##"])
    suffix = rng.choice([None, None, None, "", "</w>"])
    missing = rng.choice([set(), set(), set(), {"a"}, {" ", "é"}])
    gone = {char for text in missing for char in _spelled(text)}
    names = [char for char in BYTE_CHARS if char not in gone]
    if suffix:
        names += [char + suffix for char in ("a", "b", "Ġ", ".") if rng.random() < 0.7]
    if prefix:
        names += [prefix + char for char in ("a", "b", "Ġ", ".") if rng.random() < 0.7]
    likely = [name for char in "ab é中▁.s<>" for name in _spelled(char) if name in names] + names[256:]
    merges: list[list[str]] = []
    head = prefix or ""
    for _ in range(rng.randrange(12)):
        left, right = rng.choice(likely), rng.choice(likely)
        if not right.startswith(head) or [left, right] in merges:
            continue
        made = left + right[len(head) :]
        merges.append([left, right])
        if made not in names:
            names.append(made)
            likely += [made] * 3
    unk = rng.choice([None, None, "<unk>"])
    if unk:
        names.append(unk)
    if rng.random() < 0.3:
        extra = [_spelled(content) for content in rng.sample(CONTENTS, 2)]
        names += [name for name in dict.fromkeys(extra) if name not in names]
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unk,
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix,
        "fuse_unk": rng.random() < 0.5,
        "byte_fallback": False,
        "ignore_merges": rng.random() < 0.3,
        "vocab": {name: id for id, name in enumerate(names)},
        "merges": merges,
    }


def _wordpiece(rng: random.Random) -> Json:
    prefix = rng.choice(["##", "##", "", "a", "▁"])
    pieces = [_some(rng, 3) for _ in range(rng.randrange(12))]
    pieces += [prefix + _some(rng, 2) for _ in range(rng.randrange(8))]
    unk = rng.choice(["[UNK]", "[UNK]", "<s>", "a"])
    names = list(dict.fromkeys([unk, *pieces, *(c for c in "abse.<>" if rng.random() < 0.6)]))
    rng.shuffle(names)
    return {
        "type": "WordPiece",
        "unk_token": unk,
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": rng.choice([100, 100, 3]),
        "vocab": {name: id for id, name in enumerate(names)},
    }


def _wordlevel(rng: random.Random) -> Json:
    unk = rng.choice(["[UNK]", "[UNK]", "<s>", "a"])
    names = list(dict.fromkeys([unk, *(_some(rng, 3) for _ in range(rng.randrange(20))), *"ab▁ "]))
    rng.shuffle(names)
    return {"type": "WordLevel", "unk_token": unk, "vocab": {name: id for id, name in enumerate(names)}}


def _unigram(rng: random.Random) -> Json:
    pieces = [_some(rng, 3) for _ in range(rng.randrange(4, 12))]
    pieces += ["▁", "▁a", "▁b", "a", "b", "s", "<s>"][: rng.randrange(8)]
    fallback = rng.random() < 0.4
    if fallback:
        missing = rng.choice([set(), set(), {"<0xC3>"}, {"<0x61>", "<0xF0>"}])
        pieces += [name for name in BYTES if name not in missing]
    names = list(dict.fromkeys(["<unk>", *pieces]))
    return {
        "type": "Unigram",
        "unk_id": rng.choice([0, 0, 0, 0, rng.randrange(min(len(names), 5))]),
        "vocab": [[name, -rng.randint(0, 80) / 8] for name in names],
        "byte_fallback": fallback,
    }


def _sequence(rng: random.Random, key: str, steps: list[Json]) -> Json | None:
    if not steps and rng.random() < 0.7:
        return None
    if len(steps) == 1 and rng.random() < 0.7:
        return steps[0]
    return {"type": "Sequence", key: steps}


def _normalizer(rng: random.Random) -> Json:
    one = rng.choice

    def flag() -> bool:
        return rng.random() < 0.5

    literal, regex = one([" ", "a", "ab", "▁"]), one([" +", "[ab]", r"\s", "a|ab"])
    return one([
        {"type": "Prepend", "prepend": one(["▁", "x", " "])},
        {"type": "Replace", "pattern": {"String": literal}, "content": one(["▁", "", "b", " "])},
        {"type": "Replace", "pattern": {"Regex": regex}, "content": one(["▁", "", "A", " "])},
        {"type": "Strip", "strip_left": flag(), "strip_right": flag()},
        {"type": one(["NFC", "NFD", "NFKC", "NFKD"])},
        {"type": "Lowercase"},
        {"type": "StripAccents"},
        {"type": "Nmt"},
        {"type": "BertNormalizer", "clean_text": flag(), "handle_chinese_chars": flag(),
         "strip_accents": one([None, True, False]), "lowercase": flag()},
    ])  # fmt: skip


def _metaspace(rng: random.Random, key: str) -> Json:
    scheme = rng.choice(["always", "first", "never"])
    made: Json = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme}
    return made | {"split": rng.random() < 0.7} if key == "split" else made | {"split": True}


def _single(rng: random.Random) -> Json:
    split: Json = {"type": "Split", "invert": False}
    regex, literal = rng.choice([r"\s+", "[ab]+", r"\w+|[^\w\s]+"]), rng.choice([" ", "a", "."])
    behavior = rng.choice(["MergedWithPrevious", "MergedWithNext", "Isolated", "Removed", "Contiguous"])
    split["invert"] = rng.random() < 0.3
    return rng.choice([
        {"type": "Whitespace"},
        {"type": "WhitespaceSplit"},
        {"type": "BertPreTokenizer"},
        {"type": "Digits", "individual_digits": rng.random() < 0.5},
        {"type": "Punctuation", "behavior": behavior},
        {"type": "CharDelimiterSplit", "delimiter": rng.choice(" a.")},
        split | {"pattern": {"Regex": regex}, "behavior": behavior},
        split | {"pattern": {"String": literal}, "behavior": behavior},
    ])  # fmt: skip


def _splitter(rng: random.Random) -> Json | None:
    return rng.choice([
        None,
        _metaspace(rng, "split"),
        _metaspace(rng, "split"),
        _single(rng),
        _single(rng),
        {"type": "Sequence", "pretokenizers": [_single(rng), _single(rng)]},
        {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, _metaspace(rng, "split")]},
        {"type": "Sequence", "pretokenizers": [_single(rng), _metaspace(rng, "split")]},
        {"type": "Sequence", "pretokenizers": [_metaspace(rng, "split"), _single(rng)]},
    ])  # fmt: skip


def _byte_splitter(rng: random.Random) -> Json:
    level = {"type": "ByteLevel", "trim_offsets": rng.random() < 0.5}
    return rng.choice([
        level | {"add_prefix_space": False, "use_regex": True},
        level | {"add_prefix_space": True, "use_regex": True},
        level | {"add_prefix_space": False, "use_regex": False},
        {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": r"\s+|\S+"}, "behavior": "Isolated", "invert": False},
            level | {"add_prefix_space": False, "use_regex": False},
        ]},
        {"type": "Sequence", "pretokenizers": [
            _single(rng), level | {"add_prefix_space": True, "use_regex": False},
        ]},
        {"type": "Sequence", "pretokenizers": [
            {"type": "Punctuation", "behavior": "Contiguous"},
            level | {"add_prefix_space": False, "use_regex": True},
            {"type": "Digits", "individual_digits": rng.random() < 0.5},
        ]},
    ])  # fmt: skip


def _decoder(rng: random.Random) -> Json | None:
    replace = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": rng.randrange(3), "stop": 0}
    llama = [replace, {"type": "ByteFallback"}, {"type": "Fuse"}, strip]
    others = [
        {"type": "CTC", "pad_token": "a", "word_delimiter_token": "b", "cleanup": rng.random() < 0.5},
        {"type": "BPEDecoder", "suffix": rng.choice(["</w>", "b"])},
        {"type": "WordPiece", "prefix": rng.choice(["##", "a"]), "cleanup": rng.random() < 0.5},
        {
            "type": "Replace",
            "pattern": {"String": rng.choice(["a", " ", "ab"])},
            "content": rng.choice(["", "b"]),
        },
    ]
    return rng.choice([
        None,
        {"type": "Fuse"},
        _metaspace(rng, "decoder"),
        {"type": "BPEDecoder", "suffix": rng.choice(["</w>", "_", "b", "", "a"])},
        {"type": "WordPiece", "prefix": rng.choice(["##", "a", ""]), "cleanup": rng.random() < 0.5},
        {"type": "Sequence", "decoders": llama[: rng.randint(1, 4)]},
        {"type": "Sequence", "decoders": [replace, {"type": "Fuse"}, strip]},
        {"type": "Sequence", "decoders": [rng.choice(llama) for _ in range(rng.randrange(4))]},
        {"type": "Sequence", "decoders": [rng.choice([*llama, *others]) for _ in range(rng.randrange(4))]},
    ])  # fmt: skip


def _post_processor(rng: random.Random, model: Json, names: list[str]) -> Json | None:
    ids = {name: id for id, name in enumerate(names)}
    first, second = rng.choice(names), rng.choice(names)
    trims = {"trim_offsets": rng.random() < 0.5, "add_prefix_space": rng.random() < 0.5}
    level = {"type": "ByteLevel", **trims, "use_regex": rng.random() < 0.5}

    def special(name: str, type_id: int) -> Json:
        return {"SpecialToken": {"id": name, "type_id": type_id}}

    def sequence(name: str, type_id: int) -> Json:
        return {"Sequence": {"id": name, "type_id": type_id}}

    template = {
        "type": "TemplateProcessing",
        "single": [special(first, 0), sequence("A", rng.randrange(2)), special(second, 1)],
        "pair": [sequence("A", 0), special(first, 0), sequence("B", 1)],
        "special_tokens": {
            name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in (first, second)
        },
    }  # fmt: skip
    return rng.choice([
        None,
        None,
        level,
        template,
        {"type": "BertProcessing", "sep": [first, ids[first]], "cls": [second, ids[second]]},
        {"type": "RobertaProcessing", "sep": [first, ids[first]], "cls": [second, ids[second]], **trims},
        {"type": "Sequence", "processors": [level, template]},
        {"type": "Sequence", "processors": [template, level]},
    ])  # fmt: skip
