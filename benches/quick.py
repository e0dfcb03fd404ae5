"""Tables of training, encoding and models in some minutes: `make bench`.

Changes no file and does not wait for a quiet machine, so read the ratios. All tables of
docs/lab/benchmarks.md: `make bench-all` (`report.py`).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import corpora
from measure import train_table

TEXT_BYTES = 8_000_000
VOCAB_SIZE = 8_000
RIVALS = ("sentitok", "tokenizers", "sentencepiece")


def command(module: str, *arguments: str) -> None:
    """Runs a command, which prints its table."""
    print(f"\n### python -m {module} {' '.join(arguments)}\n", flush=True)
    subprocess.run([sys.executable, "-m", module, *arguments], check=True)


def main() -> None:
    text = corpora.head(corpora.english(), TEXT_BYTES)
    with tempfile.TemporaryDirectory() as folder:
        print(train_table(Path(folder), text, "bpe", VOCAB_SIZE, RIVALS, "tokenizers", rounds=3))
        tokenizer = str(Path(folder) / "tokenizer.json")
        call = ["train-bpe", str(text.path), "--vocab", str(VOCAB_SIZE), "-o", tokenizer, "--quiet"]
        subprocess.run([sys.executable, "-m", "sentitok.cli", *call], check=True, stdout=subprocess.DEVNULL)
        command("sentitok.cli", "bench", str(text.path), "-t", tokenizer)
    command("sentimodels", "bench")


if __name__ == "__main__":
    main()
