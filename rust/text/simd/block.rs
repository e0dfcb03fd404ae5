//! `Block`: 64 bytes as masks of their classes; `Window`: their position in a text.

/// The number of bytes in a window, one per bit of a mask.
pub(crate) const WINDOW: usize = 64;

/// The positions of a window with at least three more bytes after them.
pub(crate) const EARLY: u64 = u64::MAX >> 3;

/// The bytes of a window.
pub(crate) type Bytes = [u8; WINDOW];

/// Loads blocks. A value of this type proves that the machine can.
pub(crate) trait Load: Copy {
    type Block: Block;

    fn load(self, bytes: &Bytes) -> Self::Block;
}

/// 64 bytes. The lowest bit of a mask is the first byte.
pub(crate) trait Block {
    /// Which bytes equal `byte`.
    fn eq(&self, byte: u8) -> u64;

    /// Which bytes equal one of two ASCII bytes.
    fn either(&self, one: u8, other: u8) -> u64;

    /// Which bytes are in `first..=last`, of which both ends are ASCII or both are not.
    fn range(&self, first: u8, last: u8) -> u64;

    /// Which bytes are ASCII letters.
    fn letters(&self) -> u64;

    /// Which bytes belong to characters of two bytes or more.
    fn long(&self) -> u64;
}

/// A block and its position in a text.
pub(crate) struct Window<'a, B> {
    pub(crate) block: B,
    /// The whole text.
    pub(crate) bytes: &'a [u8],
    /// The start of the window in the text, at a character boundary.
    pub(crate) at: usize,
    /// How many bytes of the window are in the text: fewer than 64 at the end of the text, but
    /// never 0.
    pub(crate) len: usize,
}

impl<B> Window<'_, B> {
    /// How many bytes are decided, for splitters that look past white space and up to three bytes
    /// past an apostrophe.
    ///
    /// White space at the end of the window may continue, and its split depends on what follows, so
    /// only its start is decided. The same holds for an apostrophe in the last three bytes.
    #[inline(always)]
    pub(crate) fn decided(&self, spaces: u64, apostrophes: u64) -> usize {
        let trailing = (spaces << (WINDOW - self.len)).leading_ones() as usize;
        let decided = if trailing == 0 { self.len } else { self.len - trailing + 1 };
        if apostrophes & !EARLY == 0 { decided } else { decided.min(EARLY.count_ones() as usize) }
    }
}

/// The positions of the set bits, in order.
#[inline(always)]
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (place < u64::BITS).then_some(place as usize)
    })
}
