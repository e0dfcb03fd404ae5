"""`apply_chat_template(..., mask="assistant")` against transformers, a slow definition, and by example."""

import dataclasses
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

import sentitok
from chat_templates import CHATML, MODELS, assistant, user
from oracles import chats as slow
from oracles.families import file_of
from sentitok import EncodeError, Tokenizer
from sentitok.chat.masks import ids_in_spans
from sentitok.datasets import TokenDataset

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("jinja2", reason="jinja2 is not installed")

# 2026-11-30: those of transformers' own imports.
pytestmark = pytest.mark.filterwarnings("ignore")

Chat = list[dict[str, Any]]
SYSTEM = {"role": "system", "content": "Be brief."}
TOOL = {"role": "tool", "content": "fox"}


def call(**arguments: Any) -> dict[str, Any]:
    function = {"name": "owner", "arguments": arguments}
    return assistant("", tool_calls=[{"type": "function", "function": function}])


def part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def of(name: str, template: str | None = None) -> tuple[Any, Tokenizer]:
    family, known, special, roles = MODELS[name]
    backend = tokenizers.Tokenizer.from_str(file_of(family))
    backend.add_special_tokens(special)
    template = known if template is None else template
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, chat_template=template, **roles)
    ours = Tokenizer.from_hf(theirs)
    return theirs, ours.with_settings(ours.settings.replace(chat_template=template, **roles))


def written(tokenizer: Tokenizer, chat: Chat, **options: Any) -> list[str]:
    """The texts of the assistant's ids, one for each run of them."""
    encoding, mask = tokenizer.apply_chat_template(chat, mask="assistant", **options)
    assert mask.dtype == np.bool_
    assert mask.shape == encoding.ids.shape
    bounds = np.flatnonzero(np.diff(mask, prepend=False, append=False)).reshape(-1, 2)
    return [tokenizer.decode(encoding.ids[start:end]) for start, end in bounds]


WORDS = [
    "hi",
    " It's 12345\n\n",
    "naïve — 日本語",
    "a  b\n\n\nc",
    "<b>",
    "",
    " ",
    "\n",
    "¿qué?",
    "\u0301x",
    "{}",
    "end ",
]


def random_chats(seed: int, n: int) -> Iterator[Chat]:
    draw = random.Random(seed)
    for _ in range(n):
        chat: Chat = [SYSTEM] if draw.random() < 0.3 else []
        for _ in range(draw.randint(1, 3)):
            chat.append(user("".join(draw.choices(WORDS, k=draw.randint(0, 4)))))
            chat.append(assistant("".join(draw.choices(WORDS, k=draw.randint(0, 4)))))
        if draw.random() < 0.3:
            chat.append(user("more"))
        yield chat


TURN = "{{- '<|im_start|>' + message.role + '\\n' }}"
GENERATION = {
    "end of turn": (
        "{% for message in messages %}" + TURN + "{% if message.role == 'assistant' %}{% generation %}"
        "{{- message.content + '<|im_end|>\\n' }}{% endgeneration %}{% else %}"
        "{{- message.content + '<|im_end|>\\n' }}{% endif %}{% endfor %}"
    ),
    "content": (
        "{% for message in messages %}" + TURN + "{% if message.role == 'assistant' %}{%- generation -%}"
        "{{ message.content | trim }}{%- endgeneration -%}{% else %}{{- message.content }}{% endif %}"
        "{{- '<|im_end|>\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}"
    ),
    "header": (
        "{% for message in messages %}{% if message.role == 'assistant' %}  {% generation %}\n"
        "<|im_start|>assistant\n  {{ message.content }}{% if loop.last %}!{% endif %}  {% endgeneration %}\n"
        "{% else %}{{ message.role }} {{ message.content }}{% endif %}{% endfor %}"
    ),
}


@pytest.mark.parametrize("family", ["ChatML", "Qwen 2.5", "Gemma", "Mistral", "Phi-3"])
@pytest.mark.parametrize("kind", GENERATION)
def test_masks_of_generation_blocks_are_those_of_transformers(family: str, kind: str) -> None:
    assert compared(family, kind, seed=7, n=25) > 15


@pytest.mark.slow
@pytest.mark.parametrize("kind", GENERATION)
def test_masks_of_many_chats_are_those_of_transformers(kind: str) -> None:
    assert compared("Gemma", kind, seed=8, n=3000) > 2000


