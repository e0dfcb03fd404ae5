//! Decides whether normalization steps allow cutting a text at a split point, so that both parts
//! can be normalized separately. A split point is a single blank between words of ASCII letters and
//! digits.
//!
//! The right part begins with the blank. At least [`Surroundings::reach`] letters or digits must be
//! on each side of the blank. Steps may only replace them one by one, except for the outermost: a
//! step that looks beyond a character may consume one on each side. A step allows the cut if
//! normalizing the whole text equals normalizing both parts and joining the results. If that holds
//! only without what the step does at the ends of a text, the parts get a variant without it. Each
//! rule is proved next to its code. An unknown step allows no cut.

use super::charsmap::AsciiSet;
use super::{Form, Normalizer, SentencePiece, chars};
use crate::text::{SPACE_MARK, SPACE_MARK_STR};

/// The surroundings of a split point after some steps.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// The image of each ASCII letter or digit, one byte; `None` if it must not occur there.
    images: [Option<u8>; 128],
    /// The image of the blank: still a space, or `▁`.
    pub(crate) blank: char,
    /// How many letters or digits must be on each side, so that at least one survives all steps.
    pub(crate) reach: usize,
}

impl Surroundings {
    /// The start: any letters and digits around a blank.
    pub(crate) fn new() -> Self {
        let image = |byte: usize| Some(byte as u8).filter(u8::is_ascii_alphanumeric);
        Self { images: std::array::from_fn(image), blank: ' ', reach: 1 }
    }

    /// Keeps only the letters whose image satisfies `holds`.
    pub(crate) fn retain(&mut self, holds: impl Fn(u8) -> bool) {
        for image in &mut self.images {
            *image = image.filter(|&image| holds(image));
        }
    }

    /// The bytes that may be adjacent to the blank.
    pub(crate) fn letters(&self) -> AsciiSet {
        std::array::from_fn(|byte| self.images.get(byte).is_some_and(Option::is_some))
    }

    /// Records that a step replaces the blank by `content`; `None` if that is not a blank either.
    fn replace_blank(&mut self, content: &str) -> Option<()> {
        self.blank = match content {
            " " => ' ',
            SPACE_MARK_STR => SPACE_MARK,
            _ => return None,
        };
        Some(())
    }
}

/// The steps to apply to the parts of a text that is cut at split points.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartSteps {
    /// For the part at the start of the text.
    pub(crate) first: Vec<Normalizer>,
    /// For the parts in the middle.
    pub(crate) inner: Vec<Normalizer>,
    /// For the part at the end of the text.
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
    /// Appends this step, adapted to parts, to `parts`, and updates `window`: what the letters and
    /// the blank at a split point become. `None` if the step does not allow the cut.
    pub(crate) fn at_split_points(&self, window: &mut Surroundings, parts: &mut PartSteps) -> Option<()> {
        match self {
            Self::Sequence { normalizers } => {
                return normalizers.iter().try_for_each(|step| step.at_split_points(window, parts));
            }
            // No part is empty, because each contains the window. So only the first part gets the
            // prefix.
            Self::Prepend { .. } => {
                parts.first.push(self.clone());
                return Some(());
            }
            // Stripping stops before the letters of the window.
            Self::Strip { left, right } => {
                parts.first.push(Self::Strip { left: *left, right: false });
                parts.last.push(Self::Strip { left: false, right: *right });
                return Some(());
            }
            Self::SentencePiece(whole) => return sentencepiece_at_split_points(whole, window, parts),
            Self::Replace { pattern, content } => replace_at_split_points(pattern, content, window)?,
            // There is exactly one blank between two letters, so these patterns match that blank
            // alone or not at all.
            Self::ReplaceMatches { pattern, content } => match (pattern.pattern(), window.blank) {
                (" +", ' ') => window.replace_blank(content)?,
                (" +", _) | (" {2,}", _) => {}
                _ => return None,
            },
            // A letter before a blank, the blank, and a letter before a letter are each a grapheme,
            // which is looked up alone.
            Self::Precompiled(rules) => {
                let inert = rules.charsmap.inert();
                if window.blank != ' ' || !inert[usize::from(b' ')] {
                    return None;
                }
                window.retain(|image| inert[usize::from(image)]);
                window.reach += 1;
            }
            // ASCII and `▁` never change and never compose with a character before them.
            Self::Nfc | Self::Nfd | Self::Nfkc | Self::Nfkd => window.reach += 1,
            // These steps look at one character at a time.
            Self::StripAccents => {}
            Self::Lowercase => {
                for image in window.images.iter_mut().flatten() {
                    *image = image.to_ascii_lowercase();
                }
            }
            Self::Nmt => window.blank = ' ',
            // BERT has its own rules: see `Pipeline::safe_cut`.
            Self::Bert(_) | Self::GoogleBert(_) => return None,
        }
        parts.push_everywhere(self);
        Some(())
    }
}

impl Normalizer {
    /// Whether `c` is kept wherever a character follows that is kept too, and no step looks across
    /// it: the text before two of them and the text behind are normalized separately.
    pub(crate) fn keeps(&self, c: char) -> bool {
        match self {
            Self::Sequence { normalizers } => normalizers.iter().all(|step| step.keeps(c)),
            // No match holds the character.
            Self::Replace { pattern, .. } => !pattern.contains(c),
            // It composes with nothing before it, as the character behind it does not compose with it.
            Self::Nfc => Form::Nfc.keeps(c),
            Self::Nfd => Form::Nfd.keeps(c),
            Self::Nfkc => Form::Nfkc.keeps(c),
            Self::Nfkd => Form::Nfkd.keeps(c),
            Self::Lowercase => chars::keeps_case(c),
            Self::StripAccents => !chars::is_accent(c),
            // These look at the ends of a text, at patterns or at more than a character.
            Self::Prepend { .. } | Self::Strip { .. } | Self::ReplaceMatches { .. } | Self::Nmt => false,
            Self::SentencePiece(_) | Self::Precompiled(_) | Self::Bert(_) | Self::GoogleBert(_) => false,
        }
    }
}

/// Every match is on one side if the literal contains neither a letter of the window nor the blank.
fn replace_at_split_points(pattern: &str, content: &str, window: &mut Surroundings) -> Option<()> {
    let mut chars = pattern.chars();
    if chars.next() == Some(window.blank) && chars.clone().all(|c| c == window.blank) {
        // A pattern of several blanks never matches between two letters.
        return if chars.next().is_none() { window.replace_blank(content) } else { Some(()) };
    }
    let is_there = |c: char| c == window.blank || c.is_ascii_alphanumeric();
    (!pattern.contains(is_there)).then_some(())
}

/// A letter is copied, whatever precedes it, if no rule that begins with it may continue in ASCII
/// and no rule contains it after its first byte. After it the pass is in the state of
/// `Pass::inside`.
fn sentencepiece_at_split_points(
    whole: &SentencePiece,
    window: &mut Surroundings,
    parts: &mut PartSteps,
) -> Option<()> {
    if window.blank != ' ' || !whole.keeps_spaces() {
        return None;
    }
    let copied = whole.always_copied();
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
    fn steps_allow_cuts_only_where_both_sides_are_independent() {
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
    fn only_the_end_parts_get_steps_at_the_ends() {
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
