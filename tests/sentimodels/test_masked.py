"""Masked tokens: choices and draws, the rows, and next sentences."""

from pathlib import Path

import numpy as np
import pytest
import torch

from animals import config_of, write_corpus
from sentimodels.config import MaskedConfig
from sentimodels.errors import ConfigError
from sentimodels.models.language import build_language_model
from sentimodels.runs.execute import train
from sentimodels.tasks.masked import MaskedToken, mask
from sentimodels.text.corpus import open_corpus, prepare
from sentimodels.text.packed import RowOrder
from sentimodels.text.special_tokens import masked_tokens
from sentitok import train_bpe, train_wordpiece


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("rate", [0.15, 0.4])
def test_tokens_are_masked_as_bert_does(rate: float) -> None:
    tokenizer = train_wordpiece(texts=["a b c d e f g"], vocab_size=40)
    tokenizer, tokens = masked_tokens(tokenizer)
    special = sorted(tokens.special)
    ids = np.random.default_rng(0).integers(0, 1000, (400, 500))
    read, targets = mask(ids, rate, tokens, 1000, np.random.default_rng(1).spawn(400))
    chosen = targets != -100
    ordinary = ~np.isin(ids, special)
    assert not chosen[~ordinary].any()
    assert (targets[chosen] == ids[chosen]).all()
    assert (read[~chosen] == ids[~chosen]).all()
    assert chosen.sum() / ordinary.sum() == pytest.approx(rate, rel=0.02)
    assert (read == tokens.mask)[chosen].mean() == pytest.approx(0.8, abs=0.01)
    assert (read == ids)[chosen].mean() == pytest.approx(0.1, abs=0.01)
    other = chosen & (read != tokens.mask) & (read != ids)
    assert other.sum() / chosen.sum() == pytest.approx(0.1, abs=0.01)
    assert not np.isin(read[other], special).any()
    assert len(np.unique(read[other])) > 900
    again, _ = mask(ids, rate, tokens, 1000, np.random.default_rng(1).spawn(400))
    assert (again == read).all()


def test_special_tokens_are_known_by_name_or_added() -> None:
    bare = train_bpe(texts=["a b"], vocab_size=260)
    made, tokens = masked_tokens(bare)
    assert made.vocab_size == bare.vocab_size + 4
    assert [made.id_to_token(id) for id in (tokens.cls, tokens.sep, tokens.mask, tokens.pad)] == [
        "[CLS]", "[SEP]", "[MASK]", "[PAD]",
    ]  # fmt: skip
    assert masked_tokens(made)[0] == made
    roberta = train_bpe(texts=["a b"], vocab_size=270, special_tokens=["<s>", "<pad>", "</s>", "<mask>"])
    same, tokens = masked_tokens(roberta)
    assert same == roberta
    assert (tokens.cls, tokens.pad, tokens.sep, tokens.mask) == (0, 1, 2, 3)


def masked_task(corpus: Path, folder: Path, *, next_sentence: bool) -> MaskedToken:
    config = config_of(corpus, "bert", task={"next_sentence": next_sentence})
    tokenizer = prepare(config, folder)
    rows = open_corpus(folder)
    task = config.task
    assert isinstance(task, MaskedConfig)
    order = RowOrder(config, rows.train.n_rows)
    return MaskedToken(rows, order, task, masked_tokens(tokenizer)[1], tokenizer.vocab_size)


def test_masked_rows_are_framed_and_drawn_anew_for_each_epoch(corpus: Path, tmp_path: Path) -> None:
    task = masked_task(corpus, tmp_path / "rows", next_sentence=False)
    found = task.rows(task.corpus.train, [0, 1, 2], 0)
    ids = torch.where(found.targets == -100, found.ids, found.targets)
    assert ids.shape == (3, 32)
    assert (ids[:, 0] == task.tokens.cls).all()
    assert (ids[:, -1] == task.tokens.sep).all()
    for row in range(3):
        expected = task.corpus.train.read(task.corpus.train.start(row), 30).tolist()
        assert ids[row, 1:-1].tolist() == expected
    assert (found.mask, found.segments, found.follows) == (None, None, None)
    assert found.n_targets == int((found.targets != -100).sum())
    same, other = (task.rows(task.corpus.train, [0, 1, 2], epoch) for epoch in (0, 1))
    assert torch.equal(same.ids, found.ids)
    assert not torch.equal(other.targets, found.targets)
    first, again = (next(task.batches(2, 3, 0, 1)) for _ in range(2))
    assert torch.equal(first.ids, again.ids)


