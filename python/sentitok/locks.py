"""`lock` and `check`: whether a folder still holds the tokenizer that a model was trained with.

A lock file holds the fingerprint of a tokenizer, its settings, and the ids of golden texts, which are made to
tell tokenizers apart. A fingerprint says that something changed; the texts say what.
"""

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._sentitok import FormatError, Tokenizer
from .atomic import write
from .messages import shown
from .pretrained.settings import object_of

__all__ = ["GOLDEN", "LOCK", "Change", "Check", "check", "content", "dumped", "lock", "read_tokenizer"]

#: The file that `lock` writes.
LOCK = "tokenizer.lock.json"
_FORMAT = "sentitok.lock/1"
_RULES = ("content", "id", "special", "single_word", "lstrip", "rstrip", "normalized")
# Special tokens whose texts are tested, and tokens of the vocabulary in a text.
_SPECIALS = 16
_TOKENS = 64
# Characters of a setting that are held whole, and of a longer one.
_MOST_CHARS, _BEGINNING = 1000, 200
_VARIABLES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")

#: Texts that tell tokenizers apart, by what they try.
GOLDEN = {
    "empty": "",
    "spaces": " a b  c   d\te\t\tf\n\ng \n h\r\ni  ",
    "case": "word Word WORD wOrD iPhone McDonald ÀÉ àé ßẞ İı ǅ",
    "digits": "1 12 123 1234 12345 3.14 1,000,000 2026-11-30 ٣٤٥ ५६ Ⅷ x² 1st",
    "accents": "naïve café Zürich Ångström; decomposed: nai\u0308ve cafe\u0301 A\u030angstro\u0308m q\u0323",
    "punctuation": "Don't stop—it's \"fine\" (really?!)... e.g. #tag @name a/b_c-d; «x» „y“ 。、！",
    "contractions": "I'll we've THEY'RE he'd I'M don\u2019t l'été 'tis rock'n'roll",
    "letters and digits": "abc123def 4x4 GPT-4o v2.0.1 0xFF 1e-5 A1B2",
    "code": "def f(x):\n\treturn {'a': x[0] != None}  # why?\n    if (a && b) {\n        c++;\n    }\n\n\n",
    "markup": "<b>bold</b> &amp; [link](x) **x** | $x^2$ \\frac{1}{2} <!-- no -->",
    "addresses": "https://example.com/a?b=c&d=1#e user@example.org C:\\dir\\file.txt",
    "repetition": "the the the aaaaaaaaaaaa ........ ------ ====== !!!!!! hahahahaha",
    "long word": "Donaudampfschifffahrtsgesellschaftskapitän pneumonoultramicroscopicsilicovolcanoconiosis "
    + "ab" * 150,
    "emoji": "🙂👍🏽👨\u200d👩\u200d👧\u200d👦🇩🇪❤\ufe0f1\ufe0f\u20e3 :-) ¯\\_(ツ)_/¯",
    "Chinese": "我们在北京，今天是2026年。繁體字與简体字，没有空格。",
    "Japanese": "これは日本語の文です。カタカナｶﾀｶﾅが\u3099混ざる。",
    "Korean": "안녕하세요, 세계! \u1112\u1161\u11ab\u1100\u1173\u11af",
    "Arabic and Hebrew": "مرحبا بالعالم، السَّلامُ شالوم שָׁלוֹם 12",
    "Indic and Thai": "नमस्ते दुनिया क्षि বাংলা தமிழ் สวัสดีชาวโลก ที่นี่",
    "Greek and Cyrillic": "Καλημέρα κόσμε Ἀθῆναι Привет, мир! їжак Ёлка",
    "scripts": "ა բ ሀ ខ မ ལ ᠮ Ꭰ ᐁ ꦲ ᮞ 𐌰 𐎠 𓀀 𝔄 ⠃ ꙮ",
    "compatibility": "ﬁ Ａｂｃ １２３ ㍿ ½ ™ Å Ω ℌ ｈｔｔｐ ㎏ ﷺ",
    "invisible": "a\u200bb\u200cc\u200dd\u00ade\ufefff\u00a0g\u2009h\u2028i\u2029j\u3000k\u180el\u200fm",
    "controls": "a\x00b\x07c\x08d\x0be\x0cf\x1bg\x7fh\x85i",
    "rare code points": "\ue000 \ufdd0 \uffff \U0010ffff \u0378 \ufffd \U000e0041",
    "surrogates": "a\ud800b\udc00c",
    "spellings of tokens": "▁a ▁▁b Ġc Ċ ##d @@ e</w> <0x0A> <0xFF> ĠĠ",
    "special tokens of others": "<s> </s> [CLS] [MASK] [UNK] <pad> <unk> <|endoftext|> <|im_start|>user",
}


