"""Cases of `test_serialization.py` and `test_freethreaded.py`."""

import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import Library, case
from .pipelines import FOX, template

WRITTEN = "test_serialization.py::TestSerialization::"
RACES = "test_freethreaded.py::TestEncodeUnderConcurrentSetters::"


def t5_like(lib: Library) -> Any:
    """A Unigram tokenizer with the stages of ALBERT's file, which the suite fetches."""
    n, p = lib.normalizers, lib.pre_tokenizers
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    vocab = [*((name, 0.0) for name in special), ("▁", -2.5), ("a", -3.25), ("▁the", -4.0)]
    tokenizer = lib.Tokenizer(lib.models.Unigram(vocab, 1, byte_fallback=False))
    tokenizer.add_special_tokens(special)
    quotes = [n.Replace("``", '"'), n.Replace("''", '"')]
    tokenizer.normalizer = n.Sequence([*quotes, n.NFKD(), n.StripAccents(), n.Lowercase(), n.Strip()])
    tokenizer.pre_tokenizer = p.Sequence([p.WhitespaceSplit(), p.Metaspace(prepend_scheme="always")])
    tokenizer.post_processor = template(lib, tokenizer)
    tokenizer.decoder = lib.decoders.Metaspace(prepend_scheme="always")
    return tokenizer


@case(WRITTEN + "test_full_serialization_albert")
def _(lib: Library) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "tokenizer.json")
        t5_like(lib).save(path)
        assert lib.Tokenizer.from_file(path).to_str() == t5_like(lib).to_str()


@case(WRITTEN + "test_str_big")
def _(lib: Library) -> None:
    token = '"single_word":False, "lstrip":False, "rstrip":False, ...}'
    names = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
    added = ", ".join(f'{{"id":{id}, "content":"{name}", {token}' for id, name in enumerate(names))
    cls, sep = 'SpecialToken(id="[CLS]", type_id=0)', 'SpecialToken(id="[SEP]", type_id=0)'
    one = f"{cls}, Sequence(id=A, type_id=0), {sep}"
    special = ", ".join(
        f'"{name}":SpecialToken(id="{name}", ids=[{id}], tokens=["{name}"])'
        for id, name in ((2, "[CLS]"), (3, "[SEP]"))
    )
    mark = 'Metaspace(replacement="▁", prepend_scheme=always, split=True)'
    vocab = ", ".join(f'("{name}", 0)' for name in names)
    assert str(t5_like(lib)) == (
        f'Tokenizer(version="1.0", truncation=None, padding=None, added_tokens=[{added}], '
        'normalizer=Sequence(normalizers=[Replace(pattern=String("``"), content="""), '
        'Replace(pattern=String("\'\'"), content="""), NFKD(), StripAccents(), Lowercase(), ...]), '
        f"pre_tokenizer=Sequence(pretokenizers=[WhitespaceSplit(), {mark}]), "
        f"post_processor=TemplateProcessing(single=[{one}], pair=[{one}, Sequence(id=B, type_id=1), "
        f"{sep.replace('0', '1')}], special_tokens={{{special}}}), decoder={mark}, "
        f"model=Unigram(unk_id=1, vocab=[{vocab}, ...], byte_fallback=False))"
    )


BPE = (
    "BPE(dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None, "
    "fuse_unk=False, byte_fallback=False, ignore_merges=False, vocab={}, merges=[])"
)


@case(WRITTEN + "test_repr_str")
def _(lib: Library) -> None:
    tokenizer = lib.Tokenizer(lib.models.BPE())
    tokenizer.add_tokens(["my"])
    token = '{"id":0, "content":"my", "single_word":False, "lstrip":False, "rstrip":False, '
    for write, end in ((repr, '"normalized":True, "special":False}'), (str, "...}")):
        assert write(tokenizer) == (
            f'Tokenizer(version="1.0", truncation=None, padding=None, added_tokens=[{token}{end}], '
            f"normalizer=None, pre_tokenizer=None, post_processor=None, decoder=None, model={BPE})"
        )


@case(WRITTEN + "test_repr_str_ellipsis")
def _(lib: Library) -> None:
    assert repr(lib.models.BPE()) == str(lib.models.BPE()) == BPE
    vocab = [("A", 0.0), ("B", -0.01), ("C", -0.02), ("D", -0.03), ("E", -0.04)]
    shown = '("A", 0), ("B", -0.01), ("C", -0.02), ("D", -0.03), ("E", -0.04)'
    rows = [(vocab, shown, shown), ([*vocab, ("F", -0.04)], f'{shown}, ("F", -0.04)', f"{shown}, ...")]
    for pieces, long, short in rows:
        model = lib.models.Unigram(pieces, 0, byte_fallback=False)
        assert repr(model) == f"Unigram(unk_id=0, vocab=[{long}], byte_fallback=False)"
        assert str(model) == f"Unigram(unk_id=0, vocab=[{short}], byte_fallback=False)"


def racing(*calls: Callable[[], object]) -> None:
    """Threads that continue calling for a moment."""
    stop = threading.Event()

    def again(call: Callable[[], object]) -> None:
        while not stop.is_set():
            call()

    with ThreadPoolExecutor(max_workers=len(calls)) as pool:
        futures = [pool.submit(again, call) for call in calls]
        stop.wait(0.2)
        stop.set()
        for future in futures:
            future.result()


def prepared(lib: Library) -> Any:
    n = lib.normalizers
    tokenizer = lib.Tokenizer(lib.models.BPE())
    tokenizer.pre_tokenizer = lib.pre_tokenizers.Whitespace()
    tokenizer.normalizer = n.Sequence([n.NFD(), n.Lowercase()])
    return tokenizer


@case(RACES + "test_encode_while_swapping_post_processor")
def _(lib: Library) -> None:
    tokenizer, counted = prepared(lib), []

    def encode() -> None:
        assert isinstance(tokenizer.encode(FOX).tokens, list)
        counted.append(1)

    def swap() -> None:
        tokenizer.post_processor = lib.processors.ByteLevel(trim_offsets=True)

    racing(encode, encode, encode, swap, swap)
    assert counted


@case(RACES + "test_encode_while_mutating_trainer_fields")
def _(lib: Library) -> None:
    tokenizer, trainer = prepared(lib), lib.trainers.BpeTrainer(vocab_size=1000)

    def change() -> None:
        trainer.vocab_size = 1000 + trainer.vocab_size % 4096
        trainer.min_frequency = trainer.vocab_size % 5

    racing(lambda: tokenizer.encode("hello world"), change, change)
    assert trainer.vocab_size >= 1000


@case(RACES + "test_concurrent_setters_no_lock_poisoning")
def _(lib: Library) -> None:
    tokenizer = prepared(lib)

    def first() -> None:
        tokenizer.pre_tokenizer = lib.pre_tokenizers.Whitespace()

    def second() -> None:
        tokenizer.normalizer = lib.normalizers.NFD()

    racing(first, first, second, second, lambda: (tokenizer.pre_tokenizer, tokenizer.normalizer))
    first()
    second()
    assert isinstance(tokenizer.normalizer, lib.normalizers.NFD)
