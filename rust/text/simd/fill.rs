//! The loops over the windows of a text, which convert positions in windows to pieces.
//!
//! Generic over the blocks and the family, and inlined into one function for each form, so that the
//! code for a window has no calls.

use std::hint::select_unpredictable;

use super::block::{Block, Bytes, Load, WINDOW, Window};
use super::classes::Shape;
use crate::step_counter::step;
use crate::text::Piece;
use crate::text::unicode::{end_of_run, flag};

/// Splitters whose pieces follow each other without gaps.
///
/// The end of a piece only depends on its start and what follows.
pub(crate) trait Tiles {
    /// Where pieces start in a window that begins at the start of a piece.
    fn starts<B: Block>(&self, window: &Window<'_, B>) -> Starts;

    /// The end of the piece at `start`, one character at a time: the reference implementation.
    fn piece_end(&self, bytes: &[u8], start: usize) -> usize;
}

/// The positions where pieces start.
pub(crate) struct Starts {
    /// One bit per position; meaningless from `decided` on.
    pub(crate) places: u64,
    /// How many bytes of the window are decided. If all of them are, in the window at the end of a
    /// text, the last piece ends there, too.
    pub(crate) decided: usize,
    /// The start of the last character of the window, if it is complete and decided and a piece
    /// that started there would end where the current piece does; else 0. The next window can then
    /// begin there with the piece still open.
    pub(crate) resume: usize,
}

/// Splitters that drop the white space between pieces.
///
/// The last window of a text is padded with spaces, which do not change the pieces.
pub(crate) trait Words {
    /// Where pieces start and end in a window that begins outside of any piece.
    ///
    /// Each end follows its start; the end of the last piece may be after the window. From any
    /// character of that piece the end must be the same, so that the next window can begin at the
    /// last character.
    fn places<B: Block>(&self, window: &Window<'_, B>) -> Places;
}

/// The positions where pieces start and end, one bit each.
pub(crate) struct Places {
    pub(crate) starts: u64,
    pub(crate) ends: u64,
    pub(crate) shape: Shape,
}

impl Places {
    /// The positions of words between blanks and characters that are `alone`. The masks contain all
    /// bytes of each character.
    #[inline(always)]
    pub(crate) fn of_words(blanks: u64, alone: u64, shape: Shape) -> Self {
        let words = !(blanks | alone);
        let single = shape.first(alone);
        Self { starts: words & !(words << 1) | single, ends: !words & words << 1 | shape.next(single), shape }
    }
}

/// The bits below `n`, which is at most 64.
#[inline(always)]
pub(super) fn below(n: usize) -> u64 {
    if n < WINDOW { (1 << n) - 1 } else { u64::MAX }
}

/// The window at `at`, which is before the end. After the end of the text it is padded with `pad`.
#[inline(always)]
fn window<L: Load>(load: L, bytes: &[u8], at: usize, pad: u8) -> Window<'_, L::Block> {
    step();
    let rest = bytes.get(at..).unwrap_or(&[]);
    if let Some(whole) = rest.first_chunk::<WINDOW>() {
        return Window { block: load.load(whole), bytes, at, len: WINDOW };
    }
    let mut padded: Bytes = [pad; WINDOW];
    for (to, from) in padded.iter_mut().zip(rest) {
        *to = *from;
    }
    Window { block: load.load(&padded), bytes, at, len: rest.len() }
}

/// Writes the positions of the set bits plus `base`, in order.
///
/// Always writes eight at a time; entries beyond the number of bits are overwritten by the next
/// call or ignored.
#[inline(always)]
fn write(out: &mut [Piece; WINDOW], mut bits: u64, base: u32, mut put: impl FnMut(&mut Piece, u32)) {
    for eight in out.as_chunks_mut::<8>().0 {
        for piece in eight {
            put(piece, base + bits.trailing_zeros());
            bits &= bits.wrapping_sub(1);
        }
        if bits == 0 {
            break;
        }
    }
}

/// Space for the pieces of a window after the first `n`.
#[inline(always)]
fn room(out: &mut [Piece], n: usize) -> Option<&mut [Piece; WINDOW]> {
    out.get_mut(n..).and_then(|rest| rest.first_chunk_mut())
}

/// [`super::Level::tiles`].
#[inline(always)]
pub(super) fn tiles<L: Load, F: Tiles>(
    load: L,
    family: &F,
    bytes: &[u8],
    at: &mut usize,
    out: &mut [Piece],
) -> usize {
    // The start of the current piece, and of the window, which is at the same byte or later.
    let (mut piece, mut start, mut n) = (*at, *at, 0);
    while start < bytes.len() {
        let Some(room) = room(out, n) else { break };
        let window = window(load, bytes, start, 0);
        let Starts { places, decided, resume } = family.starts(&window);
        let mut ends = places & below(decided) & !1;
        if decided == window.len && window.len < WINDOW {
            ends |= 1 << window.len;
        }
        if ends != 0 {
            let mut last = piece as u32;
            write(room, ends, start as u32, |piece, end| {
                *piece = Piece { start: last, end };
                last = end;
            });
            let end = WINDOW - 1 - ends.leading_zeros() as usize;
            n += ends.count_ones() as usize;
            piece = start + end;
            start += end.max(resume);
        } else if resume != 0 {
            start += resume;
        } else {
            let end = family.piece_end(bytes, start);
            debug_assert!(start < end);
            room[0] = Piece { start: piece as u32, end: end as u32 };
            n += 1;
            (piece, start) = (end, end);
        }
    }
    *at = piece;
    n
}

/// [`super::Level::words`].
#[inline(always)]
pub(super) fn words<L: Load, F: Words>(
    load: L,
    family: &F,
    bytes: &[u8],
    at: &mut usize,
    out: &mut [Piece],
) -> usize {
    // The start of the current piece if there is one, else of the window.
    let (mut piece, mut start, mut n) = (*at, *at, 0);
    while start < bytes.len() {
        let Some(room) = room(out, n) else { break };
        let window = window(load, bytes, start, b' ');
        let Places { starts, ends, shape } = family.places(&window);
        if starts == 0 {
            start = end_of_run(bytes, start, flag::SPACE);
            piece = start;
            continue;
        }
        let base = start as u32;
        let first = if piece < start { piece as u32 } else { base + starts.trailing_zeros() };
        write(room, starts, base, |piece, place| piece.start = place);
        room[0].start = first;
        write(room, ends, base, |piece, place| piece.end = place);
        n += ends.count_ones() as usize;
        // If the last start has no end after it, a piece is open: the current one if nothing ended.
        let is_open = starts.leading_zeros() <= ends.leading_zeros();
        let last = WINDOW - 1 - select_unpredictable(is_open, starts, ends).leading_zeros() as usize;
        piece = if ends == 0 { first as usize } else { start + last };
        start += last.max(shape.resume(starts, is_open));
    }
    *at = piece;
    n
}
