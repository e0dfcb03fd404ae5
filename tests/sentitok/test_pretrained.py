"""Folders of models: `from_pretrained`, `save_pretrained`, `to_transformers`, `settings`.

The same as in transformers for a folder: ids, special tokens, templates.
"""

import copy
import json
import pickle
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from conftest import CORPUS
from oracles.families import file_of
from sentitok import AddedToken, FormatError, Settings, Tokenizer, train_bpe, train_unigram, train_wordpiece

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

# 2026-11-23: warnings of its imports.
pytestmark = pytest.mark.filterwarnings("ignore")

TEXTS = [
    "A gripping film.",
    "  naïve — 10/10\n\n日本語 😀",
    "",
    "<s>no</s> [CLS] <|im_end|> x",
    "<think>a</think> ",
]
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}"
FAMILIES = [
    "Llama-2, Mistral v1",
    "Llama-3",
    "Qwen 2 to 3",
    "Gemma 2 and 3",
    "BERT",
    "XLM-R",
    "RoBERTa",
    "Whisper",
]


def folder_of(family: str, folder: Path, **settings: Any) -> Any:
    """A folder as transformers writes it, and its tokenizer there."""
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_str(file_of(family)), **settings
    )
    theirs.save_pretrained(folder)
    return transformers.AutoTokenizer.from_pretrained(folder)


def equal(ours: Tokenizer, theirs: Any) -> None:
    for text in TEXTS:
        ids = theirs(text)["input_ids"]
        assert ours.encode(text, specials="all").ids.tolist() == ids, text
        for skip in (False, True):
            assert ours.decode(ids, skip_special_tokens=skip) == theirs.decode(ids, skip_special_tokens=skip)
    assert dict(ours.settings.special_tokens) == theirs.special_tokens_map
    assert ours.settings.chat_template == theirs.chat_template


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_of_transformers_and_back(family: str, tmp_path: Path) -> None:
    theirs = folder_of(
        family,
        tmp_path / "theirs",
        eos_token="</s>",
        pad_token=tokenizers.AddedToken("<|pad|>", lstrip=True),
        image_token="<image>",
        additional_special_tokens=["<|im_end|>"],
        chat_template=TEMPLATE,
        model_max_length=77,
        padding_side="left",
    )
    ours = Tokenizer.from_pretrained(tmp_path / "theirs")
    equal(ours, theirs)
    assert ours.settings.special_tokens["image_token"] == "<image>"
    files = ours.save_pretrained(tmp_path / "ours")
    assert {Path(file).name for file in files} == {
        "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"
    }  # fmt: skip
    again = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
    equal(ours, again)
    assert (again.model_max_length, again.padding_side) == (77, "left")
    assert again.all_special_tokens == theirs.all_special_tokens
    equal(Tokenizer.from_pretrained(tmp_path / "ours"), theirs)
    made = ours.to_transformers()
    equal(ours, made)
    assert isinstance(made, transformers.PreTrainedTokenizerFast)
    assert made.name_or_path == ""
    assert made.model_max_length == 77


def test_tokens_that_only_the_settings_name(tmp_path: Path) -> None:
    folder_of("Llama-3", tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
    config["added_tokens_decoder"] = {
        "1501": {"content": "<think>", "special": False, "normalized": False},
        "1500": {"content": "<|im_end|>", "special": True, "rstrip": True},
    }
    config |= {"eos_token": {"__type": "AddedToken", "content": "</s>"}, "bos_token": None}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    ours = Tokenizer.from_pretrained(str(tmp_path))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    equal(ours, theirs)
    assert {token.content: token.id for token in ours.added_tokens} == theirs.get_added_vocab()


@pytest.mark.parametrize(
    "trained",
    [
        lambda path: train_bpe(path, vocab_size=700, special_tokens=["<|endoftext|>", "<pad>", "<x>"]),
        lambda path: train_wordpiece(path, vocab_size=700),
        lambda path: train_unigram(path, vocab_size=500, special_tokens=["<s>", "</s>", "<pad>"]),
    ],
)
def test_what_is_trained_here(trained: Any, tmp_path: Path) -> None:
    ours = trained(CORPUS / "sherlock-holmes.txt")
    assert set(ours.settings.special_tokens) >= {"pad_token"}
    assert ours.settings.chat_template is None
    ours.save_pretrained(tmp_path)
    equal(ours, transformers.AutoTokenizer.from_pretrained(tmp_path))
    equal(ours, ours.to_transformers())
    equal(Tokenizer.from_pretrained(tmp_path), ours.to_transformers())


def test_templates_of_all_ages(tmp_path: Path) -> None:
    folder_of("Qwen 2 to 3", tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))

    def template(written: Any) -> dict[str, str]:
        config["chat_template"] = written
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
        return dict(Tokenizer.from_pretrained(tmp_path).settings.chat_templates)

    assert template("a") == {"default": "a"}
    many = [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]
    assert template(many) == {"default": "a", "tool_use": "b"}
    (tmp_path / "chat_template.jinja").write_text("c", "utf-8")
    assert template(many) == {"default": "c", "tool_use": "b"}
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "rag.jinja").write_text("d", "utf-8")
    found = template("a")
    assert found == {"default": "c", "rag": "d"}
    ours = Tokenizer.from_pretrained(tmp_path)
    ours.save_pretrained(tmp_path / "ours")
    assert dict(Tokenizer.from_pretrained(tmp_path / "ours").settings.chat_templates) == found
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "ours").chat_template == found