@pytest.mark.parametrize("next_sentence", [False, True])
def test_masks_and_scores_do_not_depend_on_the_batch(
    corpus: Path, tmp_path: Path, next_sentence: bool
) -> None:
    task = masked_task(corpus, tmp_path / "rows", next_sentence=next_sentence)
    whole = task.rows(task.corpus.train, [4, 1, 7, 2], 3)
    for at, row in enumerate([4, 1, 7, 2]):
        alone = task.rows(task.corpus.train, [row], 3)
        assert torch.equal(alone.ids[0], whole.ids[at])
        assert torch.equal(alone.targets[0], whole.targets[at])
    torch.manual_seed(0)
    model = build_language_model(task.order.config, task.vocab_size)
    scores = []
    for size in (1, 3, 4, 64):
        train = task.order.config.train.model_copy(update={"batch_size": size})
        task.order = RowOrder(task.order.config.model_copy(update={"train": train}), task.order.n_rows)
        scores.append(task.evaluate(model).scores)
    for one in scores[1:]:
        assert one == pytest.approx(scores[0], rel=1e-5)


def test_masks_do_not_depend_on_the_number_of_processes(corpus: Path, tmp_path: Path) -> None:
    task = masked_task(corpus, tmp_path / "rows", next_sentence=False)
    one = [next(task.batches(1, place, 0, 1)) for place in (0, 1)]
    two = [next(task.batches(1, 0, rank, 2)) for rank in (0, 1)]
    for alone, shared in zip(one, two, strict=True):
        assert torch.equal(alone.ids, shared.ids)
        assert torch.equal(alone.targets, shared.targets)


def test_a_validation_part_without_masked_tokens_is_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"none of the [\d,]+ tokens of the validation part is masked at a rate"
    ):
        train(config_of(corpus, "bert", task={"rate": 1e-6}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_halves_follow_each_other_or_are_of_two_documents(corpus: Path, tmp_path: Path) -> None:
    task = masked_task(corpus, tmp_path / "rows", next_sentence=True)
    split, t = task.corpus.train, task.tokens
    stream = split.read(0, split.total + 1).tolist()
    text = " ".join(map(str, stream))
    n_next = n_other = n_broken = 0
    for batch in range(20):
        found = task.rows(split, list(range(batch * 4, batch * 4 + 4)), 0)
        ids = torch.where(found.targets == -100, found.ids, found.targets)
        assert found.segments is not None
        assert found.follows is not None
        mask_ = torch.ones_like(ids, dtype=torch.bool) if found.mask is None else found.mask
        for row in range(4):
            real = ids[row][mask_[row]].tolist()
            assert real[0] == t.cls
            assert real[-1] == t.sep
            cut = real.index(t.sep)
            first, second = real[1:cut], real[cut + 1 : -1]
            assert not {t.sep, t.cls, t.pad} & {*first, *second}
            assert found.segments[row].tolist()[: len(real)] == [0] * (cut + 1) + [1] * (len(second) + 1)
            together = f" {' '.join(map(str, first + second))} " in f" {text} "
            if found.follows[row] == 0:
                n_next += 1
                assert together
            else:
                n_other += 1
                n_broken += not together
    assert n_next > 20
    assert n_other > 20
    assert n_broken > 0.5 * n_other  # sentences repeat in this corpus, so some others fit as well
    few = tmp_path / "few.txt"
    few.write_text("\n\n".join(["the cat sat " * 40, "a dog ran " * 40]))
    alone = {"format": "paragraphs", "valid_share": 0.5, "split_seed": 3}
    with pytest.raises(ConfigError, match="the training part has one document"):
        train(config_of(few, "bert", task={"next_sentence": True}, data=alone), tmp_path / "alone")
    few.write_text("\n\n".join(["the cat sat " * 40, "a dog ran " * 40, "a bird flew " * 40]))
    alone |= {"valid_share": 0.4, "split_seed": 1}
    with pytest.raises(ConfigError, match=r"the validation part has one document.*\(--valid-share\)"):
        train(config_of(few, "bert", task={"next_sentence": True}, data=alone), tmp_path / "alone")
    few.write_text("\n\n".join(["the cat sat " * 400, *["a dog ran"] * 12]))
    alone |= {"valid_share": 0.3, "context": 64}
    with pytest.raises(ConfigError, match=r"part has the same document in all its rows.*rows \(--context\)"):
        train(config_of(few, "bert", task={"next_sentence": True}, data=alone), tmp_path / "alone")
    assert not (tmp_path / "alone").exists()  # so that the same folder can be named again
