//! `safe_cut`: parts split apart give the pieces of the whole, whatever follows.

use std::ops::Range;

use proptest::prelude::*;
use sentitok::pre_tokenizer::PreTokenizer;

use super::{FULL, REPRESENTATIVES, Random, split, splitters};

/// The two parts of a text, split apart.
fn split_apart(pre_tokenizer: &PreTokenizer, text: &str, cut: usize) -> Vec<Range<usize>> {
    let mut ranges = split(pre_tokenizer, &text[..cut]);
    ranges.extend(
        split(pre_tokenizer, &text[cut..]).into_iter().map(|range| range.start + cut..range.end + cut),
    );
    ranges
}

#[test]
fn cuts_are_found() {
    for (name, text, near, expected) in [
        ("gpt2", "one two", 7, Some(3)),
        ("gpt2", "one two", 2, None),
        ("gpt2", "one  \n", 6, Some(3)),
        ("cl100k", "中文，好", 12, Some(6)),
        ("cl100k", "a\n\nb", 4, Some(3)),
        ("o200k", "it's", 4, None),
        ("bert", "ab,c", 4, Some(3)),
        ("metaspace", "▁ab▁c", 9, Some(5)),
        ("metaspace-unsplit", "▁ab▁c", 9, None),
        ("bytes", "a b", 3, None),
        ("gpt2", "", 0, None),
    ] {
        assert_eq!(
            PreTokenizer::from_name(name).unwrap().safe_cut(text, near),
            expected,
            "{name} on {text:?}"
        );
    }
    let far = format!("a {}", "b".repeat(100_000));
    assert_eq!(PreTokenizer::O200k.safe_cut(&far, far.len()), None);
    assert_eq!(PreTokenizer::O200k.safe_cut(&far, 60_000), Some(1));
}

#[test]
fn cuts_are_safe_on_short_strings() {
    let longest = if FULL { 4 } else { 3 };
    let mut texts = vec![String::new()];
    for _ in 0..longest {
        texts =
            texts.iter().flat_map(|text| REPRESENTATIVES.iter().map(move |c| format!("{text}{c}"))).collect();
    }
    for (name, pre_tokenizer) in splitters() {
        for text in &texts {
            for near in 0..=text.len() {
                if let Some(cut) = pre_tokenizer.safe_cut(text, near) {
                    assert!(0 < cut && cut <= near, "{name} on {text:?}");
                    assert_eq!(
                        split_apart(&pre_tokenizer, text, cut),
                        split(&pre_tokenizer, text),
                        "{name} on {text:?} at {cut}"
                    );
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if FULL { 20_000 } else { 300 }))]

    #[test]
    fn cuts_stay_safe_whatever_follows(seed in 1..u64::MAX) {
        let mut random = Random(seed);
        let (text, other) = (random.text(20), random.text(10));
        for (name, pre_tokenizer) in splitters() {
            for near in 0..=text.len() {
                let Some(cut) = pre_tokenizer.safe_cut(&text, near) else { continue };
                let seen = cut + text[cut..].chars().next().unwrap().len_utf8();
                let longer = format!("{}{other}", &text[..seen]);
                for text in [&text, &longer] {
                    prop_assert_eq!(split_apart(&pre_tokenizer, text, cut), split(&pre_tokenizer, text), "{} on {:?} at {}", name, text, cut);
                }
            }
        }
    }
}
