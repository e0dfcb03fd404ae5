//! ASCII words with the spaces between them written as `▁`, 64 bytes at a time.
//!
//! Words are copied sixteen bytes at once, whatever their length, and what is too much is
//! written over by what follows. Not for other text, where a rule may apply to each
//! character: that is the work of `normalizer::sentencepiece`, one run after the other.

use super::block::{Block, Load, WINDOW, bits};
use super::fill::below;
use crate::step_counter::step;
use crate::text::SPACE_MARK_BYTES;

/// What a space is written as, and a byte that is written over.
const MARK: [u8; 4] = {
    let [a, b, c] = SPACE_MARK_BYTES;
    [a, b, c, 0]
};

/// Bytes that are copied at once.
const COPIED: usize = 16;
/// The bytes that a window reads, with those that are copied too much.
const SOURCE: usize = WINDOW + COPIED;
/// The bytes that a window may write, with those that are too much.
const WRITTEN: usize = 2 * WINDOW + COPIED + MARK.len();

/// Room for what some windows write.
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
        // What follows the last byte is not known, or of more than one byte, which may go
        // together with the one before.
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

/// Writes the first `taken` bytes, a mark instead of each space; returns how many bytes
/// that makes.
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
    // There is no mark behind the last word.
    to - 3
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    /// How many bytes are taken, one after the other.
    fn taken_of(bytes: &[u8]) -> usize {
        let is_printed = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_graphic);
        let is_taken = |at: usize| is_printed(at) || bytes.get(at) == Some(&b' ') && is_printed(at + 1);
        (0..bytes.len()).take_while(|&at| is_taken(at)).count()
    }

    /// What bytes become, one after the other.
    fn spelled(bytes: &[u8]) -> Vec<u8> {
        bytes.split(|byte| *byte == b' ').collect::<Vec<_>>().join(&MARK[..3])
    }

    #[test]
    fn what_is_taken_is_spelled_byte_by_byte() {
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
                // It stops at what it cannot take, at the end of the text or of the room.
                let is_long = text.get(taken).is_some_and(|byte| !byte.is_ascii());
                let all = taken.saturating_sub(usize::from(is_long));
                let is_early = read + SOURCE > text.len() || written + WRITTEN > room.len();
                assert!(read == all || read < all && is_early, "{read} of {taken} of {}", text.len());
            }
        }
    }
}
