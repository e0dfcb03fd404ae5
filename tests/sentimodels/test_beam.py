"""Beam search against every text there is, greedy choice, and the model without a cache."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from oracles.beam import all_texts, greedy
from sentimodels.generation.beam import BeamOptions, beam_search, length_norm
from sentimodels.generation.pair_formats import Seq2SeqWriter
from sentimodels.models.seq2seq import Seq2SeqModel, Seq2SeqModelConfig
from sentimodels.text.vocabulary import Inputs

END = 1


class Table:
    """A made-up language: the next token's probabilities depend on the text and on the row."""

    def __init__(self, n_words: int, row: int, end: float = 0.0) -> None:
        self.n_words, self.row, self.end = n_words, row, end

    def __call__(self, text: tuple[int, ...]) -> list[float]:
        logits = np.random.default_rng([self.row, *[1 + word for word in text]]).normal(size=self.n_words) * 2
        logits[END] += self.end
        return torch.tensor(logits).float().log_softmax(0).tolist()


class TableWriter:
    """Writes by tables; counts its steps."""

    def __init__(self, tables: list[Table]) -> None:
        self.tables = list(tables)
        self.texts: list[tuple[int, ...]] = [() for _ in tables]
        self.steps = 0

    def _answers(self) -> Tensor:
        return torch.tensor([table(text) for table, text in zip(self.tables, self.texts, strict=True)])

    def begin(self) -> Tensor:
        return self._answers()

    def step(self, tokens: Tensor) -> Tensor:
        self.steps += 1
        self.texts = [(*text, int(token)) for text, token in zip(self.texts, tokens, strict=True)]
        return self._answers()

    def take(self, rows: Tensor) -> None:
        self.tables = [self.tables[row] for row in rows.tolist()]
        self.texts = [self.texts[row] for row in rows.tolist()]


def search(
    tables: list[Table], limits: list[int], **options: Any
) -> list[list[tuple[float, tuple[int, ...]]]]:
    found = beam_search(TableWriter(tables), limits, end_id=END, options=BeamOptions(**options))
    return [[(one.score, one.tokens) for one in row] for row in found]


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(("norm", "alpha"), [("wu", 0.0), ("wu", 0.6), ("wu", 3.0), ("mean", 1.0)])
def test_a_wide_beam_finds_what_an_exhaustive_search_finds(norm: Any, alpha: float, early: bool) -> None:
    tables, limits = [Table(3, row) for row in range(5)], [1, 2, 3, 5, 4]
    beam = 64  # more than there are texts of up to 5 tokens
    found = search(tables, limits, beam=beam, n_best=4, norm=norm, alpha=alpha, early_stop=early)
    for row, (table, limit) in enumerate(zip(tables, limits, strict=True)):
        expected = all_texts(table, limit, END, lambda n: length_norm(n, norm, alpha))[:4]
        assert [text for _, text in found[row]] == [text for _, text in expected]
        assert [score for score, _ in found[row]] == pytest.approx([score for score, _ in expected], rel=1e-5)


@pytest.mark.parametrize("early", [False, True])
def test_scores_are_those_of_the_texts(early: bool) -> None:
    """However narrow the beam, what it says of a text is true."""
    tables = [Table(5, row) for row in range(3)]
    for row, texts in enumerate(search(tables, [6] * 3, beam=2, n_best=2, alpha=0.7, early_stop=early)):
        known = {
            text: score for score, text in all_texts(tables[row], 6, END, lambda n: ((5 + n) / 6) ** 0.7)
        }
        assert texts == sorted(texts, key=lambda one: -one[0])
        for score, text in texts:
            assert score == pytest.approx(known[text], rel=1e-5)


def test_one_beam_is_greedy() -> None:
    tables, limits = [Table(6, row) for row in range(40)], [1 + row % 9 for row in range(40)]
    found = search(tables, limits, beam=1)
    assert [row[0][1] for row in found] == [greedy(t, n, END) for t, n in zip(tables, limits, strict=True)]
    assert len({len(row[0][1]) for row in found}) > 4


