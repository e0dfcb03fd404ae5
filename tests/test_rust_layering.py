"""Layers of the Rust crate, and its unsafe code: who may name whom, and what proves and fuzzes it."""

import re
import tomllib
from pathlib import Path

from source_files import ROOT, RUST, SOURCES, each, without_tests

# (file or folder under rust/, modules of the crate it must not name)
ABOVE = {
    "error": {"vocab", "memory", "models", "tokenizer", "formats", "corpus", "dataset", "trainers"},
    "memory": {"vocab", "models", "tokenizer", "formats", "corpus", "dataset", "trainers"},
    "vocab": {"models", "tokenizer", "formats", "corpus", "dataset", "trainers"},
    "cache": {"pre_tokenizer", "models", "tokenizer", "formats", "corpus", "normalizer", "trainers"},
    "text": {"cache", "models", "tokenizer", "formats", "corpus", "normalizer", "pre_tokenizer", "trainers"},
    "normalizer": {"pre_tokenizer", "models", "tokenizer", "formats", "corpus", "dataset", "trainers"},
    "pre_tokenizer": {"models", "tokenizer", "formats", "corpus", "dataset", "trainers"},
    "corpus": {"models", "tokenizer", "formats", "trainers"},
    # Models know pieces and ids: who walks over a text asks them.
    "models": {
        "normalizer",
        "pre_tokenizer",
        "pipeline",
        "tokenizer",
        "formats",
        "corpus",
        "dataset",
        "trainers",
    },
    "token_lengths": {"normalizer", "pre_tokenizer", "pipeline", "models", "tokenizer"},
    # Models know nothing of each other: what trainers share lies below.
    "models/bpe": {"models::wordpiece", "models::unigram"},
    "models/wordpiece": {"models::bpe", "models::unigram"},
    "models/unigram": {"models::bpe", "models::wordpiece"},
    "trainers": {"tokenizer", "formats", "dataset"},
    "trainers/pair_merging": {"models::bpe", "models::wordpiece", "models::unigram", "corpus"},
    # What our own file adds to tokenizer.json is defined there.
    "formats/tokenizer_json": {"formats::container"},
    "sentencepiece_rules": {"models", "trainers", "corpus", "tokenizer", "formats", "dataset"},
}


def from_root(code: str, place: str) -> str:
    """`code` of the file `place` with `super::` written as the path of that module."""
    above = place.split("/")[:-1]
    for level in (3, 2, 1):
        module = "::".join(["crate", *above[: len(above) + 1 - level]])
        code = re.sub(r"\b(?<!::)" + "super::" * level, f"{module}::", code)
    return code


def modules_named(code: str) -> set[str]:
    """Paths below `crate::` that code names, those of grouped imports spelled out."""
    named = set(re.findall(r"\bcrate::((?:\w+::)*\w+)", code))
    for path, group in re.findall(r"use crate::((?:\w+::)*)(\{[^;]*\});", code):
        named |= {f"{path}{leaf}" for leaf in leaves(group)}
    return named


def leaves(group: str) -> list[str]:
    """The paths of `{a, b::{c, d}}`."""
    found, depth, start = [], 0, 1
    for place, letter in enumerate(group):
        depth += (letter == "{") - (letter == "}")
        if (letter == "," and depth == 1) or depth == 0:
            part = group[start:place].strip()
            start = place + 1
            head, brace, _ = part.partition("{")
            if brace:
                found += [f"{head}{leaf}" for leaf in leaves(part[len(head) :])]
            elif part:
                found.append(part)
    return found


def code_of(path: Path) -> str:
    """A file without its tests and its prose, which may mention higher layers."""
    text = without_tests(path.read_text("utf-8"))
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))


@each(SOURCES)
def test_rust_layers(path: Path) -> None:
    place = path.relative_to(RUST).with_suffix("").as_posix()
    code = code_of(path)
    forbidden: set[str] = set()
    for room, above in ABOVE.items():
        if f"{place}/".startswith(f"{room}/"):
            forbidden |= above
    if not f"{place}/".startswith("py/") and place != "lib":
        forbidden |= {"py"}
        assert "pyo3" not in code.replace("use pyo3", "pyo3"), "only rust/py knows Python"
    for named in modules_named(from_root(code, place)):
        assert not any(f"{named}::".startswith(f"{one}::") for one in forbidden), named


def test_modules_do_not_name_each_other() -> None:
    arrows: set[tuple[str, str]] = set()
    for path in SOURCES:
        place = path.relative_to(RUST).with_suffix("").as_posix()
        room = place.split("/")[0]
        for named in modules_named(from_root(code_of(path), place)):
            to = named.split("::")[0]
            if to != room and room != "lib" and (RUST / f"{to}.rs").is_file():
                arrows.add((room, to))
    assert {(a, b) for a, b in arrows if a < b and (b, a) in arrows} == set()


