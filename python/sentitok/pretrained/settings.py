"""`Settings`: the settings in the files next to tokenizer.json, read from a folder and written to one.

The roles of special tokens (`eos_token`), chat templates, and the rest of tokenizer_config.json,
which goes back as it was. Settings that name a class, code or files of the original folder are left out:
a saved folder has one tokenizer.json, which needs no other file.

Source of the files: transformers 5, `tokenization_utils_base.py` (`_from_pretrained`).
"""

import codecs
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import EllipsisType, MappingProxyType
from typing import Any

from .._sentitok import AddedToken, FormatError
from ..atomic import json_bytes
from ..atomic import write as write_file
from ..messages import shown

__all__ = [
    "Settings",
    "config_of",
    "named_ids",
    "object_of",
    "read",
    "roles_of",
    "settings_of",
    "text_of",
    "tokens_of",
    "write",
]

_CONFIG = "tokenizer_config.json"
_MAP = "special_tokens_map.json"
_TEMPLATE = "chat_template.jinja"
_OLD_TEMPLATE = "chat_template.json"
_TEMPLATES = "additional_chat_templates"
_ADDED = "added_tokens.json"
_ADDITIONAL = "additional_special_tokens"
_EXTRA = "extra_special_tokens"
_MANY = (_ADDITIONAL, _EXTRA)
# Special tokens by names that a model gives them, such as image_token.
_NAMED = "model_specific_special_tokens"
_DECODER = "added_tokens_decoder"
# transformers adds special tokens in this order, and then the model's extra ones.
_ROLES = (
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
)  # fmt: skip
# Not written again: they name a class, code, other files, or what tokenizer.json says itself.
_LEFT_OUT = {
    "tokenizer_class", "auto_map", "processor_class", _DECODER, "add_bos_token",
    "add_eos_token", "add_prefix_space", "legacy", "use_default_system_prompt", "sp_model_kwargs",
    "name_or_path", "tokenizer_file", "vocab_file", "merges_file", "special_tokens_map_file",
    "backend", "is_local", "local_files_only", "chat_template", _NAMED, *_MANY,
}  # fmt: skip
_MOST_BYTES = 1 << 26
# Those of four bytes first: they begin with one of two.
_WIDE_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32 (little-endian)",
    codecs.BOM_UTF32_BE: "UTF-32 (big-endian)",
    codecs.BOM_UTF16_LE: "UTF-16 (little-endian)",
    codecs.BOM_UTF16_BE: "UTF-16 (big-endian)",
}


