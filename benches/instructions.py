"""Counts the instructions of fixed work and compares them with those written down.

    python benches/instructions.py check    # fails where a row takes more than it should
    python benches/instructions.py renew    # writes instructions.json again

A busy machine changes times, not these counts, so they can be a gate; what they
do not show is what memory costs. They belong to one compiler, which the file
names. Needs valgrind, whose callgrind counts. The rows are in `instructions.rs`.
Status 3 says that nothing could be counted here.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = Path(__file__).with_suffix(".json")
# Seeds of hash tables differ from run to run, and with them counts by less than a hundredth.
TOLERANCE = 0.03
# The status where nothing can be counted or compared, which is not a failure of the code.
NOT_HERE = 3


class CannotCountError(Exception):
    """Instructions cannot be counted here, or not be compared."""


class RowError(Exception):
    """A row does not compile or run."""


def compiler() -> str:
    """The version of rustc, as `1.95.0`."""
    done = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[1]


def built() -> str:
    """The path of the program with the rows.

    Raises:
        RowError: if it does not compile.
    """
    command = ["cargo", "bench", "--locked", "--no-run", "--bench", "instructions", "--message-format=json"]
    # What whole-program optimisation would add takes minutes.
    environment = {**os.environ, "CARGO_PROFILE_BENCH_LTO": "off", "CARGO_PROFILE_BENCH_CODEGEN_UNITS": "1"}
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    paths = [row["executable"] for row in messages if row.get("target", {}).get("name") == "instructions"]
    if done.returncode != 0 or not paths:
        raise RowError("the rows do not compile; see the message of cargo above")
    return str(paths[-1])


def count(program: str, row: str) -> int:
    """The instructions of one row.

    Raises:
        RowError: if it fails.
    """
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    if row.split("/")[0] in ("split", "encode", "decode"):
        # The preparation is left out; it runs on the thread that measures.
        command += ["--collect-atstart=no", "--toggle-collect=*measured*"]
    done = subprocess.run([*command, program, row], capture_output=True, text=True, check=False)
    match = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or match is None:
        raise RowError(f"{row}: {done.stderr.strip()[-500:]}")
    return int(match[1])


def counts() -> dict[str, int]:
    """The instructions of every row."""
    program = built()
    rows = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    counted = {}
    for row in rows:
        counted[row] = count(program, row)
        print(f"{row:<34} {counted[row]:>15,}", file=sys.stderr)
    return counted


def differences(expected: dict[str, int], counted: dict[str, int]) -> list[str]:
    """The differences of counts, a line each."""
    wrong = [f"{row}: no such row any more" for row in sorted(expected.keys() - counted.keys())]
    for row, n in counted.items():
        if row not in expected:
            wrong.append(f"{row}: not written down yet")
        elif abs(n / expected[row] - 1) > TOLERANCE:
            wrong.append(f"{row}: {n:,} instructions, {n / expected[row] - 1:+.1%} of {expected[row]:,}")
    return wrong


def main(arguments: list[str]) -> int:
    """Checks or renews; gives the status of the process."""
    if arguments not in (["check"], ["renew"]):
        print(__doc__, file=sys.stderr)
        return 2
    known = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    try:
        if shutil.which("valgrind") is None or platform.machine() != "x86_64":
            raise CannotCountError("they are counted by valgrind on x86-64 (apt-get install valgrind)")
        version = compiler()
        if arguments == ["check"] and known.get("rustc") != version:
            raise CannotCountError(f"the counts are those of rustc {known.get('rustc')}, this is {version}")
    except CannotCountError as error:
        print(f"instructions are not counted: {error}", file=sys.stderr)
        return NOT_HERE
    counted = counts()
    if arguments == ["renew"]:
        FILE.write_text(json.dumps({"rustc": version, "instructions": counted}, indent=2) + "\n", "utf-8")
        return 0
    wrong = differences(known["instructions"], counted)
    if wrong:
        wrong.append("If that is meant, `python benches/instructions.py renew` writes the new counts.")
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
