"""Damaged files of every format that is read: an answer or an error of ours, soon and in little memory.

    python tests/fuzz_files.py --count 100000               # damaged files of all formats together
    python tests/fuzz_files.py --minutes 30 model counts    # 30 minutes of the formats with these words

Valid files are changed: bits, bytes, lines, lengths, parts of another file, values of JSON. Each is read and
used in a separate process kind, which is started again where it dies. A failure is an exception that is not
of `sentitok` or `sentimodels`, a crash, more than 2 s, or more than 20 times the file's size and 64 MB.
Prints a line per format, and what repeats each failure; ends with status 1 after one.
"""

import argparse
import base64
import bz2
import gzip
import io
import json
import lzma
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "sentitok"))

import contextlib

import sentitok
from oracles import random_bpe, random_pipelines, unigram_models
from oracles.model_file import bpe_model
from sentitok import InternalError, SentitokError, Tokenizer, WordCounts
from sentitok.documents import Documents

#: What reading may take: seconds of a processor; bytes for each byte of the files, and in addition.
SECONDS, FACTOR, MEMORY = 2.0, 20, 64 << 20
#: When a process is killed: seconds of a processor for one file, or of a clock, if it waits for something.
LONGEST, PATIENCE = 60, 1200
TEXT = "The film <s> was é 12 中\n ab"
LINES = [f"{number} a film of {number * 7} minutes, and a man" for number in range(30)]

#: Files by their names in a folder.
Files = dict[str, bytes]


@dataclass
class Format:
    """The files to damage, and how they are read."""

    #: Makes the folders of valid files.
    make: Callable[[], list[Files]]
    #: Reads and uses one.
    use: Callable[[Path], Any]
    #: How often it is chosen.
    weight: int = 10
    #: Completes a folder after the damage: hashes, so that the content behind them is read.
    finish: Callable[[Files, random.Random], None] = lambda files, rng: None
    valid: list[Files] = field(default_factory=list)


# How files are damaged.

