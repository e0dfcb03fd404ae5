"""`encode_chats` and `sentitok encode --chat`: against slow definitions, and what they refuse."""

import contextlib
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sentitok
from chat_templates import IM, QWEN_2_5, assistant, user
from cli_runs import run
from oracles import chats as slow
from sentitok import EncodeError, FormatError, Tokenizer
from sentitok.chat import packing
from sentitok.datasets import PackedBatch, TokenDataset
from sentitok.verify import verify

pytest.importorskip("jinja2", reason="jinja2 is not installed")

Pairs = list[tuple[list[int], list[bool]]]
WORDS = ["the", "film", "was", "great", "everybody", "loved", "it", "<|im_end|>", "naïve", "日本語", "12345"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    trained = sentitok.train_bpe(texts=[" ".join(WORDS) * 3, "user assistant system"], vocab_size=300)
    special = trained.with_specials([*IM, "<|endoftext|>"])
    return special.with_settings(special.settings.replace(chat_template=QWEN_2_5, eos_token="<|endoftext|>"))


def random_chats(seed: int, n: int, most: int = 12) -> list[dict[str, Any]]:
    draw = random.Random(seed)

    def text() -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(0, most)))

    chats = []
    for number in range(n):
        messages: list[dict[str, Any]] = []
        if draw.random() < 0.2:
            messages.append({"role": "system", "content": text()})
        for _ in range(draw.randint(1, 3)):
            messages += [user(text()), assistant(text())]
        chats.append({"id": number, "messages": messages})
    return chats


def written(path: Path, chats: list[Any]) -> Path:
    path.write_text("".join(json.dumps(chat, ensure_ascii=False) + "\n" for chat in chats), "utf-8")
    return path


def encoded(tokenizer: Tokenizer, chats: list[dict[str, Any]]) -> Pairs:
    """Ids and masks, one chat after the other."""
    found = [tokenizer.apply_chat_template(chat["messages"], mask="assistant") for chat in chats]
    return [(encoding.ids.tolist(), mask.tolist()) for encoding, mask in found]


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def assert_equal(first: PackedBatch, second: PackedBatch) -> None:
    for name in PackedBatch._fields:
        assert np.array_equal(getattr(first, name), getattr(second, name))


def assert_rows(dataset: TokenDataset, rows: list[Pairs], length: int, pad_id: int) -> None:
    """Every way to read rows gives what the slow definition does."""
    packed = dataset.packed()
    assert len(packed) == len(rows)
    wanted = [slow.row(row, length, pad_id) for row in rows]
    for number, one in enumerate(wanted):
        for name, expected in zip(PackedBatch._fields, one, strict=True):
            assert getattr(packed[number], name).tolist() == expected
    together = packed.take(np.arange(len(rows)))
    assert together.ids.dtype == together.positions.dtype == np.int64
    assert together.mask.dtype == np.bool_
    assert together.boundaries.dtype == np.int32
    for name, of_all in zip(PackedBatch._fields[:3], zip(*wanted, strict=True), strict=False):
        assert getattr(together, name).tolist() == list(of_all)
    bounds = {row * length + bound for row, one in enumerate(wanted) for bound in one[3]}
    assert together.boundaries.tolist() == sorted(bounds)
    assert packed[-1].ids.tolist() == wanted[-1][0]
    assert [one.ids.tolist() for one in packed[:2]] == [one[0] for one in wanted[:2]]


@pytest.mark.parametrize("length", [1, 2, 7, 64])
def test_best_fit_is_that_of_the_slow_definition(length: int) -> None:
    draw = random.Random(length)
    for n in (0, 1, 2, 30, 80):
        for _ in range(10):
            lengths = [draw.randint(1, length) for _ in range(n)]
            assert packing.best_fit_rows(lengths, length) == slow.best_fit(lengths, length)


