//! The loops: windows over a text, places of a window into pieces.
//!
//! Generic over what makes the blocks and over the family, and inlined into a
//! function for each form, so that all of a window is one run of straight code.

use std::hint::select_unpredictable;

use super::block::{Block, Bytes, Load, WINDOW, Window};
use super::classes::Shape;
use crate::step_counter::step;
use crate::text::Piece;
use crate::text::unicode::{end_of_run, flag};

/// Splitters whose pieces follow each other without gaps.
///
/// Where a piece ends depends on its start and what follows, on nothing before.
pub(crate) trait Tiles {
    /// Where pieces start in a window that begins with the start of one.
    fn starts<B: Block>(&self, window: &Window<'_, B>) -> Starts;

    /// End of the piece at `start`, one character at a time: the reference implementation.
    fn piece_end(&self, bytes: &[u8], start: usize) -> usize;
}

/// Places where pieces start.
pub(crate) struct Starts {
    /// A bit for each; without meaning at `decided` and behind.
    pub(crate) places: u64,
    /// How many bytes of the window are decided; all of them in the window at
    /// the end of a text mean that the last piece ends there, too.
    pub(crate) decided: usize,
    /// The last character of the window if it is whole and decided and a piece
    /// that started there would end where the one it is in does; else 0. The
    /// next window can begin there then, with a piece still open.
    pub(crate) resume: usize,
}

/// Splitters that drop the white space between pieces.
///
/// The rest of a window at the end of a text is spaces, which change nothing.
pub(crate) trait Words {
    /// Where pieces start and end in a window that begins in none.
    ///
    /// Each end has its start before it; the end of the last piece may lie
    /// behind the window. It is then the end of the piece that starts at any
    /// character of it, so that the next window can begin at the last one.
    fn places<B: Block>(&self, window: &Window<'_, B>) -> Places;
}

/// Places where pieces start and where they end, a bit for each.
pub(crate) struct Places {
    pub(crate) starts: u64,
    pub(crate) ends: u64,
    pub(crate) shape: Shape,
}

impl Places {
    /// Those of words between characters that are `alone` and `blanks`, all bytes of each.
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

/// The window at `at`, before the end; the end of the text is filled up with `pad`.
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

/// Writes the places of `bits`, counted from `base`, one after the other.
///
/// Eight at a time, whether there are as many or not: what is written past
/// their number is overwritten by the next or counts for nothing.
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

/// Room for the pieces of a window behind the first `n`.
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
    // Where the piece in hand starts, and the window: there or further on in it.
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
    // Where the piece in hand starts if there is one, else where the window does.
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
        // A last start without an end behind it: a piece is open, the one in
        // hand if nothing ended.
        let is_open = starts.leading_zeros() <= ends.leading_zeros();
        let last = WINDOW - 1 - select_unpredictable(is_open, starts, ends).leading_zeros() as usize;
        piece = if ends == 0 { first as usize } else { start + last };
        start += last.max(shape.resume(starts, is_open));
    }
    *at = piece;
    n
}
