"""Runs the fuzz targets of fuzz/ and prints how often each ran: `python scripts/fuzz.py --minutes 2`.

Inputs that reach new code stay in fuzz/corpus, so the next run begins with them. Needs nightly Rust and
cargo-fuzz. Ends with status 1 after a crash; libFuzzer prints its input and where it is kept.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).resolve().parent.parent / "fuzz"
CARGO = ["cargo", "+nightly", "fuzz"]
#: Most memory of a target in MiB, and most seconds for an input.
MEMORY, SECONDS = 4096, 10


def targets() -> list[str]:
    """The names of the targets."""
    done = subprocess.run([*CARGO, "list"], cwd=FUZZ, capture_output=True, text=True, check=True)
    return done.stdout.split()


def run(target: str, minutes: float, sanitizer: str) -> tuple[int, int]:
    """Runs a target; returns its status and the number of executions."""
    limits = [f"-max_total_time={round(minutes * 60)}", f"-rss_limit_mb={MEMORY}", f"-timeout={SECONDS}"]
    command = [*CARGO, "run", "--sanitizer", sanitizer, target, "--", *limits, "-print_final_stats=1"]
    process = subprocess.Popen(command, cwd=FUZZ, stderr=subprocess.PIPE, text=True, errors="replace")
    n_runs = 0
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.match(r"stat::number_of_executed_units: (\d+)|#(\d+)\t", line):
            n_runs = int(found[1] or found[2])
        # libFuzzer prints a line for each new input.
        if not re.match(r"#\d+\t(NEW|REDUCE|pulse|RELOAD)", line):
            sys.stderr.write(line)
    return process.wait(), n_runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("target", nargs="*", help="without any: all targets")
    parser.add_argument("--minutes", type=float, default=2.0, help="for each target")
    parser.add_argument("--sanitizer", default="address", help="address, or none, which is faster")
    args = parser.parse_args()
    names = args.target or targets()
    ran = {name: run(name, args.minutes, args.sanitizer) for name in names}
    for name, (status, n_runs) in ran.items():
        print(f"{name:16} {n_runs:12,} executions{'' if status == 0 else f', failed with {status}'}")
    print(f"{'all':16} {sum(n_runs for _, n_runs in ran.values()):12,} executions")
    return 1 if any(status for status, _ in ran.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
