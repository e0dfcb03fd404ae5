"""Section of the report: WordPiece, Unigram and SentencePiece models.

A `.model` is compared with sentencepiece, whose arithmetic is that of `f32`; the
same pieces as a `tokenizer.json` with tokenizers, whose arithmetic is that of `f64`.
"""

import json
from pathlib import Path

import corpora
from measure import ENCODE_HEAD, Row, encode_rows, markdown, megabytes, train_table

ENCODE_BYTES = 4_000_000
WORDPIECE_TRAINERS = ("sentitok", "sentitok, likelihood", "tokenizers")
UNIGRAM_TRAINERS = ("sentitok", "sentitok, method=sentencepiece", "sentencepiece", "tokenizers")


def training(folder: Path) -> str:
    """Trains WordPiece as BERT has it and Unigram as SentencePiece has it."""
    english = corpora.english()
    wordpiece = train_table(folder, english, "wordpiece", 30_522, WORDPIECE_TRAINERS, "tokenizers")
    unigram = train_table(folder, english, "unigram", 16_000, UNIGRAM_TRAINERS, "sentencepiece")
    return (
        "## Training WordPiece\n\nWithout case, by frequency unless another score is named.\n\n"
        f"{wordpiece}\n\n## Training Unigram\n\n"
        "Normalized by NFKC. The default counts pieces with all of a text in view, `method=sentencepiece` "
        f"by that library's rules.\n\n{unigram}"
    )


def vocabularies(folder: Path, vocabs: Path) -> list[tuple[str, Row, tuple[str, ...]]]:
    """Name, job and rivals of each vocabulary; files are written to `folder`."""
    import sentitok

    found: list[tuple[str, Row, tuple[str, ...]]] = []

    def json_of(name: str, tokenizer: sentitok.Tokenizer) -> None:
        target = folder / f"{name}.tokenizer.json"
        tokenizer.save(target)
        found.append((name, {"json": str(target), "threads": 1}, ("sentitok", "tokenizers")))

    for cased in (False, True):
        name = f"bert-base-{'cased' if cased else 'uncased'}"
        json_of(name, sentitok.Tokenizer.from_bert_vocab(vocabs / name / "vocab.txt", lowercase=not cased))
    models = {
        "t5": vocabs / "t5" / "spiece.model",
        "mistral": vocabs / "mistral-7b-v0.1" / "tokenizer.model",
    }
    for name, model in models.items():
        job = {"json": str(model), "source": str(model), "threads": 1}
        found.append((f"{name} .model", job, ("sentitok", "sentencepiece")))
    json_of("t5", sentitok.Tokenizer.from_file(models["t5"]))
    return found


def encoding(folder: Path) -> str:
    """Encodes with published vocabularies, one thread."""
    data = corpora.data_dir()
    if data is None or not (data / "vocabs").is_dir():
        return "## Encoding WordPiece and SentencePiece\n\nNot measured: no `vocabs` in SENTITOK_DATA."
    jobs = vocabularies(folder, data / "vocabs")
    parts = []
    for corpus in corpora.all_corpora():
        part = corpora.head(corpus, ENCODE_BYTES)
        documents = folder / "documents.json"
        documents.write_text(json.dumps(part.lines()), encoding="utf-8")
        cells = []
        for name, job, rivals in jobs:
            cells += encode_rows(folder, name, {**job, "documents": str(documents)}, part.n_bytes, rivals)
        parts.append(f"### {part.name}: {megabytes(part.n_bytes)}\n\n" + markdown(ENCODE_HEAD, cells))
    return "## Encoding WordPiece and SentencePiece\n\n" + "\n\n".join(parts)


def section(folder: Path) -> str:
    """All of it."""
    return f"{training(folder)}\n\n{encoding(folder)}"
