//! Documents from memory: vectors, iterators, and iterables of Python.

use std::sync::Arc;

use super::block::{BlockStart, Division, Place};
use super::{BLOCK_BYTES, Block, InvalidUtf8, Meter, Shard, Source};
use crate::error::Result;
use crate::memory;

/// Collects the documents of a block.
pub struct DocumentSink<'a> {
    block: &'a mut Block,
    shard: Option<Shard>,
    block_bytes: usize,
    /// The number of documents so far.
    given: &'a mut u64,
}

impl DocumentSink<'_> {
    /// Adds a document; returns whether there is room for more.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if this document does not fit into memory.
    pub fn push(&mut self, document: &[u8]) -> Result<bool> {
        let number = *self.given;
        *self.given += 1;
        if self.shard.is_none_or(|shard| shard.takes(number)) {
            self.block.push(document)?;
            memory::push(&mut self.block.places, Place { offset: 0, line: number + 1 })?;
        }
        Ok(!self.is_full())
    }

    /// Whether the block is full. Pushing more only makes the block larger.
    pub fn is_full(&self) -> bool {
        // Documents may be empty, so their number is limited, too.
        self.block.data.len() >= self.block_bytes || self.block.ends.len() > self.block_bytes / 16
    }
}

/// A source that calls a function to fill a [`DocumentSink`].
///
/// ```
/// use sentitok::corpus::{Block, InvalidUtf8, IterSource, Source, Tally};
///
/// let mut source = IterSource::from_documents(["one", "two"], InvalidUtf8::Error);
/// let (mut block, mut tally) = (Block::default(), Tally::default());
/// while source.fill(&mut block)? {
///     block.for_each_document(&mut tally, |_| Ok(()))?;
/// }
/// assert_eq!((tally.documents, tally.bytes), (2, 6));
/// # Ok::<(), sentitok::Error>(())
/// ```
pub struct IterSource<F> {
    next: F,
    name: Arc<str>,
    invalid_utf8: InvalidUtf8,
    shard: Option<Shard>,
    block_bytes: usize,
    meter: Arc<Meter>,
    given: u64,
    ended: bool,
}

impl<F: FnMut(&mut DocumentSink) -> Result<bool> + Send> IterSource<F> {
    /// A source of the documents that `next` pushes until it returns `false`. `name` is used in
    /// messages, for example `<iterable>`.
    pub fn new(name: &str, invalid_utf8: InvalidUtf8, next: F) -> Self {
        Self {
            next,
            name: name.into(),
            invalid_utf8,
            shard: None,
            block_bytes: BLOCK_BYTES,
            meter: Arc::default(),
            given: 0,
            ended: false,
        }
    }

    /// Restricts the source to the documents of a shard.
    pub fn with_shard(mut self, shard: Option<Shard>) -> Self {
        self.shard = shard;
        self
    }

    /// Uses a shared meter, for example with the code that waits for documents.
    pub fn with_meter(mut self, meter: Arc<Meter>) -> Self {
        self.meter = meter;
        self
    }

    /// Sets the approximate size of blocks (default [`BLOCK_BYTES`]).
    pub fn with_block_bytes(mut self, block_bytes: usize) -> Self {
        self.block_bytes = block_bytes.max(1);
        self
    }
}

impl IterSource<()> {
    /// A source for an iterator.
    pub fn from_documents<I>(
        documents: I,
        invalid_utf8: InvalidUtf8,
    ) -> IterSource<impl FnMut(&mut DocumentSink) -> Result<bool> + Send>
    where
        I: IntoIterator<Item: AsRef<[u8]>>,
        I::IntoIter: Send,
    {
        let mut documents = documents.into_iter();
        IterSource::new("<iterable>", invalid_utf8, move |sink| {
            for document in documents.by_ref() {
                if !sink.push(document.as_ref())? {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }
}

impl<F: FnMut(&mut DocumentSink) -> Result<bool> + Send> Source for IterSource<F> {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        self.meter.check()?;
        let origin = BlockStart { name: self.name.clone(), ..BlockStart::default() };
        block.clear(Division::Iterable, origin, self.invalid_utf8);
        while !self.ended && block.ends.is_empty() {
            let (shard, block_bytes) = (self.shard, self.block_bytes);
            let mut sink = DocumentSink { block, shard, block_bytes, given: &mut self.given };
            self.ended = !(self.next)(&mut sink)?;
            self.meter.check()?;
        }
        self.meter.advance(block.data.len());
        Ok(!block.ends.is_empty())
    }

    fn meter(&self) -> Arc<Meter> {
        self.meter.clone()
    }
}
