//! How rows are made to fit: from which text ids are taken, and windows of the rest.
//!
//! The numbers are those of Hugging Face's `truncate_encodings` and `Encoding::truncate`; the
//! order of windows of pairs is that of `Encoding::merge_with`.

use std::ops::Range;

use crate::error::{Error, Result};

/// Rows that the windows of both texts of a pair make, each with each, at most.
const MOST_PRODUCTS: usize = 1 << 16;

/// From which text of a pair ids are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Truncation {
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
pub struct Shortening {
    /// From which text ids are taken.
    pub truncation: Truncation,
    /// Where what is taken goes into windows of its own: how many ids each repeats.
    pub stride: Option<usize>,
}

/// The ids of a first text that go into a row, and those of a second.
pub(super) type Cut = [Range<usize>; 2];

impl Shortening {
    /// The rows that texts of so many ids become, where `room` ids fit beside the template's.
    ///
    /// # Errors
    /// [`Error::Encode`] where the text to take from is not long enough, or where the stride
    /// leaves no step.
    pub(super) fn rows(&self, lens: [usize; 2], is_pair: bool, room: Option<usize>) -> Result<Vec<Cut>> {
        let most = match room {
            Some(room) if lens[0] + lens[1] > room => self.most(lens, is_pair, room)?,
            _ => lens,
        };
        let [first, second] = [self.windows(lens[0], most[0])?, self.windows(lens[1], most[1])?];
        let n_rows = first.len().saturating_mul(second.len());
        if first.len().min(second.len()) > 1 && n_rows > MOST_PRODUCTS {
            return Err(Error::Encode(format!(
                "the texts have {} and {} windows, which makes {n_rows} rows, each with each; at most \
                 {MOST_PRODUCTS} are made: ask for a larger size, or pass truncation=\"only_second\"",
                first.len(),
                second.len()
            )));
        }
        let mut rows = Vec::new();
        // Whole first; then the first text's other windows, each with all of the second's.
        let others = first.iter().skip(1).flat_map(|a| second.iter().map(move |b| (a, b)));
        let all = std::iter::once((&first[0], &second[0])).chain(others);
        for (a, b) in all.chain(second.iter().skip(1).map(|b| (&first[0], b))) {
            crate::memory::push(&mut rows, [a.clone(), b.clone()])?;
        }
        Ok(rows)
    }

    /// The most ids of each text, which together are more than there is room for.
    fn most(&self, lens: [usize; 2], is_pair: bool, room: usize) -> Result<[usize; 2]> {
        let over = lens[0] + lens[1] - room;
        let (place, name) = match self.truncation {
            Truncation::LongestFirst if is_pair => return Ok(longest_first(lens, room)),
            Truncation::LongestFirst => return Ok([room, 0]),
            Truncation::OnlyFirst => (0, "only_first"),
            Truncation::OnlySecond if !is_pair => {
                return Err(Error::Encode(
                    "truncation=\"only_second\", and there is no second text; pass pairs, or \
                     truncation=\"only_first\""
                        .to_owned(),
                ));
            }
            Truncation::OnlySecond => (1, "only_second"),
        };
        let mut most = lens;
        match lens[place].checked_sub(over).filter(|&left| left > 0) {
            Some(left) => most[place] = left,
            None => {
                return Err(Error::Encode(format!(
                    "truncation={name:?} cannot take {over} ids from a text of {}: the texts have {} and {} \
                     ids, and {room} fit beside the template; ask for more, or pass \
                     truncation=\"longest_first\"",
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
            _ => {
                let only = 0..len.min(most);
                return Ok(vec![only]);
            }
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
            let end = (start + most).min(len);
            crate::memory::push(&mut windows, start..end)?;
            if end == len {
                return Ok(windows);
            }
            start += step;
        }
    }
}

/// Takes ids from the longer of two texts until both fit in `room`.
pub(super) fn longest_first(lens: [usize; 2], room: usize) -> [usize; 2] {
    let [first, second] = lens;
    if first + second <= room {
        return lens;
    }
    let half = room / 2;
    if first <= half {
        [first, room - first]
    } else if second <= half {
        [room - second, second]
    } else {
        // Hugging Face gives the odd id to the longer text, of equal ones to the second.
        if first > second { [room - half, half] } else { [half, room - half] }
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
            assert_eq!(longest_first(lens, room), expected, "{lens:?} in {room}");
        }
    }

    #[test]
    fn windows_of_pairs() {
        let rows = |truncation, stride, lens, room| {
            Shortening { truncation, stride }.rows(lens, true, Some(room)).unwrap()
        };
        assert_eq!(rows(Truncation::OnlySecond, None, [2, 9], 6), [[0..2, 0..4]]);
        assert_eq!(
            rows(Truncation::OnlySecond, Some(1), [2, 9], 6),
            [[0..2, 0..4], [0..2, 3..7], [0..2, 6..9]]
        );
        assert_eq!(
            rows(Truncation::OnlyFirst, Some(0), [5, 3], 5),
            [[0..2, 0..3], [2..4, 0..3], [4..5, 0..3]]
        );
        // Both are too long: windows of the one with all of the other's.
        assert_eq!(
            rows(Truncation::LongestFirst, Some(0), [3, 4], 4),
            [[0..2, 0..2], [2..3, 0..2], [2..3, 2..4], [0..2, 2..4]]
        );
        for shortening in [
            Shortening { truncation: Truncation::OnlyFirst, stride: None },
            Shortening { truncation: Truncation::OnlySecond, stride: Some(4) },
        ] {
            assert!(shortening.rows([2, 9], true, Some(6)).is_err());
        }
        assert!(
            Shortening { truncation: Truncation::OnlySecond, stride: None }
                .rows([9, 0], false, Some(6))
                .is_err()
        );
        // As many windows as a text has ids, each with each of as many.
        let both = Shortening { truncation: Truncation::LongestFirst, stride: Some(0) };
        assert_eq!(both.rows([256, 256], true, Some(2)).unwrap().len(), 1 << 16);
        let error = both.rows([257, 257], true, Some(2)).unwrap_err().to_string();
        assert!(error.contains("257 and 257 windows, which makes 66049 rows"), "{error}");
    }
}