ODD: list[Any] = [
    *(None, True, -1, 0, 1, 2, 1.5, -0.0, 1e308, 1e-320, 1 << 31, 1 << 32, 1 << 63, 1 << 64, -(1 << 63)),
    *("", "a", "\0", "▁", "<s>", "é", "\ud800", "../x", "(?=a+)+", "[", "a" * 300, "uint16", "NFKC"),
    *([], {}, [[]], [1], [None], {"type": "Sequence"}, {"": 0}),
]
NUMBERS = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All containers of a JSON value with one of their keys."""
    stack = [value]
    while stack:
        container = stack.pop()
        keys: Any = container if isinstance(container, dict) else range(len(container))
        for key in keys:
            yield container, key
            if isinstance(container[key], dict | list):
                stack.append(container[key])


def damaged_json(data: bytes, rng: random.Random) -> bytes | None:
    """One to three values of a JSON file changed, behind a header or not; `None` if it is not one."""
    head, brace, rest = data.partition(b"{")
    try:
        value = json.loads(brace + rest)
    except (ValueError, RecursionError):
        # A header and a value, each on a line.
        lines = data.splitlines(keepends=True)
        objects = [at for at, line in enumerate(lines) if b"{" in line and len(lines) < 100]
        if len(lines) < 2 or not objects:
            return None
        at = rng.choice(objects)
        changed = damaged_json(lines[at].rstrip(b"\n"), rng)
        return changed and b"".join([*lines[:at], changed, b"\n", *lines[at + 1 :]])
    if not isinstance(value, dict | list):
        return None
    for _ in range(rng.choice([1, 1, 2, 3])):
        found: list[tuple[Any, Any]] = list(places(value))
        if not found:
            break
        # Nodes near the root as often as all further ones, which are mostly entries of a vocabulary.
        container, key = rng.choice(found[:30] if rng.random() < 0.5 else found)
        match rng.randrange(5):
            case 0:
                del container[key]
            case 1:
                container[key] = copied(rng.choice(ODD))
            case 2:
                other, name = rng.choice(found)
                # What an earlier change removed is gone.
                if _has(other, name):
                    container[key] = copied(other[name])
            case 3 if isinstance(container, list):
                container.insert(rng.randrange(len(container) + 1), copied(container[key]))
            case 3:
                container[str(rng.choice(ODD))[:50]] = copied(container[key])
            case _:
                old = container[key]
                if isinstance(old, bool) or old is None:
                    container[key] = not old
                elif isinstance(old, int | float):
                    container[key] = rng.choice([old + 1, old - 1, -old, old * 1000, str(old)])
                elif isinstance(old, str):
                    container[key] = rng.choice([old[1:], old + "a", old * 2, old.upper(), [old]])
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    return head + text.encode("utf-8", "surrogatepass")


def copied(value: Any) -> Any:
    """A JSON value that shares nothing with another."""
    return json.loads(json.dumps(value))


def _has(container: Any, key: Any) -> bool:
    return key in container if isinstance(container, dict) else isinstance(key, int) and key < len(container)


def damaged_lines(data: bytes, rng: random.Random) -> bytes:
    """One to three fields of lines changed; base64 stays base64."""
    lines = data.split(b"\n")
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(lines))
        parts, others = lines[at].split(b" "), lines[rng.randrange(len(lines))].split(b" ")
        place = rng.randrange(len(parts))
        old = parts[place]
        match rng.randrange(5):
            case 0:
                parts[place] = others[place % len(others)]
            case 1 if old.isdigit():
                number = int(old)
                parts[place] = b"%d" % rng.choice([number + 1, number - 1, number * 1000, *NUMBERS])
            case 2:
                lines.insert(rng.randrange(len(lines)), lines[at])
            case 3:
                parts = parts[:place] + parts[place + 1 :]
            case _:
                try:
                    token = base64.b64decode(old, validate=True)
                except ValueError:
                    token = b""
                changed = damaged_bytes(token or old, b"", rng)
                parts[place] = base64.b64encode(changed) if token else changed
        lines[at] = b" ".join(parts)
    return b"\n".join(lines)


def varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


def as_varint(number: int) -> bytes:
    out = bytearray()
    number &= (1 << 64) - 1
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def damaged_message(data: bytes, rng: random.Random) -> bytes:
    """One field of a protocol buffer changed, or of a message in it; lengths stay right."""
    fields: list[tuple[int, Any]] = []
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            number, at = varint(data, at)
            fields.append((tag, number))
        else:
            size, at = varint(data, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
            fields.append((tag, data[at : at + size]))
            at += size
    # The last ones say how to train and normalize.
    near = [len(fields) - 1, len(fields) - 2] if rng.random() < 0.3 else range(len(fields))
    place = rng.choice([index for index in near if index >= 0])
    tag, value = fields[place]
    match rng.randrange(6):
        case 0:
            del fields[place]
        case 1:
            fields.insert(rng.randrange(len(fields)), fields[place])
        case 2:
            fields[place] = (rng.choice([tag, tag ^ 8, tag + 8]), value)
        case _ if isinstance(value, int):
            fields[place] = (tag, rng.choice([*NUMBERS, 2, 3, 4, 5, 6, value + 1]))
        case _ if tag & 7 == 5:
            score = rng.choice([0.0, -0.0, 1.0, -1.0, 1e38, -1e38, 1e-45, float("inf"), float("nan")])
            fields[place] = (tag, struct.pack("<f", score))
        case 3 | 4:
            try:
                fields[place] = (tag, damaged_message(value, rng))
            except (IndexError, KeyError):
                fields[place] = (tag, damaged_bytes(value, b"", rng))
        case _:
            fields[place] = (tag, damaged_bytes(value, b"", rng))
    out = bytearray()
    for tag, value in fields:
        out += as_varint(tag)
        if isinstance(value, int):
            out += as_varint(value)
        else:
            out += (as_varint(len(value)) if tag & 7 == 2 else b"") + value
    return bytes(out)


def damaged_bytes(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, as faulty disks, transfers and people do."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        at = rng.randrange(len(out) + 1)
        near = min(len(out), at + rng.choice([1, 2, 4, 8, 30, 200]))
        match rng.randrange(12):
            case 0 | 1 if out:
                out[at % len(out)] ^= 1 << rng.randrange(8)
            case 2 if out:
                out[at % len(out)] = rng.choice([0, 0xFF, 0x80, 0x7F, rng.randrange(256)])
            case 3:
                del out[at:]
            case 4:
                del out[at:near]
            case 5:
                out[at:at] = out[at:near] * rng.choice([1, 2, 50])
            case 6:
                start = rng.randrange(len(other) + 1)
                out[at:near] = other[start : start + rng.choice([1, 8, 100, len(other)])]
            case 7:
                size = rng.choice([1, 2, 4, 8])
                number = (rng.choice(NUMBERS) & ((1 << 8 * size) - 1)).to_bytes(
                    size, rng.choice(["little", "big"])
                )
                out[at : at + size] = number
            case 8:
                out[at:at] = rng.choice(
                    [b"\0", b"\xef\xbb\xbf", b"\r", b"\n\n", b"\xff\xfe", b'"', b"\x80", b"\t"]
                )
            case 9:
                digits = [n for n, byte in enumerate(out) if 48 <= byte <= 57]
                if digits:
                    place = rng.choice(digits)
                    out[place : place + 1] = rng.choice([b"9" * 20, b"-1", b"0", b"1e999", b"NaN"])
            case 10:
                lines = bytes(out).split(b"\n")
                first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines[first], lines[second] = lines[second], lines[rng.choice([first, second])]
                out = bytearray(b"\n".join(lines))
            case _:
                out[at:near] = rng.randbytes(near - at)
    return bytes(out[: 1 << 20])


def damaged(form: Format, rng: random.Random) -> Files:
    """A folder of valid files of which one is changed; rarely, one is missing or of another format."""
    files = dict(rng.choice(form.valid))
    name = rng.choice(sorted(files))
    other = rng.choice(form.valid)
    data, more = files[name], other.get(name, b"")
    if len(files) > 1 and rng.random() < 0.03:
        del files[name]
    elif rng.random() < 0.02:
        files[name] = rng.choice([b"", b"\0" * 100, b"[" * 100_000, b'{"a":' * 50_000, rng.randbytes(300)])
    else:
        changed = damaged_json(data, rng) if rng.random() < 0.6 else None
        if changed is None and rng.random() < 0.7:
            changed = damaged_message(data, rng) if name.endswith(".model") else damaged_lines(data, rng)
        files[name] = damaged_bytes(data, more, rng) if changed is None else changed
    form.finish(files, rng)
    return files


# How they are read and used.


def use_tokenizer(tokenizer: Tokenizer) -> None:
    """Everything that is done with a tokenizer, on a little text."""
    try:
        encoding = tokenizer.encode(TEXT)
        encoding.offsets()
        tokenizer.decode(encoding.ids)
    except SentitokError as error:
        refuse_internal(error)
    for work in (
        lambda: tokenizer.encode(TEXT, specials="all", max_tokens=5),
        lambda: tokenizer.encode_batch([TEXT, "", "a"], threads=1),
        lambda: tokenizer.decode(list(range(min(tokenizer.vocab_size, 300)))),
        tokenizer.doctor,
        lambda: tokenizer.prune([0]),
    ):
        try:
            work()
        except SentitokError as error:
            refuse_internal(error)
    data = tokenizer.to_bytes()
    again = Tokenizer.from_bytes(data)
    assert again.to_bytes() == data, "its own file changes"


def refuse_internal(error: Exception) -> None:
    """An internal error is a fault of ours."""
    if isinstance(error, InternalError):
        raise error


def only(folder: Path) -> Path:
    """The single file of a folder."""
    return next(folder.iterdir())


def trained(**options: Any) -> Tokenizer:
    return sentitok.train_bpe(texts=LINES, vocab_size=300, special_tokens=["<s>"], **options)


def saved(tokenizer: Tokenizer, name: str, format: str | None = None) -> Files:
    """The files that a format is."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(Path(folder) / name, format)
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in Path(folder).rglob("*")
            if path.is_file()
        }


