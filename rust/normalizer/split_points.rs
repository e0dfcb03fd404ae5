//! What steps do around a split point: a single blank between words of ASCII letters and
//! digits, where a text is cut in two that are normalized apart.
//!
//! The right part begins with the blank. On each side of it stand [`Surroundings::reach`]
//! letters or digits; what steps do to them is put one in the place of another, but
//! for the outermost: a step that looks beyond a character may take one on each side.
//! A step allows the cut if what it makes of the text is what it makes of the left part
//! and of the right one, one after the other; if it does so only without what it does at
//! the ends of a text, the parts get it without that. Each rule is proved where it
//! stands. What nothing is known of allows no cut.

use super::charsmap::AsciiSet;
use super::{Normalizer, SentencePiece};
use crate::text::{SPACE_MARK, SPACE_MARK_STR};

/// What stands around a split point after some steps.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// What each ASCII letter or digit has become, which is one; `None`: it may not
    /// stand there.
    images: [Option<u8>; 128],
    /// What the blank has become: itself, or `▁`.
    pub(crate) blank: char,
    /// How many letters or digits must stand on each side, so that one is left.
    pub(crate) reach: usize,
}

impl Surroundings {
    /// Any letters and digits, and a blank.
    pub(crate) fn new() -> Self {
        let image = |byte: usize| Some(byte as u8).filter(u8::is_ascii_alphanumeric);
        Self { images: std::array::from_fn(image), blank: ' ', reach: 1 }
    }

    /// Leaves only those whose image holds.
    pub(crate) fn retain(&mut self, holds: impl Fn(u8) -> bool) {
        for image in &mut self.images {
            *image = image.filter(|&image| holds(image));
        }
    }

    /// The bytes that may stand beside the blank.
    pub(crate) fn letters(&self) -> AsciiSet {
        std::array::from_fn(|byte| self.images.get(byte).is_some_and(Option::is_some))
    }

    /// Takes note that a step puts `content` instead of the blank; `None` where that
    /// is not a blank.
    fn replace_blank(&mut self, content: &str) -> Option<()> {
        self.blank = match content {
            " " => ' ',
            SPACE_MARK_STR => SPACE_MARK,
            _ => return None,
        };
        Some(())
    }
}

/// Steps as they act on the parts of a text that is cut at split points.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartSteps {
    /// On the part with which the text begins.
    pub(crate) first: Vec<Normalizer>,
    /// On those with neither end of the text.
    pub(crate) inner: Vec<Normalizer>,
    /// On that with which it ends.
    pub(crate) last: Vec<Normalizer>,
}

impl PartSteps {
    fn push_everywhere(&mut self, step: &Normalizer) {
        for steps in [&mut self.first, &mut self.inner, &mut self.last] {
            steps.push(step.clone());
        }
    }
}

impl Normalizer {
    /// Appends what this does to the parts of a text that is cut at split points, and leaves in
    /// `window` what has become of the letters beside one and of the blank. `None` where
    /// a text may not be cut so.
    pub(crate) fn at_split_points(&self, window: &mut Surroundings, parts: &mut PartSteps) -> Option<()> {
        match self {
            Self::Sequence { normalizers } => {
                return normalizers.iter().try_for_each(|step| step.at_split_points(window, parts));
            }
            // No part is empty: the window is in it.
            Self::Prepend { .. } => {
                parts.first.push(self.clone());
                return Some(());
            }
            // It stops before the letters of the window.
            Self::Strip { left, right } => {
                parts.first.push(Self::Strip { left: *left, right: false });
                parts.last.push(Self::Strip { left: false, right: *right });
                return Some(());
            }
            Self::SentencePiece(whole) => return sentencepiece_at_split_points(whole, window, parts),
            Self::Replace { pattern, content } => replace_at_split_points(pattern, content, window)?,
            // Between a letter and a letter stands one blank; so these match it alone, or not.
            Self::ReplaceMatches { pattern, content } => match (pattern.pattern(), window.blank) {
                (" +", ' ') => window.replace_blank(content)?,
                (" +", _) | (" {2,}", _) => {}
                _ => return None,
            },
            // A letter before a blank, the blank, and a letter before a letter are graphemes
            // of their own, each looked up by itself.
            Self::Precompiled(rules) => {
                let inert = rules.charsmap.inert();
                if window.blank != ' ' || !inert[usize::from(b' ')] {
                    return None;
                }
                window.retain(|image| inert[usize::from(image)]);
                window.reach += 1;
            }
            // ASCII and `▁` stay what they are, and join nothing that stands before them.
            Self::Nfc | Self::Nfd | Self::Nfkc | Self::Nfkd => window.reach += 1,
            // These look at one character at a time.
            Self::StripAccents => {}
            Self::Lowercase => {
                for image in window.images.iter_mut().flatten() {
                    *image = image.to_ascii_lowercase();
                }
            }
            Self::Nmt => window.blank = ' ',
            // BERT's has rules of its own: see `Pipeline::safe_cut`.
            Self::Bert(_) | Self::GoogleBert(_) => return None,
        }
        parts.push_everywhere(self);
        Some(())
    }
}

