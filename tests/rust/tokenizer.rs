//! The whole pipeline: what text becomes, and what it must not become.

use std::sync::atomic::AtomicBool;

use crate::With;
use sentitok::formats::tiktoken;
use sentitok::tokenizer::added_tokens::{NewToken, Specials};
use sentitok::trainers::bpe::{Alphabet, BpeTrainer};
use sentitok::{EncodeOptions, Error, PreTokenizer, Progress, TokenId, Tokenizer, WordCounts};
use serde_json::{Value, json};

/// A tokenizer without splitter over characters.
fn of_model(model: Value, added: Value) -> Tokenizer {
    let file = json!({"added_tokens": added, "model": model});
    Tokenizer::from_bytes(file.to_string().as_bytes()).unwrap()
}

/// A file of ranks of all bytes, and of `tokens` after them.
fn ranks(tokens: &[&str]) -> String {
    use base64::Engine;
    let bytes =
        (0..=255u8).map(|byte| vec![byte]).chain(tokens.iter().map(|token| token.as_bytes().to_vec()));
    let line = |(rank, token): (usize, Vec<u8>)| {
        format!("{} {rank}\n", base64::engine::general_purpose::STANDARD.encode(token))
    };
    bytes.enumerate().map(line).collect()
}

fn of_ranks(tokens: &[&str]) -> Tokenizer {
    tiktoken::read(ranks(tokens).as_bytes(), PreTokenizer::Bytes, &[]).and_then(Tokenizer::new).unwrap()
}

fn ids(tokenizer: &Tokenizer, text: &str, specials: Specials<'_>) -> Vec<TokenId> {
    tokenizer.encode(text.as_bytes(), EncodeOptions { specials, ..EncodeOptions::default() }).unwrap().ids
}

#[test]
fn a_piece_is_no_special_token_by_being_its_text() {
    let special = json!([{
        "id": 0, "content": "<s>", "special": true, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false,
    }]);
    let vocab = json!({"<s>": 0, "<": 1, "s": 2, ">": 3, "s>": 4, "abc": 5});
    let model = json!({"type": "BPE", "vocab": vocab, "merges": ["s >"], "ignore_merges": true});
    let file = of_model(model, special);
    let again = Tokenizer::from_bytes(&file.to_bytes().unwrap()).unwrap();
    let ranks = of_ranks(&["abc"]);
    let named = ranks.with_specials([NewToken::Special("abc".to_owned())]).unwrap();
    for (name, tokenizer, text, plain, special) in [
        ("file", &file, "<s>", vec![1, 4], vec![0]),
        ("read again", &again, "<s>", vec![1, 4], vec![0]),
        ("a token like any other", &file, "abc", vec![5], vec![5]),
        ("ranks", &ranks, "abc", vec![256], vec![256]),
        ("named later", &named, "abc", vec![97, 98, 99], vec![256]),
    ] {
        for _ in ["missed", "cached"] {
            assert_eq!(ids(tokenizer, text, Specials::None), plain, "{name}");
            assert_eq!(ids(tokenizer, text, Specials::All), special, "{name}");
        }
    }
}

#[test]
fn dropout_takes_whole_tokens_apart() {
    let tokenizer = of_ranks(&["ab", "abc"]);
    for (p, expected) in [(None, vec![257]), (Some(0.0), vec![257]), (Some(1.0), vec![97, 98, 99])] {
        let found = ids(&tokenizer.with_dropout(p).unwrap(), "abc", Specials::None);
        assert_eq!(found, expected, "{p:?}");
    }
    let half = tokenizer.with_dropout(Some(0.5)).unwrap();
    let of_seed = |seed| half.encode(b"abc", EncodeOptions { seed, ..EncodeOptions::default() }).unwrap().ids;
    let found: std::collections::BTreeSet<_> = (0..64).map(of_seed).collect();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [vec![97, 98, 99], vec![256, 99], vec![257]]);
}