def read_folder(folder: Path) -> Files:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def made_in(make: Callable[[Path], Any]) -> Files:
    """What `make` writes into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        return read_folder(Path(folder))


def json_files() -> list[Files]:
    made = []
    for number in range(60):
        rng = random.Random(number)
        tokenizer = random_pipelines.loaded(
            random_pipelines.pipeline(rng.choice(random_pipelines.KINDS), rng)
        )
        if tokenizer is not None:
            made.append({"tokenizer.json": tokenizer.to_hf().to_str().encode()})
    data = Path(__file__).parent / "data" / "tokenizer_json"
    made += [
        {"tokenizer.json": path.read_bytes()}
        for path in sorted(data.glob("*.json"))
        if "expected" not in path.name
    ]
    return made


def own_files() -> list[Files]:
    tokenizers = [Tokenizer.from_bytes(files["tokenizer.json"]) for files in json_files()[:30]]
    tokenizers += [Tokenizer.from_bytes(files["t.model"]) for files in model_files()[:10]]
    return [{"t.sentitok": tokenizer.to_bytes()} for tokenizer in tokenizers]


def model_files() -> list[Files]:
    made = []
    for number in range(20):
        rng = random.Random(number)
        made.append({"t.model": bpe_model(*random_bpe.random_pieces(rng))})
        made.append({"t.model": unigram_models.model(rng, single=True).file()})
    made.append({"t.model": trained_model()})
    return made


def trained_model() -> bytes:
    return sentitok.train_unigram(texts=LINES, vocab_size=60, method="sentencepiece").to_sentencepiece()


def rank_files() -> list[Files]:
    made = [saved(trained(), "t.tiktoken")]
    for number in range(10):
        _, model = random_bpe.random_ranks(random.Random(number))
        spelled = {
            bytes(random_bpe.CHAR_TO_BYTE[char] for char in token): id for token, id in model.tokens.items()
        }
        lines = (f"{base64.b64encode(token).decode()} {id}\n" for token, id in spelled.items())
        made.append({"t.tiktoken": "".join(lines).encode()})
    return made


def tekken_files() -> list[Files]:
    tokens = [trained().id_to_bytes(id) or b"" for id in range(1, 300)]
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(tokens)
    ]
    config = {
        "pattern": sentitok.PreTokenizer("tekken").pattern,
        "num_vocab_tokens": len(vocab),
        "default_vocab_size": len(vocab) + 10,
        "default_num_special_tokens": 10,
        "version": "v7",
    }
    names = [{"rank": rank, "token_str": f"<{rank}>", "is_control": True} for rank in range(5)]
    return [{"tekken.json": json.dumps({"config": config, "vocab": vocab, "special_tokens": names}).encode()}]


def bert_files() -> list[Files]:
    made = [saved(sentitok.train_wordpiece(texts=LINES, vocab_size=80), "vocab.txt")]
    return [*made, {"vocab.txt": "[UNK]\r\na\r\n##b\r\né".encode()}]


def gpt2_files() -> list[Files]:
    return [saved(trained(), "gpt2", "gpt2")]


def read_gpt2(folder: Path) -> None:
    use_tokenizer(Tokenizer.from_gpt2(folder / "gpt2" / "vocab.json", folder / "gpt2" / "merges.txt"))


def pretrained_files() -> list[Files]:
    made = [made_in(trained().save_pretrained)]
    word_piece = sentitok.train_wordpiece(texts=LINES, vocab_size=80)
    made.append(made_in(word_piece.save_pretrained))
    for files in made:
        config = json.loads(files["tokenizer_config.json"])
        template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
        config["chat_template"] = template
        files["tokenizer_config.json"] = json.dumps(config).encode()
        if "added_tokens_decoder" in config:
            config["chat_template"] = [
                {"name": name, "template": template} for name in ("default", "tool_use", "rag")
            ]
            files["tokenizer_config.json"] = json.dumps(config).encode()
        files["special_tokens_map.json"] = json.dumps(
            {"bos_token": "<s>", "pad_token": {"content": "<s>"}}
        ).encode()
    return made


def read_pretrained(folder: Path) -> None:
    tokenizer = Tokenizer.from_pretrained(folder)
    with tempfile.TemporaryDirectory(dir=folder.parent) as out:
        tokenizer.save_pretrained(out)
    tokenizer.encode(TEXT)
    if "default" in tokenizer.settings.chat_templates:
        tokenizer.apply_chat_template([{"role": "user", "content": "a"}])


def lock_files() -> list[Files]:
    def make(folder: Path) -> None:
        from sentitok import locks

        trained().save_pretrained(folder)
        locks.lock(folder)

    return [made_in(make)]


def read_lock(folder: Path) -> None:
    from sentitok import locks

    locks.check(folder, transformers=False)


def count_files() -> list[Files]:
    made = []
    for number, name in enumerate(["gpt2", "bytes", "gpt2"]):
        counts = sentitok.count(texts=LINES[: 10 * (number + 1)], pre_tokenizer=name)
        assert counts is not None
        made.append({"t.counts": counts.to_bytes()})
    return made


def read_counts(folder: Path) -> None:
    counts = WordCounts.load(only(folder))
    assert WordCounts.from_bytes(counts.to_bytes()) == counts
    sentitok.train_bpe(counts=counts, vocab_size=300)


def shard_files() -> list[Files]:
    def make(layout: Any) -> Callable[[Path], Any]:
        def write(folder: Path) -> None:
            (folder.parent / "lines.txt").write_text("\n".join(LINES))
            sentitok.encode_files(
                folder.parent / "lines.txt", folder / "d", trained(), shard_tokens=200, layout=layout
            )

        return write

    return [made_in(make(layout)) for layout in ("sentitok", "megatron")]


def read_shards(folder: Path) -> None:
    from sentitok.datasets import TokenDataset
    from sentitok.verify import verify

    verify(folder / "d", threads=1)
    # Other layouts are verified, and read by other libraries.
    if (folder / "d" / "shard-00000.idx.npy").exists():
        dataset = TokenDataset(folder / "d")
        for ids in dataset:
            ids.sum()
        dataset.verify()


def checkpoint_files() -> list[Files]:
    class StopError(Exception):
        pass

    made = []
    for name, (train, options) in TRAINERS.items():
        seen = 0

        def progress(stage: str, _: int, __: int) -> None:
            nonlocal seen
            seen += stage not in ("count", "spill")
            if seen > 2:
                raise StopError

        with tempfile.TemporaryDirectory() as folder:
            seen = 0
            with contextlib.suppress(StopError):
                train(
                    texts=LINES,
                    checkpoint=Path(folder) / "saved",
                    checkpoint_seconds=0,
                    progress=progress,
                    **options,
                )
            files = read_folder(Path(folder))
        if files:
            made.append({f"{name}/{path}": data for path, data in files.items()})
    return made


TRAINERS: dict[str, tuple[Callable[..., Tokenizer], dict[str, Any]]] = {
    "bpe": (sentitok.train_bpe, {"vocab_size": 320}),
    "wordpiece": (sentitok.train_wordpiece, {"vocab_size": 100}),
    "unigram": (sentitok.train_unigram, {"vocab_size": 60}),
}


def read_checkpoint(folder: Path) -> None:
    for path in folder.iterdir():
        train, options = TRAINERS[path.name]
        train(texts=LINES, checkpoint=path / "saved", resume=True, **options)


def tensor_files() -> list[Files]:
    import numpy as np

    from sentitok.embeddings.tensor_files import write_tensors

    def make(folder: Path) -> None:
        old = trained()
        old.save_pretrained(folder)
        rows = np.zeros((old.vocab_size, 2), np.float32)
        entries = [
            ("wte.weight", "F32", rows.shape, lambda: [rows.tobytes()]),
            ("norm.weight", "F32", (2,), lambda: [rows[:1].tobytes()]),
        ]
        write_tensors(folder / "model.safetensors", entries, {"format": "pt"}, lambda _: None)
        (folder / "config.json").write_text(json.dumps({"vocab_size": old.vocab_size, "hidden_size": 2}))

    return [made_in(make)]


def read_tensors(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as out:
        sentitok.transplant(folder, trained(), folder, Path(out) / "out")


TABLE = "id,text,label,stars\n" + "".join(
    f'{n},"{line}, ""quoted""\nagain",{"pos" if n % 2 else "neg"},{n % 5}\n' for n, line in enumerate(LINES)
)
JSONL = "".join(
    json.dumps({"text": line, "label": n % 3, "more": {"x": [1]}}) + "\n" for n, line in enumerate(LINES)
)


def table_files() -> list[Files]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    made: list[Files] = [{"t.csv": TABLE.encode()}, {"t.tsv": TABLE.replace(",", "\t").encode()}]
    made += [{"t.jsonl": JSONL.encode()}, {"t.csv": TABLE.encode("utf-16")}]
    made += [{"t.txt": "".join(f"__label__{n % 2} {line}\n" for n, line in enumerate(LINES)).encode()}]
    made += [{"t.txt": b"(3 (2 It) (4 (2 's) (3 good)))\n(0 (1 No) (2 one))\n"}]
    made += [{"t.tsv": b"PhraseId\tSentenceId\tPhrase\tSentiment\n1\t1\tA film\t2\n2\t1\tfilm\t1\n"}]
    made += [{"t.csv": TABLE.replace("film", "café").encode("latin-1")}]
    for pack, name in ((gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz")):
        made.append({f"t.csv.{name}": pack(TABLE.encode())})
    made.append({"t.csv.zst": pa.Codec("zstd").compress(TABLE.encode(), asbytes=True)})
    rows = pa.table({"text": LINES, "label": [n % 2 for n in range(len(LINES))]})
    out = io.BytesIO()
    pq.write_table(rows, out)
    made.append({"t.parquet": out.getvalue()})
    return made


def read_labelled(folder: Path) -> None:
    from sentimodels.data import read_table

    table = read_table(only(folder))
    assert len(table.texts) == len(table.labels or table.texts)


def corpus_files() -> list[Files]:
    """Tables in UTF-8 with a column "text"."""
    made = [files for files in table_files() for name in files if name != "t.tsv"]
    made = [files for files in made if not any(data[:2] == b"\xff\xfe" for data in files.values())]
    made = [files for files in made if "é".encode("latin-1") + b" of" not in b"".join(files.values())]
    return [*made, {"t.tsv": b'text\tn\na film\t1\n"a ""b"""\t2\n'}]


