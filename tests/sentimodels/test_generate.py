"""Generation against a plain loop without cache or batch; where texts end; what streams."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from sentimodels.errors import ConfigError, DataError
from sentimodels.generation.decoding import Decoding
from sentimodels.generation.generate import Limits, Piece, StopStrings, TextStream, generate
from sentimodels.generation.generate import decoded as text_of_ids
from sentimodels.generation.sampling import Draws, Sampling
from sentimodels.models import ARCHITECTURES, build_backbone
from sentimodels.models.language import CausalModel
from sentimodels.nn.backbone import Cache
from sentimodels.nn.token_heads import NextTokenHead
from sentimodels.text.reading import unknown_parts
from sentimodels.text.vocabulary import Inputs
from sentitok import Tokenizer, train_bpe, train_unigram, train_wordpiece

V = 60
ONE_WAY = {"bidirectional": False}
# (architecture, options)
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "learned": ("gpt", {"positions": "learned"}),
    "rotary": ("gpt", {"positions": "rotary", "n_kv_heads": 2, "norm_order": "pre"}),
    "alibi": ("gpt", {"positions": "alibi"}),
    "sinusoidal": ("gpt", {"positions": "sinusoidal"}),
    "linear": ("linear", {"positions": "rotary"}),
    "linear-softmax": ("gpt", {"attention": "linear-softmax", "positions": "none"}),
    "bert": ("bert", {}),
    "mamba": ("mamba", ONE_WAY),
    "lstm": ("lstm", ONE_WAY),
    "gru": ("gru", ONE_WAY),
}
every = pytest.mark.parametrize("name", MODELS)
RULES = {
    "greedy": Sampling(temperature=0),
    "drawn": Sampling(temperature=0.8, top_k=20, top_p=0.95, min_p=0.01, repetition_penalty=1.3),
}
rules = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
SMALL = {
    "d_model": 16, "n_layers": 2, "n_heads": 4, "d_hidden": 20, "d_head": 8, "d_state": 4,
    "char_ngrams": [0, 0], "causal": True,
}  # fmt: skip
PROMPTS = [[3, 1, 4, 1, 5], [9, 2], [6, 5, 3, 5, 8, 9, 7, 9], [9, 2], [11]]


def model_of(name: str, n_words: int = V) -> CausalModel:
    """A model with weights that are not those of the start, in float64: no ties."""
    torch.manual_seed(0)
    arch, options = MODELS[name]
    kind = ARCHITECTURES[arch].config
    small = {key: value for key, value in SMALL.items() if key in kind.model_fields}
    backbone = build_backbone(arch, kind.model_validate(small | options), Inputs(n_words, 2))
    head = NextTokenHead(backbone, n_words, tied=name == "learned")
    model = CausalModel(backbone, head).double().eval()
    for parameter in model.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape)
    return model


def plainly(
    model: CausalModel, prompt: list[int], n: int, rule: Sampling, draws: Draws, context: int | None = None
) -> list[int]:
    """The definition: every token from all before it, read again, a row alone."""
    ids, start = list(prompt), 0
    for _ in range(n):
        if context is not None and len(ids) - start > context:
            start = max(0, len(ids) - context) if len(ids) == len(prompt) else len(ids) - context // 2
        with torch.inference_mode():
            logits = model.logits(model(torch.tensor([ids[start:]])))[:, -1]
        seen = torch.zeros(1, V, dtype=torch.bool)
        seen[0, ids] = True
        uniform = None if rule.greedy else draws.draw([0])
        ids.append(int(rule.take(logits, uniform, seen)))
    return ids[len(prompt) :]


def decoded(
    model: CausalModel, prompts: list[list[int]], n: int, rule: Sampling, **more: Any
) -> list[list[int]]:
    """The same by `Decoding`."""
    decoding = Decoding(model, prompts, rule, Draws(5, prompts), range(len(prompts)), **more)
    for _ in range(n):
        decoding.step()
    return [text[len(prompt) :] for text, prompt in zip(decoding.texts, prompts, strict=True)]


@every
@rules
def test_tokens_are_those_of_a_plain_loop(name: str, rule: Sampling) -> None:
    model, seen = model_of(name), set()
    for prompt in PROMPTS[:3]:
        expected = plainly(model, prompt, 12, rule, Draws(5, [prompt]))
        assert decoded(model, [prompt], 12, rule) == [expected]
        seen |= set(expected)
    assert len(seen) > 2


@every
@rules
def test_a_row_of_a_batch_is_the_row_alone(name: str, rule: Sampling) -> None:
    model = model_of(name)
    if model.backbone.pads_left:
        together = decoded(model, PROMPTS, 12, rule)
        copy = Draws(5, [PROMPTS[1]] * 2)
        copy.draw([0])  # row 3 is the second copy of a prompt
        for row in (0, 1, 2, 4):
            assert together[row] == plainly(model, PROMPTS[row], 12, rule, Draws(5, [PROMPTS[row]])), row
    else:
        with pytest.raises(ValueError, match="give texts of one length"):
            decoded(model, PROMPTS, 12, rule)


@every
def test_cached_logits_are_uncached_ones(name: str) -> None:
    model = model_of(name)
    ids = torch.randint(0, V, (3, 40))
    with torch.inference_mode():
        cache, parts = model.new_cache(), []
        for part in (ids[:, :20], *ids[:, 20:].split(1, 1)):
            parts.append(model.logits(model(part, cache=cache)))
        torch.testing.assert_close(torch.cat(parts, 1), model.logits(model(ids)), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", ["mamba", "lstm", "gru", "linear"])
def test_a_state_of_one_size(name: str) -> None:
    """However long a text is, as much is kept of it."""
    model = model_of(name)
    cache, sizes = model.new_cache(), []
    with torch.inference_mode():
        for n_tokens in (3, 1, 1, 200, 1):
            model(torch.randint(0, V, (2, n_tokens)), cache=cache)
            sizes.append(sum(value.numel() for entry in cache.entries for value in entry.values()))
    assert len(set(sizes)) == 1
    assert sizes[0] > 0


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("mamba", "lstm", "gru")])
@rules
def test_a_window_forgets_the_oldest_tokens(name: str, rule: Sampling) -> None:
    """Rows of a batch slide each at its time; a prompt may be longer than the context."""
    model = model_of(name)
    found = decoded(model, PROMPTS, 30, rule, context=6)
    for row in (0, 1, 2, 4):
        expected = plainly(model, PROMPTS[row], 30, rule, Draws(5, [PROMPTS[row]]), context=6)
        assert found[row] == expected, row


@every
def test_rows_may_leave(name: str) -> None:
    model = model_of(name)
    prompts = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    rule = RULES["drawn"]
    whole = decoded(model, prompts, 10, rule)
    decoding = Decoding(model, prompts, rule, Draws(5, prompts), range(3))
    for _ in range(4):
        decoding.step()
    decoding.keep([0, 2])
    for _ in range(3):
        decoding.step()
    decoding.keep([1])
    for _ in range(3):
        decoding.step()
    assert (decoding.rows, decoding.texts[0][3:]) == ([2], whole[2])


# Text.


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """Bytes and a few words."""
    return train_bpe(
        texts=["the cat sat on the mat 日本語\n"] * 3, vocab_size=280, special_tokens=["<|endoftext|>"]
    )


class _Places(nn.Module):
    """A backbone whose state at a place is what the script says comes next."""

    pads_left = has_positions = False

    def __init__(self, script: Sequence[int], n_prompt: int, n_words: int) -> None:
        super().__init__()
        self.script, self.n_prompt, self.n_words = list(script), n_prompt, n_words

    def new_cache(self) -> Cache:
        return Cache.of(0)

    def forward(
        self, ids: Tensor, mask: Tensor | None = None, *, positions: Tensor | None, cache: Cache
    ) -> Tensor:
        cache.advance(ids.shape[1])
        following = self.script[cache.length - self.n_prompt]
        states = nn.functional.one_hot(torch.tensor(following), self.n_words).double()
        return states.expand(*ids.shape, -1)


class _Head(nn.Module):
    def __init__(self, n_words: int) -> None:
        super().__init__()
        self.weight = torch.eye(n_words, dtype=torch.float64)

    def table(self, backbone: object) -> Tensor:
        return self.weight

    def forward(self, states: Tensor, backbone: object) -> Tensor:
        return states


def scripted(tokenizer: Tokenizer, ids: Sequence[int], **limits: Any) -> list[Piece]:
    """The text written if the model's tokens are these."""
    n_words = tokenizer.vocab_size
    model = CausalModel(_Places(ids, 2, n_words), _Head(n_words))  # type: ignore[arg-type]  # 2026-11-24: they stand where a backbone and a head do
    prompt = tokenizer.encode("a ").ids.tolist()
    assert len(prompt) == 2
    return list(generate(model, tokenizer, [prompt], Limits(**limits), Sampling(temperature=0)))


