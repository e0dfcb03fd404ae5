//! The vectorised splitters against the scalar rules, in every form this
//! machine runs: at all places of a window, and over its edges.

use sentitok::text::simd::Level;
use sentitok::{BpeTrainer, EncodeOptions, Pipeline, PreTokenizer, Progress, Tokenizer, WordCounts};

use super::nameless::nameless;
use super::{FULL, REPRESENTATIVES, Random, split_by};
use crate::With;

/// Stretches of running text, with the difficulties of each script.
const STRETCHES: [&str; 26] = [
    " the quick brown fox",
    " don't we'LL they'Re I'm",
    "It's the cat's, isn't it?",
    "    for (int i = 0; i < 10; ++i) {\n",
    "\t\t// ============\n\n",
    ";\n//x\n/\n/*y*/\n  \n",
    "  \r\n \r\n\t\n   x",
    "1234567890 12 3.14",
    "HTMLParser getElementById XMLHttpRequest",
    "“Quoted” — dash… café naïve ",
    "中文字符没有空格的长句子里面有很多很多字",
    "，。！？「」、",
    "日本語のひらがなとカタカナ、",
    "한국어 문장입니다. ",
    "Привет, как дела? ПРИВЕТ МирМир ",
    "Ελληνικά γράμματα ",
    "العربية مَعَ تَشْكِيل ١٢٣٤٥ ",
    "हिन्दी में लिखा हुआ १२३४ ",
    "ภาษาไทยไม่มีเว้นวรรค ",
    "e\u{301}A\u{301}B\u{301}b中Ab中aB ",
    "😀😃👩‍👩‍👧 ",
    "\u{3000}\u{A0}\u{2028}\u{85} \u{3000}\n\u{3000}",
    "'s'S'ſ'll''' 're'",
    "▁▁a▁b_c▁",
    "カ・カ゛ー  5 中5  中(é(a",
    "\u{1}\u{2}a\u{7F}b \u{200B}c\u{1}",
];

/// One pre-tokenizer for each way of splitting, those without a name among them.
fn splitters() -> Vec<(&'static str, PreTokenizer)> {
    super::splitters().into_iter().chain(nameless()).collect()
}

