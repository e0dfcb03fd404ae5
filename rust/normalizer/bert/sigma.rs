//! The final sigma of Google's mode: `Σ` is `ς` at the end of a word.
//!
//! Google's code lowers each word alone, so only the word counts: it ends at white space, and at
//! Chinese characters, which get spaces. Unicode's condition `Final_Sigma` (section 3.13) is a
//! cased letter before and no cased letter after, skipping characters that case ignores. Characters
//! between two sigmas are read at most twice, so this takes linear time.

use std::sync::LazyLock;

use super::table::CleaningTable;
use super::tables;
use crate::normalizer::point_map::PointMap;
use crate::text::unicode::{flag::SPACE, flags};

static CASED: LazyLock<PointMap> = LazyLock::new(|| PointMap::from_set(&tables::CASED));
static CASE_IGNORABLE: LazyLock<PointMap> = LazyLock::new(|| PointMap::from_set(&tables::CASE_IGNORABLE));

/// Whether the sigma at `at` ends a word.
pub(super) fn is_final(table: &CleaningTable, text: &str, at: usize) -> bool {
    let before = text[..at].chars().rev();
    let after = text[at..].chars().skip(1);
    meets_cased(table, before) && !meets_cased(table, after)
}

/// Whether the first character that is not skipped is cased and in the word.
fn meets_cased(table: &CleaningTable, mut chars: impl Iterator<Item = char>) -> bool {
    let first = chars.find(|&c| {
        let entry = table.entry(c);
        let ends_word = entry.is_padded() || entry.is_space() || flags(c) & SPACE != 0;
        ends_word || !entry.is_dropped() && CASE_IGNORABLE.get(c as u32) == 0
    });
    first.is_some_and(|c| CASED.get(c as u32) != 0 && !table.entry(c).is_padded())
}
