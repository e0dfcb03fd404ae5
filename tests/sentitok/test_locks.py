"""`sentitok lock` and `sentitok check`: what changed in the folder of a tokenizer."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sentitok
from cli_runs import run_inside as run
from sentitok import FormatError, Tokenizer
from sentitok.locks import GOLDEN, LOCK, Check, check, content, lock

PRIDE = Path(__file__).resolve().parent.parent / "data" / "corpus" / "pride-and-prejudice.txt"


@pytest.fixture(scope="module")
def trained() -> dict[str, Tokenizer]:
    texts = PRIDE.read_text("utf-8").splitlines()[:400] + ["In 2026 or 1813, 12 345 1234 of 12345."] * 60
    return {
        "bytes": sentitok.train_bpe(texts=texts, vocab_size=500, special_tokens=["<s>", "<|end|>"]),
        "unigram": sentitok.train_unigram(texts=texts, vocab_size=500, byte_fallback=True),
        "wordpiece": sentitok.train_wordpiece(texts=texts, vocab_size=500),
    }


@pytest.fixture
def folder(trained: dict[str, Tokenizer], tmp_path: Path) -> Path:
    trained["bytes"].save_pretrained(tmp_path / "model")
    lock(tmp_path / "model")
    return tmp_path / "model"


def changed(folder: Path, name: str, change: Callable[[dict[str, Any]], Any]) -> None:
    value = json.loads((folder / name).read_text("utf-8"))
    change(value)
    (folder / name).write_text(json.dumps(value), "utf-8")


def texts_of(found: Check) -> set[str]:
    return {change.name for change in found.changes if change.kind == "ids"}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["bytes", "unigram", "wordpiece"])
def test_nothing_changes_by_itself(kind: str, trained: dict[str, Tokenizer], tmp_path: Path) -> None:
    trained[kind].save_pretrained(tmp_path)
    path = lock(tmp_path)
    before = path.read_bytes()
    assert check(tmp_path, transformers=False).changes == []
    lock(tmp_path)
    assert path.read_bytes() == before
    assert check(tmp_path, transformers=False).texts >= len(GOLDEN)


def test_the_file_holds_ids_that_encode_gives(folder: Path, trained: dict[str, Tokenizer]) -> None:
    value = json.loads((folder / LOCK).read_text("utf-8"))
    assert value["fingerprint"] == Tokenizer.from_pretrained(folder).fingerprint
    for one in value["golden"]:
        ids = trained["bytes"].encode(one["text"], specials=one["specials"]).tolist()
        assert ids == one["ids"], one["name"]
    assert {one["specials"] for one in value["golden"] if "<|end|>" in one["name"]} == {"none", "all"}


def _normalizer(kind: str, **more: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda value: value.update(normalizer={"type": kind, **more})


def _digits(value: dict[str, Any]) -> None:
    value["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [{"type": "Digits", "individual_digits": True}, value["pre_tokenizer"]],
    }


def _prefix_space(value: dict[str, Any]) -> None:
    value["pre_tokenizer"]["add_prefix_space"] = True


def _added(value: dict[str, Any]) -> None:
    value["added_tokens"].append(
        {"id": 500, "content": "naïve", "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": False}
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (_normalizer("Lowercase"), "case"),
        (_normalizer("NFKC"), "compatibility"),
        (_normalizer("NFC"), "accents"),
        (_normalizer("Strip", strip_left=True, strip_right=True), "spaces"),
        (_normalizer("Replace", pattern={"String": "\u2019"}, content="'"), "contractions"),
        (_digits, "digits"),
        (_prefix_space, "code"),
        (_added, "accents"),
        (lambda value: value.update(post_processor=None), None),
    ],
    ids=["lower case", "NFKC", "NFC", "strip", "replace", "digits", "prefix", "added", "none"],
)
def test_texts_say_what_changed(
    change: Callable[[dict[str, Any]], Any], name: str | None, folder: Path
) -> None:
    before = json.loads((folder / LOCK).read_text("utf-8"))["golden"]
    changed(folder, "tokenizer.json", change)
    found = check(folder, transformers=False)
    if name is None:
        assert texts_of(found) == set()
        return
    assert name in texts_of(found)
    assert {"fingerprint"} <= {one.name for one in found.changes if one.kind == "tokenizer"}
    tokenizer = Tokenizer.from_pretrained(folder)
    for one in found.changes:
        if one.kind == "ids" and one.name in GOLDEN:
            locked = next(golden for golden in before if golden["text"] == one.text)
            assert one.text is not None
            assert (one.before, one.now) == (locked["ids"], tokenizer.encode(one.text).tolist())


def test_every_golden_text_tells_something_apart(trained: dict[str, Tokenizer]) -> None:
    """Of three families no two agree on any text but the empty one."""
    held = {
        kind: {one["name"]: one["ids"] for one in content(tokenizer)["golden"]}
        for kind, tokenizer in trained.items()
    }
    for name in GOLDEN.keys() - {"empty"}:
        assert held["bytes"][name] != held["unigram"][name] != held["wordpiece"][name], name


def test_settings_and_special_tokens(folder: Path) -> None:
    def other_end(value: dict[str, Any]) -> None:
        value["eos_token"] = "<s>"
        value["padding_side"] = "left"

    changed(folder, "tokenizer_config.json", other_end)
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    found = check(folder, transformers=False)
    by_name = {one.name: one for one in found.changes if one.kind == "settings"}
    assert by_name["eos_token"].now == "<s>"
    assert (by_name["padding_side"].before, by_name["padding_side"].now) == ("right", "left")
    (template,) = (one for name, one in by_name.items() if "template" in name)
    assert template.before is None
    assert template.now
    assert not texts_of(found)


def test_what_transformers_makes_of_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    found = check(folder)
    assert (found.transformers, found.changes, found.note) == (transformers.__version__, [], None)

    class Other:
        def __call__(self, text: str) -> Any:
            return type("Ids", (), {"input_ids": [0] if "iPhone" in text else theirs(text).input_ids})

    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    seen: dict[str, Any] = {}

    def from_pretrained(name: str, **options: Any) -> Other:
        seen.update(options)
        return Other()

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", from_pretrained)
    (change,) = check(folder).changes
    assert (change.kind, change.name, change.now) == ("transformers", "case", [0])
    assert seen == {"local_files_only": True, "trust_remote_code": False}
    assert check(folder, transformers=False).changes == []

    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a class of its own")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", fails)
    found = check(folder)
    assert found.transformers is None
    assert "a class of its own" in (found.note or "")


def test_without_transformers_it_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "not installed" in (check(folder).note or "")


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (lambda path: path.unlink(), FileNotFoundError),
        (lambda path: path.write_text("{"), FormatError),
        (lambda path: path.write_text("[]"), FormatError),
        (lambda path: path.write_text('{"format": "other/2"}'), FormatError),
        (lambda path: path.write_text('{"format": "sentitok.lock/1", "golden": [3]}'), FormatError),
    ],
    ids=["missing", "cut", "list", "format", "golden"],
)
def test_damaged_lock_files(damage: Callable[[Path], Any], error: type[Exception], folder: Path) -> None:
    damage(folder / LOCK)
    with pytest.raises(error, match=LOCK.replace(".", r"\.")):
        check(folder, transformers=False)
    done = run("check", folder, cwd=folder)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1


def test_the_commands(folder: Path) -> None:
    same = run("check", folder, "--no-transformers", cwd=folder)
    assert (same.code, same.err) == (0, "")
    assert "as locked" in same.out
    changed(folder, "tokenizer.json", _normalizer("Lowercase"))
    done = run("check", folder, "--no-transformers", cwd=folder)
    assert done.code == 1
    lines = done.out.splitlines()
    (case,) = (line for line in lines if line.startswith("ids: case: "))
    assert "iPhone" in case
    assert " -> " in case
    found = json.loads(run("check", folder, "--no-transformers", "--json", cwd=folder).out)
    assert (found["schema"], found["ok"], len(found["changes"])) == ("sentitok.check/1", False, len(lines))
    quiet = run("check", folder, "--no-transformers", "--quiet", cwd=folder)
    assert quiet.out == f"{len(lines)}\n"
    refused = run("lock", folder, cwd=folder)
    assert (refused.code, "--force" in refused.err) == (2, True)
    assert run("lock", folder, "--force", cwd=folder).code == 0
    assert run("check", folder, "--no-transformers", cwd=folder).code == 0
    assert json.loads(run("lock", folder, "--json", cwd=folder).out)["texts"] >= len(GOLDEN)


def test_a_folder_without_a_tokenizer(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "empty").mkdir()
    shutil.copy(folder / "tokenizer.json", tmp_path / "file.json")
    for command in ("lock", "check"):
        for name in ("empty", "nowhere", "file.json", "memory://d"):
            done = run(command, name, cwd=tmp_path)
            assert done.code == 2, name
            assert name in done.err
            assert len(done.err.splitlines()) == 1


def test_a_table_of_characters_is_held_by_its_hash() -> None:
    texts = ["the cat sat on the mat"] * 9
    tokenizer = sentitok.train_unigram(texts=texts, vocab_size=40, normalizer="sentencepiece-nmt-nfkc")
    assert len(tokenizer.info()["normalizer"]) > 10_000
    assert "SHA-256" in content(tokenizer)["tokenizer"]["normalizer"]
    assert len(json.dumps(content(tokenizer))) < 50_000
