"""`end_token`: the special token that ends a document, and so comes before the next.

Not for BERT's [CLS] and [SEP] around a text, which the tokenizer adds by itself.
"""

from sentitok import Tokenizer

__all__ = ["end_token"]

# GPT-2's; SentencePiece's and Llama 2's; Llama 3's; Gemma's.
_ENDS = ("<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>")


def end_token(tokenizer: Tokenizer, named: str | None) -> str | None:
    """Returns the token that a run names, or else one that the tokenizer has under a usual name."""
    special = {token.content for token in tokenizer.added_tokens if token.special}
    for name in _ENDS if named is None else (named,):
        if name in special:
            return name
    return None
