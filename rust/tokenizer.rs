//! `Tokenizer`: text to ids and ids to text; all steps in one object.
//!
//! Immutable: what differs between calls is in [`EncodeOptions`].
//!
//! # How [`Tokenizer::encode`] works
//!
//! Ids come first (`encode_ids`); spans, type ids and the mask of special tokens follow from them (`encoding`).
//!
//! 1. `encode_ids` subtracts the special tokens of the [template] from `max_tokens`, and puts the ones before
//!    the text into a sink. A text of more than 256 KiB goes to `encode_batch`, which cuts it into
//!    `jobs` that threads share, where the pipeline allows.
//! 2. `policy` (`special_policy`) takes, by the call's `specials`, the automata that find added tokens, and a
//!    model that makes no other special token; `lend` (`workers`) gives a worker with its caches.
//! 3. `TextEncoder::sections` cuts the text at its added tokens.
//! 4. `TextEncoder::section` has the [normalizer](crate::normalizer) rewrite each part between them, and keeps where
//!    each byte comes from if spans are wanted.
//! 5. `TextEncoder::normalized` cuts once more, at the added tokens that are looked for in normalized text.
//! 6. `TextEncoder::stretches` has the [pre-tokenizer](crate::pre_tokenizer) rewrite the text, if it does that, and
//!    `TextEncoder::pieces` takes the pieces into which it cuts, in chunks of up to 512.
//! 7. The worker of the [model](crate::models) looks each piece up in its cache (`encode_chunk`) and encodes
//!    the new ones.
//! 8. A `Sink` takes the ids: it keeps them, counts them, or keeps their words or spans. Encoding ends where
//!    the sink holds `max_tokens`. The template's last special tokens follow.
//! 9. `raw_words` (BERT) and `space_as_mark` (SentencePiece's BPE) do steps 4 to 7 in one, where the ids are
//!    the same.
//! 10. `traces` finds the spans: from the lengths of tokens where tokens are the text (`offsets_by_length`),
//!     else by another pass over the text with the known ids (`spans`).

pub mod added_tokens;
pub mod align;
mod batch;
mod call_defaults;
mod decode;
pub mod decoder;
mod encode;
mod encode_more;
pub mod encoding;
mod input;
mod jobs;
mod malformed;
mod offsets_by_length;
mod prune;
mod raw_words;
mod rows;
mod safe_places;
mod segmentations;
mod sink;
mod space_as_mark;
mod spans;
mod special_policy;
pub mod stream_encoder;
pub mod template;
mod text_encoder;
#[cfg(feature = "train")]
mod train;
#[cfg(feature = "train")]
mod train_unigram;
#[cfg(feature = "train")]
pub(crate) mod train_wordpiece;
mod truncation;
mod vocab_check;
mod workers;

pub use call_defaults::{CallDefaults, DefaultPadding, DefaultTruncation, PaddingLength};
pub use encode::Segment;
#[cfg(feature = "python")]
pub(crate) use encode_more::{ResumePoint, check_beginning};
pub use input::Input;
pub use prune::IdMap;
pub use rows::{EncodedRows, TextRow};

pub use truncation::{Truncation, TruncationStrategy};
pub use vocab_check::Diagnosis;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::memory;
use crate::models::Model;
use crate::models::bpe::{Bpe, BpeOptions, Unit};
use crate::pipeline::Pipeline;
use crate::text::byte_level;
use crate::tokenizer::added_tokens::{AddedToken, AddedTokens, NewToken, Specials};
use crate::tokenizer::decoder::Decoder;
use crate::tokenizer::template::{Part, Template};
use crate::vocab::{TokenId, Vocab};

