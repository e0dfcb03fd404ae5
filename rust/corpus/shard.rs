//! `Shard`: one of n parts of a corpus.
//!
//! The files, concatenated as they are on disk, are cut into n equal ranges of bytes, and a shard
//! gets the units that *begin* in its range. A unit is a line of a plain text or JSONL file, or the
//! whole file if lines cannot be found without reading from the start (compressed, CSV, TSV,
//! `text`). So each document is in exactly one shard, and a shard reads little more than its range.
//! For an iterable, a shard gets every n-th document.

use std::str::FromStr;

use crate::error::{Error, Result};

/// Part `index` of `count`, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// Part `index` of `count`.
    ///
    /// # Errors
    /// [`Error::Option`] unless `index < count`.
    pub fn new(index: u64, count: u64) -> Result<Self> {
        if index < count {
            Ok(Self { index, count })
        } else {
            Err(Error::Option {
                option: "shard",
                value: format!("{index}/{count}"),
                reason: if count == 0 {
                    "there must be at least one shard".to_owned()
                } else {
                    format!("shards are numbered from 0/{count} to {}/{count}", count - 1)
                },
            })
        }
    }

    /// The index, from 0, and the number of shards.
    pub fn place(self) -> (u64, u64) {
        (self.index, self.count)
    }

    /// The range of `total` bytes in which the units of this shard begin.
    pub(super) fn range(self, total: u64) -> std::ops::Range<u64> {
        let at = |index: u64| (u128::from(total) * u128::from(index) / u128::from(self.count)) as u64;
        // The last shard includes empty files at the very end, so that their errors are found.
        let end = if self.index + 1 == self.count { u64::MAX } else { at(self.index + 1) };
        at(self.index)..end
    }

    /// Whether the document with this number is in the shard.
    pub(super) fn takes(self, document: u64) -> bool {
        document % self.count == self.index
    }
}

impl FromStr for Shard {
    type Err = Error;

    /// Parses `index/count`, such as `3/128`.
    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        let Some((index, count)) = parts else {
            return Err(Error::Option {
                option: "shard",
                value: text.to_owned(),
                reason: "it is written index/count, such as 0/8".to_owned(),
            });
        };
        Self::new(index, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_tile_the_bytes() {
        for total in [0, 1, 6, 7, 8, u64::MAX / 2] {
            let ends: Vec<_> = (0..7).map(|i| Shard::new(i, 7).unwrap().range(total)).collect();
            assert_eq!((ends[0].start, ends[6].end), (0, u64::MAX));
            assert!(ends.windows(2).all(|two| two[0].end == two[1].start), "{total}: {ends:?}");
        }
    }

    #[test]
    fn shards_are_parsed() {
        for (text, expected) in [
            ("0/1", Ok(Shard { index: 0, count: 1 })),
            ("3/128", Ok(Shard { index: 3, count: 128 })),
            ("3/3", Err("from 0/3 to 2/3")),
            ("0/0", Err("at least one")),
            ("3", Err("index/count")),
            ("-1/3", Err("index/count")),
        ] {
            match (text.parse::<Shard>(), expected) {
                (Ok(shard), Ok(expected)) => assert_eq!(shard, expected),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
    }
}