def test_packed_rows_are_those_of_the_slow_definition(tokenizer: Tokenizer, tmp_path: Path) -> None:
    chats = random_chats(1, 120)
    pairs = encoded(tokenizer, chats)
    length = max(len(ids) for ids, _ in pairs) + 3
    path = written(tmp_path / "chats.jsonl", chats)
    manifest = sentitok.encode_chats(path, tmp_path / "out", tokenizer, mask="assistant", pack=length)
    dataset = TokenDataset(tmp_path / "out")
    fitted = slow.best_fit([len(ids) for ids, _ in pairs], length)
    rows = [[pairs[number] for number in row] for row in fitted]
    pad_id = tokenizer.token_to_id("<|endoftext|>")
    assert pad_id is not None
    assert_rows(dataset, rows, length, pad_id)
    in_order = [number for row in fitted for number in row]
    assert [ids.tolist() for ids in dataset] == [pairs[number][0] for number in in_order]
    for place in (0, 5, len(pairs) - 1, -1):
        assert dataset.mask(place).tolist() == pairs[in_order[place]][1]
    stream = [bit for number in in_order for bit in pairs[number][1]]
    assert dataset.stream_mask(3, 200).tolist() == stream[3:200]
    assert manifest["chats"]["read"] == manifest["documents"] == len(pairs)
    assert manifest["chats"]["assistant_tokens"] == sum(stream)
    dataset.verify()
    assert not verify(tmp_path / "out", tokenizer=tokenizer).problems


def test_cut_rows_are_those_of_the_slow_definition(tokenizer: Tokenizer, tmp_path: Path) -> None:
    chats = random_chats(2, 40)
    for length in (1, 16, 1000):
        out = tmp_path / str(length)
        sentitok.encode_chats(chats, out, tokenizer, mask="assistant", pack=length, cut=True)
        rows = slow.cut(encoded(tokenizer, chats), length)
        pad_id = tokenizer.token_to_id("<|endoftext|>")
        assert pad_id is not None
        assert_rows(TokenDataset(out), rows, length, pad_id)


def test_without_rows_a_document_is_a_chat(tokenizer: Tokenizer, tmp_path: Path) -> None:
    chats = random_chats(3, 30)
    sentitok.encode_chats(chats, tmp_path / "masked", tokenizer, mask="assistant")
    sentitok.encode_chats(chats, tmp_path / "plain", tokenizer)
    masked, plain = TokenDataset(tmp_path / "masked"), TokenDataset(tmp_path / "plain")
    pairs = encoded(tokenizer, chats)
    assert [ids.tolist() for ids in masked] == [ids.tolist() for ids in plain] == [ids for ids, _ in pairs]
    assert [masked.mask(number).tolist() for number in range(30)] == [mask for _, mask in pairs]
    with pytest.raises(ValueError, match="pack=N"):
        masked.packed()
    with pytest.raises(ValueError, match="mask="):
        plain.mask(0)
    with pytest.raises(IndexError, match="30"):
        masked.mask(30)


def test_rows_without_a_mask_count_all_ids_of_chats(tokenizer: Tokenizer, tmp_path: Path) -> None:
    chats = random_chats(4, 20)
    sentitok.encode_chats(chats, tmp_path / "out", tokenizer, pack=300, pad="!")
    dataset = TokenDataset(tmp_path / "out")
    rows = dataset.packed()
    assert rows.pad_id == tokenizer.token_to_id("!")
    for number, row in enumerate(rows):
        n_ids = sum(len(dataset[document]) for document in rows.documents(number))
        assert row.mask.tolist() == [True] * n_ids + [False] * (300 - n_ids)
        assert set(row.ids[n_ids:].tolist()) <= {rows.pad_id}


