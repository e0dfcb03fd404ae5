//! `Rules`: which characters may be combined in a piece.
//!
//! These are the rules of SentencePiece's trainer, as its options define them: a piece has one
//! script (Hiragana, Katakana and Han count as one; marks take the script of the character before
//! them), spaces only at the start or only at the end, and digits possibly alone. A pair of
//! characters that no piece may contain is where `segments` cuts words, which makes training fast.

use super::PieceOptions;
use crate::text::SPACE_MARK;
use crate::text::unicode::{self, Script};

/// The class of a character for the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// U+2581, which represents a space.
    Space,
    /// A decimal digit, ASCII or full-width.
    Digit,
    /// A mark, which takes the script of its base character.
    Mark,
    /// Any other character, with its script.
    Of(Script),
}

impl Class {
    pub(crate) fn of(c: char) -> Self {
        match c {
            SPACE_MARK => Self::Space,
            '0'..='9' | '０'..='９' => Self::Digit,
            // The long vowel sign is of script Common.
            'ー' => Self::Of(Script::HAN),
            _ => match unicode::script(c) {
                Script::INHERITED => Self::Mark,
                Script::HIRAGANA | Script::KATAKANA => Self::Of(Script::HAN),
                script => Self::Of(script),
            },
        }
    }
}

/// The script that the characters so far require of the next one; `None` allows any.
type Demand = Option<Script>;

/// The properties of a piece that decide what it may be combined with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    length: usize,
    n_spaces: usize,
    begins_in_space: bool,
    ends_in_space: bool,
    has_digit: bool,
    /// The script of its first character that has one, and the script required of the next
    /// character; `None` if all are spaces and marks.
    scripts: Option<(Demand, Demand)>,
}

/// Decides which characters may be combined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    by_script: bool,
    by_number: bool,
    by_whitespace: bool,
    digits_alone: bool,
    /// Whether spaces are at the end of pieces instead of the start.
    behind: bool,
    /// Whether a piece may consist of spaces only.
    spaces_alone: bool,
    /// The maximum number of characters in a piece.
    pub(crate) max_length: usize,
}

impl Rules {
    pub(crate) fn of(options: &PieceOptions) -> Self {
        Self {
            by_script: options.split_by_unicode_script,
            by_number: options.split_by_number,
            by_whitespace: options.split_by_whitespace,
            digits_alone: options.split_digits,
            behind: options.treat_whitespace_as_suffix,
            spaces_alone: options.allow_whitespace_only_pieces,
            max_length: options.max_piece_length,
        }
    }

    /// Whether some piece may contain these two characters in this order.
    pub(crate) fn together(&self, left: Class, right: Class) -> bool {
        if self.digits_alone && (left == Class::Digit || right == Class::Digit) {
            return false;
        }
        match (left, right) {
            (Class::Space, Class::Space) if self.spaces_alone => true,
            (Class::Space, _) if self.behind => !self.by_whitespace,
            (_, Class::Space) if !self.behind => !self.by_whitespace,
            (Class::Space, _) | (_, Class::Space) => true,
            _ => self.next(None, left).and_then(|demand| self.next(demand, right)).is_some(),
        }
    }

    /// Whether these characters may form a piece of two or more.
    pub(crate) fn allow(&self, classes: impl ExactSizeIterator<Item = Class> + Clone) -> bool {
        let last = classes.len().saturating_sub(1);
        let is_of_spaces = self.spaces_alone && classes.clone().all(|class| class == Class::Space);
        // The end where a space belongs, and the end where it is not allowed.
        let (own, other) = if self.behind { (last, 0) } else { (0, last) };
        let mut demand = None;
        for (at, class) in classes.enumerate() {
            match class {
                Class::Space if is_of_spaces || at == own => (),
                Class::Space if self.by_whitespace || at == other => return false,
                Class::Space => (),
                Class::Digit if self.digits_alone => return false,
                _ => match self.next(demand, class) {
                    Some(next) => demand = next,
                    None => return false,
                },
            }
        }
        last < self.max_length
    }

    /// The shape of an allowed piece or of a single character.
    pub(crate) fn shape(&self, classes: impl Iterator<Item = Class>) -> Shape {
        let mut shape = Shape {
            length: 0,
            n_spaces: 0,
            begins_in_space: false,
            ends_in_space: false,
            has_digit: false,
            scripts: None,
        };
        for class in classes {
            shape.begins_in_space |= shape.length == 0 && class == Class::Space;
            shape.length += 1;
            shape.n_spaces += usize::from(class == Class::Space);
            shape.ends_in_space = class == Class::Space;
            shape.has_digit |= class == Class::Digit;
            if let Class::Digit | Class::Of(_) = class {
                let script = self.next(None, class).flatten();
                shape.scripts = Some((shape.scripts.map_or(script, |(first, _)| first), script));
            }
        }
        shape
    }

