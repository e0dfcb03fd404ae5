"""Chat templates, run by jinja2 in its sandbox.

Templates come with models: the sandbox keeps them from anything but the values they get. What
they may use is what transformers gives them: trimmed blocks, `{% break %}`, `{% generation %}`,
`tojson` that leaves HTML alone, `raise_exception`, `strftime_now`.

Source: transformers 5, `utils/chat_template_utils.py` (`_compile_jinja_template`).
"""

import json
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .._sentitok import EncodeError
from ..messages import shortened, shown

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["GENERATION", "has_generation", "render"]

# The variables whose values are written where a `{% generation %}` block begins and ends.
GENERATION = ("_generation_begins", "_generation_ends")

# From this version on the sandbox has no known way out.
_LEAST = (3, 1, 6)


def render(template: str, values: dict[str, Any]) -> str:
    """Returns the output of a template.

    Raises:
        EncodeError: for a template that cannot be read or run, or that refuses the chat.
        ImportError: without jinja2, or with one whose sandbox has known holes.
    """
    compiled, error, _ = _compiled(template)
    try:
        return compiled.render(**values)
    except error as refused:
        raise EncodeError(f"the chat template refuses this chat: {shortened(str(refused))}") from refused
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as failed:
        reason = f"{type(failed).__name__}: {failed}"
        raise EncodeError(f"the chat template cannot be run on this chat: {shortened(reason)}") from failed


def has_generation(template: str) -> bool:
    """Whether a template marks what the model writes, by `{% generation %}`.

    Raises:
        EncodeError, ImportError: as `render`.
    """
    return _compiled(template)[2]


@lru_cache(maxsize=32)
def _compiled(template: str) -> "tuple[Template, type[Exception], bool]":
    """A template that can be run, what it raises, and whether it has blocks of `{% generation %}`."""
    try:
        import jinja2
        from jinja2 import ext, nodes, sandbox
    except ImportError as error:
        raise ImportError(f'chat templates need jinja2 ({error}): pip install "sentitok[chat]"') from error
    version = tuple(int(part) for part in jinja2.__version__.split(".")[:3] if part.isdigit())
    if version < _LEAST:
        raise ImportError(
            f"chat templates need jinja2 3.1.6 or later, whose sandbox has no known way out, not "
            f'{jinja2.__version__}: pip install -U "sentitok[chat]"'
        )

    blocks: list[int] = []

    class Generation(ext.Extension):
        """`{% generation %}`, which marks what a model wrote, by variables that are undefined by default."""

        tags = {"generation"}  # noqa: RUF012  # 2026-11-23: jinja2 reads a set of the class

        def parse(self, parser: Any) -> nodes.Node:
            line = next(parser.stream).lineno
            blocks.append(line)
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            begin, end = (nodes.Output([nodes.Name(name, "load")], lineno=line) for name in GENERATION)
            return nodes.Scope([begin, *body, end]).set_lineno(line)

    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    environment = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, ext.loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = _now
    try:
        return environment.from_string(template), jinja2.TemplateError, bool(blocks)
    except jinja2.TemplateError as error:
        raise EncodeError(
            f"the chat template {shown(template)} cannot be read: {shortened(str(error))}"
        ) from error


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _now(format: str) -> str:
    return datetime.now().strftime(format)
