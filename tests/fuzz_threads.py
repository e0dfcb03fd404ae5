"""One tokenizer in many threads, processes and event loops: each result is that of one thread alone.

    python tests/fuzz_threads.py --calls 1000000 threads        # 16 threads with a million calls each
    python tests/fuzz_threads.py --minutes 30                   # 30 minutes of all kinds

Kinds: calls of every method from threads; processes by fork, spawn and forkserver that begin while threads of
the parent encode batches; workers of PyTorch's DataLoader by each of these; tasks of asyncio, of which some
are cancelled. Prints a line per kind, and what repeats a failure; ends with status 1 after one.
"""

import argparse
import asyncio
import multiprocessing
import random
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import sentitok
from sentitok import AddedToken, PreTokenizer, Tokenizer

N_THREADS = 16
#: When a process counts as hanging, in seconds.
PATIENCE = 120
SPECIALS = ["<pad>", "<|end|>"]
WORDS = [
    *(
        "the",
        "film",
        "was",
        "not",
        "dull",
        "naïve",
        "Ünïcode",
        "日本語",
        "映画",
        "👍🏽",
        "кино",
        "<pad>",
        "<|end|>",
    ),
    *(
        "12",
        "2024",
        "it's",
        "HTTPServer",
        "a\u0301",
        "ﬁn",
        "\u200b",
        "  ",
        "\n",
        "\t",
        "<word>",
        "supercalifragilistic",
    ),
]
#: A call to compare: a tokenizer, a text and its ids give something that can be compared.
Call = Callable[[Tokenizer, str, list[int]], Any]


def texts(n: int, seed: int, longest: int = 6) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(0, longest))) for _ in range(n)]


@cache
def tokenizers() -> dict[str, Tokenizer]:
    """Small ones of each kind."""
    lines = texts(300, 1, 30)
    added = [
        AddedToken("<word>", single_word=True, lstrip=True),
        AddedToken("film", normalized=True, special=False),
    ]
    look_around = PreTokenizer(pattern=r"\b\w+\b|\s+(?!\S)|.", look_around=True)
    bpe = sentitok.train_bpe(texts=lines, vocab_size=500, special_tokens=SPECIALS)
    return {
        "bpe": bpe,
        "added": bpe.with_specials(added),
        "dropout": bpe.with_dropout(0.2),
        "look-around": sentitok.train_bpe(texts=lines, vocab_size=400, pre_tokenizer=look_around),
        "sentencepiece": sentitok.train_bpe(texts=lines, vocab_size=300, method="sentencepiece"),
        "unigram": sentitok.train_unigram(texts=lines, vocab_size=200, special_tokens=SPECIALS),
        "wordpiece": sentitok.train_wordpiece(texts=lines, vocab_size=300),
        "superwords": sentitok.train_bpe(texts=lines, vocab_size=500, superwords_from=400),
    }  # fmt: skip


