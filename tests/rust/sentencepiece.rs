//! SentencePiece's files, normalizer and decoder, from outside.

use crate::With;
use proptest::prelude::*;
use sentitok::formats::sentencepiece::{self, ModelType, SpModel, SpPiece};
use sentitok::models::unigram::PieceKind;
use sentitok::normalizer::{Charsmap, Normalizer, SentencePiece, SentencePieceOptions};
use sentitok::tokenizer::decoder::Decoder;
use sentitok::{PreTokenizer, TokenId};

/// A double array as Darts-clone lays it out, of few keys: one block a node.
fn charsmap(rules: &[(&str, &str)]) -> Vec<u8> {
    let mut replacements = String::new();
    let mut keys = Vec::new();
    for (key, replacement) in rules {
        keys.push((key.as_bytes().to_vec(), replacements.len() as u32));
        replacements.push_str(replacement);
        replacements.push('\0');
    }
    // Prefixes in the order of their numbers; the children of each have a block.
    let mut nodes: Vec<Vec<u8>> = vec![Vec::new()];
    for (key, _) in &keys {
        for end in 1..=key.len() {
            if !nodes.contains(&key[..end].to_vec()) {
                nodes.push(key[..end].to_vec());
            }
        }
    }
    let base = |node: usize| (node + 1) * 256;
    let place = |node: usize| match nodes[node].split_last() {
        None => 0,
        Some((last, rest)) => base(nodes.iter().position(|n| n == rest).unwrap()) ^ usize::from(*last),
    };
    let mut units = vec![0x8000_0000_u32; (nodes.len() + 1) * 256];
    for (node, path) in nodes.iter().enumerate() {
        let offset = (place(node) ^ base(node)) as u32;
        let label = path.last().map_or(0, |byte| u32::from(*byte));
        // Offsets are either small or a multiple of 256 kept without its low byte.
        let unit = if offset < 1 << 21 { offset << 10 } else { offset >> 8 << 10 | 1 << 9 };
        units[place(node)] = label | unit;
        if let Some((_, value)) = keys.iter().find(|(key, _)| key == path) {
            units[place(node)] |= 1 << 8;
            units[base(node)] = 0x8000_0000 | value;
        }
    }
    let mut bytes = (units.len() as u32 * 4).to_le_bytes().to_vec();
    bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    bytes.extend(replacements.into_bytes());
    bytes
}

fn rules() -> Charsmap {
    let rules =
        [("ﬁ", "fi"), ("\u{A0}", " "), ("¨", " \u{308}"), ("\u{7F}", ""), ("e\u{301}", "é"), ("é", "e")];
    Charsmap::new(charsmap(&rules)).unwrap()
}

fn piece(piece: &str, score: f32, kind: PieceKind) -> SpPiece {
    SpPiece { piece: piece.to_owned(), score, kind }
}

fn pieces() -> Vec<SpPiece> {
    vec![
        piece("<unk>", 0.0, PieceKind::Unknown),
        piece("<s>", 0.0, PieceKind::Control),
        piece("▁", -2.0, PieceKind::Normal),
        piece("▁a", -2.5, PieceKind::Normal),
        piece("b", -3.0, PieceKind::Normal),
        piece("ab", -4.0, PieceKind::Normal),
        piece("<X>", 0.0, PieceKind::UserDefined),
        piece("c", 0.0, PieceKind::Unused),
    ]
}

fn with_bytes(mut pieces: Vec<SpPiece>) -> Vec<SpPiece> {
    pieces.extend((0..=255).map(|byte| piece(&format!("<0x{byte:02X}>"), 0.0, PieceKind::Byte)));
    pieces
}

fn sample(byte_fallback: bool) -> SpModel {
    let pieces = if byte_fallback { with_bytes(pieces()) } else { pieces() };
    let options = SentencePieceOptions::default().with(|it| it.charsmap = rules());
    SpModel::new(pieces, ModelType::Unigram, byte_fallback, "mine", &options).unwrap()
}

