//! Space as mark: text that is encoded as it is where a pipeline does nothing but write spaces as `▁`.
//!
//! The model reads each space as `▁` (`models::bpe::space_as_mark`), so no text is rewritten except the
//! first word, which may get a `▁` in front. Only ids come from here, of texts without a `▁`.

use crate::text::SPACE_MARK_STR;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Tokenizer;
use super::sink::Sink;
use super::text_encoder::{TextEncoder, Visit};
use crate::memory;
use crate::pre_tokenizer::{PreTokenizer, Prepend, Spaces};
use crate::text::simd::Tiles;
use crate::text::{CHUNK, Piece};
use crate::tokenizer::offsets_by_length::{Front, marks_spaces};

/// Bytes that are encoded stage by stage before the second model is made. Making it takes some two
/// milliseconds for 32,000 tokens, as long as encoding 200 kB. One byte in tests.
const BYTES_BEFORE_SECOND_MODEL: usize = if cfg!(test) { 1 } else { 1 << 16 };

/// Words of a chunk. With fewer, windows leave much of it empty; words of Chinese are clauses, and
/// more of them are gone from the nearest cache when they are asked for again.
const WORDS: usize = 2 * CHUNK;

/// How many bytes were encoded by the stages that need not have been.
#[derive(Default)]
pub(super) struct Seen(AtomicUsize);

impl Seen {
    /// Whether they are many, with those of a text.
    fn are_many(&self, more: usize) -> bool {
        self.0.fetch_add(more.min(BYTES_BEFORE_SECOND_MODEL), Ordering::Relaxed).saturating_add(more)
            >= BYTES_BEFORE_SECOND_MODEL
    }
}

/// The treatment of spaces by the pipeline.
#[derive(Clone, Copy)]
struct Spacing {
    /// Which sections get a `▁` in front.
    front: Front,
    /// Whether a piece starts at each space.
    split: bool,
}

impl Tokenizer {
    /// The treatment of the spaces of a section, if the pipeline does nothing else.
    fn spacing(&self, at_start: bool) -> Option<Spacing> {
        match (&self.pipeline.normalizer, &self.pipeline.pre_tokenizer) {
            (Some(normalizer), PreTokenizer::Bytes) => {
                marks_spaces(normalizer).map(|front| Spacing { front, split: false })
            }
            (None, PreTokenizer::Metaspace { prepend, split }) => {
                let wants = match prepend {
                    Prepend::Always => true,
                    Prepend::First => at_start,
                    Prepend::Never => false,
                };
                Some(Spacing { front: if wants { Front::WithoutSpace } else { Front::None }, split: *split })
            }
            _ => None,
        }
    }
}

impl<S: Sink> TextEncoder<'_, '_, S> {
    /// Encodes a section, or a part of one that is cut before a space; `None`, with nothing taken, where
    /// that is the work of the stages.
    pub(super) fn space_as_mark(
        &mut self,
        section: &str,
        base: usize,
        begins_section: bool,
    ) -> Option<Visit> {
        if S::SPANS || S::NEEDS_PIECES {
            return None;
        }
        let tokenizer = self.tokenizer;
        let spacing = tokenizer.spacing(base == 0)?;
        // The stages refuse texts that are longer with their marks than they can count.
        let is_read = section.len() <= u32::MAX as usize / SPACE_MARK_STR.len()
            && !self.policy.cuts_normalized()
            && self.worker.reads_spaces(spacing.split, || tokenizer.seen.are_many(section.len()))
            && memchr::memmem::find(section.as_bytes(), SPACE_MARK_STR.as_bytes()).is_none();
        let begins_with_space = section.starts_with(' ');
        let gets_space = match spacing.front {
            _ if !begins_section || section.is_empty() => false,
            Front::None => false,
            Front::Every => true,
            Front::WithoutSpace => !begins_with_space,
        };
        is_read.then(|| self.words_with_space_as_mark(section.as_bytes(), spacing.split, gets_space))
    }

    fn words_with_space_as_mark(&mut self, section: &[u8], split: bool, gets_space: bool) -> Visit {
        let spaces = Spaces { every: split };
        let mut start = 0;
        if gets_space {
            start = spaces.piece_end(section, 0);
            let mut first = memory::reserved(start + 1)?;
            first.push(b' ');
            first.extend_from_slice(&section[..start]);
            self.pieces_with_space_as_mark(&first, &[Piece { start: 0, end: first.len() as u32 }])?;
        }
        let mut words = [Piece::default(); WORDS];
        loop {
            let n = spaces.fill(section, &mut start, &mut words);
            if n == 0 {
                return Ok(());
            }
            self.pieces_with_space_as_mark(section, &words[..n])?;
        }
    }

