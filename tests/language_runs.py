"""Small language models with drawn weights, as run directories."""

from pathlib import Path
from typing import Any

import torch

from sentimodels.models.language import LanguageModule, build_language_model
from sentimodels.runs.directory import finish_run
from sentimodels.runs.families import LANGUAGE_MODEL
from sentimodels.runs.language_directory import begin_language_run
from sentitok import Tokenizer, train_bpe, train_wordpiece

TEXTS = ["the cat sat on the mat and the dog sat on the cat", "a dog saw 日本 and a cat saw the mat"]
_SMALL: dict[str, dict[str, Any]] = {
    "gpt": {"d_model": 24, "n_layers": 2, "n_heads": 2},
    "bert": {"d_model": 24, "n_layers": 2, "n_heads": 2},
    "mamba": {"d_model": 24, "n_layers": 2, "d_head": 8, "d_state": 8},
    "lstm": {"d_model": 24, "d_hidden": 24, "n_layers": 2},
}
# What makes a `gpt` GPT-2.
GPT_2 = {"norm": "layer", "activation": "gelu-tanh", "biases": True, "positions": "learned"}


def tokenizer_of(arch: str) -> Tokenizer:
    if arch == "bert":
        return train_wordpiece(texts=TEXTS * 3, vocab_size=60)
    return train_bpe(texts=TEXTS * 3, vocab_size=290, special_tokens=["<|endoftext|>"])


def moved(module: LanguageModule) -> LanguageModule:
    """Moves every weight: zeros and ones of the start would hide a wrong place."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape))
    return module.eval()


def language_run(
    folder: Path, arch: str = "gpt", context: int = 32, tokenizer: Tokenizer | None = None, **sections: Any
) -> LanguageModule:
    """Writes a run directory; returns its module."""
    model = {**_SMALL[arch], **sections.pop("model", {})}
    config = LANGUAGE_MODEL.resolve({"arch": arch, "data": {"context": context}, "model": model}, sections)
    tokenizer = tokenizer or tokenizer_of(arch)
    torch.manual_seed(0)
    module = moved(build_language_model(config, tokenizer.vocab_size))
    begin_language_run(folder, config, tokenizer, {"sources": []})
    finish_run(folder, module, tokenizer, {"arch": arch})
    return module
