"""How each library trains on a file: a table by model and library.

From the path of the text to the trained model, by the quickest way each library
documents for a file.
"""

import os
from collections.abc import Callable
from typing import Any, Literal

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
BERT_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

# A trainer takes the path and the size; what it returns lists the tokens, and
# is called when the clock has stopped.
Tokens = Callable[[], set[bytes]]
Train = Callable[[str, int], Tokens]


def _from_byte_level(vocab: dict[str, int]) -> set[bytes]:
    """Tokens as bytes, from the spelling of GPT-2's files."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = [byte for byte in range(256) if byte not in kept]
    table = {chr(byte): byte for byte in kept} | {chr(256 + i): byte for i, byte in enumerate(moved)}
    return {bytes(table[char] for char in token) for token in vocab}


def train_sentitok(path: str, vocab_size: int) -> Tokens:
    import sentitok

    tokenizer = sentitok.train_bpe(path, vocab_size=vocab_size)
    return lambda: _from_byte_level(tokenizer.vocab())


def train_tokenizers(path: str, vocab_size: int) -> Tokens:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train([path], trainer)
    return lambda: _from_byte_level(tokenizer.get_vocab())


def train_ffbpe(path: str, vocab_size: int) -> Tokens:
    import ffbpe

    with open(path, encoding="utf-8", newline="") as file:
        model = ffbpe.train_bpe(file, vocab_size=vocab_size)
    return lambda: {bytes(token) for token in dict(model.vocab)}


def train_gigatoken(path: str, vocab_size: int) -> Tokens:
    import gigatoken

    vocab, _ = gigatoken.train_bpe(gigatoken.TextFileSource([path]), vocab_size, [], "huggingface")
    return lambda: {bytes(token) for token in vocab.values()}


def train_rustbpe(path: str, vocab_size: int) -> Tokens:
    import rustbpe

    tokenizer = rustbpe.Tokenizer()
    with open(path, encoding="utf-8", newline="\n") as file:
        tokenizer.train_from_iterator(file, vocab_size, pattern=GPT2)
    return lambda: {bytes(token) for token, _ in tokenizer.get_mergeable_ranks()}


def train_bpeasy(path: str, vocab_size: int) -> Tokens:
    import bpeasy

    with open(path, encoding="utf-8", newline="\n") as file:
        vocab = bpeasy.train_bpe(file, GPT2, 128, vocab_size)
    return lambda: {bytes(token) for token in vocab}


def _sentencepiece(path: str, vocab_size: int, model_type: str) -> Tokens:
    import io

    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        input=path,
        model_writer=model,
        model_type=model_type,
        vocab_size=vocab_size,
        num_threads=os.cpu_count() or 1,
        max_sentence_length=1 << 20,
        minloglevel=2,
    )

    def tokens() -> set[bytes]:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        pieces = [processor.id_to_piece(i) for i in range(processor.vocab_size())]
        return {piece.replace("▁", " ").encode() for piece in pieces}

    return tokens


def train_sentencepiece(path: str, vocab_size: int) -> Tokens:
    return _sentencepiece(path, vocab_size, "bpe")


def _wordpiece_sentitok(score: Literal["frequency", "likelihood"]) -> Train:
    def train(path: str, vocab_size: int) -> Tokens:
        import sentitok

        tokenizer = sentitok.train_wordpiece(
            path, vocab_size=vocab_size, score=score, special_tokens=BERT_SPECIALS
        )
        return lambda: {token.encode() for token in tokenizer.vocab()}

    return train


def wordpiece_tokenizers(path: str, vocab_size: int) -> Tokens:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size, special_tokens=BERT_SPECIALS, show_progress=False
    )
    tokenizer.train([path], trainer)
    return lambda: {token.encode() for token in tokenizer.get_vocab()}


def _unigram_sentitok(method: Literal["full", "sentencepiece"]) -> Train:
    def train(path: str, vocab_size: int) -> Tokens:
        import sentitok

        tokenizer = sentitok.train_unigram(path, vocab_size=vocab_size, method=method)
        return lambda: {token.replace("▁", " ").encode() for token in tokenizer.vocab()}

    return train


def unigram_sentencepiece(path: str, vocab_size: int) -> Tokens:
    return _sentencepiece(path, vocab_size, "unigram")


def unigram_tokenizers(path: str, vocab_size: int) -> Tokens:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer: Any = trainers.UnigramTrainer(
        vocab_size=vocab_size, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train([path], trainer)
    return lambda: {token.replace("▁", " ").encode() for token in tokenizer.get_vocab()}


BPE: dict[str, Train] = {
    "sentitok": train_sentitok,
    "tokenizers": train_tokenizers,
    "ffbpe": train_ffbpe,
    "gigatoken": train_gigatoken,
    "rustbpe": train_rustbpe,
    "bpeasy": train_bpeasy,
    "sentencepiece": train_sentencepiece,
}

WORDPIECE: dict[str, Train] = {
    "sentitok": _wordpiece_sentitok("frequency"),
    "sentitok, likelihood": _wordpiece_sentitok("likelihood"),
    "tokenizers": wordpiece_tokenizers,
}

UNIGRAM: dict[str, Train] = {
    "sentitok": _unigram_sentitok("full"),
    "sentitok, method=sentencepiece": _unigram_sentitok("sentencepiece"),
    "sentencepiece": unigram_sentencepiece,
    "tokenizers": unigram_tokenizers,
}

TRAINERS = {"bpe": BPE, "wordpiece": WORDPIECE, "unigram": UNIGRAM}
