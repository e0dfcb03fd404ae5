"""`Meanings` and `match`: which tokens of two tokenizers mean the same text, and the pieces of the rest.

Tokens are compared by the bytes of their text, however they are spelled: `Ġfilm`, `▁film` and
`film` of a WordPiece are a space and `film`; `##s` and `s` are `s`; `<0x0A>` and `Ċ` are a line feed. Special
tokens are compared by their content, or else by what they are for (`eos_token`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile

from .._sentitok import FormatError, Tokenizer
from ..messages import shown
from ..pretrained.documents import document_of

__all__ = ["Match", "Meanings", "match"]

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_MARK = "▁".encode()
# Texts before a token under which the old tokenizer is asked for its pieces: alone a token may get a space
# before it, and after a letter it may be merged with that.
_BEFORE = ("", "\n", "a", "x", "0", ".", "-", "(")


class Meanings:
    """The meanings of a tokenizer's tokens in text.

    Attributes:
        tokenizer: whose tokens they are.
        texts: by id, the text of each token that is not special.
        added: ids of added tokens.
        specials: the ids of special tokens by content.
        by_text: ids by text; tokens before bytes (`<0x41>`), then by id.
        byte_tokens: ids of tokens that are one byte in a vocabulary of characters.
        unknown: the id of unknown text, or `None`.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        model = document_of(tokenizer)["model"]
        self._continued = (model.get("continuing_subword_prefix") or "").encode()
        self._ending = (model.get("end_of_word_suffix") or "").encode()
        self._is_chars = tokenizer.info()["unit"] == "chars"
        self._has_marks = self._is_chars and any("▁" in token for token in tokenizer.encode("a b").tokens)
        unk = tokenizer.info()["unk_token"]
        self.unknown = None if unk is None else tokenizer.token_to_id(unk)
        added = {token.id: token for token in tokenizer.added_tokens}
        self.added = frozenset(added)
        self.specials = {token.content: token.id for token in added.values() if token.special}
        tokens = {id: token for token, id in tokenizer.vocab().items()}
        bytes_spelled = {id: found for id, token in tokens.items() if (found := _BYTE.fullmatch(token))}
        self.byte_tokens = frozenset(bytes_spelled if self._is_chars and len(bytes_spelled) == 256 else ())
        self.texts: dict[int, bytes] = {}
        for id in sorted(tokens):
            if id in self.byte_tokens:
                self.texts[id] = bytes([int(bytes_spelled[id][1], 16)])
            elif id not in added:
                self.texts[id] = self._meaning(tokenizer.id_to_bytes(id) or b"")
            elif not added[id].special:
                self.texts[id] = added[id].content.encode()
        self.by_text: dict[bytes, list[int]] = {}
        for id in sorted(self.texts, key=lambda one: (one in self.byte_tokens, one)):
            self.by_text.setdefault(self.texts[id], []).append(id)

    def _meaning(self, token: bytes) -> bytes:
        if self._has_marks:
            token = token.replace(_MARK, b" ")
        if self._ending and token.endswith(self._ending):
            token = token.removesuffix(self._ending) + b" "
        if not self._continued:
            return token
        if token.startswith(self._continued):
            return token.removeprefix(self._continued)
        # The first piece of a word: words have spaces between them, while signs and ideographs do not.
        first = token.decode("utf-8", "replace")[:1]
        return b" " + token if first.isalnum() and not _is_ideograph(first) else token

    def pieces(self, texts: Sequence[bytes]) -> list[list[int]]:
        """Returns the ids that the tokenizer makes of each text in the middle of a longer one.

        Bytes that are not characters have byte tokens. A text without a token has no pieces.
        """
        runs = [list(_runs(text)) for text in texts]
        wanted = list(dict.fromkeys(part for parts in runs for part in parts if isinstance(part, str)))
        known = dict(zip(wanted, self._encoded(wanted), strict=True))
        return [
            [id for part in parts for id in (known[part] if isinstance(part, str) else self._of_byte(part))]
            for parts in runs
        ]

    def _of_byte(self, byte: int) -> list[int]:
        return self.by_text.get(bytes([byte]), [])[:1]

    def _encoded(self, texts: list[str]) -> list[list[int]]:
        found: dict[int, list[int]] = {}
        left = list(range(len(texts)))
        alone: dict[int, list[int]] = {}
        for before in _BEFORE:
            batch = self._ids([before, *(before + texts[at] for at in left)])
            context, rest = batch[0], dict(zip(left, batch[1:], strict=True))
            for at, ids in rest.items():
                alone.setdefault(at, ids)
                own = ids[len(context) :]
                if ids[: len(context)] == context and self._spell(own, texts[at]):
                    found[at] = own
            left = [at for at in left if at not in found]
        # The normalizer changes these texts, or some of their characters are unknown.
        for at in left:
            found[at] = self._of_changed(texts[at], alone[at])
        return [found[at] for at in range(len(texts))]

    def _of_changed(self, text: str, ids: list[int]) -> list[int]:
        """Returns the pieces of a text alone, without a space that the tokenizer puts before it."""
        known = [id for id in ids if id != self.unknown and id in self.texts]
        if not text[:1].isspace():
            known = list(dropwhile(lambda one: self.texts[one].isspace(), known))
        says_all = not text.strip() or any(self.texts[id].strip() for id in known)
        return known if says_all else []

    def _ids(self, texts: list[str]) -> list[list[int]]:
        return self.tokenizer.encode_batch(texts, add_special_tokens=False).to_list()

    def _spell(self, ids: list[int], text: str) -> bool:
        """Whether tokens are exactly a text."""
        return self.unknown not in ids and b"".join(self.texts.get(id, b"") for id in ids) == text.encode()


