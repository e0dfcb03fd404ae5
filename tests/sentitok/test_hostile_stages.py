"""Small files whose normalizers or patterns are made to take long or much memory.

Each ends soon, with an answer or an error.

Each runs in a separate process with a limit of memory, so that an abort or a
hang is seen. The times are generous: the build under test is not optimised.
"""

import json
import subprocess
import sys
import textwrap
from typing import Any

import pytest

#: What a file of less than 100 KB may take, with the interpreter; threads' stacks count.
MEMORY = 600 << 20
#: Resident, beyond the memory of the interpreter and the library alone.
RESIDENT = 200 << 20
SECONDS = 180

RUN = """
    import resource, sys, json
    import sentitok
    resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    data, texts = json.load(sys.stdin)
    try:
        tokenizer = sentitok.Tokenizer.from_bytes(data.encode())
        for text in texts:
            tokenizer.encode(text)
            tokenizer.encode_batch([text] * 2, threads=1)
        outcome = "ok"
    except sentitok.SentitokError as error:
        outcome = type(error).__name__ + ": " + str(error)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(json.dumps([outcome, grown]))
"""


def run(file: dict[str, Any], texts: list[str]) -> tuple[str, int]:
    code = textwrap.dedent(RUN).format(memory=MEMORY)
    data = json.dumps(file, ensure_ascii=False)
    assert len(data.encode()) < 100_000
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([data, texts]),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcome, grown = json.loads(done.stdout)
    return outcome, grown


def file(**stages: Any) -> dict[str, Any]:
    model = {"type": "BPE", "unk_token": "u", "vocab": {"u": 0, "a": 1, "h": 2, "aa": 3}, "merges": ["a a"]}
    return {"version": "1.0", "added_tokens": [], "model": model, **stages}


def replace(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(steps)}


def split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def splits(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(steps)}


def added(n: int, content: str, start: int = 4) -> list[dict[str, Any]]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": False}
    return [{"id": start + k, "content": f"{content}{k}", **flags} for k in range(n)]


GROWTH = "16 times the text"
LONG = "a" * 100_000

FILES: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "a bomb of strings": (file(normalizer=sequence(*[replace("h", "hh")] * 22)), ["hh" * 20], GROWTH),
    "a long bomb": (file(normalizer=sequence(*[replace("h", "hh")] * 64)), ["h"], GROWTH),
    "a bomb of matches": (
        file(normalizer=sequence(*[replace("h+?", "hhh", "Regex")] * 16)),
        ["h" * 9],
        GROWTH,
    ),
    "a long content": (file(normalizer=replace("h", "h" * 90_000)), ["h" * 10_000], GROWTH),
    "long prefixes": (
        file(normalizer=sequence(*[{"type": "Prepend", "prepend": "h" * 40}] * 64)),
        ["h"],
        GROWTH,
    ),
    "one prefix, many pieces": (
        file(normalizer={"type": "Prepend", "prepend": "h" * 1000}, added_tokens=added(3, "<a>")),
        ["h<a>1" * 20_000],
        GROWTH,
    ),
    "a prefix of each section": (
        file(normalizer={"type": "Prepend", "prepend": "a" * 64}, added_tokens=added(3, "<")),
        ["h<1" * 33_000],
        "",
    ),
    "a bomb in an added token": (
        file(normalizer=sequence(*[replace("h", "hh")] * 30), added_tokens=added(100, "h")),
        ["a"],
        GROWTH,
    ),
    "many added tokens that grow": (
        file(normalizer=sequence(*[replace("h", "hh")] * 3), added_tokens=added(300, "h" * 60)),
        ["h" * 5000],
        "",
    ),
    "many steps": (
        file(normalizer=sequence(*[replace("h", "a"), replace("a", "h")] * 700)),
        ["h" * 2000],
        "64 steps",
    ),
    "nfkd many times": (
        file(normalizer=sequence(*[{"type": "NFKD"}, {"type": "NFC"}] * 32)),
        ["\ufdfa" * 100],
        "128 times the text",
    ),
    "nested steps": (
        file(normalizer=sequence(*[sequence(*[{"type": "NFC"}] * 20)] * 20)),
        ["a"],
        "64 steps",
    ),
    "one long added token": (file(added_tokens=added(1, "a" * 90_000)), ["a" * 200_000], ""),
    "a template bomb": (
        file(
            post_processor={
                "type": "TemplateProcessing",
                "single": [{"Sequence": {"id": "A", "type_id": 0}}]
                + [{"SpecialToken": {"id": "u", "type_id": 0}}] * 800,
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"u": {"id": "u", "ids": [0] * 6000, "tokens": ["u"] * 6000}},
            }
        ),
        ["a"],
        "at most 1024",
    ),
    "look-around that reads on": (file(pre_tokenizer=split(r"(?=a*a*a*a*a*b)x")), [LONG], "steps"),
    "an atomic group": (file(pre_tokenizer=split(r"(?>a+)+b")), [LONG], "steps"),
    "a repeated group": (file(pre_tokenizer=split(r"(?:a|aa)+(?!a)b")), [LONG], "steps"),
    "a back reference": (file(pre_tokenizer=split(r"(a+)\1+b")), ["a" * 20_000], "steps"),
    "pieces that look around": (
        file(pre_tokenizer=splits(split("a{160}"), split(r"(?=a*a*a*b)x"))),
        [LONG],
        "steps",
    ),
    "sections that look around": (
        file(pre_tokenizer=split(r"(?=a*a*a*b)x"), added_tokens=added(2, "<")),
        [("a" * 160 + "<1") * 600],
        "steps",
    ),
    "reading far past a match": (file(pre_tokenizer=split("a*b|a")), [LONG], ""),
    "far past a match by parity": (file(pre_tokenizer=split("(?:aa)*b|a")), [LONG], ""),
    "matches that read on": (file(normalizer=replace("a*b|a", "h", "Regex")), [LONG], ""),
    "states without end": (file(pre_tokenizer=split("[ab]*a[ab]{300}")), ["ab" * 10_000], ""),
    "many repeats": (file(pre_tokenizer=split(r"(?:(?:\w{100}){999}){999}")), ["a"], "1048576"),
    "many classes": (file(pre_tokenizer=split(r"\w\d" * 16_000)), ["a"], "1024 classes"),
    "many classes in brackets": (file(pre_tokenizer=split(r"[\w\d]" * 9000)), ["a"], "1024 classes"),
    "many alternatives": (
        file(pre_tokenizer=split("|".join(f"a{n}b" for n in range(9000)))),
        ["a1b" * 9],
        "",
    ),
    "deep groups": (file(pre_tokenizer=split("(" * 20_000 + "a" + ")" * 20_000)), ["a"], "pattern"),
    "empty repeats": (file(pre_tokenizer=split("(?=(?:(?:a?){9999}){9999})a")), ["a"], "1048576"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_small_file_ends_soon(name: str) -> None:
    tokenizer, texts, expected = FILES[name]
    outcome, grown = run(tokenizer, texts)
    assert grown < RESIDENT, (outcome[:300], grown)
    assert len(outcome) < 4000
    if expected:
        assert expected in outcome, outcome[:600]
        assert "Internal" not in outcome, outcome[:600]
    elif outcome != "ok":
        # An answer or a refusal, never a bug.
        assert outcome.startswith(("FormatError", "EncodeError")), outcome[:600]
        assert name == "many alternatives", outcome[:600]
