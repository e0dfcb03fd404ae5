"""`import_transplanted`: imports a run whose tokenizer `sentitok transplant` changed as a new run directory.

Such a folder has the files of the run, with other rows in the tables and another tokenizer.json, and no
manifest. What `run.json` says of it, scores and speed, is of the old tokenizer and is left out.
"""

from pathlib import Path

from ..errors import CheckpointError
from ..models.language import build_language_model
from ..text.special_tokens import known_end
from .directory import finish_run, load_weights, metadata_of, read_json
from .families import LANGUAGE_MODEL
from .language_directory import SOURCES, LoadedModel, begin_language_run, load_tokenizer

__all__ = ["IMPORTED", "import_transplanted"]

IMPORTED = "sentitok transplant"


def import_transplanted(folder: Path, out: Path) -> LoadedModel:
    """Reads a language model that `sentitok transplant` wrote of a run, and writes it as a run directory.

    Args:
        folder: what `sentitok transplant` wrote.
        out: the run directory, which must hold no run yet.

    Raises:
        CheckpointError: if a file is missing or damaged, or they do not belong together.
        CheckpointError: if it is a run of another kind.
    """
    config = LANGUAGE_MODEL.load(folder)
    tokenizer = load_tokenizer(folder)
    if metadata_of(folder).get("tokenizer_sha256") != tokenizer.fingerprint:
        raise CheckpointError(
            f"{folder}: tokenizer.json is not the one of the weights; give a folder that sentitok transplant "
            "wrote of a run"
        )
    module = build_language_model(config, tokenizer.vocab_size)
    load_weights(module, folder)
    data = {
        "tokenizer": None,
        "end": known_end(tokenizer, config.data.end, {}) or known_end(tokenizer, None, {}),
    }
    config = config.model_copy(update={"data": config.data.model_copy(update=data)})
    sources = folder / SOURCES
    about = {"arch": config.arch, "imported": IMPORTED}
    begin_language_run(out, config, tokenizer, read_json(sources) if sources.is_file() else {"sources": []})
    finish_run(out, module, tokenizer, about)
    return LoadedModel(config, module.eval(), tokenizer, about)
