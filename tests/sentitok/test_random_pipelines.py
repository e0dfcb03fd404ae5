"""Random models of every kind, every stage around them at random, against tokenizers.

Encoded under each choice of `specials`, decoded, saved in every format and read again. What may
differ is written in `docs/explanation/exactness.md`; each exception here names its line.
"""

import json
import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import tokenizers

from oracles.random_pipelines import BYTE_CHARS, KINDS, Pipeline, barred, pipeline, text
from sentitok import EncodeError, Encoding, FormatError, SentitokError, Tokenizer

#: Models of each kind in an ordinary run, and in a long one.
FEW = 30
MANY = 20_000
TEXTS = 5
#: How tokenizers is called ends in one of these where a file or a text is beyond it.
BEYOND = (Exception, BaseException)
#: Files refused on reading, with the reason; see "Files that are refused" in docs/explanation/exactness.md.
REFUSED = re.compile(r"not supported|cannot be step|is not in the vocabulary|takes it as id|occurs twice")

Difference = tuple[str, Any]


def hugging_face(case: Pipeline) -> tokenizers.Tokenizer | None:
    """The pipeline in tokenizers; `None` if it cannot hold it."""
    try:
        made = tokenizers.Tokenizer.from_str(json.dumps(case.file))
        for content, special, flags in case.added:
            token = tokenizers.AddedToken(content, **flags)
            (made.add_special_tokens if special else made.add_tokens)([token])
    except (KeyboardInterrupt, SystemExit):
        raise
    except BEYOND:
        return None
    # A token of which the normalizer leaves nothing is found everywhere there, without end.
    if not all(pattern(made, token) for token in made.get_added_tokens_decoder().values()):
        return None
    if is_documented(case, made):
        return None
    return made


def pattern(made: tokenizers.Tokenizer, token: tokenizers.AddedToken) -> str:
    """The string that is searched for in a text."""
    normalizer = made.normalizer if token.normalized else None
    return str(normalizer.normalize_str(token.content)) if normalizer else str(token.content)


def is_documented(case: Pipeline, made: tokenizers.Tokenizer) -> bool:
    """Whether ids may differ: of a token that begins with white space next to one with `rstrip`, and of
    tokens that the normalizer makes alike."""
    tokens = made.get_added_tokens_decoder().values()
    patterns = [pattern(made, token) for token in tokens]
    swallowed = any(t.rstrip for t in tokens) and any(text[0].isspace() for text in patterns)
    alike = len(set(patterns)) < len(patterns)
    return swallowed or alike


def text_may_differ(case: Pipeline, made: tokenizers.Tokenizer) -> bool:
    """Whether an added token is decoded differently: one that the normalizer changes, or one next to
    ByteLevel that is spelled by characters of bytes."""
    tokens = made.get_added_tokens_decoder().values()
    changed = any(pattern(made, token) != token.content for token in tokens)
    return changed or (
        case.kind == "bytes"
        and any(not t.content.isascii() and set(t.content) <= set(BYTE_CHARS) for t in tokens)
    )


def offsets_are_theirs(case: Pipeline) -> bool:
    """Whether offsets are to be compared: not those of text put in front, of text that several
    characters became, and of tokens that represent bytes, a prefix or a suffix."""
    model, stages = case.file["model"], json.dumps([case.file["normalizer"], case.file["pre_tokenizer"]])
    if case.kind == "bytes":
        affixes = model["continuing_subword_prefix"] or model["end_of_word_suffix"]
        whole = not affixes and set(BYTE_CHARS) <= set(model["vocab"])
    else:
        whole = not model.get("byte_fallback")
    in_front = '"add_prefix_space": true' in stages or re.search('"prepend_scheme": "(always|first)"', stages)
    unknown = model.get("unk_token") in [content for content, _, _ in case.added]
    steps = set(re.findall(r'"type": "(\w+)"', json.dumps(case.file["normalizer"])))
    return whole and not in_front and not unknown and steps <= {"Sequence", "Lowercase", "NFC", "Replace"}


def call(work: Callable[[], Any]) -> Any:
    """What `work` gives, or `None` where tokenizers fails."""
    try:
        return work()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BEYOND:
        return None


def encodings(
    case: Pipeline, ours: Tokenizer, theirs: tokenizers.Tokenizer, specials: Any, given: str
) -> Iterator[Difference]:
    """Differences of one text."""
    for template in (False, True):
        expected = call(partial(theirs.encode, given, add_special_tokens=template))
        if expected is None:
            return
        found = ours.encode(given, specials=specials, add_special_tokens=template)
        if found.ids.tolist() != expected.ids:
            yield "ids", (specials, given, found.ids.tolist(), expected.ids)
            return
        if found.type_ids.tolist() != expected.type_ids:
            yield "type ids", (given, found.type_ids.tolist(), expected.type_ids)
        if found.special_tokens_mask.tolist() != [bool(n) for n in expected.special_tokens_mask]:
            yield "mask", (given, found.special_tokens_mask.tolist(), expected.special_tokens_mask)
        if offsets_are_theirs(case) and found.offsets().tolist() != [list(span) for span in expected.offsets]:
            yield "offsets", (given, found.offsets().tolist(), expected.offsets)
        if specials == "all" and not tokens_agree(
            found, expected, isinstance(theirs.model, tokenizers.models.Unigram)
        ):
            yield "tokens", (given, found.surfaces, found.tokens, expected.tokens)