def read_corpus(folder: Path) -> None:
    path = only(folder)
    kind = path.name.split(".")[1]
    formats = {
        "csv": ["csv:text", "lines"],
        "tsv": ["tsv:text"],
        "jsonl": ["jsonl"],
        "parquet": ["parquet:text"],
    }
    for form in formats.get(kind, ["lines", "text"]):
        try:
            list(Documents([path], form))
        except (SentitokError, OSError) as error:
            refuse_internal(error)
    sentitok.count(path, format=formats.get(kind, ["lines"])[0])


def run_files() -> list[Files]:
    from labelled_reviews import write
    from senti_in_process import senti

    made = []
    for arch in ("nb", "lstm"):

        def make(folder: Path, arch: str = arch) -> None:
            with tempfile.TemporaryDirectory() as place:
                write(Path(place) / "reviews.csv")
                small = ["--set", "model.d_model=4", "--set", "model.d_hidden=4"] if arch == "lstm" else []
                size = [*small, "--set", "data.vocab_size=300"] if arch == "lstm" else []
                done = senti(
                    *("train", "reviews.csv", "--out", "run", "--arch", arch, "--epochs", "1", *size),
                    cwd=Path(place),
                )
                assert done.code == 0, done.err
                shutil.copytree(Path(place) / "run", folder, dirs_exist_ok=True)

        made.append(made_in(make))
    return made


