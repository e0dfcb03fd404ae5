"""transformers' own tokenization tests, run untouched and then with every fast tokenizer accelerated.

    python benches/transformers_cases.py CHECKOUT       # writes docs/reference/transformers-cases.md

Both runs use the installed transformers; CHECKOUT, its sources, gives the tests of a version near it. What
they load from the hub is replaced by a tokenizer of the same class with a small vocabulary, so many cases
fail in both runs: the page counts cases that end differently. The tests need `parameterized`, which is
installed by hand.

Not a test of ours: `tests/sentitok/test_acceleration.py` is. As a plugin of pytest, this module replaces the
hub, and accelerates.
"""

import collections
import contextlib
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import page as pages
from measure import markdown

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "transformers-cases.md"
HEAD = (
    "# transformers' own tests\n\nWritten by `python benches/transformers_cases.py CHECKOUT`, not by hand. "
    "What `sentitok.accelerate` does is in [from-transformers.md](from-transformers.md#one-line-for-serving)."
)
RUNS = ("untouched", "accelerated")
_MODE, _FOLDER = "TRANSFORMERS_CASES_MODE", "TRANSFORMERS_CASES_FOLDER"

#: The family of `tests/oracles/families.py` whose vocabulary a kind of model gets.
VOCABULARIES = {
    "WordPiece": "BERT", "bytes": "RoBERTa", "metaspace": "Llama-2, newer files", "suffix": "CLIP",
    "Unigram": "XLM-R", "other": "BLOOM",
}  # fmt: skip
#: BPE that is not over bytes, by words in the name of its class.
KINDS = {
    "metaspace": ("Llama", "Gemma", "Siglip", "Tipsv2", "VideoPrism", "Camembert"),
    "suffix": ("CLIP", "OpenAI", "Herbert", "XLM", "BlenderbotSmall"),
}
NAMED = {
    "google-bert/bert-base-cased": "BertTokenizer", "google-bert/bert-base-uncased": "BertTokenizer",
    "bert-base-cased": "BertTokenizer", "gpt2": "GPT2Tokenizer", "openai-community/gpt2": "GPT2Tokenizer",
    "FacebookAI/roberta-base": "RobertaTokenizer", "google-t5/t5-small": "T5Tokenizer",
    "hf-internal-testing/llama-tokenizer": "LlamaTokenizer",
}  # fmt: skip


# The page


def files(checkout: Path) -> list[str]:
    """The files of tests that are about tokenizers."""
    paths = sorted(checkout.glob("tests/models/*/test_tokenization_*.py"))
    paths += sorted(checkout.glob("tests/tokenization/test_*.py"))
    if not paths:
        raise SystemExit(
            f"{checkout} has no tests/models/*/test_tokenization_*.py: give sources of transformers"
        )
    return [str(path.relative_to(checkout)) for path in paths]


def run(checkout: Path, mode: str, folder: Path) -> dict[str, Any]:
    """The outcome of each case, and what became of the tokenizers."""
    places = [str(checkout), *(str(ROOT / name) for name in ("benches", "tests", "python"))]
    path = os.pathsep.join([*places, os.environ.get("PYTHONPATH", "")])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "transformers_cases",
        "-p",
        "no:cacheprovider",
        "--noconftest",
    ]
    subprocess.run(
        [*command, "--tb=no", "--continue-on-collection-errors", "-W", "ignore", *files(checkout)],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", _MODE: mode, _FOLDER: str(folder)},
        check=False,
    )
    outcome: dict[str, Any] = json.loads((folder / f"{mode}.json").read_text("utf-8"))
    return outcome


