"""The names of all cases of SentencePiece's own Python test suite.

Source: google/sentencepiece, `python/test` of release 0.2.3. A row is a file.
"""

__all__ = ["NAMES"]

_SUITE: dict[str, str] = {
    "sentencepiece_test.py": (
        "load decode_invalid_ids decode_empty_input roundtrip ja_load ja_roundtrip train "
        "special_tokens_combinations train_iterator train_kwargs serialized_proto decode_bytes proto new_api "
        "new_api_proto new_api_init classmethod_factories sampling word_model_user_defined_symbol nbest "
        "nbest_timeout valid_range batch parallel pickle global_params normalize normalizer normalizer_rule "
        "normalizer_map trainer_with_normalizer offset_mapping decode_offset_mapping "
        "decode_return_type_bytes legacy_out_type_compat normalizer_rule_tsv normalizer_model_proto "
        "encode_return_type_explicit native_batch_piece_to_id native_batch_id_to_piece "
        "native_batch_other_id_methods"
    ),
    "numpy_test.py": (
        "encode_numpy_single encode_numpy_batch return_type_validation_and_compat decode_numpy_single_32 "
        "decode_numpy_single_64 decode_numpy_batch_list decode_numpy_batch_2d decode_numpy_non_contiguous "
        "decode_numpy_invalid_types parallel_encode_numpy nbest_encode_numpy numpy_memory_safety "
        "numpy_empty_input decode_invalid_ids_numpy decode_numpy_batch_mixed native_batch_id_to_piece_numpy "
        "native_batch_other_id_methods_numpy"
    ),
    "gil_release_test.py": "gil_release",
    "gen_stubs_test.py": (
        "committed_stub_in_sync added_method removed_method added_property "
        "leaked_module_level_import_ignored determinism"
    ),
}
#: `file::test` of each case.
NAMES = [f"{file}::test_{name}" for file, names in _SUITE.items() for name in names.split()]
