"""`reader_source`: the source of a reader that holds only what its run needs.

`classifier.py` knows every option of a run, by names in capital letters. Here they get their values: branches
that are never taken are left out, and then functions, imports and names that nothing uses.
"""

import ast
import re
from collections.abc import Mapping

__all__ = ["reader_source"]

# What programs call; Python itself calls names with two underscores.
_CALLED = {"Classifier", "predict", "predict_proba"}


def reader_source(source: str, options: Mapping[str, object]) -> str:
    """Returns the source with these options set."""
    while (shorter := _without_branch(source, options)) != source:
        source = shorter
    while (shorter := _without_unused(_without_unreachable(source))) != source:
        source = shorter
    left = re.findall(rf"\b(?:{'|'.join(options)})\b", source)
    assert not left, f"options that no whole `if` asks for: {left}"
    source = re.sub(r"\n{3,}(?= )", "\n\n", source)
    return re.sub(r"\n{4,}", "\n\n\n", source)


def _without_branch(source: str, options: Mapping[str, object]) -> str:
    """Replaces the first `if` that asks for an option by the branch that is taken."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.If) or (taken := _holds(node.test, options)) is None:
            continue
        begin, after = node.lineno - 1, _end(node)
        inside = lines[begin + 1 : _end(node.body[-1])]
        if not taken:
            inside = lines[_end(node.body[-1]) : after]
            while inside and not inside[0].lstrip().startswith(("else:", "elif ")):
                del inside[0]  # a blank line
            if inside and inside[0].lstrip().startswith("elif "):
                return "".join(
                    [*lines[:begin], inside[0].replace("elif", "if", 1), *inside[1:], *lines[after:]]
                )
            del inside[:1]
        return "".join([*lines[:begin], *(line.removeprefix("    ") for line in inside), *lines[after:]])
    return source


def _holds(test: ast.expr, options: Mapping[str, object]) -> bool | None:
    """Whether a test of one option holds; `None` of any other test."""
    match test:
        case ast.Name(name) if name in options:
            return bool(options[name])
        case ast.UnaryOp(ast.Not(), ast.Name(name)) if name in options:
            return not options[name]
        case ast.Compare(ast.Name(name), [ast.Eq()], [value]) if name in options:
            return bool(options[name] == ast.literal_eval(value))
        case ast.Compare(ast.Name(name), [ast.NotEq()], [value]) if name in options:
            return bool(options[name] != ast.literal_eval(value))
        case ast.Compare(ast.Name(name), [ast.In()], [values]) if name in options:
            return options[name] in ast.literal_eval(values)
    return None


def _without_unreachable(source: str) -> str:
    """Leaves out the lines after a `return` that a function always reaches."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            ends = [_end(part) for part in node.body if isinstance(part, ast.Return)]
            if ends:
                lines[ends[0] : _end(node)] = [""] * (_end(node) - ends[0])
    return "".join(lines)


def _without_unused(source: str) -> str:
    """Leaves out the functions, imports and names of the module and of its class that nothing uses."""
    lines, tree = source.splitlines(keepends=True), ast.parse(source)
    used = set(_CALLED)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
    for node in [
        *tree.body,
        *(part for one in tree.body if isinstance(one, ast.ClassDef) for part in one.body),
    ]:
        match node:
            case ast.FunctionDef(name) | ast.ClassDef(name):
                names = [name]
            case ast.Import(aliases) | ast.ImportFrom(_, aliases):
                names = [alias.asname or alias.name for alias in aliases]
            case ast.Assign(targets):
                names = [part.id for one in targets for part in ast.walk(one) if isinstance(part, ast.Name)]
            case _:
                continue
        kept = [name for name in names if name in used or name.startswith("__")]
        begin, end = node.lineno - 1, _end(node)
        if not kept:
            while lines[begin - 1].startswith("#"):
                begin -= 1
            del lines[begin:end]
        elif isinstance(node, ast.ImportFrom) and kept != names:
            lines[begin:end] = [f"from {node.module} import {', '.join(kept)}\n"]
        else:
            continue
        return "".join(lines)
    return source


def _end(node: ast.stmt) -> int:
    """Returns the number of the last line of a statement."""
    assert node.end_lineno is not None
    return node.end_lineno
