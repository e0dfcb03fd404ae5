"""`Command`: the base of every subcommand: exit codes, error lines, quick parsing.

Exit codes: 0 done; 1 the answer is negative, or the work failed; 2 wrong call, file or configuration;
130 Ctrl-C. Each error is handled here and nowhere else, as one line on stderr; `--traceback` shows where it
came from. What ends the process as a whole (SIGTERM, closed streams) is in `process.py`.
"""

import contextlib
import dataclasses
import errno
import functools
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, cast, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import ArgumentInfo, OptionInfo

from ..messages import shortened, shown
from .process import complain, drop_stdout, to_stdout
from .remote_files import Url, local_files
from .signals import INTERRUPTED, working

if TYPE_CHECKING:
    from ..remote import LocalOutput
    from ..remote_shards import RemotePath

AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print the result as one JSON object.", rich_help_panel="Output"),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print only the main result, such as a path or a number.",
        rich_help_panel="Output",
    ),
]
Traceback = Annotated[
    bool,
    typer.Option("--traceback", help="Show the Python traceback of an error.", rich_help_panel="Output"),
]


# The panels of a `--help` page, in their order. An option names its own (`rich_help_panel`). One that names
# none is in the first, which holds the options that people use most.
PANELS = (
    "Options",
    "Input",
    "Validation and test",
    "Splitting",
    "Vocabulary",
    "SentencePiece",
    "Superwords",
    "Languages",
    "Tokenizer file",
    "Token shards",
    "Chats",
    "Model",
    "Training",
    "Reward",
    "Sampling",
    "Configuration",
    "Memory and resuming",
    "Parallel work",
    "Output",
)
# A command with fewer options, those of `Output` apart, has one panel.
_FEW = 8

# Options by name, each with its annotation and default, and the reader of one value.
OptionGroup = tuple[Mapping[str, tuple[Any, Any]], Callable[..., Any]]


class UsageError(Exception):
    """A call that cannot mean anything: exit code 2."""


class AnswerIsNoError(Exception):
    """The command ran and its answer is negative: exit code 1."""


