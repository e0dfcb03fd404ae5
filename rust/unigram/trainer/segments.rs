//! `Segments`: counted pieces of text, cut where no piece may stand across.
//!
//! Words fall apart at characters outside the alphabet, at the text of special
//! tokens, and between two characters that [`Rules`] never let stand together:
//! `▁movie,` is `▁movie` and `,`. A segmentation of a word is then one of each
//! part, so the likelihood is a product and nothing is lost, while far fewer
//! distinct strings remain to be counted, searched and segmented again.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;
use rustc_hash::FxHashMap;

use super::rules::{Class, Rules};
use super::{Method, UnigramTrainer};
use crate::automaton::leftmost_longest;
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};
use crate::word_counts::LINE_END;

/// Pieces read between two looks at the clock.
const TICK: usize = 1 << 12;

/// What follows a segment wherever it stands, as [`Method`] tells things apart.
pub(crate) type Follower = u32;
/// Different things follow.
pub(crate) const MANY: Follower = 0;
/// U+2581, the space that begins the next word, as its first byte; and that of
/// U+2585, which SentencePiece writes for characters outside the alphabet.
const SPACE: Follower = 0xE2;
/// What SentencePiece puts in the place of special tokens; where a line ends it
/// is another character, which is in no piece either.
const SEPARATOR: Follower = 0x1F;

impl Method {
    /// What tells a character from others that may follow in its place.
    pub(crate) fn follower(self, c: u32) -> Follower {
        match (self, c) {
            (Self::Full, _) | (_, 0..0x80) => c,
            (_, 0x80..0x800) => 0xC0 | c >> 6,
            (_, 0x800..0x1_0000) => 0xE0 | c >> 12,
            _ => 0xF0 | c >> 18,
        }
    }

    /// What follows a word, or the part of one before a special token.
    fn after_part(self, is_word_end: bool) -> Follower {
        match self {
            Self::Full => MANY,
            Self::SentencePiece if is_word_end => SPACE,
            Self::SentencePiece => SEPARATOR,
        }
    }
}

/// The characters of the corpus.
pub(crate) struct Alphabet {
    /// Those in the vocabulary with their counts, the most frequent first, of
    /// equal counts the lesser code points.
    pub(crate) required: Vec<(char, u64)>,
    /// Those left out, in the same order.
    pub(crate) dropped: Vec<(char, u64)>,
    classes: FxHashMap<char, Class>,
    /// The same for ASCII.
    ascii: [Option<Class>; 128],
}

impl Alphabet {
    /// Counts characters and keeps what `character_coverage` asks for.
    pub(crate) fn of(options: &UnigramTrainer, words: &Words<'_>, progress: &mut Progress) -> Result<Self> {
        let mut counts = words.characters(progress)?;
        if options.method == Method::SentencePiece {
            counts.remove(&LINE_END);
        }
        let specials: BTreeSet<&str> = options.special_tokens.iter().map(|token| token.0.as_str()).collect();
        let mut buffer = [0; 4];
        let mut total = 0_u64;
        for (_, count) in counts.iter().filter(|seen| *seen.0 != '\0') {
            let overflow = || Error::CountOverflow { what: "all characters".to_owned() };
            total = total.checked_add(*count).ok_or_else(overflow)?;
        }
        let asked: BTreeSet<char> = options
            .required_chars
            .iter()
            .copied()
            .filter(|c| !specials.contains(&*c.encode_utf8(&mut buffer)))
            .collect();
        let mut covered: u64 = asked.iter().filter_map(|c| counts.get(c)).sum();
        let mut required: Vec<(char, u64)> =
            asked.iter().map(|&c| (c, counts.remove(&c).unwrap_or(0))).collect();
        let mut dropped: Vec<(char, u64)> = counts.into_iter().collect();
        dropped.sort_unstable_by_key(|&(c, count)| (c == '\0', Reverse(count), c));
        // NUL ends a string in the files of others, so no piece may hold it.
        let n_kept = dropped
            .iter()
            .take_while(|&&(c, count)| {
                let is_kept = (covered as f64) < options.character_coverage * total as f64 && c != '\0';
                covered += count;
                is_kept
            })
            .count();
        required.extend(dropped.drain(..n_kept));
        required.sort_unstable_by_key(|&(c, count)| (Reverse(count), c));
        let classes: FxHashMap<char, Class> = required.iter().map(|&(c, _)| (c, Class::of(c))).collect();
        let ascii = std::array::from_fn(|byte| classes.get(&char::from(byte as u8)).copied());
        Ok(Self { required, dropped, classes, ascii })
    }

    /// The class of a character, `None` for one outside the alphabet.
    #[inline]
    pub(crate) fn class(&self, c: char) -> Option<Class> {
        match self.ascii.get(c as usize) {
            Some(class) => *class,
            None => self.classes.get(&c).copied(),
        }
    }
}

/// Counted words as text, with special tokens cut out.
pub(crate) struct Words<'a> {
    words: Vec<(&'a str, u64)>,
    specials: Option<AhoCorasick>,
}

