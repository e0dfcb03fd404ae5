"""`accelerate` under attack: random texts with random options, threads, processes that fork.

Each call is compared with the untouched object, as in `test_acceleration.py`, which has a table of
texts and options. The cost of calls is not tested.
"""

import multiprocessing
import random
import sys
import threading
from typing import Any

import pytest
import tokenizers

import sentitok
from sampled_cases import sample

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="torch is not installed")

from oracles.accelerated import TEXTS, asked, pair_of, plain, runs, same, some_options  # noqa: E402  # 2026-11-24: needs both
from oracles.families import FAMILIES, file_of  # noqa: E402  # 2026-11-24: needs both

# 2026-11-23: those of transformers' own imports, and of what its calls ignore.
pytestmark = pytest.mark.filterwarnings("ignore")

# 2026-11-23: no accent without a letter. Where accents are stripped before `▁` is put in front (ALBERT's
# newer files), a text that begins with one gets no `▁` in tokenizers, and one here.
PARTS = [
    " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u200b", "\ufeff", "\x00", "a", "B", "the", " The",
    "don't", "'S", "1", "2345", ".", ",", "...", "—", "é", "e\u0301", "ß", "İ", "ﬁ", "½", "①",
    "日本", "語", "한국", "ไทย", "नि", "👩‍👩‍👧", "👍🏽", "\U0001d518", "<s>", "</s>",
    "[MASK]", "<unk>", "<0x41>", "▁", "Ġ", "##",
    "<|endoftext|>", "\ufffd", "x" * 30, "ab " * 9,
]  # fmt: skip


def some_text(draw: random.Random) -> str:
    return "".join(draw.choices(PARTS, k=draw.randrange(12)))


def some_words(draw: random.Random) -> list[str]:
    return [some_text(draw) for _ in range(draw.randrange(1, 4))]


def some_given(draw: random.Random) -> tuple[tuple[Any, ...], bool]:
    """Texts, pairs or words, and whether they are words."""
    n = draw.choice((1, 1, 2, 3))
    if draw.random() < 0.2:
        rows = [some_words(draw) for _ in range(n)]
        return draw.choice([(rows,), (rows[0],), (rows, [some_words(draw) for _ in rows])]), True
    texts, pairs = ([some_text(draw) for _ in range(n)] for _ in range(2))
    kinds = [
        (texts,),
        (texts[0],),
        (texts, pairs),
        (texts[0], pairs[0]),
        ([*zip(texts, pairs, strict=True)],),
    ]
    return draw.choice(kinds), False


def attack(family: str, n_calls: int) -> None:
    draw = random.Random(family)
    first, second = pair_of(family, pad_token="</s>", model_max_length=60)
    for _ in range(n_calls):
        given, are_words = some_given(draw)
        options = some_options(draw)
        if are_words:
            options["is_split_into_words"] = True
        same(first, second, asked(*given, **options))


@pytest.mark.parametrize("family", sample(12, FAMILIES))
def test_random_calls(family: str) -> None:
    attack(family, 12)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_many_random_calls(family: str) -> None:
    attack(family, 3000)


@pytest.mark.skipif(
    tokenizers.__version__ < "0.23",
    reason="tokenizers 0.22 raises `Already borrowed` where one thread reads what another changes",
)
def test_threads_while_another_adds_tokens() -> None:
    """Each answer is that of before or after, and what a thread changes it sees at once."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        first, second = pair_of("RoBERTa", pad_token="<pad>")
        word = "quickbrown"
        text = f"a {word}0 {word}1 {word}2 {word}3 fox"
        allowed = [plain(first(text)["input_ids"])]
        tokens = [f"{word}{n}" for n in range(4)]
        for token in tokens:
            first.add_tokens([token])
            allowed.append(plain(first(text)["input_ids"]))
        wrong: list[Any] = []
        is_over = threading.Event()

        def ask() -> None:
            while not is_over.is_set():
                ids = second(text)["input_ids"]
                if ids not in allowed:
                    wrong.append(ids)
                back = second.decode(ids)
                if word not in back:
                    wrong.append(back)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for place, token in enumerate(tokens):
            second.add_tokens([token])
            for _ in range(5):
                found = second(text)["input_ids"]
                if found != allowed[place + 1]:
                    wrong.append((token, found))
        is_over.set()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong, wrong[:3]
    same(first, second, asked(TEXTS))


def test_threads_use_the_backend_while_it_is_looked_at() -> None:
    """What a thread has set of the backend stays as it is while another thread accelerates it."""
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_str(file_of("BERT"))
    )
    backend = fast.backend_tokenizer
    backend.enable_truncation(7, stride=1)
    backend.enable_padding(length=9, pad_id=3, pad_token="[SEP]")
    backend.encode_special_tokens = True
    text = "a quick [MASK] brown fox jumps over it"

    def state() -> Any:
        return backend.encode(text).ids, backend.truncation, backend.padding, backend.encode_special_tokens

    expected = state()
    wrong: list[Any] = []
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            if (found := state()) != expected:
                wrong.append(found)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=ask) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        for _ in range(20):
            fast = transformers.PreTrainedTokenizerFast(tokenizer_object=backend)  # takes a copy
            fast._tokenizer = backend
            assert runs(sentitok.accelerate(fast))
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not wrong, wrong[:3]


def answer(tokenizer: Any, results: Any) -> None:
    results.put((tokenizer(TEXTS)["input_ids"], tokenizer.decode([5, 300, 6])))


@pytest.mark.parametrize("how", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_other_processes(how: str) -> None:
    first, second = pair_of("RoBERTa", pad_token="<pad>")
    assert runs(second)
    second(TEXTS * 50)  # threads of the library have run here
    context: Any = multiprocessing.get_context(how)
    results = context.SimpleQueue()
    process = context.Process(target=answer, args=(second, results))
    process.start()
    found = results.get()
    process.join(60)
    assert process.exitcode == 0
    assert found == (first(TEXTS)["input_ids"], first.decode([5, 300, 6]))


class Rows(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]  # 2026-11-24: torch has no types there
    """Ids of texts, made where they are asked for."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __len__(self) -> int:
        return len(TEXTS)

    def __getitem__(self, place: int) -> Any:
        return self.tokenizer(TEXTS[place])["input_ids"]


def test_workers_of_a_data_loader() -> None:
    first, second = pair_of("BERT", pad_token="[PAD]")
    second(TEXTS * 50)
    loader = torch.utils.data.DataLoader(Rows(second), batch_size=None, num_workers=2, collate_fn=list)
    assert [*loader] == first(TEXTS)["input_ids"]


def test_a_column_that_processes_map() -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    first, second = pair_of("BERT", pad_token="[PAD]")
    made = datasets.Dataset.from_dict({"text": TEXTS}).map(
        lambda rows: second(rows["text"], padding="max_length", max_length=90), batched=True, num_proc=2
    )
    expected = first(TEXTS, padding="max_length", max_length=90)
    assert [row["input_ids"] for row in made] == expected["input_ids"]
