"""The contract that every architecture of the table keeps."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from sampled_cases import sample
from sentimodels.config import Section
from sentimodels.errors import ConfigError
from sentimodels.models import ARCHITECTURES, Fits, architecture, build, nb
from sentimodels.nn.backbone import Backbone
from sentimodels.nn.embedding import NgramEmbedding, TokenEmbedding
from sentimodels.runs.families import resolve
from sentimodels.text.encoder import encoder_for
from sentimodels.text.ngrams import NgramIndex, NgramTable
from sentimodels.text.vocabulary import Inputs
from sentimodels.training.optimizer import is_added, is_table

V, C = 40, 3
TEXTS = ["", *(f"word{i}" for i in range(1, V))]
# Every third id is also made of two further ids, as a word of its character n-grams.
GRAMS = NgramTable(
    np.array([j for i in range(V) if i % 3 == 1 for j in (i, (i + 5) % V)], np.int64),
    np.concatenate([[0], np.cumsum([2 * (i % 3 == 1) for i in range(V)])]).astype(np.int64),
)
# Character n-grams of the tokens; `inputs` gives a batch its own.
INDEX = NgramIndex.of(TEXTS, (3, 5), 64)
INPUTS = Inputs(vocab_size=V, n_classes=C, pad_id=0, n_ngrams=INDEX.n_rows, grams=GRAMS, n_words=20)

# What makes a model small; names that an architecture does not have are left out.
SMALL = {
    "d_model": 32,
    "d_hidden": 32,
    "n_heads": 2,
    "n_layers": 2,
    "d_head": 8,
    "filters": 8,
    "landmarks": 4,
}
STILL = {"embedding_dropout": 0.0, "head_dropout": 0.0, "dropout": 0.0}


def each(name: str, key: str, values: str, **more: object) -> list[tuple[str, dict[str, object]]]:
    return [(name, {key: value, **more}) for value in values.split()]


# (architecture, options): each row of the table, and each choice by option.
VARIANTS: list[tuple[str, dict[str, object]]] = [
    *((name, dict[str, object]()) for name in ARCHITECTURES),
    *each("encoder", "attention", "plain linear-elu linear-softmax nystrom"),
    *each("gpt", "attention", "softmax linear-elu linear-softmax", causal=True),
    *each("encoder", "positions", "none sinusoidal rotary alibi"),
    *each("encoder", "pooling", "first last mean max attention cls"),
    *each("lstm", "pooling", "first last mean max attention"),
    *each("cnn", "pooling", "mean-max attention"),
    *each("gpt", "pooling", "last mean max attention cls"),
    *each("gru", "pooling", "last mean attention"),
    *each("mamba", "pooling", "mean max attention"),
    ("cnn", {"channels": "both"}),
    ("lstm", {"bidirectional": False}),
    ("mamba", {"bidirectional": False, "pooling": "last"}),
    ("gpt", {"norm": "layer", "norm_order": "post", "activation": "relu2", "biases": True}),
    ("gpt", {"norm": "none", "activation": "gelu-quick"}),
    ("gpt", {"activation": "silu", "qk_norm": True}),
    ("encoder", {"activation": "relu", "head": "mlp"}),
    ("bert", {"pooling": "first", "head": "tanh"}),
    ("bert", {"pooling": "cls"}),
    ("encoder", {"char_ngrams": (0, 0)}),
]
IDS = ["-".join([name, *(f"{k}={v}" for k, v in options.items())]) for name, options in VARIANTS]
variants = pytest.mark.parametrize(("name", "options"), VARIANTS, ids=IDS)


def config_of(name: str, options: dict[str, object]) -> Section:
    fields = ARCHITECTURES[name].config.model_fields
    small = {key: value for key, value in (SMALL | STILL).items() if key in fields}
    return ARCHITECTURES[name].config.model_validate(small | options)


def model_of(name: str, options: dict[str, object], seed: int = 0, vectors: bool = True) -> nn.Module:
    torch.manual_seed(seed)
    given = INPUTS
    if options.get("char_ngrams") == (0, 0):
        given = replace(given, n_ngrams=0)
    if options.get("channels") == "both" and vectors:
        given = replace(given, vectors=torch.randn(V, 32))
    return build(name, config_of(name, options), given).eval()


def batch_of(n: int = 5, longest: int = 11, seed: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, mask and labels of texts of 1 to `longest` tokens, padded on the right with 0."""
    drawn = torch.Generator().manual_seed(seed)
    length = torch.randint(1, longest + 1, (n,), generator=drawn)
    length[0] = longest
    ids = torch.randint(1, V, (n, longest), generator=drawn)
    mask = torch.arange(longest) < length[:, None]
    labels = torch.arange(n) % C
    return ids * mask, mask, labels