def page(first: dict[str, Any], second: dict[str, Any], conditions: str) -> str:
    """The page of two runs."""
    cases = sorted(set(first["results"]) | set(second["results"]))
    pairs = {case: (first["results"].get(case), second["results"].get(case)) for case in cases}
    differ = [case for case, (one, other) in pairs.items() if one != other]
    alike = collections.Counter(one for one, other in pairs.values() if one == other)
    here, stays = second["made"]["runs here"], second["made"]["stays"]
    outcomes = [
        [f"{outcome} both times", f"{alike[outcome]:,}"] for outcome in ("passed", "failed", "skipped")
    ]
    parts = [
        "## Cases",
        "The tokenization tests of transformers, run with every fast tokenizer untouched, and then with each "
        "one accelerated as soon as it is made. What they load from the hub is replaced by a tokenizer of "
        "the same class with a small vocabulary: cases that need the published one fail both times.",
        markdown(["outcome", "cases"], [*outcomes, ["ends otherwise", f"{len(differ):,}"]]),
        *(f"- `{case}`: {pairs[case][0]}, accelerated {pairs[case][1]}" for case in differ),
        "## Tokenizers",
        f"Of the fast tokenizers that these cases made, {here:,} ran here and {sum(stays.values()):,} stayed "
        "on the original path, where nothing can differ.",
    ]  # fmt: skip
    if stays:
        rows = [[*said.split(": ", 1), str(count)] for said, count in sorted(stays.items())]
        parts.append(markdown(["class", "reason", "stayed"], rows))
    return f"{HEAD}\n\n" + pages.stamped("\n\n".join(parts), conditions, ROOT) + "\n"


def versions(checkout: Path) -> str:
    """The versions of the run."""
    said = (checkout / "src" / "transformers" / "__init__.py").read_text("utf-8")
    match = re.search(r'__version__ = "([^"]+)"', said)
    installed = ", ".join(f"{name} {version(name)}" for name in ("sentitok", "transformers", "tokenizers"))
    return f"{installed}; tests of transformers {match[1] if match else 'of an unknown version'}."


def main() -> None:
    """Runs both and writes the page."""
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} CHECKOUT, a folder with the sources of transformers")
    checkout = Path(sys.argv[1]).resolve()
    files(checkout)
    folder = Path(tempfile.mkdtemp(prefix="transformers-cases-"))
    first, second = (run(checkout, mode, folder) for mode in RUNS)
    PAGE.write_text(page(first, second, versions(checkout)), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}; results are in {folder}")


# The plugin

_class_of: dict[str, Any] = {}
_results: dict[str, str] = {}
_made: dict[str, Any] = {"runs here": 0, "stays": collections.Counter()}
_building: list[Any] = []


@functools.cache
def vocabulary(kind: str) -> tuple[Any, Any]:
    """The tokens and the merges of a kind of model."""
    from oracles.families import file_of

    model = json.loads(file_of(VOCABULARIES[kind]))["model"]
    tokens = model["vocab"]
    merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in model.get("merges") or []]
    if kind == "bytes":
        for token in ("<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"):
            tokens.setdefault(token, len(tokens))
    if isinstance(tokens, list):
        tokens = [tuple(pair) for pair in tokens]
    return tokens, [tuple(merge) for merge in merges]


def build(kind: Any, folder: Path) -> None:
    """Saves a tokenizer of a class, with a small vocabulary."""
    import tokenizers
    import transformers

    from oracles.families import file_of

    model = getattr(getattr(kind, "model", None), "__name__", None)
    name = kind.__name__
    fast: Any = transformers.PreTrainedTokenizerFast
    if model is None or kind is fast:
        made = fast(
            tokenizer_object=tokenizers.Tokenizer.from_str(file_of(VOCABULARIES["other"])),
            bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>",
        )  # fmt: skip
    elif model == "WordPiece":
        made = kind(vocab=dict(vocabulary("WordPiece")[0]))
    elif model == "Unigram":
        pieces = list(vocabulary("Unigram")[0])
        if not any(word in name for word in ("T5", "Pegasus", "Udop")):
            special = [(token, 0.0) for token in ("<s>", "<pad>", "</s>", "<unk>")]
            pieces = [*special, *pieces[3:], ("<mask>", 0.0)]
        once: dict[str, float] = {}
        for piece, score in pieces:
            once.setdefault(piece, score)
        made = kind(vocab=list(once.items()))
    else:
        of = next((of for of, words in KINDS.items() if any(word in name for word in words)), "bytes")
        tokens, merges = vocabulary(of)
        made = kind(vocab=dict(tokens), merges=list(merges))
    made.save_pretrained(folder)
    config = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    config.setdefault("tokenizer_class", name)
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")


