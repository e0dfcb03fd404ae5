"""`accelerate(tokenizer, prompts=n)`: the same ids, from the last prompts where a text begins with one."""

import copy
from typing import Any

import pytest

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import shared_data  # noqa: E402  # 2026-11-30: needs transformers
from sentitok import accelerate  # noqa: E402  # 2026-11-30: the same
from sentitok.acceleration.prompts import Prompts  # noqa: E402  # 2026-11-30: the same

# 2026-11-30: warnings of its imports.
pytestmark = pytest.mark.filterwarnings("ignore")

TURN = "<|im_start|>user\nWhat's a good film? It's été, 中文，可以。 " + "The film was good. " * 60


def fast() -> Any:
    file = shared_data.folder() / "vocabs" / "gpt2" / "tokenizer.json"
    made = transformers.PreTrainedTokenizerFast(tokenizer_file=str(file), eos_token="<|endoftext|>")
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    made.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    )
    return made


def kept(tokenizer: Any) -> list[str]:
    prompts: Prompts | None = tokenizer.__dict__["_sentitok_running"].prompts
    return [] if prompts is None else [prompt.text for prompt in prompts._kept]


def test_prompts_that_grow() -> None:
    plain, tokenizer = fast(), accelerate(fast(), prompts=2)
    text = TURN
    for turn in range(5):
        for options in ({}, {"add_special_tokens": False}, {"truncation": True, "max_length": 50}):
            assert dict(tokenizer(text, **options)) == dict(plain(text, **options))
        assert len(kept(tokenizer)) == 2
        text += f"<|im_end|>\n<|im_start|>assistant\nturn {turn}"
    other = "Another chat. " * 100
    assert tokenizer(other)["input_ids"] == plain(other)["input_ids"]
    assert kept(tokenizer)[0] == other
    assert len(kept(tokenizer)) == 2
    # Short texts, pairs and batches take no place.
    tokenizer("a film")
    tokenizer(TURN, TURN)
    tokenizer([TURN, TURN])
    assert kept(tokenizer)[0] == other


def test_chats_that_grow() -> None:
    plain, tokenizer = fast(), accelerate(fast(), prompts=1)
    messages = []
    for turn in range(4):
        messages.append({"role": "user" if turn % 2 == 0 else "assistant", "content": f"{turn} {TURN}"})
        ids = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True)["input_ids"]
        assert ids == plain.apply_chat_template(messages, tokenize=True, return_dict=True)["input_ids"]
        assert len(kept(tokenizer)) == 1
        assert kept(tokenizer)[0].endswith(f"{turn} {TURN}<|im_end|>\n")


def test_no_prompt_is_kept_unless_asked() -> None:
    tokenizer = accelerate(fast())
    tokenizer(TURN)
    assert kept(tokenizer) == []
    tokenizer = accelerate(tokenizer, prompts=1)
    tokenizer(TURN)
    assert kept(tokenizer) == [TURN]
    assert kept(copy.copy(tokenizer)) == []
    assert kept(accelerate(tokenizer)) == []


def test_prompts_of_an_earlier_tokenizer_are_not_used() -> None:
    plain, tokenizer = fast(), accelerate(fast(), prompts=2)
    tokenizer(TURN)
    for each in (plain, tokenizer):
        each.add_tokens(["good film"])
    assert tokenizer(TURN + "!")["input_ids"] == plain(TURN + "!")["input_ids"]


@pytest.mark.parametrize("prompts", [-1, 1.5, True, "2"])
def test_what_is_no_number_of_prompts(prompts: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="prompts="):
        accelerate(fast(), prompts=prompts)
