//! Steps, sequences, and the bound on the length of their results.

use proptest::prelude::*;

use super::*;
use crate::text::SPACE_MARK;

#[test]
fn llama_steps_keep_alignment() {
    let normalizer = Normalizer::Sequence {
        normalizers: vec![
            Normalizer::Prepend { prepend: "▁".into() },
            Normalizer::Replace { pattern: " ".into(), content: "▁".into() },
        ],
    };
    let aligned = normalizer.normalize("a bc").unwrap().unwrap();
    assert_eq!(aligned.text, "▁a▁bc");
    for (normalized, original) in [(0..4, 0..1), (0..3, 0..0), (4..7, 1..2), (4..9, 1..4), (7..9, 2..4)] {
        assert_eq!(aligned.to_original(normalized), original);
    }
    assert!(normalizer.normalize("").unwrap().is_none());
}

/// A sequence that replaces each `h` by `content`, `n` times.
fn replacing(n: usize, content: &str) -> Normalizer {
    let step = Normalizer::Replace { pattern: "h".into(), content: content.into() };
    Normalizer::Sequence { normalizers: vec![step; n] }
}

#[test]
fn growth_is_bounded_after_every_step() {
    let matches = |pattern: &str, content: &str| Normalizer::ReplaceMatches {
        pattern: Matches::new(pattern).unwrap(),
        content: content.into(),
    };
    let nested = Normalizer::Sequence { normalizers: vec![replacing(6, "hh"); 100] };
    let prepends = vec![Normalizer::Prepend { prepend: "ab ".repeat(40) }; 2000];
    for (what, normalizer) in [
        ("a bomb", replacing(5000, "hh")),
        ("a long content", replacing(1, &"h".repeat(100_000))),
        ("sequences in a sequence", nested),
        ("matches", Normalizer::Sequence { normalizers: vec![matches("h", "hhh"); 50] }),
        ("a prefix each time", Normalizer::Sequence { normalizers: prepends }),
        ("nothing left but the alignment", {
            let steps = [replacing(9, "hh"), matches("h", "")];
            Normalizer::Sequence { normalizers: steps.to_vec() }
        }),
    ] {
        let text = "h".repeat(40);
        for error in [normalizer.normalize(&text).unwrap_err(), normalizer.normalize_text(&text).unwrap_err()]
        {
            let error = error.to_string();
            assert!(error.contains("16 times the text"), "{what}: {error}");
        }
    }
}

#[test]
fn known_normalizers_stay_far_below_the_bound() {
    let text = "\u{FDFA}".repeat(1000);
    for name in ["nfkd", "nfkc+lowercase", "nfkd+strip-accents+hf-bert", "nfkd+sentencepiece"] {
        let normalizer = Normalizer::from_name(name).unwrap();
        let plain = normalizer.normalize_text(&text).unwrap().unwrap();
        assert!(plain.len() > 10 * text.len() && plain.len() < 16 * text.len(), "{name}: {}", plain.len());
        assert_eq!(normalizer.normalize(&text).unwrap().unwrap().text, plain);
    }
    // Four doublings reach 16 times. An insertion before a short text is allowed in addition.
    assert_eq!(replacing(4, "hh").normalize_text("hhh").unwrap().unwrap().len(), 48);
    let prefix = Normalizer::Prepend { prepend: "x".repeat(64) };
    assert_eq!(prefix.normalize("h").unwrap().unwrap().text.len(), 65);
}

#[test]
fn total_reading_of_all_steps_is_bounded() {
    let text = "ab".repeat(1000);
    let steps = |n: usize| {
        let mut normalizers = vec![Normalizer::Replace { pattern: "b".into(), content: "bbb".into() }];
        normalizers.extend(vec![Normalizer::Lowercase; n]);
        Normalizer::Sequence { normalizers }
    };
    // The first step reads the text once, 63 steps read twice its length: 127 of 128 times.
    for n in [0, 63] {
        assert_eq!(steps(n).normalize_text(&text).unwrap().unwrap().len(), 4000, "{n}");
    }
    for error in [steps(64).normalize(&text).unwrap_err(), steps(64).normalize_text(&text).unwrap_err()] {
        assert!(error.to_string().contains("read more than 128 times the text of 2000 bytes"), "{error}");
    }
}

#[test]
fn number_of_patterns_is_bounded() {
    let step = r#"{"type":"ReplaceMatches","pattern":"\\w{20}","content":""}"#;
    for (n, is_read) in [(0, true), (16, true), (17, false), (5000, false)] {
        let list = vec![step; n].join(",");
        for json in [
            format!(r#"{{"type":"Sequence","normalizers":[{list}]}}"#),
            format!(r#"{{"type":"Sequence","normalizers":[{{"type":"Sequence","normalizers":[{list}]}}]}}"#),
        ] {
            let read = serde_json::from_str::<Normalizer>(&json);
            assert_eq!(read.is_ok(), is_read, "{n} {:?}", read.err());
        }
    }
    let bad = r#"{"type":"Sequence","normalizers":[{"type":"Nfc"},{"type":"X"}]}"#;
    assert!(serde_json::from_str::<Normalizer>(bad).unwrap_err().to_string().contains('X'));
}

proptest! {
    /// Each character came from itself, and a mark from spaces or from nothing.
    #[test]
    fn marked_words_keep_their_way_back(
        words in prop::collection::vec("[a-z.]{1,9}| {1,3}|[!-~]{40,90}|[é中]", 0..90),
        name in prop::sample::select(vec!["sentencepiece", "sentencepiece-nmt-nfkc"]),
    ) {
        let text = words.join(" ");
        let normalizer = Normalizer::from_name(name).unwrap();
        let aligned = normalizer.normalize(&text).unwrap();
        let plain = normalizer.normalize_text(&text).unwrap();
        prop_assert_eq!(aligned.as_ref().map(|new| &new.text), plain.as_ref());
        for (at, c) in aligned.iter().flat_map(|new| new.text.char_indices()) {
            let source = aligned.as_ref().map_or("", |new| &text[new.to_original(at..at + c.len_utf8())]);
            prop_assert!(source.chars().eq([c]) || c == SPACE_MARK && source.trim().is_empty(), "{:?}", source);
        }
    }
}