def compared(family: str, kind: str, seed: int, n: int) -> int:
    """Compares masks of random chats with those of transformers; returns how many there are."""
    theirs, ours = of(family, GENERATION[kind])
    n_masked = 0
    for number, chat in enumerate(random_chats(seed, n)):
        prompts = number % 2 == 0
        found = theirs.apply_chat_template(
            chat, return_dict=True, return_assistant_tokens_mask=True, add_generation_prompt=prompts
        )
        if not any(found["assistant_masks"]):  # which is an error here
            with pytest.raises(EncodeError):
                ours.apply_chat_template(chat, mask="assistant", add_generation_prompt=prompts)
            continue
        encoding, mask = ours.apply_chat_template(chat, mask="assistant", add_generation_prompt=prompts)
        assert encoding.ids.tolist() == found["input_ids"]
        assert mask.tolist() == list(map(bool, found["assistant_masks"])), chat
        n_masked += 1
    return n_masked


def test_generation_blocks_in_macros_and_loops() -> None:
    """transformers places a block in a macro where the macro begins; here it is where it is."""
    template = (
        "{% macro turn(m) %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}"
        "{% generation %}{{ m.content }}{% endgeneration %}"
        "{% else %}{{ m.content }}{% endif %}<|im_end|>{% endmacro %}"
        "{% for m in messages %}{{ turn(m) }}{% if loop.index == 4 %}{% break %}{% endif %}{% endfor %}"
    )
    _, ours = of("ChatML", template)
    assert written(ours, [user("a"), assistant("b c"), user("d"), assistant("e")]) == ["b c", "e"]


@pytest.mark.parametrize("name", ["ChatML", "Qwen 2.5", "plain"])
def test_masks_are_those_of_the_slow_definition(name: str) -> None:
    _, ours = of(name)

    def render(messages: Chat, prompts: bool) -> str:
        text = ours.apply_chat_template(messages, tokenize=False, add_generation_prompt=prompts)
        assert isinstance(text, str)
        return text

    for chat in random_chats(11, 60):
        spans = slow.places(render, chat)
        if all(start == end for start, end in spans):
            with pytest.raises(EncodeError, match="marks nothing"):
                ours.apply_chat_template(chat, mask="assistant")
            continue
        encoding, mask = ours.apply_chat_template(chat, mask="assistant")
        offsets = [(start, end) for start, end in encoding.offsets(trim=False).tolist()]
        assert mask.tolist() == slow.mask(offsets, spans), chat


def test_ids_in_spans_are_those_of_the_slow_definition() -> None:
    draw = random.Random(3)
    for _ in range(300):
        cuts = sorted(draw.sample(range(40), draw.randint(2, 12)))
        offsets = [*itertools.pairwise(cuts)]
        edges = sorted(draw.choices(range(42), k=2 * draw.randint(0, 4)))
        spans = [*zip(edges[::2], edges[1::2], strict=True)]
        assert ids_in_spans(np.array(offsets), spans).tolist() == slow.mask(offsets, spans)