def test_rust_layers_are_there() -> None:
    """A room that was renamed would not be checked any more."""
    for room in ABOVE:
        assert (RUST / f"{room}.rs").is_file(), room
    assert from_root("super::x super::super::{y}", "a/b/c") == "crate::a::b::x crate::a::{y}"
    assert modules_named("use crate::{a, b::{c, d::e}};") == {"a", "b::c", "b::d::e"}


def test_errors_of_the_crate_name_what_rust_users_know() -> None:
    """`rust/py/error.rs` says each in the words of Python and the commands."""
    strings = ""
    for path in SOURCES:
        if path.relative_to(RUST).parts[0] not in ("py", "py.rs"):
            code = re.sub(r"\\\n\s*", "", code_of(path))
            strings += code
            for flag in re.findall(r"[ (]--[a-z-]+|\b\w+=(?:True|False)\b", code):
                raise AssertionError(f"{path}: {flag}")
    table = (RUST / "py" / "error.rs").read_text("utf-8").split("const SPELLED")[1].split("];")[0]
    spelled = re.findall(r'^    \(\s*"([^"]+)",', table, re.M)
    assert len(spelled) > 20
    assert [phrase for phrase in spelled if phrase not in strings] == []


def test_inference_alone_has_few_dependencies() -> None:
    """Without features the crate depends on ten crates, whose build takes seconds."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))
    needed = [name for name, row in manifest["dependencies"].items() if not dict_of(row).get("optional")]
    assert len(needed) <= 10, needed


def dict_of(row: object) -> dict[str, object]:
    return row if isinstance(row, dict) else {}


def module_of(path: Path) -> str:
    """The module of `rust/` that a file is in, as `text/simd`."""
    parts = path.relative_to(RUST).with_suffix("").parts
    return "/".join(parts[:2])


def is_unsafe(path: Path) -> bool:
    lines = without_tests(path.read_text("utf-8")).split("\n")
    return any("unsafe" in line and re.search(r"^[^/]*\bunsafe\b *(\{|fn|impl)", line) for line in lines)


@each(SOURCES)
def test_only_simd_and_the_allocator_are_unsafe(path: Path) -> None:
    if module_of(path) in FUZZED:
        return
    assert not is_unsafe(path)
    assert not re.search(r"allow\(\s*unsafe_code", without_tests(path.read_text("utf-8")))


# Module of rust/ with unsafe code: the fuzz targets that run it, and what each of them calls.
FUZZED = {
    "text/simd": {"split": "sentitok::text::simd::", "normalize": "sentitok::normalizer::"},
    "py/allocator": {"allocator": "rust/py/allocator.rs"},
}


def test_unsafe_modules_have_a_fuzz_target() -> None:
    unsafe = {module_of(path) for path in SOURCES if is_unsafe(path)}
    assert unsafe == set(FUZZED)
    for target, called in (row for targets in FUZZED.values() for row in targets.items()):
        text = (ROOT / "fuzz" / "fuzz_targets" / f"{target}.rs").read_text("utf-8")
        assert called in text, target


def test_unsafe_code_is_proven_checked_and_told() -> None:
    """A block without a proof does not pass clippy; Miri and AddressSanitizer run what they can."""
    assert 'undocumented_unsafe_blocks = "deny"' in (ROOT / "Cargo.toml").read_text("utf-8")
    for page in ("SECURITY.md", "docs/contributing/tests.md"):
        text = (ROOT / page).read_text("utf-8")
        for module, targets in FUZZED.items():
            assert f"rust/{module}" in text, (page, module)
            assert all(f"`{target}`" in text for target in targets), (page, module)
        assert "AddressSanitizer" in text, page
        assert "Miri" in text, page


def test_fuzz_targets_are_listed() -> None:
    """`make fuzz` runs those that Cargo lists."""
    listed = re.findall(r'^path = "fuzz_targets/(\w+)\.rs"', (ROOT / "fuzz" / "Cargo.toml").read_text(), re.M)
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "fuzz" / "fuzz_targets").glob("*.rs"))


@each(SOURCES)
def test_only_some_files_touch_files(path: Path) -> None:
    top = path.relative_to(RUST).parts[0].removesuffix(".rs")
    if top in ("atomic", "corpus", "formats", "dataset", "py"):
        return
    code = without_tests(path.read_text("utf-8"))
    assert not re.search(r"\bstd::fs\b|\bFile::(open|create)", code)
