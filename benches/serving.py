"""Section of the report: transformers' calls, accelerated against untouched, as serving engines make them.

One process, one thread, alternating calls: the same prompt is never asked twice in a timing, as no
server gets it twice. Answers of both are compared outside the timing; a row whose answers differ
shows no ratio. `encoding.py` and `decoding.py` measure the library's calls.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import corpora
from measure import ROUNDS, markdown

HEAD = ("tokenizer", "call", "untouched", "accelerated", "ratio")
LONG, SHORT, WINDOW = 28_000, 200, 10
N_LONG, N_SHORT, N_WINDOWS, N_BATCHES = 3, 200, 1_000, 10
# As SQuAD is prepared for BERT: questions of 60 characters, contexts of 750; at most 384 ids, 128 again.
N_PAIRS, QUESTION, CONTEXT, MOST, STRIDE = 10_000, 60, 750, 384, 128

Call = Callable[[Any, Any], Any]


def files(folder: Path) -> dict[str, str]:
    """The tokenizers that are measured: a file of each kind, by name."""
    named = {
        "cl100k (BPE over bytes)": "cl100k_base.tiktoken",
        "mistral (BPE, bytes for unknown characters)": "mistral-7b-v0.1/tokenizer.model",
        "bert-base-uncased (WordPiece)": "bert-base-uncased",
        "t5 (Unigram)": "t5/spiece.model",
    }
    return {name: str(folder / file) for name, file in named.items() if (folder / file).exists()}


def loaded(file: str) -> Any:
    """A tokenizer of transformers from a file."""
    import transformers

    from sentitok import Tokenizer, get_encoding

    if file.endswith(".tiktoken"):
        ours = get_encoding("cl100k_base", file)
    elif file.endswith(".model"):
        ours = Tokenizer.from_sentencepiece(file)
    else:
        ours = Tokenizer.from_file(file)
    fast: Any = transformers.PreTrainedTokenizerFast
    return fast(tokenizer_object=ours.to_hf())


def calls(tokenizer: Any, text: str) -> dict[str, tuple[Call, Sequence[Any]]]:
    """The measured calls, by name: a call of a tokenizer, and the arguments that it gets alternately."""
    per_id = len(text[:20_000]) / len(tokenizer(text[:20_000])["input_ids"])
    place = 0

    def prompts(n_ids: int, n: int) -> list[str]:
        """The next parts of the text, of about so many ids."""
        nonlocal place
        size = int(n_ids * per_id)
        place += size * n
        return [text[start : start + size] for start in range(place - size * n, place, size)]

    ids = tokenizer(text[:250_000])["input_ids"]
    windows = [ids[start : start + WINDOW] for start in range(0, N_WINDOWS * 4, 4)]
    step = 3  # windows overlap, as those of a stream do
    batches = [
        [ids[start : start + WINDOW] for start in range(first, first + N_WINDOWS * step, step)]
        for first in range(0, N_BATCHES * N_WINDOWS * step, N_WINDOWS * step)
    ]
    skip = {"skip_special_tokens": True}
    return {
        f"prompt of {LONG:,} tokens, `t(text)`": (lambda t, x: t(x), prompts(LONG, N_LONG + 1)),
        f"prompt of {SHORT} tokens, `t(text)`": (lambda t, x: t(x), prompts(SHORT, N_SHORT)),
        f"prompt of {SHORT} tokens, `t.encode(text)`": (lambda t, x: t.encode(x), prompts(SHORT, N_SHORT)),
        f"{N_WINDOWS:,} windows of {WINDOW} ids, `t.batch_decode(windows)`": (
            lambda t, x: t.batch_decode(x, **skip),
            batches,
        ),
        f"a window of {WINDOW} ids, `t.decode(ids)`": (lambda t, x: t.decode(x, **skip), windows),
        f"tokens of {WINDOW} ids, `t.convert_ids_to_tokens(ids)`": (
            lambda t, x: t.convert_ids_to_tokens(x),
            windows,
        ),
    }


def squad(untouched: Any, text: str) -> tuple[float, float, bool]:
    """Windows of pairs by transformers, and by `windows_batch`: seconds of both, and whether they are equal.

    A third of the contexts is four times as long. Compared are ids, type ids, offsets and rows.
    """
    from sentitok import Tokenizer

    ours = Tokenizer.from_hf(untouched.backend_tokenizer)
    starts = [place * 250 % (len(text) - 4 * CONTEXT) for place in range(N_PAIRS)]
    questions = [text[start : start + QUESTION] for start in starts]
    contexts = [text[s : s + CONTEXT * (4 if s // 250 % 3 == 0 else 1)] for s in starts]
    begin = time.perf_counter()
    theirs = untouched(
        questions, contexts, truncation="only_second", max_length=MOST, stride=STRIDE,
        return_overflowing_tokens=True, return_offsets_mapping=True, return_token_type_ids=True,
    )  # fmt: skip
    middle = time.perf_counter()
    windows = ours.windows_batch(
        questions, MOST, STRIDE, contexts, truncation="only_second", specials="all", threads=1
    )
    offsets, types = windows.offsets(), windows.type_ids
    end = time.perf_counter()
    same = [
        windows.ids.tolist() == [id for row in theirs["input_ids"] for id in row],
        types.tolist() == [id for row in theirs["token_type_ids"] for id in row],
        offsets.tolist() == [list(span) for row in theirs["offset_mapping"] for span in row],
        windows.source_rows.tolist() == theirs["overflow_to_sample_mapping"],
    ]
    return middle - begin, end - middle, all(same)


def seconds(tokenizer: Any, call: Call, given: Sequence[Any]) -> float:
    """The time of a call; the first is not counted, because it builds lazily made objects."""
    call(tokenizer, given[0])
    start = time.perf_counter()
    for each in given[1:]:
        call(tokenizer, each)
    return (time.perf_counter() - start) / (len(given) - 1)


def measured(file: str, text_path: str) -> list[list[str]]:
    """Rows of the table for a file, measured in this process, on one processor."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import sentitok

    text = Path(text_path).read_text("utf-8")
    by_call: dict[str, list[tuple[float, float, bool]]] = {}
    for _ in range(ROUNDS):
        # New objects, which have seen none of the prompts.
        untouched, accelerated = loaded(file), sentitok.accelerate(loaded(file))
        for name, (call, given) in calls(loaded(file), text).items():
            times = [seconds(tokenizer, call, given) for tokenizer in (untouched, accelerated)]
            same = all(answer(call(untouched, x)) == answer(call(accelerated, x)) for x in given)
            by_call.setdefault(name, []).append((times[0], times[1], same))
        if file.endswith("uncased"):
            name = f"{N_PAIRS:,} pairs of SQuAD's size in windows, with offsets; `windows_batch`"
            by_call.setdefault(name, []).append(squad(untouched, text))
    rows = []
    for name, rounds in by_call.items():
        before, after = (statistics.median(each[place] for each in rounds) for place in (0, 1))
        ratio = f"{before / after:.1f}" if all(same for *_, same in rounds) else "**differ**"
        rows.append([name, f"{before * 1e6:,.1f} µs", f"{after * 1e6:,.1f} µs", ratio])
    return rows


def answer(value: Any) -> Any:
    """The part of an answer that is compared."""
    return dict(value) if hasattr(value, "keys") else value


def section(folder: Path) -> str:
    """Measures all tokenizers; a process each, of one thread."""
    data = corpora.data_dir()
    if data is None or not (data / "vocabs").is_dir():
        return "## Serving\n\nNot measured: no folder `vocabs` in SENTITOK_DATA."
    english = corpora.english()
    cells = []
    for name, file in files(data / "vocabs").items():
        text = folder / "serving.txt"
        text.write_text(english.path.read_text("utf-8", errors="replace")[:3_000_000], "utf-8")
        done = subprocess.run(
            [sys.executable, "-W", "ignore", __file__, file, str(text)],
            env={**os.environ, "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        cells += [[name, *row] for row in json.loads(done.stdout.splitlines()[-1])]
    words = (
        "Calls of `transformers.PreTrainedTokenizerFast`, before and after `sentitok.accelerate`, one "
        "thread; no prompt is asked twice. The answers were equal unless *differ* is written.\n\n"
    )
    return "## Serving\n\n" + words + markdown(HEAD, cells)


if __name__ == "__main__":
    print(json.dumps(measured(*sys.argv[1:])))
