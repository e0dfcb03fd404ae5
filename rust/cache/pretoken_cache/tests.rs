//! Chunks against pieces one at a time, and a cache that forgets.

use super::*;
use crate::cache::piece_table::{key, key_of_piece};

/// The ids of a piece: its bytes, as often as the first says.
fn ids_of(piece: &[u8]) -> Vec<TokenId> {
    let n = usize::from(piece[0] % 18);
    piece.iter().cycle().take(n).map(|&byte| byte.into()).collect()
}

/// The same of a part: of some they are known before.
fn ids_of_part(part: &[u8]) -> Vec<TokenId> {
    if part[0] == b'7' { vec![55] } else { ids_of(part) }
}

/// The ids of a piece of the test.
struct Cycled {
    n_missed: usize,
}

impl Misses for Cycled {
    fn short(&mut self, key: Key, ids: &mut Vec<TokenId>) {
        self.n_missed += 1;
        let bytes = key.to_le_bytes();
        ids.extend_from_slice(&ids_of(&bytes[..usize::from(bytes[15])]));
    }

    fn long(&mut self, cache: &mut PretokenCache, text: &[u8], piece: Piece, ids: &mut Vec<TokenId>) {
        let bytes = &text[piece.start as usize..piece.end as usize];
        assert!(bytes.len() > MAX_KEY);
        if bytes[0].is_ascii_digit() {
            // In parts, of which more may wait than there is room for; some are known, some
            // have no key.
            let parts = piece.range().step_by(2).map(|start| {
                let start = start as u32;
                Piece { start, end: piece.end.min(start + 2) }
            });
            let known = |part: Piece| (text[part.start as usize] == b'7').then_some([55, 55, 55, 1]);
            let key_of = |part: Piece| match text[part.start as usize] {
                b'4' => NO_KEY,
                _ => key_of_piece(text, part),
            };
            cache.encode_parts(text, parts, known, key_of, ids, self);
        } else {
            self.keyless(text, piece, ids);
        }
    }

    fn keyless(&mut self, text: &[u8], part: Piece, ids: &mut Vec<TokenId>) {
        ids.extend_from_slice(&ids_of(&text[part.range()]));
    }
}

#[test]
fn chunks_give_what_pieces_give() {
    let digits = "0123456789".repeat(70);
    let words: Vec<String> = (0..60_000_u32)
        .map(|n| match n % 101 {
            7 => "a piece too long for a key".into(),
            8 => digits[n as usize % 600..].into(),
            _ => format!("{:x}", n % 7919 * n),
        })
        .collect();
    let text = words.concat();
    let mut pieces = Vec::new();
    let mut at = 0;
    for word in &words {
        pieces.push(Piece { start: at, end: at + word.len() as u32 });
        at += word.len() as u32;
    }
    let bytes_of = |piece: &Piece| &text.as_bytes()[piece.start as usize..piece.end as usize];
    let expected: Vec<TokenId> = pieces
        .iter()
        .map(bytes_of)
        .flat_map(|bytes| match bytes.len() {
            n if n > MAX_KEY && bytes[0].is_ascii_digit() => bytes.chunks(2).flat_map(ids_of_part).collect(),
            _ => ids_of(bytes),
        })
        .collect();
    let mut cache = PretokenCache::default();
    for round in 0..2 {
        let mut ids = vec![7];
        let mut misses = Cycled { n_missed: 0 };
        for chunk in pieces.chunks(LONG_CHUNK) {
            cache.encode(text.as_bytes(), chunk, &mut ids, &mut misses);
        }
        assert_eq!(ids[1..], expected, "round {round}");
        // When counting, most ids are counted and not appended; the rest are appended.
        cache.begin_counting();
        ids.clear();
        for chunk in pieces.chunks(LONG_CHUNK) {
            cache.encode(text.as_bytes(), chunk, &mut ids, &mut misses);
        }
        let n_counted = cache.end_counting();
        assert_eq!(n_counted + ids.len(), expected.len(), "round {round}");
        assert!(n_counted > expected.len() / 2);
        assert!(round == 0 || misses.n_missed < words.len() / 3, "{}", misses.n_missed);
    }
}

#[test]
fn what_was_forgotten_is_looked_up_again() {
    // A new piece of 17 ids, then one that was met some chunks before.
    let piece = |n: u32| format!("\x11{n:06x}");
    let words: Vec<String> =
        (1..=2 * MOST_LONG as u32 / 33).flat_map(|n| [piece(n), piece(n.saturating_sub(200))]).collect();
    let text = words.concat();
    let pieces: Vec<Piece> =
        (0..words.len() as u32).map(|n| Piece { start: 7 * n, end: 7 * n + 7 }).collect();
    let expected = words.iter().flat_map(|word| ids_of(word.as_bytes()));
    let mut cache = PretokenCache::default();
    let (mut ids, mut misses) = (Vec::new(), Cycled { n_missed: 0 });
    for chunk in pieces.chunks(LONG_CHUNK) {
        cache.encode(text.as_bytes(), chunk, &mut ids, &mut misses);
    }
    assert!(cache.long.len() <= MOST_LONG + 2 * LONG_CHUNK * 17, "nothing was forgotten");
    assert!(ids.into_iter().eq(expected));
}

#[test]
fn a_full_arena_forgets_all() {
    let mut cache = PretokenCache::default();
    let (first, many) = (key(b"first", 0, 5), [1; 16]);
    cache.insert(first, &[1, 2, 3]);
    for n in 0..MOST_LONG / many.len() + 2 {
        let word = format!("{n:x}");
        cache.insert(key(word.as_bytes(), 0, word.len()), &many);
    }
    assert!(cache.long.len() <= MOST_LONG + 2 * many.len());
    assert!(!cache.hit(first, &mut Vec::new()));
}

#[test]
fn a_long_call_keeps_more_until_a_short_one() {
    let mut cache = PretokenCache::default();
    let (first, many) = (key(b"first", 0, 5), [1; 16]);
    cache.table.count_lookups(1 << 20);
    cache.insert(first, &[1, 2, 3]);
    for n in 0..2 * MOST_LONG / many.len() {
        let word = format!("{n:x}");
        cache.insert(key(word.as_bytes(), 0, word.len()), &many);
    }
    assert!(cache.n_long > MOST_LONG);
    cache.rest();
    assert!(cache.hit(first, &mut Vec::new()));
    cache.rest();
    assert!(!cache.hit(first, &mut Vec::new()));
    assert_eq!(cache.long.capacity(), 0);
}
