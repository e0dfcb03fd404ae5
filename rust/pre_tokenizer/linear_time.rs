//! Tests that splitting takes linear time: they count steps, so a busy machine changes nothing.

use super::PreTokenizer;
use crate::step_counter;
use crate::text::simd::Level;

/// What runs of one sort, and of two alternately, are made of.
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
            continue; // nothing is looked at
        }
        for &form in &forms {
            for unit in UNITS {
                for tail in ["", "x", " ", "\n"] {
                    let [one, two, four] =
                        [1, 2, 4].map(|n| steps_of(&pre_tokenizer, form, unit, tail, n * LEN));
                    let what = format!("{name} by {form:?} on {unit:?} and {tail:?}: {one}, {two}, {four}");
                    // Each byte was seen in a window at least, so the steps are those of the text.
                    assert!(one as usize >= LEN / 64, "{what}");
                    assert!(10 * two <= 22 * one && 10 * four <= 22 * two, "{what}");
                }
            }
        }
    }
}

/// Counting finds a rule that looks back to the start at each place.
#[test]
fn a_quadratic_rule_is_seen() {
    let quadratic =
        |len: usize| step_counter::of(|| (0..len).for_each(|at| (0..at).for_each(|_| step_counter::step())));
    assert!(10 * quadratic(256) > 22 * quadratic(128));
}
