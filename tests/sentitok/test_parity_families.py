"""The pipelines that published families of models have, against tokenizers.

Each is built and trained by tokenizers (`tests/oracles/families.py`), saved, read here, and
written again: ids, offsets, type ids, decoded text and the file written must be the same.
The table in docs/reference/families.md is that of these families.
"""

import zlib
from pathlib import Path

import pytest
import tokenizers

from oracles.families import FAMILIES, FILES, file_of
from oracles.offsets import offsets_agree
from sampled_cases import sample
from sentitok import Tokenizer

DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "reference" / "families.md"
LINES = [line for path in FILES for line in path.read_text("utf-8").split("\n")[3::40]]
ODD = [
    "日本語 123456 ①②",
    "a  b\t\tc\n\n d",
    "ＡＢＣ ﬁ ½ Å",
    "x" * 50,
    "",
    " lead",
    "trail  ",
    "👩‍👩‍👧 é é",
    "<s>hi</s> [MASK] <|endoftext|>x <unk>",
    "It's we'LL 'ſ don't",
    "м ò 12½3456 x²y ٣٤٥ 1234567",
    "a,b!?c -- (d) ``e'' 「f」",
    "  \n \r\n\t\n",
    "line\nline \n\nlast\n",
    "▁a▁▁b ▁",
    "ΟΔΟΣ İstanbul ẞ ﷺ",
    "\u200b\u00a0\u3000\ufeff\x00\x7f",
]


def test_the_table_names_the_families() -> None:
    rows = [
        line.split("|")[1].strip() for line in DOCS.read_text("utf-8").split("\n") if line.startswith("| ")
    ]
    assert [row for row in rows if row in FAMILIES] == list(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_equals_tokenizers(family: str, tmp_path: Path) -> None:
    theirs = tokenizers.Tokenizer.from_str(file_of(family))
    theirs.save(str(tmp_path / "theirs.json"))
    ours = Tokenizer.from_file(tmp_path / "theirs.json")
    ours.save(tmp_path / "ours.json")
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "ours.json"))
    joins = "Precompiled" in str(theirs.normalizer)
    # The written file is that of tokenizers, except for names of the same steps.
    assert Tokenizer.from_file(tmp_path / "ours.json") == ours
    assert Tokenizer.from_bytes(ours.to_bytes()) == ours
    for text in [*sample(60, LINES, zlib.crc32(family.encode())), *ODD]:
        expected = theirs.encode(text)
        found = ours.encode(text, specials="all")
        assert found.ids.tolist() == expected.ids, text
        assert found.type_ids.tolist() == expected.type_ids, text
        assert found.special_tokens_mask.tolist() == [bool(n) for n in expected.special_tokens_mask], text
        assert offsets_agree(found.offsets().tolist(), expected.offsets, joins=joins), text
        assert again.encode(text).ids == expected.ids, text
        for skip in (False, True):
            decoded = theirs.decode(expected.ids, skip_special_tokens=skip)
            assert ours.decode(found.ids, skip_special_tokens=skip) == decoded, (text, skip)
            assert again.decode(expected.ids, skip_special_tokens=skip) == decoded, (text, skip)
            stream = ours.stream_decoder(skip_special_tokens=skip)
            assert "".join([*map(stream.push, expected.ids), stream.finish()]) == decoded, (text, skip)
    for text, other in zip(ODD, reversed(ODD), strict=True):
        pair = theirs.encode(text, other)
        found = ours.encode(text, other, specials="all")
        assert (found.ids.tolist(), found.type_ids.tolist()) == (pair.ids, pair.type_ids), text
