//! How rows and pairs are made to fit: from which text ids are taken, and windows of the rest.
//!
//! A single text is cut while it is encoded (`TextEncoder`).
//!
//! The numbers are those of Hugging Face's `truncate_encodings` and `Encoding::truncate`; the
//! order of windows of pairs is that of `Encoding::merge_with`. They differ only for a text that the
//! template holds several times: each of its ids takes that much room, so that no row is longer than
//! asked for.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::tokenizer::encoding::Side;

/// Rows that the windows of texts of one row make, each with each, at most.
const MOST_PRODUCTS: usize = 1 << 16;

/// From which text of a pair ids are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TruncationStrategy {
    /// From the longer one, until both are as long.
    #[default]
    LongestFirst,
    /// From the first.
    OnlyFirst,
    /// From the second.
    OnlySecond,
}

/// How rows are made to fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truncation {
    /// From which text ids are taken.
    pub strategy: TruncationStrategy,
    /// If set, ids that do not fit go into further windows, each repeating so many ids of the one before.
    pub stride: Option<usize>,
    /// The end of a text at which ids are taken.
    pub side: Side,
}

/// The ids that go into a row, of each text in it.
pub(super) type Cut = Vec<Range<usize>>;

impl Truncation {
    /// The rows that texts of so many ids become, where `room` ids fit in addition to the template's;
    /// `texts` are the texts in the template, 0 for the first and 1 for the second.
    ///
    /// # Errors
    /// [`Error::Encode`] where the text to take from is not long enough, or where the stride
    /// leaves no step.
    pub(super) fn rows(
        &self,
        lens: [usize; 2],
        is_pair: bool,
        room: Option<usize>,
        texts: &[usize],
    ) -> Result<Vec<Cut>> {
        let weights = [0, 1].map(|text| texts.iter().filter(|&&there| there == text).count().max(1));
        let most = match room {
            Some(room) if total(lens, weights) > room => self.most(lens, is_pair, room, weights)?,
            _ => lens,
        };
        let windows = [self.windows(lens[0], most[0])?, self.windows(lens[1], most[1])?];
        let n_windows = texts.iter().map(|&text| windows[text].len());
        let n_rows = n_windows.clone().fold(1, usize::saturating_mul);
        if n_windows.filter(|&n| n > 1).count() > 1 && n_rows > MOST_PRODUCTS {
            return Err(Error::Encode(format!(
                "the texts have {} and {} windows, which makes {n_rows} rows, each with each; at most \
                 {MOST_PRODUCTS} are made: ask for a larger size, or truncate by `OnlySecond`",
                windows[0].len(),
                windows[1].len()
            )));
        }
        let mut rows: Vec<Cut> = vec![Vec::with_capacity(texts.len())];
        for &text in texts {
            let windows = &windows[text];
            if let ([row], [only]) = (&mut rows[..], &windows[..]) {
                row.push(only.clone());
                continue;
            }
            // For windows a, b of the first text and x, y of the second: ax, then bx, by, then ay.
            let others = rows.iter().skip(1).flat_map(|row| windows.iter().map(move |window| (row, window)));
            let pairs = std::iter::once((&rows[0], &windows[0])).chain(others);
            let mut longer = Vec::new();
            for (row, window) in pairs.chain(windows.iter().skip(1).map(|window| (&rows[0], window))) {
                let row = row.iter().chain([window]).cloned().collect();
                crate::memory::push(&mut longer, row)?;
            }
            rows = longer;
        }
        Ok(rows)
    }

    /// The most ids of each text, which together are more than there is room for.
    fn most(&self, lens: [usize; 2], is_pair: bool, room: usize, weights: [usize; 2]) -> Result<[usize; 2]> {
        let over = total(lens, weights) - room;
        let (place, fault) = match self.strategy {
            TruncationStrategy::LongestFirst if is_pair => return Ok(longest_first(lens, room, weights)),
            TruncationStrategy::LongestFirst => return Ok([room / weights[0], 0]),
            TruncationStrategy::OnlyFirst => (0, "`OnlyFirst` cannot take"),
            TruncationStrategy::OnlySecond if !is_pair => {
                return Err(Error::Encode(
                    "`OnlySecond` truncates the second text, and there is none; pass pairs, or \
                     truncate by `OnlyFirst`"
                        .to_owned(),
                ));
            }
            TruncationStrategy::OnlySecond => (1, "`OnlySecond` cannot take"),
        };
        let (mut most, over) = (lens, over.div_ceil(weights[place]));
        match lens[place].checked_sub(over).filter(|&left| left > 0) {
            Some(left) => most[place] = left,
            None => {
                return Err(Error::Encode(format!(
                    "{fault} {over} ids from a text of {}: the texts have {} and {} \
                     ids, and {room} fit next to the template; ask for more, or \
                     truncate by `LongestFirst`",
                    lens[place], lens[0], lens[1]
                )));
            }
        }
        Ok(most)
    }

