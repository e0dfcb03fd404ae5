"""tokenizers' ready-made tokenizers: a model, the stages that go with it, and training in one call.

Source of what each is made of: tokenizers 0.23, `tokenizers.implementations`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from ... import _sentitok, missing_attribute
from . import decoders, models, normalizers, pre_tokenizers, processors, trainers
from .added import AddedToken
from .stages import Regex
from .tokenizer import Tokenizer
from .training import as_tokenizer_json

__all__ = [
    "BaseTokenizer",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
]

_Vocab = str | Mapping[str, int]
_Merges = str | Iterable[tuple[str, str]]
_Special = Sequence[str | AddedToken]
_Texts = Iterable[str | Iterable[str]]
_BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_SET = ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder", "encode_special_tokens")


class BaseTokenizer:
    """A tokenizer and what it was made with: all else is the tokenizer's.

    Args:
        tokenizer: the tokenizer.
        parameters: its arguments, to be shown.
    """

    def __init__(self, tokenizer: Tokenizer, parameters: Mapping[str, Any] | None = None) -> None:
        self._tokenizer = tokenizer
        self._parameters = dict(parameters or {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_tokenizer":
            raise AttributeError(name)
        return getattr(self._tokenizer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _SET:
            setattr(self._tokenizer, name, value)
        else:
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        shown = {"vocabulary_size": self._tokenizer.get_vocab_size(), **self._parameters}
        return f"Tokenizer({', '.join(f'{name}={value}' for name, value in shown.items())})"

    def normalize(self, sequence: str) -> str:
        """Returns the normalized text."""
        normalizer = self._tokenizer.normalizer
        return sequence if normalizer is None else normalizer.normalize_str(sequence)

    def save_model(self, directory: str, prefix: str | None = None) -> list[str]:
        """Writes the files of the model, and returns their paths."""
        return self._tokenizer.model.save(directory, prefix)

    def _train(self, files: str | Sequence[str], trainer: trainers.Trainer) -> None:
        self._tokenizer.train([files] if isinstance(files, str) else files, trainer)

    def _mark_special(self, *tokens: str | AddedToken) -> None:
        known = [token for token in map(str, tokens) if self._tokenizer.token_to_id(token) is not None]
        self._tokenizer.add_special_tokens(known)


def _stages(unicode_normalizer: str | None, *others: normalizers.Normalizer) -> normalizers.Normalizer | None:
    steps = [*([normalizers.unicode_normalizer_from_str(unicode_normalizer)] if unicode_normalizer else [])]
    steps += others
    return normalizers.Sequence(steps) if len(steps) > 1 else next(iter(steps), None)


class ByteLevelBPETokenizer(BaseTokenizer):
    """GPT-2's: BPE over bytes."""

    def __init__(
        self,
        vocab: _Vocab | None = None,
        merges: _Merges | None = None,
        add_prefix_space: bool = False,
        lowercase: bool = False,
        dropout: float | None = None,
        unicode_normalizer: str | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        trim_offsets: bool = False,
    ) -> None:
        model = models.BPE()
        if vocab is not None and merges is not None:
            model = models.BPE(
                vocab,
                merges,
                dropout=dropout,
                continuing_subword_prefix=continuing_subword_prefix or "",
                end_of_word_suffix=end_of_word_suffix or "",
            )
        made = Tokenizer(model)
        made.normalizer = _stages(unicode_normalizer, *([normalizers.Lowercase()] if lowercase else []))
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
        made.decoder = decoders.ByteLevel()
        made.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
        options = {"model": "ByteLevelBPE", "add_prefix_space": add_prefix_space, "lowercase": lowercase}
        super().__init__(made, {**options, "dropout": dropout, "trim_offsets": trim_offsets})

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **kwargs: Any) -> "ByteLevelBPETokenizer":
        """Returns the tokenizer of a vocab.json and a merges.txt."""
        return ByteLevelBPETokenizer(*models.BPE.read_file(vocab_filename, merges_filename), **kwargs)

    @staticmethod
    def _trainer(**options: Any) -> trainers.Trainer:
        return trainers.BpeTrainer(initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **options)

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: _Special = (),
    ) -> None:
        """Trains on files, whose lines are texts."""
        options = {"vocab_size": vocab_size, "min_frequency": min_frequency, "special_tokens": special_tokens}
        self._train(files, self._trainer(show_progress=show_progress, **options))

    def train_from_iterator(
        self,
        iterator: _Texts,
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: _Special = (),
        length: int | None = None,
    ) -> None:
        """Trains on texts."""
        options = {"vocab_size": vocab_size, "min_frequency": min_frequency, "special_tokens": special_tokens}
        trainer = self._trainer(show_progress=show_progress, **options)
        self._tokenizer.train_from_iterator(iterator, trainer, length)