/// Matches of a literal lie on one side if none holds a letter of the window or the blank.
fn replace_at_split_points(pattern: &str, content: &str, window: &mut Surroundings) -> Option<()> {
    let mut chars = pattern.chars();
    if chars.next() == Some(window.blank) && chars.clone().all(|c| c == window.blank) {
        // Of more than one blank none matches between two letters.
        return if chars.next().is_none() { window.replace_blank(content) } else { Some(()) };
    }
    let is_there = |c: char| c == window.blank || c.is_ascii_alphanumeric();
    (!pattern.contains(is_there)).then_some(())
}

/// A letter that begins no rule which ASCII may continue and stands inside none is copied
/// by itself, whatever was before it; the pass is then where `SentencePiece::inside` begins.
fn sentencepiece_at_split_points(
    whole: &SentencePiece,
    window: &mut Surroundings,
    parts: &mut PartSteps,
) -> Option<()> {
    if window.blank != ' ' || !whole.keeps_spaces() {
        return None;
    }
    let copied = whole.copied_by_themselves();
    window.retain(|image| copied[usize::from(image)]);
    window.replace_blank(whole.mark())?;
    window.reach += 1;
    let part = |begins, ends| Normalizer::SentencePiece(Box::new(whole.part(begins, ends)));
    parts.first.push(part(true, false));
    parts.inner.push(part(false, false));
    parts.last.push(part(false, true));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::Matches;
    use super::*;

    fn replace(pattern: &str, content: &str) -> Normalizer {
        Normalizer::Replace { pattern: pattern.into(), content: content.into() }
    }

    fn matches(pattern: &str, content: &str) -> Normalizer {
        Normalizer::ReplaceMatches { pattern: Matches::new(pattern).unwrap(), content: content.into() }
    }

    #[test]
    fn a_step_says_whether_it_acts_on_each_side_alone() {
        let cases = [
            (replace(" ", "▁"), Some('▁')),
            (replace("  ", "x"), Some(' ')),
            (replace("``", "\""), Some(' ')),
            (replace(" ", ""), None),
            (replace(" ", "x"), None),
            (replace("a", "b"), None),
            (replace(", ", "b"), None),
            (replace("▁", "b"), Some(' ')),
            (matches(" {2,}", "▁"), Some(' ')),
            (matches(" +", "▁"), Some('▁')),
            (matches(r"\s+", " "), None),
            (Normalizer::Nfkc, Some(' ')),
            (Normalizer::Sequence { normalizers: vec![replace(" ", "▁"), Normalizer::Nmt] }, Some(' ')),
            (Normalizer::Sequence { normalizers: vec![replace(" ", "▁"), replace("▁▁", "")] }, Some('▁')),
            (Normalizer::Sequence { normalizers: vec![replace(" ", "▁"), replace("▁", "")] }, None),
        ];
        for (step, blank) in cases {
            let mut window = Surroundings::new();
            let found = step.at_split_points(&mut window, &mut PartSteps::default());
            assert_eq!(found.map(|()| window.blank), blank, "{step:?}");
        }
    }

    #[test]
    fn ends_are_those_of_the_text() {
        let steps = vec![
            Normalizer::Prepend { prepend: "▁".into() },
            Normalizer::Lowercase,
            Normalizer::Strip { left: true, right: true },
        ];
        let (mut window, mut parts) = (Surroundings::new(), PartSteps::default());
        Normalizer::Sequence { normalizers: steps }.at_split_points(&mut window, &mut parts).unwrap();
        let lengths = [&parts.first, &parts.inner, &parts.last].map(Vec::len);
        assert_eq!(lengths, [3, 1, 2]);
        assert_eq!(window.images[usize::from(b'A')], Some(b'a'));
        assert!(!window.letters()[usize::from(b' ')] && window.letters()[usize::from(b'A')]);
    }
}