#[test]
fn normal_forms() {
    let plain = SentencePieceOptions::default().with(|it| it.charsmap = rules());
    let keeps = plain.clone().with(|it| it.remove_extra_whitespaces = false);
    let suffix = plain.clone().with(|it| it.treat_whitespace_as_suffix = true);
    let unescaped = plain.clone().with(|it| it.escape_whitespaces = false);
    let bare = keeps.clone().with(|it| it.add_dummy_prefix = false);
    let user = plain.clone().with(|it| it.user_defined = vec!["ﬁ".into(), "<a b>".into()]);
    for (name, options, text, expected) in [
        ("empty", &plain, "", ""),
        ("blank", &plain, " \u{A0} ", ""),
        ("words", &plain, "  a  b\u{A0} c ", "▁a▁b▁c"),
        ("vanishes", &plain, "\u{7F}", ""),
        ("vanishes beside", &plain, "\u{7F} a", "▁a"),
        ("rule", &plain, "ﬁx", "▁fix"),
        ("longest", &plain, "e\u{301}\u{301}é", "▁é\u{301}e"),
        ("a space inside a rule", &plain, "a¨ ¨", "▁a▁\u{308}▁\u{308}"),
        ("marks at the end", &plain, "a ▁ ", "▁a"),
        ("marks", &plain, "▁a▁▁b", "▁▁a▁▁b"),
        ("kept", &keeps, "  a  b ", "▁▁▁a▁▁b▁"),
        ("kept blank", &keeps, " ", "▁▁"),
        ("kept, vanishes", &keeps, "\u{7F}", "▁"),
        ("suffix", &suffix, " a b ", "a▁b▁"),
        ("unescaped", &unescaped, "a  b▁ ", " a b▁"),
        ("bare", &bare, " a ", "▁a▁"),
        ("the user's", &user, "ﬁﬁé<a b> <a b", "▁ﬁﬁe<a▁b>▁<a▁b"),
    ] {
        let normalizer = SentencePiece::new(options.clone()).unwrap();
        let plain_text = normalizer.normalize_bytes_to_text(text.as_bytes()).unwrap();
        assert_eq!(plain_text, expected, "{name}");
        let normalizer = Normalizer::SentencePiece(Box::new(normalizer));
        let aligned = normalizer.normalize(text).unwrap().unwrap_or_default();
        assert_eq!(aligned.text, expected, "{name}");
        // Every stretch leads back into the text, in order.
        let mut last = 0;
        for (at, c) in aligned.text.char_indices() {
            let origin = aligned.to_original(at..at + c.len_utf8());
            assert!(last <= origin.start && origin.end <= text.len(), "{name} {origin:?}");
            last = origin.start;
        }
        let json = serde_json::to_string(&normalizer).unwrap();
        assert_eq!(serde_json::from_str::<Normalizer>(&json).unwrap(), normalizer, "{name}");
    }
}

#[test]
fn malformed_bytes_are_replaced_one_by_one() {
    let normalizer = SentencePiece::new(
        SentencePieceOptions::default()
            .with(|it| it.charsmap = Charsmap::new(charsmap(&[("\u{FFFD}", " ")])).unwrap()),
    )
    .unwrap();
    for (bytes, expected) in [
        (&b"a\xE2\x82b"[..], "▁a\u{FFFD}\u{FFFD}b"),
        (b"\xFF\xFE x", "▁\u{FFFD}\u{FFFD}▁x"),
        (b"\xED\xA0\x80", "▁\u{FFFD}\u{FFFD}\u{FFFD}"),
        (b" \xEF\xBF\xBD x", "▁x"),
    ] {
        let aligned = normalizer.normalize_bytes(bytes).unwrap();
        assert_eq!(aligned.text, expected);
    }
}

#[test]
fn offsets_lead_back() {
    let normalizer = Normalizer::SentencePiece(Box::new(sample(false).normalizer().unwrap()));
    let aligned = normalizer.normalize("  ﬁ  e\u{301} ").unwrap().unwrap();
    assert_eq!(aligned.text, "▁fi▁é");
    for (normal, original) in [(0..5, 2..5), (0..3, 2..2), (3..4, 2..5), (5..10, 5..10), (8..10, 7..10)] {
        assert_eq!(aligned.to_original(normal.clone()), original, "{normal:?}");
    }
}

