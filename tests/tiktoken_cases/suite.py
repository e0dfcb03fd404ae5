"""The names of all cases of tiktoken's own test suite.

Source: openai/tiktoken 0.14, `tests`. A row is a file; a test with parameters is a case for each.
"""

__all__ = ["NAMES"]

_SUITE: dict[str, str] = {
    "test_encoding.py": (
        "simple simple_repeated large_repeated simple_regex basic_encode encode_empty encode_bytes "
        "hyp_encode_bytes[r50k_base] hyp_encode_bytes[cl100k_base] encode_surrogate_pairs "
        "catastrophically_repetitive[r50k_base] catastrophically_repetitive[cl100k_base] "
        "basic_roundtrip[r50k_base] basic_roundtrip[cl100k_base] hyp_roundtrip[r50k_base] "
        "hyp_roundtrip[cl100k_base] single_token_roundtrip[r50k_base] single_token_roundtrip[cl100k_base] "
        "special_token hyp_special_ordinary[r50k_base] hyp_special_ordinary[cl100k_base] "
        "batch_encode[r50k_base] batch_encode[cl100k_base] hyp_batch_roundtrip[r50k_base] "
        "hyp_batch_roundtrip[cl100k_base]"
    ),
    "test_misc.py": "encoding_for_model optional_blobfile_dependency",
    "test_offsets.py": "hyp_offsets[cl100k_base] basic_offsets",
    "test_pickle.py": "pickle",
    "test_simple_public.py": "simple encoding_for_model optional_blobfile_dependency",
}
#: `file::test[parameter]` of each case.
NAMES = [f"{file}::test_{name}" for file, names in _SUITE.items() for name in names.split()]