def language_run_files() -> list[Files]:
    from language_runs import language_run

    def maker(arch: str) -> Callable[[Path], Any]:
        return lambda folder: language_run(folder / "run", arch)

    return [made_in(maker(arch)) for arch in ("gpt", "mamba")]


def with_hashes(files: Files, rng: random.Random) -> None:
    """Makes the manifest of a run that of its damaged files, mostly."""
    import hashlib

    manifest = next((name for name in files if Path(name).name == "manifest.json"), None)
    if manifest is None or rng.random() < 0.2:
        return
    folder = str(Path(manifest).parent)
    try:
        value = json.loads(files[manifest])
        for name, about in value["files"].items():
            data = files.get(name if folder == "." else f"{folder}/{name}")
            if data is not None:
                about |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return
    files[manifest] = json.dumps(value).encode()


def read_run(folder: Path) -> None:
    from sentimodels.classifier import Classifier

    Classifier.load(folder).predict([TEXT, ""])


def read_language_run(folder: Path) -> None:
    from sentimodels.language_model import LanguageModel

    model = LanguageModel.load(folder / "run")
    model.generate("the cat", max_new_tokens=2, seed=0)


def of_senti() -> tuple[type[Exception], ...]:
    from sentimodels.errors import SentiError

    return (SentiError,)


