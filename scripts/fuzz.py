"""Builds the fuzz targets of fuzz/, runs each and prints how often: `python scripts/fuzz.py --minutes 2`.

It begins with the inputs in fuzz/seeds/TARGET, and with those in fuzz/corpus/TARGET: inputs that reach new
code stay there. An input that fails
is written to fuzz/artifacts/TARGET, and running the target's program with it repeats the failure. Needs
nightly Rust and a C++ compiler. Ends with status 1 after a failure.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).resolve().parent.parent / "fuzz"
#: What libFuzzer needs of the compiler: counters of branches, and the values that are compared.
COVERAGE = ["-Cpasses=sancov-module", *(f"-Cllvm-args=-sanitizer-coverage-{option}" for option in (
    "level=4", "inline-8bit-counters", "pc-table", "trace-compares",
))]  # fmt: skip
#: Most memory of a target in MiB, and most seconds for an input.
MEMORY, SECONDS = 4096, 10


def built(sanitizer: str) -> dict[str, str]:
    """Builds all targets; returns the path of each program by its name."""
    host = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    target = re.findall(r"host: (\S+)", host)[0]
    flags = [*COVERAGE, "--cfg=fuzzing", "-Cdebug-assertions", "-Coverflow-checks"]
    flags += [] if sanitizer == "none" else [f"-Zsanitizer={sanitizer}"]
    command = ["cargo", "+nightly", "build", "--locked", "--release", "--target", target]
    done = subprocess.run(
        [*command, "--message-format=json", "--target-dir", f"target/{sanitizer}"],
        cwd=FUZZ,
        env={**os.environ, "RUSTFLAGS": " ".join(flags)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row["target"]["name"]: row["executable"] for row in messages if row.get("executable")}


def run(target: str, program: str, minutes: float) -> tuple[int, int]:
    """Runs a target; returns its status and the number of executions."""
    for folder in ("corpus", "artifacts"):
        (FUZZ / folder / target).mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={round(minutes * 60)}", f"-rss_limit_mb={MEMORY}", f"-timeout={SECONDS}"]
    # New inputs go to the first folder.
    folders = [name for name in (f"corpus/{target}", f"seeds/{target}") if (FUZZ / name).is_dir()]
    command = [program, *limits, f"-artifact_prefix=artifacts/{target}/", *folders]
    process = subprocess.Popen(command, cwd=FUZZ, stderr=subprocess.PIPE, text=True, errors="replace")
    n_runs = 0
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.match(r"#(\d+)\t|Done (\d+) runs", line):
            n_runs = int(found[1] or found[2])
        else:
            sys.stderr.write(line)
    return process.wait(), n_runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("target", nargs="*", help="without any: all targets")
    parser.add_argument("--minutes", type=float, default=2.0, help="for each target")
    parser.add_argument("--sanitizer", default="address", help="address, or none, which is faster")
    args = parser.parse_args()
    programs = built(args.sanitizer)
    ran = {name: run(name, programs[name], args.minutes) for name in args.target or sorted(programs)}
    for name, (status, n_runs) in ran.items():
        print(f"{name:16} {n_runs:12,} executions{'' if status == 0 else f', failed with {status}'}")
    print(f"{'all':16} {sum(n_runs for _, n_runs in ran.values()):12,} executions")
    return 1 if any(status for status, _ in ran.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