def test_streaming_never_splits_a_character(tokenizer: Tokenizer) -> None:
    text = "é日 the cat 🙂 語"
    ids = [id for character in text for id in tokenizer.encode(character).ids.tolist()]
    assert len(ids) > len(text) + 5
    pieces = scripted(tokenizer, ids, max_new_tokens=len(ids))
    assert "".join(piece.text for piece in pieces) == text
    assert len(pieces) == len(text)  # bytes wait for the last one of their character
    assert pieces[-1].ending is not None
    assert (pieces[-1].ending.reason, pieces[-1].ending.ids) == ("length", tuple(ids))
    cut = scripted(tokenizer, ids, max_new_tokens=1)
    assert [piece.text for piece in cut] == ["\ufffd"]  # the first byte of é, and no more to come


def test_an_end_token_ends_a_text(tokenizer: Tokenizer) -> None:
    end = tokenizer.token_to_id("<|endoftext|>")
    assert end is not None
    ids = [*tokenizer.encode(" the cat").ids.tolist(), end, 70, 70]
    (*before, last) = scripted(tokenizer, ids, end_ids={end})
    assert "".join(piece.text for piece in (*before, last)) == " the cat"
    assert last.ending is not None
    assert (last.ending.reason, last.ending.ids[-1]) == ("end", end)
    unheeded = scripted(tokenizer, ids, max_new_tokens=len(ids))  # special tokens are not text
    assert "".join(piece.text for piece in unheeded) == " the cat" + tokenizer.decode([70, 70])


