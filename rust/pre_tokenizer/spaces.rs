//! Pieces that begin at spaces: the result of [`super::metaspace`] without rewriting the text, for
//! callers that treat a space as `▁`.

use crate::text::Piece;
use crate::text::simd::{Block, Level, Starts, Tiles, WINDOW, Window};

/// Starts a piece at every space, or only at the first of several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spaces {
    pub(crate) every: bool,
}

impl Spaces {
    /// Writes the next pieces of a text of at most 4 GiB; see [`Level::tiles`].
    pub(crate) fn fill(self, bytes: &[u8], at: &mut usize, out: &mut [Piece]) -> usize {
        Level::best().tiles(&self, bytes, at, out)
    }
}

impl Tiles for Spaces {
    /// A window can resume at any byte, because a piece ends at the same byte from each of its
    /// bytes.
    #[inline(always)]
    fn starts<B: Block>(&self, window: &Window<'_, B>) -> Starts {
        let spaces = window.block.eq(b' ');
        let places = if self.every { spaces } else { spaces & !(spaces << 1) };
        let resume = if window.len == WINDOW { WINDOW - 1 } else { 0 };
        Starts { places, decided: window.len, resume }
    }

    /// Reference implementation, one byte at a time.
    #[inline]
    fn piece_end(&self, bytes: &[u8], start: usize) -> usize {
        let is_start = |at: &usize| bytes[*at] == b' ' && (self.every || bytes[*at - 1] != b' ');
        (start + 1..bytes.len()).find(is_start).unwrap_or(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::CHUNK;

    proptest! {
        #[test]
        fn windows_equal_the_scalar_rule(
            parts in prop::collection::vec("[a-z]{1,9}| {1,4}|[é語\n]| {60,70}|[b-d]{50,140}", 0..60),
            every: bool,
        ) {
            let text = parts.concat();
            let spaces = Spaces { every };
            let (mut expected, mut start) = (Vec::new(), 0);
            while start < text.len() {
                let end = spaces.piece_end(text.as_bytes(), start);
                expected.push(start..end);
                start = end;
            }
            for level in Level::all() {
                let (mut pieces, mut at) = (Vec::new(), 0);
                let mut out = [Piece::default(); CHUNK];
                loop {
                    let n = level.tiles(&spaces, text.as_bytes(), &mut at, &mut out);
                    if n == 0 {
                        break;
                    }
                    pieces.extend(out[..n].iter().map(|piece| piece.range()));
                }
                prop_assert_eq!(&pieces, &expected, "{}", level.name());
            }
        }
    }
}
