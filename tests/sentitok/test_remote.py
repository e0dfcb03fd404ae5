"""Files behind URLs: `memory://`, a web server with and without ranges, object stores; folders and globs."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import sentitok
from cli_runs import run as cli_run
from remote_servers import Bucket, Web, hub_server, web_server
from sentitok import remote
from sentitok.datasets import TokenDataset
from sentitok.remote import copies, inputs, listing, outputs, stores

fsspec = pytest.importorskip("fsspec", reason="the extra `remote` is not installed")

TEXT = "".join(f"line {i} of a text with words, and with more words\n" for i in range(3000)).encode()


@pytest.fixture
def memory() -> Iterator[Any]:
    """The store in memory, empty."""
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    yield fs
    fs.store.clear()


@pytest.fixture
def web() -> Iterator[Web]:
    """A web server with one text."""
    pytest.importorskip("aiohttp", reason="the extra `remote` is not installed")
    with web_server() as server:
        server.files["/a.txt"] = TEXT
        yield server


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses before further tries take no time."""
    monkeypatch.setattr(stores, "_PAUSES", (0.01,) * 4)
    for module in (stores, inputs, listing, copies):
        monkeypatch.setattr(module, "FIRST_PAUSES", (0.01,) * 2)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few kB, so that a short text has many."""
    monkeypatch.setattr(inputs, "BLOCK_BYTES", 1 << 14)


def counted(text: bytes = TEXT) -> sentitok.WordCounts:
    counts = sentitok.count(texts=text.decode().splitlines(keepends=True))
    assert counts is not None
    return counts


# Which strings are URLs, and how they are shown.


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3://bucket/key", True),
        ("memory://a", True),
        ("simplecache::https://host/a", True),
        (Path("s3://bucket/key"), True),
        ("file:///tmp/a", False),
        ("C://a", False),
        ("a/b.txt", False),
        ("-", False),
    ],
)
def test_urls_are_distinguished_from_paths(path: str | Path, expected: bool) -> None:
    assert remote.is_url(path) is expected


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("https://user:geheim@host/a.txt", ["geheim", "user"]),
        ("https://host/a?X-Amz-Signature=geheim&X-Amz-Credential=wer&part=1", ["geheim", "wer"]),
        ("https://host/a?sv=2024&sig=geheim%3D", ["geheim"]),
        ("https://host/a?access_token=geheim", ["geheim"]),
        ("https://host/a?geheim0123456789abcdefghijkl", ["geheim"]),
    ],
)
def test_credentials_of_a_url_are_not_shown(url: str, secrets: list[str]) -> None:
    name = remote.shown(url)
    assert not [secret for secret in secrets if secret in name]
    assert name.startswith("https://")
    assert "***" in name
    assert remote.shown("https://host/a?part=1&page=2") == "https://host/a?part=1&page=2"


def test_without_a_url_nothing_is_imported(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT)
    code = (
        "import sys, sentitok; sentitok.count(sys.argv[1]); sentitok.count(sys.argv[1][:-5] + '*.txt');"
        "from sentitok.cli import main\n"
        "print([name for name in ('fsspec', 's3fs', 'aiohttp', 'requests', 'socket') if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.txt")], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]", ran.stderr


# Folders and globs.


def test_folders_and_globs_give_sorted_files(tmp_path: Path, memory: Any) -> None:
    names = ["b.txt", "a.txt", "sub/c.txt", ".hidden", ".sentitok-a.txt-abcdef", "sub/.git/d.txt"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
        memory.pipe(f"/top/{name}", name.encode())
    for root in (str(tmp_path), "memory://top"):
        for source, found in [
            (root, "a.txt b.txt sub/c.txt"),
            (f"{root}/", "a.txt b.txt sub/c.txt"),
            (f"{root}/*.txt", "a.txt b.txt"),
            (f"{root}/**/*.txt", "a.txt b.txt sub/c.txt"),
            (f"{root}/b.txt {root}/[a]*", "b.txt a.txt"),
        ]:
            assert remote.expand(source.split()) == [f"{root}/{name}" for name in found.split()], source
        with pytest.raises(FileNotFoundError, match="none-"):
            remote.expand([f"{root}/none-*.txt"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="empty"):
        sentitok.count(tmp_path / "empty")
    assert remote.expand(["-", "no-such-file"]) == ["-", "no-such-file"]


def test_a_file_whose_name_has_a_star_is_found_by_its_name(tmp_path: Path, memory: Any) -> None:
    for name in ("a*.txt", "ab.txt"):
        (tmp_path / name).write_bytes(TEXT)
        memory.pipe(f"/{name}", TEXT)
    assert remote.expand([tmp_path / "a*.txt"]) == [str(tmp_path / "a*.txt")]
    assert remote.expand(["memory://a*.txt"]) == ["memory://a*.txt"]


def test_functions_take_folders_and_globs(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(TEXT)
    both = counted() + counted()
    assert sentitok.count(tmp_path) == both
    assert sentitok.count(str(tmp_path / "*.txt")) == both
    assert sentitok.count([str(tmp_path / "a.txt"), str(tmp_path / "b*")]) == both
    assert sentitok.count((tmp_path / "a.txt").as_uri()) == counted()


def test_files_of_a_listing_are_not_asked_for_their_sizes(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(20):
        memory.pipe(f"/many/{n}.txt", TEXT)
    asked: list[str] = []
    about = inputs._Ranges._about

    def counted_about(self: Any) -> Any:
        asked.append(self._place.path)
        return about(self)

    monkeypatch.setattr(inputs._Ranges, "_about", counted_about)
    tokenizer = sentitok.train_bpe(texts=["a b"], vocab_size=257)
    manifest = sentitok.encode_files("memory://many", "memory://tokens", tokenizer)
    assert [source["bytes"] for source in manifest["sources"]] == [len(TEXT)] * 20
    assert len([path for path in asked if path.startswith("/many")]) == 40  # when opened and at the end
    memory.pipe("/many/0.txt", TEXT + b"more")
    assert remote.expand(["memory://many/0.txt"]) == ["memory://many/0.txt"]
    assert remote.size("memory://many/0.txt") == len(TEXT) + 4


# Reading.

WRITERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
}  # fmt: skip


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_remote_text_counts_as_a_local_one(memory: Any, suffix: str) -> None:
    memory.pipe(f"/a.txt{suffix}", WRITERS[suffix](TEXT))
    assert sentitok.count(f"memory://a.txt{suffix}") == counted()


def test_next_files_are_opened_while_one_is_read(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few files at a time, each of them once, in order; blocks that are fetched ahead stay few."""
    names = [f"memory://many/{number:02}.txt" for number in range(20)]
    for name in names:
        memory.pipe(name.removeprefix("memory:/"), TEXT)
    opened, most = [], 0
    fetched = inputs.Input._fetch

    class Noted(inputs.Input):
        def __init__(self, url: str, **more: Any) -> None:
            super().__init__(url, **more)
            opened.append(url)

        def _fetch(self, offset: int, length: int) -> Any:
            nonlocal most
            future = fetched(self, offset, length)
            most = max(most, len(self._ahead))
            return future

    monkeypatch.setattr(inputs, "Input", Noted)
    counted = sentitok.count(names, threads=1, progress=lambda *_: None)
    assert counted == sentitok.count(texts=(TEXT * 20).decode().splitlines(keepends=True))
    assert sorted(opened) == names
    assert most <= inputs.BLOCKS_AHEAD


