"""Folders without a tokenizer.json: undescribed folders, folders of other models, and ranks.

What a folder of ranks gives is compared with tiktoken, given what the class of the folder says.
"""

import base64
import json
import random
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiktoken

from cli_runs import Done, run_inside
from conftest import CORPUS
from sentitok import FormatError, PreTokenizer, Tokenizer, train_bpe

TEXT = CORPUS / "sherlock-holmes.txt"
KIMI = "|".join(
    [
        r"[\p{Han}]+",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
CL100K, QWEN = PreTokenizer("cl100k").pattern or "", PreTokenizer("cl100k-1digit").pattern or ""
TEXTS = [
    "",
    "The fox isn't IT'LL 12345 things!!\r\n\n  naïve — 10/10",
    "漢字かな交じりtext中文ABC 〇々⺀!⺀ 한국어 e\u0301",
    "[BOS]<|im_end|>a<think>b</think> <|reserved_token_700|><|extra_3|>",
]


@pytest.fixture(scope="module")
def ranks() -> dict[bytes, int]:
    """Ranks of a text with Chinese characters, as tiktoken has them."""
    trained = train_bpe(
        texts=[TEXT.read_text("utf-8")[:200_000], "漢字かな交じり 中文 中文字" * 9], vocab_size=700
    )
    return {trained.id_to_bytes(id) or b"": id for id in range(trained.vocab_size)}


def folder_of(folder: Path, name: str, ranks: dict[bytes, int], config: dict[str, Any] | None) -> Path:
    lines = (f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items())
    (folder / name).write_text("".join(lines), "ascii")
    if config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    return folder


def decoder(**tokens: int) -> dict[str, dict[str, Any]]:
    return {str(id): {"content": token, "special": True} for token, id in tokens.items()}


def kimi(n: int, module: str = "tokenization_kimi") -> dict[str, Any]:
    """Settings of Kimi, whose last reserved tokens are named."""
    named = {"[BOS]": n, "[EOS]": n + 1, "<|im_end|>": n + 2, "[UNK]": n + 254, "[PAD]": n + 255}
    return {
        "tokenizer_class": "TikTokenTokenizer",
        "auto_map": {"AutoTokenizer": [f"{module}.TikTokenTokenizer", None]},
        "added_tokens_decoder": decoder(**named),
        "bos_token": "[BOS]",
        "eos_token": "[EOS]",
    }


def reserved(n: int, config: dict[str, Any], count: int) -> dict[str, int]:
    named = {int(id): token["content"] for id, token in config["added_tokens_decoder"].items()}
    return {named.get(id, f"<|reserved_token_{id}|>"): id for id in range(n, n + count)}


def same(
    ours: Tokenizer, theirs: tiktoken.Encoding, before: list[int] | None = None, *, nfc: bool = False
) -> None:
    for text in [*TEXTS, TEXT.read_text("utf-8")[:20_000]]:
        given = unicodedata.normalize("NFC", text) if nfc else text
        ids = (before or []) + theirs.encode(given, allowed_special="all")
        assert ours.encode(text, specials="all").ids.tolist() == ids, text
        plain = (before or []) + theirs.encode_ordinary(given)
        assert ours.encode(text).ids.tolist() == plain, text
        assert ours.decode(plain[len(before or []) :]) == given


@pytest.mark.parametrize(("module", "count"), [("tokenization_kimi", 256), ("tokenization_moonshot", 258)])
def test_kimi(module: str, count: int, ranks: dict[bytes, int], tmp_path: Path) -> None:
    n = len(ranks)
    config = kimi(n, module)
    folder_of(tmp_path, "tiktoken.model", ranks, config)
    specials = reserved(n, config, count)
    theirs = tiktoken.Encoding("kimi", pat_str=KIMI, mergeable_ranks=ranks, special_tokens=specials)
    ours = Tokenizer.from_pretrained(tmp_path)
    assert ours.vocab_size == theirs.n_vocab
    assert {token.content: token.id for token in ours.added_tokens} == specials
    assert ours.settings.special_tokens["bos_token"] == "[BOS]"
    same(ours, theirs)
    ours.save_pretrained(tmp_path / "saved")
    again = Tokenizer.from_pretrained(tmp_path / "saved")
    same(again, theirs)


def test_random_characters_are_cut_as_tiktoken_cuts_them(ranks: dict[bytes, int], tmp_path: Path) -> None:
    config = kimi(len(ranks))
    ours = Tokenizer.from_pretrained(folder_of(tmp_path, "tiktoken.model", ranks, config))
    theirs = tiktoken.Encoding("kimi", pat_str=KIMI, mergeable_ranks=ranks, special_tokens={})
    draw = random.Random(3)
    letters = [*"aA'sLl 1\r\n\t/.!éßǅʰªक्ा漢字〇々⺀⼀かなー한😀\u0301\u200d\u3000\U00016ff0\U00020000"]
    for _ in range(4000):
        text = "".join(draw.choices(letters, k=draw.randint(1, 9)))
        assert ours.encode(text).ids.tolist() == theirs.encode_ordinary(text), ascii(text)


def test_other_folders_of_ranks(ranks: dict[bytes, int], tmp_path: Path) -> None:
    n = len(ranks)
    qwen = {
        "tokenizer_class": "QWenTokenizer",
        "auto_map": {"AutoTokenizer": ["tokenization_qwen.QWenTokenizer", None]},
    }
    named = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|extra_{i}|>" for i in range(205))]
    specials = {token: id for id, token in enumerate(named, 151_643)}
    (tmp_path / "qwen").mkdir()
    ours = Tokenizer.from_pretrained(folder_of(tmp_path / "qwen", "qwen.tiktoken", ranks, qwen))
    theirs = tiktoken.Encoding("qwen", pat_str=QWEN, mergeable_ranks=ranks, special_tokens=specials)
    same(ours, theirs, nfc=True)

    llama = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "added_tokens_decoder": decoder(**{"<|begin_of_text|>": n, "<|im_end|>": n + 7}),
    }
    (tmp_path / "llama").mkdir()
    ours = Tokenizer.from_pretrained(folder_of(tmp_path / "llama", "tokenizer.model", ranks, llama))
    specials = {"<|begin_of_text|>": n, "<|im_end|>": n + 7}
    theirs = tiktoken.Encoding("llama", pat_str=CL100K, mergeable_ranks=ranks, special_tokens=specials)
    same(ours, theirs)

    (tmp_path / "glm").mkdir()
    glm = {"tokenizer_class": "ChatGLM4Tokenizer"}
    ours = Tokenizer.from_pretrained(folder_of(tmp_path / "glm", "tokenizer.model", ranks, glm))
    theirs = tiktoken.Encoding(
        "glm", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={"[gMASK]": n + 2, "<sop>": n + 4}
    )
    same(ours, theirs, [n + 2, n + 4])


@pytest.mark.parametrize(
    ("config", "mentioned"),
    [
        (None, "from_tiktoken"),
        ({"tokenizer_class": "BaichuanTokenizer"}, "BaichuanTokenizer"),
        (
            {
                "tokenizer_class": "TikTokenTokenizer",
                "auto_map": {"AutoTokenizer": ["other.TikTokenTokenizer", None]},
            },
            "other.TikTokenTokenizer",
        ),
        (
            {"tokenizer_class": "TikTokenTokenizer", "added_tokens_decoder": {"7": {"content": "<x>"}}},
            "<x>",
        ),
        (
            {"tokenizer_class": "TikTokenTokenizer", "added_tokens_decoder": {"-7": {"content": "<x>"}}},
            "'-7' in added_tokens_decoder",
        ),
        (
            {"tokenizer_class": "QWenTokenizer", "added_tokens_decoder": {"9" * 5000: {"content": "<x>"}}},
            "in added_tokens_decoder",
        ),
        (
            {"tokenizer_class": "ChatGLM4Tokenizer", "added_tokens_decoder": {"704": {"content": "<x>"}}},
            "<sop>",
        ),
    ],
)
def test_ranks_whose_class_is_not_known_are_refused(
    config: dict[str, Any] | None, mentioned: str, ranks: dict[bytes, int], tmp_path: Path
) -> None:
    folder_of(tmp_path, "tiktoken.model", ranks, config)
    for load in (Tokenizer.from_pretrained, Tokenizer.from_file):
        with pytest.raises(FormatError, match=mentioned):
            load(tmp_path)


@pytest.mark.parametrize("content", [None, b"", b"IQ==\n", b"\x00\xff"])
def test_a_class_of_ranks_without_ranks_says_so(content: bytes | None, tmp_path: Path) -> None:
    folder_of(tmp_path, "tiktoken.model", {}, kimi(256))
    (tmp_path / "tiktoken.model").unlink()
    if content is not None:
        (tmp_path / "tiktoken.model").write_bytes(content)
    with pytest.raises(FormatError, match=r"TikTokenTokenizer reads a file of ranks.*tiktoken\.model"):
        Tokenizer.from_pretrained(tmp_path)


def test_damaged_ranks_are_read_or_refused(ranks: dict[bytes, int], tmp_path: Path) -> None:
    folder_of(tmp_path, "tiktoken.model", ranks, kimi(len(ranks)))
    content = (tmp_path / "tiktoken.model").read_bytes()
    draw = random.Random(7)
    for _ in range(150):
        bad = bytearray(content)
        for _ in range(draw.randint(1, 2)):
            at = draw.randrange(len(bad))
            bad[at : at + draw.randrange(9)] = draw.randbytes(draw.randrange(4))
        (tmp_path / "tiktoken.model").write_bytes(bad)
        try:
            Tokenizer.from_pretrained(tmp_path).encode("[BOS]ab 漢", specials="all")
        except FormatError:
            continue


GPT1 = {"<unk>": 0, "a": 1, "b": 2, "a</w>": 3, "b</w>": 4, "ab</w>": 5}
WORDS = {"a": 0, "b": 1, "ab": 2, "▁": 3, "▁a": 4}


@pytest.mark.parametrize(
    ("vocab", "merges", "mentioned"),
    [
        (GPT1, ["a b</w>"], "</w>.*OpenAIGPTTokenizer.*CLIPTokenizer"),
        (GPT1, [], "</w>"),
        (WORDS, ["a b", "▁ a"], "0x00.*tokenizer_class"),
        ({"a": 0, "b": 1, "ab": 2}, ["a b"], "tokenizer_class"),
    ],
)
def test_files_of_other_models_are_not_those_of_gpt2(
    vocab: dict[str, int], merges: list[str], mentioned: str, tmp_path: Path
) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps(vocab), "utf-8")
    (tmp_path / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), "utf-8")
    loads: list[Callable[[], Tokenizer]] = [
        lambda: Tokenizer.from_file(tmp_path),
        lambda: Tokenizer.from_pretrained(tmp_path),
        lambda: Tokenizer.from_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt"),
    ]
    for load in loads:
        with pytest.raises(FormatError, match=mentioned):
            load()
    for command in (("convert", tmp_path, tmp_path / "x.json"), ("encode", "-t", tmp_path, "--text", "ab a")):
        done = run(*command)
        assert (done.code != 0, "tokenizer_class" in done.err) == (True, True), done.err


