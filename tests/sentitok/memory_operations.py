"""What `memory_sweep.py` runs: models of each kind, and every operation on texts, files and corpora.

Not for limits or for children that are forked: those are the sweep's.
"""

import gzip
import json
import pickle
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sentitok
from sentitok import Normalizer, PreTokenizer, Special, Tokenizer, WordCounts

Work = Callable[[], object]

# What every model can encode afterwards.
SMALL = "a few words, 12 and é"


def words_of(n_bytes: int, seed: int = 0) -> str:
    """Words that follow no list, some with letters of two bytes and more."""
    rng = random.Random(seed)
    letters = "eeeetttaaooiinnsshrrdlucmfwypvbgkqjxz"
    words = ["".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(5000)]
    words += ["".join(rng.choices("éßж中文字🙂", k=rng.randint(1, 4))) for _ in range(100)]
    text = " ".join(rng.choices(words, k=max(n_bytes // 6, 1)))
    return text.encode()[:n_bytes].decode(errors="ignore")


def of(model: dict[str, Any], **stages: object) -> Tokenizer:
    file = {"version": "1.0", "added_tokens": [], "model": model, **stages}
    return Tokenizer.from_bytes(json.dumps(file).encode())


def stages_of(tokenizer: Tokenizer, **stages: object) -> Tokenizer:
    """The same model with other stages around it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tokenizer.save(path)
        file = json.loads(path.read_text())
    return Tokenizer.from_bytes(json.dumps({**file, **stages}).encode())


def as_model_file(tokenizer: Tokenizer) -> Tokenizer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.model"
        tokenizer.save(path)
        return Tokenizer.from_file(path)


METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}
TEXTS = words_of(60_000).split(" ")
LINES = [" ".join(TEXTS[at : at + 10]) for at in range(0, len(TEXTS), 10)]


def byte_bpe() -> Tokenizer:
    return sentitok.train_bpe(texts=LINES, vocab_size=1000, special_tokens=["<a>", "<b>"])


def llama() -> Tokenizer:
    trained = sentitok.train_bpe(texts=LINES, vocab_size=2000, method="sentencepiece", byte_fallback=True)
    normalizer = {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ],
    }
    return stages_of(trained, normalizer=normalizer, pre_tokenizer=None)


def sentencepiece_bpe() -> Tokenizer:
    return as_model_file(
        sentitok.train_bpe(texts=LINES, vocab_size=1000, method="sentencepiece", byte_fallback=True)
    )


def replaced_bpe() -> Tokenizer:
    """With a template, added tokens, and normalizers that make a text longer."""
    normalizers: list[object] = [
        {"type": "NFKC"},
        {"type": "Replace", "pattern": {"String": "e"}, "content": "ee"},
        {"type": "Replace", "pattern": {"Regex": "[aé]+"}, "content": "aa"},
    ]
    return stages_of(byte_bpe(), normalizer={"type": "Sequence", "normalizers": normalizers})


def wordpiece() -> Tokenizer:
    return sentitok.train_wordpiece(texts=LINES, vocab_size=1000)


def unigram() -> Tokenizer:
    return sentitok.train_unigram(texts=LINES, vocab_size=1000, byte_fallback=True, threads=1)


def unigram_json() -> Tokenizer:
    return stages_of(unigram(), normalizer={"type": "NFKC"})


def unsplit() -> Tokenizer:
    return stages_of(unigram(), normalizer=None, pre_tokenizer={**METASPACE, "split": False})


def unsplit_bpe() -> Tokenizer:
    return stages_of(llama(), normalizer=None, pre_tokenizer={**METASPACE, "split": False})


def chained() -> Tokenizer:
    """With decoders in no known order, of which one holds the whole text."""
    decoders = [
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "Strip", "content": " ", "start": 1, "stop": 1},
    ]
    return stages_of(llama(), decoder={"type": "Sequence", "decoders": decoders[1:] + decoders[:1]})


MODELS: dict[str, Callable[[], Tokenizer]] = {
    work.__name__: work
    for work in (
        byte_bpe,
        llama,
        sentencepiece_bpe,
        replaced_bpe,
        wordpiece,
        unigram,
        unigram_json,
        unsplit,
        unsplit_bpe,
        chained,
    )
}


def large(kind: str, n: int) -> bytes:
    """A file of `n` tokens."""
    rng = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    if kind == "bpe":
        tokens, merges = list(letters), []
        known = set(tokens)
        while len(tokens) < n:
            left, right = rng.choice(tokens), rng.choice(letters)
            if left + right not in known:
                known.add(left + right)
                tokens.append(left + right)
                merges.append([left, right])
        model: dict[str, Any] = {
            "type": "BPE",
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": merges,
        }
    else:
        known = {"".join(rng.choices(letters, k=rng.randint(3, 12))) for _ in range(n)}
        tokens = [*letters, *sorted(known)]
        if kind == "unigram":
            scored = [["<unk>", 0.0], *[[token, -rng.random() * 20] for token in tokens]]
            model = {"type": "Unigram", "unk_id": 0, "vocab": scored}
        else:
            model = {
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": {token: i for i, token in enumerate(["[UNK]", *tokens])},
            }
    return json.dumps({"version": "1.0", "added_tokens": [], "model": model}).encode()


def texts_operations(tokenizer: Tokenizer, name: str, size: int) -> dict[str, Work]:
    """What is done with a model and a text of so many bytes."""
    text = words_of(size, 1)
    lines = [text[at : at + 60] for at in range(0, len(text), 60)]
    solid = text.replace(" ", "")
    # What is made before is made by another, so that the one that is asked has no caches yet.
    other = Tokenizer.from_bytes(tokenizer.to_bytes())
    ids = other.encode(text).ids
    rows = [ids[at : at + 20] for at in range(0, len(ids), 20)]
    listed = ids.tolist()
    batch = other.encode_batch(lines, threads=1)
    special = Special(tokenizer.added_tokens[0].content) if tokenizer.added_tokens else "a"
    segments = [segment for line in lines for segment in (special, line)]

    def stream() -> str:
        decoder = tokenizer.stream_decoder()
        return "".join(map(decoder.push, listed)) + decoder.finish()

    operations: dict[str, Work] = {
        "encode": lambda: tokenizer.encode(text).ids,
        "solid": lambda: tokenizer.encode(solid).ids,
        "bytes": lambda: tokenizer.encode(text.encode() + b"\xff" * 100_000 + text.encode()).ids,
        "spans": lambda: tokenizer.encode(text).offsets(),
        "trimmed": lambda: tokenizer.encode(text).offsets("bytes", trim=True),
        "solid spans": lambda: tokenizer.encode(solid).offsets(),
        "tokens": lambda: tokenizer.encode(text).tokens,
        "surfaces": lambda: tokenizer.encode(text).surfaces,
        "type_ids": lambda: (tokenizer.encode(text).type_ids, tokenizer.encode(text).special_tokens_mask),
        "pair": lambda: tokenizer.encode(text, text).ids,
        "all specials": lambda: tokenizer.encode(text + "<a>" * 1000, specials="all").ids,
        "max_tokens": lambda: tokenizer.encode(text, max_tokens=len(ids) // 2).ids,
        "two threads": lambda: tokenizer.encode_batch([text], threads=2).ids,
        "two threads solid": lambda: tokenizer.encode_batch([solid, text], threads=2).ids,
        "batch": lambda: tokenizer.encode_batch(lines, threads=1).ids,
        "pairs": lambda: tokenizer.encode_batch(lines, lines[::-1], max_tokens=16, threads=2).ids,
        "pairs in windows": lambda: tokenizer.windows_batch(lines, 16, 2, lines).source_rows,
        "word_ids": lambda: tokenizer.encode(text).word_ids,
        "words": lambda: (
            tokenizer.encode_batch([line.split() for line in lines], is_split_into_words=True)[:].word_ids
        ),
        "batch offsets": lambda: tokenizer.encode_batch([*lines, text], threads=2, offsets=True).offsets(),
        "pad": lambda: batch.pad(),
        "rows": lambda: [batch.to_list(), list(batch)],
        "count": lambda: tokenizer.count(text),
        "count_batch": lambda: tokenizer.count_batch([*lines, text], threads=2),
        "fits": lambda: tokenizer.fits(text, len(ids)),
        "windows": lambda: tokenizer.windows(text, 32, 16).offsets(),
        "segments": lambda: tokenizer.encode_segments(segments).ids,
        "long segment": lambda: tokenizer.encode_segments([special, text, solid]).offsets(),
        "decode": lambda: tokenizer.decode(ids),
        "decode a list": lambda: tokenizer.decode(listed),
        "decode_bytes": lambda: tokenizer.decode_bytes(ids),
        "decode_batch": lambda: tokenizer.decode_batch(rows),
        "decode a batch": lambda: tokenizer.decode_batch(batch),
        "stream": stream,
        "pickle": lambda: pickle.loads(pickle.dumps(tokenizer.encode(text))).ids,
        "split": lambda: tokenizer.pre_tokenizer.split(text),
        "pieces": lambda: tokenizer.pre_tokenizer.pieces(text),
    }
    if tokenizer.normalizer is not None:
        normalizer = tokenizer.normalizer
        operations["normalize"] = lambda: normalizer.normalize(text)
    if "unigram" in name or name == "unsplit":
        operations["n_best"] = lambda: tokenizer.n_best(text[: size // 30], 5)
        operations["sample"] = lambda: tokenizer.sample(text, 0.1, 1)
        operations["entropy"] = lambda: tokenizer.entropy(text)
    if "bpe" in name or name == "llama":
        dropping = tokenizer.with_dropout(0.1)
        operations["dropout"] = lambda: dropping.encode(text, seed=3).ids
        operations["dropout solid"] = lambda: dropping.encode(solid, seed=3).offsets()
    return operations


def files_operations(kind: str, size: int, folder: Path) -> dict[str, Work]:
    """What is done with a file of so many bytes, or so."""
    data = large(kind, size // 40)
    tokenizer = Tokenizer.from_bytes(data)
    own = tokenizer.to_bytes()
    path = folder / "tokenizer.json"
    path.write_bytes(data)
    keep = list(range(0, tokenizer.vocab_size, 2))
    many = [f"<{n}>" for n in range(size // 100)]

    def save() -> bytes:
        written = tokenizer.save(folder / "saved.json")
        return Path(written[0]).read_bytes()

    def save_as() -> int:
        return len(tokenizer.save(folder / "saved.sentitok"))

    def added() -> Tokenizer:
        return tokenizer.with_specials(many)

    return {
        "from_bytes": lambda: Tokenizer.from_bytes(data).to_bytes(),
        "from_file": lambda: Tokenizer.from_file(path).to_bytes(),
        "from own": lambda: Tokenizer.from_bytes(own).to_bytes(),
        "save": save,
        "save as": save_as,
        "prune": lambda: tokenizer.prune(keep)[0].to_bytes(),
        "doctor": tokenizer.doctor,
        "info": lambda: (tokenizer.info(), tokenizer.fingerprint, tokenizer.is_lossless),
        "vocab": tokenizer.vocab,
        "merges": tokenizer.merges,
        "with_specials": lambda: added().encode(SMALL + "<7>", specials="all").ids,
        "encode": lambda: Tokenizer.from_bytes(data).encode(SMALL).ids,
        "pickle": lambda: pickle.loads(pickle.dumps(tokenizer)).encode(SMALL).ids,
    }


def corpus_operations(size: int, folder: Path) -> dict[str, Work]:
    """What is done with a corpus of so many bytes."""
    rng = random.Random(2)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 12))) for _ in range(size // 8)]
    lines = [" ".join(words[at : at + 10]) for at in range(0, len(words), 10)]
    solid = ["".join(words[at : at + 1000]) for at in range(0, len(words), 1000)]
    path = folder / "corpus.txt"
    path.write_text("\n".join(lines))
    packed = folder / "corpus.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    counts = sentitok.count(texts=lines, threads=1)
    assert counts is not None
    data = counts.to_bytes()
    counted = folder / "counts.txt"
    counts.save(counted)
    as_dict = dict(counts)
    tokenizer = byte_bpe()

    def count_of(**options: Any) -> bytes:
        made = sentitok.count(**options)
        assert made is not None
        return made.to_bytes()

    def encode_files() -> object:
        with tempfile.TemporaryDirectory() as out:
            sentitok.encode_files(path, out, tokenizer, threads=2)
            shards = [file for file in Path(out).iterdir() if file.suffix != ".json"]
            return sorted((file.name, file.stat().st_size) for file in shards)

    def merged() -> bytes:
        sentitok.merge_counts([counted, counted], folder / "merged.txt")
        return (folder / "merged.txt").read_bytes()

    return {
        "count": lambda: count_of(texts=lines, threads=1),
        "count threads": lambda: count_of(texts=lines, threads=2),
        "count solid": lambda: count_of(texts=solid, threads=2),
        "count file": lambda: count_of(source=path, threads=2),
        "count packed": lambda: count_of(source=packed, threads=2),
        "count bounded": lambda: count_of(source=path, threads=2, max_memory=4 << 20),
        "counts to_bytes": counts.to_bytes,
        "counts from_bytes": lambda: WordCounts.from_bytes(data).to_bytes(),
        "counts load": lambda: WordCounts.load(counted).to_bytes(),
        "counts save": lambda: counts.save(folder / "again.txt"),
        "counts dict": lambda: dict(counts),
        "counts of dict": lambda: WordCounts(as_dict).to_bytes(),
        "counts add": lambda: (counts + counts).to_bytes(),
        "counts merge": merged,
        "train_bpe": lambda: sentitok.train_bpe(texts=lines, vocab_size=3000, threads=2).to_bytes(),
        "train_bpe solid": lambda: sentitok.train_bpe(texts=solid, vocab_size=1000, threads=2).to_bytes(),
        "train_bpe of counts": lambda: sentitok.train_bpe(counts=counts, vocab_size=3000).to_bytes(),
        "train_bpe sentencepiece": lambda: sentitok.train_bpe(
            texts=lines, vocab_size=1000, method="sentencepiece"
        ).to_bytes(),
        "train_unigram": lambda: sentitok.train_unigram(texts=lines, vocab_size=1000, threads=2).to_bytes(),
        "train_unigram solid": lambda: sentitok.train_unigram(
            texts=solid, vocab_size=1000, threads=2
        ).to_bytes(),
        "train_unigram sentencepiece": lambda: sentitok.train_unigram(
            texts=lines, vocab_size=1000, threads=2, method="sentencepiece"
        ).to_bytes(),
        "train_wordpiece": lambda: sentitok.train_wordpiece(texts=lines, vocab_size=1000).to_bytes(),
        "train_wordpiece pmi": lambda: sentitok.train_wordpiece(
            texts=lines, vocab_size=1000, score="pmi"
        ).to_bytes(),
        "encode_files": encode_files,
        "pre_tokenizer": lambda: [PreTokenizer("gpt2").pieces(line) for line in solid],
        "normalizer": lambda: [Normalizer("nfkd").normalize(line) for line in solid],
    }