# The typed flags of the running command, by parameter.
_typed: ContextVar[dict[str, str]] = ContextVar("_typed", default={})  # noqa: B039  # 2026-11-29: never changed
# All options of the running command, by the library's name: the flag, and the one that turns it off.
_options: ContextVar[dict[str, tuple[str, str]]] = ContextVar("_options", default={})  # noqa: B039  # 2026-11-30: never changed


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Returns a command with an option for each field of its parameters that are dataclasses.

    So commands that share options declare them once, and take them as one value.
    """
    groups: dict[str, OptionGroup] = {}
    for parameter in inspect.signature(command).parameters.values():
        if dataclasses.is_dataclass(kind := parameter.annotation):
            fields = {field.name: (field.type, field.default) for field in dataclasses.fields(kind)}
            # 2026-11-30: an annotation is a class, never an instance
            groups[parameter.name] = (fields, kind)  # type: ignore[assignment]
    return with_groups(command, groups)


def with_groups(command: Callable[..., None], groups: Mapping[str, OptionGroup]) -> Callable[..., None]:
    """Returns a command with options instead of some of its parameters, which get the values together.

    Args:
        command: the function that runs.
        groups: by parameter: annotation and default of each option, and what makes the parameter's value from
            theirs by name.
    """
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters: list[inspect.Parameter] = []
    for own in inspect.signature(command).parameters.values():
        if own.name not in groups:
            parameters.append(own.replace(kind=kind))
            continue
        for name, (annotation, default) in groups[own.name][0].items():
            parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))

    @functools.wraps(command)
    def called(**values: Any) -> None:
        for parameter, (options, made) in groups.items():
            values[parameter] = made(**{name: values.pop(name) for name in options})
        command(**values)

    # 2026-11-30: typer reads it; the type of a function lacks it
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called


# The library's name of an option whose parameter has another name.
_LIBRARY_NAMES = {
    "out": "out_dir",
    "pre_tokenizer_name": "pre_tokenizer",
    "special": "special_tokens",
    "token": "token_map",
    "user_defined": "user_defined_symbols",
    "vocab": "vocab_size",
}


# What messages of the library advise, and what does the same here. It is an option of another command where
# a file was made by that one.
_ADVICE = {
    "cut=True": "--pack-cut",
    "mask='assistant'": "--mask",
    "replace=True": "--force",
    "resume=False": "--force",
}
_ELSEWHERE = {"layout": "--layout", "pack": "--pack", "tensors": "--tensor"}
_CALLS = {
    "call Tokenizer.from_tiktoken(path, pattern, special_tokens)": (
        "type sentitok convert FILE tokenizer.json --pattern NAME"
    ),
    "train_bpe(counts=path)": "sentitok train-bpe --counts FILE",
}
_STRING = "(?:'[^']*'|\"[^\"]*\")"
# An argument with its value: strings, a list, a truth value, or anything else, which stays as it is.
_ARGUMENT = re.compile(
    rf"(?<![^\s(])([a-z]\w*)=({_STRING}(?:(?:, | or ){_STRING})*|\[(?:{_STRING}|\.\.\.)\]|(?:True|False)\b)?"
    r"(?![=/])"
)


def as_typed(message: str) -> str:
    """Returns a message of the library that names options of the running command instead of arguments.

    `vocab_size 10 is too small` is `--vocab 10 is too small` if `--vocab` was typed, and a key of a
    configuration such as `data.max_tokens` the option that sets it. A name of one word is replaced only at
    the beginning: elsewhere `format` is a word. With a value it is an argument: `format="lines"` is
    `--format lines`, also if the option was not typed.
    """
    for name, flag in _typed.get().items():
        called = _LIBRARY_NAMES.get(name, name.replace("__", "."))
        is_a_word = not set("._") & set(called)
        for before, text in ((r"(?<![\w./`'\"=-])", called), ("^", called.rpartition(".")[2])):
            if before == "^" or not is_a_word:
                value = r"(?![\w=(]|\.\w| \()( = true\b| =(?= ))?"
                message = re.sub(rf"{before}`?{re.escape(text)}`?{value}", flag, message)
    for call, typed in _CALLS.items():
        message = message.replace(call, typed)
    return _ARGUMENT.sub(_as_option, message)


def _as_option(argument: re.Match[str]) -> str:
    """Writes an argument as an option."""
    name, value = argument[1], argument[2] or ""
    # An argument of a call that is advised, as in `pad(side="left")`.
    if re.search(r"\w\([^()]*$", argument.string[: argument.start()]):
        return argument[0]
    if argument[0] in _ADVICE:
        return _ADVICE[argument[0]]
    flag, off = _options.get().get(name) or (_ELSEWHERE.get(name, ""), "")
    if not flag or (value == "False" and not off):
        return argument[0]
    if value in ("True", "False"):
        return flag if value == "True" else off
    if value:
        return f"{flag} {re.sub(_STRING, lambda text: text[0][1:-1], value.strip('[].'))}".rstrip()
    follows = argument.string[argument.end() : argument.end() + 1]
    return f"{flag} " if follows.strip(",;:.)") else flag


def refuse(reason: str, *names: str) -> None:
    """Refuses options that cannot act in this call, because an ignored option is a silent mistake.

    Args:
        reason: why, and what to type instead.
        names: parameters of the running command; untyped ones are allowed.

    Raises:
        UsageError: if one was typed.
    """
    typed = _typed.get()
    if flags := [typed[name] for name in names if name in typed]:
        raise UsageError(f"{', '.join(flags)}: {reason}")


def _typed_flags(ctx: Any) -> dict[str, str]:
    flags = {}
    for param in ctx.command.params:
        source = ctx.get_parameter_source(param.name)
        if param.param_type_name != "option" or source is None or source.name != "COMMANDLINE":
            continue
        is_off = bool(param.secondary_opts) and ctx.params.get(param.name) is False
        flags[param.name] = max(param.secondary_opts if is_off else param.opts, key=len)
    return flags


def _all_flags(ctx: Any) -> dict[str, tuple[str, str]]:
    return {
        _LIBRARY_NAMES.get(param.name, param.name): (
            max(param.opts, key=len),
            max(param.secondary_opts, key=len, default=""),
        )
        for param in ctx.command.params
        if param.param_type_name == "option"
    }


def exit_code(error: BaseException) -> int:
    """Returns the exit code of an error."""
    from sentitok import FormatError, TrainError

    wrong_call = (UsageError, FormatError, TrainError, FileNotFoundError, FileExistsError)
    if isinstance(error, (*wrong_call, IsADirectoryError, NotADirectoryError, PermissionError)):
        return 2
    if isinstance(error, OSError) and error.errno == errno.EROFS:
        return 2
    # A plain `ValueError` or `TypeError` is the extension refusing an argument.
    return 2 if type(error) in (ValueError, TypeError, OverflowError) else 1


def on_terminal() -> bool:
    """Whether people read the output; a stream that was closed is `None` to Python."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr))