/// How one call encodes. Write `..EncodeOptions::default()` behind what you set, as fields may be added.
#[derive(Clone, Copy, Debug)]
pub struct EncodeOptions<'a> {
    /// Whether the template's special tokens go around the text.
    pub add_special_tokens: bool,
    /// Which special tokens of the text are tokens.
    pub specials: Specials<'a>,
    /// The most ids a text may become, template included; the rest is cut off.
    pub max_tokens: Option<usize>,
    /// The seed of BPE-dropout; it changes nothing if the model has no dropout.
    pub seed: u64,
    /// Threads to use; `None` is all.
    pub threads: Option<usize>,
    /// Whether spans are kept.
    pub spans: bool,
    /// Set by another thread, it ends the call with [`Error::Cancelled`]. It is
    /// looked at between chunks of pieces.
    pub stop: Option<&'a AtomicBool>,
}

impl Default for EncodeOptions<'_> {
    fn default() -> Self {
        Self {
            add_special_tokens: true,
            specials: Specials::None,
            max_tokens: None,
            seed: 0,
            threads: None,
            spans: false,
            stop: None,
        }
    }
}

impl EncodeOptions<'_> {
    /// The seed of a text of a batch: each has its own, so that neighbours do not matter.
    pub fn seed_of(&self, number: usize) -> u64 {
        self.seed.wrapping_add((number as u64).wrapping_mul(0xA076_1D64_78BD_642F))
    }
}

/// The parts a tokenizer is made of.
#[derive(Debug)]
#[non_exhaustive]
pub struct Parts {
    /// Normalizer and pre-tokenizer: turns a text into pieces.
    pub pipeline: Pipeline,
    /// Turns a piece into ids; shared by tokenizers made from each other.
    pub model: Arc<Model>,
    /// Added tokens, found in the text before it is normalized or after.
    pub added: Vec<AddedToken>,
    /// The special tokens around a text.
    pub template: Template,
    /// How ids become text again.
    pub decoder: Decoder,
    /// The file's defaults for calls.
    pub defaults: CallDefaults,
}

impl Parts {
    /// The parts of a tokenizer without added tokens and template, whose tokens are bytes of the text.
    pub fn new(pipeline: Pipeline, model: Arc<Model>) -> Self {
        Self {
            pipeline,
            model,
            added: Vec::new(),
            template: Template::default(),
            decoder: Decoder::default(),
            defaults: CallDefaults::default(),
        }
    }
}

/// A tokenizer. Safe to share among threads.
///
/// ```
/// use sentitok::{BpeTrainer, EncodeOptions, Pipeline, PreTokenizer, Tokenizer, WordCounts};
/// let pipeline = Pipeline::new(PreTokenizer::from_name("gpt2")?);
/// let counts = WordCounts::from_texts(&pipeline, ["low lower lowest"])?;
/// let mut trainer = BpeTrainer::default();
/// trainer.vocab_size = 260;
/// let tokenizer = Tokenizer::train_bpe(&trainer, &counts, &mut sentitok::Progress::silent())?;
/// let ids = tokenizer.encode("lower", EncodeOptions::default())?.ids;
/// assert_eq!(tokenizer.decode(&ids, false)?, "lower");
/// # Ok::<(), sentitok::Error>(())
/// ```
pub struct Tokenizer {
    pipeline: Pipeline,
    model: Arc<Model>,
    added: AddedTokens,
    template: Template,
    decoder: Decoder,
    defaults: CallDefaults,
    policies: special_policy::SpecialPolicies,
    /// How long tokens are, where offsets are sums of that.
    lengths: OnceLock<Option<offsets_by_length::Lengths>>,
    /// How much text was seen, by which `space_as_mark` decides when to make its model.
    seen: space_as_mark::Seen,
    tables: decode::Tables,
}

/// Bytes that an added token takes in addition to its own text, as the check of memory estimates it.
const ADDED_TOKEN: usize = 32;

