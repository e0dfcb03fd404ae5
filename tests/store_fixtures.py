"""Object stores that tests read and write: S3 and Google's, each on a server of this process."""

from collections.abc import Iterator
from typing import Any

import pytest

from remote_servers import Bucket, gs_server, s3_server


@pytest.fixture(scope="session")
def s3_address() -> Iterator[str]:
    """An S3 server."""
    pytest.importorskip("s3fs", reason="the extra `remote` is not installed")
    pytest.importorskip("moto", reason="moto is not installed")
    with s3_server() as address:
        yield address


@pytest.fixture
def s3(s3_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of the S3 server, whose bucket `corpora` is empty."""
    import s3fs

    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    s3fs.S3FileSystem.clear_instance_cache()
    fs = s3fs.S3FileSystem()
    if fs.exists("corpora"):
        fs.rm("corpora", recursive=True)
    fs.mkdir("corpora")
    yield fs
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def gs_bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """The bucket `corpora` of a server of Google's storage, empty."""
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # it asks the real one by gRPC
    pytest.importorskip("gcsfs", reason="gcsfs is not installed")
    import fsspec

    monkeypatch.setitem(fsspec.config.conf, "gs", {"token": "anon"})
    monkeypatch.setenv("FSSPEC_GS_TOKEN", "anon")  # for processes that are started
    with gs_server("corpora") as bucket:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", bucket.address)
        yield bucket


@pytest.fixture
def gs(gs_bucket: Bucket) -> Iterator[Any]:
    """A client of it."""
    import fsspec
    import gcsfs

    gcsfs.GCSFileSystem.clear_instance_cache()
    yield fsspec.filesystem("gs")
    gcsfs.GCSFileSystem.clear_instance_cache()


@pytest.fixture(params=["s3", "gs"])
def store(request: pytest.FixtureRequest) -> tuple[str, Any]:
    """A store whose bucket `corpora` is empty: the beginning of its URLs, and a client."""
    return f"{request.param}://corpora", request.getfixturevalue(request.param)