    fn pieces_with_space_as_mark(&mut self, text: &[u8], pieces: &[Piece]) -> Visit {
        self.reserve(pieces)?;
        self.sink.append(self.worker, |worker, ids| {
            worker.encode_with_space_as_mark(text, pieces, ids)?;
            worker.check()
        })?;
        self.check()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::super::EncodeOptions;
    use super::super::sink::Ids;
    use super::super::text_encoder::Limits;
    use super::*;

    /// A model over characters with its own marks, in a pipeline that only writes them.
    fn tokenizer(normalizer: &str, pre_tokenizer: &str, added: bool) -> Tokenizer {
        let bytes: String = (0..256).map(|byte| format!(r#""<0x{byte:02X}>": {}, "#, byte + 16)).collect();
        let added = match added {
            true => {
                r#"{"id": 272, "content": "cat", "special": false, "normalized": false, "single_word": false,
                "lstrip": false, "rstrip": true}"#
            }
            false => "",
        };
        let file = format!(
            r#"{{"model": {{"type": "BPE", "byte_fallback": true, "unk_token": "<unk>", "fuse_unk": true, "vocab": {{{bytes}
            "<unk>": 0, "▁": 1, "a": 2, "b": 3, "c": 4, "▁▁": 5, "▁a": 6, "ab": 7, "▁ab": 8, "▁▁▁▁": 9, "bb": 10,
            "é": 11, "▁é": 12, "aabb": 13, "▁▁a": 14, "t": 15}},
            "merges": [["▁", "▁"], ["▁", "a"], ["a", "b"], ["▁", "ab"], ["▁▁", "▁▁"], ["b", "b"], ["▁", "é"],
            ["a", "abb"], ["▁▁", "a"]]}}, "added_tokens": [{added}],
            "normalizer": {normalizer}, "pre_tokenizer": {pre_tokenizer}}}"#
        );
        let file = file.replace(r#"["a", "abb"], "#, "");
        Tokenizer::from_bytes(file.as_bytes()).unwrap()
    }

    static ALL: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
        let marks = r#"{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}"#;
        let prefixed = format!(
            r#"{{"type": "Sequence", "normalizers": [{{"type": "Prepend", "prepend": "▁"}}, {marks}]}}"#
        );
        let mut all = vec![tokenizer(marks, "null", false), tokenizer(&prefixed, "null", false)];
        all.push(tokenizer(&prefixed, "null", true));
        for scheme in ["always", "first", "never"] {
            for split in [true, false] {
                let metaspace = format!(
                    r#"{{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "{scheme}", "split": {split}}}"#
                );
                all.push(tokenizer("null", &metaspace, scheme == "first"));
            }
        }
        all
    });

    #[test]
    fn these_tokenizers_read_spaces() {
        for tokenizer in ALL.iter() {
            let policy = tokenizer.policy(EncodeOptions::default().specials).unwrap();
            let (mut ids, mut is_read) = (Ids::default(), false);
            policy.lend(|worker| {
                let visit = |encoder: &mut TextEncoder<'_, '_, Ids>| {
                    is_read = encoder.space_as_mark("a b", 0, true).transpose()?.is_some();
                    Ok(())
                };
                tokenizer.encode_with(3, &policy, Limits::default(), worker, &mut ids, visit).unwrap();
            });
            assert!(is_read, "{:?}", tokenizer.pipeline);
        }
    }

    proptest! {
        #[test]
        fn spaces_are_read_as_marks(
            parts in prop::collection::vec("[abc]{1,4}| {1,6}|[abcé]{14,30}|cat|[▁語é\n<]|<0x20>", 0..60),
            repeats in 1_usize..40,
        ) {
            let text = parts.concat().repeat(repeats);
            for tokenizer in ALL.iter() {
                let options = EncodeOptions::default();
                let expected = tokenizer.encode_reference(&text, options).unwrap().ids;
                for threads in [1, 2] {
                    let options = EncodeOptions { threads: Some(threads), ..options };
                    for _ in 0..2 {
                        let batch = tokenizer.encode_batch(&[&text], options).unwrap();
                        prop_assert_eq!(&batch.ids, &expected, "{:?}", &tokenizer.pipeline);
                        let counts = tokenizer.count_batch(&[&text], options).unwrap();
                        prop_assert_eq!(counts[0] as usize, expected.len());
                    }
                }
                for max in [0, 1, 7] {
                    let options = EncodeOptions { max_tokens: Some(max), ..options };
                    let batch = tokenizer.encode_batch(&[&text], options).unwrap();
                    prop_assert_eq!(&batch.ids[..], &expected[..max.min(expected.len())]);
                }
            }
        }
    }
}
