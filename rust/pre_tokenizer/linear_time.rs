//! Tests that splitting takes linear time. They count steps, so they do not depend on the speed of
//! the machine.

use super::PreTokenizer;
use crate::step_counter;
use crate::text::simd::Level;

/// The strings that test texts repeat, alone or two alternately.
const UNITS: [&str; 18] = [
    " ",
    "\n",
    "\n ",
    "a",
    "A",
    "Aa",
    "中",
    "中A",
    "\u{301}",
    "\u{301}A",
    "1",
    "!",
    "'",
    "'s",
    "!\n",
    "\t\u{301}",
    "▁",
    "😀",
];

/// The steps of splitting about `len` bytes of one text.
fn steps_of(pre_tokenizer: &PreTokenizer, form: Option<Level>, unit: &str, tail: &str, len: usize) -> u64 {
    let text = unit.repeat(len / unit.len()) + tail;
    let mut covered = 0;
    let steps = step_counter::of(|| {
        let result = pre_tokenizer.for_each_piece_by(form, &text, |piece| {
            covered += piece.len();
            Ok(())
        });
        result.unwrap();
    });
    assert!(covered <= text.len());
    steps
}

#[test]
fn twice_the_text_takes_twice_the_steps() {
    const LEN: usize = 1 << 11;
    let forms: Vec<Option<Level>> = std::iter::once(None).chain(Level::all().into_iter().map(Some)).collect();
    for name in PreTokenizer::names() {
        let pre_tokenizer = PreTokenizer::from_name(name).unwrap();
        if pre_tokenizer == PreTokenizer::Bytes || name.ends_with("unsplit") {
            continue; // no step is counted
        }
        for &form in &forms {
            for unit in UNITS {
                for tail in ["", "x", " ", "\n"] {
                    let [one, two, four] =
                        [1, 2, 4].map(|n| steps_of(&pre_tokenizer, form, unit, tail, n * LEN));
                    let what = format!("{name} by {form:?} on {unit:?} and {tail:?}: {one}, {two}, {four}");
                    // Each byte is in a window at least, so a lower count would mean that the text
                    // was not read.
                    assert!(one as usize >= LEN / 64, "{what}");
                    assert!(10 * two <= 22 * one && 10 * four <= 22 * two, "{what}");
                }
            }
        }
    }
}

/// Step counts reveal a rule that looks back to the start at each position.
#[test]
fn a_quadratic_rule_is_seen() {
    let quadratic =
        |len: usize| step_counter::of(|| (0..len).for_each(|at| (0..at).for_each(|_| step_counter::step())));
    assert!(10 * quadratic(256) > 22 * quadratic(128));
}
