//! Classes of characters with several bytes, as masks over all their bytes.
//!
//! Characters are looked up one by one in the tables, unless the lead byte shows that they are
//! ideographs or Hangul. A window without such characters only pays for one test.

use std::hint::select_unpredictable;

use super::block::{Block, WINDOW, Window};
use crate::text::unicode::{Flags, IDEOGRAPH};

/// The boundaries of the characters in a window.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// The bytes of characters after their first byte.
    inside: u64,
}

impl Shape {
    /// The shape of a window in which each character is one byte.
    pub(crate) const ASCII: Self = Self { inside: 0 };

    /// The starts of the characters right after the characters that start at `places`.
    ///
    /// The sum carries over the bytes of a character and ends where the next one starts, so carries
    /// never meet.
    #[inline(always)]
    pub(crate) fn next(self, places: u64) -> u64 {
        (places << 1).wrapping_add(self.inside) & !self.inside
    }

    /// Which of `places` are starts of characters.
    #[inline(always)]
    pub(crate) fn first(self, places: u64) -> u64 {
        places & !self.inside
    }

    /// The start of the last character of a window, which may be incomplete.
    #[inline(always)]
    pub(crate) fn last(self) -> usize {
        WINDOW - 1 - self.inside.leading_ones() as usize
    }

    /// Where the next window can resume: [`Shape::last`] if the last piece `is_open` there, else 0.
    /// Also 0 for ASCII with more `places` than the first, because words are short, and restarting
    /// at the last of them costs less.
    #[inline(always)]
    pub(crate) fn resume(self, places: u64, is_open: bool) -> usize {
        if self.inside == 0 && places != 1 { 0 } else { select_unpredictable(is_open, self.last(), 0) }
    }

    /// The starts of the characters whose last byte is at `places`, for characters of at most three
    /// bytes.
    #[inline(always)]
    pub(crate) fn back(self, places: u64) -> u64 {
        let second = (places & self.inside) >> 1;
        self.first(places | second | (second & self.inside) >> 1)
    }

    /// `places` with all other bytes of the characters that start there.
    #[inline(always)]
    fn whole(self, places: u64) -> u64 {
        places | self.inside & !self.inside.wrapping_add(places << 1 & self.inside)
    }
}

/// The bytes of the longer characters that have each of `classes`.
///
/// `look_up` returns the flags of the character at an offset of a text.
#[inline(always)]
pub(crate) fn long<B: Block, const N: usize>(
    window: &Window<'_, B>,
    classes: [Flags; N],
    look_up: impl Fn(&[u8], usize) -> Flags,
) -> ([u64; N], Shape) {
    let by_lead = ByLead { ideographs: IDEOGRAPH, syllables: IDEOGRAPH, none: |_: &B| 0 };
    long_by_lead(window, classes, by_lead, look_up)
}

/// The flags of characters that are decided by their lead bytes.
pub(crate) struct ByLead<F> {
    /// Flags of U+4000 to U+9FFF, except for the hexagrams U+4DC0 to U+4DFF.
    pub(crate) ideographs: Flags,
    /// Flags of U+B000 to U+CFFF.
    pub(crate) syllables: Flags,
    /// Which other lead bytes only belong to characters without flags.
    pub(crate) none: F,
}

/// [`long`] with given flags per lead byte instead of those of letters.
#[inline(always)]
pub(crate) fn long_by_lead<B: Block, const N: usize>(
    window: &Window<'_, B>,
    classes: [Flags; N],
    by_lead: ByLead<impl Fn(&B) -> u64>,
    look_up: impl Fn(&[u8], usize) -> Flags,
) -> ([u64; N], Shape) {
    let long = window.block.long();
    if long == 0 {
        return ([0; N], Shape { inside: 0 });
    }
    let block = &window.block;
    let inside = block.range(0x80, 0xBF);
    let shape = Shape { inside };
    // U+5000 to U+9FFF, U+B000 to U+CFFF, and U+4000 to U+4FFF without the hexagrams U+4DC0 to
    // U+4DFF, which the second byte identifies.
    let ideographs = block.range(0xE5, 0xE9) | block.eq(0xE4) & !(block.eq(0xB7) >> 1) & !(1 << (WINDOW - 1));
    let syllables = block.range(0xEB, 0xEC);
    let of = |flags: Flags, class, places| if flags & class == 0 { 0 } else { places };
    let mut found = classes
        .map(|class| of(by_lead.ideographs, class, ideographs) | of(by_lead.syllables, class, syllables));
    let mut others = long & !inside & !(ideographs | syllables);
    if others != 0 {
        others &= !(by_lead.none)(block);
    }
    while others != 0 {
        let place = others.trailing_zeros();
        let flags = look_up(window.bytes, window.at + place as usize);
        for (found, class) in found.iter_mut().zip(classes) {
            *found |= u64::from(flags & class != 0) << place;
        }
        others &= others - 1;
    }
    (found.map(|places| shape.whole(places)), shape)
}