def examples(*lines: str) -> str:
    """Lays out the examples that end a `--help` page; a test runs each line."""
    return "\n\n".join(["Examples:", *(f"$ {line}" for line in lines)])


def _whole(value: str | int) -> int:
    """Reads a whole number such as 32000, 32_000 or 32k (powers of 1000)."""
    text = str(value).strip().upper()
    factor = {"K": 1000, "M": 1_000_000}.get(text[-1:], 1)
    if factor == 1:
        return int(text)
    number = float(text[:-1]) * factor
    if number != int(number):
        raise ValueError(value)
    return int(number)


class _Plain:
    """Reads a string, a path or a whole number without pydantic.

    typer reads them through pydantic, whose import takes longer than all else
    the command does before its work begins.
    """

    def __init__(self, kind: type, many: bool, *, lowest: int | None) -> None:
        self.kind = kind
        self.lowest = lowest
        self.many = many

    def coerce(self, value: Any, param: Any, ctx: typer.Context) -> Any:
        if value is None:
            return [] if self.many else None
        if self.many:
            return [self._one(item, param, ctx) for item in value]
        return self._one(value, param, ctx)

    def _one(self, value: Any, param: Any, ctx: typer.Context) -> Any:
        if self.kind is Path and isinstance(value, str) and "://" in value:
            return Url(value)
        if self.kind is not int:
            return self.kind(value)
        try:
            number = _whole(value)
        except (ValueError, OverflowError):
            raise typer.BadParameter(
                f"{value!r} is not a whole number, such as 32000 or 32k.", ctx, param
            ) from None
        if self.lowest is not None and number < self.lowest:
            raise typer.BadParameter(f"{number} is below {self.lowest}.", ctx, param)
        if number > sys.maxsize:
            raise typer.BadParameter(f"{number} is above {sys.maxsize}.", ctx, param)
        return number


_KINDS: dict[Any, tuple[type, bool]] = {
    str: (str, False),
    int: (int, False),
    Path: (Path, False),
    list[str]: (str, True),
    list[Path]: (Path, True),
}


def _plain_readers(function: Callable[..., Any]) -> dict[str, _Plain]:
    """Returns the quick reader of each parameter that needs no conversion by typer."""
    readers = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind, *infos = get_args(parameter.annotation) or (parameter.annotation,)
        if get_origin(kind) in (Union, UnionType):
            kinds = [one for one in get_args(kind) if one is not NoneType]
            kind = kinds[0] if len(kinds) == 1 else kind
        limits = [info for info in infos if isinstance(info, (ArgumentInfo, OptionInfo))]
        if kind in _KINDS and len(limits) == 1 and limits[0].parser is None and limits[0].max is None:
            lowest = limits[0].min
            readers[name] = _Plain(*_KINDS[kind], lowest=None if lowest is None else int(lowest))
    return readers


def _reading(param: Any, plain: _Plain) -> Callable[[typer.Context, Any], Any]:
    """Returns a replacement of a parameter's `process_value`, click's method for reading a value."""
    own = param.process_value

    def process_value(ctx: typer.Context, value: Any) -> Any:
        read = plain.coerce(value, param, ctx)
        if param.required and param.value_is_missing(read):
            return own(ctx, None)  # which says that it is missing
        return read if param.callback is None else param.callback(ctx, param, read)

    return process_value


def _quick_flags(params: list[Any]) -> list[Any]:
    """Has flags that nobody gave, `--help` among them, be read quickly too."""
    for param in params:
        if getattr(param, "is_flag", False) and "process_value" not in vars(param):
            param.process_value = _reading(param, _Plain(bool, False, lowest=None))
    return params


def _literal(text: str | None) -> str | None:
    """Writes a text so that its brackets are not mark-up."""
    return None if text is None else text.replace("[", r"\[")


