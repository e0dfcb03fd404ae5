//! `Fertility`: how many tokens touch each word of texts, summed; `DistinctWords`: those that occur.
//!
//! A word is a longest run of characters that are no white space, as Python's `str.isspace` has it.
//! A token touches the words that it shares a byte with. Not for the measures that are made of the
//! sums: `python/sentitok/evaluate.py`. Source: Rust et al. 2021, "How Good is Your Tokenizer?".

use std::ops::Range;
use std::panic::resume_unwind;

use hashbrown::HashSet;

use crate::encoding::{EncodingBatch, OffsetUnit, Span};
use crate::error::Result;
use crate::memory;
use crate::parallel;
use crate::tokenizer::{EncodeOptions, Input, Tokenizer};

/// The most bytes of a word that is kept as a number.
const SHORT: usize = 15;
/// Words that are encoded at a time.
const AT_ONCE: usize = 1 << 16;

/// Sums over the words of texts, and how often each token occurs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fertility {
    /// How often each id occurs.
    pub frequency: Vec<u64>,
    /// Words.
    pub words: u64,
    /// Tokens that touch a word, for each word.
    pub tokens: u64,
    /// Words that one token alone touches.
    pub single: u64,
    /// Words that two or more tokens touch.
    pub continued: u64,
}

impl Fertility {
    /// Nothing yet, of a tokenizer.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn new(tokenizer: &Tokenizer) -> Result<Self> {
        Ok(Self { frequency: memory::filled(tokenizer.vocab_size(), 0)?, ..Self::default() })
    }

    /// Encodes texts, without the template's tokens, and adds their words.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`].
    pub fn add(
        &mut self,
        tokenizer: &Tokenizer,
        texts: &[Input<'_>],
        options: EncodeOptions<'_>,
    ) -> Result<()> {
        let options = EncodeOptions { add_special_tokens: false, spans: false, ..options };
        let mut found = None;
        // Most spans are sums of the sizes of tokens, and need not be followed through the pipeline.
        if tokenizer.sums_around(false).is_some() {
            let batch = tokenizer.batch_of(texts, options)?;
            let of_row = |row: usize, spans: &mut Vec<Span>| {
                let ids = &batch.ids[places(&batch, row)];
                spans.clear();
                memory::resize(spans, ids.len(), [0, 0])?;
                Ok(tokenizer.write_sums(ids, texts[row], OffsetUnit::Bytes, [0, 0], spans))
            };
            found = Self::of_texts(texts, options.threads, of_row)?.map(|sums| (batch, sums));
        }
        let (batch, sums) = match found {
            Some(found) => found,
            None => {
                let batch = tokenizer.batch_of(texts, EncodeOptions { spans: true, ..options })?;
                let all = batch.spans.as_deref().unwrap_or_default();
                let of_row = |row: usize, spans: &mut Vec<Span>| {
                    spans.clear();
                    memory::extend(spans, &all[places(&batch, row)])?;
                    Ok(true)
                };
                let sums = Self::of_texts(texts, options.threads, of_row)?.unwrap_or_default();
                (batch, sums)
            }
        };
        self.join(&sums);
        for &id in &batch.ids {
            if let Some(n) = self.frequency.get_mut(id as usize) {
                *n += 1;
            }
        }
        Ok(())
    }

    /// The sums of texts, of whose tokens `spans_of` writes the spans; `None` where it cannot.
    fn of_texts(
        texts: &[Input<'_>],
        threads: Option<usize>,
        spans_of: impl Fn(usize, &mut Vec<Span>) -> Result<bool> + Sync,
    ) -> Result<Option<Self>> {
        let rows = |rows: Range<usize>| {
            let (mut sums, mut spans) = (Self::default(), Vec::new());
            for row in rows {
                if !spans_of(row, &mut spans)? {
                    return Ok(None);
                }
                sums.add_text(texts[row].bytes(), &spans);
            }
            Ok(Some(sums))
        };
        let mut all = Self::default();
        for sums in in_parts(texts.len(), threads, (), |rows_of, ()| rows(rows_of), rows) {
            let Some(sums) = sums? else { return Ok(None) };
            all.join(&sums);
        }
        Ok(Some(all))
    }

    fn join(&mut self, other: &Self) {
        self.words += other.words;
        self.tokens += other.tokens;
        self.single += other.single;
        self.continued += other.continued;
    }

    /// Adds the words of a text, whose tokens have these spans, in order.
    fn add_text(&mut self, text: &[u8], spans: &[Span]) {
        let place = |at: usize| at as u64;
        // The tokens that touch a word stand side by side: from the first that ends behind its start
        // to the last that begins before its end.
        let (mut first, mut behind) = (0, 0);
        for word in words(text) {
            while spans.get(first).is_some_and(|span| span[1] <= place(word.start)) {
                first += 1;
            }
            while spans.get(behind).is_some_and(|span| span[0] < place(word.end)) {
                behind += 1;
            }
            let n = behind.saturating_sub(first) as u64;
            self.words += 1;
            self.tokens += n;
            self.single += u64::from(n == 1);
            self.continued += u64::from(n > 1);
        }
    }
}

/// The words that occur in texts, each once.
#[derive(Clone, Debug, Default)]
pub struct DistinctWords {
    /// Those of up to [`SHORT`] bytes, from the lowest byte on; their length is the highest.
    short: HashSet<u128>,
    long: HashSet<Box<[u8]>>,
}

impl DistinctWords {
    /// Adds the words of texts.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn add(&mut self, texts: &[Input<'_>], threads: Option<usize>) -> Result<()> {
        let into = |known: &mut Self, rows: Range<usize>| {
            texts[rows].iter().try_for_each(|text| known.add_text(text.bytes()))
        };
        let other = |rows| {
            let mut known = Self::default();
            into(&mut known, rows).map(|()| known)
        };
        // The first part goes where all are; the others are joined to it.
        let own = |rows, known: &mut Self| into(known, rows).map(|()| Self::default());
        for found in in_parts(texts.len(), threads, &mut *self, own, other) {
            let found = found?;
            for word in found.short {
                self.add_short(word)?;
            }
            for word in found.long {
                self.add_long(&word)?;
            }
        }
        Ok(())
    }

    fn add_text(&mut self, text: &[u8]) -> Result<()> {
        for range in words(text) {
            if range.len() <= SHORT {
                self.add_short(short(text, range))?;
            } else {
                self.add_long(&text[range])?;
            }
        }
        Ok(())
    }

    fn add_short(&mut self, word: u128) -> Result<()> {
        if self.short.len() == self.short.capacity() {
            memory::is_left()?;
            self.short.try_reserve(1).map_err(|_| memory::missing::<u128>(self.short.len()))?;
        }
        self.short.insert(word);
        Ok(())
    }

    fn add_long(&mut self, word: &[u8]) -> Result<()> {
        if !self.long.contains(word) {
            memory::is_left()?;
            self.long.try_reserve(1).map_err(|_| memory::missing::<Box<[u8]>>(self.long.len()))?;
            let mut owned = memory::reserved(word.len())?;
            memory::extend(&mut owned, word)?;
            self.long.insert(owned.into_boxed_slice());
        }
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What a tokenizer makes of each of them behind a space, as in running text.
    ///
    /// # Errors
    /// As [`Fertility::add`].
    pub fn fertility(&self, tokenizer: &Tokenizer, options: EncodeOptions<'_>) -> Result<Fertility> {
        let short: Vec<[u8; 16]> = memory::collected(self.short.iter().map(|word| word.to_le_bytes()))?;
        let mut all: Vec<&[u8]> = memory::reserved(self.len())?;
        all.extend(short.iter().map(|word| &word[..usize::from(word[SHORT])]));
        all.extend(self.long.iter().map(AsRef::as_ref));
        // What is drawn for a word (dropout) does not depend on the order of a table.
        all.sort_unstable();
        let mut fertility = Fertility::new(tokenizer)?;
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for part in all.chunks(AT_ONCE) {
            text.clear();
            ends.clear();
            ends.push(0);
            for word in part {
                memory::push(&mut text, b' ')?;
                memory::extend(&mut text, word)?;
                memory::push(&mut ends, text.len())?;
            }
            let rows = ends.windows(2).map(|ends| Input::Bytes(&text[ends[0]..ends[1]]));
            let mut rows_of: Vec<Input<'_>> = memory::reserved(part.len())?;
            rows_of.extend(rows);
            fertility.add(tokenizer, &rows_of, options)?;
        }
        Ok(fertility)
    }
}

/// The word at a place of a text as a number: its bytes, and its length.
fn short(text: &[u8], word: Range<usize>) -> u128 {
    let n = word.len();
    let length = (n as u128) << (8 * SHORT);
    // Read at once where as much is left, with what stands behind it cut off.
    if let Some(read) = text.get(word.start..).and_then(|rest| rest.first_chunk::<16>()) {
        return (u128::from_le_bytes(*read) & ((1 << (8 * n)) - 1)) | length;
    }
    let mut bytes = [0; 16];
    bytes[..n].copy_from_slice(&text[word]);
    u128::from_le_bytes(bytes) | length
}

/// The places of the ids of a row.
fn places(batch: &EncodingBatch, row: usize) -> Range<usize> {
    let place = |at: usize| usize::try_from(batch.row_offsets[at]).unwrap_or(0);
    place(row)..place(row + 1)
}

/// Cuts `0..n` into a part for each thread; the first goes to `own`, here. The results are in order.
fn in_parts<T: Send, O>(
    n: usize,
    threads: Option<usize>,
    given: O,
    own: impl FnOnce(Range<usize>, O) -> T,
    other: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let parts = parallel::n_threads(threads).min(n).max(1);
    let range = |part: usize| n * part / parts..n * (part + 1) / parts;
    let results = parallel::shared(parts, || own(range(0), given), |part| other(range(part)));
    results.into_iter().map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
}

/// The words of a text: longest runs without white space.
fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            match space(text, at)? {
                0 => break,
                n => at += n,
            }
        }
        let start = at;
        loop {
            at = next_control_or_high(text, at);
            while text.get(at).is_some_and(|&byte| !MAY_BE_SPACE[usize::from(byte)]) {
                at += 1;
            }
            if space(text, at) != Some(0) {
                return Some(start..at);
            }
            at += 1;
        }
    })
}

