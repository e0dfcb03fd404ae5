"""`TranslationRecipe`: a translation model, from parallel text to its run directory; see `runs/execute.py`.

The model is an encoder-decoder, or a causal model that continues a prompt. Validation pairs decide which
weights are kept and are never trained on; pairs that no model may train on are refused.
"""

import time
from pathlib import Path
from typing import Any

from torch import nn

from sentitok import Tokenizer

from ..config import TranslationConfig
from ..data.record import TrainingRecord
from ..errors import CheckpointError
from ..evaluation.translation import can_score, check_scorable, translation_scores
from ..runs.directory import absolutize_paths, check_unchanged, load_weights, metadata_of
from ..runs.execute import Recipe
from ..runs.language_directory import begin_with, load_tokenizer
from ..runs.lineage import check_same_rows, record_of
from ..runs.pairs import read_pairs, training_pairs, validation_pairs
from ..tasks.seq2seq import Seq2Seq
from ..text.pairs import end_of, joint_tokenizer
from ..training.history import Fit
from ..translator import Translator, build_translation_model, format_of

__all__ = ["TranslationRecipe"]


class TranslationRecipe(Recipe[TranslationConfig]):
    """See the module."""

    encoder: Tokenizer

    def check(self) -> None:
        """Refuses a score whose extra is not installed, before minutes are spent on training."""
        if self.config.task.monitor == "bleu" or can_score():
            check_scorable(self.config.task.bleu_tokenizer)

    def prepare(self) -> None:
        """Reads the pairs; without a tokenizer trains one on both sides."""
        self._train, self._valid = read_pairs(self.config, self.callbacks.on_warning, resumes=self.resumed)
        self._record = TrainingRecord.of(self._train.table(), valid=self._valid.table())
        if self.resumed:
            check_same_rows(self.out, self._record)
            self.encoder = load_tokenizer(self.out)
            return
        self.encoder = joint_tokenizer(self.config.data, self._train.sources, self._train.targets)
        end, _ = end_of(self.encoder, self.config.data.end)
        data = self.config.data.model_copy(update={"end": end})
        self.config = absolutize_paths(self.config.model_copy(update={"data": data}))

    def build(self) -> nn.Module:
        """Builds the model."""
        return build_translation_model(self.config, self.encoder.vocab_size)

    def make_task(self) -> Seq2Seq:
        """Encodes the pairs, of which those go that the model cannot read, and returns their task."""
        began, config, warn = time.perf_counter(), self.config, self.callbacks.on_warning
        format = format_of(config, self.encoder)
        pairs, self._left_out = training_pairs(config, format, self.module, self.encoder, self._train, warn)
        self._valid, checked = validation_pairs(config, format, self.module, self.encoder, self._valid, warn)
        self._encode_seconds = time.perf_counter() - began
        return Seq2Seq(config.task, config.train, format, pairs, checked, bleu=self._bleu)

    def init_weights(self) -> None:
        """Puts in the weights of a base of the same shape and vocabulary.

        Raises:
            CheckpointError: if a file of the base has changed, or its vocabulary is another.
        """
        if self.config.train.init_from is None:
            return
        base = Path(self.config.train.init_from)
        check_unchanged(base)
        if metadata_of(base).get("tokenizer_sha256") != self.encoder.fingerprint:
            raise CheckpointError(
                f"{base}: its weights belong to another tokenizer than this run has; leave out --tokenizer "
                "and --end, or --init"
            )
        load_weights(self.module, base)

    def begin(self) -> None:
        """Writes tokenizer, the record of the training pairs, and the configuration."""
        record = self._record.started_from(record_of(self.config.train.init_from))
        begin_with(self.out, self.config, self.encoder, record.files())

    def planned(self) -> dict[str, Any]:
        """Returns pairs and tokens."""
        pairs = self.task.pairs
        return {
            "train_pairs": len(pairs),
            "valid_pairs": len(self._valid),
            "pairs_left_out": self._left_out,
            "vocabulary": self.encoder.vocab_size,
            "tokens": int(pairs.sources.lengths.sum() + pairs.targets.lengths.sum()),
        }

    def facts(self, fit: Fit) -> dict[str, Any]:
        """Returns the facts of pairs and time."""
        return {
            "vocabulary": self.encoder.vocab_size,
            "pairs": {"train": len(self.task.pairs), "valid": len(self._valid), "left_out": self._left_out},
            "seconds": {"encode": self._encode_seconds, "steps": fit.seconds},
        }

    def scores(self, fit: Fit) -> dict[str, Any]:
        """Scores the validation pairs: the loss and, where sacrebleu is installed, BLEU and chrF."""
        evaluation = self.task.evaluate(self.module)
        valid = {name.removeprefix("val_"): value for name, value in evaluation.scores.items()}
        if fit.stop not in ("stopped", "not finite"):
            if can_score():
                valid |= self._translated(self.module)
            else:
                self.warn('no BLEU of the validation pairs without sacrebleu: pip install "sentitok[lm]"')
        return {"valid": valid}

    def _bleu(self, module: nn.Module) -> float:
        """Returns the BLEU of greedy translations, which may choose the best step."""
        return float(self._translated(module, beam=1)["bleu"])

    def _translated(self, module: nn.Module, **search: Any) -> dict[str, Any]:
        """Returns the scores of the best translation of each validation pair."""
        best = Translator(self.config, module, self.encoder, {}).translate(self._valid.sources, **search)
        translations = [ranked[0].text for ranked in best]
        tokenizer = self.config.task.bleu_tokenizer
        return translation_scores(translations, self._valid.targets, tokenizer=tokenizer)