def call(model: nn.Module, ids: Tensor, mask: Tensor | None) -> Tensor:
    """Calls a model with all that a batch of these ids would give it."""
    given = {"input_ids": ids} if mask is None else {"input_ids": ids, "mask": mask}
    if any(isinstance(part, NgramEmbedding) for part in model.modules()):
        distinct, place = ids.unique(return_inverse=True)
        table = INDEX.table
        found = [table.rows[table.starts[i] : table.starts[i + 1]] for i in distinct.tolist()]
        given |= {
            "distinct_ids": distinct,
            "distinct_index": place,
            "ngram_ids": torch.from_numpy(np.concatenate(found)),
            "ngram_offsets": torch.from_numpy(np.cumsum([0, *map(len, found)])[:-1]),
        }
    logits: Tensor = model(**given)
    return logits


def trained_a_little(model: nn.Module) -> nn.Module:
    """Some start at zero, where every answer is the same; a step makes them differ."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(9)))
    return model


@variants
def test_shape(name: str, options: dict[str, object]) -> None:
    ids, mask, _ = batch_of()
    logits = call(model_of(name, options), ids, mask)
    assert logits.shape == (len(ids), C)
    assert logits.dtype == torch.float32
    assert logits.isfinite().all()


@variants
def test_tables_have_names_of_tables(name: str, options: dict[str, object]) -> None:
    """By which the optimizer and `--init` know them."""
    for path, part in model_of(name, options).named_modules():
        if isinstance(part, (nn.Embedding, TokenEmbedding)):
            names = [f"{path}.{key}" for key, _ in part.named_parameters(recurse=False)]
            assert all(is_table(key) or is_added(key) for key in names), names


@variants
def test_padding_changes_nothing(name: str, options: dict[str, object]) -> None:
    model = trained_a_little(model_of(name, options))
    ids, mask, _ = batch_of()
    with torch.no_grad():
        expected = call(model, ids, mask)
        wide = nn.functional.pad(ids, (0, 9), value=7)  # any id may stand where no token is
        padded = call(model, wide, nn.functional.pad(mask, (0, 9), value=False))
        filled = call(model, torch.where(mask, ids, 5), mask)
    torch.testing.assert_close(padded, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(filled, expected, atol=1e-5, rtol=0)


@variants
def test_neighbours_change_nothing(name: str, options: dict[str, object]) -> None:
    model = trained_a_little(model_of(name, options))
    ids, mask, _ = batch_of()
    with torch.no_grad():
        together = call(model, ids, mask)
        for row in range(len(ids)):
            n = int(mask[row].sum())
            alone = call(model, ids[row : row + 1, :n], mask[row : row + 1, :n])
            torch.testing.assert_close(alone[0], together[row], atol=1e-5, rtol=0)


@variants
def test_a_text_without_tokens_has_an_answer(name: str, options: dict[str, object]) -> None:
    model = trained_a_little(model_of(name, options))
    ids, mask, _ = batch_of()
    mask[2] = False
    with torch.no_grad():
        logits = call(model, ids, mask)
        alone = call(model, torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, 1, dtype=torch.bool))
    assert logits.isfinite().all()
    torch.testing.assert_close(alone[0], logits[2], atol=1e-5, rtol=0)


@variants
def test_gradients_reach_every_parameter(name: str, options: dict[str, object]) -> None:
    model = trained_a_little(model_of(name, options)).train()
    ids, mask, labels = batch_of(12, 12)
    nn.functional.cross_entropy(call(model, ids, mask), labels).backward()
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        if options == {"pooling": "first"} and key == "backbone.recurrent.layers.1.0.weight_hh_l0":
            continue  # the last layer's forward state at the first token has no past
        assert parameter.grad.abs().max() > 0, key


@pytest.mark.parametrize(
    ("name", "options"), [*VARIANTS[: len(ARCHITECTURES)], *sample(12, VARIANTS[len(ARCHITECTURES) :])]
)
def test_sixteen_examples_can_be_learnt(name: str, options: dict[str, object]) -> None:
    model = model_of(name, options).train()
    ids, mask, _ = batch_of(16, 11, seed=4)
    labels = torch.arange(16) % C
    slow = name in ("tfidf", "nb")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.3 if slow else 0.01)
    for step in range(300):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(call(model, ids, mask), labels)
        loss.backward()
        optimizer.step()
        if step % 10 == 9 and (call(model.eval(), ids, mask).argmax(1) == labels).all():
            break
        model.train()
    assert (call(model.eval(), ids, mask).argmax(1) == labels).all()


@variants
def test_saved_and_loaded_is_equal(name: str, options: dict[str, object], tmp_path: object) -> None:
    path = f"{tmp_path}/model.safetensors"
    model = trained_a_little(model_of(name, options))
    save_file({key: value.contiguous() for key, value in model.state_dict().items()}, path)
    # Loading has no vectors at hand, and other weights before.
    other = model_of(name, options, seed=99, vectors=False)
    other.load_state_dict(load_file(path))
    ids, mask, _ = batch_of()
    assert torch.equal(call(model, ids, mask), call(other, ids, mask))


@variants
def test_same_seed_same_weights(name: str, options: dict[str, object]) -> None:
    first, second = model_of(name, options, 3), model_of(name, options, 3)
    other = dict(model_of(name, options, 4).named_parameters())
    for key, value in first.named_parameters():
        assert torch.equal(value, dict(second.named_parameters())[key]), key
    if name not in ("tfidf", "nb"):  # those start at zero
        assert any(not torch.equal(value, other[key]) for key, value in first.named_parameters())


@pytest.mark.parametrize("name", ["lstm", "gpt", "bert", "encoder", "mamba", "cnn"])
def test_word_order_matters(name: str) -> None:
    model = trained_a_little(model_of(name, {}))
    ids = torch.tensor([[3, 9, 4, 8]])
    mask = torch.ones(1, 4, dtype=torch.bool)
    with torch.no_grad():
        assert (call(model, ids, mask) - call(model, ids.flip(1), mask)).abs().max() > 1e-4


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 30))
def test_equal_columns_are_those_of_the_same_rows(seed: int, n_rows: int, n_columns: int) -> None:
    dense = np.random.default_rng(seed).integers(0, 2, (n_rows, n_columns))
    first, group = nb._equal_columns(csr_matrix(dense))
    assert (dense[:, first[group]] == dense).all()
    assert len(first) == len({tuple(column) for column in dense.T})


@pytest.mark.parametrize("n_classes", [2, 4])
def test_naive_bayes_learns_equal_columns_as_if_each_were_alone(
    n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in draw.zipf(1.3, 12)) for _ in range(60)]
    labels, config = draw.integers(0, n_classes, 60), resolve({"arch": "nb"})
    encoder = encoder_for(config, texts)
    made = []
    for alone in (False, True):
        if alone:
            monkeypatch.setattr(nb, "_equal_columns", lambda seen: (np.arange(seen.shape[1]),) * 2)
        module: Any = build("nb", config.model, encoder.inputs(n_classes))
        module.fit(encoder.encode(texts), labels, 0)
        made.append([module.weight.data.numpy(), module.bias.data.numpy()])
    for together, each in zip(*made, strict=True):
        np.testing.assert_allclose(together, each, atol=0.01 if n_classes == 2 else 1e-4)


@pytest.mark.parametrize("name", ["tfidf", "nb", "bow"])
def test_word_order_does_not_matter_to_a_bag(name: str) -> None:
    model = trained_a_little(model_of(name, {}))
    ids = torch.tensor([[3, 9, 4, 8]])
    mask = torch.ones(1, 4, dtype=torch.bool)
    with torch.no_grad():
        torch.testing.assert_close(call(model, ids, mask), call(model, ids.flip(1), mask))


def test_a_causal_model_does_not_look_ahead() -> None:
    for attention in ("softmax", "linear-elu", "linear-softmax"):
        model = trained_a_little(
            model_of("gpt", {"attention": attention, "causal": True, "char_ngrams": (0, 0)})
        )
        ids, mask = torch.arange(1, 13)[None], torch.ones(1, 12, dtype=torch.bool)
        changed = ids.clone()
        changed[0, 8:] = 30
        with torch.no_grad():
            backbone: Any = model.backbone
            first, second = backbone(ids, mask), backbone(changed, mask)
        torch.testing.assert_close(first[:, :8], second[:, :8], atol=1e-5, rtol=0)
        assert (first[:, 8:] - second[:, 8:]).abs().max() > 1e-3


def test_presets_build_configs() -> None:
    for name, row in ARCHITECTURES.items():
        for preset, values in row.presets.items():
            assert row.config.model_validate(values), (name, preset)
    sizes = list(ARCHITECTURES["gpt"].presets)
    assert sizes[0] == "nano"
    assert sizes[-1] == "5x-large"


def test_an_unknown_architecture_is_named() -> None:
    with pytest.raises(ConfigError, match="no architecture 'gtp'; did you mean gpt"):
        architecture("gtp")


def test_which_architectures_learn_by_themselves() -> None:
    fitting = {name for name in ARCHITECTURES if isinstance(model_of(name, {}), Fits)}
    assert fitting == {"tfidf", "nb", "bow"}


# (architecture, options, message)
IMPOSSIBLE = [
    ("encoder", {"d_model": 30, "n_heads": 4}, "multiple of n_heads"),
    ("gpt", {"d_model": 12, "n_heads": 4, "positions": "rotary"}, "rotary positions need an even"),
    ("encoder", {"positions": "alibi", "attention": "nystrom"}, "alibi adds to scores"),
    ("encoder", {"attention_dropout": 0.1, "attention": "linear-elu"}, "never forms the weights it drops"),
    ("gpt", {"attention_dropout": 0.1, "attention": "nystrom"}, "never forms the weights it drops"),
    ("gpt", {"attention": "nystrom", "causal": True}, "no causal form"),
    ("gpt", {"pooling": "first", "causal": True}, "sees one token"),
    ("lstm", {"d_hidden": 33}, "must be even"),
    ("lstm", {"pooling": "cls"}, "needs attention"),
    ("cnn", {"kernels": (0, 2)}, "at least 1 token"),
    ("mamba", {"d_model": 16}, "wider than a direction"),
    ("lstm", {"char_ngrams": (4, 2)}, "shortest <= longest"),
]


@pytest.mark.parametrize(("name", "options", "message"), IMPOSSIBLE)
def test_impossible_configs_are_refused(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ARCHITECTURES[name].config.model_validate(options)


def test_an_architecture_is_imported_when_it_is_needed() -> None:
    """That a run imports its own alone: test_senti.py."""
    code = (
        "import sys; from sentimodels.models import ARCHITECTURES; assert 'torch' not in sys.modules; "
        "print(*(name for name in sys.modules if '.models.' in name))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_row_says_what_its_module_is(name: str) -> None:
    row = architecture(name)
    assert issubclass(row.config, Section)
    assert row.fits == issubclass(row.module, Fits)
    assert row.fits or issubclass(row.module, Backbone), "a module without `fit` must be a Backbone"


@variants
def test_full_rows_need_no_mask(name: str, options: dict[str, object]) -> None:
    ids, _, _ = batch_of()
    full = ids[:1].expand(3, -1).contiguous()
    model = trained_a_little(model_of(name, options))
    with torch.no_grad():
        torch.testing.assert_close(call(model, full, None), call(model, full, torch.ones_like(full) > 0))
