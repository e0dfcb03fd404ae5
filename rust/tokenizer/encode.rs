//! One text to ids: [`Tokenizer::encode`], `count`, pairs and segments.
//!
//! The header of `rust/tokenizer.rs` lists the steps of `encode`.
//!
//! Ids come first. The rest of an [`Encoding`] follows from them: type ids and the special mask from
//! their number, spans from the length of each token (`offsets_by_length`).

use std::iter::Repeat;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use super::input::Input;
use super::jobs::LONG_BYTES;
use super::sink::{Count, Ids, Words};
use super::{EncodeOptions, Tokenizer};
use crate::error::{Error, Result};
use crate::memory;
use crate::tokenizer::encoding::Encoding;
use crate::tokenizer::template::Part;
use crate::tokenizer::truncation::longest_first;
use crate::vocab::TokenId;

/// A part of the input of [`Tokenizer::encode_segments`]. Text and special tokens cannot be mistaken
/// for each other: no string is searched for special tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Text, encoded like a separate text.
    Text(Input<'a>),
    /// A special token, by its text.
    Special(&'a str),
}

impl<'a> Segment<'a> {
    /// Its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Self::Text(text) => text.bytes(),
            Self::Special(content) => content.as_bytes(),
        }
    }
}

impl Tokenizer {
    /// Encodes a text: a `str`, or bytes. Of bytes, each longest run that is not UTF-8 is a separate piece,
    /// as in counting; with SentencePiece's normalizer each such byte becomes U+FFFD, as in
    /// SentencePiece. Threads share the ids of a text of more than 256 KiB where it can be
    /// cut; its spans are found on one thread.
    ///
    /// # Errors
    /// [`Error::Encode`] for a special token found under
    /// [`crate::tokenizer::added_tokens::Specials::Raise`]; [`Error::Pattern`] when a custom pattern hits
    /// its step limit.
    pub fn encode<'t>(&self, text: impl Into<Input<'t>>, options: EncodeOptions<'_>) -> Result<Encoding> {
        let text = text.into();
        let ids = self.encode_ids(text, &options)?;
        self.encoding(ids, None, [text, Input::Text("")], &options)
    }

    /// Encodes two texts by the template for pairs, to at most `max_tokens` ids. The longer one is
    /// truncated first, as Hugging Face's `LongestFirst` does. Of a second text that is in the template
    /// more than once, [`Encoding::second`] is the last.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_pair<'t>(
        &self,
        first: impl Into<Input<'t>>,
        second: impl Into<Input<'t>>,
        options: EncodeOptions<'_>,
    ) -> Result<Encoding> {
        let texts = [first.into(), second.into()];
        let (ids, second) = self.encode_pair_ids(texts, &options)?;
        self.encoding(ids, Some(second), texts, &options)
    }

    /// Encodes segments end to end. Spans are in the segments joined, the texts of special tokens included;
    /// no template is put around. `stop` is as in [`EncodeOptions`].
    ///
    /// # Errors
    /// [`Error::Encode`] for a special token that does not exist; else as [`Tokenizer::encode`].
    pub fn encode_segments(&self, segments: &[Segment<'_>], stop: Option<&AtomicBool>) -> Result<Encoding> {
        let options =
            EncodeOptions { add_special_tokens: false, spans: true, stop, ..EncodeOptions::default() };
        let mut all = Encoding { spans: Some(Vec::new()), ..Encoding::default() };
        let mut base = 0;
        for segment in segments {
            let part = match *segment {
                Segment::Text(text) => self.encode(text, options)?,
                Segment::Special(content) => {
                    let Some(token) = self.added.by_content(content).filter(|token| token.special) else {
                        return Err(Error::Encode(format!(
                            "{content:?} is not a special token of this tokenizer; add it by with_specials"
                        )));
                    };
                    Encoding {
                        ids: vec![token.id],
                        spans: Some(vec![[0, content.len() as u64]]),
                        type_ids: vec![0],
                        special_mask: vec![true],
                        ..Encoding::default()
                    }
                }
            };
            all.extend(&part, base)?;
            base += segment.bytes().len() as u64;
        }
        Ok(all)
    }

    /// The number of ids that a text becomes. A text of more than 256 KiB is shared among threads where it
    /// can be cut.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn count<'t>(&self, text: impl Into<Input<'t>>, options: EncodeOptions<'_>) -> Result<usize> {
        let text = text.into();
        if text.len() > LONG_BYTES {
            return Ok(self.count_batch(&[text], options)?.iter().sum::<u64>() as usize);
        }
        let around = self.n_around(&options, false);
        let mut count = Count::default();
        self.encode_text(text, self.room_of_text(&options)?, &options, &mut count)?;
        Ok(self.template.copies(false)[0] * count.n + around)
    }

    /// Whether a text becomes at most `limit` ids; stops reading when it does not.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn fits<'t>(
        &self,
        text: impl Into<Input<'t>>,
        limit: usize,
        options: EncodeOptions<'_>,
    ) -> Result<bool> {
        let around = self.n_around(&options, false);
        let Some(room) = limit.checked_sub(around) else { return Ok(false) };
        let Some(room) = room.checked_div(self.template.copies(false)[0]) else { return Ok(true) };
        let mut count = Count::default();
        self.encode_text(text.into(), Some(room.saturating_add(1)), &options, &mut count)?;
        Ok(count.n <= room)
    }

    /// The number of the word of each id that a text becomes, without the template.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn words(&self, text: Input<'_>, options: &EncodeOptions<'_>) -> Result<Vec<u32>> {
        let mut words = Words::default();
        self.encode_text(text, None, options, &mut words)?;
        Ok(words.words)
    }

    /// The ids of [`Tokenizer::encode`] alone.
    pub(crate) fn encode_ids(&self, text: Input<'_>, options: &EncodeOptions<'_>) -> Result<Vec<TokenId>> {
        if text.len() > LONG_BYTES {
            return Ok(self.encode_batch(&[text], EncodeOptions { spans: false, ..*options })?.ids);
        }
        let room = self.room_of_text(options)?;
        let mut sink = Ids::default();
        if !self.template.holds_text_once() {
            self.encode_text(text, room, options, &mut sink)?;
            return Ok(self.in_template([&sink.ids, &[]], false, options)?.0);
        }
        let mut parts = self.template.single.iter();
        let special = |part: &Part| match *part {
            Part::Special { id, .. } if options.add_special_tokens => Some(id),
            _ => None,
        };
        let before = parts.by_ref().take_while(|part| matches!(part, Part::Special { .. }));
        before.filter_map(special).try_for_each(|id| memory::push(&mut sink.ids, id))?;
        self.encode_text(text, room, options, &mut sink)?;
        parts.filter_map(special).try_for_each(|id| memory::push(&mut sink.ids, id))?;
        sink.ids.shrink_to_fit();
        Ok(sink.ids)
    }

    /// The ids of [`Tokenizer::encode_pair`] alone, with the places of those of the second text.
    pub(crate) fn encode_pair_ids(
        &self,
        texts: [Input<'_>; 2],
        options: &EncodeOptions<'_>,
    ) -> Result<(Vec<TokenId>, Range<usize>)> {
        let room = self.room(options, self.n_around(options, true))?;
        let mut ids = [Ids::default(), Ids::default()];
        for (text, sink) in texts.iter().zip(&mut ids) {
            self.encode_text(*text, room, options, sink)?;
        }
        if let Some(room) = room {
            let mut lens = ids.each_ref().map(|sink| sink.ids.len());
            let weights = self.template.weights(true);
            if room % (weights[0] + weights[1]) > 0 && lens == [room, room] {
                // Both may continue, and the odd id is the longer one's.
                let whole = EncodeOptions { max_tokens: None, add_special_tokens: false, ..*options };
                lens = [self.count(texts[0], whole)?, self.count(texts[1], whole)?];
            }
            for (sink, len) in ids.iter_mut().zip(longest_first(lens, room, weights)) {
                sink.ids.truncate(len);
            }
        }
        self.in_template(ids.each_ref().map(|sink| &sink.ids[..]), true, options)
    }

    /// Puts the ids of one text or of two into the template; returns the places of the last of the second's.
    fn in_template(
        &self,
        texts: [&[TokenId]; 2],
        is_pair: bool,
        options: &EncodeOptions<'_>,
    ) -> Result<(Vec<TokenId>, Range<usize>)> {
        let (mut ids, mut second) = (Vec::new(), 0..0);
        for part in self.template.parts(is_pair) {
            match *part {
                Part::Special { id, .. } if options.add_special_tokens => memory::push(&mut ids, id)?,
                Part::Special { .. } => {}
                Part::First { .. } => memory::extend(&mut ids, texts[0])?,
                Part::Second { .. } => {
                    second = ids.len()..ids.len() + texts[1].len();
                    memory::extend(&mut ids, texts[1])?;
                }
            }
        }
        Ok((ids, second))
    }

    /// The encoding of ids, with its further parts.
    fn encoding(
        &self,
        ids: Vec<TokenId>,
        second: Option<Range<usize>>,
        texts: [Input<'_>; 2],
        options: &EncodeOptions<'_>,
    ) -> Result<Encoding> {
        let (lens, is_pair) = (self.lens(ids.len(), second.as_ref(), options), second.is_some());
        let (type_ids, special_mask) = self.marks(lens.clone(), is_pair, options)?;
        let (spans, source_texts) = match options.spans {
            true => {
                let (spans, source_texts) = self.traces(&ids, lens, is_pair, texts, options)?;
                (Some(spans), source_texts)
            }
            false => Default::default(),
        };
        Ok(Encoding { ids, spans, type_ids, special_mask, second: second.unwrap_or_default(), source_texts })
    }

    /// How many ids of text fit next to a template of `around` ids.
    pub(super) fn room(&self, options: &EncodeOptions<'_>, around: usize) -> Result<Option<usize>> {
        match options.max_tokens {
            None => Ok(None),
            Some(max) => match max.checked_sub(around) {
                Some(room) => Ok(Some(room)),
                None => Err(Error::Encode(format!(
                    "`max_tokens` {max} is less than the {around} special tokens of the template; \
                     ask for more, or turn off `add_special_tokens`"
                ))),
            },
        }
    }

    /// How many ids of a single text fit into its row, whose template may hold it several times.
    pub(super) fn room_of_text(&self, options: &EncodeOptions<'_>) -> Result<Option<usize>> {
        let room = self.room(options, self.n_around(options, false))?;
        Ok(room.map(|room| room / self.template.weights(false)[0]))
    }

    /// The number of special tokens that the template puts in.
    pub(super) fn n_around(&self, options: &EncodeOptions<'_>, is_pair: bool) -> usize {
        if options.add_special_tokens { self.template.n_special(is_pair) } else { 0 }
    }

    /// How many of `n` ids each text has, each time that the template holds it; `second` are those of the
    /// second text of a pair, once.
    pub(crate) fn lens(
        &self,
        n: usize,
        second: Option<&Range<usize>>,
        options: &EncodeOptions<'_>,
    ) -> [Repeat<usize>; 2] {
        let [n_firsts, n_seconds] = self.template.copies(second.is_some());
        let n_second = second.map_or(0, ExactSizeIterator::len);
        let n_first = n.saturating_sub(n_second * n_seconds + self.n_around(options, second.is_some()));
        [n_first / n_firsts.max(1), n_second].map(std::iter::repeat)
    }

    /// The type ids and the special mask of the ids of a row; `lens` are the numbers of ids of the
    /// first text and of the second, each time that the template holds it.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is not enough.
    pub(crate) fn marks(
        &self,
        lens: [impl Iterator<Item = usize>; 2],
        is_pair: bool,
        options: &EncodeOptions<'_>,
    ) -> Result<(Vec<u32>, Vec<bool>)> {
        let (mut type_ids, mut special_mask) = (Vec::new(), Vec::new());
        for (part, n) in self.parts(lens, is_pair, options) {
            let (type_id, special) = match part {
                Part::Special { type_id, .. } => (type_id, true),
                Part::First { type_id } | Part::Second { type_id } => (type_id, false),
            };
            let end = type_ids.len() + n;
            memory::resize(&mut type_ids, end, type_id)?;
            memory::resize(&mut special_mask, end, special)?;
        }
        Ok((type_ids, special_mask))
    }

    /// The parts of the template that ids consist of, and the number of ids of each.
    pub(super) fn parts(
        &self,
        mut lens: [impl Iterator<Item = usize>; 2],
        is_pair: bool,
        options: &EncodeOptions<'_>,
    ) -> impl Iterator<Item = (Part, usize)> {
        let n_special = usize::from(options.add_special_tokens);
        let parts = self.template.parts(is_pair).iter();
        parts
            .map(move |&part| match part {
                Part::Special { .. } => (part, n_special),
                Part::First { .. } => (part, lens[0].next().unwrap_or(0)),
                Part::Second { .. } => (part, lens[1].next().unwrap_or(0)),
            })
            .filter(|(_, n)| *n > 0)
    }
}

/// The reference implementation of [`Tokenizer::encode`]: every stage, every piece by the model without a
/// cache, on one thread; with spans.
#[cfg(any(test, feature = "oracle"))]
impl Tokenizer {
    /// As [`Tokenizer::encode`], slowly.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_reference<'t>(
        &self,
        text: impl Into<Input<'t>>,
        options: EncodeOptions<'_>,
    ) -> Result<Encoding> {
        use crate::tokenizer::sink::Sink;
        let mut reference = super::spans::Reference::new();
        self.encode_text(text.into(), self.room_of_text(&options)?, &options, &mut reference)?;
        let text = reference.into_arrays();
        let mut all = Encoding { spans: Some(Vec::new()), ..Encoding::default() };
        for part in &self.template.single {
            let part = match *part {
                Part::Special { id, type_id } if options.add_special_tokens => Encoding {
                    ids: vec![id],
                    spans: Some(vec![[0, 0]]),
                    type_ids: vec![type_id],
                    special_mask: vec![true],
                    ..Encoding::default()
                },
                Part::Special { .. } => continue,
                Part::First { type_id } | Part::Second { type_id } => Encoding {
                    ids: text.ids.clone(),
                    spans: Some(text.spans.clone()),
                    type_ids: vec![type_id; text.ids.len()],
                    special_mask: vec![false; text.ids.len()],
                    source_texts: text.source_texts.clone(),
                    ..Encoding::default()
                },
            };
            all.extend(&part, 0)?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::normalizer::{Normalizer, SentencePiece, SentencePieceOptions};
    use crate::pipeline::Pipeline;
    use crate::pre_tokenizer::PreTokenizer;
    use crate::step_counter;
    use crate::tokenizer::Parts;

    /// A tokenizer of each kind of fast path.
    static ALL: LazyLock<Vec<(&str, Tokenizer)>> = LazyLock::new(|| {
        let bytes: Vec<String> = (0..=255u8)
            .map(|byte| crate::text::byte_level::to_chars(&[byte]))
            .zip(0..)
            .map(|(token, id)| format!("{}: {id}", serde_json::json!(token)))
            .collect();
        let byte_level = format!(
            r#"{{"pre_tokenizer": {{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
            "use_regex": true}}, "model": {{"type": "BPE", "merges": ["a b", "Ġ a", "Ġa b"],
            "vocab": {{{}, "ab": 256, "Ġa": 257, "Ġab": 258}}}}, "added_tokens": [{{"id": 259, "content": "<s>",
            "special": false, "normalized": false, "single_word": false, "lstrip": true, "rstrip": false}}]}}"#,
            bytes.join(", ")
        );
        let bert = r###"{"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 5, "vocab": {"[UNK]": 0, "a": 1, "b": 2, "##a": 3, "##b": 4, "ab": 5,
            "!": 6, "e": 7, "##e": 8, "\u8a9e": 9, "[CLS]": 10, "[SEP]": 11}},
            "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 11], "cls": ["[CLS]", 10]},
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true}, "pre_tokenizer": {"type": "BertPreTokenizer"}}"###;
        let unigram = r#"{"model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab":
            [["<unk>", -9.0], ["▁", -1.0], ["a", -2.0], ["b", -2.0], ["▁ab", -3.0], ["ba", -2.5], ["é", -3.0]]},
            "normalizer": {"type": "NFKC"}, "pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "always",
            "split": true, "replacement": "▁"}}"#;
        let metaspace = r#"{"type": "Metaspace", "prepend_scheme": "always",
            "split": true, "replacement": "▁"}"#;
        let marks = r#"{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}"#;
        let prefixed = format!(
            r#"{{"type": "Sequence", "normalizers": [{{"type": "Prepend", "prepend": "▁"}}, {marks}]}}"#
        );
        let prefixed = unigram.replace(r#"{"type": "NFKC"}"#, &prefixed);
        let split = prefixed.replace("always", "never");
        let prefixed = prefixed.replace(metaspace, "null");
        let mut all: Vec<_> = [
            ("byte level", &*byte_level),
            ("bert", bert),
            ("unigram", unigram),
            ("unigram, prefixed", &*prefixed),
            ("unigram, prefixed and split", &*split),
        ]
        .map(|(name, file)| (name, Tokenizer::from_bytes(file.as_bytes()).unwrap()))
        .into();
        let normalizer = SentencePiece::new(SentencePieceOptions::default()).unwrap();
        let pipeline = Pipeline {
            normalizer: Some(Normalizer::SentencePiece(Box::new(normalizer))),
            pre_tokenizer: PreTokenizer::Bytes,
        };
        let model = all[2].1.model.clone();
        all.push(("unigram, sentencepiece", Tokenizer::new(Parts::new(pipeline, model)).unwrap()));
        all
    });

    #[test]
    fn spans_of_long_texts_take_linear_time() {
        let options = EncodeOptions { spans: true, ..EncodeOptions::default() };
        for (name, tokenizer) in ALL.iter() {
            let [one, four] = [4000, 16_000].map(|n_words| {
                let text = "ab ".repeat(n_words);
                step_counter::of(|| {
                    tokenizer.encode(&text, options).unwrap();
                })
            });
            assert!(four < 5 * one + 1000, "{name}: {one} steps, {four} for four times the text");
        }
    }

    proptest! {
        #[test]
        fn encode_equals_the_reference(
            parts in prop::collection::vec(
                prop_oneof![
                    "[ab]{1,7}| {1,3}|[!\n\té語▁]|e\u{301}|AB|ﬁ|<s>".prop_map(String::into_bytes),
                    prop::collection::vec(128u8..=255, 1..3),
                ],
                0..40,
            ),
            repeats in 1_usize..30,
            max_tokens in prop::option::of(2_usize..60),
        ) {
            let text = parts.concat().repeat(repeats);
            for (name, tokenizer) in ALL.iter() {
                let options = EncodeOptions { spans: true, max_tokens, ..EncodeOptions::default() };
                let expected = tokenizer.encode_reference(&text, options).unwrap();
                // Once more with what the caches know then.
                for _ in 0..2 {
                    let found = tokenizer.encode(&text, options).unwrap();
                    prop_assert_eq!(&found.ids, &expected.ids, "{}", name);
                    prop_assert_eq!(&found.spans, &expected.spans, "{}", name);
                    prop_assert_eq!(&found.type_ids, &expected.type_ids, "{}", name);
                    prop_assert_eq!(&found.special_mask, &expected.special_mask, "{}", name);
                    let batch = tokenizer.encode_batch(&[&text[..]], options).unwrap();
                    prop_assert_eq!(&batch.ids, &expected.ids, "{}", name);
                    prop_assert_eq!(&batch.spans, &expected.spans, "{}", name);
                    let ids = EncodeOptions { spans: false, ..options };
                    prop_assert_eq!(&tokenizer.encode(&text, ids).unwrap().ids, &expected.ids, "{}", name);
                    prop_assert_eq!(tokenizer.count(&text, ids).unwrap(), expected.ids.len(), "{}", name);
                }
            }
        }

        /// Of texts that the normalizer changes little, so that spans are often sums of lengths.
        #[test]
        fn spans_of_marked_texts_equal_the_reference(
            parts in prop::collection::vec(
                prop_oneof![40 => "[ab]{1,3}", 40 => Just(" ".to_owned()), 1 => "▁|é|ﬁ|語|  |\n"],
                0..40,
            ),
            max_tokens in prop::option::of(0_usize..40),
        ) {
            let text = parts.concat();
            for (name, tokenizer) in ALL.iter().filter(|(name, _)| name.starts_with("unigram")) {
                let options = EncodeOptions { spans: true, max_tokens, ..EncodeOptions::default() };
                let expected = tokenizer.encode_reference(&text, options).unwrap();
                let found = tokenizer.encode(&text, options).unwrap();
                prop_assert_eq!(&found.spans, &expected.spans, "{}", name);
                let batch = tokenizer.encode_batch(&[&text], options).unwrap();
                prop_assert_eq!(&batch.spans, &expected.spans, "{}", name);
            }
        }
    }
}
