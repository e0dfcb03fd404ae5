//! The model against its definition, and BERT in one walk against its stages.

use std::sync::Arc;

use crate::With;
use proptest::prelude::*;
use sentitok::models::wordpiece::{WordPiece, WordPieceOptions, Worker};
use sentitok::normalizer::{Bert, GoogleBert, Normalizer};
use sentitok::tokenizer::Parts;
use sentitok::{EncodeOptions, Error, Model, Pipeline, PreTokenizer, TokenId, Tokenizer, Vocab};

/// Tries every end from the last, as the paper of BERT describes it: quadratic
/// and obvious. Ids with the bytes each covers.
fn naive(model: &WordPiece, word: &[u8]) -> Vec<(TokenId, u32)> {
    let options = model.options();
    let unknown = vec![(model.unk_id().unwrap(), word.len() as u32)];
    let Ok(word) = std::str::from_utf8(word) else { return unknown };
    if word.chars().count() > options.max_input_chars_per_word {
        return unknown;
    }
    let mut tokens = Vec::new();
    let mut start = 0;
    while start < word.len() {
        let prefix = if start == 0 { "" } else { &options.continuing_subword_prefix };
        let found =
            (start + 1..=word.len()).rev().filter(|&end| word.is_char_boundary(end)).find_map(|end| {
                let token = format!("{prefix}{}", &word[start..end]);
                Some((model.vocab().id(token.as_bytes())?, end))
            });
        let Some((id, end)) = found else { return unknown };
        tokens.push((id, (end - start) as u32));
        start = end;
    }
    tokens
}

fn model(tokens: &[String], prefix: &str, max: usize) -> WordPiece {
    let mut all = vec!["[UNK]".to_owned()];
    for token in tokens {
        if !all.contains(token) {
            all.push(token.clone());
        }
    }
    let options = WordPieceOptions::default().with(|it| {
        it.continuing_subword_prefix = prefix.into();
        it.max_input_chars_per_word = max;
    });
    WordPiece::new(Vocab::from_tokens(all).unwrap(), options).unwrap()
}

/// A tokenizer of BERT's pipeline, which walks over raw words where the model has its unknown token.
fn bert_tokenizer(model: WordPiece, bert: Bert) -> Tokenizer {
    let mut pipeline = Pipeline::new(PreTokenizer::Bert);
    pipeline.normalizer = Some(Normalizer::Bert(bert));
    Tokenizer::new(Parts::new(pipeline, Arc::new(Model::WordPiece(model)))).unwrap()
}