@contextlib.contextmanager
def _cut_messages() -> Iterator[None]:
    """Shortens the message of a wrong call where it shows a long value, as in any other message."""
    try:
        yield
    except typer.TyperException as error:
        error.message = shortened(error.message)
        raise


def _help_without_arguments(command: Any, ctx: Any, args: list[str]) -> None:
    """Answers a call without anything with the help; typer raises it, as if it were a message to be cut."""
    if not args and command.no_args_is_help and not ctx.resilient_parsing:
        if text := ctx.get_help():  # on a terminal typer has printed it, and returns nothing
            complain(text)
        ctx.exit(2)


def _in_panels(params: list[Any]) -> list[Any]:
    """Orders parameters by their panels; puts those of a command with few options in one panel."""
    options = [param for param in params if param.param_type_name == "option"]
    if sum(param.rich_help_panel != "Output" for param in options) <= _FEW:
        for option in options:
            option.rich_help_panel = None
    return sorted(params, key=lambda param: PANELS.index(param.rich_help_panel or PANELS[0]))


def _write_panels(formatter: Any, rows: list[tuple[str, tuple[str, str]]]) -> None:
    """Writes rows of help without boxes, a section for each panel."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for panel, row in rows:
        panels.setdefault(panel, []).append(row)
    for panel, of_panel in panels.items():
        with formatter.section(panel):
            formatter.write_dl(of_panel)


class Group(TyperGroup):
    """The commands together."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the commands of a help page without boxes."""
        commands = {name: cast("Any", self.get_command(ctx, name)) for name in self.list_commands(ctx)}
        widest = max(map(len, commands), default=0)
        rows = [
            (
                command.rich_help_panel or "Commands",
                (name.ljust(widest), command.get_short_help_str(formatter.width)),
            )
            for name, command in commands.items()
            if not command.hidden
        ]
        _write_panels(formatter, rows)

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Reads the call up to the command's name."""
        with _cut_messages():
            return super().make_context(*args, **more)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the arguments up to the command's name."""
        _help_without_arguments(self, ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Finds the command, reads its arguments, and runs it."""
        with _cut_messages():
            return super().invoke(ctx)

    def get_params(self, ctx: Any) -> list[Any]:
        """Gives the parameters, with quick readers of flags."""
        return _quick_flags(super().get_params(ctx))


class Command(TyperCommand):
    """A subcommand: see the head of this file."""

    program = "sentitok"

    def code(self, error: Exception) -> int:
        """Returns the exit code of an error."""
        return exit_code(error)

    def line(self, error: Exception) -> str:
        """Returns an error as one line."""
        return _line(error)

    def out(self, values: dict[str, Any]) -> "Callable[[str], LocalOutput | RemotePath] | None":
        """Returns the converter of a URL to the place of `--out`; `None` for a local copy.

        Token shards are brought to the store one by one. The workers of an engine write to it themselves.
        """
        is_spread = values.get("engine") is not None and values.get("chat") is None
        if self.name not in ("count", "encode") or (self.name == "count" and not is_spread):
            return None

        def made(url: str) -> "LocalOutput | RemotePath":
            from ..remote import check_writable, shards_output
            from ..remote_shards import RemotePath

            if is_spread:
                check_writable(url)
                return RemotePath(url)
            return shards_output(url, resume=not values.get("force"))

        return made

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        if on_terminal() or f"_{self.program.upper()}_COMPLETE" in os.environ:
            self._keep_brackets()
        readers = _plain_readers(self.callback) if self.callback is not None else {}
        params: list[Any] = list(self.params)
        for param in params:
            if param.name in readers:
                param.process_value = _reading(param, readers[param.name])
        self.params = _in_panels(params)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the arguments and options of a help page without boxes."""
        params = [(param, param.get_help_record(ctx)) for param in self.get_params(ctx)]
        shown = [(param, row) for param, row in params if row is not None]
        arguments = [("Arguments", row) for param, row in shown if param.param_type_name == "argument"]
        options = [
            (param.rich_help_panel or PANELS[0], row)
            for param, row in shown
            if param.param_type_name == "option"
        ]
        # `--help` is the last parameter, and is in the first panel.
        options.sort(key=lambda row: PANELS.index(row[0]))
        _write_panels(formatter, [*arguments, *options])

    def _keep_brackets(self) -> None:
        """Has `[default: 8]` in a help text show: on a terminal typer reads it as mark-up, and drops it."""
        self.help = _literal(self.help)
        self.epilog = _literal(self.epilog)
        for param in self.params:
            if hasattr(param, "help"):
                param.help = _literal(param.help)

    def get_params(self, ctx: Any) -> list[Any]:
        """Gives the parameters, with quick readers of flags."""
        return _quick_flags(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the arguments of the command."""
        _help_without_arguments(self, ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command; turns an error into one line and an exit code."""
        values = ctx.params
        if values.get("as_json") and values.get("quiet"):
            raise typer.BadParameter("--json and --quiet exclude each other.", ctx=ctx)
        if str(values.get("out") or values.get("target")) == "-":
            raise typer.BadParameter("results go to files, not to stdout; name one instead of -.", ctx=ctx)
        typed, options = _typed.set(_typed_flags(ctx)), _options.set(_all_flags(ctx))
        try:
            with warnings.catch_warnings():
                warnings.showwarning = self._say
                with working(), local_files(values, self.out(values)):
                    result = super().invoke(ctx)
                    with to_stdout():
                        sys.stdout.flush()
            return result
        except BrokenPipeError:
            # The reader has closed the pipe, so no message would arrive.
            drop_stdout()
            ctx.exit(0)
        except KeyboardInterrupt:
            complain(f"{self.program}: stopped by Ctrl-C")
            ctx.exit(INTERRUPTED)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as error:
            if values.get("traceback"):
                import traceback

                complain(traceback.format_exc().rstrip())
            else:
                complain(f"{self.program}: {shortened(as_typed(self.line(error)))}")
            ctx.exit(self.code(error))
        finally:
            _typed.reset(typed)
            _options.reset(options)

    def _say(self, message: Warning | str, *_: Any, **__: Any) -> None:
        """Shows warnings of the library, without the place in our code."""
        complain(f"{self.program}: {shortened(as_typed(str(message)))}")


def _beside(error: OSError) -> str:
    """Says where a missing file lies compressed; files are read so as well."""
    if not isinstance(error, FileNotFoundError) or not isinstance(error.filename, str):
        return ""
    there = (f"{error.filename}.{suffix}" for suffix in ("gz", "xz", "bz2", "zst"))
    with contextlib.suppress(OSError):  # a name too long for the system
        return next((f"; there is {name}" for name in there if Path(name).is_file()), "")
    return ""


def _line(error: Exception) -> str:
    """Returns an error's text, with its type where the text alone says little."""
    from sentitok import SentitokError

    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        # Advice for Python: a command takes files.
        said = error.strerror.removesuffix("; texts in memory are texts=[...]")
        return f"{error.filename}: {said}{_beside(error)}"
    known = (SentitokError, UsageError, AnswerIsNoError, OSError, ModuleNotFoundError)
    # A plain `ValueError` is the library refusing an argument.
    has_text = (isinstance(error, known) or type(error) is ValueError) and str(error)
    return str(error) if has_text else f"{type(error).__name__}: {error}"


# Those of numbers below 2^63.
DIGITS = 18


def shard(text: str | None) -> tuple[int, int] | None:
    """Reads `--shard 3/128`.

    Raises:
        UsageError: if it is not i/n with 0 <= i < n.
    """
    if text is None:
        return None
    part, slash, parts = text.partition("/")
    are_numbers = all(one.isdecimal() and len(one) <= DIGITS for one in (part, parts))
    if not (slash and are_numbers and int(part) < int(parts)):
        raise UsageError(f"--shard {shown(text)}: expected i/n with i from 0 to n - 1, as in 3/128")
    return int(part), int(parts)


def size(text: str | None, flag: str) -> int | None:
    """Reads a number of bytes such as 512M or 2G (powers of 1024).

    Raises:
        UsageError: if it is not a positive number with one of the suffixes.
    """
    if text is None:
        return None
    number = text.strip().upper().removesuffix("B").removesuffix("I")
    factor = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}.get(number[-1:], 1)
    if factor > 1:
        number = number[:-1]
    try:
        value = int(float(number) * factor)
    except (ValueError, OverflowError):
        value = 0
    if value <= 0:
        raise UsageError(f"{flag} {text}: expected a size in bytes, as in 512M or 2G")
    return value