FORMATS: dict[str, Format] = {
    "tokenizer.json": Format(
        json_files, lambda folder: use_tokenizer(Tokenizer.from_file(only(folder))), weight=200
    ),
    "own-file": Format(
        own_files, lambda folder: use_tokenizer(Tokenizer.from_file(only(folder))), weight=200
    ),
    "model": Format(model_files, lambda folder: use_tokenizer(Tokenizer.from_file(only(folder))), weight=200),
    "ranks": Format(
        rank_files, lambda folder: use_tokenizer(Tokenizer.from_tiktoken(only(folder), "gpt2")), weight=80
    ),
    "tekken": Format(
        tekken_files, lambda folder: use_tokenizer(Tokenizer.from_file(only(folder))), weight=60
    ),
    "vocab.txt": Format(
        bert_files,
        lambda folder: use_tokenizer(Tokenizer.from_bert_vocab(only(folder), lowercase=True)),
        weight=80,
    ),
    "merges.txt": Format(gpt2_files, read_gpt2, weight=60),
    "pretrained": Format(pretrained_files, read_pretrained, weight=20),
    "lock": Format(lock_files, read_lock, weight=10),
    "counts": Format(count_files, read_counts, weight=80),
    "shards": Format(shard_files, read_shards, weight=20),
    "checkpoint": Format(checkpoint_files, read_checkpoint, weight=20),
    "safetensors": Format(tensor_files, read_tensors, weight=5),
    "corpus": Format(corpus_files, read_corpus, weight=40),
    "table": Format(table_files, read_labelled, weight=20),
    "run": Format(run_files, read_run, weight=3, finish=with_hashes),
    "language-run": Format(language_run_files, read_language_run, weight=3, finish=with_hashes),
}
SENTI = ("table", "run", "language-run")


