"""`unknown_parts`: the parts of a text that a tokenizer has no tokens for.

A model reads them as the unknown token, or does not read them at all.
"""

import unicodedata

from sentitok import Tokenizer

__all__ = ["unknown_parts"]


def unknown_parts(tokenizer: Tokenizer, text: str) -> list[str]:
    """Returns the parts of a text that only the unknown token, or no token, stands for; each once.

    White space, marks and invisible characters do not count: normalizers drop them.
    """
    unknown = tokenizer.info().get("unk_token")
    encoding = tokenizer.encode(text, add_special_tokens=False)
    unknown_id = None if unknown is None else tokenizer.token_to_id(unknown)
    read = [False] * len(text)
    for id, (start, end) in zip(encoding.ids.tolist(), encoding.offsets("chars").tolist(), strict=True):
        if id != unknown_id:
            read[start:end] = [True] * (end - start)
    parts, part = dict[str, None](), ""
    for known, char in zip([*read, True], [*text, ""], strict=True):
        if not known and _is_seen(char):
            part += char
        elif part and (known or char.isspace()):
            parts[part], part = None, ""
    return list(parts)


def _is_seen(char: str) -> bool:
    return not char.isspace() and unicodedata.category(char)[0] not in "MC"