/// The first place from `at` on of a byte up to a space or from 0x80 on, or the end: eight bytes at a time.
fn next_control_or_high(text: &[u8], mut at: usize) -> usize {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    while let Some(eight) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let eight = u64::from_le_bytes(*eight);
        // The high bit of what is 0x80 or more, or below 0x21; behind the first of them it may err.
        let found = (eight | eight.wrapping_sub(EACH * 0x21)) & (EACH * 0x80);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at
}

/// Bytes that white space begins with.
const MAY_BE_SPACE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte, 0x09..=0x0D | 0x1C..=0x20 | 0xC2 | 0xE1 | 0xE2 | 0xE3);
        byte += 1;
    }
    table
};

/// The bytes of the white space at a place, 0 if something else is there; `None` at the end.
fn space(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    Some(match rest {
        [] => return None,
        [0x09..=0x0D | 0x1C..=0x20, ..] => 1,
        [0xC2, 0x85 | 0xA0, ..] => 2,
        [0xE1, 0x9A, 0x80, ..] | [0xE2, 0x81, 0x9F, ..] | [0xE3, 0x80, 0x80, ..] => 3,
        [0xE2, 0x80, 0x80..=0x8A | 0xA8 | 0xA9 | 0xAF, ..] => 3,
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// White space of Python: that of Unicode, and the separators of files to units.
    fn is_space(c: char) -> bool {
        c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
    }

    #[test]
    fn every_character_is_white_space_or_not() {
        for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
            let text = format!("a{c}b");
            let found: Vec<_> = words(text.as_bytes()).map(|word| &text[word]).collect();
            let expected: Vec<_> = text.split(is_space).filter(|word| !word.is_empty()).collect();
            assert_eq!(found, expected, "{:x}", u32::from(c));
        }
        assert_eq!(words(b" \t\n").count() + words(b"").count(), 0);
        // Bytes that are no character are no white space.
        assert_eq!(words(b"\xE2\x80 \xC2").collect::<Vec<_>>(), [0..2, 3..4]);
    }

    #[test]
    fn tokens_are_counted_for_each_word_they_touch() {
        let mut sums = Fertility::default();
        //              "ab  cd e": the first token ends inside a word, the last touches two.
        sums.add_text(b"ab  cd e", &[[0, 1], [1, 4], [4, 4], [4, 5], [5, 8]]);
        assert_eq!((sums.words, sums.tokens, sums.single, sums.continued), (3, 5, 1, 2));
        sums.add_text(b"x", &[]);
        assert_eq!((sums.words, sums.tokens, sums.single, sums.continued), (4, 5, 1, 2));
    }

    #[test]
    fn words_are_kept_once_for_any_number_of_threads() {
        let long = "w".repeat(40);
        let texts = ["a b a", "", "fifteen-letters sixteen--letters", &long, "b", &long, " "];
        let inputs: Vec<Input<'_>> = texts.iter().map(|&text| text.into()).collect();
        for threads in [1, 2, 7, 20] {
            let mut known = DistinctWords::default();
            known.add(&inputs, Some(threads)).unwrap();
            known.add(&inputs[..1], Some(threads)).unwrap();
            assert_eq!((known.short.len(), known.long.len()), (3, 2), "{threads}");
        }
    }
}
