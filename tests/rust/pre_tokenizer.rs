//! Pre-tokenizers: the fast splitters against the oracle and against an engine
//! that runs the published patterns. Release builds take the full sizes.

mod nameless;
mod safe_cut;
mod windows;

use std::ops::Range;
use std::sync::LazyLock;

use sentitok::normalizer::Aligned;
use sentitok::pre_tokenizer::{Digits, PreTokenizer, Prepend, SplitPattern, oracle};
use sentitok::text::simd::Level;
use sentitok::text::unicode::flags;
use sentitok::{Error, Pipeline};

/// Whether to run every case there is; a build without optimisation runs a sample.
const FULL: bool = !cfg!(debug_assertions);

/// One of each sort of character the patterns tell apart.
const REPRESENTATIVES: [&str; 25] = [
    " ", "\n", "\r", "\t", "\u{A0}", "A", "b", "ǅ", "ʰ", "中", "\u{301}", "1", "Ⅷ", "'", "s", "S", "ſ", "l",
    "r", "e", "!", "/", "_", "▁", "😀",
];

/// One pre-tokenizer for each way of splitting.
fn splitters() -> Vec<(&'static str, PreTokenizer)> {
    let skipped = ["gpt2-prefix-space", "metaspace-first", "metaspace-never", "bytes", "r50k"];
    PreTokenizer::names()
        .filter(|name| !skipped.contains(name) && !name.ends_with("unsplit"))
        .map(|name| (name, PreTokenizer::from_name(name).unwrap()))
        .collect()
}

fn split(pre_tokenizer: &PreTokenizer, text: &str) -> Vec<Range<usize>> {
    pre_tokenizer.split(text).unwrap()
}

/// The pieces by a form of the splitter, `None` for the scalar rule.
fn split_by(pre_tokenizer: &PreTokenizer, form: Option<Level>, text: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let result = pre_tokenizer.for_each_piece_by(form, text, |piece| {
        pieces.push(piece);
        Ok(())
    });
    result.unwrap();
    pieces
}

fn pieces(name: &str, text: &str) -> Vec<String> {
    let ranges = split(&PreTokenizer::from_name(name).unwrap(), text);
    ranges.into_iter().map(|range| text[range].to_owned()).collect()
}

/// Published patterns, run by an engine, with their splitters.
struct Engines(Vec<(PreTokenizer, fancy_regex::Regex)>);

impl Engines {
    fn new() -> Self {
        let all = PreTokenizer::published_patterns();
        Self(
            all.map(|(name, pattern)| {
                (PreTokenizer::from_name(name).unwrap(), fancy_regex::Regex::new(pattern).unwrap())
            })
            .collect(),
        )
    }

    fn agree(&self, text: &str) {
        for (pre_tokenizer, engine) in &self.0 {
            let expected: Vec<_> = engine
                .find_iter(text)
                .map(|found| found.unwrap())
                .map(|found| found.start()..found.end())
                .collect();
            assert_eq!(
                split(pre_tokenizer, text),
                expected,
                "{} and {engine} on {text:?}",
                pre_tokenizer.name()
            );
        }
    }
}

/// That every form of a splitter, and the scalar rule, splits as the oracle.
fn agrees_with_oracle(splitters: &[(&'static str, PreTokenizer)], text: &str) {
    static FORMS: LazyLock<Vec<Option<Level>>> =
        LazyLock::new(|| std::iter::once(None).chain(Level::all().into_iter().map(Some)).collect());
    for (name, pre_tokenizer) in splitters {
        let expected = oracle::split(pre_tokenizer, text);
        for &form in FORMS.iter() {
            assert_eq!(Some(split_by(pre_tokenizer, form, text)), expected, "{name} by {form:?} on {text:?}");
        }
    }
}

/// A seeded generator: the same texts on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % limit
    }

    /// A text of representatives, their runs, and characters from anywhere.
    fn text(&mut self, parts: usize) -> String {
        let mut text = String::new();
        for _ in 0..self.below(parts + 1) {
            match self.below(8) {
                0 => text.extend(char::from_u32(self.below(0x11_0000) as u32)),
                1 => text.push_str(&REPRESENTATIVES[self.below(REPRESENTATIVES.len())].repeat(self.below(5))),
                2 => text.push_str(
                    ["'ve", "'LL", "'RE", "  \n ", "don't", "ABCdef", "\u{3000}", "12345"][self.below(8)],
                ),
                _ => text.push_str(REPRESENTATIVES[self.below(REPRESENTATIVES.len())]),
            }
        }
        text
    }
}

