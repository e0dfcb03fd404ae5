"""Models whose tokenizer `sentitok transplant` changed, read by `senti import` and `senti pretrain`."""

from pathlib import Path

import numpy as np
import pytest
import torch

import sentitok
from cli_runs import run_inside
from language_runs import GPT_2, TEXTS, language_run
from senti_in_process import senti
from sentimodels import LanguageModel
from sentimodels.errors import SentiError
from sentimodels.runs.language_directory import import_transplanted
from sentitok import Tokenizer

SMALL = ("--preset", "nano", "--context", "16", "--threads", "1", "--steps", "2", "--seed", "1")


def new_tokenizer() -> Tokenizer:
    return sentitok.train_bpe(
        texts=["a cat and a bat sat; the dog sat"] * 3, vocab_size=280, special_tokens=["</s>"]
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("transplanted")
    (made / "books.txt").write_text("\n".join(TEXTS * 40), "utf-8")
    new_tokenizer().save(made / "new.json")
    language_run(made / "own", "gpt")
    language_run(made / "gpt2-like", "gpt", model=GPT_2)
    done = senti("export", "gpt2-like", "-o", "gpt2", cwd=made)
    assert done.code == 0, done.err
    for old, model, out in (
        ("own/tokenizer.json", "own", "own-moved"), ("gpt2", "gpt2", "gpt2-moved"),
        ("own/tokenizer.json", "own/model.safetensors", "weights"),
    ):  # fmt: skip
        moved = run_inside("transplant", old, "new.json", model, "-o", out, cwd=made)
        assert moved.code == 0, moved.err
    return made


@pytest.mark.parametrize("name", ["own", "gpt2"])
def test_senti_import_reads_the_result(name: str, folder: Path, tmp_path: Path) -> None:
    done = senti("import", folder / f"{name}-moved", "-o", "run", cwd=tmp_path)
    assert done.code == 0, done.err
    before = LanguageModel.load(folder / ("own" if name == "own" else "gpt2-like"))
    after = LanguageModel.load(tmp_path / "run")
    assert after.tokenizer.vocab() == new_tokenizer().vocab()
    assert after.end == "</s>"
    tables = [model._loaded.module.state_dict()["backbone.embedding.weight"] for model in (before, after)]
    for token in ("Ġcat", "Ġsat", "a"):
        old, new = before.tokenizer.token_to_id(token), after.tokenizer.token_to_id(token)
        assert torch.equal(tables[0][old], tables[1][new]), token
    rest = [
        {key: value for key, value in model._loaded.module.state_dict().items() if ".blocks." in key}
        for model in (before, after)
    ]
    assert all(torch.equal(rest[0][key], rest[1][key]) for key in rest[0])
    (scored,) = after.score(["the cat sat"])
    assert np.isfinite(scored.bits_per_byte)


@pytest.mark.parametrize("name", ["own", "gpt2"])
def test_senti_pretrain_continues(name: str, folder: Path, tmp_path: Path) -> None:
    assert senti("import", folder / f"{name}-moved", "-o", "run", cwd=tmp_path).code == 0
    done = senti("pretrain", folder / "books.txt", "--init", "run", *SMALL[2:], "-o", "more", cwd=tmp_path)
    assert done.code == 0, done.err
    assert LanguageModel.load(tmp_path / "more").tokenizer.vocab() == new_tokenizer().vocab()
    assert "of another tokenizer" not in done.err


def test_senti_pretrain_starts_from_a_folder_or_its_weights(folder: Path, tmp_path: Path) -> None:
    """The metadata of the weights name the new tokenizer, so tables are used."""
    for start in ("own-moved", "weights/model.safetensors"):
        more: list[str | Path] = [] if start == "own-moved" else [
            "--tokenizer", folder / "new.json", "--set", "model.d_model=24", "--set", "model.n_layers=2",
            "--set", "model.n_heads=2",
        ]  # fmt: skip
        done = senti(
            "pretrain", folder / "books.txt", "--init", folder / start, *SMALL[2:], *more,
            "-o", tmp_path / start.replace("/", "-"), cwd=tmp_path,
        )  # fmt: skip
        assert done.code == 0, done.err
        assert "of another tokenizer" not in done.err


def test_a_card_says_so(folder: Path, tmp_path: Path) -> None:
    assert senti("import", folder / "own-moved", "-o", "run", cwd=tmp_path).code == 0
    done = senti("card", "run", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "sentitok transplant" in done.out


def test_a_tokenizer_of_other_weights_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mixed").mkdir()
    for file in (folder / "own-moved").iterdir():
        (tmp_path / "mixed" / file.name).write_bytes(file.read_bytes())
    (tmp_path / "mixed" / "tokenizer.json").write_bytes((folder / "own" / "tokenizer.json").read_bytes())
    with pytest.raises(SentiError, match=r"tokenizer\.json"):
        import_transplanted(tmp_path / "mixed", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_tokenizer_of_a_run_is_checked(folder: Path, tmp_path: Path) -> None:
    done = run_inside("transplant", "new.json", "new.json", "own", "-o", tmp_path / "x", cwd=folder)
    assert done.code == 2
    assert "tokenizer" in done.err
    assert not (tmp_path / "x").exists()