@pytest.mark.parametrize("ranges", [True, False])
def test_a_web_server_with_and_without_ranges(web: Web, small_blocks: None, ranges: bool) -> None:
    web.ranges = ranges
    web.files["/a.txt.gz"] = gzip.compress(TEXT)
    assert sentitok.count(f"{web.address}/a.txt") == counted()
    assert sentitok.count(f"{web.address}/a.txt.gz") == counted()
    assert remote.read_bytes(f"{web.address}/a.txt") == TEXT
    assert remote.size(f"{web.address}/a.txt") == len(TEXT)
    asked = [range_ for path, range_ in web.requests if path == "/a.txt" and range_ is not None]
    # One by one in the Python reader, whose blocks are small here; as one stream where there are no ranges.
    assert len(set(asked)) > 5 if ranges else len(set(asked)) <= 3


def test_each_block_is_asked_for_once(web: Web, small_blocks: None) -> None:
    """The last block too, which is the shortest."""
    data = web.files["/b.txt"] = TEXT * (5 * (4 << 20) // len(TEXT))
    asked: dict[str, list[str | None]] = {}
    for reader, path in ((remote.read_bytes, "/a.txt"), (sentitok.count, "/b.txt")):
        reader(f"{web.address}{path}")
        asked[path] = [range_ for _, range_ in web.requests if range_ != "bytes=0-0"]
        web.requests.clear()
    starts = {path: [(range_ or "=").split("=")[1].split("-")[0] for range_ in asked[path]] for path in asked}
    assert sorted(map(int, starts["/b.txt"])) == list(range(0, len(data), 8 << 20))
    assert len(starts["/a.txt"]) == len(set(starts["/a.txt"])) > 5


@pytest.mark.parametrize("scheme", ["memory", "http", "s3", "gs"])
def test_every_shard_of_a_remote_file_is_that_of_the_local_one(
    request: pytest.FixtureRequest, tmp_path: Path, scheme: str
) -> None:
    local = tmp_path / "a.jsonl"
    local.write_bytes(b"".join(b'{"text": "%s"}\n' % line for line in TEXT.splitlines()))
    if scheme == "http":
        server = request.getfixturevalue("web")
        server.files["/a.jsonl"] = local.read_bytes()
        url = f"{server.address}/a.jsonl"
    else:
        path = "/a.jsonl" if scheme == "memory" else "corpora/a.jsonl"
        request.getfixturevalue(scheme).pipe(path, local.read_bytes())
        url = f"{scheme}://{path.lstrip('/')}"
    for n in (1, 3):
        for i in range(n):
            assert sentitok.count(url, shard=(i, n)) == sentitok.count(local, shard=(i, n)), (i, n)


def test_a_file_without_a_known_size_cannot_be_sharded_and_is_read_whole(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote.Input, "size", property(lambda _: None))
    assert sentitok.count(f"{web.address}/a.txt") == counted()
    with pytest.raises(sentitok.TrainError, match="shard"):
        sentitok.count(f"{web.address}/a.txt", shard=(0, 2))


def test_parquet_is_read_from_a_store(memory: Any, web: Web) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    lines = TEXT.decode().splitlines(keepends=True)
    pq.write_table(pa.table({"text": lines, "n": range(len(lines))}), sink, row_group_size=700)
    data = sink.getvalue().to_pybytes()
    memory.pipe("/p/a.parquet", data)
    web.files["/a.parquet"] = data
    assert sentitok.count("memory://p", format="parquet:text") == counted()
    assert sentitok.count(f"{web.address}/a.parquet", format="parquet:text") == counted()
    with pytest.raises(sentitok.FormatError, match=r"memory://p/a\.parquet.*'nope'"):
        sentitok.count("memory://p/*", format="parquet:nope")
    memory.pipe("/cut.parquet", data[: len(data) // 2])
    with pytest.raises(sentitok.FormatError, match=r"memory://cut\.parquet"):
        sentitok.count("memory://cut.parquet", format="parquet:text")


def test_a_folder_of_a_web_server_is_read_from_its_page(web: Web) -> None:
    web.files = {"/texts/a.txt": TEXT, "/texts/b.txt": TEXT}
    assert remote.expand([f"{web.address}/texts/"]) == [f"{web.address}/texts/{n}.txt" for n in "ab"]
    assert sentitok.count(f"{web.address}/texts/*.txt") == counted() + counted()


# Failures.


@pytest.mark.parametrize("ranges", [True, False])
def test_failures_that_pass_change_nothing(web: Web, quick: None, small_blocks: None, ranges: bool) -> None:
    web.ranges = ranges
    web.failures = [503, 503]
    assert remote.read_bytes(f"{web.address}/a.txt") == TEXT
    web.cut = 2
    assert remote.read_bytes(f"{web.address}/a.txt") == TEXT
    web.failures, web.cut = [429], 1
    assert sentitok.count(f"{web.address}/a.txt") == counted()


def test_failures_that_stay_are_an_error(web: Web, quick: None) -> None:
    web.failures = [503] * 50
    with pytest.raises(OSError, match="503") as caught:
        sentitok.count(f"{web.address}/a.txt")
    assert caught.value.filename == f"{web.address}/a.txt"
    assert len(web.requests) == 3  # a first contact gives up soon
    web.failures, web.cut = [], 10**6
    with pytest.raises(OSError, match=r"a\.txt"):
        remote.read_bytes(f"{web.address}/a.txt")


@pytest.mark.parametrize(
    ("status", "kind"), [(404, FileNotFoundError), (403, PermissionError), (401, PermissionError)]
)
def test_a_refusal_is_not_tried_again(web: Web, status: int, kind: type[OSError]) -> None:
    web.failures = [status] * 50
    with pytest.raises(kind) as caught:
        sentitok.count(f"{web.address}/a.txt")
    assert caught.value.filename == f"{web.address}/a.txt"
    assert len(web.requests) == 1


@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_that_changes_while_it_is_read_is_an_error(
    web: Web, quick: None, small_blocks: None, ranges: bool
) -> None:
    web.ranges = ranges
    file = remote.Input(f"{web.address}/a.txt")
    assert file.read_at(0, 100) == TEXT[:100]
    assert file.read_at(100, 100) == TEXT[100:200]
    web.etag = '"2"'
    with pytest.raises(OSError, match="changed") as caught:
        # A stream starts again for what lies behind; of ranges some are fetched ahead.
        [file.read_at(offset, 100) for offset in (50, 150, 250)]
    assert caught.value.filename == f"{web.address}/a.txt"


def test_the_extension_finds_out_that_a_file_of_the_web_changed(web: Web) -> None:
    web.files["/b.txt"] = TEXT * 200
    web.change_after = 2
    with pytest.raises(OSError, match=r"changed.*/b\.txt"):
        sentitok.count(f"{web.address}/b.txt")


def test_a_file_of_a_store_that_changes_while_it_is_read_is_an_error(memory: Any) -> None:
    memory.pipe("/a.txt", TEXT)
    file = remote.Input("memory://a.txt")
    assert file.read_at(0, 1000) == TEXT[:1000]
    memory.pipe("/a.txt", TEXT + b"more")
    with pytest.raises(OSError, match=r"changed.*memory://a\.txt"):
        file.check()


def test_the_extension_finds_out_that_a_file_changed(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe("/a.txt", TEXT)
    read = inputs._Ranges.read

    def and_change(self: Any, offset: int, length: int) -> bytes:
        data = read(self, offset, length)
        memory.pipe("/a.txt", TEXT + b"more")
        return data

    monkeypatch.setattr(inputs._Ranges, "read", and_change)
    with pytest.raises(OSError, match=r"changed.*memory://a\.txt"):
        sentitok.count("memory://a.txt")


@pytest.mark.parametrize(
    ("url", "kind", "words"),
    [
        ("memory://none.txt", FileNotFoundError, "memory://none.txt"),
        ("nostore://host/a", ValueError, "nostore"),
        ("http://127.0.0.1:9/a.txt", OSError, "reached"),
        ("memory://none/*.txt", FileNotFoundError, "glob"),
    ],
)
def test_a_wrong_address_is_one_clear_error(quick: None, url: str, kind: type[Exception], words: str) -> None:
    for read in (sentitok.count, sentitok.Tokenizer.from_file, sentitok.WordCounts.load, remote.read_bytes):
        if "*" in url and read is not sentitok.count:
            continue
        with pytest.raises(kind, match=words):
            read(url)


def test_no_message_holds_a_credential(web: Web, quick: None) -> None:
    web.failures = [503] * 50
    url = web.address.replace("//", "//user:geheim@") + "/a.txt?sig=verborgen&page=1"
    for read in (sentitok.count, sentitok.Tokenizer.from_file):
        with pytest.raises(OSError, match="page=1") as caught:
            read(url)
        error: BaseException | None = caught.value
        assert error is not None
        assert not [word for word in ("geheim", "verborgen") if word in f"{error} {error.args}"]
    web.failures = []
    tokenizer = sentitok.train_bpe(texts=["a b"], vocab_size=257)
    signed = f"{web.address}/a.txt?sig=verborgen"
    manifest = sentitok.encode_files(signed, "memory://tokens", tokenizer)
    assert "verborgen" not in str(manifest)
    assert manifest["sources"] == [{"name": f"{web.address}/a.txt?sig=***", "bytes": len(TEXT)}]


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.registry import _registry

    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ModuleNotFoundError, match=r"s3://bucket/a\.txt.*sentitok\[remote\]"):
        sentitok.count("s3://bucket/a.txt")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    monkeypatch.delitem(_registry, "gs", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"gs://bucket/a\.txt.*gcsfs"):
        sentitok.count("gs://bucket/a.txt")


def test_reading_stops_when_the_callback_raises(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    hold = threading.Event()
    web.files["/b.txt"] = TEXT * 200
    read = inputs._Web.read

    def slow(self: Any, offset: int, length: int) -> bytes:
        if offset:
            hold.wait(30)
        return read(self, offset, length)

    class StoppedError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StoppedError

    monkeypatch.setattr(inputs._Web, "read", slow)
    with pytest.raises(StoppedError):
        sentitok.count(f"{web.address}/b.txt", progress=stop)
    hold.set()


# S3 and Google's storage.


def test_a_store_is_read_and_written(store: tuple[str, Any], tmp_path: Path) -> None:
    bucket, fs = store
    for name in ("a.txt", "b.txt", "sub/c.txt", "sub/.hidden"):
        fs.pipe(f"corpora/texts/{name}", TEXT)
    url = f"{bucket}/texts"
    names = [f"{url}/a.txt", f"{url}/b.txt", f"{url}/sub/c.txt"]
    assert remote.expand([url]) == remote.expand([f"{url}/**/*.txt"]) == names
    fs.rm("corpora/texts/sub", recursive=True)
    local = tmp_path / "a.txt"
    local.write_bytes(TEXT)
    assert sentitok.count(url) == counted() + counted()
    assert sentitok.count(f"{url}/*.txt", out=f"{bucket}/all.counts") is None
    assert sentitok.WordCounts.load(f"{bucket}/all.counts") == counted() + counted()
    tokenizer = sentitok.train_bpe(url, vocab_size=300)
    assert tokenizer.save(f"{bucket}/t.json") == [f"{bucket}/t.json"]
    assert sentitok.Tokenizer.from_file(f"{bucket}/t.json").fingerprint == tokenizer.fingerprint
    written = sentitok.encode_files(local, tmp_path / "tokens", tokenizer, shard_tokens=5000)
    there = sentitok.encode_files(local, f"{bucket}/tokens", tokenizer, shard_tokens=5000)
    assert there == written
    names = sorted(Path(name).name for name in fs.find("corpora/tokens"))
    assert names == sorted(path.name for path in (tmp_path / "tokens").iterdir())
    for name in names:
        assert fs.cat(f"corpora/tokens/{name}") == (tmp_path / "tokens" / name).read_bytes(), name


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
def test_a_large_file_is_brought_to_a_store_in_pieces(
    store: tuple[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, fs = store
    n_bytes = 51 << 20  # pieces of gcsfs have 50 MiB
    if bucket.startswith("s3:"):  # pieces of s3fs have as many, from 100 MiB on
        monkeypatch.setattr("s3fs.core.calculate_chunksize", lambda *_, **__: 5 << 20, raising=False)
        n_bytes = 11 << 20
    (tmp_path / "a").write_bytes(bytes(n_bytes))
    remote.upload(tmp_path / "a", f"{bucket}/a")
    assert remote.read_bytes(f"{bucket}/a") == (tmp_path / "a").read_bytes()
    remote.move(f"{bucket}/a", f"{bucket}/b")
    assert [*fs.find("corpora")] == ["corpora/b"]
    remote.remove(f"{bucket}/b")
    remote.remove(f"{bucket}/b")
    assert not remote.exists(f"{bucket}/b")


def test_a_file_of_a_bucket_that_changes_while_it_is_read_is_an_error(store: tuple[str, Any]) -> None:
    bucket, fs = store
    fs.pipe("corpora/a.txt", TEXT)
    file = remote.Input(f"{bucket}/a.txt")
    assert file.read_at(0, 1000) == TEXT[:1000]
    fs.pipe("corpora/a.txt", TEXT.swapcase())
    with pytest.raises(OSError, match=rf"changed.*{bucket}/a\.txt"):
        file.check()


def test_an_interrupted_encoding_into_a_store_resumes(
    store: tuple[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, fs = store
    monkeypatch.setattr(outputs, "_SYNC_EVERY", 0.01)
    local = tmp_path / "a.txt"
    local.write_bytes(TEXT * 4)
    tokenizer = sentitok.train_bpe(local, vocab_size=300)
    whole = sentitok.encode_files(local, tmp_path / "tokens", tokenizer, shard_tokens=30_000)

    class StoppedError(Exception):
        pass

    calls = 0

    def stop(stage: str, done: int, total: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 3 and done > total // 3:
            raise StoppedError

    from contextlib import suppress

    with suppress(StoppedError):
        sentitok.encode_files(local, f"{bucket}/tokens", tokenizer, shard_tokens=30_000, progress=stop)
    there = sentitok.encode_files(local, f"{bucket}/tokens", tokenizer, shard_tokens=30_000)
    assert there == whole
    for path in (tmp_path / "tokens").iterdir():
        assert fs.cat(f"corpora/tokens/{path.name}") == path.read_bytes(), path.name
    # Again with fewer shards: the old manifest goes first.
    again = sentitok.encode_files(local, f"{bucket}/tokens", tokenizer, resume=False)
    assert len(again["shards"]) == 1
    with pytest.raises(sentitok.TrainError, match="shard_tokens"):
        sentitok.encode_files(local, f"{bucket}/tokens", tokenizer, shard_tokens=40_000)


def test_buckets_that_are_missing_or_forbidden(
    s3: Any, web: Web, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError, match="s3://no-such-bucket"):
        sentitok.count("s3://no-such-bucket/a.txt")
    with pytest.raises(OSError, match="s3://no-such-bucket"):
        counted().save("s3://no-such-bucket/a.counts")
    secret = os.environ["AWS_SECRET_ACCESS_KEY"]
    web.failures = [403] * 50
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", web.address)
    type(s3).clear_instance_cache()
    with pytest.raises(PermissionError, match="AWS_ACCESS_KEY_ID") as caught:
        sentitok.count("s3://corpora/a.txt")
    assert caught.value.filename == "s3://corpora/a.txt"
    assert secret not in str(caught.value)


def test_a_bucket_of_google_that_is_missing_or_forbidden(
    gs: Any, gs_bucket: Bucket, quick: None, caplog: pytest.LogCaptureFixture
) -> None:
    gs_bucket.put("a.txt", TEXT)
    with pytest.raises(FileNotFoundError, match="gs://no-such-bucket"):
        sentitok.count("gs://no-such-bucket/a.txt")
    with pytest.raises(OSError, match="gs://no-such-bucket"):
        counted().save("gs://no-such-bucket/a.counts")
    tokenizer = sentitok.train_bpe(texts=["a b"], vocab_size=257)
    for status in (401, 403):
        for call, url in (
            (sentitok.count, "gs://corpora/a.txt"),
            (sentitok.count, "gs://corpora/texts/"),
            (sentitok.count, "gs://corpora/*.txt"),
            (tokenizer.save, "gs://corpora/t.json"),
        ):
            gs_bucket.failures = [status] * 50
            gs_bucket.requests.clear()
            with pytest.raises(PermissionError, match="gcloud auth") as caught:
                call(url)
            assert caught.value.filename == url
            assert len(gs_bucket.requests) < 7  # it is not tried again
    gs_bucket.failures = []
    assert sentitok.count("gs://corpora/a.txt") == counted()
    assert not caplog.records


def test_missing_credentials_say_how_to_give_them(
    s3: Any, quick: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    type(s3).clear_instance_cache()
    with pytest.raises(PermissionError, match="AWS_ACCESS_KEY_ID"):
        sentitok.count("s3://corpora/a.txt")


# Writing.


def test_output_appears_whole_or_not_at_all(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = sentitok.train_bpe(texts=["a b"], vocab_size=257)
    memory.pipe("/t.json", b"before")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(stores, "_PAUSES", ())
        patch.setattr(memory, "put_file", full)
        patch.setattr(type(memory), "put_file", full)
        with pytest.raises(OSError, match=r"No space.*memory://t\.json"):
            tokenizer.save("memory://t.json")
    assert memory.cat("/t.json") == b"before"
    tokenizer.save("memory://t.json")
    assert sentitok.Tokenizer.from_file("memory://t.json").fingerprint == tokenizer.fingerprint
    assert sorted(memory.find("/")) == ["/t.json"]


def test_folders_of_tokenizers_are_written_and_read(memory: Any) -> None:
    tokenizer = sentitok.train_bpe(texts=["a b"], vocab_size=257)
    files = tokenizer.save_pretrained("memory://models/first")
    assert "memory://models/first/tokenizer.json" in files
    assert sentitok.Tokenizer.from_pretrained("memory://models/first").fingerprint == tokenizer.fingerprint
    assert sentitok.Tokenizer.from_file("memory://models/first").fingerprint == tokenizer.fingerprint


def test_a_web_server_is_not_written_to(web: Web) -> None:
    with pytest.raises(OSError, match=r"takes no files.*a\.counts"):
        counted().save(f"{web.address}/a.counts")


def test_counts_of_stores_are_merged(memory: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        counted().save(f"memory://parts/{name}.counts")
    totals = sentitok.merge_counts(["memory://parts/*.counts"], tmp_path / "all.counts")
    assert totals["documents"] == 2 * counted().totals["documents"]
    assert sentitok.WordCounts.load(tmp_path / "all.counts") == counted() + counted()
    memory.pipe("/parts/c.counts", b"#sentitok-counts 1 damaged")
    with pytest.raises(ValueError, match=r"memory://parts/c\.counts"):
        sentitok.merge_counts(["memory://parts/c.counts"], tmp_path / "all.counts")


def test_datatrove_files_of_a_store_become_shards_there(memory: Any, tmp_path: Path) -> None:
    import numpy as np

    from sentitok.datatrove import from_datatrove

    tokenizer = sentitok.train_bpe(texts=["a b"], vocab_size=257)
    memory.pipe("/ds/a.ds", np.array([97, 98, 99], "<u2").tobytes())
    memory.pipe("/ds/a.ds.index", np.array([2, 3], "<u8").tobytes())
    manifest = from_datatrove("memory://ds", "memory://tokens", tokenizer)
    assert (manifest["documents"], manifest["tokens"]) == (2, 3)
    assert memory.cat("/tokens/shard-00000.bin") == memory.cat("/ds/a.ds")


def test_data_sets_of_the_hub_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    hub.HfFileSystem.clear_instance_cache()
    files = {"data/a.txt": TEXT, "data/b.txt": b"other words\n", "data/c.md": b"none"}
    with hub_server("team/texts", files) as web:
        monkeypatch.setitem(fsspec.config.conf, "hf", {"endpoint": web.address, "token": False})
        folder = "hf://datasets/team/texts/data"
        assert sentitok.count(f"{folder}/a.txt") == counted()
        assert remote.expand([f"{folder}/"]) == [f"{folder}/{name}" for name in ("a.txt", "b.txt", "c.md")]
        both = counted() + counted(files["data/b.txt"])
        assert sentitok.count(f"{folder}/*.txt") == both
        with ThreadPoolExecutor(2) as executor:
            sentitok.count(f"{folder}/*.txt", out=tmp_path / "c", executor=executor, shard_bytes=50_000)
        assert (tmp_path / "c").read_bytes() == both.to_bytes()
        with pytest.raises(FileNotFoundError, match=r"none\.txt"):
            remote.read_bytes(f"{folder}/none.txt")
        file = remote.Input(f"{folder}/a.txt")
        # Equally long, so only the name that git gives the content differs.
        web.files["/datasets/team/texts/resolve/main/data/a.txt"] = TEXT.swapcase()
        with pytest.raises(OSError, match=r"changed.*a\.txt"):
            file.check()
    hub.HfFileSystem.clear_instance_cache()


def test_workers_write_to_a_store(store: tuple[str, Any], tmp_path: Path) -> None:
    """From the command line, by a process that shares nothing but the store."""
    bucket, fs = store
    fs.pipe("corpora/in/a.txt", TEXT)
    sentitok.train_bpe(texts=TEXT.decode().splitlines(), vocab_size=280).save(f"{bucket}/t.json")
    spread = ["--engine", "processes", "--workers", "1", "--shard-bytes", "50K"]
    calls = [
        ["count", f"{bucket}/in/", *spread, "-o", f"{bucket}/all.counts"],
        ["encode", f"{bucket}/in/", *spread, "-t", f"{bucket}/t.json", "-o", f"{bucket}/tokens"],
    ]
    for call in calls:
        done = cli_run(*call, cwd=tmp_path)
        assert (done.code, call[-1] in done.out) == (0, True), done.err
    assert fs.cat_file("corpora/all.counts") == counted().to_bytes()
    TokenDataset(f"{bucket}/tokens").verify()
    assert not [path for path in fs.find("corpora") if "parts" in path]
    again = [cli_run(*call, cwd=tmp_path) for call in calls]
    assert [done.code for done in again] == [2, 0]
    assert f"{bucket}/all.counts" in again[0].err
    assert "was complete" in again[1].out
