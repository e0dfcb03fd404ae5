"""Section of the report: how fast each library turns ids into text again.

One process a measurement (`passes.py`), alternating; texts are compared outside the
timing. Each library gets ids as it takes them fastest: arrays, or lists made before.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import corpora
from encoding import DOCUMENT_CHARACTERS, TEXT_BYTES, jobs, python_of, run
from libraries import LIBRARIES
from measure import ROUNDS, Row, in_turns, markdown, median, megabytes

HEAD = ("tokenizer", "text", "library", "texts", "MB/s", "ours / this", "peak")


def rows_of(folder: Path, name: str, job: Row, text: corpora.Corpus) -> list[list[str]]:
    """Measures libraries alternately; a row of the table for each that can decode."""
    documents = folder / "documents.json"
    documents.write_text(json.dumps(text.documents(DOCUMENT_CHARACTERS)), encoding="utf-8")
    ids = folder / "ids.npz"
    run({**job, "documents": str(documents), "ids": str(ids)}, "sentitok")
    names = [n for n, library in LIBRARIES.items() if library.decoder and python_of(n)]

    def decode(library: str) -> Row:
        return run({**job, "decode": str(ids), "texts": str(folder / f"texts-{library}")}, library)

    by_library = in_turns(names, decode, ROUNDS)
    ours = by_library["sentitok"]
    table = []
    for library, results in by_library.items():
        if isinstance(results, str) or isinstance(ours, str):
            continue
        same = (folder / f"texts-{library}").read_bytes() == (folder / "texts-sentitok").read_bytes()
        seconds = median(results, "decode_s")
        table.append(
            [
                name,
                text.name,
                f"{library} {results[0]['version']}",
                "equal" if same else "**differ**",
                f"{text.n_bytes / 1e6 / seconds:.0f}",
                f"{seconds / median(ours, 'decode_s'):.2f}" if same else "-",
                megabytes(median(results, "peak_bytes")),
            ]
        )
    return table


def section(folder: Path) -> str:
    """Measures all tokenizers on all texts."""
    data = corpora.data_dir()
    if data is None or not (data / "vocabs").is_dir():
        return "## Decoding\n\nNot measured: no folder `vocabs` in SENTITOK_DATA."
    cells = []
    with TemporaryDirectory(dir=folder) as scratch:
        for name, job in jobs(folder, data / "vocabs").items():
            for corpus in corpora.all_corpora():
                text = corpora.head(corpus, TEXT_BYTES)
                print(f"decoding {name}, {text.name}", file=sys.stderr)
                cells += rows_of(Path(scratch), name, job, text)
    words = (
        "One thread, ids in memory, MB of text a second; the first pass, in which tables are made, is not "
        "counted. gigatoken and tiktoken give bytes, all other libraries `str`. "
        f"Medians of {ROUNDS} alternating processes."
    )
    return f"## Decoding\n\n{words}\n\n{markdown(HEAD, cells)}"
