"""`html_page`: a bag of n-grams as one HTML file, which answers in the browser and asks for nothing."""

import base64
import json
import re
from pathlib import Path
from typing import Any

from ..classifier import Classifier
from ..data.normalization import ALONE
from ..errors import ConfigError
from ..nn.bag import IsLinear
from ..runs.families import CLASSIFIER
from ..text.words import WORD
from .numpy.folder import about_of, scored

__all__ = ["html_page"]

# The lookup of a set less another one, which other engines write as a lookahead.
_LESS = re.compile(r"\[([^\[\]]*)&&\[\^([^\[\]]*)\]\]")


def html_page(run: Path) -> bytes:
    """Returns the page of a run: its weights and words as JSON, and a script that reads and scores texts.

    Raises:
        ConfigError: if the run is not a bag, or cuts texts by a pattern of its own.
    """
    CLASSIFIER.load(run)  # which names another kind of model before its files are looked at
    classifier = Classifier.load(run)
    encoder: Any = classifier.encoder.encoder
    if not isinstance(classifier.module, IsLinear):
        raise ConfigError(f"arch {classifier.config.arch}: a page holds bags: tfidf, nb or bow")
    read = json.loads(encoder.to_bytes())
    config = read.get("config", read)
    if config.get("token_pattern", config.get("pattern")) is not None:
        raise ConfigError("model.token_pattern: a page cuts texts into words as runs without it do")
    settings, tensors = scored(classifier)
    model = {
        "name": f"{run.resolve().name}: {', '.join(classifier.labels)}",
        "about": {**about_of(classifier, run), **settings, "alone": f"[{ALONE}]"},
        "read": read,
        "word": _LESS.sub(r"(?:(?![\2])[\1])", WORD).replace(r"\x{", r"\u{"),
        "tensors": [
            None if (tensor := tensors.get(name)) is None
            else base64.b64encode(tensor.float().numpy().tobytes()).decode()
            for name in ("table", "scale", "bias", "cuts")
        ],
    }  # fmt: skip
    # JSON that cannot end its element.
    data = json.dumps(model, separators=(",", ":")).replace("<", "\\u003c")
    return Path(__file__).with_name("page.html").read_text("utf-8").replace("__MODEL__", data).encode()