def local(name: Any) -> Any:
    """A folder in the place of a name on the hub, where the class is known."""
    if not isinstance(name, str) or name not in _class_of or Path(name).is_dir():
        return name
    folder = Path(os.environ[_FOLDER]) / "hub" / name.replace("/", "--")
    if not folder.exists():
        folder.mkdir(parents=True)
        _building.append(name)
        try:
            build(_class_of[name], folder)
        except (
            Exception
        ) as error:  # 2026-11-24: a class that cannot be built is reported, and its cases fail twice
            print(f"cannot build {name}: {error!r}", file=sys.stderr)
        finally:
            _building.pop()
    return str(folder)


def finished(tokenizer: Any) -> Any:
    """A tokenizer as in the run."""
    from transformers import PreTrainedTokenizerFast

    import sentitok

    is_new = isinstance(tokenizer, PreTrainedTokenizerFast) and "_sentitok_running" not in vars(tokenizer)
    if os.environ[_MODE] == RUNS[0] or _building or not is_new:
        return tokenizer
    sentitok.accelerate(tokenizer)
    running = vars(tokenizer)["_sentitok_running"]
    if running._known is not None and running._known.tokenizer is not None:
        _made["runs here"] += 1
    else:
        _made["stays"][f"{type(tokenizer).__name__}: {'; '.join(running._said)}"] += 1
    return tokenizer


def wrap_loading(kind: Any) -> None:
    """Lets `from_pretrained` read local folders."""
    original = kind.from_pretrained.__func__

    @classmethod  # type: ignore[misc]  # 2026-11-24: put into a class of transformers
    def from_pretrained(cls: Any, name: Any, *args: Any, **options: Any) -> Any:
        return finished(original(cls, local(name), *args, **options))

    kind.from_pretrained = from_pretrained


def wrap_making(kind: Any, depth: collections.Counter[int]) -> None:
    """Lets the outermost `__init__` of an object finish it."""
    own = vars(kind).get("__init__")
    if own is None:
        return

    @functools.wraps(own)
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807  # 2026-11-24: it takes that place
        depth[id(self)] += 1
        try:
            own(self, *args, **options)
        finally:
            depth[id(self)] -= 1
            is_last = not depth[id(self)]
            if is_last:
                del depth[id(self)]
        if is_last:
            finished(self)

    kind.__init__ = __init__


def subclasses(kind: Any) -> Iterator[Any]:
    """A class and all below it."""
    yield kind
    for below in kind.__subclasses__():
        yield from subclasses(below)


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keeps the cases of fast tokenizers, and learns which class each name on the hub has."""
    import transformers

    from sentitok.acceleration.tokenizer import Accelerated

    fast = transformers.PreTrainedTokenizerFast

    def kind_of(item: Any) -> Any:
        kind = getattr(getattr(item, "cls", None), "tokenizer_class", None)
        return kind if isinstance(kind, type) and issubclass(kind, fast) else None

    with_fast = {str(item.path) for item in items if kind_of(item) or "tokenization" in item.path.parts}
    dropped = [item for item in items if str(item.path) not in with_fast]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if str(item.path) in with_fast]
    for item in items:
        ids = getattr(getattr(item, "cls", None), "from_pretrained_id", None)
        for name in [ids] if isinstance(ids, str) else ids or []:
            if kind := kind_of(item):
                _class_of.setdefault(name, kind)
    for name, kind in NAMED.items():
        _class_of.setdefault(name, getattr(transformers, kind))
    wrap_loading(transformers.PreTrainedTokenizerBase)
    wrap_loading(transformers.AutoTokenizer)
    if os.environ[_MODE] == RUNS[1]:
        depth: collections.Counter[int] = collections.Counter()
        for kind in list(subclasses(fast)):
            if not issubclass(kind, Accelerated):
                wrap_making(kind, depth)


def pytest_runtest_logreport(report: Any) -> None:
    """Notes how a case ended."""
    if report.when == "call" or report.outcome != "passed":
        failed = _results.get(report.nodeid) == "failed"
        _results[report.nodeid] = "failed" if failed else report.outcome


def pytest_sessionfinish() -> None:
    """Leaves the results for `run`."""
    if _MODE in os.environ:
        path = Path(os.environ[_FOLDER]) / f"{os.environ[_MODE]}.json"
        path.write_text(json.dumps({"results": _results, "made": _made}, indent=1), "utf-8")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
