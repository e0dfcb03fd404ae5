"""What many tests share: bundled texts, one trained tokenizer, one seed."""

import ctypes
import gc
import os
import random
import signal
import sys
from collections.abc import Generator, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import sentitok
from sampled_cases import THOROUGH


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # blocked by an entry in sys.modules
        return False


# The extra `models`. Where PyTorch has no wheel, the tests of `senti` are left out, and said.
MISSING = [
    name for name in ("torch", "sklearn", "pydantic", "safetensors", "tomlkit") if not _installed(name)
]

pytest_plugins = [
    "browser",
    "cli_runs",
    "store_fixtures",
    *([] if MISSING else ["bench_results", "run_fixtures"]),
]
collect_ignore = ["sentimodels"] if MISSING else []

# What `functools.cache` makes of a function.
_CACHED = type(cache(lambda: None))

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "data" / "corpus"

# Files that need most memory for a moment go first, while a process has imported little; then the files
# that take longest: the last one of several processes is then a short one.
FIRST = (
    "test_parity_data.py",
    "test_compat_tiktoken.py",
    "test_sentencepiece_rules.py",
    "test_concurrency.py",
    "test_transplant.py",
    "test_senti_manners.py",
    "test_refit.py",
    "test_hostile_tables.py",
    "test_transplant_page.py",
    "test_docs.py",
    "test_onnx.py",
    "test_checkpoints.py",
    "test_pipelines.py",
    "test_executors.py",
    "test_parity_stages.py",
    "test_manners.py",
    "test_sharded.py",
    "test_page_runs.py",
    "test_parity.py",
    "test_parity_unigram.py",
    "test_pretrain.py",
    "test_torchrun.py",
    "test_cli.py",
    "test_run.py",
    "test_site.py",
    "test_parity_families.py",
    "test_memory.py",
    "test_numpy_export.py",
    "test_attribution.py",
    "test_compat_tokenizers.py",
    "test_senti.py",
    "test_page.py",
    "test_suspects.py",
    "test_every_task.py",
    "test_remote.py",
)

# pytest-xdist runs a process on each processor: more PyTorch threads than one in each slow all of them down.
# Alone, sums have the same order so.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# The user who runs the tests may exclude texts from runs.
os.environ.pop("SENTI_EXCLUDE", None)

# Shells have what they run behind `&` ignore Ctrl-C, and so what that starts: commands under test get it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A sanitised or loaded machine is slow; a slow example is not a failure. An ordinary run tries the same
# examples each time, so that no change fails by chance; `make test-slow` and continuous integration of each
# night (.github/workflows/fuzz.yml) look for new ones.
settings.register_profile(
    "sentitok",
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough",
    parent=settings.get_profile("sentitok"),
    derandomize=False,
    print_blob=True,
    max_examples=1000,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "thorough" if THOROUGH else "sentitok"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Freezes collected objects, so that garbage is looked for only in objects that the tests make.

    And less often, which took 7 % of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)
        gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """Returns the number of processes of `-n auto`: one more than there are processors.

    Tests of servers, commands and browsers wait a third of their time.
    """
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return n + 1


def pytest_report_header() -> list[str]:
    """Says which tests are left out."""
    return [f"left out: tests/sentimodels, for want of {', '.join(MISSING)}"] if MISSING else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the largest and the longest files first; all else stays as it was."""
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))


@pytest.fixture(autouse=True, scope="module")
def _memory_given_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """Empties the caches of a file after its tests, and gives free memory back to the system.

    glibc keeps 400 MB after large vocabularies. Cycles are looked for in the objects that this file has left;
    those of earlier files are frozen.
    """
    yield
    for value in vars(request.module).values():
        if isinstance(value, _CACHED) and value.__module__ == request.module.__name__:
            value.cache_clear()
    gc.collect()
    gc.freeze()
    if trim := getattr(ctypes.CDLL(None) if os.name == "posix" else None, "malloc_trim", None):
        trim(0)


@pytest.fixture(autouse=True, scope="session")
def _no_comparison() -> Iterator[None]:
    """Has `--arch auto` take the first architecture that fits: comparing takes the whole budget each time."""
    with pytest.MonkeyPatch.context() as patch:
        if not MISSING:
            patch.setattr("sentimodels.runs.auto._FEWEST", 10**9)
        yield


@pytest.fixture(autouse=True, scope="session")
def _git_asked_once() -> Iterator[None]:
    """Asks git once for the state of a folder: a run asks it twice, and the tests train thousands."""
    with pytest.MonkeyPatch.context() as patch:
        if not MISSING:
            from sentimodels.runs.directory import git_state

            known = cache(lambda _: git_state())
            patch.setattr("sentimodels.runs.directory.git_state", lambda: known(Path.cwd()))
        yield


@pytest.fixture(autouse=True, scope="session")
def _nothing_synced() -> Iterator[None]:
    """Files of tests need not outlive the machine: a run syncs 30 times, for milliseconds each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True)
def _seeded() -> None:
    random.seed(20261121)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Undoes what a command of an earlier test has set; tests without models do not import torch."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def sherlock() -> Path:
    """A file of English prose."""
    return CORPUS / "sherlock-holmes.txt"


@pytest.fixture(scope="session")
def declarations() -> Path:
    """A file of 23 languages in 19 scripts."""
    return CORPUS / "udhr-23-languages.txt"


@pytest.fixture(scope="session")
def lines(sherlock: Path, declarations: Path) -> list[str]:
    """Lines of prose and of many scripts, their ends kept."""
    texts = [path.read_bytes().decode("utf-8") for path in (sherlock, declarations)]
    return [line for text in texts for line in text.splitlines(keepends=True)]


@pytest.fixture(scope="session")
def tokenizer(sherlock: Path, declarations: Path) -> sentitok.Tokenizer:
    """A byte-level tokenizer of 3,000 tokens with two special ones."""
    return sentitok.train_bpe(
        [sherlock, declarations], vocab_size=3000, special_tokens=["<|endoftext|>", "<pad>"]
    )