impl Tokenizer {
    /// Puts the parts together.
    ///
    /// # Errors
    /// [`Error::Format`] for a bad template, an added token whose id is another
    /// token's, or one so large that more than [`Vocab::MAX_GAPS`] ids have no token.
    pub fn new(parts: Parts) -> Result<Self> {
        let Parts { pipeline, model, added, template, decoder, defaults } = parts;
        template.check()?;
        model.vocab().check_room()?;
        let n_added: usize = added.iter().map(|token| ADDED_TOKEN + token.content.len()).sum();
        memory::check_room(n_added, memory::OF_READING)?;
        let added = AddedTokens::new(added, pipeline.normalizer.as_ref())?;
        let policies = special_policy::SpecialPolicies::new(&model, &added)?;
        let tables = decode::Tables::default();
        let (lengths, seen) = Default::default();
        let tokenizer =
            Self { pipeline, model, added, template, decoder, defaults, policies, lengths, seen, tables };
        let special_parts = tokenizer.template.single.iter().chain(&tokenizer.template.pair);
        for part in special_parts {
            if let Part::Special { id, .. } = part
                && tokenizer.id_to_bytes(*id).is_none()
            {
                return Err(Error::format("$.post_processor", format!("id {id} is not in the vocabulary")));
            }
        }
        tokenizer.check_gaps()?;
        Ok(tokenizer)
    }

    /// Tables go by id, so that one huge id must not make them huge.
    fn check_gaps(&self) -> Result<()> {
        let n_ids = u64::from(self.max_id()) + 1;
        let gaps = n_ids.saturating_sub(self.n_tokens() as u64);
        if gaps <= Vocab::MAX_GAPS as u64 {
            return Ok(());
        }
        Err(Error::format(
            "added tokens",
            format!(
                "id {} leaves {gaps} ids without a token; at most {} may be missing",
                self.max_id(),
                Vocab::MAX_GAPS
            ),
        ))
    }

