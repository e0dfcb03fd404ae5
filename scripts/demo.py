"""`make demo`: a tokenizer, a classifier, a language model, from the files of the project alone.

    demo.py tokenizer     train, show, save, load elsewhere, compare
    demo.py classifier    split, train, report, classify a sentence
    demo.py language      pre-train a small language model on two novels, continue a sentence

Every step is a command anyone can type; it is printed before it runs.
"""

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "data" / "corpus"
REVIEWS = "tests/data/sentences/rt-polarity"
TEXT = CORPUS / "pride-and-prejudice.txt"
OUT = ROOT / "demo-output"
SENTENCE = "It is a truth universally acknowledged — naïve 👍🏽, 日本語 and 12,345 reasons."
OPINIONS = "a gripping, beautifully acted film\nan overlong and dull mess\n"


def step(title: str, *command: str, stdin: str | None = None, **variables: str) -> None:
    """Prints a command, runs it, stops if it fails."""
    typed = " ".join([*(f"{name}={value}" for name, value in variables.items()), shlex.join(command)])
    if stdin is not None:
        typed = f"printf {shlex.quote(stdin).replace(chr(10), chr(92) + 'n')} | {typed}"
    print(f"\n== {title}\n$ {typed}", flush=True)
    subprocess.run(
        command, cwd=ROOT, check=True, input=stdin, text=True, env={**os.environ, **variables}
    )  # fmt: skip


def compare(tokenizer_file: Path) -> bool:
    """Loads the file in `tokenizers` and here; shows both ids of the sentence."""
    from tokenizers import Tokenizer

    import sentitok

    ours = sentitok.Tokenizer.from_file(tokenizer_file)
    theirs = Tokenizer.from_file(str(tokenizer_file))
    ids = ours.encode(SENTENCE).ids.tolist()
    their_ids = theirs.encode(SENTENCE).ids
    lines = TEXT.read_text("utf-8").splitlines(keepends=True)
    batch = ours.encode_batch(lines).to_list()
    their_batch = [encoding.ids for encoding in theirs.encode_batch_fast(lines)]
    print(f"\n== The same file in Hugging Face tokenizers\nsentitok    {ids}\ntokenizers  {their_ids}")
    equal = ids == their_ids and batch == their_batch
    n_tokens = sum(map(len, batch))
    print(
        f"{'equal' if equal else 'DIFFERENT'}: the sentence, and {len(lines):,} lines ({n_tokens:,} tokens)"
    )
    return equal


def colour() -> dict[str, str]:
    """Colour also where the output is kept in a log, unless it is refused."""
    return {} if os.environ.get("NO_COLOR") else {"FORCE_COLOR": "1"}


def tokenizer() -> int:
    """Trains a tokenizer on novels, shows it, and compares it with another library."""
    target = OUT / "tokenizer.json"
    sources = [str(path.relative_to(ROOT)) for path in sorted(CORPUS.glob("*.txt"))]
    name = str(target.relative_to(ROOT))
    step(
        "Train on two novels and 23 languages",
        *("sentitok", "train-bpe", *sources, "--vocab", "8000", "-o", name),
    )
    step("Look at a sentence", "sentitok", "show", SENTENCE, "--tokenizer", name, **colour())
    step("The saved file", "sentitok", "info", name)
    return 0 if compare(target) else 1


def classifier() -> int:
    """Trains a classifier on sentences of film reviews, reports, and asks it."""
    began = time.perf_counter()
    for old in ("reviews", "runs"):
        shutil.rmtree(OUT / old, ignore_errors=True)
    parts, run = "demo-output/reviews", "demo-output/runs/bow"
    step(
        "Divide 10,662 sentences of film reviews (Pang and Lee 2005, CC BY 4.0)",
        *("senti", "data", "split", REVIEWS, "-o", parts, "--shares", "0.8,0.1,0.1", "--by", "hash"),
    )
    step(
        "Train a bag of word and character n-grams on them, and TF-IDF for comparison",
        *("senti", "train", f"{parts}/train.csv", "--valid", f"{parts}/valid.csv"),
        *("--arch", "bow", "--out", run),
    )
    step("The report on sentences it has not seen", "senti", "evaluate", run, f"{parts}/test.csv")
    step("Classify", "senti", "predict", run, stdin=OPINIONS)
    print(f"\nthe classifier took {time.perf_counter() - began:.0f} seconds", flush=True)
    return 0


def language() -> int:
    """Pre-trains a language model on novels, and shows what it predicts better than."""
    began = time.perf_counter()
    shutil.rmtree(OUT / "runs" / "novels", ignore_errors=True)
    novels = [f"tests/data/corpus/{name}.txt" for name in ("pride-and-prejudice", "sherlock-holmes")]
    run = "demo-output/runs/novels"
    step(
        "Pre-train a language model of 0.3 million parameters on two novels",
        *("senti", "pretrain", *novels, "--format", "paragraphs", "--preset", "nano", "--vocab", "2000"),
        *("--context", "128", "--batch-size", "16", "--tokens", "400K", "--optimizer", "muon"),
        *("--lr", "0.004", "--out", run),
    )
    step(
        "Continue a sentence with it",
        *("senti", "generate", run, "It is a truth universally acknowledged", "--max-new-tokens", "60"),
        *("--temperature", "0.7", "--seed", "1"),
    )
    print(f"\nthe language model took {time.perf_counter() - began:.0f} seconds", flush=True)
    return 0


def main() -> int:
    OUT.mkdir(exist_ok=True)
    parts = {"tokenizer": tokenizer, "classifier": classifier, "language": language}
    for name in sys.argv[1:] or parts:
        if name not in parts:
            print(f"demo.py: no part {name!r}; there are {', '.join(parts)}", file=sys.stderr)
            return 2
        if code := parts[name]():
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