/// That all forms split alike, and as the scalar rule does.
fn all_agree(levels: &[Level], splitters: &[(&'static str, PreTokenizer)], text: &str) {
    for (name, pre_tokenizer) in splitters {
        let expected = split_by(pre_tokenizer, None, text);
        for &level in levels {
            let found = split_by(pre_tokenizer, Some(level), text);
            assert_eq!(found, expected, "{name} by {level:?} on {text:?}");
        }
    }
}

/// A text of stretches, parts of them, and representatives.
fn mixed(random: &mut Random, parts: usize) -> String {
    let mut text = String::new();
    for _ in 0..parts {
        let stretch = STRETCHES[random.below(STRETCHES.len())];
        match random.below(6) {
            0 => text.push_str(REPRESENTATIVES[random.below(REPRESENTATIVES.len())]),
            1 => {
                text.push_str(&REPRESENTATIVES[random.below(REPRESENTATIVES.len())].repeat(random.below(70)))
            }
            2 => text.push_str(stretch),
            _ => {
                let from = random.below(12);
                text.extend(stretch.chars().skip(from).take(1 + random.below(12)));
            }
        }
    }
    text
}

#[test]
fn there_is_a_portable_form() {
    let names: Vec<String> = Level::all().iter().map(|level| format!("{level:?}")).collect();
    assert!(names.iter().any(|name| name.contains("Portable")), "{names:?}");
    #[cfg(target_arch = "x86_64")]
    assert_eq!(names.iter().any(|name| name.contains("Avx2")), is_x86_feature_detected!("avx2"));
}

#[test]
fn at_every_place_of_a_window() {
    let (levels, splitters) = (Level::all(), splitters());
    for stretch in STRETCHES {
        // Letters before move the stretch, so that it lies over each edge.
        for before in 0..=64 {
            for fill in ["x", " ", "\n", "中", "."] {
                if !(FULL || fill == "x" || before % 7 == 0) {
                    continue;
                }
                let text = fill.repeat(before) + stretch;
                all_agree(&levels, &splitters, &text);
                all_agree(
                    &levels,
                    &splitters,
                    &(text.clone() + "tail of more than sixty-four bytes, ".repeat(3).as_str()),
                );
            }
        }
    }
}

#[test]
fn pieces_longer_than_windows() {
    let (levels, splitters) = (Level::all(), splitters());
    for before in ["", " ", "!\n", "==\n", "==\r\n/", "a'", "A", "a", "1", "\n", "\u{301}", "中A", "Aa中"] {
        for unit in [
            "/", "/\n", "=", "'", "a", "A", "é", "中", "ǅ", "\u{301}", "1", " ", "\u{3000}", "\n ", "。", "я",
        ] {
            for after in
                ["", "。", "=", "/", "a", "A", "中", "'s", "'", " ", "\n", "\u{301}", "1", " x", "'ll'"]
            {
                for n in if FULL { 10..140 } else { 61..68 } {
                    all_agree(&levels, &splitters, &format!("{before}{}{after} and more", unit.repeat(n)));
                }
            }
        }
    }
}

#[test]
fn every_tail() {
    let (levels, splitters) = (Level::all(), splitters());
    let text: String = STRETCHES.concat();
    for (end, _) in text.char_indices() {
        if FULL || end < 200 || end % 3 == 0 {
            all_agree(&levels, &splitters, &text[..end]);
        }
    }
}

/// A character that is cut short ends a text, wherever in a window, and the next one begins behind it.
#[test]
fn parts_of_characters_at_every_place_of_a_window() {
    let rewriting = |name: &str| name.starts_with("metaspace");
    for (name, pre_tokenizer) in splitters().into_iter().filter(|(name, _)| !rewriting(name)) {
        let counts = WordCounts::from_texts(&Pipeline::new(pre_tokenizer), STRETCHES).unwrap();
        let trainer = BpeTrainer::default().with(|it| it.vocab_size = 400);
        let tokenizer = Tokenizer::train_bpe(&trainer, &counts, &mut Progress::silent()).unwrap();
        let ids = |bytes: &[u8]| tokenizer.encode(bytes, EncodeOptions::default()).unwrap().ids;
        for character in ["é", "中", "😀"] {
            for part in (1..character.len()).map(|len| &character.as_bytes()[..len]) {
                let of_part = ids(part);
                assert!(!of_part.is_empty(), "{name} on {part:?}");
                for before in 0..=if FULL { 130 } else { 66 } {
                    let fills =
                        if FULL || before % 16 > 13 { &["x", " ", "中", "ab. "][..] } else { &["x"] };
                    for fill in fills {
                        for after in ["", " tail of more than sixty-four bytes, with a 中 in it, and an end."]
                        {
                            let text = fill.repeat(before);
                            // No byte behind the last one is ours to read.
                            let bytes = [text.as_bytes(), part, after.as_bytes()].concat().into_boxed_slice();
                            let expected =
                                [ids(text.as_bytes()), of_part.clone(), ids(after.as_bytes())].concat();
                            assert_eq!(ids(&bytes), expected, "{name} on {bytes:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn short_strings_in_long_texts() {
    let (levels, splitters) = (Level::all(), splitters());
    let mut strings = vec![String::new()];
    for _ in 0..if FULL { 4 } else { 2 } {
        strings =
            strings.iter().flat_map(|s| REPRESENTATIVES.iter().map(move |c| format!("{s}{c}"))).collect();
        // One after the other, each behind a word that ends all that was before.
        let text: String = strings.iter().flat_map(|s| [s.as_str(), " word\n.\n"]).collect();
        all_agree(&levels, &splitters, &text);
        let text: String = strings.iter().flat_map(|s| [s.as_str(), "a"]).collect();
        all_agree(&levels, &splitters, &text);
    }
}

#[test]
fn random_mixes_of_scripts() {
    let (levels, splitters) = (Level::all(), splitters());
    let mut random = Random(0x51D0);
    for round in 0..if FULL { 100_000 } else { 1_000 } {
        let text = mixed(&mut random, 1 + round % 40);
        all_agree(&levels, &splitters, &text);
    }
}

#[test]
fn chunks_end_anywhere() {
    let (levels, splitters) = (Level::all(), splitters());
    for unit in ["a ", ".", "1", "\n", "中", "中 ", "A", "▁", "aA", " a.\n", &"x".repeat(300)] {
        for n in [255, 256, 257, 1000] {
            all_agree(&levels, &splitters, &unit.repeat(n));
        }
    }
}
