"""Requests that do not fit in memory, or claim a length they do not have.

Each case runs in a separate process under a limit of address space, since the
failure that is looked for is an abort, which nothing can catch. What there is no
memory for is a MemoryError (an EncodeError of a normalizer), and the same tokenizer
continues with less.
"""

import subprocess
import sys
import textwrap
from itertools import product

import pytest

from sampled_cases import sample

SECONDS = 120

SETUP = """
    import json, os, resource, sys
    import numpy as np
    import sentitok
    from sentitok import Normalizer, Tokenizer


    def limit(more):
        # Beside what the process has mapped already.
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (mapped + more, mapped + more))


    def of(model, **stages):
        file = {"version": "1.0", "added_tokens": [], "model": model, **stages}
        return Tokenizer.from_bytes(json.dumps(file).encode())


    def unigram(n=2, score=lambda n: -float(n)):
        pieces = [["a" * (i + 1), score(i + 1)] for i in range(n)]
        return of({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], *pieces]})


    def bpe(**options):
        vocab = {"<unk>": 0, "a": 1, "b": 2, "aa": 3, "ab": 4}
        merges = ["a a", "a b"]
        return of({"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": merges, **options})


    def fails(work, error=MemoryError):
        try:
            work()
        except error as caught:
            return str(caught)
        raise AssertionError("it fits")


    class Claims(list):
        def __len__(self):
            return LENGTH
"""


def run(code: str, **names: object) -> str:
    """Runs code after `SETUP`; what it prints."""
    given = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SETUP) + given + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("length", [10**12, 2**62])
def test_a_length_that_is_claimed_is_not_trusted(length: int) -> None:
    run(
        """
        tokenizer = bpe()
        ids = Claims([1, 2, 3])
        assert tokenizer.decode(ids) == tokenizer.decode([1, 2, 3])
        assert tokenizer.decode_bytes(ids) == tokenizer.decode_bytes([1, 2, 3])
        assert tokenizer.decode_batch(Claims([ids])) == tokenizer.decode_batch([[1, 2, 3]])
        assert tokenizer.prune(ids)[0].vocab_size == tokenizer.prune([1, 2, 3])[0].vocab_size
        assert len(tokenizer.encode_batch(Claims(["ab", "b"]))) == 2
        """,
        LENGTH=length,
    )


def test_endless_ids_end_at_the_first_that_is_unknown() -> None:
    out = run(
        """
        import itertools
        tokenizer = bpe()
        for ids in (lambda: range(10**10), itertools.count):
            print(fails(lambda: tokenizer.decode(ids()), sentitok.DecodeError))
            print(fails(lambda: tokenizer.prune(ids()), sentitok.DecodeError))
        limit(300 << 20)
        print(fails(lambda: tokenizer.decode(itertools.repeat(1))))
        """
    )
    assert out.count("id 5 is not in the vocabulary (ids are 0 to 4)") == 4
    assert "values of 4 bytes" in out


def test_the_n_best_of_few_pieces() -> None:
    out = run(
        """
        limit(500 << 20)
        tokenizer = unigram()
        for n in (60, 1000):
            found = tokenizer.n_best("a" * n, 10)
            assert [score for _, score in found] == [-float(n)] * 10
            assert len({tuple(ids.tolist()) for ids, _ in found}) == 10
        assert len(tokenizer.n_best("a" * 20_000, 100)) == 100
        dense = unigram(429)
        assert len(dense.n_best("a" * 1000, 10)) == 10
        print(fails(lambda: tokenizer.n_best("a" * 100_000, 1000), sentitok.EncodeError))
        """
    )
    assert "the 1000 best ways to cut a text of 100000 bytes take more than 4194304 ways" in out


def test_samples_hold_no_arcs() -> None:
    # All arcs of this text are 12.9 million, of 12 bytes each before.
    run(
        """
        tokenizer = unigram(429, lambda n: -(n ** 0.5))
        tokenizer.sample("a" * 1000)
        limit(60 << 20)
        text = "a" * 30_000
        assert sum(tokenizer.sample(text, 0.5, 3).tolist()) == len(text)
        assert tokenizer.entropy(text, 0.5) > 0
        """
    )


