"""Parity-aware BPE: sentitok and tokenizers on the same languages, with equal merges checked.

Both train on the Universal Declaration of Human Rights and, in the first language, on film reviews:
`python benches/languages.py [--languages N...] [--merges N]`. Prints seconds of the best of several
alternating runs, and their ratio. Text is in memory for both, and read before the clock starts.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import sentitok

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import shared_data  # 2026-11-30: the folder of the tests is added above

Texts = dict[str, list[str]]
Merges = list[list[str]]


def texts_of(n_languages: int) -> tuple[Texts, Texts]:
    """Texts of languages, of which the first has the most, and development texts."""
    declarations = shared_data.declarations()[:: 311 // n_languages][:n_languages]
    texts: Texts = {}
    development: Texts = {}
    for at, declaration in enumerate(declarations):
        lines = [line for line in declaration.splitlines(keepends=True) if line.strip()]
        texts[f"l{at}"] = lines
        development[f"l{at}"] = lines[-40:]
    texts["l0"] = [*texts["l0"], *shared_data.imdb(step=40)]
    return texts, development


def ours(texts: Texts, development: Texts, merges: int) -> Callable[[], Merges]:
    """Trains with sentitok."""
    tokenizer = sentitok.train_parity_bpe(
        texts=texts, development=development, max_merges=merges, vocab_size=1 << 24
    )

    def read() -> Merges:
        with TemporaryDirectory() as folder:
            tokenizer.save(Path(folder) / "tokenizer.json")
            found: Merges = json.loads((Path(folder) / "tokenizer.json").read_text("utf-8"))["model"][
                "merges"
            ]
            return found

    return read


def theirs(texts: Texts, development: Texts, merges: int) -> Callable[[], Merges]:
    """Trains with tokenizers."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from tokenizers.trainers import ParityBpeTrainer

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = ParityBpeTrainer(num_merges=merges, initial_alphabet=alphabet, show_progress=False)
    trainer.train_from_iterator(tokenizer, list(texts.values()), list(development.values()))
    return lambda: json.loads(tokenizer.to_str())["model"]["merges"]


def main() -> None:
    """Prints a row for each number of languages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--merges", type=int, default=4000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--languages", type=int, nargs="+", default=[4, 30])
    options = parser.parse_args()
    print("| languages | merges | sentitok s | tokenizers s | ratio |\n|---:|---:|---:|---:|---:|")
    for n_languages in options.languages:
        texts, development = texts_of(n_languages)
        best: dict[str, float] = {}
        found: dict[str, Merges] = {}
        for _ in range(options.runs):
            for train in (ours, theirs):
                began = time.perf_counter()
                read = train(texts, development, options.merges)
                seconds = time.perf_counter() - began
                best[train.__name__] = min(seconds, best.get(train.__name__, seconds))
                found[train.__name__] = read()
        if found["ours"] != found["theirs"]:
            raise SystemExit(f"{n_languages} languages: the merges differ")
        row = (n_languages, len(found["ours"]), f"{best['ours']:.2f}", f"{best['theirs']:.2f}")
        print(f"| {' | '.join(map(str, row))} | {best['theirs'] / best['ours']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