def streamed(tokenizer: Tokenizer, text: str) -> list[int]:
    stream = tokenizer.stream_encoder(specials="all", seed=3)
    found = [*stream.push(text[: len(text) // 2]).tolist(), *stream.push(text[len(text) // 2 :]).tolist()]
    return [*found, *stream.finish().tolist()]


def stream_decoded(tokenizer: Tokenizer, ids: list[int]) -> str:
    stream = tokenizer.stream_decoder()
    return "".join([stream.push(id) for id in ids] + [stream.finish()])


def batch(tokenizer: Tokenizer, text: str, **options: Any) -> sentitok.EncodingBatch:
    return tokenizer.encode_batch([text, "", text[::-1], text * 2], **options)


#: Every kind of call, and how often it is chosen.
CALLS: dict[str, tuple[int, Call]] = {
    "encode": (10, lambda t, text, _: t.encode(text, seed=5).ids.tolist()),
    "encode_specials": (10, lambda t, text, _: t.encode(text, specials="all", seed=5).ids.tolist()),
    "encode_no_specials": (5, lambda t, text, _: t.encode(text, specials="raise").ids.tobytes()),
    "encode_pair": (5, lambda t, text, _: t.encode(text, text, max_tokens=6).ids.tobytes()),
    "offsets": (10, lambda t, text, _: t.encode(text, specials="all").offsets().tolist()),
    "byte_offsets": (5, lambda t, text, _: t.encode(text).offsets("bytes").tolist()),
    "tokens": (5, lambda t, text, _: t.encode(text).tokens),
    "surfaces": (5, lambda t, text, _: t.encode(text).surfaces),
    "count": (10, lambda t, text, _: t.count(text, specials="all")),
    "fits": (5, lambda t, text, _: t.fits(text, 3)),
    "decode": (10, lambda t, _, ids: t.decode(ids)),
    "decode_without": (5, lambda t, _, ids: t.decode(ids, skip_special_tokens=True)),
    "decode_bytes": (5, lambda t, _, ids: t.decode_bytes(ids)),
    "decode_batch": (3, lambda t, _, ids: t.decode_batch([ids, [], ids[::-1]])),
    "token_of_id": (5, lambda t, _, ids: [t.token_to_id(t.id_to_token(id) or "") for id in ids]),
    "encode_batch": (5, lambda t, text, _: batch(t, text, threads=1).to_list()),
    "encode_batch_threads": (2, lambda t, text, _: batch(t, text, threads=2).ids.tobytes()),
    "batch_offsets": (2, lambda t, text, _: batch(t, text, threads=2, offsets=True).offsets().tobytes()),
    "count_batch": (3, lambda t, text, _: t.count_batch([text, "a"], threads=1).tolist()),
    "windows": (2, lambda t, text, _: t.windows_batch([text * 3], 8, 2, threads=1).to_list()),
    "stream_encoder": (3, lambda t, text, _: streamed(t, text)),
    "stream_decoder": (3, lambda t, _, ids: stream_decoded(t, ids)),
    "encode_more": (3, lambda t, text, _: t.encode_more(t.encode(text[:5]), text[5:]).ids.tobytes()),
    "fingerprint": (1, lambda t, _, __: t.fingerprint),
    "with_specials": (0, lambda t, text, _: t.with_specials(["<new>"]).count(text + "<new>", specials="all")),
    "to_bytes": (0, lambda t, text, _: Tokenizer.from_bytes(t.to_bytes()).encode(text, seed=5).ids.tobytes()),
}  # fmt: skip
#: The last two read or write a whole tokenizer: one call in a thousand.
RARE = [name for name, (weight, _) in CALLS.items() if not weight]


def called(name: str, tokenizer: Tokenizer, text: str, ids: list[int]) -> Any:
    """The result of a call, or the type of its error: a stage may refuse a text."""
    try:
        return CALLS[name][1](tokenizer, text, ids)
    except sentitok.InternalError:
        raise
    except sentitok.SentitokError as error:
        return type(error).__name__


class Cases:
    """Calls with their results, by one thread."""

    def __init__(self, seed: int, n_texts: int = 40) -> None:
        self.inputs = [
            (name, tokenizer, text, tokenizer.encode(text, specials="all", seed=1).ids.tolist())
            for name, tokenizer in tokenizers().items()
            for text in texts(n_texts, seed)
        ]
        self.expected = {name: [called(name, *given[1:]) for given in self.inputs] for name in CALLS}

    def wrong(self, rng: random.Random, calls: int) -> Counter[str]:
        """Makes so many calls, and returns how many of each had another result."""
        names = rng.choices([*CALLS], [weight for weight, _ in CALLS.values()], k=997)
        names += rng.choices(RARE, k=1)
        found: Counter[str] = Counter()
        at, n_inputs = rng.randrange(len(self.inputs)), len(self.inputs)
        for number in range(calls):
            name = names[number % 998]
            at = (at + 31) % n_inputs
            kind, *given = self.inputs[at]
            if called(name, *given) != self.expected[name][at]:
                found[f"{name} of {kind}"] += 1
        return found


def threads(seed: int, calls: int) -> Counter[str]:
    """The same calls from 16 threads at once."""
    cases, start = Cases(seed), threading.Barrier(N_THREADS)

    def work(number: int) -> Counter[str]:
        start.wait()
        return cases.wrong(random.Random(f"{seed} {number}"), calls)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return sum(pool.map(work, range(N_THREADS)), Counter[str]())


def long_texts(seed: int) -> list[str]:
    return texts(400, seed, 30)


def encoded(tokenizer: Tokenizer, some: list[str], threads: int = 2) -> list[bytes]:
    """A batch in several forms, to compare."""
    found = tokenizer.encode_batch(some, threads=threads, specials="all", seed=7, offsets=True)
    counted = tokenizer.count_batch(some, threads=threads)
    return [found.ids.tobytes(), found.offsets().tobytes(), counted.tobytes()]


def child(
    names: list[str], made: list[Tokenizer], seed: int, expected: list[list[bytes]], answers: Any
) -> None:
    """What a process finds wrong; it also trains and loads."""
    wrong = [
        name
        for name, tokenizer, right in zip(names, made, expected, strict=True)
        if encoded(tokenizer, long_texts(seed)) != right
        or encoded(Tokenizer.from_bytes(tokenizer.to_bytes()), long_texts(seed), 1) != right
    ]
    if sentitok.train_bpe(texts=long_texts(seed), vocab_size=300, threads=2).vocab_size != 300:
        wrong.append("train_bpe")
    answers.put(wrong)


def busy_while(work: Callable[[], Counter[str]], seed: int) -> Counter[str]:
    """Does something while three threads are in the middle of a batch."""
    done, some = threading.Event(), long_texts(seed)

    def busy(number: int) -> None:
        made = [*tokenizers().values()]
        while not done.is_set():
            made[number % len(made)].encode_batch(some, threads=2, specials="all")
            number += 1

    running = [threading.Thread(target=busy, args=(number,)) for number in range(3)]
    for thread in running:
        thread.start()
    try:
        return work()
    finally:
        done.set()
        for thread in running:
            thread.join()


def processes(method: str) -> Callable[[int, int], Counter[str]]:
    """Processes that begin while threads of this one encode."""

    def check(seed: int, _: int) -> Counter[str]:
        made = tokenizers()
        expected = [encoded(tokenizer, long_texts(seed)) for tokenizer in made.values()]
        context: Any = multiprocessing.get_context(method)

        def work() -> Counter[str]:
            answers = context.Queue()
            given = ([*made], [*made.values()], seed, expected, answers)
            started = [context.Process(target=child, args=given) for _ in range(2)]
            for process in started:
                process.start()
            found: Counter[str] = Counter()
            for process in started:
                process.join(PATIENCE)
                if process.exitcode is None:
                    process.kill()
                    process.join()
                if process.exitcode:
                    found[f"process ended with {process.exitcode}"] += 1
                else:
                    found.update(answers.get(timeout=PATIENCE))
            return found

        return busy_while(work, seed)

    return check


class Rows:
    """A data set that encodes in the workers of a DataLoader."""

    def __init__(self, tokenizer: Tokenizer, some: list[str]) -> None:
        self.tokenizer, self.some = tokenizer, some

    def __len__(self) -> int:
        return len(self.some)

    def __getitem__(self, row: int) -> list[int]:
        ids: list[int] = self.tokenizer.encode(self.some[row], specials="all", seed=7).ids.tolist()
        return ids


class Collate:
    """Encodes a whole batch in a worker."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def __call__(self, rows: list[list[int]]) -> list[list[int]]:
        again = self.tokenizer.encode_batch(self.tokenizer.decode_batch(rows), threads=2)
        assert len(again) == len(rows)
        return rows


def loaders(method: str) -> Callable[[int, int], Counter[str]]:
    """Workers of a DataLoader that begin while threads of this process encode."""

    def check(seed: int, _: int) -> Counter[str]:
        from torch.utils.data import DataLoader

        some = long_texts(seed)[:100]
        name = random.Random(seed).choice([name for name in tokenizers() if name != "dropout"])
        tokenizer = tokenizers()[name]
        expected = [tokenizer.encode(text, specials="all", seed=7).ids.tolist() for text in some]

        def work() -> Counter[str]:
            loader: Any = DataLoader(
                Rows(tokenizer, some),  # type: ignore[arg-type]  # 2026-11: a data set by its methods
                batch_size=8,
                num_workers=2,
                collate_fn=Collate(tokenizer),
                multiprocessing_context=method,
                timeout=PATIENCE,
            )
            found = [row for rows in loader for row in rows]
            return Counter({f"rows of {name}": 1} if found != expected else {})

        return busy_while(work, seed)

    return check


def tasks(seed: int, _: int) -> Counter[str]:
    """Calls from an event loop, in its threads and in a pool, of which some are given up."""
    cases, rng = Cases(seed, 10), random.Random(seed)

    async def main() -> Counter[str]:
        loop, found = asyncio.get_running_loop(), Counter[str]()
        with ThreadPoolExecutor(4) as pool:

            async def one(number: int) -> None:
                name, at = rng.choice([*CALLS]), rng.randrange(len(cases.inputs))
                given = cases.inputs[at][1:]
                if number % 2:
                    work: Any = asyncio.to_thread(called, name, *given)
                else:
                    work = loop.run_in_executor(pool, called, name, *given)
                if number % 7 == 0:
                    with_end = asyncio.ensure_future(work)
                    await asyncio.sleep(0)
                    with_end.cancel()
                    await asyncio.gather(with_end, return_exceptions=True)
                elif await work != cases.expected[name][at]:
                    found[f"{name} of {cases.inputs[at][0]}"] += 1

            await asyncio.gather(*(one(number) for number in range(2000)))
        return found

    return asyncio.run(main())


METHODS = [one for one in ("fork", "spawn", "forkserver") if one in multiprocessing.get_all_start_methods()]
KINDS: dict[str, Callable[[int, int], Counter[str]]] = {
    "threads": threads,
    **{method: processes(method) for method in METHODS},
    **{f"loader-{method}": loaders(method) for method in METHODS},
    "asyncio": tasks,
}


def run(kind: str, args: argparse.Namespace, seconds: float) -> int:
    """Checks seeds of a kind, prints a line and returns the number of failures."""
    started, cpu, rounds, failures = time.monotonic(), time.process_time(), 0, 0
    while time.monotonic() - started < seconds and rounds < args.count and failures < 5:
        seed = args.seed + rounds
        rounds += 1
        try:
            wrong = KINDS[kind](seed, args.calls)
        except Exception as error:
            wrong = Counter({repr(error): 1})
        if wrong:
            failures += 1
            print(f"failed: python tests/fuzz_threads.py {kind} --seed {seed} --count 1 --calls {args.calls}")
            print(f"  {dict(wrong)}")
    calls = f"{rounds * N_THREADS * args.calls:,} calls, " if kind == "threads" else ""
    took, used = time.monotonic() - started, time.process_time() - cpu
    print(
        f"{kind:18} {rounds:6,} rounds, {calls}{failures} failed, {took:.0f} s, {used:.0f} s of CPU",
        flush=True,
    )
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", nargs="*", help=f"words of the kinds to check, of {', '.join(KINDS)}")
    parser.add_argument("--count", type=int, help="rounds of each kind (without --minutes: 1)")
    parser.add_argument("--minutes", type=float, help="time for all kinds")
    parser.add_argument("--calls", type=int, default=10_000, help="of each thread in a round")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    kinds = [kind for kind in KINDS if not args.kind or any(word in kind for word in args.kind)]
    seconds = args.minutes * 60 / len(kinds) if args.minutes else float("inf")
    args.count = args.count or (sys.maxsize if args.minutes else 1)
    warnings.filterwarnings("ignore", message=".*use of fork.*", category=DeprecationWarning)
    return 1 if sum([run(kind, args, seconds) for kind in kinds]) else 0


if __name__ == "__main__":
    sys.exit(main())
