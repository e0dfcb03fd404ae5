//! `Block`: 64 bytes that answer which of them are what; `Window`: where they lie.

/// Bytes of a window, one for each bit of a mask.
pub(crate) const WINDOW: usize = 64;

/// The places of a window with at least three bytes of it behind them.
pub(crate) const EARLY: u64 = u64::MAX >> 3;

/// The bytes of a window.
pub(crate) type Bytes = [u8; WINDOW];

/// Makes blocks; a value of it proves that this machine can.
pub(super) trait Load: Copy {
    type Block: Block;

    fn load(self, bytes: &Bytes) -> Self::Block;
}

/// 64 bytes; in a mask the lowest bit is the first byte.
pub(crate) trait Block {
    /// Which bytes are this one.
    fn eq(&self, byte: u8) -> u64;

    /// Which bytes are one of these two of ASCII.
    fn either(&self, one: u8, other: u8) -> u64;

    /// Which bytes lie from `first` to `last`, which are both ASCII or both not.
    fn range(&self, first: u8, last: u8) -> u64;

    /// Which bytes are ASCII letters.
    fn letters(&self) -> u64;

    /// Which bytes belong to characters of two bytes or more.
    fn long(&self) -> u64;
}

/// A block and the text it is taken from.
pub(crate) struct Window<'a, B> {
    pub(crate) block: B,
    /// The whole text.
    pub(crate) bytes: &'a [u8],
    /// Where in the text the window begins: at a character.
    pub(crate) at: usize,
    /// How many of its bytes are the text's; fewer than 64 at the end of the
    /// text, and never 0.
    pub(crate) len: usize,
}

impl<B> Window<'_, B> {
    /// How many bytes are decided for splitters that look behind white space
    /// and up to three bytes behind an apostrophe.
    ///
    /// White space that reaches the end of the window may continue, and how it is
    /// split depends on what follows: only its start is known. The same holds
    /// for an apostrophe in the last three bytes.
    #[inline(always)]
    pub(crate) fn decided(&self, spaces: u64, apostrophes: u64) -> usize {
        let trailing = (spaces << (WINDOW - self.len)).leading_ones() as usize;
        let decided = if trailing == 0 { self.len } else { self.len - trailing + 1 };
        if apostrophes & !EARLY == 0 { decided } else { decided.min(EARLY.count_ones() as usize) }
    }
}

/// The places of a mask, in order.
#[inline(always)]
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (place < u64::BITS).then_some(place as usize)
    })
}