@dataclass(frozen=True)
class Settings:
    """A folder's settings of a tokenizer outside tokenizer.json.

    Attributes:
        special_tokens: the roles of special tokens: `{"eos_token": "</s>"}`.
        chat_templates: templates by name; `"default"` is the one that is taken.
        config: the rest of tokenizer_config.json.
    """

    special_tokens: Mapping[str, str] = field(default_factory=dict)
    chat_templates: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in (*self.special_tokens.items(), *self.chat_templates.items()):
            if not isinstance(name, str) or not isinstance(value, str):
                raise TypeError(f"{shown(name)} is to be a text, not {shown(value)}")
        for name in ("special_tokens", "chat_templates", "config"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def chat_template(self) -> str | None:
        """The template that is taken where a call names none."""
        return self.chat_templates.get("default")

    def replace(
        self, *, chat_template: str | EllipsisType | None = ..., **special_tokens: str | None
    ) -> "Settings":
        """Returns settings with another chat template or other special tokens; None takes one away.

        Args:
            chat_template: the template that is taken where a call names none.
            special_tokens: such as `eos_token="<|im_end|>"`.

        Raises:
            TypeError: for a name that is not that of a special token, or a value that is not text.
        """
        for name in special_tokens:
            if not name.endswith("_token"):
                raise TypeError(
                    f"{name} is not the name of a special token, such as eos_token; the settings that can be "
                    "replaced are chat_template and those"
                )
        templates = dict(self.chat_templates)
        if chat_template is None:
            templates.pop("default", None)
        elif not isinstance(chat_template, EllipsisType):
            templates["default"] = chat_template
        tokens = {**self.special_tokens, **special_tokens}
        named = {name: content for name, content in tokens.items() if content is not None}
        return replace(self, special_tokens=named, chat_templates=templates)

    def __reduce__(self) -> tuple[Any, ...]:
        return Settings, (dict(self.special_tokens), dict(self.chat_templates), dict(self.config))

    def __hash__(self) -> int:
        return hash((frozenset(self.special_tokens.items()), frozenset(self.chat_templates.items())))


def read(folder: Path, usual: Settings) -> Settings:
    """Returns the settings of a folder.

    Args:
        folder: holds tokenizer_config.json, or says nothing.
        usual: the special tokens that the folder does not name.

    Raises:
        FormatError: for a file that cannot be read.
    """
    config = config_of(folder)
    roles = roles_of(config) or dict(usual.special_tokens)
    rest = {name: value for name, value in config.items() if name not in _LEFT_OUT and name not in roles}
    unset = {name for name, value in rest.items() if name.endswith("_token") and value is None}
    rest = {name: value for name, value in rest.items() if name not in unset}
    if config:
        tokens = [_content(token) for name in _MANY for token in _list(config.get(name))]
        rest[_ADDITIONAL] = [
            token for token in dict.fromkeys(tokens) if token and token not in roles.values()
        ]
    return Settings(roles, dict(_templates(folder, config)), rest)


def settings_of(tokenizer: Any) -> Settings:
    """Returns the settings of a fast tokenizer of transformers: of an object, not of a folder."""
    tokens = {name: value for name, value in tokenizer.special_tokens_map.items() if isinstance(value, str)}
    written = getattr(tokenizer, "chat_template", None)
    templates = written if isinstance(written, dict) else {"default": written} if written else {}
    side = getattr(tokenizer, "padding_side", None)
    return Settings(tokens, templates, {"padding_side": side} if side else {})


def tokens_of(
    folder: Path, there: Iterable[AddedToken] = (), usual: Mapping[str, str] = MappingProxyType({})
) -> list[AddedToken]:
    """Returns the tokens that a folder adds, or gives other rules, in the order of transformers.

    Args:
        folder: holds tokenizer_config.json, special_tokens_map.json and added_tokens.json, or some of them.
        there: the added tokens of tokenizer.json.
        usual: the roles of special tokens where the folder does not say.

    Raises:
        FormatError: for a file that cannot be read.
    """
    config = {**usual, **config_of(folder)}
    roles = roles_of(config)
    ids = {token.content: token.id for token in there}
    found = {}
    for id, token in _decoder(folder, config):
        if _DECODER in config or id not in ids.values():
            added = _added(folder, token, special=False)
            found[added.content] = _special(added) if added.content in roles.values() else added
    order = [*(name for name in _ROLES if name in roles), *(name for name in roles if name not in _ROLES)]
    values = {**config, **_object(config.get(_NAMED))}
    for value in [*(values[name] for name in order), *_list(config.get(_EXTRA))]:
        added = _added(folder, value)
        if added.content not in ids:
            found.setdefault(added.content, added)
    return list(found.values())


def named_ids(folder: Path) -> dict[int, str]:
    """Returns the texts of `added_tokens_decoder` by id.

    Raises:
        FormatError: for a file that cannot be read.
    """
    return {id: _added(folder, token).content for id, token in _decoder(folder, config_of(folder))}


def _decoder(folder: Path, config: Mapping[str, Any]) -> list[tuple[int, Any]]:
    """The added tokens by id: those of the settings, or else of added_tokens.json."""
    if _DECODER not in config:
        return _of_added_tokens_json(folder, config)
    decoder = config[_DECODER] or {}
    if not isinstance(decoder, dict):
        raise FormatError(f"{folder / _CONFIG}: added_tokens_decoder is to be an object")
    return sorted(((_id(folder, id), token) for id, token in decoder.items()), key=lambda item: item[0])


def _of_added_tokens_json(folder: Path, config: Mapping[str, Any]) -> list[tuple[int, Any]]:
    """The added tokens of the file that older folders have: their ids alone."""
    special = {_content(value) for value in (*map(config.get, _ROLES), *_list(config.get(_EXTRA)))}
    tokens = []
    for content, id in object_of(folder / _ADDED).items():
        if type(id) is not int or not 0 <= id < 2**32:
            raise FormatError(f"{folder / _ADDED}: {shown(id)}, of {shown(content)}, is not an id")
        is_special = content in special
        tokens.append((id, {"content": content, "special": is_special, "normalized": not is_special}))
    return sorted(tokens, key=lambda item: item[0])


def write(settings: Settings, special: Iterable[str], folder: str | os.PathLike[str]) -> list[str]:
    """Writes settings over the ones in a folder; returns the paths of files next to them.

    Args:
        settings: the settings to write.
        special: the texts of all special tokens: those without a name, where no folder said which.
        folder: holds tokenizer_config.json.

    Raises:
        FormatError: for a chat template that no file can hold.
        ValueError: for a name of one that is not the name of a file.
    """
    place = Path(folder)
    roles = dict(settings.special_tokens)
    unnamed = [content for content in special if content not in roles.values()]
    others = settings.config.get(_ADDITIONAL, unnamed)
    tokens: dict[str, Any] = {**roles, **({_ADDITIONAL: others} if others else {})}
    usual = {name: value for name, value in object_of(place / _CONFIG).items() if name not in _MANY}
    usual = {name: value for name, value in usual.items() if not name.endswith("_token")}
    rest = {name: value for name, value in settings.config.items() if name != _ADDITIONAL}
    _write(place / _CONFIG, {**usual, **rest, **tokens})
    _write(place / _MAP, tokens)
    files = []
    for name, template in settings.chat_templates.items():
        if name != "default" and (name != Path(name).name or name in (".", "..", "") or "\0" in name):
            raise ValueError(f"{shown(name)} cannot be the name of a chat template: it is that of a file")
        path = place / _TEMPLATE if name == "default" else place / _TEMPLATES / f"{name}.jinja"
        try:
            write_file(path, template.encode("utf-8"))
        except UnicodeEncodeError:
            raise FormatError(
                f"{shown(name)}: its text or name has half of a surrogate pair, which no file can hold; "
                "change the chat template"
            ) from None
        files.append(str(path))
    return files


def _write(path: Path, value: dict[str, Any]) -> None:
    write_file(path, json_bytes(value))


def config_of(folder: Path) -> dict[str, Any]:
    """Returns the settings in the files of a folder, put together as transformers does.

    Where tokenizer_config.json lists the added tokens, special_tokens_map.json is not read; where it does not
    list them, that file decides.

    Raises:
        FormatError: for a file that cannot be read.
    """
    config = object_of(folder / _CONFIG)
    if not config.get(_EXTRA) and _ADDITIONAL in config:
        config[_EXTRA] = config.pop(_ADDITIONAL)
    config = _with_named(config)
    if _DECODER not in config:
        roles = object_of(folder / _MAP)
        if isinstance(roles.get(_EXTRA), list):
            before = _list(config.get(_EXTRA))
            roles[_EXTRA] = [*before, *(token for token in roles[_EXTRA] if token not in before)]
        config = _with_named({**config, **roles})
    if _ADDITIONAL in config:
        config.setdefault(_EXTRA, config.pop(_ADDITIONAL))
    return config


def _with_named(config: dict[str, Any]) -> dict[str, Any]:
    """Settings whose extra tokens are a list: named ones become special tokens of the model."""
    if not isinstance(config.get(_EXTRA), dict):
        return config
    named = {**_object(config.get(_NAMED)), **config.pop(_EXTRA)}
    return {**config, _NAMED: named}


def object_of(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file; an empty one if there is no file.

    Raises:
        FormatError: for a file that holds none.
    """
    if not path.is_file():
        return {}
    try:
        _check_size(path)
        value = json.loads(text_of(path))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise FormatError(f"{path} holds {shown(value)}, not an object")
    return value


def _check_size(path: Path) -> None:
    if path.stat().st_size > _MOST_BYTES:
        raise FormatError(f"{path} has more than {_MOST_BYTES} bytes; it is not a file of settings")


def text_of(path: Path, *, has_mark: bool = False) -> str:
    """Returns the text of a file of UTF-8.

    Args:
        path: the file.
        has_mark: whether it may begin with a byte order mark, which is then a part of the text.

    Raises:
        FormatError: naming the encoding or the mark.
    """
    data = path.read_bytes()
    encoding = _wide_encoding(data)
    if encoding:
        raise FormatError(f"{path} is {encoding}; save it as UTF-8")
    if data.startswith(codecs.BOM_UTF8) and not has_mark:
        raise FormatError(
            f"{path} begins with a byte order mark (EF BB BF), which transformers does not read either; "
            "save it as UTF-8 without the mark"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not UTF-8: {error}") from error


def _wide_encoding(data: bytes) -> str | None:
    """The encoding of a text in units of two or four bytes, by its mark or its first characters."""
    for mark, name in _WIDE_MARKS.items():
        if data.startswith(mark):
            return name
    zeros = [byte == 0 for byte in data[:4]]
    if zeros == [False, True, False, True]:
        return "UTF-16 (little-endian)"
    if zeros == [True, False, True, False]:
        return "UTF-16 (big-endian)"
    return None


def roles_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Returns the roles of special tokens, and their texts."""
    named = _object(config.get(_NAMED))
    values = {**{name: value for name, value in config.items() if name.endswith("_token")}, **named}
    return {name: str(_content(value)) for name, value in values.items() if _content(value) is not None}


def _content(value: Any) -> str | None:
    """The text of a special token, which may be written with its rules."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _id(folder: Path, id: str) -> int:
    if not (id.isascii() and id.isdigit() and len(id) < 11 and int(id) < 2**32):
        raise FormatError(f"{folder / _CONFIG}: {shown(id)} in added_tokens_decoder is not an id")
    return int(id)


def _added(folder: Path, value: Any, *, special: bool = True) -> AddedToken:
    """The token that a file means; `special` is taken where it does not say whether it is special."""
    content = _content(value)
    if not content:
        raise FormatError(f"{folder / _CONFIG}: {shown(value)} is not a token")
    rules = value if isinstance(value, dict) else {}
    special = bool(rules.get("special", special))
    flags = {name: bool(rules.get(name, False)) for name in ("single_word", "lstrip", "rstrip")}
    return AddedToken(
        content, special=special, normalized=bool(rules.get("normalized", not special)), **flags
    )


def _special(token: AddedToken) -> AddedToken:
    flags = ("single_word", "lstrip", "rstrip", "normalized")
    return AddedToken(token.content, special=True, **{flag: getattr(token, flag) for flag in flags})


def _template_in(path: Path) -> str:
    """The text of a template as transformers reads it: with a byte order mark, and with line feeds alone."""
    _check_size(path)
    return io.StringIO(text_of(path, has_mark=True), newline=None).read()


def _templates(folder: Path, config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The chat templates; separate files are read last, and so decide.

    Raises:
        FormatError: for a template that is not a text, or has no name.
    """
    old = object_of(folder / _OLD_TEMPLATE)
    for file, value in ((_CONFIG, config.get("chat_template")), (_OLD_TEMPLATE, old.get("chat_template"))):
        found: list[tuple[Any, Any]] = []
        if isinstance(value, str):
            found = [("default", value)]
        elif isinstance(value, dict):
            found = list(value.items())
        elif isinstance(value, list):
            found = [(each.get("name"), each.get("template")) for each in value if isinstance(each, dict)]
        for name, text in found:
            if not isinstance(name, str) or not isinstance(text, str):
                raise FormatError(
                    f"{folder / file}: chat_template names {shown(name)} with {shown(text)}; expected a name "
                    "and a text"
                )
            yield name, text
    if (folder / _TEMPLATE).is_file():
        yield "default", _template_in(folder / _TEMPLATE)
    if (folder / _TEMPLATES).is_dir():
        for path in sorted((folder / _TEMPLATES).glob("*.jinja")):
            yield path.stem, _template_in(path)