#[test]
fn rules_of_hugging_face() {
    let map = charsmap(&[("ﬁ", "fi"), ("e\u{301}", "é"), ("①", "1"), ("²", "2")]);
    let json = format!(
        r#"{{"type": "Precompiled", "precompiled_charsmap": "{}"}}"#,
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, map)
    );
    let normalizer: Normalizer = serde_json::from_str(&json).unwrap();
    for (text, expected) in [
        ("plain", None),
        ("xﬁ①", Some("xfi1")),
        ("e\u{301}", Some("é")),
        // The grapheme begins with what a rule replaces: its mark vanishes.
        ("ﬁ\u{301}", Some("fi")),
        // Of six bytes and more, each character represents itself.
        ("ﬁ\u{301}\u{301}", Some("fi\u{301}\u{301}")),
        ("a²\r\n²", Some("a2\r\n2")),
    ] {
        assert_eq!(
            normalizer.normalize(text).unwrap().map(|aligned| aligned.text).as_deref(),
            expected,
            "{text:?}"
        );
        assert_eq!(normalizer.normalize_text(text).unwrap().as_deref(), expected, "{text:?}");
    }
}

#[test]
fn a_model_comes_back() {
    for byte_fallback in [false, true] {
        let model = sample(byte_fallback);
        let bytes = model.write();
        let read = sentencepiece::read(&bytes).unwrap();
        assert_eq!(read, model);
        assert_eq!(read.write(), bytes);
        assert_eq!(read.normalizer_name(), "mine");
        assert_eq!(read.pipeline().unwrap().pre_tokenizer, PreTokenizer::Bytes);
        let unigram = read.unigram().unwrap();
        let ids = |text: &str| {
            let normalizer = read.pipeline().unwrap().normalizer.unwrap();
            unigram.encode(normalizer.normalize(text).unwrap().unwrap_or_default().text.as_bytes())
        };
        assert_eq!(ids("ab <X>b"), [3, 4, 2, 6, 4]);
        // A control symbol in a text is text; an unused piece is unknown.
        let unknown: &[TokenId] = if byte_fallback { &[8 + 0x3C, 8 + 0x73, 8 + 0x3E] } else { &[0] };
        assert_eq!(ids("<s>"), [&[2], unknown].concat());
        assert_eq!(ids("c").len(), 2);
        let special: Vec<_> =
            read.added_tokens().into_iter().map(|token| (token.content, token.special)).collect();
        assert_eq!(special, [("<unk>".to_owned(), true), ("<s>".to_owned(), true)]);
    }
}

#[test]
fn decoding() {
    let model = sample(true);
    let vocab = model.vocab().unwrap();
    let Decoder::SentencePiece(decoder) = model.decoder() else { panic!("another decoder") };
    let byte = |byte: u8| 8 + TokenId::from(byte);
    for (ids, expected) in [
        (vec![3, 4, 3], "ab a"),
        (vec![1, 3, 1, 3], "a a"),
        (vec![2, 2, 3], "a"),
        (vec![0, 3], " \u{2047}  a"),
        (vec![2, 0], " \u{2047} "),
        (vec![byte(0xC3), byte(0xA9), 3], "é a"),
        (vec![2, byte(0xFF), 2, 4], "\u{FFFD} b"),
    ] {
        let tokens = ids.iter().map(|&id| (id, vocab.bytes(id).unwrap()));
        assert_eq!(String::from_utf8_lossy(&decoder.decode(tokens)), expected, "{ids:?}");
    }
}