def test_settings_go_along(tmp_path: Path) -> None:
    folder_of("Qwen 2 to 3", tmp_path, chat_template=TEMPLATE, eos_token="<|im_end|>")
    ours = Tokenizer.from_pretrained(tmp_path)
    changed = ours.with_settings(ours.settings.replace(chat_template="x", pad_token="<|endoftext|>"))
    assert ours.settings.chat_template == TEMPLATE
    assert ours.settings.replace(eos_token="<|endoftext|>").chat_template == TEMPLATE
    without = changed.settings.replace(chat_template=None, pad_token=None)
    assert without.chat_template is None
    assert "pad_token" not in without.special_tokens
    assert changed == ours
    for made in (
        changed,
        copy.deepcopy(changed),
        pickle.loads(pickle.dumps(changed)),
        changed.with_specials([AddedToken("<new>")]),
        changed.with_dropout(None),
        changed.prune(range(300))[0],
    ):
        assert made.settings == changed.settings
        assert hash(made.settings) == hash(changed.settings)
    assert changed.settings.special_tokens["pad_token"] == "<|endoftext|>"
    with pytest.raises(TypeError):
        changed.settings.special_tokens["pad_token"] = "x"  # type: ignore[index]  # 2026-11-24: refused


def cache_of(tmp_path: Path, commit: str = "0" * 40) -> Path:
    """A cache with one repository, as huggingface_hub lays it out."""
    repository = tmp_path / "hub" / "models--org--name"
    folder_of("BERT", repository / "snapshots" / commit / "part")
    folder_of("BERT", repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit, "utf-8")
    return tmp_path


def test_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    home = cache_of(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"'org/name' is neither .* set HF_HOME, or pass download"):
        Tokenizer.from_pretrained("org/name", cache_dir=tmp_path / "none")
    monkeypatch.setenv("HF_HOME", str(home))
    found = Tokenizer.from_pretrained("org/name")
    assert found == Tokenizer.from_pretrained("org/name", revision="0" * 40, subfolder="part")
    assert found == Tokenizer.from_pretrained("org/name", cache_dir=home / "hub", download=True)
    monkeypatch.setenv("HF_HUB_CACHE", str(home / "elsewhere"))
    with pytest.raises(FileNotFoundError, match="elsewhere"):
        Tokenizer.from_pretrained("org/name")
    with pytest.raises(FileNotFoundError, match=r"revision 'v2' in"):
        Tokenizer.from_pretrained("org/name", cache_dir=home / "hub", revision="v2")
    with pytest.raises(ImportError, match="pip install huggingface_hub; or fetch the files of org/name"):
        Tokenizer.from_pretrained("org/name", download=True)


