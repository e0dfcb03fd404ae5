"""The command `senti` without its extra, or parts of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from labelled_reviews import tree, write

CODE = """
import sys
for name in ("torch",):
    sys.modules[name] = None
from sentimodels.cli import main
main()
"""


def test_without_the_extra_it_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert 'pip install "sentitok[models]"' in done.stderr
    assert "Traceback" not in done.stderr


WITHOUT_SKLEARN = """
import sys
for name in ("sklearn", "tomlkit", "matplotlib"):
    sys.modules[name] = None
from sentimodels.cli import main
main()
"""


def without_sklearn(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-c", WITHOUT_SKLEARN, *args]
    return subprocess.run(call, capture_output=True, text=True, check=False, input=stdin)


def test_predict_needs_no_scikit_learn_and_train_says_so(tmp_path: Path) -> None:
    from sentimodels.runs.execute import train
    from sentimodels.runs.families import resolve

    data = write(tmp_path / "reviews.csv", 120)
    train(resolve(tree("tfidf", data)), tmp_path / "run", baseline=False)
    done = without_sklearn("predict", str(tmp_path / "run"), "-q", stdin="a great lovely film\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout in ("pos\n", "neg\n")
    done = without_sklearn("train", str(data), "-o", str(tmp_path / "other"), "--epochs", "1")
    assert done.returncode == 1
    assert 'install the extra: pip install "sentitok[models]"' in done.stderr
    assert "Traceback" not in done.stderr


# What `senti predict` must start without: each costs a tenth of a second to seconds.
SLOW_TO_IMPORT = (
    "pandas", "sklearn", "scipy", "matplotlib", "tomlkit", "rich", "pyarrow", "tokenizers", "transformers",
    "sympy", "networkx", "tensorboard", "wandb", "torch._dynamo", "torch._inductor", "torch.onnx",
    "torch.utils.tensorboard", "sentimodels.training.trainer", "sentimodels.runs.execute",
    "sentimodels.plots.answers", "sentimodels.plots.runs", "sentitok.figures",
    "sentimodels.evaluation.metrics",
)  # fmt: skip
NAME_MODULES = """
import sys
from sentimodels.cli import main
try:
    main()
finally:
    print(*sys.modules, sep="\\n", file=sys.stderr)
"""


def test_predict_imports_only_what_answers(tmp_path: Path) -> None:
    from sentimodels.runs.execute import train
    from sentimodels.runs.families import resolve

    data = write(tmp_path / "reviews.csv", 120)
    train(resolve(tree("cnn", data, train={"epochs": 1})), tmp_path / "run", baseline=False)
    done = subprocess.run(
        [sys.executable, "-c", NAME_MODULES, "predict", str(tmp_path / "run"), "-q"],
        capture_output=True, text=True, check=True, input="a great lovely film\n",
    )  # fmt: skip
    imported = set(done.stderr.split())
    assert "torch" in imported
    assert "sentimodels.classifier" in imported
    assert not imported.intersection(SLOW_TO_IMPORT)


def test_help_imports_no_library_for_numbers() -> None:
    """Help is there within 0.3 s; on a terminal rich draws its boxes."""
    call = [sys.executable, "-c", NAME_MODULES, "--help"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert "Usage: senti" in done.stdout
    assert "..." not in done.stdout.partition("Train:")[2]  # summaries are whole
    imported = set(done.stderr.split())
    assert "sentimodels.cli.app" in imported
    assert not imported.intersection([*SLOW_TO_IMPORT, "torch", "numpy", "safetensors", "starlette"])


MODULES_TO_A_FILE = NAME_MODULES.replace("file=sys.stderr", "file=open('modules', 'w')")
# What a run of another architecture or task needs, or of more than one.
OF_OTHERS = (
    "models.mamba", "models.gpt", "models.tfidf", "tasks.distillation", "training.fsdp",
    "training.trackers", "runs.auto", "runs.refit", "runs.group", "cli.pretrain", "cli.dry_run",
    "config.align", "config.language", "config.translation",
)  # fmt: skip


def test_a_quiet_training_command_writes_nothing_to_stderr_and_imports_its_own(tmp_path: Path) -> None:
    """Not even when Python is taken down: an optimizer imports triton, which counts its remaining objects."""
    write(tmp_path / "reviews.csv", 120)
    line = "train reviews.csv --arch bow --out runs/bow --epochs 1 --threads 1 --quiet --no-baseline"
    call = [sys.executable, "-c", MODULES_TO_A_FILE, *line.split()]
    done = subprocess.run(call, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{Path('runs/bow')}\n", "")
    imported = set((tmp_path / "modules").read_text().split())
    assert {"sentimodels.models.bow", "sentimodels.tasks.classification"} <= imported
    assert not {f"sentimodels.{name}" for name in OF_OTHERS} & imported
    assert sum(name.split(".")[0] == "sentimodels" for name in imported) <= 72


# A module that is left when Python is taken down says so; what tidies up at the end of a process does too.
ENDS = """
import atexit, sys
class Left:
    def __del__(self):
        print("taken down")
sys.modules["left"] = Left()
from sentitok.cli import process
def run(app, program, run=process.run):
    atexit.register(print, "tidied")
    run(app, program)
process.run = run
from sentimodels.cli import main
main()
"""


@pytest.mark.parametrize(("args", "code"), [("--version", 0), ("data stats nothing", 2)])
def test_the_process_ends_without_taking_python_down(args: str, code: int) -> None:
    """Registered functions run at exit, output arrives, and the code is the command's."""
    call = [sys.executable, "-c", ENDS, *args.split()]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert done.stdout.endswith("tidied\n"), done.stdout
    assert "senti" in done.stdout + done.stderr


def test_a_bug_ends_with_a_traceback_and_code_1() -> None:
    bug = ENDS.replace("main()", "process.run = lambda app, program: 1 / 0\nmain()")
    done = subprocess.run([sys.executable, "-c", bug], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")
    assert done.stdout == ""