#[test]
fn pieces_of_examples() {
    for (name, text, expected) in [
        ("gpt2", "It's  fine.\n\nOk ", &["It", "'s", " ", " fine", ".", "\n", "\n", "Ok", " "][..]),
        ("gpt2", "'Twas 'S 12,5\tx", &["'", "Twas", " '", "S", " 12", ",", "5", "\t", "x"]),
        ("cl100k", "It'S  a\ttab\u{A0}b 1234", &["It", "'S", " ", " a", "\ttab", "\u{A0}b", " ", "123", "4"]),
        ("cl100k", "a\n  ", &["a", "\n", "  "]),
        ("cl100k-possessive", "a\n  ", &["a", "\n  "]),
        ("cl100k-possessive", "a\n  b", &["a", "\n", " ", " b"]),
        ("cl100k-2digit", "12345", &["12", "34", "5"]),
        ("cl100k-1digit", "12", &["1", "2"]),
        ("cl100k", "he'ſx!\r\n\r\n (a)", &["he", "'ſ", "x", "!\r\n\r\n", " (", "a", ")"]),
        ("o200k", "HTMLParser don'T 中A\u{301}", &["HTMLParser", " don'T", " 中A\u{301}"]),
        ("o200k", "中ABC x", &["中", "ABC", " x"]),
        ("o200k", "a/\n/ \u{301}AB", &["a", "/\n/", " \u{301}", "AB"]),
        ("tekken", "don't 12", &["don", "'t", " ", "1", "2"]),
        ("whitespace", "a_1, b\u{200D}!? ", &["a_1", ",", "b\u{200D}", "!?"]),
        ("whitespace-split", " a,b\u{2028}c ", &["a,b", "c"]),
        ("bert", "a,b ...\u{3000}中$", &["a", ",", "b", ".", ".", ".", "中", "$"]),
        ("metaspace", "▁a▁▁b", &["▁a", "▁", "▁b"]),
        ("metaspace-unsplit", "▁a▁b", &["▁a▁b"]),
        ("bytes", "a b", &["a b"]),
    ] {
        assert_eq!(pieces(name, text), expected, "{name} on {text:?}");
        assert_eq!(pieces(name, ""), <[String; 0]>::default(), "{name}");
    }
}

#[test]
fn every_code_point_in_contexts() {
    let (splitters, engines) = (splitters(), Engines::new());
    let step = if FULL { 1 } else { 997 };
    let points = ('\0'..='\u{2FF}').chain(('\u{300}'..=char::MAX).step_by(step));
    for c in points {
        // The engines are slow: they see the contexts as one text, and one in
        // sixteen of the characters without any class.
        let mut all = String::new();
        for (before, after) in [
            ("", ""),
            ("a", "b"),
            ("A", "b"),
            (" ", "a"),
            ("  ", " "),
            ("1", "1"),
            ("!", "!"),
            ("'", "e"),
            ("\n", "\n"),
        ] {
            let text = format!("{before}{c}{after}");
            agrees_with_oracle(&splitters, &text);
            all = all + &text + "\n x\n";
        }
        if flags(c) != 0 || (c as u32).is_multiple_of(16) {
            engines.agree(&all);
        }
    }
}