# One process reads, and another watches it.


def status(name: str) -> int:
    """A figure of this process in bytes: its memory, or the most that it had since the last reset."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))


def processor_seconds(pid: int) -> float:
    """The seconds of a processor that a process has used."""
    try:
        # Behind the name, which may hold spaces: user and system time are the twelfth and thirteenth field.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write(folder: Path, files: Files) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    folder.mkdir(exist_ok=True)


def try_one(form: Format, errors: tuple[type[Exception], ...], folder: Path, seed: str) -> dict[str, Any]:
    """Reads the damaged file of a seed; what came of it."""
    files = damaged(form, random.Random(seed))
    write(folder, files)
    size = sum(map(len, files.values()))
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before, started = status("VmRSS"), time.process_time()
    outcome, what = "read", ""
    try:
        form.use(folder)
    except errors as error:
        outcome = "refused"
        if isinstance(error, InternalError):
            outcome, what = "failed", traceback.format_exc()
    except Exception:
        outcome, what = "failed", traceback.format_exc()
    seconds, memory = time.process_time() - started, status("VmHWM") - before
    if seconds > SECONDS:
        outcome, what = "failed", f"{seconds:.1f} s of a processor; {size} bytes"
    if memory > FACTOR * size + MEMORY:
        outcome, what = "failed", f"{memory >> 20} MiB; {size} bytes"
    return {"outcome": outcome, "what": what, "seconds": seconds, "memory": memory}


#: What both processes share: the number of the file, files read, refused and failed, most seconds and bytes.
STATE = struct.Struct("<4qdq")
OUTCOMES = ("read", "refused", "failed")


def worker(name: str, seed: str, first: int, count: int, seconds: float, shared: Path) -> None:
    """Reads damaged files one after the other, and keeps the state in shared memory."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    form = FORMATS[name]
    form.valid = form.make()
    errors: tuple[type[Exception], ...] = (SentitokError, OSError)
    errors += of_senti() if name in SENTI else ()
    folder = shared.parent / "files"
    for files in form.valid:
        write(folder, files)
        form.use(folder)
    with open(shared, "r+b") as file:
        state = mmap.mmap(file.fileno(), STATE.size)
    totals = dict.fromkeys(OUTCOMES, 0)
    slowest, most = 0.0, 0
    started = time.monotonic()
    for at in range(first, first + count):
        STATE.pack_into(state, 0, at, *totals.values(), slowest, most)
        found = try_one(form, errors, folder, f"{name} {seed} {at}")
        totals[found["outcome"]] += 1
        slowest, most = max(slowest, found["seconds"]), max(most, found["memory"])
        if found["what"]:
            print(f"failed: {name} --seed {seed} --first {at} --count 1\n{found['what']}", flush=True)
        if time.monotonic() - started > seconds:
            break
    STATE.pack_into(state, 0, at, *totals.values(), slowest, most)