def test_a_special_token_may_be_a_stop_string(tokenizer: Tokenizer) -> None:
    """It is not text, so that no string of the text is it."""
    end = tokenizer.token_to_id("<|endoftext|>")
    ids = [*tokenizer.encode(" the cat").ids.tolist(), end, 70, 70]
    (*before, last) = scripted(tokenizer, ids, stops=("zzz", "<|endoftext|>"), max_new_tokens=len(ids))
    assert "".join(piece.text for piece in (*before, last)) == " the cat"
    assert last.ending is not None
    assert (last.ending.reason, last.ending.ids[-1]) == ("stop", end)


def test_stop_strings_across_tokens(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode(" on the mat the cat sat").ids.tolist()
    assert not any("t t" in tokenizer.decode([id]) for id in ids)
    pieces = scripted(tokenizer, ids, stops=("zzz", "t the"), max_new_tokens=len(ids))
    assert "".join(piece.text for piece in pieces) == " on the ma"
    assert pieces[-1].ending is not None
    assert pieces[-1].ending.reason == "stop"
    assert len(pieces[-1].ending.ids) < len(ids)
    unmet = scripted(tokenizer, ids, stops=("cat sat!",), max_new_tokens=len(ids))
    assert "".join(piece.text for piece in unmet) == " on the mat the cat sat"


def stopped(text: str, stops: Sequence[str]) -> tuple[str, str | None]:
    """The definition: character by character, the first stop string that is complete."""
    for end in range(1, len(text) + 1):
        there = [stop for stop in stops if text[:end].endswith(stop)]
        if there:
            longest = max(there, key=len)
            return text[: end - len(longest)], longest
    return text, None


@given(
    st.text("ab", max_size=30),
    st.lists(st.text("abc", min_size=1, max_size=5), max_size=3),
    st.lists(st.integers(1, 6), min_size=30, max_size=30),
)
def test_stop_strings_are_found_however_a_text_is_cut(text: str, stops: list[str], sizes: list[int]) -> None:
    search, said, place = StopStrings(stops), "", 0
    expected, found = stopped(text, stops)
    for size in sizes:
        said += search.push(text[place : place + size])
        place += size
        assert expected.startswith(said)
    assert said + ("" if search.stop else search.finish()) == expected
    assert search.stop == found


def test_stop_strings_are_held_back_no_longer_than_need_be() -> None:
    search = StopStrings(["\n\nQ:"])
    assert [search.push(part) for part in ("so\n", "\n", "Q", "uick")] == ["so", "", "", "\n\nQuick"]
    with pytest.raises(ConfigError, match='stop "": an empty string'):
        StopStrings([""])


def test_text_after_a_prompt_is_what_decoding_both_adds() -> None:
    """A tokenizer that writes a space before each word but the first."""
    made = train_unigram(texts=["the cat sat on the mat"] * 9, vocab_size=30)
    prompt, new = (made.encode(text, add_special_tokens=False).ids.tolist() for text in ("the cat", "sat on"))
    stream = TextStream(made, prompt)
    assert "".join([*(stream.push(id) for id in new), stream.finish()]) == " sat on"


DARK = ["it was a dark night and the man went"] * 9


@pytest.mark.parametrize("prompt", ["", "日本語", "dark"])
@pytest.mark.parametrize(
    "new", [["##a", "##n", "dark"], ["[SEP]", "##nt", "##a"], ["man", "##a"], ["[SEP]"], []]
)
def test_marks_of_wordpiece_are_no_text(prompt: str, new: list[str]) -> None:
    made = train_wordpiece(texts=DARK, vocab_size=120)
    before = made.encode(prompt, add_special_tokens=False).ids.tolist()
    ids = [id for id in map(made.token_to_id, new) if id is not None]
    assert len(ids) == len(new)
    stream = TextStream(made, before)
    text = "".join([*(stream.push(id) for id in ids), stream.finish()])
    assert "##" not in text
    expected = "".join(
        token.removeprefix("##") if token.startswith("##") else " " + token
        for token in new
        if token != "[SEP]"
    )
    assert text.strip() == text_of_ids(made, ids) == expected.strip()


def test_parts_of_a_prompt_that_a_tokenizer_does_not_know() -> None:
    wordpiece = train_wordpiece(texts=DARK, vocab_size=120)
    unigram = train_unigram(texts=DARK, vocab_size=60)
    characters = train_bpe(texts=DARK, vocab_size=300)
    for text, parts in (
        ("日本語", ["日本語"]), ("a dark 夜 and 夜", ["夜"]), ("dark ночь!", ["ночь!"]), ("dark night", []),
        ("", []), (" \n", []),
    ):  # fmt: skip
        assert unknown_parts(wordpiece, text) == parts
        assert unknown_parts(unigram, text) == parts
        assert unknown_parts(characters, text) == []  # bytes stand for all
    assert unknown_parts(wordpiece, "dàrk e\u0301") == []  # BERT's rule strips accents


# Batches and limits.


def texts_of(pieces: list[Piece], n: int) -> list[str]:
    return ["".join(piece.text for piece in pieces if piece.row == row) for row in range(n)]


@pytest.mark.parametrize("name", ["learned", "mamba", "lstm"])
@pytest.mark.parametrize("batch_size", [1, 2, 8])
def test_batches_do_not_matter(name: str, batch_size: int, tokenizer: Tokenizer) -> None:
    model = model_of(name, tokenizer.vocab_size + 3)  # ids that are not text are never drawn
    limits = Limits(max_new_tokens=15, stops=("e",), end_ids={5, 6, 7})
    prompts = [
        tokenizer.encode(text).ids.tolist() for text in ("the cat", "a", "日本 the mat", "a", "on the")
    ]
    rule = Sampling(temperature=2.0)
    found = list(generate(model, tokenizer, prompts, limits, rule, seed=3, batch_size=batch_size))
    endings = {piece.row: piece.ending for piece in found if piece.ending}
    assert sorted(endings) == [0, 1, 2, 3, 4]
    for row in (0, 1, 2, 4):
        alone = list(generate(model, tokenizer, [prompts[row]], limits, rule, seed=3))
        assert texts_of(alone, 1)[0] == texts_of(found, 5)[row]
        assert alone[-1].ending == endings[row]
    assert max(id for ending in endings.values() for id in ending.ids) < tokenizer.vocab_size
    assert endings[1] != endings[3]  # two continuations of one prompt


def test_a_text_ends_where_the_context_is_full(tokenizer: Tokenizer) -> None:
    model = model_of("learned", tokenizer.vocab_size)
    prompt = tokenizer.encode("the cat").ids.tolist()
    full = Limits(max_new_tokens=50, context=len(prompt) + 4)
    (*_, last) = generate(model, tokenizer, [prompt], full, Sampling(), seed=0)
    assert last.ending is not None
    assert (last.ending.reason, len(last.ending.ids)) == ("context", 5)
    slid = Limits(max_new_tokens=50, context=len(prompt) + 4, window=True)
    (*_, last) = generate(model, tokenizer, [prompt], slid, Sampling(), seed=0)
    assert last.ending is not None
    assert len(last.ending.ids) == 50


@pytest.mark.parametrize(
    ("prompt", "limits", "said"),
    [
        ([], {}, "prompt 2 is empty: .* give some text, or begin=True .--begin. to continue <s>"),
        ([1, 700], {}, "prompt 2: token id 700 is unknown to the model, which has 300"),
        ([1] * 9, {"context": 8}, "prompt 2 has 9 tokens, but the model reads 8; shorten it, or use window"),
    ],
)
def test_prompts_that_cannot_be_read(
    prompt: list[int], limits: dict[str, Any], said: str, tokenizer: Tokenizer
) -> None:
    model = model_of("learned", 300)
    with pytest.raises(DataError, match=said):
        next(generate(model, tokenizer, [[1], prompt], Limits(**limits), Sampling(), begin="<s>"))


def test_limits_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="max_new_tokens 0"):
        Limits(max_new_tokens=0)
