//! `Sink`: receives the tokens of a text.
//!
//! A call chooses its sink once: [`Ids`], [`Count`], [`Spans`](super::spans::Spans) or [`Words`].
//! [`TextEncoder`](super::text_encoder::TextEncoder) is compiled for each, so that what a sink does not keep
//! costs nothing.

use crate::error::Result;
use crate::memory::{self, MakeRoom};
use crate::models::Worker;
use crate::text::Piece;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::encoding::{SourceTexts, Span};
use crate::tokenizer::raw_words::RawSection;
use crate::tokenizer::special_policy::SpecialPolicy;
use crate::tokenizer::text_encoder::Origin;
use crate::vocab::TokenId;

/// A place in what a sink holds.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The number of ids before it.
    pub(super) id: usize,
    /// The number of source texts before it.
    pub(super) source_text: usize,
}

/// The arrays that a batch is put together of.
#[derive(Default)]
pub(super) struct Arrays {
    pub(super) ids: Vec<TokenId>,
    pub(super) spans: Vec<Span>,
    pub(super) source_texts: SourceTexts,
}

/// Where the tokens of a text go.
pub(super) trait Sink {
    /// Whether spans are kept, for which normalizers and pre-tokenizers keep the way to the original text.
    const SPANS: bool = false;
    /// Whether each piece must come as the pre-tokenizer cuts it, so that no stage may be skipped.
    const NEEDS_PIECES: bool = false;

    /// The place where the next id goes.
    fn place(&self) -> Place;

    /// Whether there are as many ids as were asked for.
    fn is_full(&self, limit: usize) -> bool {
        self.place().id >= limit
    }

    /// Makes room for the ids of so many bytes, where a byte is at most one id.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is not enough, as for all of these.
    fn reserve(&mut self, _n_bytes: usize) -> Result<()> {
        Ok(())
    }

    /// Takes the ids that `encode` appends.
    fn append(
        &mut self,
        worker: &mut Worker<'_>,
        encode: impl FnOnce(&mut Worker<'_>, &mut Vec<TokenId>) -> Result<()>,
    ) -> Result<()>;

    /// Takes the ids of pieces that follow each other in a text, which is rewritten from `origin`.
    fn pieces(
        &mut self,
        _policy: &SpecialPolicy<'_>,
        text: &[u8],
        pieces: &[Piece],
        _origin: &Origin<'_>,
        worker: &mut Worker<'_>,
    ) -> Result<()> {
        self.append(worker, |worker, ids| {
            worker.encode_chunk(text, pieces, ids);
            worker.check()
        })
    }

    /// Takes the ids of raw words: see `raw_words`.
    fn raw_words(
        &mut self,
        _policy: &SpecialPolicy<'_>,
        section: &mut RawSection<'_>,
        pieces: &[Piece],
        worker: &mut Worker<'_>,
    ) -> Result<()> {
        self.append(worker, |worker, ids| {
            worker.encode_raw_words(section, section.text.as_bytes(), pieces, ids)
        })
    }

    /// Takes an added token that was found as `text`.
    fn token(&mut self, token: &AddedToken, span: Span, _text: &[u8]) -> Result<()> {
        self.put(&[token.id], span)
    }

    /// Takes ids that lie at one place of the text, or that a template puts in.
    fn put(&mut self, ids: &[TokenId], span: Span) -> Result<()>;

    /// Takes once more the `n` ids from a place on, for a text that is `further` on.
    fn repeat(&mut self, place: Place, n: usize, further: u64) -> Result<()>;

    /// Cuts off the ids from the `n`th on.
    fn truncate(&mut self, n: usize);

    /// The arrays that it keeps.
    fn into_arrays(self) -> Arrays;
}

/// Keeps ids.
#[derive(Default)]
pub(super) struct Ids {
    pub(super) ids: Vec<TokenId>,
}

impl Sink for Ids {
    fn place(&self) -> Place {
        Place { id: self.ids.len(), source_text: 0 }
    }

    #[inline]
    fn reserve(&mut self, n_bytes: usize) -> Result<()> {
        self.ids.make_room(n_bytes)
    }