def watch(name: str, args: argparse.Namespace, count: int, seconds: float, folder: Path) -> int:
    """Lets a process read, starts another behind a file at which it dies; prints and returns failures."""
    shared = folder / "state"
    started, first, end = time.monotonic(), args.first, args.first + count
    totals = dict.fromkeys(OUTCOMES, 0)
    slowest, most = 0.0, 0
    while first < end and totals["failed"] <= args.failures:
        shared.write_bytes(STATE.pack(first, 0, 0, 0, 0.0, 0))
        left = min(seconds - (time.monotonic() - started), 1e9)
        command = [sys.executable, __file__, "--worker", name, args.seed, str(first), str(end - first)]
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen([*command, str(left), str(shared)], stderr=log)
            last, since, used = -1, time.monotonic(), 0.0
            while process.poll() is None:
                time.sleep(0.05)
                number = STATE.unpack(shared.read_bytes())[0]
                if number != last:
                    last, since, used = number, time.monotonic(), processor_seconds(process.pid)
                elif time.monotonic() - since > PATIENCE or processor_seconds(process.pid) - used > LONGEST:
                    process.kill()
            log.seek(0)
            said = log.read()[-2000:]
        number, *outcomes, seconds_of_one, bytes_of_one = STATE.unpack(shared.read_bytes())
        totals = {key: totals[key] + n for key, n in zip(OUTCOMES, outcomes, strict=True)}
        slowest, most = max(slowest, seconds_of_one), max(most, bytes_of_one)
        if process.returncode == 0:
            break
        print(f"died: {name} --seed {args.seed} --first {number} --count 1, {process.returncode}\n{said}")
        totals["failed"] += 1
        first = number + 1
    print(
        f"{name:16} {sum(totals.values()):9,} files {totals['read']:9,} read {totals['refused']:9,} refused "
        f"{totals['failed']:4} failed, at most {slowest:.2f} s and {most >> 20} MiB, "
        f"{time.monotonic() - started:.0f} s",
        flush=True,
    )
    return totals["failed"]


def main() -> int:
    if sys.argv[1:2] == ["--worker"]:
        kind, seed, first, some, limit, shared = sys.argv[2:]
        worker(kind, seed, int(first), int(some), float(limit), Path(shared))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("format", nargs="*", help=f"words of the formats to damage, of {', '.join(FORMATS)}")
    parser.add_argument("--count", type=int, help="files of all formats together (without --minutes: 2,000)")
    parser.add_argument("--minutes", type=float, help="time for all formats")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    parser.add_argument("--failures", type=int, default=20, help="stop a format after so many crashes")
    args = parser.parse_args()
    names = [name for name in FORMATS if not args.format or any(word in name for word in args.format)]
    weights = sum(FORMATS[name].weight for name in names)
    seconds = args.minutes * 60 / len(names) if args.minutes else float("inf")
    count = args.count or (sys.maxsize >> 20 if args.minutes else 2_000)
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    os.environ["TMPDIR"] = memory or tempfile.gettempdir()
    tempfile.tempdir = os.environ["TMPDIR"]
    failures = 0
    for name in names:
        share = -(-count * FORMATS[name].weight // weights)
        with tempfile.TemporaryDirectory(dir=memory) as folder:
            failures += watch(name, args, share, seconds, Path(folder))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