class _Alphabetic(BaseTokenizer):
    """Common parts of tokenizers whose alphabet is that of the texts."""

    _special: _Special = ()

    def _trainer(self, **options: Any) -> trainers.Trainer:
        return trainers.BpeTrainer(**options)

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: _Special | None = None,
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        show_progress: bool = True,
        **others: Any,
    ) -> None:
        """Trains on files, whose lines are texts."""
        options = {"vocab_size": vocab_size, "min_frequency": min_frequency, "limit_alphabet": limit_alphabet}
        special = self._special if special_tokens is None else special_tokens
        alphabet = {"initial_alphabet": initial_alphabet, "show_progress": show_progress}
        self._train(files, self._trainer(special_tokens=special, **options, **alphabet, **others))

    def train_from_iterator(
        self,
        iterator: _Texts,
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: _Special | None = None,
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        show_progress: bool = True,
        length: int | None = None,
        **others: Any,
    ) -> None:
        """Trains on texts."""
        options = {"vocab_size": vocab_size, "min_frequency": min_frequency, "limit_alphabet": limit_alphabet}
        special = self._special if special_tokens is None else special_tokens
        alphabet = {"initial_alphabet": initial_alphabet, "show_progress": show_progress}
        trainer = self._trainer(special_tokens=special, **options, **alphabet, **others)
        self._tokenizer.train_from_iterator(iterator, trainer, length)


class CharBPETokenizer(_Alphabetic):
    """The first BPE: over characters, with a suffix at the end of a word."""

    _special = ("<unk>",)

    def __init__(
        self,
        vocab: _Vocab | None = None,
        merges: _Merges | None = None,
        unk_token: str | AddedToken = "<unk>",
        suffix: str = "</w>",
        dropout: float | None = None,
        lowercase: bool = False,
        unicode_normalizer: str | None = None,
        bert_normalizer: bool = True,
        split_on_whitespace_only: bool = False,
    ) -> None:
        options = {"unk_token": str(unk_token), "dropout": dropout, "end_of_word_suffix": suffix}
        both = (vocab, merges) if vocab is not None and merges is not None else (None, None)
        # 2026-11-23: options of several types
        made = Tokenizer(models.BPE(*both, **options))  # type: ignore[arg-type]
        bert = [normalizers.BertNormalizer(lowercase=False)] if bert_normalizer else []
        lower = [normalizers.Lowercase()] if lowercase else []
        made.normalizer = _stages(unicode_normalizer, *bert, *lower)
        split = (
            pre_tokenizers.WhitespaceSplit if split_on_whitespace_only else pre_tokenizers.BertPreTokenizer
        )
        made.pre_tokenizer = split()
        made.decoder = decoders.BPEDecoder(suffix=suffix)
        super().__init__(made, {"model": "BPE", **options, "lowercase": lowercase})
        self._mark_special(unk_token)

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **kwargs: Any) -> "CharBPETokenizer":
        """Returns the tokenizer of a vocab.json and a merges.txt."""
        return CharBPETokenizer(*models.BPE.read_file(vocab_filename, merges_filename), **kwargs)

    def _trainer(self, *, suffix: str = "</w>", **options: Any) -> trainers.Trainer:
        return trainers.BpeTrainer(end_of_word_suffix=suffix, **options)


class SentencePieceBPETokenizer(_Alphabetic):
    """BPE over characters with a mark for blanks."""

    _special = ("<unk>",)

    def __init__(
        self,
        vocab: _Vocab | None = None,
        merges: _Merges | None = None,
        unk_token: str | AddedToken = "<unk>",
        replacement: str = "▁",
        add_prefix_space: bool = True,
        dropout: float | None = None,
        fuse_unk: bool | None = False,
    ) -> None:
        options = {"unk_token": str(unk_token), "dropout": dropout, "fuse_unk": bool(fuse_unk)}
        both = (vocab, merges) if vocab is not None and merges is not None else (None, None)
        # 2026-11-23: options of several types
        made = Tokenizer(models.BPE(*both, **options))  # type: ignore[arg-type]
        made.normalizer = normalizers.NFKC()
        scheme = "always" if add_prefix_space else "never"
        made.pre_tokenizer = pre_tokenizers.Metaspace(replacement=replacement, prepend_scheme=scheme)
        made.decoder = decoders.Metaspace(replacement=replacement, prepend_scheme=scheme)
        super().__init__(made, {"model": "SentencePieceBPE", **options, "replacement": replacement})
        self._mark_special(unk_token)

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **kwargs: Any) -> "SentencePieceBPETokenizer":
        """Returns the tokenizer of a vocab.json and a merges.txt."""
        return SentencePieceBPETokenizer(*models.BPE.read_file(vocab_filename, merges_filename), **kwargs)