CALLED = '<tool_call>\n{"name": "owner", "arguments": '
THOUGHTS = assistant("<think>\nhm\n</think>\n\nfox")
# The name of the template, the chat, and the texts of the assistant's ids.
PLACES: list[tuple[str, Chat, list[str]]] = [
    (
        "ChatML",
        [SYSTEM, user("hi"), assistant(" yes "), user("x"), assistant("no")],
        [" yes <|im_end|>", "no<|im_end|>"],
    ),
    ("ChatML", [user("hi"), assistant("yes"), user("x")], ["yes<|im_end|>"]),
    ("ChatML", [user("hi"), assistant(""), user("x"), assistant("no")], ["<|im_end|>", "no<|im_end|>"]),
    ("ChatML", [assistant("I begin"), user("x")], ["I begin<|im_end|>"]),
    ("ChatML", [user("<|im_start|>assistant\nfake"), assistant("real"), user("x")], ["real<|im_end|>"]),
    ("ChatML", [user("\ufdd2\ufdd3"), assistant("a \ufdd4 b")], ["a \ufdd4 b<|im_end|>"]),
    (
        "Qwen 2.5",
        [user("who?"), call(of="dog", n=3), TOOL, assistant("The fox.")],
        [CALLED + '{"of": "dog", "n": 3}}\n</tool_call><|im_end|>', "The fox.<|im_end|>"],
    ),
    ("Qwen 2.5", [user("who?"), call(), TOOL], [CALLED + "{}}\n</tool_call><|im_end|>"]),
    ("Qwen 3", [user("a"), THOUGHTS], ["<think>\nhm\n</think>\n\nfox<|im_end|>"]),
    (
        "Qwen 3",
        [user("a"), THOUGHTS, user("b"), assistant("c")],
        ["fox<|im_end|>", "<think>\n\n</think>\n\nc<|im_end|>"],
    ),
    (
        "Qwen 3",
        [user("a"), call(), TOOL, assistant("c", reasoning_content="well")],
        [CALLED + "{}}\n</tool_call><|im_end|>", "<think>\nwell\n</think>\n\nc<|im_end|>"],
    ),
    ("Gemma", [user("a"), assistant("  b\n"), user("c")], ["b<end_of_turn>"]),
    (
        "Gemma",
        [user("a"), assistant([part("b "), {"type": "image"}, part("c")])],
        ["b<image>c<end_of_turn>"],
    ),
    ("Mistral", [SYSTEM, user("a"), assistant("b"), user("c"), assistant("d")], ["b</s>", "d</s>"]),
    ("Mistral", [user("a"), assistant(""), user("c"), assistant("d")], ["</s>", "d</s>"]),
    (
        "Mistral",
        [user("a"), call(of="x"), TOOL, assistant("d")],
        ['[TOOL_CALLS] [{"name": "owner", "arguments": {"of": "x"}}]</s>', "d</s>"],
    ),
    ("Phi-3", [user("a"), assistant("b")], ["b<|end|>"]),
    ("Phi-3", [user("a"), assistant("b"), user("c"), assistant("d")], ["b<|end|>", "d<|end|>"]),
    ("DeepSeek", [user("a"), THOUGHTS, user("b"), assistant("c")], ["\n\nfox<|eos|>", "c<|eos|>"]),
    (
        "DeepSeek",
        [user("a"), call(of="x"), TOOL, assistant("d")],
        ['<|tool_call|>owner\n```json\n{"of": "x"}\n```<|tool_call_end|><|eos|>', "d<|eos|>"],
    ),
    ("plain", [user("a"), assistant("b"), user("c"), assistant("d")], [" b", " d"]),
    ("plain", [user("a\nBot: fake\nUser: c"), assistant("b")], [" b"]),
    ("no prompt", [user("a"), assistant("b"), user("c"), assistant("d")], [" b", " d"]),
    ("no prompt", [user("a"), assistant("b", reasoning_content="dropped")], [" b"]),
    ("no end", [user("a"), assistant("b"), user("c"), assistant("d")], ["b", "d"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "chat", "texts"), PLACES)
def test_places_of_messages(name: str, chat: Chat, texts: list[str]) -> None:
    _, ours = of(name)
    assert written(ours, chat) == texts
    if chat[-1]["role"] == "user":
        assert written(ours, chat, add_generation_prompt=True) == texts


def test_a_prompt_may_hold_a_part_of_the_answer() -> None:
    _, ours = of("Qwen 3")
    chat = [user("a"), assistant("b"), user("c"), assistant("d")]
    assert written(ours, chat, enable_thinking=False) == ["b<|im_end|>", "d<|im_end|>"]


def test_a_template_that_reads_the_answer_is_read_by_beginnings() -> None:
    """Marks would change the length that this one writes."""
    _, ours = of("lengths")
    assert written(ours, [user("a"), assistant("b"), user("cd"), assistant("e")]) == [
        " 1\nb<|im_end|>",
        " 1\ne<|im_end|>",
    ]


def test_masks_agree_with_blocks_that_say_the_same() -> None:
    _, blocks = of("ChatML", GENERATION["end of turn"])
    _, places = of("ChatML")
    for chat in random_chats(5, 20):
        if not any(message["content"].strip() for message in chat if message["role"] == "assistant"):
            continue
        (ids, by_blocks), (others, by_places) = (
            each.apply_chat_template(chat, mask="assistant") for each in (blocks, places)
        )
        assert ids.ids.tolist() == others.ids.tolist()
        # The block has the line feed behind the end of a turn too.
        line_feed = np.append(False, by_places[:-1]) & (ids.ids == blocks.encode("\n").ids[0])
        assert by_blocks.tolist() == (by_places | line_feed).tolist()


def test_many_chats(tmp_path: Path) -> None:
    _, ours = of("Qwen 2.5")
    chats = [*random_chats(1, 5)]
    assert ours.apply_chat_template(chats) == [ours.apply_chat_template(chat) for chat in chats]
    for chat, (encoding, mask) in zip(chats, ours.apply_chat_template(chats, mask="assistant"), strict=True):
        one = ours.apply_chat_template(chat, mask="assistant")
        assert encoding == one.encoding
        assert mask.tolist() == one.mask.tolist()
    # The template for tools has blocks, the default one does not.
    templates = {"default": MODELS["ChatML"][1], "tool_use": GENERATION["end of turn"]}
    both = ours.with_settings(dataclasses.replace(ours.settings, chat_templates=templates))
    tools = [[{"name": "f"}] if number % 2 else None for number in range(len(chats))]
    records = [{"messages": chat, "tools": some} for chat, some in zip(chats, tools, strict=True)]
    sentitok.encode_chats(records, tmp_path / "both", both, mask="assistant")
    dataset = TokenDataset(tmp_path / "both")
    for number, (chat, some) in enumerate(zip(chats, tools, strict=True)):
        alone = both.apply_chat_template(chat, tools=some, mask="assistant")
        assert dataset.mask(number).tolist() == alone.mask.tolist()
    assert ours.apply_chat_template(chats[:1], tokenize=False) == [
        ours.apply_chat_template(chats[0], tokenize=False)
    ]
    with pytest.raises(TypeError, match="chat 1, counted from 0: "):
        ours.apply_chat_template([chats[0], ["x"]])


def test_special_tokens_that_messages_spell() -> None:
    _, ours = of("ChatML")
    chat = [user("a <|im_end|> b"), assistant("say <|im_end|> twice <|im_start|>"), user("c")]
    encoding, mask = ours.apply_chat_template(chat, mask="assistant")
    end = ours.token_to_id("<|im_end|>")
    assert np.flatnonzero(encoding.ids == end).tolist() == [
        i for i, id in enumerate(encoding.ids) if id == end
    ]
    assert sum(encoding.ids[mask] == end) == 1
    assert written(ours, chat) == ["say <|im_end|> twice <|im_start|><|im_end|>"]
    assert written(ours, chat, specials="all") == ["say <|im_end|> twice <|im_start|><|im_end|>"]


USER, YES = user("hi"), assistant("yes")
# Template, messages, options, the kind of error, and a part of its text.
BAD: list[tuple[str, Chat, dict[str, Any], type[Exception], str]] = [
    (CHATML, [USER, YES], {"mask": "user"}, ValueError, "not 'user'"),
    (CHATML, [USER, YES], {"mask": True}, ValueError, "not True"),
    (CHATML, [USER, YES], {"tokenize": False}, ValueError, "tokenize=False"),
    (CHATML, [USER, YES], {"continue_final_message": True}, ValueError, "continue_final_message=True"),
    (CHATML, [SYSTEM, USER], {}, ValueError, "'system', 'user'"),
    (MODELS["backwards"][1], [USER, YES], {}, EncodeError, "::-1.* message 2.*endgeneration.*chat_template="),
    (MODELS["lengths"][1], [YES, USER], {}, EncodeError, "message 1.*endgeneration"),
    ("{{ messages[0].content }}", [USER, YES], {}, EncodeError, "message 2"),
    ("{% generation %}{% endgeneration %}x", [USER, YES], {}, EncodeError, "marks nothing"),
    ("{% generation %}{{ messages }}{% endgeneration %}", [USER, YES], {}, EncodeError, "marks all"),
    (
        "{% set x %}{% generation %}  a{% endgeneration %}{% endset %}{{ x | length }}",
        [USER, YES],
        {},
        EncodeError,
        "inside of them",
    ),
    (CHATML, [user("".join(map(chr, range(0xFDD2, 0xFDF0)))), YES], {}, ValueError, "U.FDD2"),
    (CHATML + "{{ messages[1].content }}", [USER, YES], {}, EncodeError, "message 2"),
]


@pytest.mark.parametrize(("template", "messages", "options", "kind", "message"), BAD)
def test_errors(
    template: str, messages: Chat, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    _, ours = of("ChatML")
    with pytest.raises(kind, match=f"(?s){message}"):
        ours.apply_chat_template(messages, chat_template=template, **{"mask": "assistant", **options})
