"""Shows that code which changed makes the numbers that it made, so that results still count.

    python benches/models/unchanged.py COMMIT          # against what results are of

Every row's architecture and configuration is trained on a few rows of its data, and a student under a
small teacher, both by the code of COMMIT and by that of today, on one thread with one seed. Where all
weights and all answers on dev are equal bit by bit, results/unchanged.json says that the old code's hash
leads to the new one, and `result.stale` follows it. Where one bit differs, nothing is written for that
architecture, and its rows are to be measured again. Where COMMIT had the same code, and it is only that
fewer of its files were said to matter (`result.MATTERS`), nothing is trained. What a few steps cannot
show (a rate that changes late, a file that only a long text reaches) it does not show either: a change
that means to alter training is not for this, whatever it says.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import distill
import worktree
from result import FILE_OF, PACKAGE, ROOT, UNCHANGED, changed, code_hash, git, links
from rows import SETS, Tree

# Rows of training and of dev that a row is trained and scored on.
LIMIT = 800
CHILD = Path(__file__).with_name("weights_of.py")


def trees() -> dict[str, dict[str, tuple[str, Tree]]]:
    """Returns the rows of each file of architectures by name: set and configuration."""
    by_arch: dict[str, dict[str, tuple[str, Tree]]] = {}
    for of_set, rows in SETS.items():
        for row in rows:
            arch: str = row.tree["arch"]
            by_arch.setdefault(FILE_OF.get(arch) or arch, {}).setdefault(row.name, (of_set, row.tree))
    return by_arch


def students() -> dict[str, dict[str, tuple[str, Tree]]]:
    """Returns what is taught, in the same form."""
    tree = distill.settings_of()
    return {FILE_OF[tree["arch"]]: {f"{distill.ROW}, taught": ("kaggle", tree)}}


def named(arch: str, taught: bool) -> str:
    return f"{arch}, taught" if taught else arch


def weights(package: Path, rows: dict[str, tuple[str, Tree]]) -> dict[str, dict[str, str] | None]:
    """Returns the hashes of what the code of a checkout makes of rows; in a process of its own."""
    job = json.dumps({"rows": rows, "limit": LIMIT})
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, str(CHILD), job],
        env={**os.environ, **limits, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"unchanged.py: {package}: {done.stderr[-2000:]}")
    hashes: dict[str, dict[str, str] | None] = json.loads(done.stdout.splitlines()[-1])
    return hashes


def code_of(checkout: Path, arch: str, *, taught: bool = False) -> str:
    """Returns the hash of an architecture's code in another checkout, as that checkout has it."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import result; "
        "print(result.code_hash(sys.argv[2], taught=bool(sys.argv[3])))"
    )
    folder = checkout / "benches" / "models"
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), arch, "taught" * taught],
        env={**os.environ, "PYTHONPATH": str(checkout / "python")},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def same_code(old: Path, arch: str, *, taught: bool = False) -> bool:
    """Whether all files that matter today are in another checkout as they are here."""
    try:
        then = code_hash(arch, taught=taught, package=old / PACKAGE.relative_to(ROOT))
    except FileNotFoundError:
        return False
    return then == code_hash(arch, taught=taught)


def compare(old: Path, arch: str, rows: dict[str, tuple[str, Tree]]) -> dict[str, Any] | None:
    """Returns the entry for an architecture, `None` if a bit differs or nothing could be compared."""
    with ThreadPoolExecutor(2) as pool:
        before, after = pool.map(lambda checkout: weights(checkout / "python", rows), (old, ROOT))
    tensors = {}
    for name in rows:
        then, now = before[name], after[name]
        said = "could not be trained then" if then is None else "equal" if then == now else "differs"
        print(f"{arch}: {name}: {said}", file=sys.stderr, flush=True)
        if said == "differs":
            return None
        if said == "equal" and now is not None:
            tensors[name] = now["tensors"]
    if not tensors:
        return None
    return {"arch": arch, "rows_each": LIMIT, "tensors": tensors}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", help="whose code the results are of")
    asked = parser.parse_args()
    commit = git("rev-parse", "--verify", f"{asked.commit}^{{commit}}")
    if not commit:
        parser.error(f"no commit {asked.commit!r}; see git log")
    entries = json.loads(UNCHANGED.read_text("utf-8")) if UNCHANGED.is_file() else []
    differ = []
    with tempfile.TemporaryDirectory() as scratch:
        old = Path(scratch) / "old"
        worktree.add(old, commit)
        try:
            for arch, taught in product(trees(), (False, True)):
                before, now = code_of(old, arch, taught=taught), code_hash(arch, taught=taught)
                if links(before, now, entries):
                    print(f"{named(arch, taught)}: nothing to show", file=sys.stderr)
                    continue
                if touched := changed(arch, taught=taught):
                    raise SystemExit(
                        f"unchanged.py: {', '.join(touched)}: changed since the commit; type: git commit"
                    )
                if same_code(old, arch, taught=taught):
                    print(f"{named(arch, taught)}: the same code", file=sys.stderr)
                    shown: dict[str, Any] | None = {"arch": named(arch, taught), "same_code": True}
                elif rows := (students() if taught else trees()).get(arch):
                    shown = compare(old, named(arch, taught), rows)
                else:
                    continue
                if shown is None:
                    differ.append(named(arch, taught))
                    continue
                entries.append(
                    {**shown, "from": {"commit": commit, "code": before},
                     "to": {"commit": git("rev-parse", "HEAD"), "code": now}}
                )  # fmt: skip
                UNCHANGED.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
        finally:
            worktree.remove(old)
    if differ:
        print(f"to be measured again: {', '.join(differ)}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