#[test]
fn every_short_string_of_representatives() {
    let splitters = splitters();
    let engines = Engines::new();
    let longest = if FULL { 4 } else { 2 };
    let mut texts = vec![String::new()];
    for _ in 0..longest {
        texts =
            texts.iter().flat_map(|text| REPRESENTATIVES.iter().map(move |c| format!("{text}{c}"))).collect();
        for text in &texts {
            agrees_with_oracle(&splitters, text);
            engines.agree(text);
        }
    }
}

#[test]
fn random_mixed_strings() {
    let (splitters, engines) = (splitters(), Engines::new());
    let mut random = Random(0x5EED);
    for round in 0..if FULL { 1_000_000 } else { 3_000 } {
        let text = random.text(24);
        agrees_with_oracle(&splitters, &text);
        if round % 4 == 0 {
            engines.agree(&text);
        }
    }
}

#[test]
fn texts_from_seventy_starts() {
    let splitters = splitters();
    let mut random = Random(0xB10C);
    for _ in 0..if FULL { 200 } else { 3 } {
        let text = random.text(200);
        for (start, _) in text.char_indices().take(70) {
            agrees_with_oracle(&splitters, &text[start..]);
        }
    }
}

#[test]
fn names_and_json() {
    for name in PreTokenizer::names() {
        let pre_tokenizer = PreTokenizer::from_name(name).unwrap();
        assert_eq!(pre_tokenizer.name(), if name == "r50k" { "gpt2" } else { name });
        let pipeline = Pipeline::new(pre_tokenizer);
        assert_eq!(Pipeline::from_json(&pipeline.to_json().unwrap()).unwrap(), pipeline);
    }
    let error = PreTokenizer::from_name("gpt3").unwrap_err().to_string();
    assert!(error.contains("gpt3") && error.contains("cl100k-1digit") && error.contains("bytes"), "{error}");
    let pattern = SplitPattern::new(r"\d", false).unwrap();
    for (pre_tokenizer, json) in [
        (PreTokenizer::Bytes, r#"{"type":"Bytes"}"#),
        (PreTokenizer::Gpt2 { add_prefix_space: true }, r#"{"type":"Gpt2","add_prefix_space":true}"#),
        (
            PreTokenizer::Cl100k { digits: Digits::Two, possessive: false },
            r#"{"type":"Cl100k","digits":2,"possessive":false}"#,
        ),
        (
            PreTokenizer::Metaspace { prepend: Prepend::First, split: true },
            r#"{"type":"Metaspace","prepend":"first","split":true}"#,
        ),
        (PreTokenizer::Regex(pattern), r#"{"type":"Regex","pattern":"\\d","look_around":false}"#),
    ] {
        assert_eq!(serde_json::to_string(&pre_tokenizer).unwrap(), json);
        assert_eq!(serde_json::from_str::<PreTokenizer>(json).unwrap(), pre_tokenizer);
    }
    for json in [
        r#"{"type":"Cl100k","digits":4,"possessive":false}"#,
        r#"{"type":"Gpt2","add_prefix_space":true,"x":1}"#,
        r#"{"type":"Regex","pattern":"(","look_around":false}"#,
        r#"{"type":"Regex","pattern":"a","look_around":false,"x":1}"#,
        r#"{"type":"Gpt3"}"#,
        r#"{"type":"Bytes","x":1}"#,
        r#"{"type":"O200k","digits":1}"#,
    ] {
        serde_json::from_str::<PreTokenizer>(json).unwrap_err();
    }
}

#[test]
fn published_patterns_are_known() {
    for (name, pattern) in PreTokenizer::published_patterns() {
        let found = PreTokenizer::from_pattern(pattern).unwrap();
        assert_eq!(found.name(), name);
        assert_eq!(PreTokenizer::from_pattern(found.pattern().unwrap()).unwrap(), found);
        assert_eq!(PreTokenizer::from_oniguruma_pattern(found.pattern().unwrap()).unwrap(), found);
    }
    let error = PreTokenizer::from_oniguruma_pattern(r"\p{N}{1,3}+|\s").unwrap_err().to_string();
    assert!(error.contains("repeated group"), "{error}");
    assert_eq!(PreTokenizer::from_pattern("a|b").unwrap().pattern(), Some("a|b"));
    assert_eq!(PreTokenizer::Bert.pattern(), None);
    assert!(PreTokenizer::Gpt2 { add_prefix_space: true }.pattern().unwrap().starts_with("'s|"));
}

#[test]
fn patterns_of_users() {
    for (pattern, look_around, text, expected) in [
        (r"\d+", false, "a12b3", &["a", "12", "b", "3"][..]),
        (r"x*", false, "axxb", &["a", "xx", "b"]),
        (r"(?=b)", true, "abab", &["a", "ba", "b"]),
        (r"\s+(?!\S)|\s", true, "a   b", &["a", "  ", " ", "b"]),
        (r"z", false, "ab", &["ab"]),
        (r"z", false, "", &[]),
    ] {
        let pre_tokenizer = PreTokenizer::Regex(SplitPattern::new(pattern, look_around).unwrap());
        let found: Vec<_> = split(&pre_tokenizer, text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected, "{pattern} on {text:?}");
        assert_eq!(pre_tokenizer.safe_cut(text, text.len()), None);
        assert_eq!(pre_tokenizer.clone(), pre_tokenizer);
    }
    let opt_in = SplitPattern::new(r"a(?!b)", false).unwrap_err().to_string();
    assert!(opt_in.contains("look_around"), "{opt_in}");
    let broken = SplitPattern::new("a(", false).unwrap_err().to_string();
    assert!(broken.contains("does not compile") && !broken.contains("look_around"), "{broken}");
    let runaway = PreTokenizer::Regex(SplitPattern::new(r"(?:a|a)*(?!\w)b\1?()", true).unwrap());
    let error = runaway.split(&"a".repeat(40)).unwrap_err();
    assert!(matches!(error, Error::Pattern { .. }) && error.to_string().contains("backtracked"), "{error}");
}

#[test]
fn an_error_ends_the_split() {
    for name in PreTokenizer::names() {
        let mut calls = 0;
        let result = PreTokenizer::from_name(name).unwrap().for_each_piece("a b c", |_| {
            calls += 1;
            Err(Error::Cancelled)
        });
        assert!(matches!(result, Err(Error::Cancelled)) && calls == 1, "{name}");
    }
}

#[test]
fn rewriting() {
    for (name, section, at_start, expected) in [
        ("metaspace", "Hello  world ", true, "▁Hello▁▁world▁"),
        ("metaspace", "a b", false, "▁a▁b"),
        ("metaspace", " a", true, "▁a"),
        ("metaspace", "▁a", true, "▁a"),
        ("metaspace", "\na", true, "▁\na"),
        ("metaspace", "", true, ""),
        ("metaspace-first", "a b", true, "▁a▁b"),
        ("metaspace-first", "a b", false, "a▁b"),
        ("metaspace-never", "a b", true, "a▁b"),
        ("metaspace-never-unsplit", " ", true, "▁"),
        ("gpt2-prefix-space", "a", false, " a"),
        ("gpt2-prefix-space", " a", true, " a"),
        ("gpt2-prefix-space", "\ta", true, " \ta"),
        ("gpt2-prefix-space", "", true, ""),
        ("gpt2", "a", true, "a"),
    ] {
        let rewritten: Option<Aligned> = PreTokenizer::from_name(name).unwrap().rewrite(section, at_start);
        let text = rewritten.as_ref().map_or(section, |aligned| aligned.text.as_str());
        assert_eq!(text, expected, "{name} on {section:?}");
        assert_eq!(rewritten.is_some(), section != expected, "{name} on {section:?}");
    }
    let aligned: Aligned = PreTokenizer::from_name("metaspace").unwrap().rewrite("a b", true).unwrap();
    for (new, old) in [(0..3, 0..0), (0..4, 0..1), (4..8, 1..3)] {
        assert_eq!(aligned.to_original(new.clone()), old, "{new:?}");
    }
}
