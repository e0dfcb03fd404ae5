"""A corpus that `sentitok encode` wrote: its tokenizer, the files it was made from, and its settings."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from animals import config_of, write_corpus
from labelled_reviews import write
from sentimodels import LanguageModel
from sentimodels.data import read_table
from sentimodels.errors import CheckpointError, ConfigError, DataError
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import LANGUAGE_MODEL
from sentimodels.runs.init_weights import inherit_size
from sentimodels.runs.lineage import record_of
from sentimodels.text.documents import Documents
from sentitok import FormatError, Tokenizer, encode_files, train_bpe

END = "<|endoftext|>"


def encoded(file: Path, out: Path, tokenizer: Tokenizer, **more: Any) -> Path:
    encode_files(file, out, tokenizer, separator=END, **more)
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model, `base`, its corpus as shards, `own`, and as those of another tokenizer, `other`."""
    folder = tmp_path_factory.mktemp("encoded")
    corpus = write_corpus(folder)
    train(config_of(corpus, train={"max_steps": 2}), folder / "base")
    texts = corpus.read_text().splitlines()
    train_bpe(texts=texts, vocab_size=280, special_tokens=[END]).save(folder / "other.json")
    encoded(corpus, folder / "own", Tokenizer.from_file(folder / "base" / "tokenizer.json"))
    encoded(corpus, folder / "other", Tokenizer.from_file(folder / "other.json"))
    return folder


def grown(made: Path, *corpus: Path, **data: Any) -> Any:
    given = {
        "data": {"corpus": list(map(str, corpus)), "valid_share": 0.1, **data},
        "train": {"init_from": str(made / "base"), "max_steps": 3, "batch_size": 4},
    }
    return LANGUAGE_MODEL.resolve(*inherit_size(given))


def test_a_base_reads_the_shards_of_its_own_tokenizer(made: Path, tmp_path: Path) -> None:
    train(grown(made, made / "own"), tmp_path / "run")
    own, found = (LanguageModel.load(path).tokenizer for path in (made / "base", tmp_path / "run"))
    assert own == found


def test_shards_of_another_tokenizer_are_refused(made: Path, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"other: encoded by another tokenizer than that of .*base: .*; encode"
    ):
        train(grown(made, made / "other"), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    named = grown(made, made / "other", tokenizer=str(made / "other.json"))
    notes: list[str] = []
    train(named, tmp_path / "run", callbacks=Callbacks(on_warning=notes.append))
    assert any("not used: backbone.embedding.weight (of another tokenizer)" in note for note in notes)


def test_a_masked_run_on_shards_goes_on_though_it_has_more_tokens(made: Path, tmp_path: Path) -> None:
    data = {"corpus": [str(made / "other")], "tokenizer": str(made / "other.json")}
    config = config_of(made / "other", "bert", data=data)
    train(config, tmp_path / "run", callbacks=Callbacks(should_stop=lambda: True))
    for path in (tmp_path / "run" / "tokens").iterdir():
        path.unlink()
    assert resume(tmp_path / "run")["fit"]["stop"] == "max_steps"
    # The encoder's tokens are a part of the run itself, as the name of a file shows.
    start = {"train": {"init_from": str(tmp_path / "run"), "max_steps": 1}}
    with pytest.raises(DataError, match=r"another tokenizer than that of .*: --tokenizer FILE"):
        train(
            LANGUAGE_MODEL.resolve(*inherit_size({"data": {"corpus": [str(made / "other")]}, **start})),
            tmp_path / "b",
        )
    train(LANGUAGE_MODEL.resolve(*inherit_size({"data": data, **start})), tmp_path / "b")


@pytest.mark.parametrize(
    ("key", "value", "option"),
    [("format", "lines", "--format"), ("end", END, "--end"), ("encoding", "latin-1", "--encoding"),
     ("tokenizer_model", "bpe", "--tokenizer-model")],
)  # fmt: skip
def test_settings_of_texts_are_none_of_shards(
    key: str, value: str, option: str, made: Path, tmp_path: Path
) -> None:
    data = {"tokenizer": str(made / "other.json"), key: value}
    with pytest.raises(ConfigError, match=f"other: an encoded corpus; {option} is for texts, leave it out"):
        train(config_of(made / "other", data=data), tmp_path / "run")


def test_shards_are_no_texts(made: Path) -> None:
    from sentimodels.config import CorpusConfig

    with pytest.raises(DataError, match=r"an encoded corpus is in it, .*o(wn|ther); name that folder, or"):
        Documents(CorpusConfig(corpus=(str(made),)))


def test_several_folders_are_one_corpus(made: Path, tmp_path: Path) -> None:
    """Parts that `--shard i/n` made train the weights that the whole does, and a stopped run resumes."""
    tokenizer = Tokenizer.from_file(made / "base" / "tokenizer.json")
    parts = [encoded(made / "animals.txt", tmp_path / f"part-{n}", tokenizer, shard=(n, 3)) for n in range(3)]
    whole = train(grown(made, made / "own", limit=250), tmp_path / "whole")
    config = grown(made, *parts, limit=250)
    train(config, tmp_path / "joined", callbacks=Callbacks(should_stop=lambda: True))
    joined = resume(tmp_path / "joined")
    assert whole["corpus"] == joined["corpus"]
    one, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "joined"))
    assert one == other
    files = json.loads((tmp_path / "joined" / "training_data.json").read_text())["sources"]
    assert [Path(one["source"]).name for one in files if one.get("role") is None] == [
        "part-0", "part-1", "part-2",
    ]  # fmt: skip
    # The folder that the parts are in is the same corpus.
    apart = tmp_path / "parts"
    for part in parts:
        shutil.copytree(part, apart / "of" / part.name)
    in_folder = train(grown(made, apart, limit=250), tmp_path / "in-folder")
    assert in_folder["corpus"] == whole["corpus"]
    assert (tmp_path / "in-folder" / "model.safetensors").read_bytes() == one
    with pytest.raises(DataError, match="part-1: given twice"):
        train(grown(made, apart, apart / "of" / "part-1"), tmp_path / "twice")
    (apart / "of" / "part-1" / "manifest.json").unlink()  # a part that is not finished
    with pytest.raises(DataError, match="an encoded corpus is in it"):
        train(grown(made, apart), tmp_path / "unfinished")
    # The file that all were made from is known once.
    assert [Path(one["source"]).name for one in files if one.get("role") == "encoded"] == ["animals.txt"]