def test_what_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where a call says so, only files of the tokenizer."""
    home = cache_of(tmp_path)
    calls = []

    def snapshot_download(name: str, **options: Any) -> str:
        calls.append((name, options))
        return str(home / "hub" / "models--org--name" / "snapshots" / ("0" * 40))

    library = types.SimpleNamespace(snapshot_download=snapshot_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", library)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "empty"))
    Tokenizer.from_pretrained("org/other", download=True, revision="v1", subfolder="part")
    ((name, options),) = calls
    assert (name, options["revision"], options["cache_dir"]) == ("org/other", "v1", None)
    assert "part/tokenizer.json" in options["allow_patterns"]
    assert not [wanted for wanted in options["allow_patterns"] if "safetensors" in wanted or wanted == "*"]


BAD = [
    ("no such/folder/of mine", {}, FileNotFoundError, "there is no folder"),
    ("./model", {}, FileNotFoundError, "there is no folder './model'"),
    ("org/name", {"revision": "../../x"}, ValueError, "'../../x' is not a revision"),
    (".", {"subfolder": "not there"}, FileNotFoundError, "no subfolder 'not there'"),
    (__file__, {}, NotADirectoryError, "Tokenizer.from_file reads a file"),
]


@pytest.mark.parametrize(("name", "options", "kind", "message"), BAD)
def test_names_that_are_none(name: str, options: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        Tokenizer.from_pretrained(name, **options)


FILES = [
    ("tokenizer_config.json", "{", "is not valid JSON"),
    ("tokenizer_config.json", "[1]", "not an object"),
    ("tokenizer_config.json", "[" * 100_000, "is not valid JSON"),
    (
        "tokenizer_config.json",
        '{"added_tokens_decoder": {"x": "y"}}',
        "'x' in added_tokens_decoder is not an id",
    ),
    ("tokenizer_config.json", '{"added_tokens_decoder": {"7": {"content": 7}}}', "is not a token"),
    ("tokenizer_config.json", '{"added_tokens_decoder": [7]}', "is to be an object"),
    ("special_tokens_map.json", "\x00", "is not valid JSON"),
]


@pytest.mark.parametrize(("name", "content", "message"), FILES)
def test_files_that_are_wrong(name: str, content: str, message: str, tmp_path: Path) -> None:
    folder_of("BERT", tmp_path)
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(FormatError, match=message):
        Tokenizer.from_pretrained(tmp_path)


def test_settings_that_are_wrong(tmp_path: Path) -> None:
    folder_of("BERT", tmp_path / "there")
    ours = Tokenizer.from_pretrained(tmp_path / "there")
    with pytest.raises(TypeError, match=r"expected sentitok\.Settings, not dict"):
        ours.with_settings({"eos_token": "x"})  # type: ignore[arg-type]  # 2026-11-24: refused
    with pytest.raises(TypeError, match="eos is not the name of a special token"):
        ours.settings.replace(eos="x")
    with pytest.raises(TypeError, match="'eos_token' is to be a text, not 7"):
        ours.settings.replace(eos_token=7)  # type: ignore[arg-type]  # 2026-11-24: refused
    for name in ("../up", "a\0b"):
        with pytest.raises(ValueError, match="cannot be the name of a chat template"):
            ours.with_settings(Settings({}, {name: "x"})).save_pretrained(tmp_path / "bad")
    for name, template in (("default", "a\ud800"), ("a\ud800", "x")):
        with pytest.raises(FormatError, match="half of a surrogate pair"):
            ours.with_settings(Settings({}, {name: template})).save_pretrained(tmp_path / "bad")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="save_pretrained writes a folder"):
        ours.save_pretrained(tmp_path / "file")


@pytest.mark.parametrize(
    "templates", [{"tool_use": 7}, [{"name": "default"}], [{"template": "x"}], [{"name": 7, "template": "x"}]]
)
def test_a_chat_template_is_a_name_and_a_text(templates: Any, tmp_path: Path) -> None:
    folder_of("BERT", tmp_path / "there")
    path = tmp_path / "there" / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "chat_template": templates}), "utf-8")
    with pytest.raises(FormatError, match=r"tokenizer_config\.json: chat_template"):
        Tokenizer.from_pretrained(tmp_path / "there")


def test_half_of_a_surrogate_pair_stays_in_the_settings(tmp_path: Path) -> None:
    folder_of("BERT", tmp_path / "there")
    path = tmp_path / "there" / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "about": "é\ud800"}), "utf-8")
    ours = Tokenizer.from_pretrained(tmp_path / "there")
    ours.save_pretrained(tmp_path / "again")
    assert Tokenizer.from_pretrained(tmp_path / "again").settings.config["about"] == "é\ud800"


def test_without_transformers() -> None:
    code = """
import sys
sys.modules["transformers"] = None
import sentitok
try:
    sentitok.train_bpe(texts=["a"], vocab_size=256).to_transformers()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install transformers" in done.stdout