    /// The windows of a text of `len` ids, each of at most `most`.
    fn windows(&self, len: usize, most: usize) -> Result<Vec<Range<usize>>> {
        let stride = match self.stride {
            Some(stride) if len > most => stride,
            _ => return Ok(vec![self.kept(len, len.min(most))]),
        };
        let Some(step) = most.checked_sub(stride).filter(|&step| step > 0) else {
            return Err(Error::Encode(format!(
                "windows of {most} ids of a text with an overlap of {stride} leave no step; ask for a larger \
                 size or a smaller stride"
            )));
        };
        let mut windows = Vec::new();
        let mut start = 0;
        loop {
            // From the end that stays whole.
            let n = most.min(len - start);
            let window = match self.side {
                Side::Right => start..start + n,
                Side::Left => len - start - n..len - start,
            };
            crate::memory::push(&mut windows, window)?;
            if start + n == len {
                return Ok(windows);
            }
            start += step;
        }
    }

    /// Of `len` ids the `n` that stay: the first, or the last.
    fn kept(&self, len: usize, n: usize) -> Range<usize> {
        match self.side {
            Side::Right => 0..n,
            Side::Left => len - n..len,
        }
    }
}

/// The ids of a row's texts, of which each id of a text is in the row `weights` times.
fn total(lens: [usize; 2], weights: [usize; 2]) -> usize {
    lens[0] * weights[0] + lens[1] * weights[1]
}