@pytest.mark.parametrize(
    ("names", "message"),
    [(["own", "animals.txt"], r"own: an encoded corpus, which no texts can be joined to; leave out .*\.txt"),
     (["own", "own"], r"own: given twice; name each encoded corpus once"),
     (["own", "other"], r"other: tokenizer_sha256 is .*; encode both with one tokenizer")],
)  # fmt: skip
def test_folders_that_do_not_belong_together(
    names: list[str], message: str, made: Path, tmp_path: Path
) -> None:
    config = grown(made, *(made / name for name in names))
    with pytest.raises((DataError, FormatError), match=message):
        train(config, tmp_path / "run")


def test_a_manifest_of_something_else_is_a_file_of_texts(made: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "manifest.json").write_text(json.dumps({"files": []}))
    (texts / "a.txt").write_text((made / "animals.txt").read_text())
    about = train(config_of(texts, train={"max_steps": 1}), tmp_path / "run")
    assert sum(about["corpus"]["documents"]) == 301


def test_shards_that_are_damaged_or_not_all_there_are_no_texts(made: Path, tmp_path: Path) -> None:
    from sentimodels.config import CorpusConfig

    shards = tmp_path / "texts" / "shards"
    shutil.copytree(made / "own", shards)
    manifest = (shards / "manifest.json").read_text()
    for damaged in (manifest[:100], manifest.replace('"complete": true', '"complete": false')):
        assert damaged != manifest
        (shards / "manifest.json").write_text(damaged)
        with pytest.raises(DataError, match="an encoded corpus is in it"):
            Documents(CorpusConfig(corpus=(str(tmp_path / "texts"),)))
        with pytest.raises(FormatError, match=r"manifest\.json: "):
            train(grown(made, shards), tmp_path / "run")


def test_what_shards_were_made_from_judges_nothing(made: Path, tmp_path: Path) -> None:
    """A file is known again, whatever its name, as long as it lay there when the model was trained."""
    reviews = tmp_path / "reviews.csv"
    write(reviews, 150, 3)
    tokenizer = Tokenizer.from_file(made / "base" / "tokenizer.json")
    encoded(reviews, tmp_path / "shards", tokenizer, format="csv:text")
    train(grown(made, tmp_path / "shards"), tmp_path / "run")
    copy = reviews.rename(tmp_path / "copy.csv")
    assert record_of(tmp_path / "run").learned_from(read_table(copy)).all()
    # Without it the shards alone are known.
    train(grown(made, tmp_path / "shards"), tmp_path / "later")
    assert not record_of(tmp_path / "later").learned_from(read_table(copy)).any()


def test_shards_that_have_changed_are_not_resumed(made: Path, tmp_path: Path) -> None:
    """Their rows would differ, at places that were found in the earlier shards."""
    tokenizer = Tokenizer.from_file(made / "base" / "tokenizer.json")
    texts = (made / "animals.txt").read_text().splitlines(keepends=True)
    (tmp_path / "texts.txt").write_text("".join(texts))
    shards = encoded(tmp_path / "texts.txt", tmp_path / "shards", tokenizer)
    train(grown(made, shards), tmp_path / "run", callbacks=Callbacks(should_stop=lambda: True))
    for changed in (texts[::-1], texts[:3], texts + texts):
        (tmp_path / "texts.txt").write_text("".join(changed))
        shutil.rmtree(shards)
        encoded(tmp_path / "texts.txt", shards, tokenizer)
        with pytest.raises(CheckpointError, match="shards: has changed since the run began; start a new one"):
            resume(tmp_path / "run")
    (tmp_path / "texts.txt").write_text("".join(texts))
    shutil.rmtree(shards)
    encoded(tmp_path / "texts.txt", shards, tokenizer)
    assert resume(tmp_path / "run")["fit"]["stop"] == "max_steps"


def test_a_run_goes_on_where_what_its_shards_were_made_from_is_gone(made: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text((made / "animals.txt").read_text())
    tokenizer = Tokenizer.from_file(made / "base" / "tokenizer.json")
    encoded(texts, tmp_path / "shards", tokenizer)
    train(grown(made, tmp_path / "shards"), tmp_path / "run", callbacks=Callbacks(should_stop=lambda: True))
    texts.unlink()
    for path in (tmp_path / "run" / "tokens").iterdir():
        path.unlink()
    resume(tmp_path / "run")
    # Shards that have changed are another corpus.
    train(grown(made, tmp_path / "shards"), tmp_path / "again", callbacks=Callbacks(should_stop=lambda: True))
    (tmp_path / "again" / "tokens" / "corpus.json").unlink()
    texts.write_text((made / "animals.txt").read_text() + "one more\n")
    encoded(texts, tmp_path / "shards", tokenizer, resume=False)
    with pytest.raises(CheckpointError, match="has changed since the run began"):
        resume(tmp_path / "again")