def tokens_agree(found: Encoding, expected: tokenizers.Encoding, is_unigram: bool) -> bool:
    """Whether the tokens are theirs: `surfaces` for Unigram; else unknown tokens are spelled."""
    if is_unigram:
        return found.surfaces == expected.tokens
    both = zip(found.tokens, found.surfaces, expected.tokens, strict=True)
    return all(token in (spelled, surface) for spelled, surface, token in both)


def decoded(
    case: Pipeline, ours: Tokenizer, theirs: tokenizers.Tokenizer, ids: list[int]
) -> Iterator[Difference]:
    """Differences of the text of ids."""
    for skip in (False, True):
        expected = call(partial(theirs.decode, ids, skip_special_tokens=skip))
        found = ours.decode(ids, skip_special_tokens=skip)
        # Where bytes are not text, they write U+FFFD for each byte of a run, valid ones too.
        same = expected is None or "�" in expected or found == expected
        if not same and not text_may_differ(case, theirs):
            yield "decode", (ids, skip, found, expected)
        stream = ours.stream_decoder(skip_special_tokens=skip)
        if "".join([*map(stream.push, ids), stream.finish()]) != found:
            yield "stream", (ids, skip)


def differences(case: Pipeline, rng: random.Random) -> Iterator[Difference]:
    """All differences of one pipeline."""
    theirs = hugging_face(case)
    if theirs is None:
        return
    file = theirs.to_str()
    try:
        ours = Tokenizer.from_bytes(file.encode())
    except FormatError as error:
        if not REFUSED.search(str(error)):
            yield "refused", str(error)
        yield "skipped", re.sub(r'".*?"|\d+', "", str(error))
        return
    specials = [token.content for token in ours.added_tokens if token.special]
    named = set(rng.sample(specials, rng.randint(0, len(specials))))
    choices: list[tuple[Any, tokenizers.Tokenizer]] = [("all", theirs)]
    subsets: list[tuple[Any, set[str]]] = [("none", set()), (named, named)]
    for chosen, allowed in subsets:
        other = call(partial(tokenizers.Tokenizer.from_str, barred(file, allowed)))
        if other is not None:
            choices.append((chosen, other))
    texts = [text(rng) for _ in range(TEXTS)] + rng.sample(specials, min(1, len(specials)))
    n_ids = max(ours.vocab().values()) + 1
    known = [id for id in range(n_ids) if ours.id_to_token(id) is not None]
    for given in texts:
        for chosen, other in choices:
            yield from encodings(case, ours, other, chosen, given)
        try:
            raised = ours.encode(given, specials="raise").ids.tolist()
            if raised != ours.encode(given).ids.tolist():
                yield "raise", given
        except EncodeError:
            pass
        if ours.is_lossless:
            ids = ours.encode(given, add_special_tokens=False).ids
            if ours.decode_bytes(ids) != given.encode():
                yield "lossless", (given, ids.tolist())
        yield from decoded(case, ours, theirs, ours.encode(given, specials="all").ids.tolist())
    yield from decoded(case, ours, theirs, [rng.choice(known) for _ in range(rng.randrange(6))])
    yield from reloaded(ours, texts, named)


def reloaded(ours: Tokenizer, texts: list[str], named: set[str]) -> Iterator[Difference]:
    """Differences after saving and reading again."""
    again = [("own", Tokenizer.from_bytes(ours.to_bytes()))]
    if again[0][1].to_bytes() != ours.to_bytes():
        yield "own file", "its bytes change"
    try:
        written = ours.to_hf().to_str()
    except SentitokError as error:
        yield "unsaved", str(error)
    else:
        again.append(("tokenizer.json", Tokenizer.from_bytes(written.encode())))
    for name, other in again:
        for given in texts:
            for specials in ("none", "all", named):
                one, two = (which.encode(given, specials=specials) for which in (ours, other))
                if one != two or one.surfaces != two.surfaces:
                    yield name, (specials, given, one.ids.tolist(), two.ids.tolist())
                ids = one.ids.tolist()
                if ours.decode(ids) != other.decode(ids):
                    yield name, (given, ours.decode(ids), other.decode(ids))


def check(kind: str, numbers: range) -> None:
    for number in numbers:
        rng = random.Random(f"{kind} {number}")
        case = pipeline(kind, rng)
        found = [difference for difference in differences(case, rng) if difference[0] != "skipped"]
        assert not found, (kind, number, found[:3], case)


@pytest.mark.parametrize("kind", KINDS)
def test_random_pipelines(kind: str) -> None:
    check(kind, range(FEW))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_pipelines(kind: str) -> None:
    check(kind, range(FEW, MANY))
