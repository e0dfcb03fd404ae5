"""BPE over characters, from JSON: long pieces against Hugging Face tokenizers.

Such a model has no splitter, so a text is one piece, which is cut where no merge
can cross, and merged in windows.
"""

import json
import random
from typing import Any

import pytest
import tokenizers

import sentitok

CHARS = "ab▁é語x"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def model(seed: int) -> dict[str, Any]:
    """A random model; some have all bytes, some merge them, some have an unknown token."""
    pick = random.Random(seed)
    n_bytes = pick.choice([0, 200, 256, 256, 256])
    tokens = [*BYTES[:n_bytes], "<unk>", *pick.sample(CHARS, pick.randint(3, len(CHARS)))]
    merges: list[tuple[str, str]] = []
    for _ in range(pick.randint(0, 40)):
        parts = tokens[n_bytes + 1 :] if pick.random() < 0.97 else tokens
        left, right = (pick.choice(parts[-8:] if pick.random() < 0.5 else parts) for _ in "lr")
        if len(left + right) < 120 and left + right not in tokens:
            tokens.append(left + right)
            merges.append((left, right))
    return {
        "type": "BPE",
        "unk_token": "<unk>" if pick.random() < 0.7 else None,
        "fuse_unk": pick.random() < 0.5,
        "byte_fallback": n_bytes > 0,
        "ignore_merges": pick.random() < 0.3,
        "vocab": {token: id for id, token in enumerate(tokens)},
        "merges": [list(merge) for merge in merges],
    }


def texts(seed: int) -> list[str]:
    """Texts of few characters, most of them long."""
    pick = random.Random(seed)
    found = []
    for n in (3, 40, 150, 400):
        weights = [pick.random() ** 3 for _ in CHARS + "y∞"]
        text = "".join(pick.choices(CHARS + "y∞", weights, k=n))
        found += [text, text[: n // 8] * 8]
    return found


def differences(seeds: range) -> list[tuple[int, str]]:
    """Models and texts whose ids are not those of tokenizers."""
    found = []
    for seed in seeds:
        written = json.dumps({"version": "1.0", "added_tokens": [], "model": model(seed)})
        ours = sentitok.Tokenizer.from_bytes(written.encode())
        theirs = tokenizers.Tokenizer.from_str(written)
        for text in texts(seed):
            expected = theirs.encode(text, add_special_tokens=False)
            # Once through the cache and cuts, once with the places of tokens.
            plain = ours.encode_batch([text, text])
            with_places = ours.encode(text)
            if not (
                plain[0].ids.tolist() == plain[1].ids.tolist() == with_places.ids.tolist() == expected.ids
            ):
                found.append((seed, text))
    return found


def test_random_models_give_the_same_ids() -> None:
    assert differences(range(150)) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 20_000, 1000))
def test_many_random_models_give_the_same_ids(first: int) -> None:
    assert differences(range(first, first + 1000)) == []
