"""`Section`: the base of every configuration: frozen, and an unknown key is an error.

Not for reading files (`config.py`). Each field of a section carries a description
with its unit; `senti init` writes them as comments. Validators check and never
rewrite; what follows from other fields is a property.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict

__all__ = ["Section"]


class Section(BaseModel):
    """One table of the configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, validate_default=True)

    @classmethod
    def documented(cls) -> Iterator[tuple[str, str]]:
        """Yields each key with what it means, in the order of the file."""
        for name, field in cls.model_fields.items():
            yield name, field.description or ""

    def plain(self) -> dict[str, Any]:
        """Returns the section as values that TOML and JSON know, without unset ones."""
        return self.model_dump(mode="json", exclude_none=True)
