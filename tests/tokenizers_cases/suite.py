"""The names of all cases of tokenizers' own Python test suite.

Source: huggingface/tokenizers, `bindings/python/tests`, of version 0.23. A row is a file and a class;
a benchmark of several is counted, for nothing is asked of it.
"""

__all__ = ["BENCHMARKS", "NAMES"]

#: How many cases `test_benchmarks.py` has.
BENCHMARKS = 16

_SUITE: dict[str, str] = {
    "bindings/test_decoders.py::TestByteLevel": "instantiate decoding manual_reload",
    "bindings/test_decoders.py::TestReplace": "instantiate decoding",
    "bindings/test_decoders.py::TestWordPiece": "instantiate decoding can_modify",
    "bindings/test_decoders.py::TestByteFallback": "instantiate decoding",
    "bindings/test_decoders.py::TestFuse": "instantiate decoding",
    "bindings/test_decoders.py::TestStrip": "instantiate decoding",
    "bindings/test_decoders.py::TestMetaspace": "instantiate decoding can_modify",
    "bindings/test_decoders.py::TestBPEDecoder": "instantiate decoding can_modify",
    "bindings/test_decoders.py::TestCTCDecoder": "instantiate decoding can_modify",
    "bindings/test_decoders.py::TestSequenceDecoder": "instantiate decoding",
    "bindings/test_encoding.py::TestEncoding": (
        "sequence_ids n_sequences word_to_tokens word_to_chars token_to_sequence token_to_chars "
        "token_to_word char_to_token char_to_word truncation invalid_truncate_direction"
    ),
    "bindings/test_models.py::TestBPE": "can_modify dropout_zero",
    "bindings/test_models.py::TestUnigram": "can_modify alpha_zero",
    "bindings/test_models.py::TestWordPiece": "instantiate can_modify",
    "bindings/test_models.py::TestWordLevel": "instantiate can_modify",
    "bindings/test_normalizers.py::TestBertNormalizer": (
        "instantiate strip_accents handle_chinese_chars clean_text lowercase can_modify"
    ),
    "bindings/test_normalizers.py::TestSequence": (
        "instantiate can_make_sequences set_item item_getters_and_setters"
    ),
    "bindings/test_normalizers.py::TestLowercase": "instantiate lowercase",
    "bindings/test_normalizers.py::TestStrip": ("instantiate left_strip right_strip full_strip can_modify"),
    "bindings/test_normalizers.py::TestPrepend": "instantiate prepend can_modify",
    "bindings/test_normalizers.py::TestCustomNormalizer": "instantiate normalizer_interface",
    "bindings/test_pre_tokenizers.py::TestByteLevel": ("instantiate has_alphabet can_modify manual_reload"),
    "bindings/test_pre_tokenizers.py::TestSplit": "instantiate",
    "bindings/test_pre_tokenizers.py::TestWhitespace": "instantiate",
    "bindings/test_pre_tokenizers.py::TestWhitespaceSplit": "instantiate",
    "bindings/test_pre_tokenizers.py::TestBertPreTokenizer": "instantiate",
    "bindings/test_pre_tokenizers.py::TestMetaspace": "instantiate can_modify",
    "bindings/test_pre_tokenizers.py::TestCharDelimiterSplit": "instantiate can_modify",
    "bindings/test_pre_tokenizers.py::TestPunctuation": "instantiate",
    "bindings/test_pre_tokenizers.py::TestSequence": (
        "instantiate bert_like set_item item_getters_and_setters"
    ),
    "bindings/test_pre_tokenizers.py::TestDigits": "instantiate can_modify",
    "bindings/test_pre_tokenizers.py::TestFixedLength": "instantiate pre_tokenize_str",
    "bindings/test_pre_tokenizers.py::TestUnicodeScripts": "instantiate",
    "bindings/test_pre_tokenizers.py::TestCustomPreTokenizer": "instantiate camel_case",
    "bindings/test_processors.py::TestBertProcessing": "instantiate processing",
    "bindings/test_processors.py::TestRobertaProcessing": "instantiate processing",
    "bindings/test_processors.py::TestByteLevelProcessing": "instantiate processing manual_reload",
    "bindings/test_processors.py::TestTemplateProcessing": "instantiate bert_parity roberta_parity",
    "bindings/test_processors.py::TestSequenceProcessing": "sequence_processing post_process items",
    "bindings/test_tokenizer.py::TestAddedToken": (
        "instantiate_with_content_only can_set_rstrip can_set_lstrip can_set_single_world can_set_normalized"
    ),
    "bindings/test_tokenizer.py::TestTokenizer": (
        "has_expected_type_and_methods add_tokens add_tokens_with_normalizer "
        "normalizer_change_refreshes_added_tokens add_special_tokens encode encode_formats "
        "encode_add_special_tokens truncation padding decode decode_stream_copy_and_prefix_ids "
        "decode_stream_fallback decode_skip_special_tokens decode_stream get_vocab get_vocab_size "
        "post_process multiprocessing_with_parallelism multithreaded_concurrency from_pretrained "
        "from_pretrained_revision unigram_byte_fallback encode_special_tokens splitting "
        "decode_special weakref_support weakref_with_multiple_references setting_to_none"
    ),
    "bindings/test_tokenizer.py::TestTokenizerRepr": "repr repr_complete",
    "bindings/test_tokenizer.py::TestAsyncTokenizer": (
        "basic_encoding encode with_special_tokens with_truncation_padding various_input_formats "
        "error_handling concurrency decode large_batch numpy_inputs async_methods_existence "
        "performance_comparison"
    ),
    "bindings/test_trainers.py::TestBpeTrainer": "can_modify can_pickle",
    "bindings/test_trainers.py::TestWordPieceTrainer": "can_modify can_pickle",
    "bindings/test_trainers.py::TestWordLevelTrainer": "can_modify can_pickle",
    "bindings/test_trainers.py::TestUnigram": (
        "train train_parallelism_with_custom_pretokenizer can_pickle train_with_special_tokens "
        "cannot_train_different_model can_modify continuing_prefix_trainer_mismatch"
    ),
    "documentation/test_pipeline.py::TestPipeline": "pipeline bert_example",
    "documentation/test_quicktour.py::TestQuicktour": "quicktour",
    "documentation/test_tutorial_train_from_iterators.py::TestTrainFromIterators": (
        "train_basic datasets gzip"
    ),
    "implementations/test_base_tokenizer.py::TestBaseTokenizer": "get_set_components",
    "implementations/test_bert_wordpiece.py::TestBertWordPieceTokenizer": (
        "basic_encode multiprocessing_with_parallelism train_from_iterator"
    ),
    "implementations/test_byte_level_bpe.py::TestByteLevelBPE": (
        "basic_encode add_prefix_space lowerspace multiprocessing_with_parallelism train_from_iterator"
    ),
    "implementations/test_char_bpe.py::TestCharBPETokenizer": (
        "basic_encode lowercase decoding multiprocessing_with_parallelism train_from_iterator"
    ),
    "implementations/test_sentencepiece.py::TestSentencePieceBPE": "train_from_iterator",
    "implementations/test_sentencepiece.py::TestSentencePieceUnigram": (
        "train train_with_unk_token train_from_iterator train_from_iterator_with_unk_token"
    ),
    "test_freethreaded.py::TestEncodeUnderConcurrentSetters": (
        "encode_while_swapping_post_processor encode_while_mutating_trainer_fields "
        "concurrent_setters_no_lock_poisoning"
    ),
    "test_freethreaded.py::TestFreeThreadedSpecific": "gil_actually_disabled_on_import",
    "test_serialization.py::TestSerialization": (
        "full_serialization_albert str_big repr_str repr_str_ellipsis"
    ),
    "test_serialization.py::TestFullDeserialization": "full_deserialization_hub",
}
#: `file::Class::test` of each case, except for benchmarks.
NAMES = [f"{place}::test_{name}" for place, names in _SUITE.items() for name in names.split()]
