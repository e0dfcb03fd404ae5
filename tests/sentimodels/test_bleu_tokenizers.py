"""Which tokenizer BLEU takes for which script, and that a perfect translation scores 100 in each."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from parallel_numbers import TINY
from senti_in_process import senti
from sentimodels.errors import ConfigError
from sentimodels.evaluation import translation
from sentimodels.evaluation.translation import bleu_tokenizer, translation_scores

pytest.importorskip("sacrebleu", reason="BLEU is sacrebleu's")

SENTENCES = {
    "zh": ["我今天很喜欢这部电影。", "他们买了那本新书,GPT-4 也看了。"],
    "zh-hant": ["我今天很喜歡這部電影。", "他們買了那本新書。"],
    "ja": ["私はこの映画がとても好きです。", "彼は新しい本を買った。"],
    "ko": ["나는 이 영화를 아주 좋아합니다.", "그는 새 책을 샀습니다."],
    "th": ["ฉันชอบภาพยนตร์เรื่องนี้มาก", "เขาซื้อหนังสือเล่มใหม่"],
    "lo": ["ຂ້ອຍມັກຮູບເງົານີ້ຫຼາຍ", "ລາວຊື້ປຶ້ມໃໝ່"],
    "km": ["ខ្ញុំចូលចិត្តភាពយន្តនេះណាស់", "គាត់បានទិញសៀវភៅថ្មី"],
    "my": ["ကျွန်တော်ဒီရုပ်ရှင်ကိုကြိုက်တယ်", "သူစာအုပ်အသစ်ဝယ်တယ်"],
    "bo": ["ངས་གློག་བརྙན་འདི་ལ་དགའ་པོ་ཡོད།", "ཁོས་དེབ་གསར་པ་ཞིག་ཉོས་སོང་།"],
    "en": ["I like this film very much.", "He bought the new book today."],
    "de": ["Ich mag diesen Film sehr gern.", "Er kaufte das neue Buch, das 中国 heißt."],
    "ru": ["Мне очень нравится этот фильм.", "Он купил сегодня новую книгу."],
    "hi": ["मुझे यह फ़िल्म बहुत पसंद है।", "उसने आज नई किताब खरीदी।"],
    "ar": ["أحب هذا الفيلم كثيرا جدا.", "اشترى اليوم الكتاب الجديد هنا."],
}
CHOSEN = {"zh": "zh", "zh-hant": "zh", "ja": "char", "ko": "char", "th": "char", "lo": "char", "km": "char",
          "my": "char", "bo": "char"}  # fmt: skip


@pytest.mark.parametrize("language", SENTENCES)
def test_perfect_translations_score_100_in_every_script(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translation, "_installed", lambda _: "char")  # whatever this machine has of MeCab
    texts = SENTENCES[language]
    tokenizer = CHOSEN.get(language, "13a")
    assert bleu_tokenizer(texts) == tokenizer
    scores = translation_scores(texts, texts)
    assert scores["bleu"] == pytest.approx(100)
    assert scores["chrf"] == pytest.approx(100)
    assert f"tok:{tokenizer}|" in scores["signatures"]["bleu"]
    assert "eff:no" in scores["signatures"]["bleu"]
    # Half right is neither 0 nor 100.
    assert 0 < translation_scores([texts[0], texts[0]], texts)["bleu"] < 100


def test_mecab_is_taken_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentimodels.evaluation.translation.find_spec", lambda _: True)
    assert bleu_tokenizer(SENTENCES["ja"]) == "ja-mecab"
    assert bleu_tokenizer(SENTENCES["ko"]) == "ko-mecab"
    monkeypatch.setattr("sentimodels.evaluation.translation.find_spec", lambda _: None)
    assert (bleu_tokenizer(SENTENCES["ja"]), bleu_tokenizer(SENTENCES["ko"])) == ("char", "char")


@pytest.mark.parametrize("texts", [["好"], ["yes"], ["a dog", "two cats ran"], ["1 2"], ["!"]])
def test_perfect_translations_of_few_words_score_100(texts: list[str]) -> None:
    scores = translation_scores(texts, texts)
    assert scores["bleu"] == pytest.approx(100)
    assert "eff:yes" in scores["signatures"]["bleu"]
    assert translation_scores(["xyz"] * len(texts), texts)["bleu"] < 50


def test_a_tokenizer_can_be_named() -> None:
    texts = SENTENCES["zh"]
    assert translation_scores(texts, texts, tokenizer="13a")["signatures"]["bleu"].count("tok:13a") == 1
    assert translation_scores(texts, texts, tokenizer="char")["bleu"] == pytest.approx(100)


def test_a_tokenizer_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sentimodels.evaluation.translation.find_spec",
        lambda name: None if "ecab" in name.lower() else find_spec(name),
    )
    with pytest.raises(ConfigError, match=r"ja-mecab.*sacrebleu\[ja\]"):
        translation_scores(["a"], ["a"], tokenizer="ja-mecab")


def write_chinese(folder: Path) -> None:
    pairs = [(f"{who} {verb} {what}", f"{w}今天很{v}{o}。")
             for who, w in (("i", "我"), ("he", "他"), ("we", "我们"), ("they", "他们"))
             for verb, v in (("like", "喜欢"), ("hate", "讨厌"), ("see", "看见"))
             for what, o in (("films", "这部电影"), ("books", "那本新书"), ("tea", "一杯热茶"))]  # fmt: skip
    for name, some in (("t", pairs), ("v", pairs[::4])):
        for side, language in enumerate(("en", "zh")):
            lines = "".join(f"{pair[side]}\n" for pair in some)
            (folder / f"{name}.{language}").write_text(lines, "utf-8")


def test_training_and_evaluation_use_the_tokenizer_and_write_its_signature(tmp_path: Path) -> None:
    write_chinese(tmp_path)
    files = ["t.en", "t.zh", "--valid", "v.en", "--valid", "v.zh"]
    done = senti(
        "translate", "train", *files, *TINY, "--vocab", "400", "--epochs", "1", "--monitor", "bleu", "-o",
        "run", cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "tok:zh|" in done.out
    evaluate = ["translate", "evaluate", "run", "v.en", "v.zh"]
    assert "tok:zh|" in senti(*evaluate, cwd=tmp_path).out
    assert "tok:char|" in senti(*evaluate, "--bleu-tokenizer", "char", cwd=tmp_path).out
    done = senti(*evaluate, "--bleu-tokenizer", "martian", cwd=tmp_path)
    assert done.code != 0
    assert "martian" in done.err
    assert "ja-mecab" in done.err
    done = senti("translate", "train", *files, "--bleu-tokenizer", "martian", "-o", "no", cwd=tmp_path)
    assert done.code != 0
    assert "martian" in done.err