#[test]
fn max_tokens_is_a_maximum_for_templates_that_repeat_texts() {
    let text = |id: &str| json!({"Sequence": {"id": id, "type_id": 0}});
    let special = json!({"SpecialToken": {"id": "<s>", "type_id": 0}});
    let file = json!({
        "added_tokens": [],
        "post_processor": {
            "type": "TemplateProcessing", "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
            "single": [special, text("A"), text("A")],
            "pair": [text("A"), special, text("B"), text("B"), text("A"), text("B")],
        },
        "decoder": {"type": "Fuse"},
        "model": {"type": "BPE", "vocab": {"<s>": 0, "a": 1, "b": 2}, "merges": []},
    });
    let tokenizer = Tokenizer::from_bytes(file.to_string().as_bytes()).unwrap();
    for max in 1..16 {
        let options = EncodeOptions { max_tokens: Some(max), ..EncodeOptions::default() };
        let expected = [vec![0], vec![1; (max - 1) / 2 * 2]].concat();
        let expected = if max < 12 { expected } else { [vec![0], vec![1; 10]].concat() };
        assert_eq!(tokenizer.encode("aaaaa", options).unwrap().ids, expected, "{max}");
        assert_eq!(tokenizer.encode_batch(&["aaaaa"], options).unwrap().ids, expected);
        assert_eq!(tokenizer.count("aaaaa", options).unwrap(), expected.len());
        assert_eq!(tokenizer.count_batch(&["aaaaa"], options).unwrap(), [expected.len() as u64]);
        let fits = tokenizer.fits("aaaaa", max, EncodeOptions::default()).unwrap();
        assert_eq!(fits, max >= 11, "{max}");
        for (first, second) in [("aaaaa", "bbbb"), ("a", "bbbb"), ("aaaaa", "b"), ("aaaaaaaaa", "bbbbbbbbb")]
        {
            let pair = tokenizer.encode_pair(first, second, options).unwrap();
            assert!(pair.ids.len() <= max, "{max}: {:?}", pair.ids);
            assert_eq!(pair.type_ids.len(), pair.ids.len());
        }
        if max > 4 {
            for row in
                tokenizer.windows("aaaaa", max, 1, EncodeOptions::default()).unwrap().row_offsets.windows(2)
            {
                assert!(row[1] - row[0] <= max, "{max}");
            }
        }
    }
}