    /// Whether two pieces of these shapes may be joined; equals [`Rules::allow`] for their
    /// characters.
    #[inline]
    pub(crate) fn join(&self, left: Shape, right: Shape) -> bool {
        // The part that may contain a space at its own end, and the other part.
        let (own, other) = if self.behind { (right, left) } else { (left, right) };
        let other_end = if self.behind { other.begins_in_space } else { other.ends_in_space };
        let is_of_spaces = |part: Shape| part.n_spaces == part.length;
        let misplaced = match self.by_whitespace {
            true => other.n_spaces > 0 || own.n_spaces > 1,
            false => other_end,
        };
        let has_inner_space = misplaced && !(self.spaces_alone && is_of_spaces(left) && is_of_spaces(right));
        let digits = self.digits_alone && (left.has_digit || right.has_digit);
        let scripts = match (left.scripts, right.scripts) {
            (Some((_, demand)), Some((first, _))) => {
                !self.by_script || demand.is_none() || first.is_none() || demand == first
            }
            _ => true,
        };
        !has_inner_space && !digits && scripts && left.length + right.length <= self.max_length
    }

    /// The script required after a character; `None` if the character does not meet `demand`.
    fn next(&self, demand: Demand, class: Class) -> Option<Demand> {
        let script = match class {
            Class::Space => return Some(demand),
            Class::Mark => demand,
            Class::Digit if !self.by_number => None,
            Class::Digit => Some(Script::COMMON),
            Class::Of(script) => Some(script),
        };
        let fits = !self.by_script || script.is_none() || demand.is_none() || script == demand;
        fits.then_some(script)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn joining_shapes_equals_allowing_pieces(
            left in "[▁a1.中я\u{301}]{1,6}|▁{1,4}|[▁a]{1,4}",
            right in "[▁a1.中я\u{301}]{1,6}|▁{1,4}|[▁a]{1,4}",
            flags: [bool; 6],
        ) {
            let rules = Rules {
                by_script: flags[0],
                by_number: flags[1],
                by_whitespace: flags[2],
                digits_alone: flags[3],
                behind: flags[4],
                spaces_alone: flags[5],
                max_length: 8,
            };
            let classes = |text: &str| text.chars().map(Class::of).collect::<Vec<_>>();
            let is_piece = |classes: &[Class]| classes.len() == 1 || rules.allow(classes.iter().copied());
            let (left, right) = (classes(&left), classes(&right));
            prop_assume!(is_piece(&left) && is_piece(&right));
            let shape = |classes: &[Class]| rules.shape(classes.iter().copied());
            let both = [&left[..], &right[..]].concat();
            prop_assert_eq!(rules.join(shape(&left), shape(&right)), rules.allow(both.iter().copied()));
            let pairs = both.windows(2).all(|pair| rules.together(pair[0], pair[1]));
            prop_assert!(pairs || !rules.allow(both.iter().copied()));
        }
    }

    #[test]
    fn rules_allow_the_expected_pieces() {
        let plain = PieceOptions::default;
        let options = [
            ("default", plain()),
            ("number", PieceOptions { split_by_number: false, ..plain() }),
            ("script", PieceOptions { split_by_unicode_script: false, ..plain() }),
            ("space", PieceOptions { split_by_whitespace: false, ..plain() }),
            ("digits", PieceOptions { split_digits: true, ..plain() }),
            ("suffix", PieceOptions { treat_whitespace_as_suffix: true, ..plain() }),
            ("runs", PieceOptions { allow_whitespace_only_pieces: true, ..plain() }),
        ];
        // For each piece, the options that allow it.
        for (piece, allowed) in [
            ("the", "default number script space digits runs suffix"),
            ("▁the", "default number script space digits runs"),
            ("a.", "script"),
            ("a1", "number script"),
            ("▁1", "default number script space runs"),
            ("12", "default number script space runs suffix"),
            ("１2.", "default number script space runs suffix"),
            ("a1я", "number script"),
            ("a▁b", "space"),
            ("a▁я", ""),
            ("ab▁", "suffix"),
            ("▁▁", "runs"),
            ("カーの中", "default number script space digits runs suffix"),
            ("中a", "script"),
            ("e\u{301}f", "default number script space digits runs suffix"),
            ("e\u{301}я", "script"),
            ("\u{301}я", "default number script space digits runs suffix"),
            ("abcdefghijklmnop", "default number script space digits runs suffix"),
            ("abcdefghijklmnopq", ""),
        ] {
            for (name, options) in &options {
                let rules = Rules::of(options);
                let classes: Vec<Class> = piece.chars().map(Class::of).collect();
                let expected = allowed.split(' ').any(|allowed| allowed == *name);
                assert_eq!(rules.allow(classes.iter().copied()), expected, "{piece} with {name}");
                if expected {
                    let together = classes.windows(2).all(|pair| rules.together(pair[0], pair[1]));
                    assert!(together, "{piece} with {name}");
                }
            }
        }
    }
}
