"""Chats to ids and masks, compared with transformers: the same calls, whose results must be equal.

    python benches/chats.py [CHATS]        # prints a table

The calls take turns, and each counts with its fastest turn. A template with `{% generation %}` blocks gives
masks in both; of one without, transformers gives ids alone. The last rows write packed shards, which
transformers does not.
"""

import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import sentitok
from measure import markdown
from sentitok.datasets import TokenDataset

BOOK = Path(__file__).parents[1] / "tests" / "data" / "corpus" / "pride-and-prejudice.txt"
CHATS = 2000
TURNS = 5
LENGTH = 8192
IM = ["<|im_start|>", "<|im_end|>"]
BLOCKS = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}"
    "{% if message.role == 'assistant' %}"
    "{% generation %}{{ message.content + '<|im_end|>' }}{% endgeneration %}{% else %}"
    "{{ message.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
NO_BLOCKS = BLOCKS.replace("{% generation %}", "").replace("{% endgeneration %}", "")


def made(n: int) -> list[list[dict[str, str]]]:
    """Chats of one to four questions and answers, from the lines of a book."""
    draw = random.Random(0)
    lines = [line.strip() for line in BOOK.read_text("utf-8").splitlines() if line.strip()]

    def text(most: int) -> str:
        start = draw.randrange(len(lines) - most)
        return " ".join(lines[start : start + draw.randint(1, most)])

    chats = []
    for _ in range(n):
        chat = []
        for _ in range(draw.randint(1, 4)):
            chat += [{"role": "user", "content": text(1)}, {"role": "assistant", "content": text(3)}]
        chats.append(chat)
    return chats


def fastest(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of each call: the least of its turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(TURNS):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - started)
    return {name: min(seconds) for name, seconds in times.items()}


def main() -> None:
    """Compares, measures and prints."""
    chats = made(int(sys.argv[1]) if len(sys.argv) > 1 else CHATS)
    trained = sentitok.train_bpe(BOOK, vocab_size=8000).with_specials(IM)
    settings = trained.settings.replace(chat_template=BLOCKS, eos_token=IM[1])
    ours = trained.with_settings(settings)
    theirs = ours.to_transformers()
    masked: dict[str, Any] = {"return_dict": True, "return_assistant_tokens_mask": True}

    found = theirs.apply_chat_template(chats, **masked)
    for template in (BLOCKS, NO_BLOCKS):
        pairs = ours.apply_chat_template(chats, mask="assistant", chat_template=template)
        assert [encoding.ids.tolist() for encoding, _ in pairs] == found["input_ids"]
        assert [mask.astype(int).tolist() for _, mask in pairs] == found["assistant_masks"]

    times = fastest({
        "transformers, ids": lambda: theirs.apply_chat_template(chats, chat_template=NO_BLOCKS),
        "sentitok, ids": lambda: ours.apply_chat_template(chats, chat_template=NO_BLOCKS),
        "transformers, ids and masks, blocks": lambda: theirs.apply_chat_template(chats, **masked),
        "sentitok, ids and masks, blocks": lambda: ours.apply_chat_template(chats, mask="assistant"),
        "sentitok, ids and masks, no blocks": lambda: ours.apply_chat_template(
            chats, mask="assistant", chat_template=NO_BLOCKS
        ),
    })  # fmt: skip
    rows = [
        (name, f"{len(chats) / seconds:,.0f}", f"{times[f'transformers, {kind}'] / seconds:.1f} x")
        for name, seconds in times.items()
        for kind in ["ids and masks, blocks" if "masks" in name else "ids"]
    ]

    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "chats.jsonl", Path(folder) / "out"
        source.write_text("".join(json.dumps({"messages": chat}) + "\n" for chat in chats), "utf-8")

        def write(cut: bool) -> None:
            shutil.rmtree(out, ignore_errors=True)
            sentitok.encode_chats(source, out, ours, mask="assistant", pack=LENGTH, cut=cut)

        for name, cut in (("best fit", False), ("cut", True)):
            seconds = fastest({name: partial(write, cut)})[name]
            dataset = TokenDataset(out)
            filled = dataset.tokens / (len(dataset.packed()) * LENGTH)
            call = f"sentitok, files to rows of {LENGTH:,}, {name}, {filled:.1%} filled"
            rows.append((call, f"{len(chats) / seconds:,.0f}", ""))
    print(markdown(("call", "chats a second", "to transformers"), rows))


if __name__ == "__main__":
    main()
