"""`make demo`: train, show, save, load elsewhere, compare.

Every step is a command anyone can type; it is printed before it runs.
"""

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = ROOT / "tests" / "data" / "corpus" / "pride-and-prejudice.txt"
OUT = ROOT / "demo-output"
SENTENCE = "It is a truth universally acknowledged — naïve 👍🏽, 日本語 and 12,345 reasons."


def step(title: str, *command: str) -> None:
    """Prints a command, runs it, stops if it fails."""
    print(f"\n== {title}\n$ {shlex.join(command)}", flush=True)
    subprocess.run(command, cwd=ROOT, check=True)


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
    source, target = str(TEXT.relative_to(ROOT)), str(tokenizer.relative_to(ROOT))
    step("Train on Pride and Prejudice", "sentitok", "train-bpe", source, "--vocab", "8000", "-o", target)
    step("Look at a sentence", "sentitok", "show", SENTENCE, "--tokenizer", target)
    step("What was saved", "sentitok", "info", target)
    return 0 if compare(tokenizer) else 1


if __name__ == "__main__":
    sys.exit(main())
