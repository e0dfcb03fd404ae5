"""BLEU and chrF of a small encoder-decoder on Multi30k, English to German.

    python benches/models/translate.py --out runs/multi30k            # an hour on two cores; scores on dev
    python benches/models/translate.py --out runs/multi30k --resume   # goes on with a stopped one
    python benches/models/translate.py --out runs/multi30k --search   # alpha and beam, on dev
    python benches/models/translate.py --out runs/multi30k --test     # once, when nothing is left to choose
    python benches/models/translate.py --seconds 120                  # speed alone, and epochs an hour buys

The recipe is `multi30k.toml`; weights and search are chosen on the validation pairs. Needs the data of
`SENTITOK_DATA` and sacrebleu. `--test` writes a result file with the signatures.
"""

import argparse
import json
import os
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bars import BLEU
from markdown import MET, MISSED
from result import ROOT, digest, git, load, write
from translations import TARGET

from sentimodels.config import TranslationConfig
from sentimodels.data.parallel import ParallelText, read_parallel
from sentimodels.lm.evaluate_translation import evaluate_translation
from sentimodels.lm.translation import resume_translation, train_translation
from sentimodels.lm.translation_config import load_translation_config, resolve_translation
from sentimodels.runs.config import read_toml, set_value
from sentimodels.runs.directory import versions

RECIPE = Path(__file__).with_name("multi30k.toml")


def data() -> Path:
    return Path(os.environ.get("SENTITOK_DATA", ROOT.parent / "shared" / "data"))


def files(part: str) -> list[str]:
    return [str(data() / "multi30k-en-de" / f"{part}.{side}.gz") for side in ("en", "de")]


def settings(config: TranslationConfig) -> dict[str, Any]:
    """Returns the configuration, its files by their names among the data."""
    tree = config.tree()
    for part in ("train", "valid"):
        tree["data"][part] = [Path(file).relative_to(data()).as_posix() for file in tree["data"][part]]
    return tree


def configured(seed: int, threads: int, assignments: list[str]) -> TranslationConfig:
    more: dict[str, Any] = {}
    for assignment in assignments:
        set_value(more, assignment)
    here = {
        "data": {"train": files("train"), "valid": files("val")},
        "train": {"seed": seed, "threads": threads},
    }
    return resolve_translation(read_toml(RECIPE), here, more)


def said(record: dict[str, Any]) -> None:
    if "monitor" in record:
        scores = ", ".join(f"{name} {value:.4f}" for name, value in record.items() if name[:4] == "val_")
        print(f"epoch {record['epoch']:g}, {record['seconds'] / 60:.1f} min: {scores}", flush=True)


def speed(config: TranslationConfig, seconds: float) -> None:
    """Trains for some seconds; prints tokens a second, and how many epochs an hour buys."""
    until = time.perf_counter() + seconds
    records: list[dict[str, Any]] = []
    config = config.model_copy(update={"train": config.train.model_copy(update={"log_every": 1})})

    def hear(record: dict[str, Any]) -> None:
        if "loss" in record:
            records.append(record | {"cpu": time.process_time()})

    with tempfile.TemporaryDirectory() as folder:
        about = train_translation(
            config, Path(folder) / "run", on_record=hear, should_stop=lambda: time.perf_counter() > until
        )
    if len(records) < 10:
        raise SystemExit(f"{len(records)} steps in {seconds:g} s: too few to tell; give more --seconds")
    first, last = records[4], records[-1]  # torch warms up
    tokens, steps = last["tokens"] - first["tokens"], last["step"] - first["step"]
    an_epoch = round(last["total_steps"] / config.train.epochs)
    found = {"parameters": about["parameters"], "steps": steps, "padding": round(about["fit"]["padding"], 4)}
    for name, spent in (("wall", last["seconds"] - first["seconds"]), ("cpu", last["cpu"] - first["cpu"])):
        found[f"tokens_per_{name}_second"] = round(tokens / spent)
        found[f"{name}_seconds_an_epoch"] = round(an_epoch * spent / steps, 1)
        found[f"epochs_a_{name}_hour"] = round(3600 * steps / (spent * an_epoch), 1)
    print(json.dumps(found, indent=1))


def search(run: Path, pairs: ParallelText) -> None:
    for beam, alpha in ((1, 1.0), (5, 0.0), (5, 0.6), (5, 1.0), (5, 1.4), (10, 1.0)):
        scores, _ = evaluate_translation(run, pairs, beam=beam, alpha=alpha)
        print(f"dev: beam {beam}, alpha {alpha:g}: BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}, "
              f"{scores['seconds']:.1f} s")  # fmt: skip


def test(run: Path, before: float | None, command: str, **given: Any) -> None:
    """Scores the test pairs, searched as dev has it best, and writes the result."""
    about = json.loads((run / "run.json").read_text("utf-8"))
    config = load_translation_config(run)
    scores, _ = evaluate_translation(run, read_parallel(files("test_2016_flickr")), **given)
    print(f"test_2016_flickr: BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}")
    print(f"bar of {BLEU:g}: {MET if scores['bleu'] >= BLEU else MISSED}; signatures: {scores['signatures']}")
    tree = settings(config)
    write(TARGET, {
        "set": "multi30k", "row": "seq2seq", "config": tree, "config_sha256": digest(tree),
        "dev": about["valid"], "test": scores, "fit": about["fit"], "parameters": about["parameters"],
        "seconds": about["seconds"], "git": git("rev-parse", "HEAD"), "versions": versions(),
        "load": [before, load()], "command": command,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
    })  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("runs/multi30k"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seconds", type=float, help="measure speed for so long, and train nothing else")
    parser.add_argument("--beam", type=int, help="of --test, as --search found it; else the recipe's")
    parser.add_argument("--alpha", type=float, help="as --beam")
    for name in ("resume", "search", "test"):
        parser.add_argument(f"--{name}", action="store_true")
    asked = parser.parse_args()
    before = load()
    config = configured(asked.seed, asked.threads, asked.set)
    if asked.seconds is not None:
        speed(config, asked.seconds)
    elif asked.search:
        search(asked.out, read_parallel(files("val")))
    elif asked.test:
        command = f"python benches/models/translate.py --out {asked.out} --test"
        given = {"beam": asked.beam, "alpha": asked.alpha}
        command += "".join(f" --{name} {value:g}" for name, value in given.items() if value is not None)
        test(asked.out, before, command, **given)
    elif asked.resume:
        print(json.dumps(resume_translation(asked.out, on_record=said)["valid"], indent=1))
    else:
        print(json.dumps(train_translation(config, asked.out, on_record=said)["valid"], indent=1))


if __name__ == "__main__":
    main()