@pytest.mark.parametrize("cut", [False, True])
def test_bytes_do_not_depend_on_threads_processes_or_chunks(
    cut: bool, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats = random_chats(5, 60)
    path = written(tmp_path / "chats.jsonl", chats)
    options: dict[str, Any] = {"mask": "assistant", "pack": 256, "cut": cut, "shard_tokens": 2000}
    options |= {} if cut else {"buffer_tokens": 1500}
    sentitok.encode_chats(path, tmp_path / "a", tokenizer, threads=1, **options)
    monkeypatch.setattr("sentitok.chat.dataset._CHUNK_CHATS", 7)
    sentitok.encode_chats(path, tmp_path / "b", tokenizer, threads=3, **options)
    one = files_of(tmp_path / "a")
    assert len(one) > 9
    assert files_of(tmp_path / "b") == one
    if cut:
        sentitok.encode_chats(path, tmp_path / "c", tokenizer, processes=2, **options)
        assert files_of(tmp_path / "c") == one


def test_shards_hold_whole_rows(tokenizer: Tokenizer, tmp_path: Path) -> None:
    chats = random_chats(6, 60)
    sentitok.encode_chats(chats, tmp_path / "one", tokenizer, mask="assistant", pack=256)
    sentitok.encode_chats(chats, tmp_path / "many", tokenizer, mask="assistant", pack=256, shard_tokens=600)
    one, many = (TokenDataset(tmp_path / name).packed() for name in ("one", "many"))
    assert len(TokenDataset(tmp_path / "many").manifest["shards"]) > 5
    assert len(one) == len(many)
    for first, second in zip(one, many, strict=True):
        assert_equal(first, second)


def test_several_directories_are_read_as_one(tokenizer: Tokenizer, tmp_path: Path) -> None:
    for seed in (1, 2):
        sentitok.encode_chats(
            random_chats(seed, 30), tmp_path / str(seed), tokenizer, mask="assistant", pack=300
        )
    sentitok.encode_chats(random_chats(3, 5), tmp_path / "other", tokenizer, mask="assistant", pack=301)
    sentitok.encode_chats(random_chats(3, 5), tmp_path / "plain", tokenizer, pack=300)
    both = TokenDataset(tmp_path / "1", tmp_path / "2").packed()
    parts = [TokenDataset(tmp_path / name).packed() for name in "12"]
    assert len(both) == sum(map(len, parts))
    for first, second in zip(both, [row for part in parts for row in part], strict=True):
        assert_equal(first, second)
    with pytest.raises(ValueError, match=r"other has .*301.*pack=N"):
        TokenDataset(tmp_path / "1", tmp_path / "other").packed()
    with pytest.raises(ValueError, match=r"1 has a mask and .*plain does not"):
        TokenDataset(tmp_path / "1", tmp_path / "plain").packed()


def test_rows_in_random_order(tokenizer: Tokenizer, tmp_path: Path) -> None:
    sentitok.encode_chats(random_chats(7, 40), tmp_path / "out", tokenizer, mask="assistant", pack=256)
    rows = TokenDataset(tmp_path / "out").packed()
    batches = rows.shuffled(3, seed=1)
    seen = np.concatenate([batches.numbers(step) for step in range(len(batches))])
    assert sorted(seen.tolist()) == list(range(len(rows)))
    batch = batches[0]
    assert isinstance(batch, PackedBatch)
    for place, number in enumerate(batches.numbers(0).tolist()):
        assert batch.ids[place].tolist() == rows[number].ids.tolist()


def test_a_loader_gives_tensors(tokenizer: Tokenizer, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    sentitok.encode_chats(random_chats(8, 40), tmp_path / "out", tokenizer, mask="assistant", pack=256)
    batches = TokenDataset(tmp_path / "out").packed().shuffled(4, seed=2)
    for workers in (0, 1):
        loader = torch.utils.data.DataLoader(batches, batch_size=None, num_workers=workers)
        for found, expected in zip(loader, batches, strict=True):
            assert isinstance(found, PackedBatch)
            assert (found.ids.dtype, found.mask.dtype) == (torch.int64, torch.bool)
            for name in PackedBatch._fields:
                assert getattr(found, name).tolist() == getattr(expected, name).tolist()


@pytest.mark.parametrize("rule", ["left", "right", "drop", "error"])
def test_chats_longer_than_a_row(rule: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    chats = random_chats(9, 50)
    path = written(tmp_path / "chats.jsonl", chats)
    pairs = encoded(tokenizer, chats)
    length = sorted(len(ids) for ids, _ in pairs)[25]
    out = tmp_path / "out"
    if rule == "error":
        first = next(number for number, (ids, _) in enumerate(pairs, 1) if len(ids) > length)
        with pytest.raises(EncodeError, match=rf"chats.jsonl, line {first}: .* {length}; .*truncate="):
            sentitok.encode_chats(path, out, tokenizer, mask="assistant", pack=length)
        assert not (out / "manifest.json").exists()
        assert not [*out.glob("*")]
        return
    manifest = sentitok.encode_chats(path, out, tokenizer, mask="assistant", pack=length, truncate=rule)
    part = {"left": slice(-length, None), "right": slice(length), "drop": slice(0)}[rule]
    kept = [(ids, mask) if len(ids) <= length else (ids[part], mask[part]) for ids, mask in pairs]
    kept = [(ids, mask) for ids, mask in kept if any(mask)]
    found = TokenDataset(out)
    assert sorted(ids.tolist() for ids in found) == sorted(ids for ids, _ in kept)
    n_longer = sum(len(ids) > length for ids, _ in pairs)
    assert manifest["chats"]["dropped"] == len(pairs) - len(kept)
    assert manifest["chats"]["truncated"] == n_longer - (len(pairs) - len(kept))


def test_kinds_of_chats(tokenizer: Tokenizer, tmp_path: Path) -> None:
    messages = [user("a"), assistant("b")]
    tools = [{"type": "function", "function": {"name": "f"}}]
    sharegpt = [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]
    chats: list[Any] = [
        {"messages": messages},
        messages,
        {"conversations": sharegpt, "id": 7},
        {"conversations": messages, "messages": None},
        {"messages": messages, "tools": tools},
        {"conversations": sharegpt, "tools": json.dumps(tools)},
        {"messages": messages, "tools": ""},
    ]
    path = written(tmp_path / "chats.jsonl", chats)
    for source, out in ((path, "a"), (chats, "b"), (iter(chats), "c")):
        manifest = sentitok.encode_chats(source, tmp_path / out, tokenizer, mask="assistant")
        assert manifest["chats"]["kinds"] == {"conversations": 3, "messages": 4}
        found = [ids.tolist() for ids in TokenDataset(tmp_path / out)]
        plain = tokenizer.apply_chat_template(messages).ids.tolist()
        with_tools = tokenizer.apply_chat_template(messages, tools=tools).ids.tolist()
        assert found == [plain, plain, plain, plain, with_tools, with_tools, plain]


# A line of JSON Lines, its column, and a part of the message.
BAD_LINES = [
    ('{"messages": [', 15, "Expecting value"),
    ("[1", 3, "delimiter"),
    ('{"messages": nope}', 14, "no JSON"),
    ("7", 1, "7 is not a chat"),
    ('  {"text": "a"}', 3, "'text'"),
    ('{"messages": [], "conversations": []}', 1, "both"),
    ('{"messages": []}', 14, "at least one message"),
    ('{"messages": "hi"}', 14, "'hi'"),
    ('{"messages": [7]}', 15, "a message is 7"),
    ('{"messages": [{"content": "a"}]}', 15, "role"),
    ('{"messages": [{"role": "user", "content": "a"}, {"role": 7}]}', 58, "role of a message is 7"),
    ('{"conversations": [{"from": "human"}]}', 20, "value is None"),
    ('{"conversations": [{"from": "human", "value": 7}]}', 47, "value is 7"),
    ('{"conversations": [{"value": "a"}]}', 20, "from and value"),
    ('{"conversations": [{"from": "robot", "value": "a"}]}', 29, "'robot'.*human"),
    ('{"messages": [{"role": "user"}], "tools": "["}', 43, "tools"),
    ('{"messages": [{"role": "user"}], "tools": {"a": 1}}', 43, "a list of objects"),
    ('{"messages": [{"role": "user"}], "documents": ["a"]}', 47, "documents"),
]


@pytest.mark.parametrize(("line", "column", "said"), BAD_LINES)
def test_lines_that_are_no_chat(
    line: str, column: int, said: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    path = tmp_path / "chats.jsonl"
    good = json.dumps({"messages": [user("a"), assistant("b")]})
    path.write_text(f"{good}\n\n{line}\n", "utf-8")
    with pytest.raises(FormatError, match=f"chats.jsonl, line 3, column {column}: .*{said}"):
        sentitok.encode_chats(path, tmp_path / "out", tokenizer)
    assert not [*(tmp_path / "out").glob("*")]


def test_chats_in_memory_that_are_none(tokenizer: Tokenizer, tmp_path: Path) -> None:
    chats = [[user("a")], {"messages": [user("a"), {"content": "b"}]}]
    with pytest.raises(FormatError, match=r"chat 1, counted from 0, \$.messages\[1\]: the role"):
        sentitok.encode_chats(chats, tmp_path / "out", tokenizer)
    with pytest.raises(EncodeError, match=r"chat 0, counted from 0: .*none of the assistant"):
        sentitok.encode_chats(chats, tmp_path / "out", tokenizer, mask="assistant")
    with pytest.raises(EncodeError, match=r"chat 0, counted from 0: .*writes nothing"):
        sentitok.encode_chats(chats, tmp_path / "out", tokenizer, chat_template="{{ '' }}")
    with pytest.raises(TypeError, match="source is 7"):
        sentitok.encode_chats(7, tmp_path / "out", tokenizer)  # type: ignore[arg-type]  # 2026-11-30: on purpose


# Options, the kind of error, and a part of the message.
BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"mask": "user"}, ValueError, "'user'"),
    ({"specials": "raise"}, ValueError, "'raise'"),
    ({"truncate": "middle", "pack": 9}, ValueError, "error, drop, left, right, not 'middle'"),
    ({"truncate": "left"}, ValueError, "truncate= .*pack="),
    ({"cut": True}, ValueError, "cut= .*pack="),
    ({"pad": "!"}, ValueError, "pad= .*pack="),
    ({"cut": True, "truncate": "left", "pack": 9}, ValueError, "leave out truncate='left'"),
    ({"pack": 0}, ValueError, "pack=0: .*at least 1"),
    ({"pack": 1 << 31}, ValueError, "pack=2147483648"),
    ({"pack": 4.0}, TypeError, "pack=4.0"),
    ({"pack": 9, "pad": "nope"}, ValueError, "'nope'"),
    ({"shard_tokens": 0}, ValueError, "shard_tokens=0"),
    ({"buffer_tokens": 0}, ValueError, "buffer_tokens=0"),
    ({"processes": 0}, ValueError, "processes=0"),
]


@pytest.mark.parametrize(("options", "kind", "said"), BAD)
def test_options_that_are_refused(
    options: dict[str, Any], kind: type[Exception], said: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=said):
        sentitok.encode_chats([[user("a")]], tmp_path / "out", tokenizer, **options)
    assert not (tmp_path / "out").exists()


def test_a_tokenizer_without_a_template_or_padding(tokenizer: Tokenizer, tmp_path: Path) -> None:
    settings = tokenizer.settings.replace(chat_template=None)
    with pytest.raises(ValueError, match="chat_template="):
        sentitok.encode_chats([[user("a")]], tmp_path / "out", tokenizer.with_settings(settings))
    settings = tokenizer.settings.replace(eos_token=None)
    with pytest.raises(ValueError, match="pad="):
        sentitok.encode_chats([[user("a")]], tmp_path / "out", tokenizer.with_settings(settings), pack=9)


def test_a_directory_that_is_there(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = written(tmp_path / "chats.jsonl", random_chats(10, 8))
    out = tmp_path / "out"
    first = sentitok.encode_chats(path, out, tokenizer, mask="assistant", pack=300)
    before = files_of(out)
    again = sentitok.encode_chats(path, out, tokenizer, mask="assistant", pack=300)
    assert json.loads(json.dumps(again)) == json.loads(json.dumps(first))
    with pytest.raises(FileExistsError, match="pack"):
        sentitok.encode_chats(path, out, tokenizer, mask="assistant", pack=301)
    with pytest.raises(FileExistsError, match=r"not known|sources"):
        sentitok.encode_chats(random_chats(10, 8), out, tokenizer, mask="assistant", pack=300)
    written(path, random_chats(11, 9))
    with pytest.raises(FileExistsError, match=r"sources.*resume=False"):
        sentitok.encode_chats(path, out, tokenizer, mask="assistant", pack=300)
    assert files_of(out) == before
    sentitok.encode_chats(path, out, tokenizer, resume=False)
    assert sorted(files_of(out)) == ["manifest.json", "shard-00000.bin", "shard-00000.idx.npy"]
    # Texts are another data set, too.
    sentitok.encode_files(texts=["a"], out_dir=tmp_path / "texts", tokenizer=tokenizer)
    with pytest.raises(FileExistsError, match="chats"):
        sentitok.encode_chats(path, tmp_path / "texts", tokenizer)
    for resume in (True, False):
        with pytest.raises(ValueError, match="holds chats"):
            sentitok.encode_files(texts=["a"], out_dir=out, tokenizer=tokenizer, resume=resume)


def test_a_run_that_fails_leaves_nothing(tokenizer: Tokenizer, tmp_path: Path) -> None:
    chats = [*random_chats(12, 8), {"messages": 5}]
    for out in (tmp_path / "out", tmp_path / "in" / "folders"):
        with pytest.raises(FormatError):
            sentitok.encode_chats(chats, out, tokenizer, shard_tokens=50)
        assert not list(tmp_path.iterdir())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(FormatError):
        sentitok.encode_chats(chats, tmp_path / "mine", tokenizer, shard_tokens=50)
    assert files_of(tmp_path / "mine") == {"notes.txt": b"mine"}


def damage(path: Path, change: Any) -> None:
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), "utf-8")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("shard-00000.mask.bin", "mask.bin"),
        ("shard-00000.rows.npy", "rows.npy"),
        ("shard-00000.bin", "bin"),
        ("shard-00000.idx.npy", "idx.npy"),
    ],
)
def test_damaged_files(name: str, said: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sentitok.encode_chats(random_chats(12, 9), out, tokenizer, mask="assistant", pack=300)
    data = bytearray((out / name).read_bytes())
    data[-1] ^= 1
    (out / name).write_bytes(data)
    assert [said in problem for problem in verify(out).problems] == [True]
    (out / name).write_bytes(data[:-1])
    assert [said in problem for problem in verify(out).problems] == [True]
    with pytest.raises(FormatError, match=said):
        TokenDataset(out)
    (out / name).unlink()
    assert [said in problem for problem in verify(out).problems] == [True]
    with pytest.raises(FileNotFoundError):
        TokenDataset(out)


CHANGES: list[tuple[Any, str]] = [
    (lambda m: m["shards"][0].pop("mask"), r"\$.shards\[0\].* mask"),
    (lambda m: m["shards"][0].pop("rows_index"), r"\$.shards\[0\].* rows"),
    (lambda m: m.pop("pack"), r"\$.pack"),
    (lambda m: m.update(pack=7), r"\$.pack is 7"),
    (lambda m: m["pack"].update(length=0), r"\$.pack.length"),
    (lambda m: m["shards"][0].update(rows=-1), r"\$.shards\[0\].rows"),
    (lambda m: m["shards"][0].update(mask="../x"), r"\$.shards\[0\].mask is '../x'"),
    (lambda m: m["shards"][0].update(rows_sha256=None), r"\$.shards\[0\].rows_sha256"),
    (lambda m: m.update(chats=None), r"a mask, unlike \$.chats"),
]


@pytest.mark.parametrize(("change", "said"), CHANGES)
def test_damaged_manifests(change: Any, said: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sentitok.encode_chats(random_chats(13, 9), out, tokenizer, mask="assistant", pack=300)
    damage(out / "manifest.json", change)
    with pytest.raises(FormatError, match=said):
        TokenDataset(out)
    assert len(verify(out).problems) == 1


def test_a_row_that_is_longer_than_the_manifest_says(tokenizer: Tokenizer, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sentitok.encode_chats(random_chats(14, 9), out, tokenizer, pack=300)
    damage(out / "manifest.json", lambda m: m["pack"].update(length=8))
    with pytest.raises(FormatError, match="8 at most"):
        TokenDataset(out).packed().take([0])


def test_rows_by_wrong_numbers(tokenizer: Tokenizer, tmp_path: Path) -> None:
    sentitok.encode_chats(random_chats(15, 9), tmp_path / "out", tokenizer, pack=300)
    rows = TokenDataset(tmp_path / "out").packed()
    for wrong in ([len(rows)], [-1]):
        with pytest.raises(IndexError, match=str(wrong[0])):
            rows.take(wrong)
    with pytest.raises(IndexError, match=str(len(rows))):
        rows[len(rows)]
    for bad in (0.5, [[0]], ["a"]):
        with pytest.raises(TypeError, match="whole numbers"):
            rows.take(bad)
    empty = rows.take([])
    assert empty.ids.shape == (0, 300)
    assert empty.boundaries.tolist() == [0]


def test_no_chats_at_all(tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "chats.jsonl").write_text("\n\n", "utf-8")
    manifest = sentitok.encode_chats(
        tmp_path / "chats.jsonl", tmp_path / "out", tokenizer, mask="assistant", pack=9
    )
    assert (manifest["documents"], manifest["shards"]) == (0, [])
    assert len(TokenDataset(tmp_path / "out").packed()) == 0


def test_a_buffer_has_a_limit_of_ids_and_of_chats(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(1)
    lengths = [draw.randint(1, 30) for _ in range(200)]
    pieces = [packing.Piece(np.full(n, number, np.uint32), None) for number, n in enumerate(lengths)]

    def rows(parts: list[list[int]]) -> list[list[int]]:
        """Of parts of the numbers, packed one after the other."""
        found: list[list[int]] = []
        for part in parts:
            found += [[part[one] for one in row] for row in slow.best_fit([lengths[n] for n in part], 40)]
        return found

    parts: list[list[int]] = [[]]
    for number, n in enumerate(lengths):
        if sum(lengths[one] for one in parts[-1]) + n > 300:
            parts.append([])
        parts[-1].append(number)
    packed = packing.packed_rows(pieces, 40, 300)
    assert [[int(piece.ids[0]) for piece in row] for row in packed] == rows(parts)
    monkeypatch.setattr(packing, "_BUFFER_CHATS", 7)
    packed = packing.packed_rows(pieces, 40)
    sevens = [[*range(start, min(start + 7, 200))] for start in range(0, 200, 7)]
    assert [[int(piece.ids[0]) for piece in row] for row in packed] == rows(sevens)


def test_long_rows_are_packed_quickly() -> None:
    """Thousands of chats in rows of a million ids: no step looks at all rows."""
    draw = random.Random(0)
    lengths = [draw.randint(1, 1 << 14) for _ in range(20_000)]
    rows = packing.best_fit_rows(lengths, 1 << 20)
    assert sorted(number for row in rows for number in row) == list(range(len(lengths)))
    assert len(rows) == -(-sum(lengths) // (1 << 20))


def test_the_command_writes_what_the_call_does(prepared: Path) -> None:
    done = run(
        "encode",
        "chats.jsonl",
        "--chat",
        "model",
        "--mask",
        "--pack",
        "512",
        "-o",
        "by-command",
        cwd=prepared,
    )
    assert done.code == 0, done.err
    assert re.search(r"^chats +20 with messages$", done.out, re.M)
    assert re.search(r"^rows +\d+ of 512 ids, [\d.]+% filled$", done.out, re.M)
    tokenizer = Tokenizer.from_pretrained(prepared / "model")
    with contextlib.chdir(prepared):
        sentitok.encode_chats("chats.jsonl", "by-call", tokenizer, mask="assistant", pack=512)
    assert files_of(prepared / "by-command") == files_of(prepared / "by-call")
    again = run(
        "encode",
        "chats.jsonl",
        "--chat",
        "model",
        "--mask",
        "--pack",
        "512",
        "-o",
        "by-command",
        cwd=prepared,
    )
    assert "left alone" in again.out
    info = run("info", "by-command", cwd=prepared).out
    assert re.search(r"^pack.length +512$", info, re.M)
    assert re.search(r"^chats.mask +assistant$", info, re.M)
    assert run("verify", "by-command", "-t", "model", cwd=prepared).code == 0
    (prepared / "by-command" / "shard-00000.mask.bin").write_bytes(b"")
    assert run("verify", "by-command", cwd=prepared).code == 1


def test_the_command_with_another_template_processes_and_stdin(prepared: Path) -> None:
    chats = (prepared / "chats.jsonl").read_bytes()
    (prepared / "own.jinja").write_text(
        "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}"
        "{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}: {% endif %}{% endfor %}",
        "utf-8",
    )
    options = [
        "--chat",
        "model",
        "--chat-template",
        "own.jinja",
        "--mask",
        "--pack",
        "50",
        "--pack-cut",
        "--json",
    ]
    done = run("encode", "-", *options, "--pad", "a", "-o", "piped", cwd=prepared, stdin=chats)
    assert done.code == 0, done.err
    manifest = json.loads(done.out)["manifest"]
    assert manifest["pack"] == {"length": 50, "cut": True, "pad_id": 64}
    again = run("encode", "-", *options, "--pad", "a", "-o", "piped", cwd=prepared, stdin=chats)
    assert (again.code, "same pipe" in again.err) == (2, True)
    done = run(
        "encode",
        "chats.jsonl",
        *options,
        "--pad",
        "a",
        "-o",
        "two",
        "--engine",
        "processes",
        "--workers",
        "2",
        cwd=prepared,
    )
    assert done.code == 0, done.err
    names = ["shard-00000.bin", "shard-00000.idx.npy", "shard-00000.mask.bin", "shard-00000.rows.npy"]
    assert all(
        (prepared / "two" / name).read_bytes() == (prepared / "piped" / name).read_bytes() for name in names
    )


def test_chats_and_shards_behind_urls(prepared: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="the extra `remote` is not installed")
    store = fsspec.filesystem("memory")
    store.store.clear()
    for path in [prepared / "chats.jsonl", *sorted((prepared / "model").iterdir())]:
        store.pipe(f"/d/{path.relative_to(prepared).as_posix()}", path.read_bytes())
    options = ["--mask", "--pack", "512"]
    for source, model, out in (
        ("chats.jsonl", "model", "here"),
        ("memory://d/chats.jsonl", "memory://d/model", "memory://d/out"),
        ("memory://d/chats.jsonl", "memory://d/model", "memory://d/out"),
    ):
        done = run("encode", source, "--chat", model, *options, "-o", out, cwd=prepared)
        assert done.code == 0, done.err
    assert "left alone" in done.out
    here, there = TokenDataset(prepared / "here"), TokenDataset("memory://d/out")
    assert len(here.packed()) == len(there.packed()) > 2
    for first, second in zip(here.packed(), there.packed(), strict=True):
        assert_equal(first, second)
    assert here.mask(3).tolist() == there.mask(3).tolist()
    assert not verify("memory://d/out").problems
    data = store.cat("/d/out/shard-00000.rows.npy")
    store.pipe("/d/out/shard-00000.rows.npy", data[:-16] + data[-8:] + data[-16:-8])
    assert ["rows.npy" in problem for problem in verify("memory://d/out").problems] == [True]
    with pytest.raises(FormatError, match=r"rows.npy"):
        TokenDataset("memory://d/out").packed()[0]
    store.store.clear()


CHATS = ["encode", "chats.jsonl", "--chat", "model", "-o", "x"]
# The typed words, and a part of the message.
WRONG_CALLS: list[tuple[list[str], str]] = [
    (["encode", "corpus.txt", "-o", "x", "--mask"], "--mask: it is for chats; add --chat"),
    (["encode", "corpus.txt", "-o", "x", "--pack", "9"], "--pack: it is for chats"),
    (["encode", "--text", "x", "--truncate", "left"], "--truncate: it is for chats"),
    (["encode", "chats.jsonl", "--chat", "model"], "-o DIR"),
    (["encode", "--chat", "model", "-o", "x"], "SRC"),
    ([*CHATS, "-t", "tokenizer.json"], "--tokenizer: "),
    ([*CHATS, "--text", "a"], "--text: "),
    ([*CHATS, "--layout", "megatron"], "--layout: "),
    ([*CHATS, "--separator", "a"], "--separator: "),
    ([*CHATS, "--add-special-tokens"], "--add-special-tokens: "),
    ([*CHATS, "--format", "lines"], "--format: "),
    ([*CHATS, "--invalid-utf8", "bytes"], "--invalid-utf8: "),
    ([*CHATS, "--shard", "0/2"], "--shard: "),
    ([*CHATS, "--specials", "raise"], "--specials raise"),
    ([*CHATS, "--engine", "ray"], "--engine ray"),
    ([*CHATS, "--pack-cut"], "--pack-cut: it is about rows; add --pack"),
    ([*CHATS, "--truncate", "left"], "--truncate: it is about rows"),
    ([*CHATS, "--pad", "a"], "--pad: it is about rows"),
    ([*CHATS, "--pack", "9", "--pack-cut", "--truncate", "left"], "--truncate: --pack-cut"),
    ([*CHATS, "--pack", "0"], "below 1"),
    ([*CHATS, "--pack", "9", "--truncate", "up"], "not 'up'"),
    ([*CHATS, "--pack", "9"], "line 1: the chat has"),
    ([*CHATS, "--pack", "9"], "--truncate left, right or drop, or --pack-cut"),
    ([*CHATS, "--pack", "99", "--pad", "nope"], "--pad nope is not a token"),
    ([*CHATS, "--chat-template", "nowhere.jinja"], "nowhere.jinja: no such file"),
    ([*CHATS, "--chat-template", "{{ messages[0].content }}"], "no such file"),
    (["encode", "corpus.txt", "--chat", "model", "-o", "x"], "corpus.txt, line 2, column 1: no JSON"),
    (["encode", "reviews.jsonl", "--chat", "model", "-o", "x"], "reviews.jsonl, line 1, column 1: no chat"),
    (["encode", "chats.jsonl", "--chat", "tokenizer.json", "-o", "x"], "tokenizer.json has no chat template"),
    (["encode", "chats.jsonl", "--chat", "nowhere", "-o", "x"], "nowhere"),
    (["encode", "nowhere.jsonl", "--chat", "model", "-o", "x"], "nowhere.jsonl"),
    (["encode", "chats.jsonl", "--chat", "model", "-o", "tokens"], "tokens: holds another data set: chats"),
    (["encode", "chats.jsonl", "--chat", "model", "-o", "corpus.txt"], "corpus.txt"),
]


@pytest.mark.parametrize(("args", "said"), WRONG_CALLS)
def test_wrong_calls(args: list[str], said: str, prepared: Path) -> None:
    done = run(*args, cwd=prepared)
    assert done.code == (1 if "the chat has" in done.err else 2), done.err
    assert said in done.err
    assert "ValueError" not in done.err
    assert len(done.err.splitlines()) <= 5
    assert not (prepared / "x").exists()
