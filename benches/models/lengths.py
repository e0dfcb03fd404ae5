"""Time and memory of attention kinds and Mamba against the length of a text, and where they cross.

    python benches/models/lengths.py --out lengths.jsonl               # minutes on one core
    python benches/models/lengths.py --out lengths.jsonl --seconds 90  # begins no point later; resumes

Blocks of width 128 with about as many parameters read one text of 128 to 16,384 tokens: a forward and
backward pass, as in training, float32, one thread. CPU seconds count, of the quickest of some tries, and the
peak of memory above the memory in use before, where /proc has it. Each point is a line of a separate file,
whose points a later call skips, and with `--write` of `results.jsonl`.
"""

import argparse
import ctypes
import gc
import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from result import append

from sentimodels.models import build_backbone
from sentimodels.runs.families import resolve
from sentimodels.text.vocabulary import Inputs

TARGET = Path("runs/lengths.jsonl")
COMMAND = "python benches/models/lengths.py"
LENGTHS = [128 * 2**power for power in range(8)]
VOCABULARY = 1000
# Tries are taken until they have lasted so long; a long one is alone.
TRY_SECONDS, MOST_TRIES = 2.0, 20


def _blocks(arch: str, **model: Any) -> dict[str, Any]:
    plain = {"d_model": 128, "dropout": 0.0, "embedding_dropout": 0.0, "char_ngrams": [0, 0]}
    return {"arch": arch, "model": {**plain, **model}}


def _attention(kind: str, causal: bool = False) -> dict[str, Any]:
    return _blocks(
        "encoder", n_layers=2, n_heads=4, positions="rotary", attention=kind, causal=causal, pooling="mean"
    )


# The ones to compare with come first, of the kinds that read both ways and of the causal ones.
TWO_WAY, CAUSAL = "softmax", "softmax, causal"
# Its matrices of all pairs of tokens take gigabytes where texts are longer.
PLAIN, PLAIN_LENGTH = "softmax, written out", 4096
KINDS: dict[str, dict[str, Any]] = {
    TWO_WAY: _attention("softmax"),
    "linear-elu": _attention("linear-elu"),
    "linear-softmax": _attention("linear-softmax"),
    "nystrom": _attention("nystrom"),
    PLAIN: _attention("plain"),
    "mamba": _blocks("mamba", n_layers=4, bidirectional=True, pooling="mean"),
    CAUSAL: _attention("softmax", causal=True),
    "linear-elu, causal": _attention("linear-elu", causal=True),
    "linear-softmax, causal": _attention("linear-softmax", causal=True),
    "mamba, causal": _blocks("mamba", n_layers=4, bidirectional=False, pooling="last"),
}


def settings_of(kind: str, length: int) -> dict[str, Any]:
    """Returns what decides a point."""
    return {**KINDS[kind], "length": length, "vocabulary": VOCABULARY}


def memory(field: str) -> int | None:
    """Returns bytes of a field of /proc/self/status, where there is one."""
    try:
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), None)


def begin_peak() -> int | None:
    """Begins to count peak memory again; returns the bytes in use now, or `None` where it cannot."""
    gc.collect()
    with suppress(AttributeError, OSError):  # another C library than GNU's
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5", "utf-8")
    except OSError:
        return None
    return memory("VmRSS")


def measure(kind: str, length: int) -> dict[str, Any]:
    """Returns a line of the file."""
    torch.manual_seed(0)
    tree = KINDS[kind]
    backbone = build_backbone(tree["arch"], resolve(tree).model, Inputs(VOCABULARY, 0)).train()
    ids = torch.randint(1, VOCABULARY, (1, length))

    def step(some: torch.Tensor) -> None:
        backbone(some).square().mean().backward()
        backbone.zero_grad(set_to_none=True)

    step(ids[:, :64])  # loads kernels
    before = begin_peak()
    taken: list[float] = []
    peak = None
    began = time.process_time()
    while not taken or (len(taken) < MOST_TRIES and time.process_time() - began < TRY_SECONDS):
        start = time.process_time()
        step(ids)
        taken.append(time.process_time() - start)
        if len(taken) == 1:
            peak = memory("VmHWM")
    used = None if before is None or peak is None else peak - before
    # Below a megabyte it is what the allocator had at hand.
    return {
        "name": kind, "length": length, "seconds": min(taken), "bytes": used if used and used > 1e6 else None,
        "tries": len(taken), "parameters": sum(value.numel() for value in backbone.parameters()),
    }  # fmt: skip


def there(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Returns the points of a file, by kind and length."""
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    rows = [json.loads(line) for line in lines]
    return {(one["name"], one["length"]): one for one in rows}


def crossing(points: dict[tuple[str, int], dict[str, Any]], kind: str, base: str, field: str) -> str:
    """Says from which length on a kind takes less than another, as far as both were measured."""
    both = sorted(
        length
        for name, length in points
        if name == kind and (base, length) in points and points[kind, length][field] is not None
        and points[base, length][field] is not None
    )  # fmt: skip
    if not both:
        return "not measured"
    less = [points[kind, length][field] < points[base, length][field] for length in both]
    if not less[-1]:
        return f"not up to {both[-1]:,}"
    first = max((place for place, value in enumerate(less) if not value), default=-1) + 1
    return f"from {both[first]:,}" if not first else f"between {both[first - 1]:,} and {both[first]:,}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, help="begin no point after so many seconds")
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS), metavar="KIND")
    parser.add_argument("--out", type=Path, default=TARGET)
    parser.add_argument("--write", action="store_true", help="append the points to results.jsonl too")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    began, left = time.monotonic(), 0
    points = there(asked.out)
    # Short texts of all kinds first, so that an incomplete file can be compared.
    for length in asked.lengths:
        for kind in asked.kinds:
            if (kind, length) in points or (kind == PLAIN and length > PLAIN_LENGTH):
                continue
            if asked.seconds is not None and time.monotonic() - began > asked.seconds:
                left += 1
                continue
            point = measure(kind, length)
            points[kind, length] = point
            asked.out.parent.mkdir(parents=True, exist_ok=True)
            with asked.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(point) + "\n")
            if asked.write:
                append(f"lengths:{kind}, {length}", COMMAND, settings_of(kind, length), point)
            shown = "-" if point["bytes"] is None else f"{point['bytes'] / 1e6:.0f} MB"
            print(f"{kind:24}{length:7,}{point['seconds']:10.4f} s{shown:>10}", flush=True)
    for kind in KINDS:
        base = CAUSAL if kind.endswith(", causal") else TWO_WAY
        if kind != base:
            said = crossing(points, kind, base, "seconds"), crossing(points, kind, base, "bytes")
            print(f"{kind}: quicker than {base}: {said[0]}; less memory: {said[1]}")
    print(f"{left} points are left; type the command again" if left else "all points are there")
    return 0


if __name__ == "__main__":
    sys.exit(main())
