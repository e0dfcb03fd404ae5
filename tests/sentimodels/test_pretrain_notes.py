"""What a pre-training reports of its corpus, its base and its tokenizer before it begins."""

from pathlib import Path

import pytest

from animals import config_of, write_corpus
from sentimodels import LanguageModel
from sentimodels.runs.execute import Callbacks, train
from sentimodels.runs.families import LANGUAGE_MODEL
from sentitok import train_bpe, train_wordpiece


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def test_a_base_that_has_read_what_validates_is_named(corpus: Path, tmp_path: Path) -> None:
    train(config_of(corpus), tmp_path / "base")
    said: list[str] = []
    start = {"init_from": str(tmp_path / "base")}
    train(config_of(corpus, train=start), tmp_path / "alike", callbacks=Callbacks(on_warning=said.append))
    moved = tmp_path / "moved.txt"
    moved.write_bytes(corpus.read_bytes())
    more = tmp_path / "more.txt"
    more.write_text("one more line\n" * 20)
    behind = {"corpus": [str(moved), str(more)]}
    train(
        config_of(corpus, train=start, data=behind),
        tmp_path / "behind",
        callbacks=Callbacks(on_warning=said.append),
    )
    named = config_of(corpus, train=start, data={"format": "lines", "encoding": "utf-8"})  # as without
    train(named, tmp_path / "named", callbacks=Callbacks(on_warning=said.append))
    assert not any("base was trained on" in note for note in said)
    apart = tmp_path / "apart.txt"
    apart.write_text(corpus.read_text().replace("\n", "\n\n"))
    train(config_of(apart, train=start), tmp_path / "apart")
    cut = config_of(apart, train={"init_from": str(tmp_path / "apart")}, data={"format": "paragraphs"})
    train(cut, tmp_path / "cut", callbacks=Callbacks(on_warning=said.append))
    assert (
        sum("1 of the 1 files of the corpus, with documents read in another way:" in one for one in said) == 1
    )
    train(
        config_of(corpus, train=start, data={"split_seed": 1}),
        tmp_path / "other",
        callbacks=Callbacks(on_warning=said.append),
    )
    assert (
        sum("on 1 of the 1 files of the corpus, with another data.split_seed" in note for note in said) == 1
    )
    before = {"corpus": [str(more), str(corpus)]}
    train(
        config_of(corpus, train=start, data=before),
        tmp_path / "before",
        callbacks=Callbacks(on_warning=said.append),
    )
    assert sum("1 of the 2 files of the corpus, with other files before" in note for note in said) == 1


def test_bfloat16_that_the_processor_lacks_is_named(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sentimodels.training.device.lacks_bfloat16", lambda: True)
    for precision, told in (("bfloat16", True), ("float32", False)):
        said: list[str] = []
        loop = {"precision": precision, "device": "cpu", "max_steps": 1}
        train(
            config_of(corpus, train=loop), tmp_path / precision, callbacks=Callbacks(on_warning=said.append)
        )
        assert any("no fast bfloat16 for this processor" in note for note in said) == told


def test_a_tokenizer_that_loses_text_is_named(corpus: Path, tmp_path: Path) -> None:
    said: list[str] = []
    train(config_of(corpus), tmp_path / "bpe", callbacks=Callbacks(on_warning=said.append))
    assert not any("loses parts of texts" in note for note in said)
    train(
        config_of(corpus, data={"tokenizer_model": "wordpiece"}),
        tmp_path / "run",
        callbacks=Callbacks(on_warning=said.append),
    )
    assert any("loses parts of texts" in note for note in said)


def test_a_tokenizer_that_adds_what_the_model_does_not_read_is_named(corpus: Path, tmp_path: Path) -> None:
    """Where classifiers are given `[CLS]`, a causal model has read none; where not, a masked one has."""
    train_wordpiece(corpus, vocab_size=200).save(tmp_path / "bert.json")
    named = {"tokenizer": str(tmp_path / "bert.json")}
    told = {}
    for kind in ("next-token", "masked"):
        said: list[str] = []
        arch = "gpt" if kind == "next-token" else "bert"
        config = config_of(corpus, arch=arch, data=named, train={"max_steps": 1})
        train(config, tmp_path / kind, callbacks=Callbacks(on_warning=said.append))
        told[kind] = [note for note in said if "to a text that is classified" in note]
    assert told["masked"] == []
    said = []
    bare = config_of(corpus, arch="bert", data={"tokenizer_model": "bpe"}, train={"max_steps": 1})
    train(bare, tmp_path / "bare", callbacks=Callbacks(on_warning=said.append))
    assert sum("the tokenizer adds no [CLS] and [SEP] to a text that is" in note for note in said) == 1
    assert [note.split(" to a text")[0] for note in told["next-token"]] == ["the tokenizer adds [CLS]"]


def test_short_documents_and_long_rows_of_two_halves_are_named(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"the {n} cat sat on mat {n}\n" for n in range(300)))
    for context, told in ((64, True), (8, False)):
        said: list[str] = []
        data, loop = {"context": context, "valid_share": 0.2}, {"max_steps": 1, "batch_size": 2}
        config = config_of(lines, arch="bert", task={"next_sentence": True}, data=data, train=loop)
        train(config, tmp_path / str(context), callbacks=Callbacks(on_warning=said.append))
        notes = [note for note in said if "--next-sentence reads the longest document" in note]
        assert len(notes) == told, said
        assert not told or "so lower --context, or leave out --next-sentence" in notes[0]


def test_documents_end_as_those_of_the_base(corpus: Path, tmp_path: Path) -> None:
    """The end that its weights know, of two that its tokenizer has."""
    names = ["<|endoftext|>", "<|turn|>"]
    train_bpe(corpus, vocab_size=300, special_tokens=names).save(tmp_path / "two.json")
    named = {"tokenizer": str(tmp_path / "two.json"), "end": "<|turn|>"}
    train(config_of(corpus, data=named, train={"max_steps": 1}), tmp_path / "base")
    start = {"init_from": str(tmp_path / "base"), "max_steps": 1}
    said: list[str] = []
    train(config_of(corpus, train=start), tmp_path / "run", callbacks=Callbacks(on_warning=said.append))
    assert LanguageModel.load(tmp_path / "run").end == "<|turn|>"
    assert LANGUAGE_MODEL.load(tmp_path / "run").data.end == "<|turn|>"
    assert not any("documents end with" in note for note in said)
    other = config_of(corpus, train=start, data={"end": "<|endoftext|>"})
    train(other, tmp_path / "other", callbacks=Callbacks(on_warning=said.append))
    assert LanguageModel.load(tmp_path / "other").end == "<|endoftext|>"
    (note,) = (note for note in said if "documents end with" in note)
    assert note.startswith("documents end with <|endoftext|>, but those of ")
    assert note.endswith("base with <|turn|>: the model has to learn <|endoftext|> again")
