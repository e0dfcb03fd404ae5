//! The `model` of tokenizer.json: reads its fields in any order, then checks them. `entries` reads
//! the long fields.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::entries::{Entries, EntriesSeed, MergesSeed, Place, TextSeed};
use crate::error::{Error, Result};
use crate::formats::spelled::{id_of, merges, vocab};
use crate::models::Model;
use crate::models::bpe::{Bpe, BpeOptions, MergeOrder, Unit};
use crate::models::unigram::{PieceKind, Precision, Unigram, UnigramOptions};
use crate::models::wordpiece::{WordPiece, WordPieceOptions};
use crate::text::byte_level;
use crate::vocab::{TokenId, Vocab};

/// Parts of a model that tokenizer.json cannot express.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
pub(in crate::formats) enum ModelExtras {
    /// BPE by a list of merges.
    Merges,
    /// BPE by rank: the merges follow from the vocabulary.
    Ranks,
    /// BPE by scores.
    Scores {
        /// The score of each token, by id.
        scores: Vec<f32>,
        /// Control tokens, which no text is encoded as; ids ascending.
        control: Vec<TokenId>,
        /// User-defined tokens, which are found before all merging; ids ascending.
        user_defined: Vec<TokenId>,
        /// Unused tokens, which are split again after merging; ids ascending.
        unused: Vec<TokenId>,
    },
    /// WordPiece, which needs no extras.
    WordPiece,
    /// Unigram.
    Unigram {
        /// The precision in which scores are added.
        precision: Precision,
        /// Whether a run of unknown characters is one token.
        fuse_unk: bool,
        /// The kinds of pieces by id, as runs: a kind and how many consecutive ids have it.
        kinds: Vec<(PieceKind, usize)>,
    },
}

impl ModelExtras {
    pub(in crate::formats) fn of(model: &Model) -> Self {
        match model {
            Model::Bpe(model) => match model.order() {
                MergeOrder::Ranks => Self::Ranks,
                MergeOrder::List(_) => Self::Merges,
                MergeOrder::Scores(scores) => {
                    let options = model.options();
                    Self::Scores {
                        scores: scores.clone(),
                        control: options.control.clone(),
                        user_defined: options.user_defined.clone(),
                        unused: options.unused.clone(),
                    }
                }
            },
            Model::WordPiece(_) => Self::WordPiece,
            Model::Unigram(model) => {
                let options = model.options();
                let runs = options.kinds.chunk_by(|a, b| a == b);
                Self::Unigram {
                    precision: options.precision,
                    fuse_unk: options.fuse_unk,
                    kinds: runs.map(|run| (run[0], run.len())).collect(),
                }
            }
        }
    }
}

/// The names of the algorithms in files.
const KINDS: [&str; 4] = [BPE, WORD_PIECE, UNIGRAM, WORD_LEVEL];
const BPE: &str = "BPE";
const WORD_PIECE: &str = "WordPiece";
const UNIGRAM: &str = "Unigram";
const WORD_LEVEL: &str = "WordLevel";

/// A model as read from the file.
#[derive(Default)]
pub(super) struct RawModel<'a> {
    kind: Option<&'static str>,
    options: BpeOptions,
    vocab: Option<Entries<'a>>,
    merges: Option<Vec<(Cow<'a, str>, Cow<'a, str>)>>,
    /// For WordPiece.
    max_input_chars_per_word: Option<usize>,
    /// For Unigram: scores by id, and the id of the unknown token.
    scores: Vec<f64>,
    unk_id: Option<TokenId>,
}

/// Reads a [`RawModel`].
pub(super) struct ModelSeed<'p>(pub(super) &'p Place);