    #[inline]
    fn append(
        &mut self,
        worker: &mut Worker<'_>,
        encode: impl FnOnce(&mut Worker<'_>, &mut Vec<TokenId>) -> Result<()>,
    ) -> Result<()> {
        encode(worker, &mut self.ids)
    }

    fn put(&mut self, ids: &[TokenId], _span: Span) -> Result<()> {
        memory::extend(&mut self.ids, ids)
    }

    fn repeat(&mut self, place: Place, n: usize, _further: u64) -> Result<()> {
        self.ids.make_room(n)?;
        self.ids.extend_from_within(place.id..place.id + n);
        Ok(())
    }

    fn truncate(&mut self, n: usize) {
        self.ids.truncate(n);
    }

    fn into_arrays(self) -> Arrays {
        Arrays { ids: self.ids, ..Arrays::default() }
    }
}

/// Counts ids and keeps none.
#[derive(Default)]
pub(super) struct Count {
    pub(super) n: usize,
    /// Ids that a cache does not know, until they are counted.
    buffer: Vec<TokenId>,
}

impl Sink for Count {
    fn place(&self) -> Place {
        Place { id: self.n, source_text: 0 }
    }

    #[inline]
    fn reserve(&mut self, n_bytes: usize) -> Result<()> {
        self.buffer.make_room(n_bytes)
    }

    #[inline]
    fn append(
        &mut self,
        worker: &mut Worker<'_>,
        encode: impl FnOnce(&mut Worker<'_>, &mut Vec<TokenId>) -> Result<()>,
    ) -> Result<()> {
        let buffer = &mut self.buffer;
        let (done, n) = worker.counting(|worker| encode(worker, buffer));
        self.n += n + self.buffer.len();
        self.buffer.clear();
        done
    }

    fn put(&mut self, ids: &[TokenId], _span: Span) -> Result<()> {
        self.n += ids.len();
        Ok(())
    }

    fn repeat(&mut self, _place: Place, n: usize, _further: u64) -> Result<()> {
        self.n += n;
        Ok(())
    }

    fn truncate(&mut self, n: usize) {
        self.n = self.n.min(n);
    }

    fn into_arrays(self) -> Arrays {
        Arrays::default()
    }
}

/// Keeps the number of the word of each id, as Hugging Face counts them: a word is a piece that the
/// pre-tokenizer cuts, or an added token found in the text.
#[derive(Default)]
pub(super) struct Words {
    ids: Vec<TokenId>,
    pub(super) words: Vec<u32>,
    n: u32,
}

impl Words {
    /// Ends a word: the ids that are of no earlier one are its ids.
    fn end(&mut self) -> Result<()> {
        memory::resize(&mut self.words, self.ids.len(), self.n)?;
        self.n += 1;
        Ok(())
    }
}

impl Sink for Words {
    const NEEDS_PIECES: bool = true;

    fn place(&self) -> Place {
        Place { id: self.ids.len(), source_text: 0 }
    }

    fn append(
        &mut self,
        worker: &mut Worker<'_>,
        encode: impl FnOnce(&mut Worker<'_>, &mut Vec<TokenId>) -> Result<()>,
    ) -> Result<()> {
        encode(worker, &mut self.ids)
    }

    fn pieces(
        &mut self,
        _policy: &SpecialPolicy<'_>,
        text: &[u8],
        pieces: &[Piece],
        _origin: &Origin<'_>,
        worker: &mut Worker<'_>,
    ) -> Result<()> {
        for piece in pieces {
            self.ids.make_room(piece.range().len())?;
            worker.encode_chunk(text, std::slice::from_ref(piece), &mut self.ids);
            worker.check()?;
            self.end()?;
        }
        Ok(())
    }

    fn put(&mut self, ids: &[TokenId], _span: Span) -> Result<()> {
        memory::extend(&mut self.ids, ids)?;
        self.end()
    }

    /// Repeated ids are of separate words, which this does not number.
    fn repeat(&mut self, _place: Place, _n: usize, _further: u64) -> Result<()> {
        Err(crate::Error::Internal("words are numbered piece by piece".into()))
    }

    fn truncate(&mut self, n: usize) {
        self.ids.truncate(n);
        self.words.truncate(n);
    }

    fn into_arrays(self) -> Arrays {
        Arrays { ids: self.ids, ..Arrays::default() }
    }
}