#[test]
fn what_is_gone_on_from_stays() {
    let token = |content: &str, id: u32, special: bool| {
        json!({
            "id": id, "content": content, "special": special, "single_word": false, "lstrip": !special,
            "rstrip": false, "normalized": false,
        })
    };
    let file = json!({
        "added_tokens": [token("<s>", 0, true), token("<m>", 1, false)],
        "post_processor": {
            "type": "TemplateProcessing", "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        },
        "decoder": {"type": "Fuse"},
        "model": {
            "type": "BPE", "vocab": {"<s>": 0, "<m>": 1, "a": 2, "b": 3, " ": 4, "aba": 5},
            "merges": [], "ignore_merges": true,
        },
    });
    let base = Tokenizer::from_bytes(file.to_string().as_bytes()).unwrap();
    let trainer = BpeTrainer::default().with(|it| {
        it.vocab_size = 7;
        it.unit = sentitok::models::bpe::Unit::Chars;
        it.initial_alphabet = Alphabet::Seen;
        it.extend = Some(base.base().unwrap());
    });
    let counts = WordCounts::from_pairs(base.pipeline().clone(), [("abab", 3)]).unwrap();
    let trained = trainer.train(counts.iter(), &mut Progress::silent()).unwrap();
    let more =
        Tokenizer::from_trained(&trainer, None, base.pipeline().clone(), &trained, Some(&base)).unwrap();
    assert_eq!(more.added_tokens(), base.added_tokens());
    assert_eq!((more.template(), more.decoder()), (base.template(), base.decoder()));
    for (text, before, after) in [
        ("aba", vec![0, 5], vec![0, 5]),
        ("b <m>a", vec![0, 3, 1, 2], vec![0, 3, 1, 2]),
        ("ab", vec![0, 2, 3], vec![0, 6]),
    ] {
        assert_eq!(ids(&base, text, Specials::None), before, "{text}");
        assert_eq!(ids(&more, text, Specials::None), after, "{text}");
    }
}

#[test]
fn a_run_of_invalid_bytes_is_one_piece() {
    let byte = |byte: u8| sentitok::text::byte_level::to_chars(&[byte]);
    let mut vocab: serde_json::Map<_, _> = (0..=255u8).map(|at| (byte(at), json!(at))).collect();
    vocab.insert(byte(0xFF) + &byte(0xFE), json!(256));
    let model = json!({"type": "BPE", "vocab": vocab, "merges": [[byte(0xFF), byte(0xFE)]]});
    let byte_level =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    let file = json!({"pre_tokenizer": byte_level, "decoder": byte_level, "model": model});
    let tokenizer = Tokenizer::from_bytes(file.to_string().as_bytes()).unwrap();
    let text = b"a\xFF\xFE\xFFb";
    let encoding = tokenizer.encode(text, EncodeOptions { spans: true, ..EncodeOptions::default() }).unwrap();
    assert_eq!(encoding.ids, [97, 256, 255, 98]);
    assert_eq!(encoding.spans.unwrap(), [[0, 1], [1, 3], [3, 4], [4, 5]]);
    for limit in 0..6 {
        let options = EncodeOptions { max_tokens: Some(limit), ..EncodeOptions::default() };
        assert_eq!(tokenizer.encode(text, options).unwrap().ids, encoding.ids[..limit.min(4)]);
        assert_eq!(tokenizer.fits(text, limit, EncodeOptions::default()).unwrap(), limit >= 4);
        let batch = tokenizer.encode_batch(&[text, text], options).unwrap();
        assert_eq!(batch.ids, encoding.ids[..limit.min(4)].repeat(2));
    }
}

#[test]
fn numbers_no_one_means_are_refused() {
    let tokenizer = of_ranks(&[]);
    for (size, stride) in [(4, 4), (4, usize::MAX), (0, 0), (usize::MAX, usize::MAX)] {
        assert!(
            tokenizer.windows(b"abc", size, stride, EncodeOptions::default()).is_err(),
            "{size} {stride}"
        );
    }
    let ranks = ranks(&[]);
    let read = |id| {
        tiktoken::read(ranks.as_bytes(), PreTokenizer::Bytes, &[("<s>".to_owned(), id)])
            .and_then(Tokenizer::new)
    };
    assert_eq!(read(1 << 20).unwrap().max_id(), 1 << 20);
    for id in [1 << 21, u32::MAX] {
        let error = read(id).err().unwrap().to_string();
        assert!(error.contains("ids without a token"), "{error}");
    }
}

#[test]
fn a_caller_who_wants_to_stop_is_heard_in_the_midst_of_a_text() {
    let lowered = "abcdefghijklmnopqrstuvwxyz".chars().enumerate();
    let mut vocab = json!({"[UNK]": 0, ",": 1, "film": 2});
    for (place, letter) in lowered {
        vocab[letter.to_string()] = json!(3 + 2 * place);
        vocab[format!("##{letter}")] = json!(4 + 2 * place);
    }
    let model = json!({
        "type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]", "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    });
    let bert = json!({
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": model, "added_tokens": [],
    });
    let gpt2 = PreTokenizer::from_name("gpt2").unwrap();
    let gpt2 = tiktoken::read(ranks(&["film"]).as_bytes(), gpt2, &[]).and_then(Tokenizer::new).unwrap();
    let bert = Tokenizer::from_bytes(bert.to_string().as_bytes()).unwrap();
    // Blanks of every kind where a part may end.
    let text = "Of a film  of the\nman, \u{301}told  \t often; é ".repeat(30_000);
    let texts = [text.as_bytes()];
    for (name, tokenizer) in [("gpt2", &gpt2), ("bert", &bert)] {
        let plain = EncodeOptions::default();
        let [go, stop] = [false, true].map(AtomicBool::new);
        let [asked, stopped] = [&go, &stop].map(|stop| EncodeOptions { stop: Some(stop), ..plain });
        let whole = tokenizer.encode(texts[0], plain).unwrap();
        assert_eq!(tokenizer.encode(texts[0], asked).unwrap(), whole, "{name}");
        assert_eq!(tokenizer.count(texts[0], asked).unwrap(), whole.ids.len(), "{name}");
        assert!(matches!(tokenizer.encode(texts[0], stopped), Err(Error::Cancelled)), "{name}");
        assert!(matches!(tokenizer.count(texts[0], stopped), Err(Error::Cancelled)), "{name}");
        for threads in [Some(1), Some(3)] {
            for (specials, spans) in [(Specials::None, false), (Specials::All, true)] {
                let with = |options| EncodeOptions { threads, spans, specials, ..options };
                let batch = tokenizer.encode_batch(&texts, with(asked)).unwrap();
                assert_eq!(batch.ids, whole.ids, "{name}");
                assert!(
                    matches!(tokenizer.encode_batch(&texts, with(stopped)), Err(Error::Cancelled)),
                    "{name}"
                );
            }
        }
    }
}