@dataclass(frozen=True)
class Change:
    """One difference.

    Attributes:
        kind: `tokenizer`, `settings`, `ids`, or `transformers`, which is a difference between libraries.
        name: the field, or what the text tries.
        text: the text, of ids.
        before: the value or the ids in the lock file; of `transformers`, what this library gives.
        now: the value or the ids of the folder; of `transformers`, what that library gives.
    """

    kind: str
    name: str
    text: str | None
    before: Any
    now: Any


@dataclass(frozen=True)
class Check:
    """What `check` found.

    Attributes:
        path: the lock file.
        texts: golden texts compared.
        changes: the differences; none, if nothing changed.
        transformers: the version of transformers that was compared, or `None`.
        note: why transformers was not compared, or `None`.
    """

    path: Path
    texts: int
    changes: list[Change] = field(default_factory=list)
    transformers: str | None = None
    note: str | None = None


def content(tokenizer: Tokenizer) -> dict[str, Any]:
    """Returns the content of a lock file for a tokenizer."""
    settings = tokenizer.settings
    templates = {
        name: hashlib.sha256(template.encode("utf-8", "surrogatepass")).hexdigest()
        for name, template in sorted(settings.chat_templates.items())
    }
    about = {name: _short(value) for name, value in tokenizer.info().items() if name != "fingerprint"}
    added = [
        {name: getattr(token, name) for name in _RULES} for token in tokenizer.added_tokens
    ]  # fmt: skip
    return {
        "format": _FORMAT,
        "fingerprint": tokenizer.fingerprint,
        "tokenizer": {**about, "added_tokens": added, "call_defaults": tokenizer.call_defaults},
        "settings": {
            **{name: settings.special_tokens[name] for name in sorted(settings.special_tokens)},
            **{f"chat template {name} (SHA-256)": hash_ for name, hash_ in templates.items()},
            **{name: settings.config[name] for name in sorted(settings.config)},
        },
        "golden": [
            {"name": name, "text": text, "specials": specials, "ids": _ids(tokenizer, text, specials)}
            for name, text, specials in _texts(tokenizer)
        ],
    }


def _short(value: Any) -> Any:
    """Returns a value, or of a long text (a table of characters) its beginning and its hash."""
    if not isinstance(value, str) or len(value) <= _MOST_CHARS:
        return value
    hash_ = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{value[:_BEGINNING]}... (SHA-256 {hash_})"


def _ids(tokenizer: Tokenizer, text: str, specials: str) -> list[int]:
    # 2026-11-30: a text of the lock file is checked to be one of the two
    return tokenizer.encode(text, specials=specials).tolist()  # type: ignore[arg-type]


