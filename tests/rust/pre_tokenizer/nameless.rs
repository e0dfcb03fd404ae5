//! Patterns without a name that have a splitter all the same: Qwen 3.5's, and the three of
//! DeepSeek-V3. The engine that runs any pattern is their oracle.

use sentitok::pre_tokenizer::{PreTokenizer, SplitPattern};
use sentitok::text::simd::Level;

use super::{FULL, REPRESENTATIVES, Random, split, split_by};

const QWEN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const DEEPSEEK: [&str; 3] = [
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##,
];

/// What else these patterns tell apart: CJK that is not a letter, no character or a mark, symbols,
/// and what no alternative matches.
const MORE: [&str; 12] = [
    "カ", "・", "\u{309B}", "\u{3097}", "\u{3099}", "。", "€", "\u{1}", "\u{200D}", "龦", "\u{7F}", "\u{378}",
];

/// The patterns, as they come from a file.
pub(super) fn nameless() -> Vec<(&'static str, PreTokenizer)> {
    let of = |pattern| PreTokenizer::Regex(SplitPattern::new(pattern, true).unwrap());
    let deepseek = PreTokenizer::sequence(DEEPSEEK.map(of).into()).unwrap();
    vec![("qwen 3.5", of(QWEN)), ("deepseek-v3", deepseek)]
}

fn agrees_with_engine(splitters: &[(&'static str, PreTokenizer)], text: &str) {
    for (name, pre_tokenizer) in splitters {
        let expected = split_by(pre_tokenizer, None, text);
        for level in Level::all() {
            assert_eq!(
                split_by(pre_tokenizer, Some(level), text),
                expected,
                "{name} by {level:?} on {text:?}"
            );
        }
        assert_eq!(split(pre_tokenizer, text), expected, "{name} on {text:?}");
    }
}

#[test]
fn every_short_string() {
    let splitters = nameless();
    let mut texts = vec![String::new()];
    let all = || REPRESENTATIVES.iter().chain(&MORE);
    for _ in 0..if FULL { 4 } else { 2 } {
        texts = texts.iter().flat_map(|text| all().map(move |c| format!("{text}{c}"))).collect();
        texts.iter().for_each(|text| agrees_with_engine(&splitters, text));
    }
}

#[test]
fn every_code_point() {
    let splitters = nameless();
    for c in ('\0'..='\u{3FF}').chain(('\u{400}'..=char::MAX).step_by(if FULL { 1 } else { 997 })) {
        let contexts =
            [format!("{c}"), format!("a{c}b"), format!(" {c}a"), format!("  {c} "), format!("1{c}1")];
        let more = [format!("!{c}!"), format!("'{c}e"), format!("カ{c}カ"), format!("\n{c}\n\u{1}{c}é")];
        contexts.iter().chain(&more).for_each(|text| agrees_with_engine(&splitters, text));
    }
}

#[test]
fn random_strings() {
    let (splitters, mut random) = (nameless(), Random(11));
    for round in 0..if FULL { 200_000 } else { 3000 } {
        let mut text = random.text(if round % 3 == 0 { 90 } else { 12 });
        for _ in 0..random.below(4) {
            text.push_str(MORE[random.below(MORE.len())]);
            text += &random.text(6);
        }
        agrees_with_engine(&splitters, &text);
    }
}
