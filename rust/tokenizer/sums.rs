//! Spans that are sums of the sizes of tokens: of models whose tokens are the text.
//!
//! The text is not looked at. In characters a token counts those that begin in it,
//! and begins inside one if its first byte does: that is so where the text is UTF-8.

use std::sync::OnceLock;

use super::Tokenizer;
use crate::encoding::{OffsetUnit, Rows};
use crate::template::Part;

/// The sizes of tokens in one unit, by id: twice the size, and one more for a token
/// that begins inside a character.
pub struct Sums(Vec<u32>);

/// The sums of a tokenizer, each unit's made when it is first asked for.
#[derive(Default)]
pub(super) struct AllSums {
    bytes: OnceLock<Sums>,
    chars: OnceLock<Sums>,
}

impl Tokenizer {
    /// Where spans are sums: how many ids of the template's stand before and after
    /// those of a text.
    pub fn sums_around(&self, add_special_tokens: bool) -> Option<[usize; 2]> {
        self.sums.as_ref()?;
        let is_text = |part: &Part| matches!(part, Part::First { .. });
        let before = self.template.single.iter().position(is_text)?;
        let after = self.template.single.len() - 1 - before;
        Some(if add_special_tokens { [before, after] } else { [0, 0] })
    }

    /// What spans are sums of, where they are. Nobody waits for another who makes them.
    pub fn sums(&self, unit: OffsetUnit) -> Option<&Sums> {
        let all = self.sums.as_ref()?;
        let sums = match unit {
            OffsetUnit::Bytes => &all.bytes,
            OffsetUnit::Chars => &all.chars,
        };
        if sums.get().is_none() {
            let _ = sums.set(self.made_sums(unit));
        }
        sums.get()
    }

    fn made_sums(&self, unit: OffsetUnit) -> Sums {
        let goes_on = |byte: &u8| byte & 0xC0 == 0x80;
        let size = |id| {
            let token = self.id_to_bytes(id).unwrap_or_default();
            match unit {
                OffsetUnit::Bytes => 2 * token.len() as u32,
                OffsetUnit::Chars => {
                    let begins = token.iter().filter(|byte| !goes_on(byte)).count() as u32;
                    2 * begins + u32::from(token.first().is_some_and(goes_on))
                }
            }
        };
        Sums((0..=self.max_id()).map(size).collect())
    }
}

impl Sums {
    /// Writes the spans of ids, two numbers an id, each row between `around` ids of
    /// the template's, whose spans are empty.
    pub fn fill(&self, rows: Rows<'_>, around: [usize; 2], spans: &mut [u64]) {
        let (mut rest, _) = spans.as_chunks_mut::<2>();
        for row in rows.iter() {
            let (of_row, after) = rest.split_at_mut(row.len().min(rest.len()));
            let before = around[0].min(row.len());
            let text = before..row.len().saturating_sub(around[1]).max(before);
            of_row[..text.start].fill([0, 0]);
            of_row[text.end..].fill([0, 0]);
            let mut end = 0;
            for (span, &id) in of_row[text.clone()].iter_mut().zip(&row[text]) {
                let size = self.0.get(id as usize).copied().unwrap_or(0);
                let start = end - u64::from(size & 1).min(end);
                end += u64::from(size >> 1);
                *span = [start, end];
            }
            rest = after;
        }
    }
}
