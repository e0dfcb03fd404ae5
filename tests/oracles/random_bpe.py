"""Random small BPE models and texts for them: few letters, few distinct scores.

What finds most: all short texts over two or three letters, pieces made of other
pieces, equal scores, and every type of piece along with plain ones.
"""

import itertools
import json
import random
from collections.abc import Iterable, Sequence

from .bpe import BYTE_TO_CHAR
from .merging import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, ByList, ByRanks

ALL_BYTES = [BYTE_TO_CHAR[byte] for byte in range(256)]
CHAR_TO_BYTE = {char: byte for byte, char in BYTE_TO_CHAR.items()}


def spelled(text: str) -> str:
    """A text as byte-level files spell it."""
    return "".join(BYTE_TO_CHAR[byte] for byte in text.encode())


BYTES = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]


def random_pieces(rng: random.Random) -> tuple[list[tuple[str, float, int]], bool]:
    """Pieces over two or three letters, few scores, of some types; and byte fallback."""
    letters = rng.choice(["ab", "ab", "abc", "aé"])
    others = rng.choice([[], [], [UNUSED], [USER_DEFINED], [CONTROL], [UNUSED, USER_DEFINED, CONTROL]])
    least = rng.choice([0, -1, -2, -4, -30])
    pieces: dict[str, tuple[float, int]] = {}
    if rng.random() < 0.7:
        pieces = {letter: (rng.randint(least, 0), NORMAL) for letter in letters}
    for _ in range(rng.randint(1, 10)):
        # Pieces made of earlier pieces merge most often.
        text = "".join(rng.choices(list(pieces) or letters, k=2)) if rng.random() < 0.6 else None
        text = text or "".join(rng.choices(letters, k=rng.randint(1, 5)))
        kind = rng.choice(others) if others and rng.random() < 0.4 else NORMAL
        if len(text) <= 9:
            pieces[text] = (rng.randint(least, 0), kind)
    listed = [(text, float(score), kind) for text, (score, kind) in pieces.items()]
    if not any(kind in (NORMAL, USER_DEFINED) for _, _, kind in listed):
        listed.append(("c" * 3, 0.0, NORMAL))
    byte_fallback = rng.random() < 0.3
    special = [("<s>", 0.0, CONTROL), *(BYTES if byte_fallback else [])]
    unknown = ("<unk>" if rng.random() < 0.95 or "a" in pieces else "a", 0.0, UNKNOWN)
    if rng.random() < 0.5:
        return [unknown, *special, *listed], byte_fallback
    rng.shuffle(listed)
    return [*listed[:2], *special, unknown, *listed[2:]], byte_fallback


def random_list(
    rng: random.Random, alphabet: Sequence[str], known: Sequence[str], *, affixes: bool
) -> ByList:
    """Merges of random tokens over `alphabet`; `known` are more tokens."""
    prefix, suffix = (rng.choice(["", "##", "a"]), rng.choice(["", "</w>", "b"])) if affixes else ("", "")
    units = dict.fromkeys(p + c + s for c in alphabet for p in ("", prefix) for s in ("", suffix))
    tokens = [*known, *(unit for unit in units if unit not in known)]
    some = [unit for unit in tokens if unit not in known]
    merges = []
    for _ in range(rng.randint(0, 10)):
        inner = [token for token in some if token.startswith(prefix) and token != prefix]
        if not inner:
            break
        left, right = rng.choice(some), rng.choice(inner)
        if known and rng.random() < 0.03:
            left = rng.choice(known)
        joined = left + right.removeprefix(prefix)
        if len(joined) < 12:
            merges.append((left, right))
            some += [] if joined in tokens else [joined, joined]
            tokens += [] if joined in tokens else [joined]
    # Tokens that no merge makes.
    lone = dict.fromkeys("".join(rng.choices(alphabet, k=3)) for _ in range(2))
    tokens += [token for token in lone if token not in tokens]
    rng.shuffle(merges if rng.random() < 0.3 else [])
    rng.shuffle(tokens if rng.random() < 0.5 else [])
    return ByList(
        {token: id for id, token in enumerate(tokens)},
        merges,
        ignore_merges=rng.random() < 0.3,
        prefix=prefix,
        suffix=suffix,
    )


