"""Runs what docs/how-to/align.md shows of aligning."""

import json
import re
import shlex
from pathlib import Path

import pytest

from alignment_runs import make, texts, write_lines
from labelled_reviews import write
from senti_in_process import senti

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "how-to" / "align.md").read_text("utf-8")
CHAPTER = re.search(r"^## Aligning\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
# The examples with fewer steps and smaller pieces.
LESS = [
    "--steps", "2", "--batch-size", "8", "--max-new-tokens", "6", "--judge", "6", "--threads", "1",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make(tmp_path_factory.mktemp("page"))
    (made / "runs").mkdir()
    (made / "base").rename(made / "runs" / "base")
    (made / "reward").rename(made / "runs" / "reviews")
    write(made / "new.csv", 30, seed=9)
    write_lines(made / "openings.txt", texts(40, 12))
    return made


def test_commands(folder: Path) -> None:
    """In order: a later one reads what an earlier one wrote."""
    assert CHAPTER is not None
    blocks = re.findall(r"^```console\n(.*?)^```$", CHAPTER[1], re.M | re.S)
    commands = [line[2:] for block in blocks for line in block.splitlines()]
    assert len(commands) == 4
    for line in commands:
        _, *words = shlex.split(line)
        more = [] if words[0] == "generate" else LESS
        if words[0] == "align" and "dpo" not in words:
            more = [*more, "--opening-tokens", "4"]
        done = senti(*words, *more, cwd=folder)
        assert done.code == 0, (line, done.err)
        assert done.out


def test_the_summary_tells_rewards_with_what_they_cost(folder: Path) -> None:
    args = ["align", "runs/base", "openings.txt", "--reward-run", "runs/reviews", "--reward", "pos", *LESS]
    args += ["--opening-tokens", "4", "--max-kl", "0.0001", "--lr", "0.01"]
    done = senti(*args, "-o", "runs/one", "--samples", "2", cwd=folder)
    assert done.code == 0, done.err
    for row in (
        "reward, mean",
        "reward, median",
        "KL from the base, nats an answer",
        "distinct-1",
        "distinct-2",
    ):
        assert re.search(rf"^{row} +-?\d+\.\d+ +-?\d+\.\d+$", done.out, re.M), done.out
    assert re.search(r"^change in reward: -?\d+\.\d+ \(-?\d+\.\d+ to -?\d+\.\d+\)", done.out, re.M), done.out
    assert re.search(r"^warning: the divergence is .* above 0\.0001", done.out, re.M), done.out
    assert len(re.findall(r"^  before +-?\d", done.out, re.M)) == 2
    assert "next     senti generate runs/one PROMPT" in done.out
    told = senti(*args, "-o", "runs/two", "--samples", "2", "--json", cwd=folder)
    found = json.loads(told.out)
    assert found["schema"] == "senti.align/1"
    assert found["run"] == "runs/two"
    assert len(found["samples"]) == 2
    assert found["alignment"]["warnings"]
    # The same seed, the same answers.
    for one in found["samples"]:
        assert re.search(rf"^  before +{one['reward_before']:.2f} .*\n  after +{one['reward_after']:.2f} ",
                         done.out, re.M)  # fmt: skip
    plot = senti("plot", "runs/one", "--score", "reward_mean", "-o", "curves.png", cwd=folder)
    assert plot.code == 0, plot.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["runs/base", "--reward-run", "runs/reviews"], "senti align RUN FILE"),
        (["runs/base", "openings.txt"], "--reward-run RUN"),
        (["--resume", "runs/one", "--steps", "3"], "--resume DIR takes no other settings"),
        (["--resume", "runs/base"], "runs/base: a run of senti pretrain; senti pretrain --resume"),
        (["runs/base", "pairs.jsonl", "--method", "dpo", "--opening-tokens", "3"], "--opening-tokens: only"),
        (["runs/base", "none.txt", "--reward-run", "runs/reviews", "--reward", "pos"], "none.txt: No such"),
        (["runs/base", "openings.txt", "--reward-run", "runs/reviews", "--reward", "x"], "it has neg, pos"),
        (["runs/reviews", "openings.txt", "--reward-run", "runs/reviews", "--reward", "pos"], "a classifier"),
    ],
)  # fmt: skip
def test_wrong_calls(args: list[str], said: str, folder: Path) -> None:
    done = senti("align", *args, "-o", "runs/none", cwd=folder) if "--resume" not in args else senti(
        "align", *args, cwd=folder
    )  # fmt: skip
    assert (done.code, done.out) == (2, ""), done.out
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not (folder / "runs" / "none").exists()


@pytest.mark.parametrize(
    ("method", "sizes", "expected"),
    [
        ("ppo", "--steps 30 --batch-size 8 --opening-tokens 4", {"judge_rows": 4, "steps": 30}),
        ("dpo", "--epochs 2 --batch-size 16", {"train_rows": 54, "judge_rows": 6, "steps": 2 * 4}),
    ],
)
def test_a_dry_run_with_the_file_that_init_writes(
    method: str, sizes: str, expected: dict[str, int], folder: Path
) -> None:
    """The command that `senti init` names, with `--dry-run`, says what the same command then does."""
    done = senti("init", "--task", method, "-o", f"{method}.toml", cwd=folder)
    assert "# KL divergence from the base" in (folder / f"{method}.toml").read_text()
    words = [*shlex.split(done.out.splitlines()[-1])[2:], *sizes.split(), "--threads", "1"]
    done = senti(*words, "--dry-run", "--json", "-o", f"runs/by-{method}", cwd=folder)
    assert done.code == 0, done.err
    assert not (folder / "runs" / f"by-{method}").exists()
    said = json.loads(done.out)
    assert {key: said[key] for key in expected} == expected
    assert said["memory_bytes"] > 4 * 5 * said["parameters"]
    done = senti(*words, "--set", "task.max_new_tokens=6", "--json", "-o", f"runs/by-{method}", cwd=folder)
    about = json.loads(done.out)
    assert (about["fit"]["steps"], about["parameters"]) == (said["steps"], said["parameters"])
    assert said["seconds"] > 0


def test_init_of_an_alignment_takes_no_architecture(folder: Path) -> None:
    done = senti("init", "--task", "ppo", "--arch", "gpt", cwd=folder)
    assert (done.code, done.out) == (2, "")
    assert "ppo aligns a run that has both; leave them out" in done.err


def test_runs_tells_what_rewards_cost(folder: Path) -> None:
    args = ["openings.txt", "--reward-run", "runs/reviews", "--reward", "pos", *LESS, "--opening-tokens", "4"]
    done = senti("align", "runs/base", *args, "-o", "listed/ppo", cwd=folder)
    assert done.code == 0, done.err
    pairs = ["align", "runs/base", "pairs.jsonl", "--method", "dpo", *LESS, "-o", "listed/dpo"]
    assert senti(*pairs, cwd=folder).code == 0
    found = json.loads((folder / "listed/ppo/run.json").read_text("utf-8"))["alignment"]
    told = [
        f"{found[when][key]:.3f}" for key in ("reward_mean", "distinct_2") for when in ("before", "after")
    ]
    text = senti("runs", "listed", cwd=folder).out
    assert "Aligned language models" in text
    assert "on the same validation documents" not in text
    cells = r" +".join(map(re.escape, [*told, f"{found['after']['kl']:.2f}"]))
    assert re.search(rf"^ *ppo +gpt +ppo +finished +{cells} +- *$", text, re.M), text
    assert re.search(r"^ *dpo +gpt +dpo +finished +- +- .* [01]\.\d{3} *$", text, re.M), text
