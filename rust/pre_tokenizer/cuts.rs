//! Where a text may be cut into two texts that are split separately: between two characters for
//! which the family of the pre-tokenizer proves, in its file, that a piece ends there.

use super::deepseek::DeepSeek;
use super::families::Family;
use super::{PreTokenizer, superwords, unicode_scripts};
use crate::text::unicode::{flag, flags};

/// How far [`PreTokenizer::safe_cut`] looks back, in bytes.
pub(crate) const LOOK_BACK: usize = 64 << 10;

impl PreTokenizer {
    /// The last offset at or before `near` where the text may be cut into two texts that are split
    /// separately.
    ///
    /// The pieces of `text[..cut]` and of `text[cut..]` together are the pieces of `text`, and the
    /// same holds for any longer text that begins with `text[..=cut]`. Each family proves this for
    /// its `cut_between`, which sees the two characters around the cut. The search goes back 64
    /// KiB. Returns `None` if it finds no cut, and always for [`PreTokenizer::Bytes`],
    /// [`PreTokenizer::Regex`] and other variants without a rule.
    pub fn safe_cut(&self, text: &str, near: usize) -> Option<usize> {
        match self {
            Self::Regex(_) | Self::Split(_) | Self::Sequence { .. } | Self::Within { .. } => None,
            _ if !self.has_cut_rule() => None,
            _ => last_cut(text, near, |before, after| self.cuts_between(before, after)),
        }
    }

    /// Whether a text may be cut between these two characters, in any context.
    ///
    /// Of several splitters one must cut there, and those before it must leave the place inside a piece
    /// ([`PreTokenizer::leaves_between`]): then it sees the two sides in one piece or in two, and cuts them alike.
    pub(crate) fn cuts_between(&self, before: char, after: char) -> bool {
        match self {
            Self::Sequence { steps } if !DeepSeek::is(steps) => steps
                .iter()
                .find(|step| !step.leaves_between(before, after))
                .is_some_and(|step| step.cuts_between(before, after)),
            Self::Within { outer, .. } => outer.cuts_between(before, after),
            Self::Split(split) => split.cuts_between(before, after),
            Self::UnicodeScripts => unicode_scripts::cut_between(before, after),
            Self::Superwords { pieces } => {
                let inner = |before, after| pieces.pre_tokenizer().cuts_between(before, after);
                match pieces.crosses_lines() {
                    false => superwords::cut_between(inner, before, after),
                    true => superwords::cut_between_across_lines(inner, before, after),
                }
            }
            _ => Family::of(self).is_some_and(|family| family.cut_between(before, after)),
        }
    }

    /// Whether no piece ends between these two characters, in any context, and a cut there changes nothing
    /// but that the piece around it becomes two.
    fn leaves_between(&self, before: char, after: char) -> bool {
        let is_blank = |c| flags(c) & flag::SPACE != 0;
        match self {
            Self::Split(split) => split.leaves_between(before, after),
            // Their pieces are runs of a class or single characters, none of them white space.
            Self::Whitespace | Self::WhitespaceSplit | Self::Bert | Self::GoogleBert => {
                !is_blank(before) && !is_blank(after) && !self.cuts_between(before, after)
            }
            _ => false,
        }
    }

    /// Whether [`PreTokenizer::cuts_between`] can ever hold.
    pub(crate) fn has_cut_rule(&self) -> bool {
        match self {
            Self::Sequence { steps } => DeepSeek::is(steps) || steps.iter().any(Self::has_cut_rule),
            Self::Within { outer, .. } => outer.has_cut_rule(),
            Self::Split(split) => split.has_cut_rule(),
            Self::UnicodeScripts | Self::Superwords { .. } => true,
            _ => Family::of(self).is_some(),
        }
    }
}

/// The last offset at or before `near` that precedes a U+0020.
pub(crate) fn cut_before_blank(text: &str, near: usize) -> Option<usize> {
    last_cut(text, near, |_, after| after == ' ')
}

/// The last offset at or before `near`, and before the end, that is between two such characters.
fn last_cut(text: &str, near: usize, cut_between: impl Fn(char, char) -> bool) -> Option<usize> {
    let mut cut = near.min(text.len());
    let least = cut.saturating_sub(LOOK_BACK);
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    let mut after = text[cut..].chars().next();
    for before in text[..cut].chars().rev() {
        if cut < least {
            break;
        }
        if after.is_some_and(|after| cut_between(before, after)) {
            return Some(cut);
        }
        after = Some(before);
        cut -= before.len_utf8();
    }
    None
}
