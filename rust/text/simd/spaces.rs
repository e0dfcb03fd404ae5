//! Copies ASCII words and writes `▁` for the spaces between them, 64 bytes at a time.
//!
//! Copies sixteen bytes at once for a word of any length; what follows overwrites the excess.
//! `normalizer::sentencepiece` handles all other text, in which rules may apply to each character.

use super::block::{Block, Load, WINDOW, bits};
use super::fill::below;
use crate::step_counter::step;
use crate::text::SPACE_MARK_BYTES;

/// The mark for a space, and a byte that is overwritten.
const MARK: [u8; 4] = {
    let [a, b, c] = SPACE_MARK_BYTES;
    [a, b, c, 0]
};

/// How many bytes are copied at once.
const COPIED: usize = 16;
/// The bytes that a window reads, including the excess.
const SOURCE: usize = WINDOW + COPIED;
/// The bytes that a window may write, including the excess.
const WRITTEN: usize = 2 * WINDOW + COPIED + MARK.len();

/// Space for the output of some windows.
pub(crate) type Room = [u8; 8 * WRITTEN];

/// [`super::Level::spell_spaces`].
#[inline(always)]
pub(super) fn spell<L: Load>(load: L, bytes: &[u8], out: &mut Room) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    while let Some(source) = bytes.get(read..).and_then(<[u8]>::first_chunk::<SOURCE>)
        && let Some(room) = out.get_mut(written..).and_then(<[u8]>::first_chunk_mut::<WRITTEN>)
    {
        step();
        let Some(block) = source.first_chunk().map(|bytes| load.load(bytes)) else { break };
        let printable = block.range(b'!', b'~');
        let spaces = block.eq(b' ') & printable >> 1;
        let taken = (printable | spaces).trailing_ones() as usize;
        // The byte after the last one is unknown, or begins a longer character, which may combine
        // with the last one.
        let is_open = taken == WINDOW || block.long() >> taken & 1 == 1;
        let taken = taken.saturating_sub(usize::from(is_open));
        written += copy(source, room, taken, spaces & below(taken));
        read += taken;
        if taken + 1 < WINDOW {
            break;
        }
    }
    (read, written)
}

/// Copies the first `taken` bytes and writes a mark for each space; returns how many bytes were
/// written.
#[inline(always)]
fn copy(source: &[u8; SOURCE], room: &mut [u8; WRITTEN], taken: usize, spaces: u64) -> usize {
    let (mut from, mut to) = (0, 0);
    for end in bits(spaces).chain([taken]) {
        let next = to + (end - from);
        while from < end {
            let word = source.get(from..).and_then(<[u8]>::first_chunk::<COPIED>);
            let place = room.get_mut(to..).and_then(<[u8]>::first_chunk_mut::<COPIED>);
            if let (Some(word), Some(place)) = (word, place) {
                *place = *word;
            }
            (from, to) = (from + COPIED, to + COPIED);
        }
        if let Some(place) = room.get_mut(next..).and_then(<[u8]>::first_chunk_mut::<4>) {
            *place = MARK;
        }
        (from, to) = (end + 1, next + 3);
    }
    // No mark follows the last word.
    to - 3
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    /// Reference implementation: how many bytes are taken.
    fn taken_of(bytes: &[u8]) -> usize {
        let is_printed = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_graphic);
        let is_taken = |at: usize| is_printed(at) || bytes.get(at) == Some(&b' ') && is_printed(at + 1);
        (0..bytes.len()).take_while(|&at| is_taken(at)).count()
    }

    /// Reference implementation of the written bytes.
    fn spelled(bytes: &[u8]) -> Vec<u8> {
        bytes.split(|byte| *byte == b' ').collect::<Vec<_>>().join(&MARK[..3])
    }

    #[test]
    fn output_equals_the_reference_implementation() {
        let mut state = 1_u32;
        let mut random = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        for round in 0..if cfg!(miri) { 20 } else { 4000 } {
            let rare = [b' ', b'\n', 0x7F, 0xC3, 0xA9, 0];
            let one_in = 1 + random(300);
            let longest = 1 + random(70);
            let text: Vec<u8> = (0..random(1400))
                .map(|_| {
                    if random(one_in) == 0 && round % 3 > 0 {
                        rare[random(rare.len())]
                    } else if random(longest) == 0 {
                        b' '
                    } else {
                        b'!' + random(94) as u8
                    }
                })
                .collect();
            let taken = taken_of(&text);
            for level in Level::all() {
                let mut room = [0; 8 * WRITTEN];
                let (read, written) = level.spell_spaces(&text, &mut room);
                assert_eq!(room[..written], spelled(&text[..read]), "{}", level.name());
                // It stops at a byte that it cannot take, at the end of the text, or when there is
                // no room.
                let is_long = text.get(taken).is_some_and(|byte| !byte.is_ascii());
                let all = taken.saturating_sub(usize::from(is_long));
                let is_early = read + SOURCE > text.len() || written + WRITTEN > room.len();
                assert!(read == all || read < all && is_early, "{read} of {taken} of {}", text.len());
            }
        }
    }
}