def _texts(tokenizer: Tokenizer) -> Iterator[tuple[str, str, str]]:
    """Yields name, text, and how special tokens in it are read, of each golden text."""
    for name, text in GOLDEN.items():
        yield name, text, "none"
    special = [token.content for token in tokenizer.added_tokens if token.special][:_SPECIALS]
    for token in special:
        for specials in ("none", "all"):
            yield f"special token {token}", f"a{token}b {token} c\n{token}", specials
    others = [token.content for token in tokenizer.added_tokens if not token.special][:_SPECIALS]
    if others:
        yield "added tokens", "".join(f"a{token}b {token} c " for token in others), "none"
    ids = sorted(tokenizer.vocab().values())
    some = ids[:: max(1, len(ids) // _TOKENS)]
    texts = [tokenizer.decode([id], skip_special_tokens=True) for id in some]
    yield "tokens of the vocabulary", " ".join(text for text in texts if "\ufffd" not in text), "none"


def lock(folder: str | os.PathLike[str]) -> Path:
    """Writes the lock file of a folder, over one that is there; returns its path.

    Raises:
        FormatError: if the folder holds no tokenizer.
        OSError: if the file cannot be written.
    """
    held = content(read_tokenizer(folder))
    path = Path(folder) / LOCK
    write(path, dumped(held))
    return path


def dumped(value: dict[str, Any]) -> bytes:
    """Writes the content of a lock file as JSON, a golden text a line."""
    head = {name: part for name, part in value.items() if name != "golden"}
    text = json.dumps(head, indent=1, sort_keys=False)
    golden = ",\n".join(f"  {json.dumps(one)}" for one in value["golden"])
    return f'{text[:-2]},\n "golden": [\n{golden}\n ]\n}}\n'.encode()


def read_tokenizer(folder: str | os.PathLike[str]) -> Tokenizer:
    """Returns the tokenizer of a folder.

    Raises:
        FormatError: if it holds none.
        OSError: if there is no such folder.
        ValueError: for a URL.
    """
    if "://" in os.fspath(folder):
        raise ValueError(f"{folder}: a lock file is in a folder of this machine; copy the tokenizer to one")
    if Path(folder).is_file():
        raise NotADirectoryError(f"{folder} is a file; name the folder of the tokenizer")
    return Tokenizer.from_pretrained(folder)


def check(folder: str | os.PathLike[str], *, transformers: bool = True) -> Check:
    """Compares the tokenizer of a folder with its lock file, and with what transformers makes of the folder.

    Args:
        folder: the folder, in which `lock` wrote a file.
        transformers: compare the ids of transformers too, if it is installed. It reads the files of the
            folder alone: nothing is fetched, and no code of the folder is run.

    Returns:
        All that differs.

    Raises:
        FileNotFoundError: if there is no lock file.
        FormatError: if the lock file is damaged, or the folder holds no tokenizer.
        OSError: if a file cannot be read.
    """
    tokenizer = read_tokenizer(folder)
    place = Path(folder)
    path = place / LOCK
    if not path.is_file():
        raise FileNotFoundError(f"{place} has no {LOCK}; sentitok lock {place} writes it")
    before = _read(path)
    now = content(tokenizer)
    changes = [Change("tokenizer", "fingerprint", None, before["fingerprint"], now["fingerprint"])]
    # Later releases may say more of a tokenizer, which does not change it.
    for part, names in (
        ("tokenizer", before["tokenizer"]),
        ("settings", before["settings"] | now["settings"]),
    ):
        changes += [Change(part, name, None, before[part].get(name), now[part].get(name)) for name in names]
    for one in before["golden"]:
        ids = _ids(tokenizer, one["text"], one["specials"])
        changes.append(Change("ids", one["name"], one["text"], one["ids"], ids))
    version = note = None
    if transformers:
        version, note, found = _of_transformers(place, tokenizer, before["golden"])
        changes += found
    differ = [change for change in changes if change.before != change.now]
    return Check(path, len(before["golden"]), differ, version, note)


def _read(path: Path) -> dict[str, Any]:
    value = object_of(path)
    if value.get("format") != _FORMAT:
        raise FormatError(
            f"{path}: the format is {shown(value.get('format'))}, not {_FORMAT}; write it again with "
            "sentitok lock --force"
        )
    golden = value.get("golden")
    whole = (
        isinstance(value.get("fingerprint"), str)
        and isinstance(value.get("tokenizer"), dict)
        and isinstance(value.get("settings"), dict)
        and isinstance(golden, list)
        and all(map(_is_golden, golden))
    )
    if not whole:
        raise FormatError(f"{path} is damaged; write it again with sentitok lock --force")
    return value


def _is_golden(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("text"), str)
        and value.get("specials") in ("none", "all")
        and isinstance(value.get("ids"), list)
    )


def _of_transformers(
    folder: Path, tokenizer: Tokenizer, golden: list[dict[str, Any]]
) -> tuple[str | None, str | None, list[Change]]:
    """Returns the version of transformers, why it was not compared, and the ids that both give.

    It finds special tokens in texts wherever they are, so those texts are encoded so here too.
    """
    if importlib.util.find_spec("transformers") is None:
        return None, "transformers is not installed, so not compared", []
    was = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    try:
        import transformers

        theirs: Any = transformers.AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # whatever its classes raise for files that they do not know
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return None, f"transformers cannot load {folder}, so not compared: {reason}", []
    finally:
        for name, value in was.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    found = []
    for text, name in {one["text"]: one["name"] for one in golden}.items():
        if any("\ud800" <= char <= "\udfff" for char in text):
            continue  # which it refuses
        ids = [int(id) for id in theirs(text).input_ids]
        found.append(Change("transformers", name, text, _ids(tokenizer, text, "all"), ids))
    return str(transformers.__version__), None, found
