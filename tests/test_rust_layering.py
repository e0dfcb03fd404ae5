"""Layers of the Rust crate, and its unsafe code: who may name whom, and what proves and fuzzes it."""

import re
from pathlib import Path

from source_files import ROOT, RUST, SOURCES, each, without_tests

# What is above every model.
TOP = {"model", "tokenizer", "format", "corpus", "dataset"}


# (file or folder under rust/, modules of the crate it must not name)
ABOVE = {
    "error.rs": {"bpe", "tokenizer", "format", "corpus", "dataset", "model"},
    "vocab.rs": {"bpe", "tokenizer", "format", "corpus", "dataset", "model"},
    "simd": {"bpe", "tokenizer", "format", "corpus", "dataset", "model", "normalizer", "pre_tokenizer"},
    "unicode.rs": {"bpe", "tokenizer", "format", "corpus", "normalizer", "pre_tokenizer"},
    "normalizer": {"bpe", "tokenizer", "format", "corpus", "dataset", "model"},
    "pre_tokenizer": {"bpe", "tokenizer", "format", "corpus", "dataset", "model"},
    "corpus": {"bpe", "tokenizer", "format", "model"},
    # The three models know nothing of each other: what trainers share lies below.
    "bpe": {"wordpiece", "unigram", *TOP},
    "wordpiece": {"bpe", "unigram", *TOP},
    "unigram": {"bpe", "wordpiece", *TOP},
    "pair_merging": {"bpe", "wordpiece", "unigram", "word_counts", *TOP},
    "sentencepiece_rules": {"bpe", "wordpiece", "unigram", "pair_merging", "word_counts", *TOP},
    "trie.rs": {"bpe", "unigram", "tokenizer", "format", "corpus", "dataset", "normalizer"},
    "word_counts": {"bpe", "tokenizer", "format", "model"},
}


@each(SOURCES)
def test_rust_layers(path: Path) -> None:
    relative = path.relative_to(RUST)
    text = without_tests(path.read_text("utf-8"))
    # Prose may speak of what is above; code may not use it.
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
    used = set(re.findall(r"\bcrate::(\w+)", code))
    for grouped in re.findall(r"use crate::\{(.*?)\};", code, re.S):
        used |= set(re.findall(r"(?:^|,)\s*(\w+)", grouped))
    top = relative.parts[0]
    forbidden = ABOVE.get(top, set()) | ABOVE.get(top.removesuffix(".rs"), set())
    if top not in ("py", "py.rs", "lib.rs"):
        forbidden = forbidden | {"py"}
        assert "pyo3" not in code.replace("use pyo3", "pyo3"), "only rust/py knows Python"
    assert not used & forbidden


def test_rust_layers_are_there() -> None:
    """A room that was renamed would be looked at no more."""
    for room in ABOVE:
        assert (RUST / room).exists(), room


def module_of(path: Path) -> str:
    """The module of `rust/` that a file is in, as `simd`, or `py/allocator`."""
    parts = path.relative_to(RUST).with_suffix("").parts
    return "/".join(parts[: 2 if parts[0] == "py" else 1])


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
    "simd": {"split": "sentitok::simd::", "normalize": "sentitok::normalizer::"},
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
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    assert re.search(r"cargo \+nightly miri test .*--lib simd::", workflow)
    assert re.search(r"-Zsanitizer=address\n.* --lib\n.* --test rust -- .*pre_tokenizer::", workflow), (
        "all unit tests: vector code is called from many modules"
    )
    assert re.search(r"cargo \+nightly fuzz run (?!.*--sanitizer)", workflow), (
        "its default is AddressSanitizer"
    )
    for page in ("SECURITY.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text("utf-8")
        for module, targets in FUZZED.items():
            assert f"rust/{module}" in text, (page, module)
            assert all(f"`{target}`" in text for target in targets), (page, module)
        assert "AddressSanitizer" in text, page
        assert "Miri" in text, page


def test_fuzz_targets_are_built_and_run() -> None:
    """Continuous integration runs those that Cargo lists."""
    listed = re.findall(r'^path = "fuzz_targets/(\w+)\.rs"', (ROOT / "fuzz" / "Cargo.toml").read_text(), re.M)
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "fuzz" / "fuzz_targets").glob("*.rs"))
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    assert "$(cargo +nightly fuzz list)" in workflow


@each(SOURCES)
def test_only_some_files_touch_files(path: Path) -> None:
    top = path.relative_to(RUST).parts[0].removesuffix(".rs")
    if top in ("atomic", "corpus", "format", "dataset", "word_counts", "py"):
        return
    code = without_tests(path.read_text("utf-8"))
    assert not re.search(r"\bstd::fs\b|\bFile::(open|create)", code)