def _runs(text: bytes) -> Iterator[str | int]:
    """Yields the characters of bytes together, and each byte that is not part of one."""
    whole: list[str] = []
    for char in text.decode("utf-8", "surrogateescape"):
        if not 0xDC80 <= ord(char) <= 0xDCFF:
            whole.append(char)
            continue
        if whole:
            yield "".join(whole)
            whole.clear()
        yield ord(char) - 0xDC00
    if whole:
        yield "".join(whole)


def _is_ideograph(char: str) -> bool:
    ranges = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F))
    return any(low <= ord(char) <= high for low, high in ranges)


@dataclass(frozen=True)
class Match:
    """Two tokenizers, token by token.

    Attributes:
        old: the tokens that a model has rows of.
        new: the tokens that it is to have rows of.
        copied: by new id, the old id that means the same.
        missing: new ids of tokens that the old tokenizer does not have.
        pieces: by new id, the old ids that the text of a missing token is made of; special tokens, and
            tokens that the old tokenizer has no pieces for, are not in it.
    """

    old: Meanings
    new: Meanings
    copied: dict[int, int] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)
    pieces: dict[int, list[int]] = field(default_factory=dict)


def match(
    old: Tokenizer, new: Tokenizer, token_map: Mapping[str, str], old_roles: Mapping[str, str]
) -> Match:
    """Finds the tokens that both tokenizers have, and the old pieces of all further ones.

    Args:
        old: the tokenizer of the model.
        new: the tokenizer that it is to have.
        token_map: old tokens by new ones, as their vocabularies spell them, above all else.
        old_roles: the roles of special tokens of the old tokenizer, in addition to its settings.

    Raises:
        FormatError: if `token_map` names a token that a vocabulary does not have.
    """
    found = Match(Meanings(old), Meanings(new))
    named = {_named(new, one, "new"): _named(old, other, "old") for one, other in token_map.items()}
    roles = {content: role for role, content in new.settings.special_tokens.items()}
    for_roles = {**old_roles, **old.settings.special_tokens}
    specials = {id: content for content, id in found.new.specials.items()}
    for id in sorted({*found.new.texts, *specials}):
        there = named.get(id)
        if there is None and id in specials:
            there = _special(found.old, specials[id], for_roles.get(roles.get(specials[id], "")))
        elif there is None:
            there = _plain(found, id)
        if there is None:
            found.missing.append(id)
        else:
            found.copied[id] = there
    plain = [id for id in found.missing if found.new.texts.get(id)]
    pieces = found.old.pieces([found.new.texts[id] for id in plain])
    found.pieces.update({id: ids for id, ids in zip(plain, pieces, strict=True) if ids})
    return found


def _named(tokenizer: Tokenizer, token: str, which: str) -> int:
    id = tokenizer.token_to_id(token)
    if id is None:
        raise FormatError(
            f"token_map: the {which} tokenizer has no token {shown(token)}; write it as its vocabulary does"
        )
    return id


def _special(old: Meanings, content: str, same_role: str | None) -> int | None:
    """Returns the old id of a special token: that of its content, or of the token for the same use."""
    if content in old.specials:
        return old.specials[content]
    there = old.tokenizer.token_to_id(content)
    if there is not None and old.texts.get(there) == content.encode():
        return there
    return old.specials.get(same_role or "")


def _plain(found: Match, id: int) -> int | None:
    """Returns the old id of a token's text; of several the one that is spelled the same."""
    text = found.new.texts[id]
    ids = found.old.by_text.get(text, [])
    if len(ids) > 1:
        spelled = found.new.tokenizer.id_to_token(id)
        ids = [one for one in ids if found.old.tokenizer.id_to_token(one) == spelled] or ids
    if not ids and (content := text.decode("utf-8", "replace")) in found.old.specials:
        return found.old.specials[content] if id in found.new.added else None
    return ids[0] if ids else None