def random_chars(rng: random.Random) -> tuple[str, list[str], ByList]:
    """Letters, tokens that do not represent text, and merges of characters."""
    letters = rng.choice(["ab", "abc", "aé"])
    unk = rng.choice([None, "<unk>", "<unk>", "a"])
    byte_fallback = rng.random() < 0.2
    known = [*([unk] if unk else []), *([token for token, _, _ in BYTES] if byte_fallback else [])]
    alphabet = [c for c in letters if rng.random() < 0.9] or ["a"]
    model = random_list(rng, alphabet, known, affixes=rng.random() < 0.3)
    model.unk, model.byte_fallback, model.fuse_unk = unk, byte_fallback, rng.random() < 0.5
    return letters, known, model


def random_bytes(rng: random.Random) -> tuple[str, ByList]:
    """Letters, and merges of bytes, mostly with a token for each of the 256."""
    letters = rng.choice(["ab", "aé", "éè"])
    model = random_list(rng, list(spelled(letters)), [], affixes=rng.random() < 0.2)
    rest = [char for char in ALL_BYTES if char not in model.tokens]
    if rng.random() < 0.8:
        first = rng.random() < 0.5 and not model.prefix
        tokens = [*rest, *model.tokens] if first else [*model.tokens, *rest]
        model.tokens = {token: id for id, token in enumerate(tokens)}
    return letters, model


def random_ranks(rng: random.Random) -> tuple[str, ByRanks]:
    """Letters, and tokens by rank in any order, at times with a rank left out."""
    letters = rng.choice(["ab", "abc", "aé", "éè"])
    units = list(spelled(letters))
    longer = {"".join(rng.choices(units, k=rng.randint(2, 5))) for _ in range(rng.randint(1, 10))}
    tokens = [*ALL_BYTES, *sorted(longer)]
    rng.shuffle(tokens if rng.random() < 0.5 else [])
    gap = rng.randint(0, len(tokens)) if rng.random() < 0.2 else len(tokens)
    return letters, ByRanks({token: id + (id >= gap) for id, token in enumerate(tokens)})


def json_file(model: ByList, *, byte_level: bool) -> bytes:
    """A model as tokenizer.json."""
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    stages = {"pre_tokenizer": step, "decoder": step} if byte_level else {}
    file = {
        "version": "1.0",
        "added_tokens": [],
        **stages,
        "model": {
            "type": "BPE",
            "unk_token": model.unk,
            "continuing_subword_prefix": model.prefix or None,
            "end_of_word_suffix": model.suffix or None,
            "fuse_unk": model.fuse_unk,
            "byte_fallback": model.byte_fallback,
            "ignore_merges": model.ignore_merges,
            "vocab": model.tokens,
            "merges": [list(pair) for pair in model.merges],
        },
    }
    return json.dumps(file).encode()


def texts_over(letters: str, rng: random.Random, more: Iterable[str] = ()) -> list[str]:
    """All short texts over letters and an unknown one, some longer ones, and `more`."""
    letters += "x"
    lengths = range(1, 5 if len(letters) < 4 else 4)
    short = ["".join(text) for n in lengths for text in itertools.product(letters, repeat=n)]
    long = ["".join(rng.choices(letters, k=rng.randint(5, 12))) for _ in range(20)]
    # Beyond the length that is merged by scanning.
    return [*short, *long, "".join(rng.choices(letters, k=80)), *more]


def words_of(tokens: Iterable[str]) -> list[str]:
    """The tokens of several bytes that are letters."""
    spelt = (bytes(CHAR_TO_BYTE[char] for char in token) for token in tokens if len(token) > 1)
    return [text for text in (token.decode("utf-8", "ignore") for token in spelt) if text.isalpha()]