#[test]
fn refused_models() {
    let options = SentencePieceOptions::default();
    let add = |new: SpPiece| [pieces(), vec![new]].concat();
    for (name, pieces, byte_fallback, expected) in [
        ("empty", add(piece("", 0.0, PieceKind::Normal)), false, "piece 8 is empty"),
        ("NUL", add(piece("a\0", 0.0, PieceKind::Normal)), false, "holds a NUL"),
        ("twice", add(piece("b", 0.0, PieceKind::Normal)), false, "occurs twice"),
        ("score", add(piece("x", f32::NAN, PieceKind::Normal)), false, "has the score NaN"),
        ("long", add(piece(&"x".repeat(8000), 0.0, PieceKind::Normal)), false, "has 8000 bytes"),
        ("unknown", add(piece("x", 0.0, PieceKind::Unknown)), false, "second unknown"),
        ("no unknown", pieces()[1..].to_vec(), false, "no piece is the unknown one"),
        ("no text", pieces()[..2].to_vec(), false, "no piece can be found"),
        ("byte", add(piece("<0x00>", 0.0, PieceKind::Byte)), false, "byte_fallback is false"),
        ("bytes", add(piece("<0x00>", 0.0, PieceKind::Byte)), true, "there is no piece <0x01>"),
        ("no byte", add(piece("<0x0>", 0.0, PieceKind::Byte)), true, "not written as <0xNN>"),
    ] {
        let error = SpModel::new(pieces, ModelType::Unigram, byte_fallback, "", &options).unwrap_err();
        assert!(error.to_string().contains(expected), "{name}: {error}");
    }
    for (name, bytes, expected) in [
        ("size", vec![1, 2], "2 bytes are too few"),
        ("claim", vec![0, 0, 0, 255, 1], "should have 4278190080 bytes"),
        ("odd", vec![3, 0, 0, 0, 1, 2, 3], "in fours"),
        ("no trie", vec![0, 0, 0, 0, 0], "the trie is empty"),
        (
            "root",
            [vec![4, 0, 0, 0], 0x4000_0000_u32.to_le_bytes().to_vec()].concat(),
            "the root leads outside",
        ),
        ("text", [charsmap(&[("a", "b")]), vec![0xFF]].concat(), "not UTF-8"),
        (
            "value",
            {
                let mut map = charsmap(&[("a", "b")]);
                map.pop();
                map
            },
            "is not the place of a replacement",
        ),
    ] {
        let error = Charsmap::new(bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

/// Everything a file may lead to must end in an error or in ids.
fn use_model(bytes: &[u8]) {
    let Ok(model) = sentencepiece::read(bytes) else { return };
    let Ok(pipeline) = model.pipeline() else { return };
    let Ok(unigram) = model.unigram() else { return };
    let Some(normalizer) = pipeline.normalizer else { return };
    for text in ["ab <X> é ﬁ¨x", "", "\u{7F} ▁e\u{301}"] {
        let normal = normalizer.normalize(text).unwrap().unwrap_or_default();
        let (mut ids, mut lens) = (Vec::new(), Vec::new());
        unigram.worker().encode_with_lens(normal.text.as_bytes(), &mut ids, &mut lens);
        let mut at = 0;
        for len in lens {
            let origin = normal.to_original(at..at + len as usize);
            assert!(origin.end <= text.len());
            at += len as usize;
        }
        assert_eq!(ids, unigram.encode(normal.text.as_bytes()));
        if let Decoder::SentencePiece(decoder) = model.decoder() {
            decoder.decode(ids.iter().filter_map(|&id| Some((id, unigram.vocab().bytes(id)?))));
        }
    }
    assert_eq!(sentencepiece::read(&model.write()).unwrap().pieces(), model.pieces());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 150 } else { 3000 }))]

    #[test]
    fn mutated_models_do_no_harm(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
        in_pieces: bool,
    ) {
        let mut bytes = sample(false).write();
        // Most of the bytes are of the rules; half of the cases spare them.
        let limit = if in_pieces { 160 } else { bytes.len() };
        for (at, byte) in edits {
            let at = at.index(limit);
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        use_model(&bytes);
    }

    #[test]
    fn mutated_rules_do_no_harm(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>(), 0u8..3), 1..4),
        text in "[ae\u{301}ﬁ¨\u{A0} ▁é]{0,12}",
    ) {
        let mut bytes = rules().bytes().to_vec();
        let live: Vec<usize> = (4..bytes.len() - 8)
            .step_by(4)
            .filter(|&at| bytes[at..at + 4] != 0x8000_0000_u32.to_le_bytes())
            .collect();
        for (at, unit, how) in edits {
            let at = live[at.index(live.len())];
            let old = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            let new = match how {
                0 => unit,
                1 => old ^ 1 << (unit % 32),
                _ => old & 0x3FF | (unit % 4096) << 10,
            };
            bytes[at..at + 4].copy_from_slice(&new.to_le_bytes());
        }
        if let Ok(charsmap) = Charsmap::new(bytes) {
            let options = SentencePieceOptions::default().with(|it| it.charsmap = charsmap);
            let normalizer = Normalizer::SentencePiece(Box::new(SentencePiece::new(options).unwrap()));
            let aligned = normalizer.normalize(&text).unwrap().unwrap_or_default();
            prop_assert!(aligned.to_original(0..aligned.text.len()).end <= text.len());
        }
    }
}
