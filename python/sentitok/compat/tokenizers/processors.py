"""tokenizers' post-processors: they add special tokens, and trim white space from offsets.

sentitok does this in the tokenizer. This module does the same for given encodings
(`Tokenizer.post_process`, texts that are cut): a few lines a kind.

Source of the rules: tokenizers 0.23, what each processor makes of encodings.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from ... import numbers
from ...messages import shown
from .encoding import FIELDS, Encoding
from .fields import Field, Json, flag
from .stages import Stage, Steps

__all__ = [
    "BertProcessing",
    "ByteLevel",
    "PostProcessor",
    "RobertaProcessing",
    "Sequence",
    "TemplateProcessing",
    "trimmed",
]

_Token = tuple[str, int]
_Template = str | list[str]


class PostProcessor(Stage, room="post-processor"):
    """Adds special tokens to one text, or to two."""

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Returns how many tokens are put around a text, or around two."""
        return 0

    def trims(self) -> bool:
        """Whether white space is left out of where tokens are."""
        return bool(self.fields.get("trim_offsets"))

    def keeps_prefix(self) -> bool:
        """Whether offsets leave out a space that was put in front of a text."""
        return bool(self.fields.get("add_prefix_space"))

    def process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Returns the tokens of a text, or of two, with what belongs around them."""
        several = [encoding.copy()] if pair is None else [encoding.copy(), pair.copy()]
        for number, one in enumerate(several):
            for part in (one, *one.parts):
                part.set_sequence_id(number)
            one.put("type_ids", [number] * len(one))
        return Encoding.merge(self.around(several, add_special_tokens), growing_offsets=False)

    def around(self, encodings: list[Encoding], add: bool) -> list[Encoding]:
        """Returns the encodings as they are joined, with what belongs around them."""
        raise NotImplementedError


def _added(token: str, id: int, type_id: int) -> Encoding:
    known = {"ids": id, "type_ids": type_id, "tokens": token, "offsets": (0, 0), "special": 1, "attention": 1}
    return Encoding.made({name: [known.get(name)] for name in FIELDS})


def _trimmed(encoding: Encoding, add_prefix_space: bool) -> list[tuple[int, int]]:
    """Where tokens are, with the white space left out."""
    places = zip(encoding.field("tokens"), encoding.field("offsets"), strict=True)
    return [
        trimmed(token, start, end, add_prefix_space and (n == 0 or start == 0))
        for n, (token, (start, end)) in enumerate(places)
    ]


def trimmed(token: str, start: int, end: int, keeps_blank: bool) -> tuple[int, int]:
    """Returns where a token is, with the white space left out; `keeps_blank` keeps a single one in front."""
    before, after = _n_blanks(token), _n_blanks(token[::-1])
    if not (keeps_blank and before == 1):
        start = min(start + before, end)
    if after and end >= after:
        end = max(end - after, start)
    return start, end


def _n_blanks(token: str) -> int:
    count = 0
    for char in token:
        if char != "Ġ" and not (char.isspace() and char not in "\x1c\x1d\x1e\x1f"):
            break
        count += 1
    return count


def _trim_all(encodings: list[Encoding], add_prefix_space: bool) -> None:
    for encoding in encodings:
        for part in (encoding, *encoding.parts):
            part.put_later("offsets", lambda now: _trimmed(now, add_prefix_space))


class ByteLevel(PostProcessor):
    """Leaves white space out of where tokens are, if asked for."""

    defaults: ClassVar[Json] = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    add_prefix_space = Field[bool](check=flag("add_prefix_space"))
    trim_offsets = Field[bool](check=flag("trim_offsets"))
    use_regex = Field[bool](check=flag("use_regex"))

    def __init__(
        self,
        add_prefix_space: bool | None = None,
        trim_offsets: bool | None = None,
        use_regex: bool | None = None,
        type: str = "ByteLevel",  # as in the JSON, whose fields are given back
    ) -> None:
        super().__init__(
            add_prefix_space=True if add_prefix_space is None else add_prefix_space,
            trim_offsets=True if trim_offsets is None else trim_offsets,
            use_regex=True if use_regex is None else use_regex,
        )

    def around(self, encodings: list[Encoding], add: bool) -> list[Encoding]:
        """As in `PostProcessor`."""
        if self.trim_offsets:
            _trim_all(encodings, self.add_prefix_space)
        for number, encoding in enumerate(encodings):
            encoding.set_sequence_id(number)
        return encodings


def _with_id(given: tuple[str, int]) -> list[Any]:
    token, id = given
    if not isinstance(token, str):
        raise TypeError(f"{shown(given)} is not a token with its id, such as ('[SEP]', 3)")
    return [token, numbers.whole(f"the id of {shown(token)}", id, error=OverflowError, bits=32)]


class _Framed(PostProcessor):
    """BERT's and RoBERTa's way: one token before, one behind each text."""

    sep = Field[_Token](check=_with_id, shown=tuple)
    cls = Field[_Token](check=_with_id, shown=tuple)
    kinds: ClassVar[dict[str, type[Stage]]] = PostProcessor.kinds

    def _frame(self, encodings: list[Encoding], pair_type: int, sep_before_pair: bool) -> list[Encoding]:
        for number, encoding in enumerate(encodings):
            for part in (encoding, *encoding.parts):  # whatever they were before
                part.ranges.clear()
                part.set_sequence_id(number)
                part.put("special", [0] * len(part))
                part.put("attention", [1] * len(part))
        sep, cls = _added(*self.sep, 0), _added(*self.cls, 0)
        made = [cls, encodings[0], sep]
        if len(encodings) > 1:
            made += [_added(*self.sep, pair_type)] if sep_before_pair else []
            made += [encodings[1], _added(*self.sep, pair_type)]
        return made


class BertProcessing(_Framed):
    """`[CLS] A [SEP] B [SEP]`, with the segments 0 and 1."""

    defaults: ClassVar[Json] = {"sep": None, "cls": None}

    def __init__(self, sep: _Token, cls: _Token) -> None:
        self.fields = {}
        self.sep, self.cls = sep, cls

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """As in `PostProcessor`."""
        return 3 if is_pair else 2

    def around(self, encodings: list[Encoding], add: bool) -> list[Encoding]:
        """As in `PostProcessor`."""
        return self._frame(encodings, 1, sep_before_pair=False) if add else encodings


class RobertaProcessing(_Framed):
    """`<s> A </s></s> B </s>`, all of segment 0."""

    defaults: ClassVar[Json] = {"sep": None, "cls": None, "trim_offsets": True, "add_prefix_space": True}
    trim_offsets = Field[bool](check=flag("trim_offsets"))
    add_prefix_space = Field[bool](check=flag("add_prefix_space"))

    def __init__(
        self, sep: _Token, cls: _Token, trim_offsets: bool = True, add_prefix_space: bool = True
    ) -> None:
        self.fields = {}
        self.sep, self.cls = sep, cls
        self.trim_offsets, self.add_prefix_space = trim_offsets, add_prefix_space

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """As in `PostProcessor`."""
        return 4 if is_pair else 2

    def around(self, encodings: list[Encoding], add: bool) -> list[Encoding]:
        """As in `PostProcessor`."""
        if self.trim_offsets:
            _trim_all(encodings, self.add_prefix_space)
        for encoding in encodings:
            for part in (encoding, *encoding.parts) if add else (encoding,):
                part.put("type_ids", [0] * len(part))
        return self._frame(encodings, 0, sep_before_pair=True) if add else encodings


def _piece(text: str) -> Json:
    """The JSON of a piece of a template: `$A`, `$B:1`, `$0`, `[CLS]:0`."""
    name, colon, number = text.partition(":")
    first = name[1:] if name.startswith("$") else ""
    is_known = not name.startswith("$") or first in ("", "A", "a", "B", "b") or _is_number(first)
    if not is_known or (colon and not _is_number(number)):
        raise ValueError(f'Cannot build Piece from string "{text}"')
    if not name.startswith("$"):
        return {"SpecialToken": {"id": name, "type_id": int(number or 0)}}
    id = "B" if first in ("B", "b") else "A"
    segment = number or (first if _is_number(first) else 0)  # `$1` is the first text, as segment 1
    return {"Sequence": {"id": id, "type_id": int(segment)}}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def _template(given: _Template) -> list[Json]:
    return [_piece(text) for text in (given.split(" ") if isinstance(given, str) else given)]


def _special(given: "_Token | tuple[int, str] | Mapping[str, Any]") -> Json:
    if isinstance(given, Mapping):
        ids = [numbers.whole("an id", id, error=OverflowError, bits=32) for id in given["ids"]]
        token = {"id": given["id"], "ids": ids, "tokens": list(given["tokens"])}
        if len(token["ids"]) != len(token["tokens"]):
            raise ValueError(f"SpecialToken: ids and tokens must be of the same length: {given!r}")
        return token
    content, id = given if isinstance(given[0], str) else given[::-1]
    return {
        "id": content,
        "ids": [numbers.whole("an id", id, error=OverflowError, bits=32)],
        "tokens": [content],
    }


class TemplateProcessing(PostProcessor):
    """A template for one text, and one for two.

    Args:
        single: such as `"[CLS] $A [SEP]"`, or its pieces in a list.
        pair: such as `"[CLS] $A [SEP] $B:1 [SEP]:1"`; the numbers are segments.
        special_tokens: each token of the templates with its id.
    """

    defaults: ClassVar[Json] = {"single": [], "pair": [], "special_tokens": {}}
    single = Field[list[Json]](check=_template)

    def __init__(
        self,
        single: _Template | None = None,
        pair: _Template | None = None,
        special_tokens: Iterable["_Token | tuple[int, str] | Mapping[str, Any]"] | None = None,
    ) -> None:
        tokens = [_special(given) for given in special_tokens or []]
        self.fields = {
            "single": _template("$0" if single is None else single),
            "pair": _template("$A:0 $B:1" if pair is None else pair),
            "special_tokens": {token["id"]: token for token in sorted(tokens, key=lambda token: token["id"])},
        }
        texts = {piece["Sequence"]["id"] for piece in self.fields["pair"] if "Sequence" in piece}
        if texts != {"A", "B"}:
            raise ValueError("Template for `pair` must use both sequences")
        pieces = [*self.fields["single"], *self.fields["pair"]]
        used = [piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece]
        if missing := [name for name in dict.fromkeys(used) if name not in self.fields["special_tokens"]]:
            raise ValueError(f"Missing SpecialToken(s) with id(s) `{', '.join(missing)}`")

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """As in `PostProcessor`."""
        pieces = self.fields["pair" if is_pair else "single"]
        tokens = self.fields["special_tokens"]
        return sum(
            len(tokens[piece["SpecialToken"]["id"]]["ids"]) for piece in pieces if "SpecialToken" in piece
        )

    def around(self, encodings: list[Encoding], add: bool) -> list[Encoding]:
        """As in `PostProcessor`."""
        made = []
        for piece in self.fields["pair" if len(encodings) > 1 else "single"]:
            ((kind, fields),) = piece.items()
            if kind == "Sequence":
                number = int(fields["id"] == "B")
                encoding = encodings[number].copy()
                encoding.put("type_ids", [fields["type_id"]] * len(encoding))
                encoding.set_sequence_id(number)
                made.append(encoding)
            elif add:
                token = self.fields["special_tokens"][fields["id"]]
                several = zip(token["tokens"], token["ids"], strict=True)
                made += [_added(text, id, fields["type_id"]) for text, id in several]
        return made


class Sequence(Steps[PostProcessor], PostProcessor):
    """One after the other."""

    key = "processors"
    defaults: ClassVar[Json] = {key: []}

    def __init__(self, processors: Iterable[PostProcessor]) -> None:
        self._hold(processors, PostProcessor)

    @classmethod
    def _of(cls, fields: Json) -> "Sequence":
        return cls([PostProcessor.from_spec(spec) for spec in fields[cls.key]])

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """As in `PostProcessor`."""
        return sum(stage.num_special_tokens_to_add(is_pair) for stage in self.stages)

    def trims(self) -> bool:
        """As in `PostProcessor`."""
        return any(stage.trims() for stage in self.stages)

    def keeps_prefix(self) -> bool:
        """As in `PostProcessor`."""
        return next((stage.keeps_prefix() for stage in self.stages if stage.trims()), True)

    def around(self, encodings: list[Encoding], add: bool) -> list[Encoding]:
        """As in `PostProcessor`."""
        for stage in self.stages:
            encodings = stage.around(encodings, add)
        return encodings
