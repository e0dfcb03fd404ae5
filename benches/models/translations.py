"""The part of docs/results.md about translation, from `results/translation.json` alone.

Not for measuring (`translate.py`). The test pairs are scored once, when nothing is left to choose.
"""

from pathlib import Path

from bars import BLEU, TRANSLATION_SECONDS
from markdown import MET, MISSED
from result import RESULTS, read

TARGET = RESULTS / "translation.json"
COMMAND = "python benches/models/translate.py"


def part(path: Path = TARGET) -> str:
    """Returns a table and what it was made of, or how to measure it."""
    if not path.is_file():
        return f"Not measured: `{COMMAND}` trains for an hour, `--test` then scores once."
    result = read(path)
    config, fit, test, dev = (result[name] for name in ("config", "fit", "test", "dev"))
    within = test["bleu"] >= BLEU and fit["seconds"] <= TRANSLATION_SECONDS
    rows = [
        ("parameters", f"{result['parameters']:,}"),
        ("epochs, steps", f"{config['train']['epochs']:g}, {fit['steps']:,}"),
        ("minutes of training", f"{fit['seconds'] / 60:.0f} on {config['train']['threads']} thread(s)"),
        ("dev (val): BLEU / chrF, as trained", f"{dev['bleu']:.2f} / {dev['chrf']:.2f}"),
        (
            f"test_2016_flickr, {test['pairs']:,} pairs: BLEU / chrF",
            f"{test['bleu']:.2f} / {test['chrf']:.2f}",
        ),
        (f"bar: BLEU at least {BLEU:g} after at most an hour", MET if within else MISSED),
    ]
    table = "\n".join(["| | |", "|---|---:|", *(f"| {name} | {value} |" for name, value in rows)])
    search = ", ".join(f"{key} {value}" for key, value in test["search"].items())
    signatures = "; ".join(f"`{one}`" for one in test["signatures"].values())
    return (
        "A small encoder-decoder on Multi30k, English to German; recipe `benches/models/multi30k.toml`. "
        f"Steps and search ({search}) were chosen on dev; the test pairs were scored once, and "
        f"{test['seen']} of them stand among the training pairs.\n\n{table}\n\n"
        f"{result['date']}, commit {result['git'][:9]}, load {result['load'][0]} and {result['load'][1]}, "
        f"torch {result['versions']['torch']}. sacrebleu: {signatures}. `{result['command']}`."
    )
