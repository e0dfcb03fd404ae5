//! Pieces of a fixed number of characters, as Hugging Face's `FixedLength` cuts them.

use std::num::NonZeroUsize;

use crate::text::unicode::flags_at;

/// The end of the piece that starts at `start`.
pub(super) fn piece_end(bytes: &[u8], start: usize, length: NonZeroUsize) -> usize {
    let mut end = start;
    for _ in 0..length.get() {
        match flags_at(bytes, end) {
            Some((_, len)) => end += len,
            None => break,
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_the_fixed_length() {
        let bytes = "aé中😀b".as_bytes();
        let two = NonZeroUsize::new(2).unwrap();
        assert_eq!(piece_end(bytes, 0, two), 3);
        assert_eq!(piece_end(bytes, 3, two), 10);
        assert_eq!(piece_end(bytes, 10, two), 11);
        assert_eq!(piece_end(bytes, 0, NonZeroUsize::MAX), 11);
    }
}