    /// The policy for a call's choice of special tokens.
    fn policy(&self, specials: Specials<'_>) -> Result<special_policy::SpecialPolicy<'_>> {
        self.policies.policy(&self.added, specials)
    }

    /// Normalizer and pre-tokenizer: turns a text into pieces.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The added tokens.
    pub fn added_tokens(&self) -> &[AddedToken] {
        self.added.tokens()
    }

    /// The special tokens around a text.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// How ids become text.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The truncation and the padding that the file asks for; calls take them where they are given
    /// them.
    pub fn call_defaults(&self) -> &CallDefaults {
        &self.defaults
    }

    /// The size that an embedding needs: one more than the greatest id.
    pub fn vocab_size(&self) -> usize {
        self.max_id() as usize + 1
    }

    /// The number of tokens, added ones included: less than [`Tokenizer::vocab_size`] where ids
    /// have gaps.
    pub fn n_tokens(&self) -> usize {
        let vocab = self.model.vocab();
        let outside = self.added.tokens().iter().filter(|token| vocab.bytes(token.id).is_none()).count();
        vocab.len() + outside
    }

    /// The greatest id.
    pub fn max_id(&self) -> TokenId {
        let added = self.added.tokens().last().map_or(0, |token| token.id);
        added.max(self.model.vocab().id_limit().saturating_sub(1) as TokenId)
    }

    /// The id of a token, by the bytes it represents; added tokens by their text.
    pub fn token_to_id(&self, token: &[u8]) -> Option<TokenId> {
        std::str::from_utf8(token)
            .ok()
            .and_then(|content| self.added.by_content(content))
            .map(|token| token.id)
            .or_else(|| self.model.vocab().id(token))
            .or_else(|| self.model.vocab().unreachable_id(token))
    }

    /// A token as tokenizer.json spells it: `"Ġfilm"` for `" film"` where
    /// symbols are bytes.
    pub fn id_to_token(&self, id: TokenId) -> Option<String> {
        if let Some(token) = self.added.by_id(id) {
            return Some(token.content.clone());
        }
        let bytes = self.model.vocab().bytes(id)?;
        Some(match self.model.unit() {
            Unit::Bytes if !self.model.vocab().is_unreachable(id) => byte_level::to_chars(bytes),
            _ => String::from_utf8_lossy(bytes).into_owned(),
        })
    }

    /// The id of a token as tokenizer.json spells it, or else as plain text.
    pub fn spelled_to_id(&self, token: &str) -> Option<TokenId> {
        if let Some(token) = self.added.by_content(token) {
            return Some(token.id);
        }
        let spelled = match self.model.unit() {
            Unit::Bytes => byte_level::to_bytes(token),
            Unit::Chars => None,
        };
        let vocab = self.model.vocab();
        spelled
            .and_then(|bytes| vocab.id(&bytes))
            .or_else(|| vocab.unreachable_id(token.as_bytes()))
            .or_else(|| vocab.id(token.as_bytes()))
    }

    /// The token that padding is made of: that of the file's padding, or the special one that is
    /// named so.
    pub fn pad_id(&self) -> Option<TokenId> {
        if let Some(fill) = &self.defaults.padding {
            return Some(fill.pad_id);
        }
        let pad = ["[PAD]", "<pad>", "<|pad|>"].iter().find_map(|name| self.added.by_content(name))?;
        pad.special.then_some(pad.id)
    }

    /// The bytes of a token; those of an added token that is not the model's
    /// are its text.
    pub fn id_to_bytes(&self, id: TokenId) -> Option<&[u8]> {
        self.model.vocab().bytes(id).or_else(|| self.added.by_id(id).map(|token| token.content.as_bytes()))
    }

    /// Whether any text, as bytes, comes back from its ids exactly as it was, where
    /// special tokens of the text are text and no template is put around it.
    pub fn is_lossless(&self) -> bool {
        let keeps = |token: &AddedToken| token.special || self.keeps_token(token);
        self.decoder == Decoder::Bytes && self.keeps_text() && self.added.tokens().iter().all(keeps)
    }

    /// Whether the tokens of a text without added tokens are the text.
    fn keeps_text(&self) -> bool {
        self.pipeline.normalizer.is_none()
            && !self.pipeline.pre_tokenizer.rewrites()
            && self.pipeline.pre_tokenizer.keeps_all_text()
            && self.model.is_lossless()
    }

    /// Whether an added token has the bytes that it is found as.
    fn keeps_token(&self, token: &AddedToken) -> bool {
        !token.lstrip && !token.rstrip && self.id_to_bytes(token.id) == Some(token.content.as_bytes())
    }

    /// A tokenizer like this one with more added tokens; the model is shared. Existing
    /// tokens keep their ids, new ones get the ids after the greatest.
    ///
    /// # Errors
    /// [`Error::Format`] for an empty token; [`Error::Encode`] when ids run out.
    pub fn with_specials(&self, tokens: impl IntoIterator<Item = NewToken>) -> Result<Self> {
        let added =
            self.added.with(tokens, self.max_id(), |content| self.model.vocab().id(content.as_bytes()))?;
        self.like_this(self.model.clone(), added)
    }

    /// A tokenizer like this one that passes over a merge with probability `p`.
    ///
    /// # Errors
    /// [`Error::Option`] for a probability outside 0 to 1.
    pub fn with_dropout(&self, p: Option<f32>) -> Result<Self> {
        let Some(bpe) = self.model.bpe() else {
            return Err(Error::Option {
                option: "dropout",
                value: p.map_or_else(|| "None".into(), |p| p.to_string()),
                reason: format!("merges are passed over in BPE, and this is {}", self.model.name()),
            });
        };
        bpe.vocab().check_room()?;
        let options = BpeOptions { dropout: p, ..bpe.options().clone() };
        let model = Bpe::new(bpe.vocab().clone(), bpe.order().clone(), options)?;
        self.like_this(Arc::new(model.into()), self.added.tokens().to_vec())
    }

    fn like_this(&self, model: Arc<Model>, added: Vec<AddedToken>) -> Result<Self> {
        Self::new(Parts {
            pipeline: self.pipeline.clone(),
            model,
            added,
            template: self.template.clone(),
            decoder: self.decoder.clone(),
            defaults: self.defaults.clone(),
        })
    }
}
