"""Folders without tokenizer.json: what `from_pretrained` makes of them is what transformers' class makes.

Each class on a small vocabulary and with its settings. `test_pretrained.py` tests folders with a
tokenizer.json.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import pre_tokenizers

from conftest import CORPUS
from sampled_cases import sample
from sentitok import FormatError, Tokenizer, train_bpe, train_unigram, train_wordpiece

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

# 2026-11-25: warnings of its imports.
pytestmark = pytest.mark.filterwarnings("ignore")

TEXT = CORPUS / "sherlock-holmes.txt"
TEXTS = [
    "A gripping film, isn't it? IT'LL do.",
    "  naïve — 10/10\n\n日本語 😀",
    "",
    "<s>no</s> [CLS] a <mask>b <pad> <|endoftext|>x <extra_id_0>.",
    "the  fox\tand   Ünal ▁x",
    " lead and trail ",
]
MASK = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "special": True}
NAMED = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"]


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with only a vocabulary."""
    names = ("gpt2", "bert", "spm-bpe", "spm-unigram", "gpt1", "clip")
    folders = {name: tmp_path_factory.mktemp(name) for name in names}
    for name, specials, cut in (
        ("gpt1", ["<unk>"], pre_tokenizers.BertPreTokenizer()),
        ("clip", ["<|startoftext|>", "<|endoftext|>"], pre_tokenizers.ByteLevel(add_prefix_space=False)),
    ):
        theirs = tokenizers.Tokenizer(tokenizers.models.BPE(end_of_word_suffix="</w>"))
        theirs.normalizer = tokenizers.normalizers.Lowercase()
        words = tokenizers.Regex(r"\p{L}+|\p{N}|[^\s\p{L}\p{N}]+")
        theirs.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(words, "removed", invert=True), cut]
        )
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=900, special_tokens=specials, end_of_word_suffix="</w>", show_progress=False
        )
        theirs.train([str(TEXT)], trainer)
        theirs.model.save(str(folders[name]))
    train_bpe(TEXT, vocab_size=600, special_tokens=NAMED).save(folders["gpt2"], "gpt2")
    train_wordpiece(TEXT, vocab_size=600).save(folders["bert"] / "vocab.txt", "vocab.txt")
    train_bpe(TEXT, vocab_size=600, method="sentencepiece", byte_fallback=True).save(
        folders["spm-bpe"] / "tokenizer.model"
    )
    train_unigram(
        TEXT,
        vocab_size=400,
        method="sentencepiece",
        normalizer="sentencepiece-nmt-nfkc",
        special_tokens=["<pad>"],
        bos_token=None,
        special_ids={"<pad>": 0, "</s>": 1, "<unk>": 2},
    ).save(folders["spm-unigram"] / "spiece.model")
    return folders