impl<'a> Words<'a> {
    pub(crate) fn new(
        options: &UnigramTrainer,
        pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
    ) -> Result<Self> {
        let utf8 = |(piece, count): (&'a [u8], u64)| match std::str::from_utf8(piece) {
            Ok(word) => Ok((word, count)),
            Err(_) => Err(Error::Option {
                option: "pieces",
                value: format!("{:?}", String::from_utf8_lossy(piece)),
                reason: "what is made of characters cannot be trained on a piece that is not UTF-8; replace \
                         invalid bytes while reading"
                    .to_owned(),
            }),
        };
        let words = pieces.into_iter().filter(|piece| piece.1 > 0).map(utf8).collect::<Result<_>>()?;
        let texts: Vec<String> = options.special_texts().collect();
        let specials = match texts.is_empty() {
            true => None,
            false => Some(
                leftmost_longest(&texts)
                    .map_err(|error| Error::Internal(format!("automaton of special tokens: {error}")))?,
            ),
        };
        Ok(Self { words, specials })
    }

    /// Calls `f` with each part of a word between special tokens, and whether it
    /// ends the word.
    fn parts(&self, word: &'a str, mut f: impl FnMut(&'a str, bool)) {
        let mut start = 0;
        for found in self.specials.iter().flat_map(|specials| specials.find_iter(word)) {
            f(&word[start..found.start()], false);
            start = found.end();
        }
        f(&word[start..], true);
    }

    fn characters(&self, progress: &mut Progress) -> Result<FxHashMap<char, u64>> {
        let mut counts: FxHashMap<char, u64> = FxHashMap::default();
        let mut ascii = [0_u64; 128];
        for (at, &(word, count)) in self.words.iter().enumerate() {
            if at % TICK == 0 {
                progress.tick(Stage::Seed, 0, 0)?;
            }
            let mut overflow = None;
            self.parts(word, |part, _| {
                for c in part.chars() {
                    let total = match ascii.get_mut(c as usize) {
                        Some(total) => total,
                        None => counts.entry(c).or_default(),
                    };
                    match total.checked_add(count) {
                        Some(sum) => *total = sum,
                        None => overflow = Some(c),
                    }
                }
            });
            if let Some(c) = overflow {
                return Err(Error::CountOverflow { what: format!("the character {c:?}") });
            }
        }
        let seen = ascii.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.extend(seen.map(|(byte, &count)| (char::from(byte as u8), count)));
        Ok(counts)
    }
}

/// Distinct segments, in order.
#[derive(Default)]
pub(crate) struct Segments<'a> {
    pub(crate) texts: Vec<&'a str>,
    pub(crate) weights: Vec<u64>,
    pub(crate) followers: Vec<Follower>,
}

impl<'a> Segments<'a> {
    pub(crate) fn of(
        method: Method,
        words: &Words<'a>,
        alphabet: &Alphabet,
        rules: &Rules,
        progress: &mut Progress,
    ) -> Result<Self> {
        let mut found: FxHashMap<&'a str, (u64, Follower)> = FxHashMap::default();
        for (at, &(word, count)) in words.words.iter().enumerate() {
            if at % TICK == 0 {
                progress.tick(Stage::Seed, 0, 0)?;
            }
            words.parts(word, |part, is_word_end| {
                let after = method.after_part(is_word_end);
                cut(part, after, method, alphabet, rules, |segment, follower| {
                    let entry = found.entry(segment).or_insert((0, follower));
                    // No overflow: a count of its first character holds it.
                    entry.0 += count;
                    if entry.1 != follower {
                        entry.1 = MANY;
                    }
                });
            });
        }
        let mut found: Vec<(&str, (u64, Follower))> = found.into_iter().collect();
        found.sort_unstable();
        let mut segments = Self::default();
        for (text, (weight, follower)) in found {
            segments.texts.push(text);
            segments.weights.push(weight);
            segments.followers.push(follower);
        }
        Ok(segments)
    }
}

/// Calls `f` with each segment of a text and what follows it; `after` is what
/// follows the text.
fn cut<'a>(
    text: &'a str,
    after: Follower,
    method: Method,
    alphabet: &Alphabet,
    rules: &Rules,
    mut f: impl FnMut(&'a str, Follower),
) {
    let mut start = 0;
    let mut before: Option<Class> = None;
    for (at, c) in text.char_indices() {
        let class = alphabet.class(c);
        let together = match (before, class) {
            (Some(left), Some(right)) => rules.together(left, right),
            _ => false,
        };
        if !together {
            if before.is_some() {
                let follower = match (method, class) {
                    (Method::SentencePiece, None) if c == LINE_END => SEPARATOR,
                    (Method::SentencePiece, None) => SPACE,
                    _ => method.follower(c.into()),
                };
                f(&text[start..at], follower);
            }
            start = at;
        }
        before = class;
    }
    if before.is_some() {
        f(&text[start..], after);
    }
}