class BertWordPieceTokenizer(_Alphabetic):
    """BERT's."""

    _special = _BERT

    def __init__(
        self,
        vocab: _Vocab | None = None,
        unk_token: str | AddedToken = "[UNK]",
        sep_token: str | AddedToken = "[SEP]",
        cls_token: str | AddedToken = "[CLS]",
        pad_token: str | AddedToken = "[PAD]",
        mask_token: str | AddedToken = "[MASK]",
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: bool | None = None,
        lowercase: bool = True,
        wordpieces_prefix: str = "##",
    ) -> None:
        made = Tokenizer(models.WordPiece(vocab, unk_token=str(unk_token)))
        made.normalizer = normalizers.BertNormalizer(
            clean_text, handle_chinese_chars, strip_accents, lowercase
        )
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        made.decoder = decoders.WordPiece(prefix=wordpieces_prefix)
        options = {"model": "BertWordPiece", "lowercase": lowercase, "strip_accents": strip_accents}
        super().__init__(made, {**options, "wordpieces_prefix": wordpieces_prefix})
        self._mark_special(unk_token, sep_token, cls_token, pad_token, mask_token)
        if vocab is not None:
            ends = [(str(token), made.token_to_id(str(token))) for token in (sep_token, cls_token)]
            for name, (_, id) in zip(("sep_token", "cls_token"), ends, strict=True):
                if id is None:
                    raise TypeError(f"{name} not found in the vocabulary")
            # 2026-11-23: two pairs
            made.post_processor = processors.BertProcessing(*ends)  # type: ignore[arg-type]

    @staticmethod
    def from_file(vocab: str, **kwargs: Any) -> "BertWordPieceTokenizer":
        """Returns the tokenizer of a vocab.txt."""
        return BertWordPieceTokenizer(models.WordPiece.read_file(vocab), **kwargs)

    def _trainer(self, *, wordpieces_prefix: str = "##", **options: Any) -> trainers.Trainer:
        return trainers.WordPieceTrainer(continuing_subword_prefix=wordpieces_prefix, **options)


class SentencePieceUnigramTokenizer(BaseTokenizer):
    """Unigram with a mark for blanks."""

    def __init__(
        self,
        vocab: Iterable[tuple[str, float]] | None = None,
        replacement: str = "▁",
        add_prefix_space: bool = True,
    ) -> None:
        made = Tokenizer(models.Unigram() if vocab is None else models.Unigram(vocab))
        blanks = normalizers.Replace(Regex(" {2,}"), " ")
        made.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), blanks])
        scheme = "always" if add_prefix_space else "never"
        made.pre_tokenizer = pre_tokenizers.Metaspace(replacement=replacement, prepend_scheme=scheme)
        made.decoder = decoders.Metaspace(replacement=replacement, prepend_scheme=scheme)
        super().__init__(made, {"model": "SentencePieceUnigram", "replacement": replacement})

    @staticmethod
    def from_spm(filename: str) -> "BaseTokenizer":
        """Returns the tokenizer of a `.model` of SentencePiece."""
        loaded = _sentitok.Tokenizer.from_sentencepiece(filename)
        tokenizer = Tokenizer.from_str(as_tokenizer_json(loaded))
        return BaseTokenizer(tokenizer, {"model": "SentencePieceUnigram"})

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 8000,
        show_progress: bool = True,
        special_tokens: _Special | None = None,
        initial_alphabet: Sequence[str] | None = None,
        unk_token: str | None = None,
    ) -> None:
        """Trains on files, whose lines are texts."""
        options = {"vocab_size": vocab_size, "show_progress": show_progress, "unk_token": unk_token}
        several = {"special_tokens": special_tokens or [], "initial_alphabet": initial_alphabet or []}
        # 2026-11-23: options of several types
        self._train(files, trainers.UnigramTrainer(**options, **several))  # type: ignore[arg-type]

    def train_from_iterator(
        self,
        iterator: _Texts,
        vocab_size: int = 8000,
        show_progress: bool = True,
        special_tokens: _Special | None = None,
        initial_alphabet: Sequence[str] | None = None,
        unk_token: str | None = None,
        length: int | None = None,
    ) -> None:
        """Trains on texts."""
        options = {"vocab_size": vocab_size, "show_progress": show_progress, "unk_token": unk_token}
        several = {"special_tokens": special_tokens or [], "initial_alphabet": initial_alphabet or []}
        # 2026-11-23: options of several types
        trainer = trainers.UnigramTrainer(**options, **several)  # type: ignore[arg-type]
        self._tokenizer.train_from_iterator(iterator, trainer, length)


_FILES = ("base_tokenizer", "bert_wordpiece", "byte_level_bpe", "char_level_bpe", "sentencepiece_bpe")
_ELSEWHERE = {
    name.replace("_", ""): "its class is in implementations" for name in (*_FILES, "sentencepiece_unigram")
}


def __getattr__(name: str) -> NoReturn:
    raise missing_attribute.error(f"module {__name__!r}", name, _ELSEWHERE)
