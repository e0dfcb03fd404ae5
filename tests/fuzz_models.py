"""Random models of every kind against the reference libraries and slow definitions, for as long as you like.

    python tests/fuzz_models.py --count 1000 --seed 7           # 1,000 models of each kind
    python tests/fuzz_models.py --minutes 30 unigram operations # 30 minutes, only kinds with these words

Models are nearly valid: ties, unused and user-defined pieces, affixes, added tokens with flags, sequences of
normalizers, templates, superwords. A model is made from `seed` and its number. Prints a line per kind, and
for each failure what repeats it: `python tests/fuzz_models.py KIND --seed S --first N --count 1`. Ends with
status 1 after a failure.
"""

import argparse
import os
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "sentitok"))

import test_growing_texts
import test_random_bpe_models
import test_random_operations
import test_random_pipelines
import test_random_unigram_models
import test_random_wordpiece_models
import test_superwords

from oracles.random_pipelines import KINDS, loaded, pipeline

#: Checks the model of a seed; gives whether there was one.
Check = Callable[[str, Path], bool]


def bpe(order: str) -> Check:
    draws = test_random_bpe_models.Draws()

    def check(seed: str, folder: Path) -> bool:
        test_random_bpe_models.CHECKS[order](random.Random(seed), folder, draws)
        draws.check_sum()
        return True

    return check


def unigram(kind: str) -> Check:
    def check(seed: str, folder: Path) -> bool:
        test_random_unigram_models.CHECKS[kind](random.Random(seed).getrandbits(60), folder)
        return True

    return check


def wordpiece(seed: str, folder: Path) -> bool:
    test_random_wordpiece_models.check(random.Random(seed).getrandbits(60), folder)
    return True


def stages(kind: str) -> Check:
    """Pipelines: ids, offsets, texts, saved and read again."""

    def check(seed: str, _: Path) -> bool:
        rng = random.Random(seed)
        case = pipeline(kind, rng)
        found = list(test_random_pipelines.differences(case, rng))
        assert all(name == "skipped" for name, _ in found), (found[:3], case)
        return not found

    return check


def growing(kind: str) -> Check:
    """`encode_more` and streams."""

    def check(seed: str, _: Path) -> bool:
        rng = random.Random(seed)
        case = pipeline(kind, rng)
        tokenizer = loaded(case)
        if tokenizer is not None:
            test_growing_texts.check_case(0, rng, case, tokenizer)
        return tokenizer is not None

    return check


def operations(kind: str) -> Check:
    def check(seed: str, folder: Path) -> bool:
        return test_random_operations.check(kind, random.Random(seed), folder)

    return check


def superwords(seed: str, _: Path) -> bool:
    rng = random.Random(seed)
    words = test_superwords.WORDS
    documents = ["".join(rng.choices(words, k=rng.randint(1, 14))) for _ in range(rng.randint(1, 8))]
    more, max_words = rng.randint(1, 40), rng.randint(2, 5)
    rule = rng.choice(["sentences", "lines"])
    if rng.random() < 0.5:
        family = rng.choice(test_superwords.FAMILIES)
        tie_break = rng.choice(["huggingface", "bytes", "sentencepiece"])
        size, min_count, longest = rng.randint(258, 275), rng.randrange(4), rng.choice([None, 6])
        superbpe = test_superwords.test_superbpe_is_the_literal_algorithm.hypothesis.inner_test  # type: ignore[attr-defined]  # 2026-11: hypothesis adds it
        superbpe(documents, family, size, more, max_words, rule, min_count, tie_break, longest)
    else:
        family = rng.choice(["gpt2", "cl100k", "o200k"])
        tie_break = rng.choice(["huggingface", "bytes"])
        boundless = test_superwords.test_boundless_is_the_literal_algorithm.hypothesis.inner_test  # type: ignore[attr-defined]  # 2026-11: the same
        boundless(documents, family, more, max_words, rule, tie_break)
    return True


CHECKS: dict[str, Check] = {
    **{f"bpe-{order}": bpe(order) for order in test_random_bpe_models.CHECKS},
    **{f"unigram-{kind}": unigram(kind) for kind in test_random_unigram_models.CHECKS},
    "wordpiece": wordpiece,
    **{f"stages-{kind}": stages(kind) for kind in KINDS},
    **{f"growing-{kind}": growing(kind) for kind in KINDS},
    **{f"operations-{kind}": operations(kind) for kind in KINDS},
    "superwords": superwords,
}


def run(kind: str, args: argparse.Namespace, seconds: float, folder: Path) -> int:
    """Checks models of a kind, prints a line and returns the number of failures."""
    started, n_made, n_checked, failures = time.monotonic(), 0, 0, 0
    while time.monotonic() - started < seconds and n_made < args.count and failures < args.failures:
        seed = f"{kind} {args.seed} {args.first + n_made}"
        n_made += 1
        try:
            n_checked += CHECKS[kind](seed, folder)
        except Exception:
            failures += 1
            print(f"failed: {kind} --seed {args.seed} --first {args.first + n_made - 1} --count 1")
            traceback.print_exc()
    took = time.monotonic() - started
    print(f"{kind:22} {n_made:8,} made {n_checked:8,} checked {failures:4} failed {took:7.0f} s", flush=True)
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", nargs="*", help=f"words of the kinds to make, of {', '.join(CHECKS)}")
    parser.add_argument("--count", type=int, help="models of each kind (without --minutes: 100)")
    parser.add_argument("--minutes", type=float, help="time for all kinds")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0, help="the number of the first model")
    parser.add_argument("--failures", type=int, default=5, help="stop a kind after so many")
    args = parser.parse_args()
    kinds = [kind for kind in CHECKS if not args.kind or any(word in kind for word in args.kind)]
    seconds = args.minutes * 60 / len(kinds) if args.minutes else float("inf")
    args.count = args.count or (sys.maxsize if args.minutes else 100)
    warnings.simplefilter("ignore", UserWarning)
    # Some of the random files make the tokenizers library panic, which prints.
    os.environ.setdefault("RUST_BACKTRACE", "0")
    # Files in memory where that is possible: writers wait for the disk.
    if Path("/dev/shm").is_dir():
        tempfile.tempdir = "/dev/shm"
    with tempfile.TemporaryDirectory() as folder:
        failures = sum([run(kind, args, seconds, Path(folder)) for kind in kinds])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
