"""Loss of a small language model under other tokenizers, right after `sentitok transplant` and a bit later.

    python benches/models/transplant.py                        # a quarter of an hour of one core
    python benches/models/transplant.py --steps 4 --later 2    # does it run?

A `gpt` of preset nano learns two novels with a BPE of 2,000 tokens; the last tenth of each is held out. Then
the same model gets other tokenizers by every method. Bits per byte of the held-out text are compared, which
do not depend on the tokenizer: at once, and after a few steps of `senti pretrain --init`, next to a new model
that learns as many steps. Last, the time of `sentitok transplant` is compared with that of copying the file,
on tables as wide as those of GPT-2. Checks that a vocabulary that only lost tokens or got new ones keeps the
rows of all remaining tokens.
"""

import argparse
import contextlib
import io
import math
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

import sentitok
from sentimodels import LanguageModel
from sentimodels.cli.app import build
from sentitok import Tokenizer
from sentitok.embeddings import METHODS

CORPUS = Path(__file__).resolve().parent.parent.parent / "tests" / "data" / "corpus"
NOVELS = ("sherlock-holmes.txt", "pride-and-prejudice.txt")
HELD_OUT = 0.1
CONTEXT = 128
SCORED = 60  # documents of held-out text
TRAINED_FROM = 2  # the first of the tokenizers that models are trained on with


def divided(folder: Path) -> list[str]:
    """Writes the training part of the novels; returns the documents held out."""
    train: list[str] = []
    held: list[str] = []
    for name in NOVELS:
        lines = [line.strip() for line in (CORPUS / name).read_text("utf-8").splitlines() if line.strip()]
        documents = [" ".join(lines[at : at + 12]) for at in range(0, len(lines), 12)]
        n_train = round(len(documents) * (1 - HELD_OUT))
        train += documents[:n_train]
        held += documents[n_train:]
    (folder / "train.txt").write_text("\n".join(train) + "\n", "utf-8")
    return held[:: max(1, len(held) // SCORED)]


def senti(folder: Path, *args: str) -> None:
    """Runs a command in this process, which has imported torch."""
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        try:
            build()(list(args), prog_name="senti")
        except SystemExit as end:
            if end.code:
                raise


def pretrained(folder: Path, out: str, steps: int, *more: str) -> None:
    senti(
        folder, "pretrain", "train.txt", "--context", str(CONTEXT), "--steps", str(steps), "--threads", "1",
        "--seed", "1", "--batch-size", "16", "--valid-tokens", "3000", "--evaluate-every", str(steps),
        "-o", out, "--quiet", *more,
    )  # fmt: skip


def bits_per_byte(run: Path, texts: list[str]) -> float:
    scores = LanguageModel.load(run).score(texts)
    return -sum(one.log_prob for one in scores) / math.log(2) / sum(one.n_bytes for one in scores)


def tokenizers(old: Tokenizer, folder: Path) -> dict[str, Tokenizer]:
    corpus = folder / "train.txt"
    counts = np.bincount(
        old.encode_batch(corpus.read_text("utf-8").splitlines(), add_special_tokens=False).ids,
        minlength=old.vocab_size,
    )
    end = ["<|endoftext|>"]
    return {
        "pruned to what occurs 40 times": old.prune(np.flatnonzero(counts >= 40))[0],
        "extended to 3,000": sentitok.train_bpe(corpus, vocab_size=3000, extend=old),
        "BPE of 4,000": sentitok.train_bpe(corpus, vocab_size=4000, special_tokens=end),
        "Unigram of 2,000": sentitok.train_unigram(corpus, vocab_size=2000, byte_fallback=True),
    }


def speed(folder: Path) -> None:
    """Compares the time of a transplant with that of copying the file."""
    from sentitok.embeddings.tensor_files import write_tensors

    old = sentitok.train_bpe([CORPUS / name for name in NOVELS], vocab_size=20_000)
    new = sentitok.train_unigram([CORPUS / name for name in NOVELS], vocab_size=16_000)
    shape = (old.vocab_size, 768)
    bits = np.random.default_rng(0).integers(0, 1 << 14, shape).astype("<u2")
    path = folder / "model.safetensors"
    write_tensors(
        path,
        [
            ("wte.weight", "BF16", shape, lambda: [bits.tobytes()]),
            ("h.0.weight", "BF16", (100_000, 768), lambda: (bytes(153_600) for _ in range(1000))),
        ],
        {},
        lambda _: None,
    )
    best = {"copy": math.inf, "transplant": math.inf}
    for turn in range(3):
        begun = time.perf_counter()
        shutil.copyfile(path, folder / "copy")
        best["copy"] = min(best["copy"], time.perf_counter() - begun)
        begun = time.perf_counter()
        done = sentitok.transplant(old, new, path, folder / f"speed-{turn}")
        best["transplant"] = min(best["transplant"], time.perf_counter() - begun)
    print(
        f"\n{path.stat().st_size / 1e6:.0f} MB, {done.old_ids:,} -> {done.new_ids:,} ids, {done.composed:,} "
        f"rows composed: transplant {best['transplant']:.2f} s, copying the file {best['copy']:.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=600, help="of the model")
    parser.add_argument("--later", type=int, default=40, help="steps with the new tokenizer")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        held = divided(folder)
        old = sentitok.train_bpe(folder / "train.txt", vocab_size=2000, special_tokens=["<|endoftext|>"])
        old.save(folder / "old.json")
        pretrained(folder, "base", args.steps, "--preset", "nano", "--tokenizer", "old.json")
        print(f"bits per byte of held-out text; the model, {args.steps} steps: ", end="")
        print(f"{bits_per_byte(folder / 'base', held):.3f}\n")
        print(f"| tokenizer | method | copied | composed | at once | after {args.later} steps |")
        print("|---|---|---:|---:|---:|---:|")
        for at, (name, new) in enumerate(tokenizers(old, folder).items()):
            new.save(folder / f"{at}.json")
            for method in METHODS:
                place = f"{at}-{method}"
                done = sentitok.transplant(
                    folder / "base", new, folder / "base", folder / f"{place}-files", method=method
                )
                if at < 2 and done.copied != min(old.n_tokens, new.n_tokens):
                    raise SystemExit(f"{name}: {done.copied} rows copied")
                senti(folder, "import", f"{place}-files", "-o", place, "--quiet")
                once, later = f"{bits_per_byte(folder / place, held):.3f}", ""
                if at >= TRAINED_FROM:
                    pretrained(folder, f"{place}-later", args.later, "--init", place)
                    later = f"{bits_per_byte(folder / f'{place}-later', held):.3f}"
                print(
                    f"| {name} | {method} | {done.copied:,} | {done.composed:,} | {once} | {later} |",
                    flush=True,
                )
                if at == 0:
                    break  # nothing is new
            if at >= TRAINED_FROM:
                pretrained(folder, f"{at}-new", args.later, "--preset", "nano", "--tokenizer", f"{at}.json")
                later = f"{bits_per_byte(folder / f'{at}-new', held):.3f}"
                print(f"| {name} | a new model | | | | {later} |", flush=True)
        speed(folder)


if __name__ == "__main__":
    main()