/// Takes ids from the longer of two texts until both fit in `room`, where each id of a text takes its
/// weight.
pub(super) fn longest_first(lens: [usize; 2], room: usize, weights: [usize; 2]) -> [usize; 2] {
    if total(lens, weights) <= room {
        return lens;
    }
    let [first, second] = lens;
    let each = room / (weights[0] + weights[1]);
    if first <= each {
        [first, (room - first * weights[0]) / weights[1]]
    } else if second <= each {
        [(room - second * weights[1]) / weights[0], second]
    } else {
        // Hugging Face gives the odd id to the longer text, of equal ones to the second.
        let longer = usize::from(first <= second);
        let mut most = [each; 2];
        if total(most, weights) + weights[longer] <= room {
            most[longer] += 1;
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_text_is_shortened_first() {
        for (lens, room, expected) in [
            ([3, 4], 7, [3, 4]),
            ([2, 9], 7, [2, 5]),
            ([9, 2], 7, [5, 2]),
            ([9, 8], 7, [4, 3]),
            ([8, 9], 7, [3, 4]),
            ([8, 8], 7, [3, 4]),
            ([8, 9], 6, [3, 3]),
            ([1, 1], 0, [0, 0]),
        ] {
            assert_eq!(longest_first(lens, room, [1, 1]), expected, "{lens:?} in {room}");
        }
    }

    #[test]
    fn windows_of_pairs() {
        let rows = |truncation, stride, lens, room| {
            let truncation = Truncation { strategy: truncation, stride, side: Side::Right };
            truncation.rows(lens, true, Some(room), &[0, 1]).unwrap()
        };
        assert_eq!(rows(TruncationStrategy::OnlySecond, None, [2, 9], 6), [[0..2, 0..4]]);
        assert_eq!(
            rows(TruncationStrategy::OnlySecond, Some(1), [2, 9], 6),
            [[0..2, 0..4], [0..2, 3..7], [0..2, 6..9]]
        );
        assert_eq!(
            rows(TruncationStrategy::OnlyFirst, Some(0), [5, 3], 5),
            [[0..2, 0..3], [2..4, 0..3], [4..5, 0..3]]
        );
        // Both are too long: windows of the one with all of the other's.
        assert_eq!(
            rows(TruncationStrategy::LongestFirst, Some(0), [3, 4], 4),
            [[0..2, 0..2], [2..3, 0..2], [2..3, 2..4], [0..2, 2..4]]
        );
        for truncation in [
            Truncation { strategy: TruncationStrategy::OnlyFirst, ..Truncation::default() },
            Truncation { strategy: TruncationStrategy::OnlySecond, stride: Some(4), ..Truncation::default() },
        ] {
            assert!(truncation.rows([2, 9], true, Some(6), &[0, 1]).is_err());
        }
        let second = Truncation { strategy: TruncationStrategy::OnlySecond, ..Truncation::default() };
        assert!(second.rows([9, 0], false, Some(6), &[0]).is_err());
        // As many windows as a text has ids, each with each of as many.
        let both = Truncation { stride: Some(0), ..Truncation::default() };
        assert_eq!(both.rows([256, 256], true, Some(2), &[0, 1]).unwrap().len(), 1 << 16);
        let error = both.rows([257, 257], true, Some(2), &[0, 1]).unwrap_err().to_string();
        assert!(error.contains("257 and 257 windows, which makes 66049 rows"), "{error}");
        // A text that the template often repeats has windows for each place.
        let error = both.rows([20, 0], false, Some(4), &[0; 4]).unwrap_err().to_string();
        assert!(error.contains("160000 rows"), "{error}");
    }

    #[test]
    fn the_end_that_is_kept() {
        let rows = |stride, len, room| {
            let truncation = Truncation { stride, side: Side::Left, ..Truncation::default() };
            let rows = truncation.rows([len, 0], false, Some(room), &[0]).unwrap().concat();
            rows.iter().map(|row| (row.start, row.end)).collect::<Vec<_>>()
        };
        assert_eq!(rows(None, 9, 4), [(5, 9)]);
        assert_eq!(rows(None, 3, 4), [(0, 3)]);
        assert_eq!(rows(None, 9, 0), [(9, 9)]);
        assert_eq!(rows(Some(1), 9, 4), [(5, 9), (2, 6), (0, 3)]);
        assert_eq!(rows(Some(0), 8, 4), [(4, 8), (0, 4)]);
    }

    #[test]
    fn texts_that_stand_in_a_template_often() {
        let rows = |texts: &[usize], stride| {
            Truncation { stride, ..Truncation::default() }.rows([5, 0], false, Some(4), texts).unwrap()
        };
        assert_eq!(rows(&[0, 0], None), [[0..2, 0..2]]);
        assert_eq!(rows(&[0, 0, 0], None), [[0..1, 0..1, 0..1]]);
        assert_eq!(rows(&[], Some(0)), [Vec::<Range<usize>>::new()]);
        assert_eq!(rows(&[0, 0], Some(0))[..2], [[0..2, 0..2], [2..4, 0..2]]);
    }

    /// Each id of a text takes as much room as the template holds the text.
    #[test]
    fn no_row_is_longer_than_there_is_room() {
        for texts in [&[0, 1][..], &[0, 0, 1], &[1, 0, 1, 1], &[0, 0, 1, 1, 1]] {
            let weights = [0, 1].map(|text| texts.iter().filter(|&&there| there == text).count());
            for strategy in [
                TruncationStrategy::LongestFirst,
                TruncationStrategy::OnlyFirst,
                TruncationStrategy::OnlySecond,
            ] {
                for (lens, room, stride) in (0..2000_usize).map(|n| ([n % 11, n / 11 % 13], n % 17, n % 3)) {
                    let stride = stride.checked_sub(1);
                    let truncation = Truncation { strategy, stride, ..Truncation::default() };
                    let Ok(rows) = truncation.rows(lens, true, Some(room), texts) else { continue };
                    for row in &rows {
                        assert!(
                            row.iter().map(ExactSizeIterator::len).sum::<usize>() <= room,
                            "{lens:?} {room}"
                        );
                    }
                    if strategy == TruncationStrategy::LongestFirst && total(lens, weights) > room {
                        let left = room - total(longest_first(lens, room, weights), weights);
                        assert!(left < weights[0] + weights[1], "{lens:?} {room}");
                    }
                }
            }
        }
    }
}
