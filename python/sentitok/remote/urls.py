"""URLs as names: which strings are URLs, and how messages show them without credentials."""

import os
import re

from ..messages import local_names

# At least two letters before the colon: `C://` is a drive. `simplecache::s3://` is a chain of fsspec.
URL_START = re.compile(r"(?:[a-z0-9]+::)*([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
# `pathlib` makes one slash of two.
_COLLAPSED = re.compile(r"((?:[a-z0-9]+::)*(?!file\b|local\b)[a-z][a-z0-9+.-]+):/(?!/)", re.IGNORECASE)
_LOCAL = ("file", "local")
HTTP = ("http", "https")
# Parameters of a query that give access; their values are never shown.
_SECRET_KEY = re.compile(
    r"sig|token|key|secret|credential|passw|pwd|auth|session|jwt|policy|expires|^x-(amz|goog)-|^s[a-z]{1,2}$|"
    r"^sk[a-z]+$",
    re.IGNORECASE,
)
# A value as long as this may be a credential, whatever its name.
_SECRET_LENGTH = 24
_HIDDEN = "***"
# Settings of the environment whose values are never shown.
_SECRET_SETTING = re.compile(r"SECRET|TOKEN|PASSWORD|_KEY$|ACCESS_KEY|CREDENTIAL", re.IGNORECASE)
# The URL behind each name that is shown without its credentials.
real_urls: dict[str, str] = {}


def is_url(path: object) -> bool:
    """Whether a path names a file that only fsspec reads; `file://` does not."""
    found = URL_START.match(text_of(path))
    return found is not None and found[1].lower() not in _LOCAL


def local_name(path: str | os.PathLike[str]) -> str:
    """Returns a path as a string: a URL as it is, the path of a `file://` URL."""
    text = text_of(path)
    found = URL_START.match(text)
    if found is None or found[1].lower() not in _LOCAL:
        return text
    rest = text[found.end() :].removeprefix("localhost")
    rest = rest if rest.startswith("/") else f"/{rest}"
    if os.name == "nt":
        rest = rest.removeprefix("/")
    if "%" in rest and not os.path.lexists(rest):
        data = re.sub(rb"%([0-9a-fA-F]{2})", lambda found: bytes([int(found[1], 16)]), os.fsencode(rest))
        return os.fsdecode(data)
    return rest


def text_of(path: object) -> str:
    """Returns a path as a string, with both slashes of a URL that went through `pathlib`."""
    text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else str(path)
    if isinstance(path, os.PathLike) and (found := _COLLAPSED.match(text)) and not os.path.lexists(text):
        return f"{found[1]}://{text[found.end() :]}"
    return text


def join(folder: str, name: str) -> str:
    """Returns the URL of a file in a folder."""
    return f"{folder.rstrip('/')}/{name}"


def shown(path: object) -> str:
    """Returns a path as messages, manifests and errors show it: without credentials.

    A user's password and the values of a query that give access become `***`.
    """
    text = text_of(path)
    found = URL_START.match(text)
    if found is None:
        return text
    start, rest = text[: found.end()], text[found.end() :]
    rest, hash_, fragment = rest.partition("#")
    rest, mark, query = rest.partition("?")
    host, slash, name = rest.partition("/")
    if "@" in host:
        host = f"{_HIDDEN}@{host.rpartition('@')[2]}"
    pairs = [_shown_pair(pair) for pair in query.split("&")] if query else []
    return f"{start}{host}{slash}{name}{mark}{'&'.join(pairs)}{hash_}{fragment}"


def _shown_pair(pair: str) -> str:
    key, equals, value = pair.partition("=")
    hidden = len(value or key) >= _SECRET_LENGTH or (equals and _SECRET_KEY.search(key))
    return pair if not hidden else f"{key}={_HIDDEN}" if equals else _HIDDEN


def named(path: str | os.PathLike[str]) -> str:
    """Returns a name of a path without credentials, by which this process opens it all the same."""
    text = text_of(path)
    name = shown(text)
    if name != text:
        real_urls[name] = text
        local_names[text] = name
    return name


def real_url(name: str) -> str:
    """Returns the URL behind a name that `named` gave; any other name as it is."""
    return real_urls.get(name, name)


def redacted(text: str, url: str) -> str:
    """Returns the message of a library on a failure, on one line and without credentials."""
    text = " ".join(text.split()).replace(url, shown(url))
    secrets_ = [value for key, value in os.environ.items() if _SECRET_SETTING.search(key)]
    secrets_ += _configured_secrets()
    query = url.partition("?")[2]
    secrets_ += [part for pair in query.split("&") if _hides_part(pair) for part in [pair.partition("=")[2]]]
    for value in secrets_:
        if len(value) >= 4:
            text = text.replace(value, _HIDDEN)
    text = re.sub(r"://[^/\s@]+@", f"://{_HIDDEN}@", text)
    text = re.sub(r"([?&][^=&\s]+=)([^&\s'\")]+)", lambda m: m[0] if _shown_pair(m[0][1:]) == m[0][1:]
                  else m[1] + _HIDDEN, text)  # fmt: skip
    return text if len(text) <= 300 else f"{text[:297]}..."


def _hides_part(pair: str) -> bool:
    """Whether a part of a query holds a credential."""
    return _shown_pair(pair) != pair


def _configured_secrets() -> list[str]:
    """The secret values of fsspec's configuration."""
    import fsspec

    found: list[str] = []

    def visit(value: object, is_secret: bool) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                visit(inner, is_secret or bool(_SECRET_KEY.search(str(key))))
        elif isinstance(value, str) and is_secret:
            found.append(value)

    visit(fsspec.config.conf, False)
    return found


def scheme_of(url: str) -> str:
    """Returns the scheme of the last store of a URL, in small letters."""
    found = URL_START.match(url.rpartition("::")[2])
    return found[1].lower() if found is not None else ""
