//! Merges the tables of all workers in parallel, one range of pieces per thread.
//!
//! The ranges are the quantiles of one table. For any ranges, the results in order equal a single
//! merge.

use std::path::Path;

use super::WordCounts;
use super::run::{self, SortedRun};
use super::table::CountTable;
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::parallel;
use crate::progress::Progress;

/// The fewest pieces in all tables for which another thread pays off.
const RANGE_PIECES: usize = 1 << 13;

/// Merges sorted tables into `words`, which must be empty, with up to `n_threads`.
///
/// # Errors
/// [`Error::CountOverflow`] for the smallest piece whose sum is too large; [`Error::Cancelled`] if
/// `progress` asks to stop.
pub(super) fn merge(
    tables: &[CountTable],
    n_threads: usize,
    temp_dir: &Path,
    progress: &mut Progress,
    words: &mut WordCounts,
) -> Result<()> {
    let n_pieces: usize = tables.iter().map(CountTable::len).sum();
    let n = n_threads.min(n_pieces / RANGE_PIECES).max(1);
    let greatest = tables.iter().max_by_key(|table| table.len());
    let bounds = greatest.map(|table| table.quantiles(n)).unwrap_or_default();
    let merge_range = |range: usize, progress: &mut Progress| -> Result<WordCounts> {
        let from = range.checked_sub(1).and_then(|at| bounds.get(at)).map(Vec::as_slice);
        let to = bounds.get(range).map(Vec::as_slice);
        let runs = tables.iter().map(|table| SortedRun::Table(table.sorted_between(from, to))).collect();
        let mut found = WordCounts::empty(words.pipeline().clone());
        run::merge(runs, temp_dir, progress, |piece, count| found.push(piece, count))?;
        Ok(found)
    };
    let own = || merge_range(0, progress);
    let ranges = parallel::shared(bounds.len() + 1, own, |range| merge_range(range, &mut Progress::silent()));
    for range in ranges {
        let range = range.map_err(|_| Error::Internal("a merging thread panicked".to_owned()))??;
        let base = words.bytes.len();
        if base == 0 {
            (words.bytes, words.ends, words.counts) = (range.bytes, range.ends, range.counts);
            continue;
        }
        memory::extend(&mut words.bytes, &range.bytes)?;
        words.ends.make_room(range.ends.len())?;
        words.ends.extend(range.ends.iter().map(|end| base + end));
        memory::extend(&mut words.counts, &range.counts)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::table::CountTable;
    use super::*;
    use crate::pipeline::Pipeline;
    use crate::pre_tokenizer::PreTokenizer;

    fn table(pieces: impl Iterator<Item = String>) -> CountTable {
        let mut table = CountTable::new();
        for piece in pieces {
            while !table.add(piece.as_bytes(), 1) {
                table.grow(piece.as_bytes()).unwrap();
            }
        }
        table.sort();
        table
    }

    #[test]
    fn ranges_equal_a_single_merge() {
        let word = |n: usize| format!("{:x}", n * n % 7919 * 99_991);
        let long = |n: usize| format!("{:040x}", n * n % 4001 * 7_777_777);
        let cases: [Vec<CountTable>; 4] = [
            vec![table((0..20_000).map(word)), table((10_000..60_000).map(word))],
            vec![table((0..40_000).map(long)), table((0..100).map(word)), table((0..9000).map(word))],
            vec![table((0..30_000).map(|n| if n % 2 == 0 { word(n) } else { long(n) })), CountTable::new()],
            vec![CountTable::new()],
        ];
        for tables in cases {
            let merged = |n_threads| {
                let mut words = WordCounts::empty(Pipeline::new(PreTokenizer::Bytes));
                merge(&tables, n_threads, Path::new(""), &mut Progress::silent(), &mut words).unwrap();
                words
            };
            let one = merged(1);
            assert_eq!(one.len(), one.ends.len());
            for n_threads in [2, 3, 7] {
                assert!(merged(n_threads) == one, "{n_threads}");
            }
            let n: u64 = one.iter().map(|(_, count)| count).sum();
            let n_counted: u64 = tables
                .iter()
                .map(|table| {
                    let (mut sorted, mut n) = (table.sorted(), 0);
                    while sorted.advance() {
                        n += sorted.count();
                    }
                    n
                })
                .sum();
            assert_eq!(n, n_counted);
        }
    }
}