@pytest.mark.parametrize(
    ("files", "config"),
    [
        ("bert", {"tokenizer_class": "BertTokenizer"}),
        ("bert", {"tokenizer_class": "BertTokenizerFast", "do_lower_case": False}),
        ("bert", {"tokenizer_class": "DistilBertTokenizer", "strip_accents": False}),
        ("bert", {"tokenizer_class": "BertTokenizer", "tokenize_chinese_chars": False, "mask_token": "<m>"}),
        ("bert", {"tokenizer_class": "BertTokenizer", "cls_token": "[SEP]", "sep_token": "[MASK]"}),
        ("gpt2", {"tokenizer_class": "GPT2Tokenizer"}),
        ("gpt2", {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True, "pad_token": "<pad>"}),
        ("gpt2", {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "add_eos_token": True}),
        ("gpt2", {"tokenizer_class": "RobertaTokenizer"}),
        ("gpt2", {"tokenizer_class": "RobertaTokenizerFast", "add_prefix_space": True}),
        ("gpt2", {"tokenizer_class": "BartTokenizer", "mask_token": MASK}),
        ("gpt2", {"tokenizer_class": "Qwen2Tokenizer"}),
        (
            "gpt2",
            {
                "tokenizer_class": "Qwen2Tokenizer",
                "added_tokens_decoder": {"606": {"content": "<|im_end|>", "special": True}},
                "additional_special_tokens": ["<|im_end|>"],
            },
        ),
        ("gpt1", {"tokenizer_class": "OpenAIGPTTokenizer"}),
        ("clip", {"tokenizer_class": "CLIPTokenizer"}),
        ("clip", {"tokenizer_class": "CLIPTokenizerFast", "pad_token": "!"}),
        ("spm-bpe", {"tokenizer_class": "LlamaTokenizer"}),
        ("spm-bpe", {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False}),
        ("spm-bpe", {"tokenizer_class": "LlamaTokenizer", "add_eos_token": True, "legacy": True}),
        ("spm-bpe", {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_prefix_space": False}),
        ("spm-unigram", {"tokenizer_class": "T5Tokenizer"}),
        ("spm-unigram", {"tokenizer_class": "T5TokenizerFast", "extra_ids": 0}),
    ],
    ids=lambda value: "-".join(map(str, value.values()))[:60] if isinstance(value, dict) else value,
)
def test_ids_are_those_of_the_class(
    files: str, config: dict[str, Any], vocabularies: dict[str, Path], tmp_path: Path
) -> None:
    for file in vocabularies[files].iterdir():
        if file.name != "tokenizer_config.json":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ours = Tokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        ids = theirs(text)["input_ids"]
        assert ours.encode(text, specials="all").ids.tolist() == ids, text
        pair = theirs(text, "b <s>c", return_token_type_ids=True)
        made = ours.encode(text, "b <s>c", specials="all")
        assert (made.ids.tolist(), made.type_ids.tolist()) == (pair["input_ids"], pair["token_type_ids"])
        for skip in (False, True):
            decoded = theirs.decode(ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False)
            assert ours.decode(ids, skip_special_tokens=skip) == decoded
    roles = {name: token for name, token in theirs.special_tokens_map.items() if isinstance(token, str)}
    assert dict(ours.settings.special_tokens) == roles
    assert {token.content: token.id for token in ours.added_tokens} == theirs.get_added_vocab()


def test_the_class_of_a_model(vocabularies: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes((vocabularies["bert"] / "vocab.txt").read_bytes())
    (tmp_path / "config.json").write_text('{"model_type": "bert"}', "utf-8")
    assert Tokenizer.from_pretrained(tmp_path).encode("THE").tokens == ["[CLS]", "the", "[SEP]"]
    (tmp_path / "config.json").unlink()
    with pytest.raises(FormatError, match="does not say whether text is lowered"):
        Tokenizer.from_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}', "utf-8")
    assert Tokenizer.from_pretrained(tmp_path).encode("THE").tokens != ["[CLS]", "the", "[SEP]"]


@pytest.mark.parametrize("declared", [None, "LlamaTokenizer", "LlamaTokenizerFast"])
@pytest.mark.parametrize("pre_tokenizer", ["gpt2", "metaspace"])
def test_llama_adds_tokens_to_no_byte_level_file(
    pre_tokenizer: str, declared: str | None, tmp_path: Path
) -> None:
    trained = train_bpe(texts=["aa ab aa"], vocab_size=300, pre_tokenizer=pre_tokenizer)
    trained.save(tmp_path / "tokenizer.json")
    (tmp_path / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    if declared is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": declared}), "utf-8")
    theirs, ours = transformers.AutoTokenizer.from_pretrained(tmp_path), Tokenizer.from_pretrained(tmp_path)
    assert ours.vocab() == theirs.get_vocab()
    assert set(ours.settings.special_tokens) == set(theirs.special_tokens_map)


@pytest.mark.parametrize(
    ("files", "config", "message"),
    [
        ("spm-unigram", {"tokenizer_class": "XLMRobertaTokenizer"}, "XLMRobertaTokenizer.*save_pretrained"),
        ("gpt2", {"tokenizer_class": "PreTrainedTokenizerFast"}, "PreTrainedTokenizer.*Tokenizer.from_file"),
        (
            "spm-unigram",
            {"tokenizer_class": "LlamaTokenizer"},
            "a tokenizer of BPE, and the files are of Uni",
        ),
        ("bert", {"tokenizer_class": "BertTokenizer", "cls_token": None}, "puts cls_token around texts"),
        (
            "spm-unigram",
            {"tokenizer_class": "T5Tokenizer", "extra_ids": "x"},
            "extra_ids is .x.; it is a whole",
        ),
        ("spm-unigram", {"tokenizer_class": "T5Tokenizer", "extra_ids": 10**12}, "from 0 to 100,000"),
    ],
)
def test_what_is_not_known_is_refused(
    files: str, config: dict[str, Any], message: str, vocabularies: dict[str, Path], tmp_path: Path
) -> None:
    for file in vocabularies[files].iterdir():
        if file.name != "tokenizer_config.json":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(FormatError, match=message):
        Tokenizer.from_pretrained(tmp_path)


def token(content: str, **flags: bool) -> dict[str, Any]:
    rules = dict.fromkeys(("lstrip", "rstrip", "normalized", "single_word"), False)
    return {"content": content, "special": True, **rules, **flags}


# Added tokens in the files next to a vocabulary; ids count from the size of the vocabulary.
DECODER = {"0": token("<d>"), "1": token("<e>", special=False, normalized=True, lstrip=True)}
CONFIGS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "decoder": {"added_tokens_decoder": DECODER},
    "decoder-pad": {"added_tokens_decoder": {"0": token("<p>", rstrip=True)}, "pad_token": "<p>"},
    "decoder-pad-not-special": {
        "added_tokens_decoder": {"0": token("<p>", special=False, normalized=True)},
        "pad_token": "<p>",
    },
    "pad": {"pad_token": "<p>", "bos_token": "<bos>"},
    "pad-with-rules": {"pad_token": {**token("<p>", lstrip=True), "__type": "AddedToken"}},
    "extra": {"extra_special_tokens": ["<a>"]},
    "additional": {"additional_special_tokens": ["<a>"]},
    "extra-by-name": {"extra_special_tokens": {"image_token": "<img>"}},
    "of-a-model": {"image_token": "<img>"},
}
MAPS: dict[str, dict[str, Any] | None] = {
    "no-map": None,
    "pad": {"pad_token": "<q>"},
    "pad-with-rules": {"pad_token": token("<q>", lstrip=True)},
    "additional": {"additional_special_tokens": ["<b>"]},
    "extra": {"extra_special_tokens": ["<c>", "<a>"]},
}
ADDED: dict[str, dict[str, int] | None] = {
    "no-list": None,
    "two": {"<z>": 1, "<y>": 0},
    "special": {"<p>": 0, "<q>": 1},
}
FOLDERS = [
    (files, has_json, config, roles, added)
    for files in ("gpt2", "bert", "spm-bpe", "spm-unigram")
    for has_json in (False, True)
    for config in CONFIGS
    for roles in MAPS
    for added in ADDED
    # 2026-11-29: transformers loses these where it reads a SentencePiece model.
    if has_json or not files.startswith("spm") or roles != "additional"
]
CLASSES = {
    "gpt2": "GPT2Tokenizer",
    "bert": "BertTokenizer",
    "spm-bpe": "LlamaTokenizer",
    "spm-unigram": "T5Tokenizer",
}


@pytest.mark.parametrize(("files", "has_json", "config", "roles", "added"), sample(60, FOLDERS))
def test_added_tokens_of_the_files_beside(
    files: str,
    has_json: bool,
    config: str,
    roles: str,
    added: str,
    vocabularies: dict[str, Path],
    tmp_path: Path,
) -> None:
    """Which tokens they add, in which order, and which of the files decides."""
    named = {"tokenizer_class": CLASSES[files]}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(named), "utf-8")
    for file in vocabularies[files].iterdir():
        if file.name != "tokenizer_config.json":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    bare = transformers.AutoTokenizer.from_pretrained(tmp_path)
    n = len(bare)
    if has_json:
        for file in vocabularies[files].iterdir():
            (tmp_path / file.name).unlink(missing_ok=True)
        bare.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    settings = named | CONFIGS[config]
    if "added_tokens_decoder" in settings:
        decoder = {str(int(id) + n): token for id, token in settings["added_tokens_decoder"].items()}
        settings["added_tokens_decoder"] = decoder
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    if (told := MAPS[roles]) is not None:
        (tmp_path / "special_tokens_map.json").write_text(json.dumps(told), "utf-8")
    if (listed := ADDED[added]) is not None:
        ids = {token: n + number for token, number in listed.items()}
        (tmp_path / "added_tokens.json").write_text(json.dumps(ids), "utf-8")
    theirs, ours = transformers.AutoTokenizer.from_pretrained(tmp_path), Tokenizer.from_pretrained(tmp_path)
    assert ours.vocab() == theirs.get_vocab()
    expected = {name: token for name, token in theirs.special_tokens_map.items() if isinstance(token, str)}
    assert dict(ours.settings.special_tokens) == expected
    for text in ("<d> <e> x", "a <p> b <q> c", "<a><b><c>", "<z> <y>", "<img> <bos>x"):
        found = theirs(text)["input_ids"]
        assert ours.encode(text, specials="all").ids.tolist() == found, text
        for skip in (False, True):
            decoded = theirs.decode(found, skip_special_tokens=skip, clean_up_tokenization_spaces=False)
            assert ours.decode(found, skip_special_tokens=skip) == decoded


@pytest.mark.parametrize("id", ["7", -1, 2**32, True, None, 1.5])
def test_an_id_of_added_tokens_json_that_is_none(
    id: object, vocabularies: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "vocab.txt").write_bytes((vocabularies["bert"] / "vocab.txt").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}', "utf-8")
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<x>": id}), "utf-8")
    with pytest.raises(FormatError, match=r"added_tokens.json: .* of '<x>', is not an id"):
        Tokenizer.from_pretrained(tmp_path)