fn agrees(model: &WordPiece, worker: &mut Worker<'_>, word: &[u8]) {
    let expected = naive(model, word);
    let expected_ids: Vec<_> = expected.iter().map(|token| token.0).collect();
    assert_eq!(model.encode(word), expected_ids, "{:?}", String::from_utf8_lossy(word));
    let (mut ids, mut lens) = (vec![7], vec![7]);
    worker.encode_with_lens(word, &mut ids, &mut lens);
    assert_eq!(ids[1..].iter().copied().zip(lens[1..].iter().copied()).collect::<Vec<_>>(), expected);
    let text = [b"x", word, b"yz"].concat();
    for _ in 0..2 {
        ids.clear();
        worker.encode(&text, 1, 1 + word.len(), &mut ids);
        assert_eq!(ids, expected_ids);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 500 } else { 5000 }))]

    #[test]
    fn every_path_gives_the_definition(
        tokens in prop::collection::vec("(##|#)?[ab#é語]{1,5}", 0..40),
        prefix in prop::sample::select(vec!["##", "", "#", "é", "ab", "▁▁"]),
        max in prop::sample::select(vec![0, 1, 5, 100]),
        words in prop::collection::vec("[ab#é語]{0,30}", 1..12),
    ) {
        let model = model(&tokens, prefix, max);
        let mut worker = model.worker();
        for word in &words {
            agrees(&model, &mut worker, word.as_bytes());
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_unknown(
        tokens in prop::collection::vec("(##)?[aé]{1,3}", 0..10),
        word in prop::collection::vec(prop::sample::select(vec![b'a', 0xC3, 0xA9, 0xFF]), 1..20),
    ) {
        let model = model(&tokens, "##", 100);
        agrees(&model, &mut model.worker(), &word);
    }

    #[test]
    fn one_walk_is_the_stages(
        text in prop::collection::vec(prop_oneof![
            4 => "[a-cA-C0-2 ]{1,20}",
            2 => "[,.#'\\t\\n\\r]{1,2}",
            2 => "[中文語。，\u{3000}]{1,3}",
            2 => "[éÉßİΣ한각ﬁ\u{301}\u{327}\u{302E}\u{302F}]{1,4}",
            1 => "[\u{0}\u{7F}\u{AD}\u{200D}\u{2028}\u{FFFD}\u{85}\u{A0}\u{B}]{1,2}",
            1 => any::<char>().prop_map(String::from),
        ], 0..30),
        clean_text: bool, handle_chinese_chars: bool, strip_accents: Option<bool>, lowercase: bool,
    ) {
        let text = text.concat();
        let tokens: Vec<String> = ('a'..='c').chain("0éß中語,.한ᄒ\u{302E}".chars())
            .flat_map(|c| [c.to_string(), format!("##{c}"), format!("{c}a"), format!("##{c}{c}")])
            .collect();
        let model = model(&tokens, "##", 100);
        let bert = Bert { clean_text, handle_chinese_chars, strip_accents, lowercase };
        let normalized = Normalizer::Bert(bert).normalize_text(&text).unwrap().unwrap_or_else(|| text.clone());
        let mut expected = Vec::new();
        for piece in PreTokenizer::Bert.split(&normalized).unwrap() {
            expected.extend(model.encode(normalized[piece].as_bytes()));
        }
        let tokenizer = bert_tokenizer(model, bert);
        for _ in 0..2 {
            let encoding = tokenizer.encode(&text, EncodeOptions::default()).unwrap();
            prop_assert_eq!(&encoding.ids, &expected);
        }
    }
}

#[test]
fn long_words_take_linear_time() {
    // Every cut but the last byte's matches; each step back would make it quadratic.
    let tokens: Vec<String> = (1..400).map(|n| format!("##{}", "a".repeat(n))).chain(["a".into()]).collect();
    let model = model(&tokens, "##", usize::MAX);
    let word = "a".repeat(1 << 20);
    assert_eq!(model.encode(word.as_bytes()).len(), 1 + ((1 << 20) - 1) / 399 + 1);
    assert_eq!(model.encode((word + "b").as_bytes()), [0]);
}

#[test]
fn bad_models_are_refused() {
    let vocab = Vocab::from_tokens([&b"[UNK]"[..], b"\xC3"]).unwrap();
    let error = WordPiece::new(vocab, WordPieceOptions::default()).err().unwrap();
    assert!(error.to_string().contains("token 1 is not UTF-8"));
}

#[test]
fn a_model_may_lack_its_unknown_token() {
    let model =
        WordPiece::new(Vocab::from_tokens(["a", "##b"]).unwrap(), WordPieceOptions::default()).unwrap();
    assert_eq!(model.unk_id(), None);
    assert_eq!(model.encode(b"abb"), [0, 1, 1]);
    assert!(model.encode(b"ac").is_empty());
    let tokenizer = bert_tokenizer(model, Bert::default());
    assert_eq!(tokenizer.encode("ABB a", EncodeOptions::default()).unwrap().ids, [0, 1, 1, 0]);
    let error = tokenizer.encode("ab ac", EncodeOptions::default()).unwrap_err();
    assert!(matches!(&error, Error::Encode(reason) if reason.contains("\"ac\"")), "{error}");
}

#[test]
fn clean_up_of_both_families() {
    let hugging_face = |lowercase| Normalizer::Bert(Bert { lowercase, ..Bert::default() });
    let google = |lowercase| Normalizer::GoogleBert(GoogleBert { lowercase });
    for (normalizer, text, expected) in [
        // The differences that the two are known for.
        (hugging_face(true), "ΟΔΟΣ İẞ", "οδοσ iß"),
        (google(true), "ΟΔΟΣ İẞ", "οδος iß"),
        (google(true), "Σ ΑΣ ΑΣ' ΑΣ'Α ΑΣ中 \u{AD}ΣΑ", "σ ας ας' ασ'α ας 中  σα"),
        (hugging_face(true), "a\u{E000}b \u{378}", "ab \u{378}"),
        (google(true), "a\u{E000}b \u{378}", "a\u{E000}b \u{378}"),
        (hugging_face(true), "\u{2B820}\u{2B920}", "\u{2B820} \u{2B920} "),
        (google(true), "\u{2B820}\u{2B920}", " \u{2B820}  \u{2B920} "),
        (hugging_face(true), "a\u{2028}b\u{B}c", "a bc"),
        (google(true), "a\u{2028}b\u{B}c", "a\u{2028}bc"),
        // What both do.
        (hugging_face(true), "Crème Brûlée", "creme brulee"),
        (google(true), "Crème Brûlée", "creme brulee"),
        (hugging_face(false), "Crème\tBrûlée", "Crème Brûlée"),
        (google(false), "Crème\tBrûlée", "Crème Brûlée"),
        (hugging_face(true), "한국", "\u{1112}\u{1161}\u{11AB}\u{1100}\u{116E}\u{11A8}"),
        // Marks that stay are put in order: class 224 before 230, around one dropped.
        (hugging_face(true), "\u{1D16D}\u{301}\u{302E}", "\u{302E}\u{1D16D}"),
    ] {
        let plain = normalizer.normalize_text(text).unwrap();
        assert_eq!(plain.as_deref().unwrap_or(text), expected, "{normalizer:?} {text:?}");
        assert_eq!(plain, normalizer.normalize(text).unwrap().map(|aligned| aligned.text));
    }
    assert_eq!(hugging_face(true).normalize_text("plain, 中").unwrap(), Some("plain,  中 ".into()));
    assert_eq!(hugging_face(true).normalize_text("plain").unwrap(), None);
}

#[test]
fn spans_lead_back() {
    let normalizer = Normalizer::Bert(Bert::default());
    let text = "É\u{0}a 中e\u{301}x 각";
    let aligned = normalizer.normalize(text).unwrap().unwrap();
    assert_eq!(aligned.text, "ea  中 ex \u{1100}\u{1161}\u{11A8}");
    for (normalized, original) in [
        (0..1, "É"),
        (1..2, "a"),
        (0..2, "É\u{0}a"),
        (4..7, "中"),
        (8..9, "e"),
        (8..10, "e\u{301}x"),
        (11..14, "각"),
        (14..20, "각"),
    ] {
        assert_eq!(&text[aligned.to_original(normalized.clone())], original, "{normalized:?}");
    }
}