def test_a_wider_beam_is_never_worse_where_no_row_stops_early() -> None:
    """Not so for any two widths of any search; for these tables it holds, and some gain."""
    tables = [Table(6, row, end=-1.0) for row in range(20)]
    narrow, wide = (
        np.array([row[0][0] for row in search(tables, [7] * 20, beam=beam, early_stop=False)])
        for beam in (1, 40)
    )
    assert (wide >= narrow - 1e-9).all()
    assert (wide > narrow + 1e-6).any()


def test_rows_do_not_change_each_other() -> None:
    tables, limits = [Table(6, row, end=row / 4) for row in range(12)], [2 + row % 7 for row in range(12)]
    together = search(tables, limits, beam=3, n_best=3)
    alone = [search([t], [n], beam=3, n_best=3)[0] for t, n in zip(tables, limits, strict=True)]
    assert together == alone


def test_it_stops_once_nothing_better_can_come() -> None:
    """An end with nearly all the probability: a few steps of the thousand allowed."""
    for early in (True, False):
        writer = TableWriter([Table(4, 0, end=12.0), Table(4, 1, end=12.0)])
        beam_search(
            writer, [1000, 1000], end_id=END, options=BeamOptions(beam=2, early_stop=early, alpha=0.5)
        )
        assert writer.steps <= 4


def test_a_text_ends_at_its_limit() -> None:
    found = search([Table(5, 0, end=-50.0)], [4], beam=2, n_best=2)
    assert [len(text) for _, text in found[0]] == [3, 3]
    assert search([Table(5, 0)], [1], beam=2)[0][0][1] == ()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"beam": 0}, "beam 0: at least 1"),
        ({"n_best": 9}, "n_best 9: from 1 to the 5"),
        ({"alpha": -1}, "alpha -1"),
        ({"alpha": 1000}, "alpha 1000: from 0 to 10"),
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        BeamOptions(**wrong)


def test_no_rows_and_no_room() -> None:
    assert beam_search(TableWriter([]), [], end_id=END) == []
    with pytest.raises(ValueError, match="at least 1 for its end"):
        beam_search(TableWriter([Table(3, 0)]), [0], end_id=END)


def test_weights_that_are_no_numbers_are_said() -> None:
    class Broken(TableWriter):
        def begin(self) -> Tensor:
            return torch.full((1, 4), math.nan)

    with pytest.raises(ValueError, match="not a number"):
        beam_search(Broken([Table(4, 0)]), [3], end_id=END)


def small() -> tuple[Seq2SeqModel, Tensor, Tensor]:
    torch.manual_seed(3)
    config = Seq2SeqModelConfig(d_model=16, n_heads=2, n_layers=1, n_decoder_layers=2, positions="rotary")
    model = Seq2SeqModel(config, Inputs(12, 0, 11)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    lengths = torch.tensor([6, 2, 4, 1])
    return model, torch.randint(2, 11, (4, 6)), torch.arange(6) < lengths[:, None]


def uncached(model: Seq2SeqModel, source: Tensor, text: tuple[int, ...]) -> list[float]:
    with torch.inference_mode():
        states = model(source[None], torch.tensor([[0, *text]]))
        return model.logits(states[0, -1]).float().log_softmax(-1).tolist()


@pytest.mark.parametrize("beam", [1, 3])
def test_a_model_is_searched_with_its_cache(beam: int) -> None:
    """Sources of unequal length, in one batch: what each alone, read again at every step, gives."""
    model, sources, mask = small()
    writer = Seq2SeqWriter(model, sources, mask, start_id=0)
    options = BeamOptions(beam=beam, n_best=beam, alpha=0.6)
    found = beam_search(writer, [9, 12, 5, 7], end_id=END, options=options)
    assert len({len(row[0].tokens) for row in found}) > 1

    class Slow(TableWriter):
        def _answers(self) -> Tensor:
            return torch.tensor([uncached(model, source, text) for text in self.texts])

    for row, limit in enumerate([9, 12, 5, 7]):
        source = sources[row][mask[row]]
        slow = beam_search(Slow([Table(12, 0)]), [limit], end_id=END, options=options)[0]
        assert [one.tokens for one in found[row]] == [one.tokens for one in slow]
        assert [one.score for one in found[row]] == pytest.approx([one.score for one in slow], rel=1e-4)
        if beam == 1:
            expected = greedy(partial(uncached, model, source), limit, END)
            assert found[row][0].tokens == expected
