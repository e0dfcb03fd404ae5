"""Cases of `test_tokenizer.py`: added tokens, and printed output."""

from . import Library, case, pickled

ADDED = "bindings/test_tokenizer.py::TestAddedToken::"
SHOWN = "bindings/test_tokenizer.py::TestTokenizerRepr::"


@case(ADDED + "test_instantiate_with_content_only")
def _(lib: Library) -> None:
    token = lib.AddedToken("<mask>")
    token.content = "<MASK>"
    assert token.content == "<MASK>"
    token.content = token.content.lower()
    assert token.special is False
    token.special = True
    assert token.special is True
    token.special = False
    assert str(token) == "<mask>"
    flags = "rstrip=False, lstrip=False, single_word=False, normalized=True, special=False"
    assert repr(token) == f'AddedToken("<mask>", {flags})'
    assert (token.rstrip, token.lstrip, token.single_word, token.normalized) == (False, False, False, True)
    assert isinstance(pickled(token), lib.AddedToken)


for test, flag in (("rstrip", "rstrip"), ("lstrip", "lstrip"), ("single_world", "single_word")):

    def can_set(lib: Library, flag: str = flag) -> None:
        token = lib.AddedToken("<mask>", **{flag: True})
        assert getattr(token, flag) is True
        others = {"rstrip", "lstrip", "single_word"} - {flag}
        assert not any(getattr(token, other) for other in others)
        assert token.normalized is True

    case(f"{ADDED}test_can_set_{test}")(can_set)


@case(ADDED + "test_can_set_normalized")
def _(lib: Library) -> None:
    token = lib.AddedToken("<mask>", normalized=False)
    assert [token.rstrip, token.lstrip, token.single_word, token.normalized] == [False] * 4


EMPTY = (
    "model=BPE(dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None, "
    "fuse_unk=False, byte_fallback=False, ignore_merges=False, vocab={}, merges=[])"
)
BEFORE = 'Tokenizer(version="1.0", truncation=None, padding=None, added_tokens=[], '


@case(SHOWN + "test_repr")
def _(lib: Library) -> None:
    none = "normalizer=None, pre_tokenizer=None, post_processor=None, decoder=None, "
    assert repr(lib.Tokenizer(lib.models.BPE())) == f"{BEFORE}{none}{EMPTY})"


@case(SHOWN + "test_repr_complete")
def _(lib: Library) -> None:
    n = lib.normalizers
    tokenizer = lib.Tokenizer(lib.models.BPE())
    tokenizer.pre_tokenizer = lib.pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.post_processor = lib.processors.TemplateProcessing(
        single=["[CLS]", "$0", "[SEP]"],
        pair=["[CLS]:0", "$A", "[SEP]:0", "$B:1", "[SEP]:1"],
        special_tokens=[("[CLS]", 1), ("[SEP]", 0)],
    )
    tokenizer.normalizer = n.Sequence([n.Lowercase(), n.Strip()])

    def special(name: str, type_id: int = 0) -> str:
        return f'SpecialToken(id="{name}", type_id={type_id})'

    one = f"{special('[CLS]')}, Sequence(id=A, type_id=0), {special('[SEP]')}"
    tokens = ", ".join(
        f'"{name}":SpecialToken(id="{name}", ids=[{id}], tokens=["{name}"])'
        for name, id in (("[CLS]", 1), ("[SEP]", 0))
    )
    assert repr(tokenizer) == (
        f"{BEFORE}normalizer=Sequence(normalizers=[Lowercase(), Strip(strip_left=True, strip_right=True)]), "
        "pre_tokenizer=ByteLevel(add_prefix_space=True, trim_offsets=True, use_regex=True), "
        f"post_processor=TemplateProcessing(single=[{one}], pair=[{one}, Sequence(id=B, type_id=1), "
        f"{special('[SEP]', 1)}], special_tokens={{{tokens}}}), decoder=None, {EMPTY})"
    )
