//! `CountedWords` and `Characters`: the counted words, and the alphabet of their characters.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::PieceOptions;
use super::rules::Class;
use crate::error::{Error, Result};
use crate::memory;
use crate::progress::{Progress, Stage};
use crate::text::automaton::Strings;

/// How many pieces are read between two checks for progress.
const TICK: usize = 1 << 12;

/// The characters of the corpus.
pub(crate) struct Characters {
    /// The characters of the alphabet with their counts, the most frequent first; of equal counts
    /// the lower code point.
    pub(crate) required: Vec<(char, u64)>,
    /// The characters outside the alphabet, in the same order.
    pub(crate) dropped: Vec<(char, u64)>,
    classes: FxHashMap<char, Class>,
    /// The classes of ASCII characters.
    ascii: [Option<Class>; 128],
}

impl Characters {
    /// Counts all characters except `uncounted`, and keeps as many as `character_coverage`
    /// requires.
    pub(crate) fn of(
        options: &PieceOptions,
        words: &CountedWords<'_>,
        uncounted: Option<char>,
        progress: &mut Progress,
    ) -> Result<Self> {
        let mut counts = words.characters(progress)?;
        if let Some(c) = uncounted {
            counts.remove(&c);
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
        // Other programs end strings at NUL, so no piece may contain it.
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

    /// The class of a character; `None` for one outside the alphabet.
    #[inline]
    pub(crate) fn class(&self, c: char) -> Option<Class> {
        match self.ascii.get(c as usize) {
            Some(class) => *class,
            None => self.classes.get(&c).copied(),
        }
    }
}

/// Counted words as text, without the text of special tokens.
pub(crate) struct CountedWords<'a> {
    words: Vec<(&'a str, u64)>,
    specials: Option<Strings>,
}

impl<'a> CountedWords<'a> {
    pub(crate) fn new(
        options: &PieceOptions,
        pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
    ) -> Result<Self> {
        let utf8 = |(piece, count): (&'a [u8], u64)| match std::str::from_utf8(piece) {
            Ok(word) => Ok((word, count)),
            Err(_) => Err(Error::Option {
                option: "pieces",
                value: format!("{:?}", String::from_utf8_lossy(piece)),
                reason: "a tokenizer of characters cannot be trained on a piece that is not UTF-8; replace \
                         invalid bytes while reading"
                    .to_owned(),
            }),
        };
        let mut words = Vec::new();
        for piece in pieces.into_iter().filter(|piece| piece.1 > 0) {
            memory::push(&mut words, utf8(piece)?)?;
        }
        let texts: Vec<String> = options.reserved().map(|piece| piece.text).collect();
        let specials = match texts.is_empty() {
            true => None,
            false => Some(
                Strings::new(&texts)
                    .map_err(|error| Error::Internal(format!("automaton of special tokens: {error}")))?,
            ),
        };
        Ok(Self { words, specials })
    }

    /// The words with their counts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a str, u64)> {
        self.words.iter().copied()
    }

    /// Calls `f` with each part of a word between special tokens, and whether the part ends the
    /// word.
    pub(super) fn parts(&self, word: &'a str, mut f: impl FnMut(&'a str, bool)) {
        let mut start = 0;
        for (_, found) in self.specials.iter().flat_map(|specials| specials.find_iter(word.as_bytes())) {
            f(&word[start..found.start], false);
            start = found.end;
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
