//! A smaller tokenizer of the same kind: tokens taken out, ids closed up.
//!
//! A text whose ids hold no token that is taken out keeps its tokens. For BPE
//! that needs every token from which a kept one is merged, so these stay, too;
//! by the proof in `bpe::last_merge` no further ones take part. Unused pieces of
//! SentencePiece's take part without being seen, so all that merging makes stay.
//! Unigram keeps a piece of the least score. A word that is unknown to WordPiece
//! may become known: without the token that led nowhere, a shorter one is matched.

use std::sync::Arc;

use super::{Parts, Tokenizer};
use crate::error::{Error, Result};
use crate::models::Model;
use crate::models::bpe::{Bpe, BpeOptions, MergeOrder, Unit};
use crate::models::unigram::{Unigram, UnigramOptions};
use crate::models::wordpiece::WordPiece;
use crate::normalizer::{Normalizer, SentencePiece};
use crate::pipeline::Pipeline;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::decoder::Decoder;
use crate::tokenizer::template::Part;
use crate::vocab::{TokenId, Vocab};

/// The new id of each old one; `None` for those taken out.
pub type IdMap = Vec<Option<TokenId>>;

impl Tokenizer {
    /// A tokenizer of the tokens `keep`, in their order, and of those it cannot
    /// do without: added tokens, the unknown token, the template's, single
    /// bytes, unused pieces, the user-defined pieces with a space, and what kept tokens
    /// are merged from.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for an id without a token.
    pub fn prune(&self, keep: &[TokenId]) -> Result<(Self, IdMap)> {
        self.model.vocab().check_room()?;
        let mut kept = vec![false; self.max_id() as usize + 1];
        let template = self.template.single.iter().chain(&self.template.pair);
        let of_template = template.filter_map(|part| match part {
            Part::Special { id, .. } => Some(*id),
            _ => None,
        });
        let vocab = self.model.vocab();
        let unk = self.model.unk_token().and_then(|token| vocab.id(token.as_bytes()));
        let added = self.added.tokens().iter().map(|token| token.id);
        let fallback = vocab.iter().map(|(id, _)| id).filter(|&id| self.model.fallback_byte(id).is_some());
        // A user-defined piece with a space keeps the normalizer from that space,
        // and is not an id of any text: texts without pruned ids hang on it.
        let shields = self.pipeline.normalizer.iter().flat_map(|normalizer| match normalizer {
            Normalizer::SentencePiece(normalizer) => &normalizer.options().user_defined[..],
            _ => &[],
        });
        let shields = shields.filter(|text| text.contains(' ')).filter_map(|text| vocab.id(text.as_bytes()));
        let others = unk.into_iter().chain(added).chain(fallback).chain(shields);
        for id in keep.iter().copied().chain(of_template).chain(others) {
            match kept.get_mut(id as usize).filter(|_| self.id_to_bytes(id).is_some()) {
                Some(slot) => *slot = true,
                None => return Err(Error::UnknownId { id: u64::from(id), max: self.max_id() }),
            }
        }
        self.model.keep_parts(&mut kept);
        let mut next = 0;
        let map: IdMap = kept
            .iter()
            .map(|&is_kept| {
                is_kept.then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        let new_id = |id: TokenId| map.get(id as usize).copied().flatten();
        let move_parts = |parts: &[Part]| -> Vec<Part> {
            let moved = |part: &Part| match *part {
                Part::Special { id, type_id } => Part::Special { id: new_id(id).unwrap_or(id), type_id },
                other => other,
            };
            parts.iter().map(moved).collect()
        };
        let mut template = self.template.clone();
        template.single = move_parts(&template.single);
        template.pair = move_parts(&template.pair);
        let added = self.added.tokens().iter();
        let tokenizer = Self::new(Parts {
            pipeline: self.pruned_pipeline(&new_id)?,
            model: Arc::new(self.model.pruned(&new_id)?),
            added: added
                .map(|token| AddedToken { id: new_id(token.id).unwrap_or(token.id), ..token.clone() })
                .collect(),
            template,
            decoder: match &self.decoder {
                Decoder::SentencePiece(decoder) => {
                    Decoder::SentencePiece(Box::new(decoder.renumbered(new_id)))
                }
                other => other.clone(),
            },
            defaults: self.defaults.renumbered(new_id),
        })?;
        Ok((tokenizer, map))
    }

    /// The pipeline, whose normalizer knows no user-defined pieces that are gone.
    fn pruned_pipeline(&self, new_id: &impl Fn(TokenId) -> Option<TokenId>) -> Result<Pipeline> {
        let mut pipeline = self.pipeline.clone();
        if let Some(Normalizer::SentencePiece(normalizer)) = &pipeline.normalizer {
            let is_gone =
                |text: &String| self.model.vocab().id(text.as_bytes()).is_some_and(|id| new_id(id).is_none());
            let mut options = normalizer.options().clone();
            let before = options.user_defined.len();
            options.user_defined.retain(|text| !is_gone(text));
            if options.user_defined.len() < before {
                let normalizer = Normalizer::SentencePiece(Box::new(SentencePiece::new(options)?));
                pipeline.normalizer = Some(normalizer);
            }
        }
        Ok(pipeline)
    }
}

impl Model {
    /// Marks what the marked tokens are made of.
    fn keep_parts(&self, kept: &mut [bool]) {
        match self {
            Self::Bpe(model) => keep_merged_from(model, kept),
            Self::WordPiece(_) => {}
            // The cost of an unknown character depends on the least score.
            Self::Unigram(model) => {
                if let Some(kept) = model.least_id().and_then(|id| kept.get_mut(id as usize)) {
                    *kept = true;
                }
            }
        }
    }

    /// This model with the tokens that have a new id.
    fn pruned(&self, new_id: &impl Fn(TokenId) -> Option<TokenId>) -> Result<Self> {
        match self {
            Self::WordPiece(model) => Ok(Self::WordPiece(WordPiece::new(
                pruned_vocab(model.vocab(), new_id)?,
                model.options().clone(),
            )?)),
            Self::Unigram(model) => {
                let kept = |id: &usize| new_id(*id as TokenId).is_some();
                let ids = || (0..model.vocab().id_limit()).filter(kept);
                if model.least_id().is_none() && model.vocab().iter().any(|(id, _)| new_id(id).is_none()) {
                    return Err(Error::NotRepresentable {
                        format: "a smaller vocabulary",
                        reason: "the model has no normal piece, so an unknown character costs less than any \
                                 piece, and a text whose characters are taken out changes; keep all of it"
                            .to_owned(),
                    });
                }
                let options = UnigramOptions {
                    unk_id: model.unk_id().and_then(new_id),
                    kinds: ids().filter_map(|id| model.options().kinds.get(id).copied()).collect(),
                    ..model.options().clone()
                };
                let scores = ids().filter_map(|id| model.scores().get(id).copied()).collect();
                Ok(Self::Unigram(Unigram::new(pruned_vocab(model.vocab(), new_id)?, scores, options)?))
            }
            Self::Bpe(model) => {
                let order = match model.order() {
                    MergeOrder::Ranks => MergeOrder::Ranks,
                    MergeOrder::Scores(scores) => {
                        let ids = (0..model.vocab().id_limit()).filter(|&id| new_id(id as TokenId).is_some());
                        MergeOrder::Scores(ids.filter_map(|id| scores.get(id).copied()).collect())
                    }
                    MergeOrder::List(merges) => {
                        let kept = merges.iter().filter_map(|&(left, right)| {
                            new_id(model.pairs().get(left, right).id)?;
                            Some((new_id(left)?, new_id(right)?))
                        });
                        MergeOrder::List(kept.collect())
                    }
                };
                let moved = |ids: &[TokenId]| ids.iter().copied().filter_map(new_id).collect();
                let options = BpeOptions {
                    control: moved(&model.options().control),
                    user_defined: moved(&model.options().user_defined),
                    unused: moved(&model.options().unused),
                    ..model.options().clone()
                };
                Ok(Self::Bpe(Bpe::new(pruned_vocab(model.vocab(), new_id)?, order, options)?))
            }
        }
    }
}

fn pruned_vocab(vocab: &Vocab, new_id: &impl Fn(TokenId) -> Option<TokenId>) -> Result<Vocab> {
    let unreachable = vocab.unreachable().iter().filter_map(|&id| new_id(id)).collect();
    let pairs = vocab.iter_all().filter_map(|(id, bytes)| Some((bytes, new_id(id)?))).collect();
    Vocab::with_unreachable(pairs, unreachable)
}

/// Marks single bytes and unused pieces, and the ancestors of marked tokens.
fn keep_merged_from(model: &Bpe, kept: &mut [bool]) {
    if model.options().unit == Unit::Bytes {
        model
            .vocab()
            .iter()
            .filter(|(_, bytes)| bytes.len() == 1)
            .for_each(|(id, _)| kept[id as usize] = true);
    }
    let mut parents: Vec<Vec<TokenId>> = vec![Vec::new(); kept.len()];
    for (left, right, merged) in model.pairs().iter() {
        // Of a list every way to a token counts: with a prefix or suffix there
        // may be more than one.
        if let Some(of) = parents.get_mut(merged.id as usize) {
            of.extend([left, right]);
        }
    }
    if !matches!(model.order(), MergeOrder::List(_)) {
        let last = model.last_pairs();
        // An unused piece that merging makes keeps other merges from happening.
        let is_made = |id: &&TokenId| last.get(**id as usize).is_some_and(Option::is_some);
        model.options().unused.iter().filter(is_made).for_each(|&id| kept[id as usize] = true);
        let is_token = |id: &TokenId| (*id as usize) < model.vocab().id_limit();
        for (of, last) in parents.iter_mut().zip(last) {
            of.clear();
            of.extend(last.into_iter().flat_map(|(left, right)| [left, right]).filter(is_token));
        }
    }
    let mut open: Vec<usize> = (0..kept.len()).filter(|&id| kept[id]).collect();
    while let Some(id) = open.pop() {
        for &parent in &parents[id] {
            if !std::mem::replace(&mut kept[parent as usize], true) {
                open.push(parent as usize);
            }
        }
    }
}
