"""`Section`: the base of every table of a configuration; `Written`: a configuration of several, as TOML.

Sections are frozen, and an unknown key is an error. Each field carries a description with its unit; `senti
init` writes them as comments. A field with a `flag` is also an option of the command that reads the section
(`cli/options.py`). Validators check and never rewrite; what follows from other fields is a property. Beside
them are the kinds of values that several sections have. `runs/families.py` reads and merges files.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, JsonValue
from pydantic_core import CoreSchema, core_schema

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.items import Table

__all__ = [
    "SECTIONS",
    "CharNgrams",
    "Exclude",
    "Header",
    "MaxLineBytes",
    "NgramRange",
    "RowOf",
    "Section",
    "Separator",
    "TableFormat",
    "TextColumn",
    "TextEncoding",
    "Written",
    "flag",
]


def _in_order(value: tuple[int, int]) -> tuple[int, int]:
    if not 1 <= value[0] <= value[1]:
        raise ValueError("expected 1 <= shortest <= longest")
    return value


def _in_order_or_none(value: tuple[int, int]) -> tuple[int, int]:
    if value != (0, 0) and not 1 <= value[0] <= value[1]:
        raise ValueError("expected 1 <= shortest <= longest, or [0, 0]")
    return value


# Shortest and longest n-gram: of words; of characters, where (0, 0) is none.
NgramRange = Annotated[tuple[int, int], AfterValidator(_in_order)]
CharNgrams = Annotated[tuple[int, int], AfterValidator(_in_order_or_none)]


def flag(
    name: str,
    metavar: str | None = None,
    *,
    panel: str | None = None,
    sets: str | None = None,
    text: str | None = None,
) -> dict[str, JsonValue]:
    """Makes a field an option of a command: `Field(..., json_schema_extra=flag("--lr"))`.

    Args:
        name: the option.
        metavar: the name of its value in the help.
        panel: the panel of the help that lists it; `None` for that of its section.
        sets: the value that the option sets, of an option that takes none.
        text: its help, where that is not the description of the field.
    """
    return {"flag": name, "metavar": metavar, "panel": panel, "sets": sets, "text": text}


@dataclass(frozen=True)
class RowOf:
    """Says that a value is the name of a row of a table, so that a new row is written in one place.

    `Annotated[str, RowOf("tasks.classification", "LOSSES", "cross-entropy")]`: the module is below
    `sentimodels`. It is imported when another row than the usual one is named, because it may need torch.
    """

    module: str
    table: str
    usual: str

    def names(self) -> list[str]:
        """Returns the names of all rows."""
        return list(getattr(import_module(f"sentimodels.{self.module}"), self.table))

    def _check(self, value: str) -> str:
        if value != self.usual and value not in (names := self.names()):
            raise ValueError(f"should be one of {', '.join(names)}")
        return value

    def __get_pydantic_core_schema__(self, _: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(str))


# How files of texts are read, by every command that trains.
TextEncoding = Annotated[
    str | None,
    Field(
        description="Text encoding of the files, such as cp1252 or latin-1. [default: UTF-8; of "
        "tables that are not UTF-8: recognised]",
        json_schema_extra=flag("--encoding", "NAME"),
    ),
]
MaxLineBytes = Annotated[
    int | None,
    Field(
        ge=1,
        description="Maximum size of a line or row, in bytes; a longer one is an error. [default: 256M]",
        json_schema_extra=flag("--max-line-bytes", "SIZE"),
    ),
]
TableFormat = Annotated[
    str | None,
    Field(
        description="Format of the files: csv, jsonl, phrases, ... [default: recognised by name and content]",
        json_schema_extra=flag("--format", "NAME"),
    ),
]
TextColumn = Annotated[
    str | None,
    Field(
        description="Column that holds the texts. [default: guessed if only one column fits]",
        json_schema_extra=flag("--text-column", "NAME", panel="Options"),
    ),
]
Separator = Annotated[
    str | None,
    Field(
        description="Character between the cells of CSV or TSV, such as ;, or tab. [default: recognised]",
        json_schema_extra=flag("--separator", "CHAR"),
    ),
]
Header = Annotated[
    bool | None,
    Field(
        description="Whether the first row of CSV or TSV names the columns; without names they are 1, 2, ... "
        "[default: recognised]",
        json_schema_extra=flag("--header/--no-header"),
    ),
]
# Held-out texts, known by their hashes (`data/exclusion.py`).
Exclude = Annotated[
    str | None,
    Field(
        description="File of hashes of held-out texts: rows with one are neither trained nor validated on. "
        "senti data hashes writes it. [default: the one that the variable SENTI_EXCLUDE names]",
        json_schema_extra=flag("--exclude", "FILE"),
    ),
]


class Section(BaseModel):
    """One table of the configuration."""

    # The panel of the help that lists the options of the section.
    panel: ClassVar[str] = "Training"

    # `senti --help` reads fields and fills none: validators are built with the first object.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=False, validate_default=True, defer_build=True
    )

    @classmethod
    def documented(cls) -> Iterator[tuple[str, str]]:
        """Yields each key with its meaning, in the order of the file."""
        for name, field in cls.model_fields.items():
            yield name, field.description or ""

    @classmethod
    def flags(cls) -> Iterator[tuple[str, Mapping[str, JsonValue]]]:
        """Yields each key that is an option of the command, with its `flag` and `metavar`."""
        for name, field in cls.model_fields.items():
            if isinstance(field.json_schema_extra, dict) and "flag" in field.json_schema_extra:
                extra = field.json_schema_extra
                yield name, {**extra, "panel": extra["panel"] or cls.panel}

    def plain(self) -> dict[str, Any]:
        """Returns the section as values that TOML and JSON know, without unset ones."""
        return self.model_dump(mode="json", exclude_none=True)


# In the order of the file.
SECTIONS = ("data", "model", "task", "optim", "train")


class Written(Section):
    """A configuration of sections, those of `SECTIONS`, with some keys above them."""

    panel: ClassVar[str] = "Options"

    def to_toml(self, *, comments: bool = False) -> str:
        """Writes the configuration as TOML, with the meaning of each key if asked."""
        import tomlkit

        made = tomlkit.document()
        _fill(made, self, self._top(comments=comments), comments)
        for name in self._sections():
            section: Section = getattr(self, name)
            table = tomlkit.table()
            _fill(table, section, section.model_dump(mode="json"), comments)
            made.add(tomlkit.nl())
            made.add(name, table)
        return tomlkit.dumps(made)

    def tree(self) -> dict[str, Any]:
        """Returns the configuration as plain values, without unset ones."""
        sections = {name: getattr(self, name).plain() for name in self._sections()}
        return self._top() | sections

    def _sections(self) -> list[str]:
        """Returns those of `SECTIONS` that it has."""
        return [name for name in SECTIONS if name in type(self).model_fields]

    def _top(self, *, comments: bool = False) -> dict[str, Any]:
        """Returns the keys above the sections; an unset one only with comments."""
        keys = {name: getattr(self, name) for name in type(self).model_fields if name not in SECTIONS}
        return keys if comments else {name: value for name, value in keys.items() if value}


def _fill(table: "TOMLDocument | Table", section: Section, values: Mapping[str, Any], comments: bool) -> None:
    """Adds the keys of a section; TOML has no null, so an unset key is shown as one that is not there."""
    from tomlkit import comment, inline_table

    meaning = dict(section.documented())
    for key, value in values.items():
        if comments:
            table.add(comment(meaning.get(key, "")))
        if isinstance(value, Mapping):
            inline = inline_table()
            inline.update(value)
            table.add(key, inline)
        elif value is not None:
            table.add(key, value)
        elif comments:
            table.add(comment(f"{key} ="))
