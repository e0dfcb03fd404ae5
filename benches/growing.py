"""Section of the report: a chat that grows, encoded again and by `encode_more`, and by `StreamEncoder`.

The chat alternates documents as turns, with special tokens between them. Each call gets a new `str`, as a
server's does: it has no UTF-8 yet, which takes a quarter of the time of encoding where it is not ASCII. Calls
alternate, the best of many counts, and each call's ids are compared with those of the whole text.
`python benches/growing.py` prints it.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import corpora
from calls import TOKENIZERS, loaded
from encoding import jobs
from measure import markdown

#: Ids of the chat, and of what it grows by.
N_IDS, N_MORE = 30_000, 200
#: Chats that are encoded one after another, as by a server; the words of one alone stay in the nearest cache.
N_CHATS = 16
TURNS = int(os.environ.get("TURNS", "60"))
HEAD = (
    "tokenizer", "text", "ids", "encode", "encode_more", "times", f"encode, {N_CHATS} chats", "encode_more",
    "times", "push",
)  # fmt: skip


def chats(tokenizer: Any, text: corpora.Corpus) -> list[tuple[str, str]]:
    """Chats of `N_IDS` ids, each with what it grows by."""
    turns = [f"<|im_start|>user\n{document}<|im_end|>\n" for document in text.documents(600)]
    made, taken = [], 0
    for _ in range(N_CHATS):
        chat = ""
        while tokenizer.count(chat, specials="all") <= N_IDS + N_MORE + 2:  # the template's are counted too
            chat += "".join(turns[(taken + at) % len(turns)] for at in range(20))
            taken += 20
        ids = tokenizer.encode(chat, specials="all", add_special_tokens=False)
        ends = ids.offsets()[:, 1]
        made.append((chat[: ends[N_IDS - 1]], chat[ends[N_IDS - 1] : ends[N_IDS - 1 + N_MORE]]))
    return made


def new(text: str) -> str:
    """A copy of a text, without its UTF-8."""
    return f"{text} "[:-1]


def best(calls: dict[str, Callable[[list[str]], object]], texts: list[str], turns: int) -> dict[str, float]:
    """The least seconds of each call, which alternate; each gets copies of the texts."""
    seconds = dict.fromkeys(calls, float("inf"))
    for _ in range(turns):
        for name, call in calls.items():
            copies = [new(text) for text in texts]
            started = time.perf_counter()
            call(copies)
            seconds[name] = min(seconds[name], time.perf_counter() - started)
    return seconds


def row(name: str, tokenizer: Any, text: corpora.Corpus) -> list[str]:
    """Measures one tokenizer.

    Raises:
        RuntimeError: if ids differ.
    """
    grown = [(chat, chat + more, more) for chat, more in chats(tokenizer, text)]
    before = [tokenizer.encode(chat, specials="all") for chat, _, _ in grown]
    for (_, longer, _), encoding in zip(grown, before, strict=True):
        whole = tokenizer.encode(longer, specials="all")
        if tokenizer.encode_more(encoding, longer).ids.tolist() != whole.ids.tolist():
            raise RuntimeError(f"{name}: ids differ")
    chat, longer, more = grown[0]
    streams = []
    for _ in range(TURNS):
        streams.append(tokenizer.stream_encoder(specials="all"))
        streams[-1].push(chat)
    one = best(
        {
            "whole": lambda texts: tokenizer.encode(texts[0], specials="all").ids,
            "more": lambda texts: tokenizer.encode_more(before[0], texts[0]).ids,
            "push": lambda _: streams.pop().push(more),
        },
        [longer],
        TURNS,
    )
    many = best(
        {
            "whole": lambda texts: [tokenizer.encode(text, specials="all").ids for text in texts],
            "more": lambda texts: [
                tokenizer.encode_more(encoding, text).ids
                for encoding, text in zip(before, texts, strict=True)
            ],
        },
        [longer for _, longer, _ in grown],
        max(TURNS // 10, 3),
    )
    cells = [name, text.name, str(len(before[0]))]
    for seconds, n in ((one, 1), (many, N_CHATS)):
        micro = [seconds[call] / n * 1e6 for call in ("whole", "more")]
        cells += [f"{micro[0]:.0f} µs", f"{micro[1]:.1f} µs", f"{micro[0] / micro[1]:.0f}"]
    return [*cells, f"{one['push'] * 1e6:.1f} µs"]


def section(folder: Path) -> str:
    """Measures all tokenizers on English and code."""
    data = corpora.data_dir()
    if data is None or not (data / "vocabs").is_dir():
        return "## Growing texts\n\nNot measured: no folder `vocabs` in SENTITOK_DATA."
    cells = []
    known = jobs(folder, data / "vocabs")
    texts = [corpus for corpus in (corpora.english(), corpora.code(), corpora.chinese()) if corpus]
    for name in TOKENIZERS:
        tokenizer = loaded(known[name]).with_specials(["<|im_start|>", "<|im_end|>"])
        for text in texts:
            print(f"growing {name}, {text.name}", file=sys.stderr)
            cells.append(row(name, tokenizer, corpora.head(text, 8_000_000)))
    words = (
        f"A chat of {N_IDS:,} ids that grows by {N_MORE}: microseconds to encode all of it, and by "
        "`encode_more` from the encoding before; `push` is that of `StreamEncoder`. The same chat "
        f"again and again, and {N_CHATS} chats one after the other. The best of {TURNS} and "
        f"{max(TURNS // 10, 3)} calls; "
        "ids are equal."
    )
    return f"## Growing texts\n\n{words}\n\n{markdown(HEAD, cells)}"


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        print(section(Path(scratch)))
