"""Cards of language models, of aligned ones and of translation models: what runs recorded."""

import contextlib
import io
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from alignment_runs import config_of, make
from card_numbers import unknown_numbers
from language_runs import GPT_2, language_run
from parallel_numbers import TINY, write_pairs
from senti_in_process import senti
from sentimodels.runs.card import card
from sentimodels.runs.directory import manifest_hash, read_json
from sentimodels.runs.execute import Callbacks, train
from sentimodels.runs.families import LANGUAGE_MODEL

SMALL = [
    *("--preset", "nano", "--vocab", "300", "--context", "32", "--batch-size", "4", "--threads", "1"),
    *("--set", "model.d_model=16", "--set", "model.n_layers=2"),
]  # fmt: skip
CARDS = ("lm/gpt", "lm/bert", "lm/mamba", "lm/more", "ppo", "dpo", "seq2seq", "prompted")
TAGS = {"seq2seq": "translation", "prompted": "translation", "lm/bert": "fill-mask"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each kind."""
    made = make(tmp_path_factory.mktemp("cards"))
    lines = (made / "reviews.csv").read_text("utf-8").splitlines()[1:]
    (made / "bo|oks.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    for name, args in {
        "lm/gpt": [],
        "lm/bert": ["--arch", "bert", "--next-sentence", "--mask-rate", "0.2"],
        "lm/mamba": ["--arch", "mamba", "--set", "model.d_head=8"],
        "lm/more": ["--init", "lm/gpt"],
    }.items():
        done = senti("pretrain", "bo|oks.txt", *SMALL, "--steps", "3", *args, "-o", name, cwd=made)
        assert done.code == 0, done.err
    train(config_of(made).model_copy(update={"base": str(made / "lm" / "gpt")}), made / "ppo")
    train(config_of(made, "dpo"), made / "dpo")
    files = [*write_pairs(made, "train", 200, 0), "--epochs", "1"]
    valid = [word for name in write_pairs(made, "valid", 20, 1) for word in ("--valid", name)]
    for name, args in {
        "seq2seq": [*valid, *TINY, "--set", "model.positions=learned"],
        "prompted": ["--init", "lm/gpt", "--batch-tokens", "600", "--threads", "1"],
    }.items():
        done = senti("translate", "train", *files, *args, "-o", name, cwd=made)
        assert done.code == 0, done.err
    return made


def card_of(folder: Path, name: str) -> tuple[str, dict[str, Any]]:
    """Returns the text and the facts of a card."""
    done = senti("card", name, cwd=folder)
    assert done.code == 0, done.err
    return done.out, card(folder / name)


@pytest.mark.parametrize("name", CARDS)
def test_a_card_says_what_the_run_recorded(folder: Path, name: str) -> None:
    text, facts = card_of(folder, name)
    about = read_json(folder / name / "run.json")
    assert facts["parameters"] == about["parameters"]
    assert f"{about['parameters']:,} parameters" in text
    assert f"| tokens trained on | {about['fit']['tokens']:,} |" in text
    assert f"{about['fit']['steps']:,} steps ({about['fit']['stop']}" in text
    assert {one["sha256"] for one in facts["data"]} <= set(re.findall(r"`(\w{64})`", text))
    for file, entry in facts["files"].items():
        assert f"| {file} |" in text
        assert entry["sha256"] in text
    assert manifest_hash(folder / name) == facts["manifest_sha256"]
    assert str(facts["manifest_sha256"]) in text
    assert str(folder) not in text  # nothing of the machine that trained
    assert str(folder) not in json.dumps(facts)
    assert not unknown_numbers(text, facts, {"95"})
    assert "does not record: the licence of texts and weights" in text
    value = json.loads(senti("card", name, "--json", cwd=folder).out)
    assert value.pop("schema") == "senti.card/1"
    assert value == json.loads(json.dumps(facts))


@pytest.mark.parametrize("name", CARDS)
def test_the_snippet_loads_and_uses_the_model(folder: Path, name: str) -> None:
    text, _ = card_of(folder, name)
    [block] = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    at = folder / Path(name).parent  # where the receiver of the run has it
    with contextlib.chdir(at), contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(block, "card", "exec"), {})
    assert out.getvalue()
    [command] = re.findall(r"^```\n(.*?)\n```$", text, re.M | re.S)
    before, _, line = command.rpartition(" | ")
    line = line.replace("FILE", shlex.quote(str(folder / "reviews.csv")))
    words = shlex.split(line)[1:]
    more = ["--out", str(folder / f"of-{Path(name).name}"), "--epochs", "1"] if words[0] == "train" else []
    done = senti(*words, *more, cwd=at, stdin=f"{shlex.split(before)[1]}\n" if before else "")
    assert done.code == 0, done.err


@pytest.mark.parametrize("name", CARDS)
def test_front_matter_is_yaml(folder: Path, name: str) -> None:
    yaml = pytest.importorskip("yaml", reason="no YAML reader is installed")
    text, facts = card_of(folder, name)
    value = yaml.safe_load(text.split("---\n")[1])
    assert value["pipeline_tag"] == TAGS.get(name, "text-generation")
    assert value["tags"][:2] == ["sentimodels", facts["arch"]]
    [model] = value["model-index"]
    assert model["name"] == facts["name"]
    [result] = model["results"]
    about = read_json(folder / name / "run.json")
    found = about["alignment"]["after"] if "alignment" in about else about["valid"]
    found |= about.get("alignment", {}).get("preferences", {})
    assert result["metrics"]
    for metric in result["metrics"]:
        assert metric["value"] == round(found[metric["type"]], 6)
    assert result["dataset"]["name"].split(",")[0] in {one["file"].split(",")[0] for one in facts["data"]}


def test_scores_and_parts_of_a_language_model(folder: Path) -> None:
    (text, _), about = card_of(folder, "lm/gpt"), read_json(folder / "lm" / "gpt" / "run.json")
    (train, valid), (train_tokens, valid_tokens) = about["corpus"]["documents"], about["corpus"]["tokens"]
    scores = about["valid"]
    assert (
        f"| validation, {valid:,} documents, {valid_tokens:,} tokens | {scores['loss']:.4f} | "
        f"{scores['perplexity']:.2f} | {scores['bits_per_byte']:.4f} |"
    ) in text
    for value in about["baselines"].values():
        assert f"| - | - | {value:.4f} |" in text
    assert f"{train:,} ({train_tokens:,} tokens) to train on" in text
    assert "| corpus | bo\\|oks.txt | 200 |" in text
    assert "It reads 32 tokens at once: a longer prompt is refused" in text
    assert "lowest loss on those very documents" in text
    assert "It was not tested on tasks" in text
    assert "No intervals are recorded" in text
    assert "## Base" not in text


def test_masked_and_recurrent_models_say_what_they_read(folder: Path) -> None:
    (text, _), scores = card_of(folder, "lm/bert"), read_json(folder / "lm" / "bert" / "run.json")["valid"]
    assert "of the 20 % of the tokens that were chosen" in text
    assert f"without which it is {scores['masked_loss']:.4f}" in text
    assert f"right for {100 * scores['next_sentence']:.1f} % of the rows" in text
    assert "bits per byte" not in text
    assert "no call that fills masks in" in text
    text, facts = card_of(folder, "lm/mamba")
    assert facts["reads"] is None
    assert "trained on rows of 32 tokens. It keeps a state of one size" in text


def test_bases_are_named_with_what_they_learned(folder: Path) -> None:
    corpus = r"^\| base(-0)? \| bo\\\|oks.txt \| 200 \|"
    for name in ("lm/more", "prompted"):
        text, facts = card_of(folder, name)
        assert facts["base"] == {"name": "gpt", "sha256": None, "learned": True}
        assert "The weights began as those of `gpt`, of which the run records no hash." in text
        assert re.search(corpus, text, re.M), name
    text, facts = card_of(folder, "ppo")
    assert facts["base"]["sha256"] == manifest_hash(folder / "lm" / "gpt")
    assert facts["reward"]["sha256"] == manifest_hash(folder / "reward")
    assert f"`gpt` (SHA-256 of its manifest `{facts['base']['sha256']}`)" in text
    assert "listed under Data" in text
    assert re.search(corpus, text, re.M)
    text, facts = card_of(folder, "dpo")  # its base recorded nothing
    assert "What that one had learned from is not recorded" in text
    assert facts["reward"] is None


def test_rewards_stand_beside_what_they_cost(folder: Path) -> None:
    (text, facts), about = card_of(folder, "ppo"), read_json(folder / "ppo" / "run.json")["alignment"]
    before, after = about["before"], about["after"]
    for key, name in {"reward_mean": "reward, mean", "distinct_2": "distinct-2"}.items():
        assert f"| {name} | {before[key]:.3f} | {after[key]:.3f} |" in text
    assert f"| KL from the base, nats an answer | {before['kl']:.3f} | {after['kl']:.3f} |" in text
    low, high = about["interval"]
    assert f"changed by {about['gain']:.3f} (95 % interval {low:.3f} to {high:.3f})" in text
    assert f"greater for {about['better']} of the {about['openings']} openings" in text
    assert "the log-odds of its label `pos`" in text
    assert facts["reward"]["weights"] == {"pos": 1.0}
    assert "best at" not in text  # the last weights are kept
    assert "All these answers are in `samples.jsonl`" in text
    (text, _), about = card_of(folder, "dpo"), read_json(folder / "dpo" / "run.json")["alignment"]
    assert f"preferred in {100 * about['preferences']['accuracy']:.1f} %" in text
    assert "No reward of its answers is recorded" in text
    assert "## Reward" not in text


def test_a_warning_of_the_run_and_weighted_labels_are_told(folder: Path) -> None:
    task = {"reward": {"pos": 1.0, "neg": -1.0}, "max_kl": 1e-6}
    train(config_of(folder, task=task), folder / "warned")
    done = senti("card", "warned", cwd=folder)
    assert done.code == 0, done.err
    [warning] = read_json(folder / "warned" / "run.json")["alignment"]["warnings"]
    assert f"Warning: {warning}." in done.out
    assert "by weights: 1 for `pos`, -1 for `neg`" in done.out
    reward = {"reward_run": str(folder / "reward"), "reward": "pos"}
    train(config_of(folder, "dpo", task=reward), folder / "told")
    done = senti("card", "told", cwd=folder)
    assert "the log-odds of its label `pos`. It only judges: nothing was learned from it." in done.out
    assert re.search(r"^\| reward, mean \| -?\d", done.out, re.M)


def test_translations_have_signatures_and_limits(folder: Path) -> None:
    (text, facts), scores = card_of(folder, "seq2seq"), read_json(folder / "seq2seq" / "run.json")["valid"]
    row = f"| validation, 20 pairs | {scores['loss']:.4f} | {scores['perplexity']:.2f} |"
    assert row in text
    if "bleu" in scores:
        assert f"{row} {scores['bleu']:.2f} | {scores['chrf']:.2f} |" in text
        for signature in scores["signatures"].values():
            assert f"`{signature}`" in text
    else:
        assert "BLEU and chrF are not recorded" in text
    assert "an encoder reads the source, a decoder writes the target" in text
    assert "Trained on 200 pairs; 20 validation pairs, of a separate file" in text
    assert "| valid | valid.en, valid.de | 20 |" in text
    assert "Its positions reach 512 tokens" in text
    assert "sides have at most 128 tokens" in text
    assert "which languages it translates between" in text
    assert facts["prompt"] is None
    text, facts = card_of(folder, "prompted")
    assert "a causal model reads the source in a prompt" in text
    assert f"| prompt | `{json.dumps(facts['prompt'])}` |" in text
    assert "held out of the training file" in text


def test_an_imported_model_names_what_is_missing(tmp_path: Path) -> None:
    module = language_run(tmp_path / "own", "gpt", model=GPT_2)
    for line in ("export own --to transformers -o theirs", "import theirs -o again"):
        done = senti(*line.split(), cwd=tmp_path)
        assert done.code == 0, done.err
    done = senti("card", "again", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "read by `senti import` from the files of a model of transformers" in done.out
    assert f"{sum(one.numel() for one in module.parameters()):,} parameters" in done.out
    for said in (
        "The run records no files that it learned from.",
        "The run records no scores.",
        "Nothing is known of how well it predicts",
    ):
        assert said in done.out
    assert "model-index" not in done.out
    assert "None" not in done.out


def test_stopped_runs_say_so_and_unfinished_ones_have_no_card(folder: Path, tmp_path: Path) -> None:
    tree = LANGUAGE_MODEL.load(folder / "lm" / "gpt").tree()
    train(LANGUAGE_MODEL.resolve(tree), tmp_path / "stopped", callbacks=Callbacks(should_stop=lambda: True))
    done = senti("card", "stopped", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "Training was ended early (stopped)." in done.out
    (tmp_path / "stopped" / "manifest.json").unlink()
    done = senti("card", "stopped", cwd=tmp_path)
    assert (done.code, "the run has not finished: senti pretrain --resume stopped" in done.err) == (2, True)
    for name, file in {"seq2seq": "tokenizer.json", "ppo": "alignment.toml", "lm/bert": "run.json"}.items():
        shutil.copytree(folder / name, tmp_path / name)
        with (tmp_path / name / file).open("a") as to:
            to.write(" \n")
        done = senti("card", name, cwd=tmp_path)
        assert (done.code, f"{file}: changed since it was written" in done.err) == (2, True), done.err
    (tmp_path / "ppo" / "alignment.toml").write_text("[")
    done = senti("card", "ppo", cwd=tmp_path)
    assert (done.code, "alignment.toml: not valid TOML" in done.err) == (2, True)


def test_no_card_is_written_into_a_run(folder: Path) -> None:
    for at in ("ppo", "lm/gpt"):
        done = senti("card", "ppo", "-o", f"{at}/README.md", cwd=folder)
        assert (done.code, "write the card elsewhere" in done.err) == (2, True)


def test_the_page_shows_commands_that_run(folder: Path, tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parent.parent.parent / "docs" / "how-to" / "model-cards.md").read_text(
        "utf-8"
    )
    commands = re.findall(r"^\$ (senti card .+)$", page.partition("## Model cards")[2], re.M)
    assert len(commands) == 2
    for name, run in {"ppo": "ppo", "seq2seq": "en-de"}.items():
        shutil.copytree(folder / name, tmp_path / "runs" / run)
    for line in commands:
        done = senti(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.code == 0, done.err
        assert done.out
    assert (tmp_path / "card.md").read_text("utf-8").startswith("---\nlibrary_name")