def test_a_token_of_html_is_no_end_of_a_word(tmp_path: Path) -> None:
    """GPT-2's files may hold `c</w>` too, made by merges."""
    merges = [("<", "/"), ("</", "w"), ("</w", ">"), ("c", "</w>")]
    alphabet = train_bpe(texts=["a"], vocab_size=256).vocab()
    made = {left + right: 256 + at for at, (left, right) in enumerate(merges)}
    (tmp_path / "vocab.json").write_text(json.dumps(alphabet | made), "utf-8")
    (tmp_path / "merges.txt").write_text("".join(f"{left} {right}\n" for left, right in merges), "utf-8")
    assert Tokenizer.from_file(tmp_path).token_to_id("c</w>") == 259


def run(*arguments: str | Path) -> Done:
    return run_inside(*arguments, cwd=Path.cwd())


def test_commands_load_a_folder_as_from_pretrained_does(ranks: dict[bytes, int], tmp_path: Path) -> None:
    (tmp_path / "json").mkdir()
    train_bpe(TEXT, vocab_size=300).save(tmp_path / "json" / "tokenizer.json")
    config = {"added_tokens_decoder": decoder(**{"<|im_start|>": 300}), "eos_token": "<eos>"}
    (tmp_path / "json" / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    (tmp_path / "kimi").mkdir()
    folder_of(tmp_path / "kimi", "tiktoken.model", ranks, kimi(len(ranks)))
    for name, text in (("json", "<|im_start|>a<eos>"), ("kimi", "[BOS]a<|im_end|>")):
        folder = tmp_path / name
        expected = Tokenizer.from_pretrained(folder)
        ids = expected.encode(text, specials="all").ids.tolist()
        assert len(ids) == 3
        done = run("encode", "-t", folder, "--text", text, "--specials", "all", "--json")
        assert json.loads(done.out)["ids"] == ids, done.err
        done = run("show", text, "-t", folder, "--specials", "all", "--quiet")
        assert done.out.split() == list(map(str, ids))
        done = run("info", folder, "--quiet")
        assert done.out.strip() == expected.fingerprint
        done = run("convert", folder, tmp_path / f"{name}.sentitok", "--quiet")
        assert Tokenizer.from_file(tmp_path / f"{name}.sentitok") == expected, done.err
        assert Tokenizer.from_file(folder) == expected


def test_convert_says_that_ranks_hold_no_special_tokens(ranks: dict[bytes, int], tmp_path: Path) -> None:
    folder_of(tmp_path, "x.tiktoken", ranks, None)
    source, target = tmp_path / "x.tiktoken", tmp_path / "x.json"
    done = run("convert", source, target, "--pattern", "cl100k")
    assert (done.code, f"={len(ranks)}" in done.err, "--special" in done.err) == (0, True, True)
    done = run("convert", source, target, "--force", "--pattern", "cl100k", "--special", f"<x>={len(ranks)}")
    assert (done.code, "--special" in done.err) == (0, False)
