//! The four Unicode normal forms as tokenizers 0.23 makes them.
//!
//! Text that is in the form already is copied; only stretches around a
//! character that may change go through [`Reordering`]. Such a stretch begins at a
//! character that no earlier one can reach and ends before the next, so
//! stretches are independent (UAX #15, section 9). Which characters those are
//! follows from the reference's own tables.

use std::sync::LazyLock;

use super::ascii_end;
use super::frozen::{CANONICAL, CLASSES, COMPATIBLE, class, compose, jamo, seconds};
use super::point_map::PointMap;
use super::reordering::Reordering;
use super::rewrite::Rewrite;

/// A normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl Form {
    fn composes(self) -> bool {
        matches!(self, Self::Nfc | Self::Nfkc)
    }

    fn is_compatible(self) -> bool {
        matches!(self, Self::Nfkc | Self::Nfkd)
    }

    /// 1 for each character that may change, or be changed by those before it.
    fn active(self) -> &'static PointMap {
        static ACTIVE: [LazyLock<PointMap>; 4] = [
            LazyLock::new(|| Form::Nfc.find_active()),
            LazyLock::new(|| Form::Nfd.find_active()),
            LazyLock::new(|| Form::Nfkc.find_active()),
            LazyLock::new(|| Form::Nfkd.find_active()),
        ];
        &ACTIVE[self as usize]
    }

    fn find_active(self) -> PointMap {
        let seconds = PointMap::from_points(seconds().into_iter().map(|point| (point, 1)));
        let syllables = PointMap::from_set(&[(0xAC00, 0xD7A3)]);
        let is_active = |c: char| {
            if class(c) != 0 || self.is_compatible() && COMPATIBLE.get(c).is_some() {
                return true;
            }
            if !self.composes() {
                return CANONICAL.get(c).is_some() || jamo(c).is_some();
            }
            let mut run = Reordering::default();
            run.push(c, self.parts(c));
            run.compose(compose);
            let is_second = |c: char| seconds.get(c as u32) != 0;
            !run.is_only(c) || is_second(c) || self.parts(c).next().is_some_and(|(first, _)| is_second(first))
        };
        let maps = [&*CLASSES, CANONICAL.map(), COMPATIBLE.map(), &seconds, &syllables];
        PointMap::combined(&maps, |point| char::from_u32(point).map_or(0, |c| u32::from(is_active(c))))
    }

    /// The decomposition of a character in full, with combining classes.
    fn parts(self, c: char) -> impl Iterator<Item = (char, u8)> {
        let compatible = if self.is_compatible() { COMPATIBLE.get(c) } else { None };
        parts(c, compatible.or_else(|| CANONICAL.get(c)))
    }

    /// Writes a text in this form; `false` if it is so already.
    pub(super) fn rewrite<R: Rewrite>(self, text: &str, out: &mut R) -> bool {
        let bytes = text.as_bytes();
        let first_long = ascii_end(bytes, 0);
        if first_long == bytes.len() {
            return false;
        }
        let active = self.active();
        let is_active = |c: &char| active.get(*c as u32) != 0;
        let mut run = Reordering::default();
        let (mut copied, mut at) = (0, first_long);
        while let Some(c) = text[at..].chars().next() {
            if !is_active(&c) {
                at = ascii_end(bytes, at + c.len_utf8());
                continue;
            }
            // What is not yet copied is not active: its last character begins the stretch.
            let before = if self.composes() { text[copied..at].chars().next_back() } else { None };
            let start = at - before.map_or(0, char::len_utf8);
            out.copy(&text[copied..start]);
            run.clear();
            for c in before.into_iter().chain(text[at..].chars().take_while(is_active)) {
                run.push(c, self.parts(c));
                copied = start + run.source_len();
            }
            run.sort();
            if self.composes() {
                run.compose(compose);
            }
            run.write(&text[start..copied], out, |c, image| image.push(c));
            at = ascii_end(bytes, copied);
        }
        if copied == 0 {
            return false;
        }
        out.copy(&text[copied..]);
        true
    }
}

/// The characters of a decomposition with their classes, or the one character.
pub(super) fn parts(c: char, image: Option<&'static str>) -> impl Iterator<Item = (char, u8)> {
    let (alone, n) = match (image, jamo(c)) {
        (Some(_), _) => ([c; 3], 0),
        (None, Some(syllable)) => syllable,
        (None, None) => ([c; 3], 1),
    };
    image.unwrap_or("").chars().chain(alone.into_iter().take(n)).map(|c| (c, class(c)))
}
