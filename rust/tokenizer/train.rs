//! From what a trainer gives to a tokenizer, and back to a base to extend.
//!
//! Not a trainer: the order of merges is the affair of [`crate::trainers::bpe`].

use std::fmt;
use std::sync::Arc;

use super::{CallDefaults, Parts, Tokenizer};
use crate::corpus::word_counts::WordCounts;
use crate::error::{Error, Result};
use crate::models::bpe::{Bpe, BpeOptions, MergeOrder, Unit};
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::{PreTokenizer, Prepend};
use crate::progress::Progress;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::decoder::Decoder;
use crate::tokenizer::template::Template;
use crate::trainers::bpe::{Base, BpeTrainer, MergeStop, TrainedMerges};
use crate::vocab::{TokenId, Vocab};

impl Tokenizer {
    /// Trains on counted pieces. The tokenizer splits text as the counts were split.
    ///
    /// # Errors
    /// As [`BpeTrainer::train`].
    pub fn train_bpe(trainer: &BpeTrainer, counts: &WordCounts, progress: &mut Progress) -> Result<Self> {
        let trained = trainer.train(counts.iter(), progress)?;
        Self::from_trained(trainer, None, counts.pipeline().clone(), &trained, None)
    }

    /// Makes a tokenizer of what `trainer` gave. `unk_token` represents symbols
    /// outside the alphabet; it must be one of the special tokens.
    ///
    /// If [`Tokenizer::base`] is continued, its parts that training does not learn stay: the
    /// rules of its added tokens, its template, its decoder, and what its model does in
    /// addition to merging.
    ///
    /// # Errors
    /// [`Error::Format`] for an unknown token that is not a token.
    pub fn from_trained(
        trainer: &BpeTrainer,
        unk_token: Option<&str>,
        pipeline: Pipeline,
        trained: &TrainedMerges,
        base: Option<&Self>,
    ) -> Result<Self> {
        let mut tokens = Vec::with_capacity(trained.tokens.len());
        for (id, token) in trained.tokens.iter().enumerate() {
            if let Some(token) = token {
                tokens.push((token.as_slice(), id_of(id)?));
            }
        }
        let mut merges: Vec<(TokenId, TokenId)> = Vec::new();
        if let Some(extended) = &trainer.extend {
            merges.extend(extended.merges.iter().map(|&(left, right, _)| (left, right)));
        }
        merges.extend(trained.merges.iter().map(|merge| (merge.left, merge.right)));
        let options = BpeOptions {
            unit: trainer.unit,
            unk_token: unk_token.map(str::to_owned),
            byte_fallback: trainer.byte_fallback,
            continuing_subword_prefix: trainer.continuing_subword_prefix.clone(),
            end_of_word_suffix: trainer.end_of_word_suffix.clone(),
            ..base.and_then(|base| base.model.bpe()).map(options_that_stay).unwrap_or_default()
        };
        let decoder =
            base.map_or_else(|| decoder_of(&pipeline.pre_tokenizer, &options), |base| base.decoder.clone());
        let model = Bpe::new(Vocab::from_pairs(tokens)?, MergeOrder::List(merges), options)?;
        let added = trained.special_tokens.iter().map(|(content, id)| {
            let known = base.and_then(|base| base.added.by_content(content));
            match known.filter(|_| !trainer.special_tokens.contains(content)) {
                Some(token) => token.clone(),
                None => AddedToken::special(content.clone(), *id),
            }
        });
        Self::new(Parts {
            pipeline,
            model: Arc::new(model.into()),
            added: added.collect(),
            template: base.map_or_else(Template::default, |base| base.template.clone()),
            decoder,
            defaults: CallDefaults::default(),
        })
    }

    /// The data that a trainer needs to extend this tokenizer.
    ///
    /// # Errors
    /// [`Error::Option`] for a tokenizer that is not BPE, or whose scores no list
    /// of merges can follow.
    pub fn base(&self) -> Result<Base> {
        let Some(bpe) = self.model.bpe() else {
            return Err(Error::Option {
                option: "extend",
                value: self.model.name().into(),
                reason: "only BPE extends a base; train without it, or give a BPE tokenizer".into(),
            });
        };
        let vocab = bpe.vocab();
        let limit = self.max_id() as usize + 1;
        let mut tokens = Vec::with_capacity(limit);
        for id in 0..limit {
            tokens.push(vocab.bytes(id_of(id)?).map(<[u8]>::to_vec));
        }
        // The trained tokenizer merges by a list, which must give the ids of the base.
        let pairs = match bpe.order() {
            MergeOrder::Scores(_) => bpe.scores_as_list().map_err(|reason| Error::Option {
                option: "extend",
                value: "a tokenizer that merges by scores".into(),
                reason: format!("no list of merges gives its ids: {reason}"),
            })?,
            MergeOrder::Ranks | MergeOrder::List(_) => bpe.merge_list(),
        };
        let mut merges = Vec::with_capacity(pairs.len());
        for (left, right) in pairs {
            merges.push((left, right, bpe.pairs().get(left, right).id));
        }
        let added = self.added_tokens().iter();
        let special_tokens = added.map(|token| (token.content.clone(), token.id)).collect();
        Ok(Base { tokens, merges, special_tokens })
    }
}

/// The options of an extended model in addition to merging.
fn options_that_stay(base: &Bpe) -> BpeOptions {
    let BpeOptions { fuse_unk, dropout, .. } = *base.options();
    BpeOptions { fuse_unk, dropout, ignore_merges: base.emits_whole_tokens(), ..BpeOptions::default() }
}

fn id_of(id: usize) -> Result<TokenId> {
    TokenId::try_from(id).map_err(|_| Error::Internal(format!("id {id} is not a u32")))
}

/// The decoder of a tokenizer trained with these options. [`Decoder::Spaced`] is for pre-tokenizers that
/// drop white space: it puts a space between tokens.
fn decoder_of(pre_tokenizer: &PreTokenizer, options: &BpeOptions) -> Decoder {
    if let Some(suffix) = &options.end_of_word_suffix {
        return Decoder::Suffix { suffix: suffix.clone() };
    }
    match (pre_tokenizer, options.unit) {
        (PreTokenizer::Metaspace { prepend, .. }, _) => {
            let put_in = *prepend != Prepend::Never;
            if options.byte_fallback {
                Decoder::ByteFallback { strip: usize::from(put_in) }
            } else {
                Decoder::Metaspace { strip_first: put_in }
            }
        }
        (_, Unit::Chars) if options.byte_fallback => Decoder::ByteFallback { strip: 0 },
        (pre_tokenizer, Unit::Chars) if pre_tokenizer.drops_white_space() => Decoder::Spaced,
        _ => Decoder::Bytes,
    }
}

impl fmt::Display for MergeStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VocabFull => f.write_str("the vocabulary has the size asked for"),
            Self::NoPairs => f.write_str("every piece is one token: there is nothing left to merge"),
            Self::BelowMinFrequency { count } => {
                write!(f, "the most frequent pair left occurs {count} time(s), less than min_frequency")
            }
            Self::NoGain => f.write_str("no pair left makes the corpus more likely when it is merged"),
        }
    }
}
