//! Offsets of known ids: sums of the lengths of tokens where tokens are the text, else another pass.
//!
//! Where tokens, one after the other, are the text, except for a space in front and `▁` for spaces, spans
//! are sums of the lengths of tokens. So it is for byte-level models, and for SentencePiece's that change
//! only spaces (Llama, Mistral). The text is searched only for exceptions: a `▁` in the text, or
//! bytes that are not UTF-8. In characters a token counts the ones that begin in it, and begins inside one if
//! its first byte does. For all other ids the text is read again, and the ids determine how far each reaches
//! (`spans`).

use std::sync::OnceLock;

use memchr::memmem::Finder;

use super::input::Input;
use super::spans::{Spans, different_ids};
use super::{EncodeOptions, Tokenizer};
use crate::error::{Error, Result};
use crate::models::Model;
use crate::models::bpe::Unit;
use crate::normalizer::Normalizer;
use crate::pre_tokenizer::{PreTokenizer, Prepend};
use crate::text::SPACE_MARK_STR;
use crate::tokenizer::encoding::{OffsetUnit, SourceTexts, Span, TrimWidths};
use crate::tokenizer::template::{Part, TrimOffsets};
use crate::vocab::TokenId;

/// A token whose size is not known without the text.
const NOT_KNOWN: u32 = u32::MAX;

/// A string that tokens have and the text does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Added {
    /// Nothing: the bytes are the same, be they UTF-8 or not.
    Nothing,
    /// A space in front of a text.
    Space { front: Front, is_marked: bool },
}

/// Which texts get a space in front, if they are not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Front {
    None,
    Every,
    WithoutSpace,
}

/// How long the tokens of a tokenizer are, in each unit when it is first asked for.
pub(super) struct Lengths {
    added: Added,
    /// By id: the size in the higher bits; the lowest bit is set for a token that begins inside a character.
    bytes: OnceLock<Vec<u32>>,
    chars: OnceLock<Vec<u32>>,
    /// Finds the string that a text must not contain.
    mark: Finder<'static>,
    spelled_byte: Finder<'static>,
}

