//! The four Unicode normal forms as tokenizers 0.23 makes them.
//!
//! Most text is already in the form and is copied. Only stretches around a character that may
//! change go through [`NormalFormRun`]. A stretch begins at a character that no earlier one can
//! affect and ends before the next such character, so stretches are independent (UAX #15, section
//! 9). These characters are computed from the tables of tokenizers. A character that begins a
//! stretch and composes with nothing becomes its image in the tables.

use std::sync::LazyLock;

use super::ascii_end;
use super::frozen::{CANONICAL, CLASSES, COMPATIBLE, class, compose, jamo, seconds};
use super::normal_form_run::NormalFormRun;
use super::point_map::PointMap;
use super::rewrite::Rewrite;

/// Flag of [`Form::active`]: the character may change, or characters before it may change it.
const ACTIVE: u32 = 1;
/// Flag: the character never composes with one before it.
const FIRST: u32 = 2;
/// Flag: alone, the character becomes its image in the tables.
const IMAGE: u32 = 4;

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

    /// The flags of each character; 0 for characters that always stay as they are.
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
        let kind = |c: char| self.kind(c, |c| seconds.get(c as u32) != 0);
        let maps = [&*CLASSES, CANONICAL.map(), COMPATIBLE.map(), &seconds, &syllables];
        PointMap::combined(&maps, |point| char::from_u32(point).map_or(0, kind))
    }

    /// The flags of a character. `is_second` says which characters may be the second of a composing
    /// pair.
    fn kind(self, c: char, is_second: impl Fn(char) -> bool) -> u32 {
        let mut alone = NormalFormRun::default();
        self.rearrange(&mut alone, std::iter::once(c));
        let (first, its_class) = self.parts(c).next().unwrap_or((c, class(c)));
        let is_joined = its_class != 0 || self.composes() && is_second(first);
        let is_same = alone.is(std::iter::once(c)) && class(c) == 0;
        if is_same && !is_joined && !(self.composes() && is_second(c)) {
            return 0;
        }
        let is_image = self.image(c).is_some_and(|image| alone.is(image.chars()));
        ACTIVE | if is_joined { 0 } else { FIRST } | if is_image { IMAGE } else { 0 }
    }

    /// Whether a character never changes and changes no character before it.
    pub(super) fn keeps(self, c: char) -> bool {
        self.active().get(c as u32) == 0
    }

    /// The image of a character in the tables.
    fn image(self, c: char) -> Option<&'static str> {
        let compatible = if self.is_compatible() { COMPATIBLE.get(c) } else { None };
        compatible.or_else(|| CANONICAL.get(c))
    }

    /// The full decomposition of a character, with combining classes.
    fn parts(self, c: char) -> impl Iterator<Item = (char, u8)> {
        parts(c, self.image(c))
    }

    /// Brings a stretch of characters into this form.
    fn rearrange(self, run: &mut NormalFormRun, stretch: impl Iterator<Item = char>) {
        run.clear();
        stretch.for_each(|c| run.push(c, self.parts(c)));
        run.sort();
        if self.composes() {
            run.compose(compose);
        }
    }

    /// Writes the text in this form; returns `false` if it is already in it.
    pub(super) fn rewrite<R: Rewrite>(self, text: &str, out: &mut R) -> bool {
        let bytes = text.as_bytes();
        let first_long = ascii_end(bytes, 0);
        if first_long == bytes.len() {
            return false;
        }
        let active = self.active();
        let kind = |c: char| active.get(c as u32);
        let goes_on = |c: &char| kind(*c) & (ACTIVE | FIRST) == ACTIVE;
        let mut run = NormalFormRun::default();
        let (mut copied, mut at) = (0, first_long);
        while let Some(c) = text[at..].chars().next() {
            let next = at + c.len_utf8();
            let kind = kind(c);
            if kind == 0 {
                at = ascii_end(bytes, next);
                continue;
            }
            if kind == ACTIVE | FIRST | IMAGE
                && !text[next..].chars().next().is_some_and(|c| goes_on(&c))
                && let Some(image) = self.image(c)
            {
                out.copy(&text[copied..at]);
                out.replace(next - at, image);
                copied = next;
                at = ascii_end(bytes, next);
                continue;
            }
            // The text not yet copied ends in an inactive character, which begins the stretch.
            let joins = self.composes() && kind & FIRST == 0;
            let before = if joins { text[copied..at].chars().next_back() } else { None };
            let start = at - before.map_or(0, char::len_utf8);
            out.copy(&text[copied..start]);
            let rest = text[next..].chars().take_while(goes_on);
            self.rearrange(&mut run, before.into_iter().chain([c]).chain(rest));
            copied = start + run.source_len();
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

/// The characters of `image` with their classes, or `c` itself if there is no image.
pub(super) fn parts(c: char, image: Option<&'static str>) -> impl Iterator<Item = (char, u8)> {
    let (alone, n) = match (image, jamo(c)) {
        (Some(_), _) => ([c; 3], 0),
        (None, Some(syllable)) => syllable,
        (None, None) => ([c; 3], 1),
    };
    image.unwrap_or("").chars().chain(alone.into_iter().take(n)).map(|c| (c, class(c)))
}

#[cfg(test)]
mod tests {
    use super::super::rewrite::Plain;
    use super::super::{Aligned, growth::Growth};
    use super::*;

    /// Reference implementation: rewrites the text as a single stretch.
    fn whole<R: Rewrite>(form: Form, text: &str, out: &mut R) {
        let mut run = NormalFormRun::default();
        form.rearrange(&mut run, text.chars());
        run.write(text, out, |c, image| image.push(c));
    }

    /// Characters that change, characters that compose with neighbours, and characters that do
    /// neither.
    const SIGNS: [char; 24] = [
        'a',
        'A',
        ' ',
        '\u{301}',
        '\u{327}',
        '\u{323}',
        '\u{FDFA}',
        '\u{FB01}',
        '\u{1E9B}',
        '\u{958}',
        '\u{93C}',
        '\u{915}',
        '\u{212B}',
        '\u{AC00}',
        '\u{AC01}',
        '\u{1100}',
        '\u{1161}',
        '\u{11A8}',
        '\u{344}',
        '\u{FF76}',
        '\u{FF9E}',
        '\u{FB2C}',
        '\u{1D15F}',
        '\u{3B1}',
    ];

    #[test]
    fn stretches_equal_the_whole_text() {
        for form in [Form::Nfc, Form::Nfd, Form::Nfkc, Form::Nfkd] {
            let n = SIGNS.len();
            for triple in 0..n * n * n {
                let text: String =
                    [triple % n, triple / n % n, triple / n / n].into_iter().map(|at| SIGNS[at]).collect();
                let (mut plain, mut expected) = (Plain::default(), Plain::default());
                whole(form, &text, &mut expected);
                let expected = expected.checked().unwrap();
                let changes = form.rewrite(&text, &mut plain);
                let found = if changes { plain.checked().unwrap() } else { text.clone() };
                assert_eq!(found, expected, "{form:?} {text:?}");
                if changes {
                    let growth = Growth::of_aligned(text.len()).unwrap();
                    let (mut one, mut other) = (Aligned::within(growth), Aligned::within(growth));
                    form.rewrite(&text, &mut one);
                    whole(form, &text, &mut other);
                    for (at, c) in expected.char_indices() {
                        let range = at..at + c.len_utf8();
                        assert_eq!(
                            one.to_original(range.clone()),
                            other.to_original(range),
                            "{form:?} {text:?} {at}"
                        );
                    }
                }
            }
        }
    }
}
