"""`written`: the JSON of a stage or a tokenizer as tokenizers prints it: `Strip(strip_left=True, ...)`.

Source of the notation: what tokenizers 0.23 prints.
"""

from typing import Any

__all__ = ["written"]

# Of a list or a map that is cut, this many are shown; of a text this many characters.
_ITEMS, _CHARS = 5, 100
# Of a list that is not cut, as many as these.
_MOST = 99
# Fields whose value is one of a few words, and so is written without quotes.
_WORDS = {"prepend_scheme", "behavior", "direction", "strategy", "progress_format"}


def written(spec: dict[str, Any], *, short: bool = False) -> str:
    """Returns the printed form of a JSON.

    Args:
        spec: the JSON, with its `type`.
        short: whether long lists and texts are cut.
    """
    return _stage(spec, short)


def _stage(spec: dict[str, Any], short: bool) -> str:
    fields = [(key, value) for key, value in spec.items() if key != "type"]
    inner = ", ".join(f"{key}={_field(key, value, short)}" for key, value in fields)
    return f"{spec['type']}({inner})"


def _field(key: str, value: Any, short: bool) -> str:
    if key in _WORDS and isinstance(value, str):
        return value
    if key == "pattern":
        ((kind, text),) = value.items()
        return f"{kind}({_value(text, short)})"
    if key in ("single", "pair") and isinstance(value, list):
        return _listed([_piece(piece) for piece in value], "[]", short)
    if key == "special_tokens" and isinstance(value, dict):
        tokens = {name: _stage({"type": "SpecialToken", **token}, short) for name, token in value.items()}
        return _listed([f'"{name}":{token}' for name, token in tokens.items()], "{}", short)
    if key in ("truncation", "padding") and value is not None:
        return _stage({"type": f"{key.title()}Params", **value}, short)
    if key in ("sep", "cls"):
        return _tuple(value, short)
    if key == "vocab" and isinstance(value, dict):
        # Tokens may be called as fields of stages are.
        return _mapped(value, short)
    if key in ("vocab", "merges") and isinstance(value, list):
        return _listed([_tuple(item, short) for item in value[: _MOST + 1]], "[]", short)
    return _value(value, short)


def _piece(piece: dict[str, Any]) -> str:
    ((kind, fields),) = piece.items()
    id = fields["id"] if kind == "Sequence" else f'"{fields["id"]}"'
    return f"{kind}(id={id}, type_id={fields['type_id']})"


def _tuple(items: Any, short: bool) -> str:
    return f"({', '.join(_value(item, short) for item in items)})"


def _value(value: Any, short: bool) -> str:
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return f'"{value[:_CHARS]}..."' if short and len(value.encode()) > _CHARS else f'"{value}"'
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, list):
        return _listed([_value(item, short) for item in value[: _MOST + 1]], "[]", short)
    if isinstance(value, dict):
        if "type" in value:
            return _stage(value, short)
        return _mapped(value, short)
    return str(value)


def _mapped(items: dict[str, Any], short: bool) -> str:
    first = list(items.items())[: _MOST + 1]
    return _listed([f'"{key}":{_value(item, short)}' for key, item in first], "{}", short)


def _listed(items: list[str], ends: str, short: bool) -> str:
    most = _ITEMS if short else _MOST
    more = ["..."] if len(items) > most else []
    return ends[0] + ", ".join(items[:most] + more) + ends[1]
