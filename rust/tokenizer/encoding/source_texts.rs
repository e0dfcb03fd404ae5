//! `SourceTexts`: the source text of ids that do not determine it.

use crate::error::Result;
use crate::memory::{self, MakeRoom};

/// Texts by place: those of unknown tokens, and of added tokens that are not
/// spelled as they were found. All in one string, for there may be many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceTexts {
    /// Places among the ids, ascending, and where the text of each ends.
    places: Vec<(usize, usize)>,
    text: String,
}

impl SourceTexts {
    /// Sets the text of a place after all previous ones; bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is not enough.
    pub fn push(&mut self, place: usize, text: &[u8]) -> Result<()> {
        let n = self.text.len();
        let mut append = |text: &str| {
            self.text.make_room(text.len())?;
            self.text.push_str(text);
            Ok(())
        };
        let done = match crate::text::from_utf8(text) {
            Ok(text) => append(text),
            Err(_) => text.utf8_chunks().try_for_each(|chunk| {
                append(chunk.valid())?;
                append(if chunk.invalid().is_empty() { "" } else { "\u{FFFD}" })
            }),
        };
        let done = done.and_then(|()| memory::push(&mut self.places, (place, self.text.len())));
        // Without its place a text would be taken for that of the next one.
        done.inspect_err(|_| self.text.truncate(n))
    }

    /// The places with their texts, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        self.within(0..usize::MAX)
    }

    /// Those of some places, with their texts.
    pub(crate) fn within(&self, places: std::ops::Range<usize>) -> impl Iterator<Item = (usize, &str)> {
        let first = self.places.partition_point(|&(place, _)| place < places.start);
        let start = first.checked_sub(1).map_or(0, |last| self.places[last].1);
        let starts = std::iter::once(start).chain(self.places[first..].iter().map(|&(_, end)| end));
        let texts = self.places[first..].iter().zip(starts);
        texts
            .take_while(move |((place, _), _)| *place < places.end)
            .map(|(&(place, end), start)| (place, &self.text[start..end]))
    }

    /// How many places have a text.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Sets the texts of places once more, for those from `first` on: `place` is the number
    /// of the first id of theirs or, if they have no ids, of one behind them.
    ///
    /// # Errors
    /// As [`SourceTexts::push`].
    pub(crate) fn repeat(
        &mut self,
        place: usize,
        places: std::ops::Range<usize>,
        first: usize,
    ) -> Result<()> {
        let mut start = place.checked_sub(1).map_or(0, |last| self.places[last].1);
        for n in place..self.places.len() {
            let (place, end) = self.places[n];
            if place >= places.end {
                break;
            }
            self.places.make_room(1)?;
            self.text.make_room(end - start)?;
            self.text.extend_from_within(start..end);
            self.places.push((first + place - places.start, self.text.len()));
            start = end;
        }
        Ok(())
    }

    /// Forgets the texts of the places from `n` on.
    pub(crate) fn truncate(&mut self, n: usize) {
        self.places.truncate(self.places.partition_point(|&(place, _)| place < n));
        self.text.truncate(self.places.last().map_or(0, |&(_, end)| end));
    }

    /// Appends those of a text whose ids begin at `first`.
    ///
    /// # Errors
    /// As [`SourceTexts::push`].
    pub(crate) fn extend(&mut self, other: &Self, first: usize) -> Result<()> {
        other.iter().try_for_each(|(place, text)| self.push(first + place, text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::SourceTexts;

    #[test]
    fn texts_keep_their_places() {
        let mut source_texts = SourceTexts::default();
        source_texts.push(1, b"ab").unwrap();
        source_texts.push(4, b"\xFF").unwrap();
        let mut all = SourceTexts::default();
        all.extend(&source_texts, 2).unwrap();
        all.extend(&source_texts, 10).unwrap();
        assert_eq!(
            all.iter().collect::<Vec<_>>(),
            [(3, "ab"), (6, "\u{FFFD}"), (11, "ab"), (14, "\u{FFFD}")]
        );
        assert_eq!(all.within(4..11).collect::<Vec<_>>(), [(6, "\u{FFFD}")]);
        assert_eq!(all.within(12..20).collect::<Vec<_>>(), [(14, "\u{FFFD}")]);
        let mut again = all.clone();
        again.repeat(1, 4..12, 20).unwrap();
        assert_eq!(
            again.within(12..40).collect::<Vec<_>>(),
            [(14, "\u{FFFD}"), (22, "\u{FFFD}"), (27, "ab")]
        );
        again.repeat(5, 15..16, 40).unwrap();
        assert_eq!(again.len(), 6);
        all.truncate(11);
        all.push(20, b"c").unwrap();
        assert_eq!(all.iter().collect::<Vec<_>>(), [(3, "ab"), (6, "\u{FFFD}"), (20, "c")]);
    }
}
