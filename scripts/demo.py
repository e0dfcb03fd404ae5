"""`make demo`: train, show, save, load elsewhere, compare.

Every step is a command anyone can type; it is printed before it runs.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "data" / "corpus"
TEXT = CORPUS / "pride-and-prejudice.txt"
OUT = ROOT / "demo-output"
SENTENCE = "It is a truth universally acknowledged — naïve 👍🏽, 日本語 and 12,345 reasons."


def step(title: str, *command: str, **variables: str) -> None:
    """Prints a command, runs it, stops if it fails."""
    typed = " ".join([*(f"{name}={value}" for name, value in variables.items()), shlex.join(command)])
    print(f"\n== {title}\n$ {typed}", flush=True)
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **variables})


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


def main() -> int:
    OUT.mkdir(exist_ok=True)
    tokenizer = OUT / "tokenizer.json"
    sources = [str(path.relative_to(ROOT)) for path in sorted(CORPUS.glob("*.txt"))]
    target = str(tokenizer.relative_to(ROOT))
    step(
        "Train on two novels and 23 languages",
        "sentitok",
        "train-bpe",
        *sources,
        "--vocab",
        "8000",
        "-o",
        target,
    )
    # Colour also where the output is kept in a log, unless it is refused.
    colour = {} if os.environ.get("NO_COLOR") else {"FORCE_COLOR": "1"}
    step("Look at a sentence", "sentitok", "show", SENTENCE, "--tokenizer", target, **colour)
    step("What was saved", "sentitok", "info", target)
    return 0 if compare(tokenizer) else 1


if __name__ == "__main__":
    sys.exit(main())