impl Tokenizer {
    /// The spans and source texts of the ids that a text became, or a pair, with `lens` as in
    /// [`Tokenizer::marks`]; ids that the template put in have empty spans.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`]; [`Error::Internal`] if the text is found to have different ids.
    pub(crate) fn traces(
        &self,
        ids: &[TokenId],
        lens: [impl Iterator<Item = usize>; 2],
        is_pair: bool,
        texts: [Input<'_>; 2],
        options: &EncodeOptions<'_>,
    ) -> Result<(Vec<Span>, SourceTexts)> {
        let mut sink = Spans::new(true);
        let n = ids.len();
        sink.spans.try_reserve_exact(n).map_err(|_| Error::Memory { n, size: size_of::<Span>() })?;
        if let (false, Some(around)) = (is_pair, self.by_length_around(options.add_special_tokens)) {
            sink.spans.resize(n, [0, 0]);
            if self.write_by_length(ids, texts[0], OffsetUnit::Bytes, around, &mut sink.spans) {
                return Ok((sink.spans, SourceTexts::default()));
            }
            sink.spans.clear();
        }
        let mut rest = ids;
        for (part, n) in self.parts(lens, is_pair, options) {
            let Some((of_part, after)) = rest.split_at_checked(n) else { return Err(different_ids()) };
            rest = after;
            let text = match part {
                Part::Special { .. } => {
                    sink.spans.push([0, 0]);
                    continue;
                }
                Part::First { .. } => texts[0],
                Part::Second { .. } => texts[1],
            };
            sink.known = Some(of_part);
            self.encode_text(text, None, options, &mut sink)?;
            if sink.known != Some(&[]) {
                return Err(different_ids());
            }
        }
        Ok((sink.spans, sink.source_texts.unwrap_or_default()))
    }

    /// Whether spans are sums where the text allows it: then how many ids of the
    /// template come before and after those of a text.
    pub(crate) fn by_length_around(&self, add_special_tokens: bool) -> Option<[usize; 2]> {
        self.lengths().filter(|_| self.template.holds_text_once())?;
        let is_text = |part: &Part| matches!(part, Part::First { .. });
        let before = self.template.single.iter().position(is_text)?;
        let after = self.template.single.len() - 1 - before;
        Some(if add_special_tokens { [before, after] } else { [0, 0] })
    }

    /// Writes the offsets of the ids of a text, which are between `around` ids of
    /// the template's, if they are sums; `false`, with the cells to be written again,
    /// if they are not.
    pub(crate) fn write_by_length(
        &self,
        ids: &[TokenId],
        text: Input<'_>,
        unit: OffsetUnit,
        around: [usize; 2],
        offsets: &mut [Span],
    ) -> bool {
        let Some((sizes, in_front)) = self.known_sizes(text, unit) else { return false };
        let before = around[0].min(ids.len());
        let places = before..ids.len().saturating_sub(around[1]).max(before);
        if offsets.len() != ids.len() {
            return false;
        }
        offsets[..places.start].fill([0, 0]);
        offsets[places.end..].fill([0, 0]);
        let mut offsets = offsets[places.clone()].iter_mut();
        let put = |span| {
            if let Some(offset) = offsets.next() {
                *offset = span;
            }
        };
        for_each_by_length(sizes, &ids[places], in_front, put).is_some()
    }

    /// The sizes of tokens, and how much of the first is not in a text; `None` where they do not add up to it.
    fn known_sizes(&self, text: Input<'_>, unit: OffsetUnit) -> Option<(&[u32], u64)> {
        let lengths = self.lengths()?;
        let in_front = lengths.in_front(text, unit)?;
        let sizes = match unit {
            OffsetUnit::Bytes => &lengths.bytes,
            OffsetUnit::Chars => &lengths.chars,
        };
        // Nobody waits for another who makes them.
        if sizes.get().is_none() {
            let _ = sizes.set(self.sizes(lengths.added, unit));
        }
        Some((sizes.get().map_or(&[][..], Vec::as_slice), in_front))
    }

    fn lengths(&self) -> Option<&Lengths> {
        if self.lengths.get().is_none() {
            let _ = self.lengths.set(self.compute_lengths());
        }
        self.lengths.get()?.as_ref()
    }

    fn compute_lengths(&self) -> Option<Lengths> {
        Some(Lengths {
            added: self.added_to_text()?,
            bytes: OnceLock::new(),
            chars: OnceLock::new(),
            mark: Finder::new(SPACE_MARK_STR),
            spelled_byte: Finder::new("<0x"),
        })
    }

    /// The string that tokens have and the text does not, if they differ in nothing else.
    fn added_to_text(&self) -> Option<Added> {
        if self.keeps_text() && self.added.tokens().iter().all(|token| self.keeps_token(token)) {
            return Some(Added::Nothing);
        }
        let (front, is_marked) = match (&self.pipeline.normalizer, &self.pipeline.pre_tokenizer) {
            (None, PreTokenizer::Gpt2 { add_prefix_space: true }) => (Front::WithoutSpace, false),
            (None, PreTokenizer::Metaspace { prepend, .. }) => match prepend {
                Prepend::Never => (Front::None, true),
                Prepend::Always | Prepend::First => (Front::WithoutSpace, true),
            },
            (Some(normalizer), PreTokenizer::Bytes) => (marks_spaces(normalizer)?, true),
            _ => return None,
        };
        let token_lengths = self.policies.token_lengths()?;
        let model = self.policies.model_without_specials();
        // No token ends inside a mark. As the unknown token, a mark may become bytes with what follows.
        let adds_up = match &model.encode(SPACE_MARK_STR.as_bytes())[..] {
            _ if !is_marked => model.is_lossless(),
            [id] => token_lengths.covers_text(*id),
            _ => false,
        };
        adds_up.then_some(Added::Space { front, is_marked })
    }

    fn sizes(&self, added: Added, unit: OffsetUnit) -> Vec<u32> {
        let goes_on = |byte: u8| byte & 0xC0 == 0x80;
        let (token_lengths, mark) = (self.policies.token_lengths(), Finder::new(SPACE_MARK_STR));
        let size = |id| {
            // Each added token begins a section, with its own space.
            let is_cut = added != Added::Nothing && self.added.by_id(id).is_some();
            let Some(token) = self.id_to_bytes(id).filter(|_| !is_cut) else { return NOT_KNOWN };
            let fallback = self.model.fallback_byte(id).map(|byte| [byte]);
            let token = fallback.as_ref().map_or(token, |byte| byte);
            let covers = added == Added::Nothing
                || token_lengths
                    .is_some_and(|token_lengths| fallback.is_some() || token_lengths.covers_text(id));
            if !covers {
                return NOT_KNOWN;
            }
            let n_marks = match added {
                Added::Space { is_marked: true, .. } => mark.find_iter(token).count(),
                _ => 0,
            };
            let (size, is_inside) = match unit {
                OffsetUnit::Bytes => (token.len() - n_marks * (SPACE_MARK_STR.len() - 1), false),
                OffsetUnit::Chars => {
                    let begins = token.iter().filter(|byte| !goes_on(**byte)).count();
                    (begins, token.first().is_some_and(|&byte| goes_on(byte)))
                }
            };
            u32::try_from(2 * size + usize::from(is_inside)).unwrap_or(NOT_KNOWN)
        };
        (0..=self.max_id()).map(size).collect()
    }
}

impl Lengths {
    /// How much of the first token is not in the text; `None` where tokens do not
    /// add up to it.
    fn in_front(&self, text: Input<'_>, unit: OffsetUnit) -> Option<u64> {
        let Added::Space { front, is_marked } = self.added else {
            return (unit == OffsetUnit::Bytes || text.text().is_some()).then_some(0);
        };
        let text = text.text()?.as_bytes();
        if is_marked && (self.mark.find(text).is_some() || self.spelled_byte.find(text).is_some()) {
            return None;
        }
        Some(match front {
            Front::None => 0,
            Front::Every => u64::from(!text.is_empty()),
            Front::WithoutSpace => u64::from(text.first().is_some_and(|&byte| byte != b' ')),
        })
    }
}

/// Calls `put` with the sums of the sizes of ids, each as a span; returns their end, if all sizes are known.
#[inline(always)]
fn for_each_by_length(
    sizes: &[u32],
    ids: &[TokenId],
    in_front: u64,
    mut put: impl FnMut(Span),
) -> Option<u64> {
    let (mut end, mut are_known) = (0u64, true);
    let mut left_out = in_front;
    for &id in ids {
        let size = sizes.get(id as usize).copied().unwrap_or(NOT_KNOWN);
        are_known &= size != NOT_KNOWN;
        let start = end.wrapping_sub(u64::from(size & 1));
        end = end.wrapping_add(u64::from(size >> 1)).wrapping_sub(left_out);
        left_out = 0;
        put([start, end]);
    }
    are_known.then_some(end)
}

/// Which texts get a mark in front, of a normalizer that writes spaces as marks and
/// does nothing else.
pub(super) fn marks_spaces(normalizer: &Normalizer) -> Option<Front> {
    let is_prefix =
        |step: &Normalizer| matches!(step, Normalizer::Prepend { prepend } if prepend == SPACE_MARK_STR);
    let marks = |step: &Normalizer| matches!(step, Normalizer::Replace { pattern, content } if pattern == " " && content == SPACE_MARK_STR);
    match normalizer {
        Normalizer::SentencePiece(whole) => {
            let options = whole.options();
            let is_plain = options.charsmap.is_empty()
                && options.user_defined.is_empty()
                && options.escape_whitespaces
                && !options.remove_extra_whitespaces
                && !options.treat_whitespace_as_suffix;
            let front = if options.add_dummy_prefix { Front::Every } else { Front::None };
            is_plain.then_some(front)
        }
        Normalizer::Sequence { normalizers } => match &normalizers[..] {
            [first, second] if is_prefix(first) && marks(second) => Some(Front::Every),
            [only] if marks(only) => Some(Front::None),
            _ => None,
        },
        step if marks(step) => Some(Front::None),
        _ => None,
    }
}

impl Tokenizer {
    /// The white space that offsets leave out by the file; `None` where they are
    /// whole. `source_texts` are the normalized texts of ids that do not
    /// determine them.
    pub fn trim_widths(&self, ids: &[TokenId], source_texts: &SourceTexts) -> Option<TrimWidths> {
        let after_prefix_space = match self.template.trim_offsets {
            TrimOffsets::No => return None,
            TrimOffsets::Yes => false,
            TrimOffsets::AfterPrefixSpace => true,
        };
        let unit = self.model.unit();
        let mut source_texts = source_texts.iter().peekable();
        let count = |(at, &id): (usize, &TokenId)| {
            let shown = source_texts.next_if(|&(place, _)| place == at).map(|(_, text)| text);
            let shown = shown.filter(|_| self.shows_source_text(id));
            match (shown, self.added.by_id(id), self.model.vocab().bytes(id)) {
                (Some(source_text), ..) => TrimWidths::of_spelling(source_text),
                (None, Some(token), _) => TrimWidths::of_spelling(&token.content),
                (None, None, Some(bytes)) if unit == Unit::Bytes => TrimWidths::of_bytes(bytes),
                (None, None, bytes) => {
                    TrimWidths::of_spelling(&String::from_utf8_lossy(bytes.unwrap_or_default()))
                }
            }
        };
        let counts = ids.iter().enumerate().map(count).collect();
        Some(TrimWidths { after_prefix_space, counts })
    }

    /// Whether Hugging Face shows the source text of an id: of added
    /// tokens and Unigram's unknown token. Other models' unknown token is spelled.
    fn shows_source_text(&self, id: TokenId) -> bool {
        match self.model.unk_id() {
            Some(unk) if unk == id => matches!(*self.model, Model::Unigram(_)),
            _ => self.added.by_id(id).is_some(),
        }
    }
}
