"""BLEU of texts that are drawn again and again, as intervals need it, beside sacrebleu's."""

import numpy as np
import pytest

from sentimodels.errors import DataError
from sentimodels.evaluation.translation import bleu_of_drawn


def test_bleu_of_drawn_texts_is_that_of_their_copies() -> None:
    """Sacrebleu on texts that are each there as often as they were drawn says the same."""
    pytest.importorskip("sacrebleu", reason="BLEU is sacrebleu's")
    from sacrebleu.metrics.bleu import BLEU

    references = ["a cat sat on the mat", "two dogs run in the park", "yes", "", "a man reads a long book"]
    seeds = [
        ["a cat sat on a mat", "two dogs ran in the park", "yes", "what", "a man reads a book"],
        ["the cat is on the mat", "dogs run", "no", "", "a man reads a long book today"],
    ]
    weights = np.random.default_rng(0).multinomial(5, np.full(5, 0.2), size=20).astype(np.float64)
    found = bleu_of_drawn(seeds, references)(weights)
    assert found.shape == (20, 2)
    for drawn, scores in zip(weights.astype(int), found, strict=True):
        rows = np.repeat(np.arange(5), drawn).tolist()
        for texts, score in zip(seeds, scores, strict=True):
            whole = BLEU().corpus_score([texts[row] for row in rows], [[references[row] for row in rows]])
            assert score == pytest.approx(whole.score, abs=1e-12)
    with pytest.raises(DataError, match="4 translations, but 5 references"):
        bleu_of_drawn([seeds[0][:4]], references)