@pytest.mark.parametrize(
    ("form", "letter"),
    sample(6, product(("nfc", "nfd", "nfkc", "nfkd"), ("é", "\u0301", "ﷺ", "가"))),
)
def test_normal_forms_without_memory(form: str, letter: str) -> None:
    out = run(
        """
        normalizer = Normalizer(FORM)
        text = LETTER * 20_000_000
        limit(60 << 20)
        for _ in range(2):
            try:
                normalizer.normalize(text)
            except (MemoryError, sentitok.EncodeError) as error:
                print("no memory:", error)
        assert normalizer.normalize(LETTER * 100)
        """,
        FORM=form,
        LETTER=letter,
    )
    assert out.count("no memory:") == 2


def test_what_becomes_of_a_text_without_memory() -> None:
    run(
        """
        tokenizer = bpe()
        bert = Normalizer("hf-bert")
        text, ids = "a" * 40_000_000, np.ones(60_000_000, dtype=np.uint32)
        limit(50 << 20)
        fails(lambda: bert.normalize(text + "é"))
        fails(lambda: tokenizer.decode_bytes(ids))
        fails(lambda: tokenizer.decode(ids))
        """
    )


def test_windows_and_templates_without_memory() -> None:
    run(
        """
        tokenizer = bpe()
        special = {"id": "b", "ids": [2], "tokens": ["b"]}
        part = {"SpecialToken": {"id": "b", "type_id": 0}}
        single = [*[part] * 1000, {"Sequence": {"id": "A", "type_id": 0}}]
        pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
        around = of(
            {"type": "BPE", "unk_token": "u", "vocab": {"u": 0, "a": 1, "b": 2}, "merges": []},
            added_tokens=[],
            post_processor={
                "type": "TemplateProcessing", "single": single, "pair": pair,
                "special_tokens": {"b": special},
            },
        )
        texts = ["a"] * 100_000
        limit(300 << 20)
        fails(lambda: tokenizer.windows("ab" * 50_000, 10_000, 9_990))
        fails(lambda: around.encode_batch(texts, threads=1))
        assert len(tokenizer.windows("ab" * 50, 10, 5)) > 1
        """
    )


@pytest.mark.parametrize(
    "model",
    [
        "bpe()",
        "bpe(dropout=0.1)",
        "bpe(byte_fallback=True, fuse_unk=True)",
        "unigram()",
    ],
)
@pytest.mark.parametrize("megabytes", sample(1, [8, 40, 200], seed=1))
def test_long_texts_without_memory(model: str, megabytes: int) -> None:
    run(
        """
        tokenizer = eval(MODEL)
        text = "ab a" * 1_250_000
        expected = tokenizer.encode("ab a").ids.tolist()
        limit(MEGABYTES << 20)
        for _ in range(2):
            for work in (
                lambda: tokenizer.encode(text).offsets(),
                lambda: tokenizer.encode(text).ids,
                lambda: tokenizer.encode_batch([text, text], threads=1),
                lambda: tokenizer.count(text),
            ):
                try:
                    work()
                except (MemoryError, sentitok.EncodeError):
                    pass
            if "dropout" not in MODEL:
                assert tokenizer.encode("ab a").ids.tolist() == expected
        """,
        MODEL=model,
        MEGABYTES=megabytes,
    )


@pytest.mark.parametrize("megabytes", [5, 20, 60])
def test_a_long_text_of_one_unit_without_memory(megabytes: int) -> None:
    run(
        """
        stages = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False}
        pieces = [["▁", -3.0], ["a", -2.0], ["b", -2.5], ["ab", -3.0], ["▁a", -2.2]]
        model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], *pieces]}
        tokenizer = of(model, pre_tokenizer=stages)
        text = "abba" * 300_000
        expected = of(model, pre_tokenizer=stages).encode("abba").ids.tolist()
        limit(MEGABYTES << 20)
        for work in (
            lambda: tokenizer.encode(text).ids,
            lambda: tokenizer.encode_batch([text], threads=2).ids,
            lambda: tokenizer.encode(text).offsets(),
        ):
            try:
                work()
            except MemoryError:
                pass
            assert tokenizer.encode("abba").ids.tolist() == expected
        """,
        MEGABYTES=megabytes,
    )


def test_counting_without_memory() -> None:
    run(
        """
        texts = [str(i) * (1 + i % 9) for i in range(300_000)]
        counted = sentitok.count(texts=texts[:10], threads=1)
        limit(8 << 20)
        try:
            sentitok.count(texts=texts, threads=1)
        except MemoryError as error:
            assert "values of" in str(error)
        """
    )