impl<'de> DeserializeSeed<'de> for ModelSeed<'_> {
    type Value = RawModel<'de>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ModelSeed<'_> {
    type Value = RawModel<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a model")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let place = self.0;
        let mut model = RawModel::default();
        let options = &mut model.options;
        while let Some(key) = map.next_key_seed(TextSeed)? {
            place.set(&format!("$.model.{key}"));
            match &*key {
                "type" => {
                    let kind: String = map.next_value()?;
                    model.kind = KINDS.into_iter().find(|known| *known == kind);
                    if model.kind.is_none() {
                        return Err(A::Error::custom(format!(
                            "{kind:?} is not supported; supported: {}",
                            KINDS.join(", ")
                        )));
                    }
                }
                "dropout" => options.dropout = map.next_value()?,
                "unk_token" => options.unk_token = map.next_value()?,
                "continuing_subword_prefix" => options.continuing_subword_prefix = map.next_value()?,
                "end_of_word_suffix" => options.end_of_word_suffix = map.next_value()?,
                "fuse_unk" => options.fuse_unk = map.next_value::<Option<bool>>()?.unwrap_or(false),
                "byte_fallback" => options.byte_fallback = map.next_value::<Option<bool>>()?.unwrap_or(false),
                "ignore_merges" => options.ignore_merges = map.next_value::<Option<bool>>()?.unwrap_or(false),
                "vocab" => model.vocab = Some(map.next_value_seed(EntriesSeed(place))?),
                "max_input_chars_per_word" => model.max_input_chars_per_word = map.next_value()?,
                "unk_id" => model.unk_id = map.next_value()?,
                "merges" => model.merges = Some(map.next_value_seed(MergesSeed(place))?),
                // Like tokenizers, ignores unknown fields.
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        place.set("$.model");
        // Old files have no type; the fields show it.
        if model.kind.is_none() && model.max_input_chars_per_word.is_some() && model.merges.is_none() {
            model.kind = Some(WORD_PIECE);
        }
        if model.kind.is_none() && matches!(model.vocab, Some(Entries::Ids(_))) && model.merges.is_none() {
            model.kind = Some(WORD_LEVEL);
        }
        Ok(model)
    }
}

/// The tokens of a model, and the entries of its vocabulary that are not tokens of the model.
pub(super) struct Tokens {
    pub(super) vocab: Vocab,
    /// Added tokens that no bytes spell, such as `<a b>` with ByteLevel.
    pub(super) outside: HashMap<String, TokenId>,
}

impl Tokens {
    /// The id of a token as the file spells it.
    pub(super) fn id(&self, spelling: &str, unit: Unit) -> Option<TokenId> {
        id_of(&self.vocab, spelling, unit).or_else(|| self.outside.get(spelling).copied())
    }

    /// The number of entries in the file's vocabulary.
    pub(super) fn len(&self) -> usize {
        self.vocab.len() + self.outside.len()
    }
}

impl RawModel<'_> {
    /// Whether tokens may be bytes. Other models only have tokens of characters.
    pub(super) fn is_bpe(&self) -> bool {
        matches!(self.kind, None | Some(BPE)) && !matches!(self.vocab, Some(Entries::Scores(_)))
    }

    /// The tokens; `added` are the contents of the added tokens.
    pub(super) fn tokens(&mut self, unit: Unit, added: &HashSet<&str>) -> Result<Tokens> {
        let mut spelled = match self.vocab.take() {
            Some(Entries::Ids(spelled)) => spelled,
            Some(Entries::Scores(scored)) => self.scored(scored)?,
            None => return Err(Error::format("$.model", "the field \"vocab\" is missing")),
        };
        let mut outside = HashMap::new();
        if unit == Unit::Bytes && added.iter().any(|content| byte_level::to_bytes(content).is_none()) {
            spelled.retain(|(spelling, id)| {
                let is_outside = added.contains(&**spelling) && byte_level::to_bytes(spelling).is_none();
                if is_outside {
                    outside.insert(spelling.to_string(), *id);
                }
                !is_outside
            });
        }
        let vocab = vocab(&spelled, unit, "$.model.vocab")?;
        if let Some((token, id)) = outside.iter().find(|(_, id)| vocab.bytes(**id).is_some()) {
            return Err(Error::format("$.model.vocab", format!("id {id} occurs twice, once for {token:?}")));
        }
        Ok(Tokens { vocab, outside })
    }

    /// Moves the scores of Unigram to `self`.
    fn scored<'b>(&mut self, scored: Vec<(Cow<'b, str>, f64)>) -> Result<Vec<(Cow<'b, str>, TokenId)>> {
        if *self.kind.get_or_insert(UNIGRAM) != UNIGRAM {
            return Err(Error::format("$.model.vocab", "expected an object of tokens and ids"));
        }
        let mut spelled = Vec::with_capacity(scored.len());
        for (at, (token, score)) in scored.into_iter().enumerate() {
            let id =
                TokenId::try_from(at).map_err(|_| Error::format("$.model.vocab", "more than 2^32 tokens"))?;
            spelled.push((token, id));
            self.scores.push(score);
        }
        Ok(spelled)
    }

    /// Checks the model and builds its tables. `extras` come from a header.
    pub(super) fn build(self, vocab: Vocab, unit: Unit, extras: Option<ModelExtras>) -> Result<Model> {
        match self.kind {
            Some(kind) if kind != BPE && unit == Unit::Bytes => {
                Err(Error::format("unit", format!("bytes are the unit of BPE, not of {kind}")))
            }
            Some(WORD_PIECE | WORD_LEVEL) => self.word_piece(vocab).map(Model::WordPiece),
            Some(UNIGRAM) => self.unigram(vocab, extras).map(Model::Unigram),
            _ => self.bpe(vocab, unit, extras).map(Model::Bpe),
        }
    }

    fn word_piece(self, vocab: Vocab) -> Result<WordPiece> {
        if self.kind == Some(WORD_LEVEL) {
            let Some(unk_token) = self.options.unk_token else {
                return Err(Error::format("$.model", "the field \"unk_token\" is missing"));
            };
            return WordPiece::new(vocab, WordPieceOptions::whole_words(unk_token));
        }
        let defaults = WordPieceOptions::default();
        let or = |given: Option<String>, default: String| given.unwrap_or(default);
        let options = WordPieceOptions {
            unk_token: or(self.options.unk_token, defaults.unk_token),
            continuing_subword_prefix: or(
                self.options.continuing_subword_prefix,
                defaults.continuing_subword_prefix,
            ),
            max_input_chars_per_word: self
                .max_input_chars_per_word
                .unwrap_or(defaults.max_input_chars_per_word),
            whole_words: false,
        };
        WordPiece::new(vocab, options)
    }

    fn unigram(self, vocab: Vocab, extras: Option<ModelExtras>) -> Result<Unigram> {
        if self.scores.is_empty() {
            return Err(Error::format("$.model.vocab", "expected an array of tokens and scores"));
        }
        let mut options = UnigramOptions {
            unk_id: self.unk_id,
            byte_fallback: self.options.byte_fallback,
            precision: Precision::F64,
            ..UnigramOptions::default()
        };
        if let Some(ModelExtras::Unigram { precision, fuse_unk, kinds }) = extras {
            options.precision = precision;
            options.fuse_unk = fuse_unk;
            let n_kinds = kinds.iter().try_fold(0_usize, |n, (_, run)| n.checked_add(*run));
            if n_kinds.is_none_or(|n| n > vocab.len()) {
                return Err(Error::format("kinds", "more kinds than tokens"));
            }
            options.kinds =
                kinds.into_iter().flat_map(|(kind, run)| std::iter::repeat_n(kind, run)).collect();
        }
        Unigram::new(vocab, self.scores, options)
    }

    fn bpe(self, vocab: Vocab, unit: Unit, extras: Option<ModelExtras>) -> Result<Bpe> {
        let mut options = BpeOptions { unit, ..self.options };
        if unit == Unit::Bytes {
            check_byte_level(&options, &vocab)?;
        }
        if extras == Some(ModelExtras::Ranks) {
            options.ignore_merges = false;
            return Bpe::new(vocab, MergeOrder::Ranks, options);
        }
        if let Some(ModelExtras::Scores { scores, control, user_defined, unused }) = extras {
            let options = BpeOptions { control, user_defined, unused, ..options };
            return Bpe::new(vocab, MergeOrder::Scores(scores), options);
        }
        let Some(spelled) = self.merges else {
            return Err(Error::format("$.model", "the field \"merges\" is missing: no BPE model"));
        };
        let merges = merges(&spelled, &vocab, unit, "$.model.merges")?;
        Bpe::new(vocab, MergeOrder::List(merges), options)
    }
}

/// Checks that byte-level tokens agree with the options that add symbols to them.
fn check_byte_level(options: &BpeOptions, vocab: &Vocab) -> Result<()> {
    let affixes = [
        ("continuing_subword_prefix", &options.continuing_subword_prefix),
        ("end_of_word_suffix", &options.end_of_word_suffix),
    ];
    for (name, affix) in affixes {
        if let Some(text) = affix.as_deref().filter(|text| !text.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err(Error::format(
                format!("$.model.{name}"),
                format!("{text:?} with ByteLevel is not supported; only visible ASCII is"),
            ));
        }
    }
    if options.byte_fallback && !(0..=255u8).all(|byte| vocab.id(&[byte]).is_some()) {
        return Err(Error::format(
            "$.model.byte_fallback",
            "with ByteLevel it is not supported unless all 256 bytes are tokens",
        ));
    }
    Ok(())
}
