//! Long pieces, merged in windows that overlap.
//!
//! A window of 64 symbols is merged by scanning, which no queue can match; what
//! two windows agree on joins them. So time is linear in the piece, whatever it
//! is.
//!
//! Proof. Say that the tokens of two neighbours fit if merging their symbols
//! alone gives just these two tokens. (1) Neighbours in the result of any text
//! fit: no merge crossed the borders of their symbols, so merges inside came in
//! the order in which they come there alone. (2) Tokens of which all neighbours
//! fit are the result of the text they spell: take the first merge that crosses
//! a border between two of them. Until then, merges inside the two came in the
//! order in which they come in the two alone, and now the lowest and leftmost of
//! all pairs, so also of theirs, crosses the border; then it does so when the
//! two are merged alone, and they do not fit.
//! Hence: if two windows have one token in common, the tokens of the first up to
//! it and those of the second after it fit, all of them, and are the result.
//! Nothing is asked of ranks but an order, so ties do not matter.
//!
//! Where two windows have no token in common, or a token is longer than a window,
//! both become longer, eight times each time; the last resort is the whole piece.
//! Windows above 64 symbols are merged by the queue.

use super::merge::Symbols;
use super::pairs::PairTable;
use crate::error::Result;
use crate::memory::{self, MakeRoom};
use crate::models::bpe::array_merge;
use crate::vocab::TokenId;

/// How far a window goes back into the one before. A token is often found right
/// there: what the end of a window changes lies in its last two or three tokens.
const BACK: usize = 12;
/// By how many bits sizes grow. Short steps cost more: the window before the one
/// that is long enough is in vain, and the queue is slow to start.
const GROWTH: u32 = 3;

/// A piece while its windows are merged; kept between pieces for its memory.
#[derive(Default)]
pub(super) struct Windows {
    /// The symbols, and the bytes that each covers.
    ids: Vec<TokenId>,
    lens: Vec<u32>,
    /// The tokens so far, and those of the last window.
    tokens: Vec<Token>,
    fresh: Vec<Token>,
}

/// A token of the symbols from `start` to `end`.
#[derive(Clone, Copy)]
struct Token {
    start: u32,
    end: u32,
    id: TokenId,
}

impl Symbols {
    /// Merges a piece of any length window by window.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is not enough.
    pub(super) fn merge_in_windows(&mut self, pairs: &PairTable) -> Result<()> {
        let mut piece = std::mem::take(&mut self.windows);
        std::mem::swap(&mut piece.ids, &mut self.ids);
        std::mem::swap(&mut piece.lens, &mut self.lens);
        let n = piece.ids.len();
        piece.tokens.clear();
        let mut level: u32 = 0;
        let mut done = 0;
        while done < n {
            let (size, back) = (array_merge::MOST << (GROWTH * level), BACK << (GROWTH * level));
            let from = piece.start_of_token_at(done.saturating_sub(back));
            let end = n.min(from + size);
            if end <= done {
                level += 1;
                continue;
            }
            self.merge_window(pairs, &piece.ids[from..end], from, &mut piece.fresh)?;
            if piece.join(from)? {
                done = end;
                level = level.saturating_sub(1);
            } else {
                level += 1;
            }
        }
        self.clear();
        for token in &piece.tokens {
            let lens = &piece.lens[token.start as usize..token.end as usize];
            self.push(token.id, lens.iter().sum());
        }
        self.windows = piece;
        Ok(())
    }

    /// Fills `tokens` with those of the symbols `ids`, which begin at `from`.
    fn merge_window(
        &mut self,
        pairs: &PairTable,
        ids: &[TokenId],
        from: usize,
        tokens: &mut Vec<Token>,
    ) -> Result<()> {
        tokens.clear();
        let from = from as u32;
        if ids.len() <= array_merge::MOST {
            tokens.make_room(array_merge::MOST)?;
            self.scan.run(pairs, ids);
            let token = |(start, end, id)| Token { start: from + start as u32, end: from + end as u32, id };
            tokens.extend(self.scan.tokens().map(token));
            return Ok(());
        }
        self.clear();
        ids.iter().for_each(|&id| self.push(id, 1));
        // Unknown symbols must not be passed over here: windows would never agree.
        self.check()?;
        self.merge_down_to(1, pairs)?;
        tokens.make_room(self.ids.len())?;
        let mut start = from;
        for (&id, &len) in self.ids.iter().zip(&self.lens) {
            tokens.push(Token { start, end: start + len, id });
            start += len;
        }
        Ok(())
    }
}

impl Windows {
    /// The symbols there is memory for.
    pub(super) fn capacity(&self) -> usize {
        self.ids.capacity().max(self.tokens.capacity()).max(self.fresh.capacity())
    }

    /// Where the token begins that holds a symbol.
    fn start_of_token_at(&self, symbol: usize) -> usize {
        let holds = |token: &&Token| token.start as usize <= symbol;
        self.tokens.iter().rev().find(holds).map_or(0, |token| token.start as usize)
    }

    /// Joins the tokens of a window that begins at `from` to those so far, if
    /// they have one in common.
    fn join(&mut self, from: usize) -> Result<bool> {
        let Self { tokens, fresh, .. } = self;
        if from == 0 {
            std::mem::swap(tokens, fresh);
            return Ok(true);
        }
        let mut old =
            tokens.len() - tokens.iter().rev().take_while(|token| token.start as usize >= from).count();
        let mut new = 0;
        while let (Some(left), Some(right)) = (tokens.get(old), fresh.get(new)) {
            if (left.start, left.end) == (right.start, right.end) {
                tokens.truncate(old);
                memory::extend(tokens, &fresh[new..])?;
                return Ok(true);
            }
            // The one that ends first has no partner.
            let (left_end, right_end) = (left.end, right.end);
            old += usize::from(left_end <= right_end);
            new += usize::from(right_end <= left_end);
        }
        Ok(false)
    }
}
