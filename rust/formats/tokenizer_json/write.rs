//! Writes tokenizer.json with the same bytes that tokenizers 0.23.3 writes for an equal tokenizer.
//!
//! The vocabulary is in order of ids. Merges are in order of rank and written as pairs, because
//! only that format allows tokens with spaces. Rank order becomes a list of merges with
//! `ignore_merges` ([`Bpe::last_merges`]).

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

use super::NAME;
use super::added::{NextId, template_json, token_json};
use super::write_normalizers::normalizer;
use super::write_unigram::WrittenUnigram;
use super::{decoders, pre_tokenizers};
use crate::error::{Error, Result};
use crate::formats::spelled::{id_of, spell};
use crate::models::Model;
use crate::models::bpe::{Bpe, BpeOptions, MergeOrder, Unit};
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::{CallDefaults, DefaultPadding, DefaultTruncation, Tokenizer};
use crate::vocab::TokenId;

/// Who will read the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) enum Reader {
    /// tokenizers, where the file must mean the same.
    HuggingFace,
    /// This crate, with a header for what the format cannot express.
    Sentitok,
}

/// The file.
#[derive(serde::Serialize)]
pub(super) struct Document<'a> {
    version: &'static str,
    truncation: &'a Option<DefaultTruncation>,
    padding: &'a Option<DefaultPadding>,
    added_tokens: Vec<Value>,
    normalizer: Value,
    pre_tokenizer: Value,
    post_processor: Value,
    decoder: Value,
    model: Written<'a>,
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum Written<'a> {
    Bpe(WrittenBpe<'a>),
    WordPiece(WrittenWordPiece<'a>),
    WordLevel(WrittenWordLevel<'a>),
    Unigram(WrittenUnigram<'a>),
}

#[derive(serde::Serialize)]
struct WrittenWordPiece<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    unk_token: &'a str,
    continuing_subword_prefix: &'a str,
    max_input_chars_per_word: usize,
    vocab: Entries<'a>,
}

#[derive(serde::Serialize)]
struct WrittenWordLevel<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    vocab: Entries<'a>,
    unk_token: &'a str,
}

#[derive(serde::Serialize)]
struct WrittenBpe<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    dropout: Option<f32>,
    unk_token: Option<&'a str>,
    continuing_subword_prefix: Option<&'a str>,
    end_of_word_suffix: Option<&'a str>,
    fuse_unk: bool,
    byte_fallback: bool,
    ignore_merges: bool,
    vocab: Entries<'a>,
    merges: Merges<'a>,
}

struct Entries<'a>(Vec<(Cow<'a, str>, TokenId)>);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (token, id) in &self.0 {
            map.serialize_entry(token, id)?;
        }
        map.end()
    }
}

struct Merges<'a> {
    pairs: Vec<(TokenId, TokenId)>,
    /// The spellings by id; empty for ids outside the model.
    spelled: Vec<Cow<'a, str>>,
}

impl Serialize for Merges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.pairs.len()))?;
        for &(left, right) in &self.pairs {
            seq.serialize_element(&(&self.spelled[left as usize], &self.spelled[right as usize]))?;
        }
        seq.end()
    }
}

pub(super) fn not_representable(reason: impl Into<String>) -> Error {
    Error::NotRepresentable { format: NAME, reason: reason.into() }
}

/// Builds the contents of the file.
pub(super) fn document<'a>(
    tokenizer: &'a Tokenizer,
    defaults: &'a CallDefaults,
    reader: Reader,
) -> Result<Document<'a>> {
    let model = tokenizer.model();
    let unit = model.unit();
    let pipeline = tokenizer.pipeline();
    let pre_tokenizer = match pre_tokenizers::write(&pipeline.pre_tokenizer, unit) {
        Err(_) if reader == Reader::Sentitok => Value::Null,
        other => other?,
    };
    let decoder = match decoders::write(tokenizer) {
        Err(_) if reader == Reader::Sentitok => Value::Null,
        other => other?,
    };
    let normalizer = match &pipeline.normalizer {
        // The header contains it exactly.
        Some(_) if reader == Reader::Sentitok => Value::Null,
        Some(steps) => normalizer(steps)?,
        None => Value::Null,
    };
    let name =
        |id| spelling(tokenizer, id).map(Cow::into_owned).ok_or_else(|| not_representable(no_token(id)));
    Ok(Document {
        version: "1.0",
        truncation: &defaults.truncation,
        padding: &defaults.padding,
        added_tokens: tokenizer.added_tokens().iter().map(token_json).collect(),
        normalizer,
        pre_tokenizer,
        post_processor: template_json(tokenizer.template(), name)?,
        decoder,
        model: match &**model {
            Model::Bpe(bpe) => Written::Bpe(written_bpe(tokenizer, bpe, reader)?),
            Model::WordPiece(words) if words.options().whole_words => Written::WordLevel(WrittenWordLevel {
                kind: model.name(),
                vocab: Entries(entries(tokenizer, &spell_all(model)?, reader)?),
                unk_token: &words.options().unk_token,
            }),
            Model::WordPiece(word_piece) => Written::WordPiece(WrittenWordPiece {
                kind: "WordPiece",
                unk_token: &word_piece.options().unk_token,
                continuing_subword_prefix: &word_piece.options().continuing_subword_prefix,
                max_input_chars_per_word: word_piece.options().max_input_chars_per_word,
                vocab: Entries(entries(tokenizer, &spell_all(model)?, reader)?),
            }),
            Model::Unigram(unigram) => Written::Unigram(WrittenUnigram::of(tokenizer, unigram, reader)?),
        },
    })
}

fn written_bpe<'a>(tokenizer: &'a Tokenizer, model: &'a Bpe, reader: Reader) -> Result<WrittenBpe<'a>> {
    let options = model.options();
    let spelled = spell_all(tokenizer.model())?;
    let vocab = entries(tokenizer, &spelled, reader)?;
    let (pairs, ignore_merges) = merges(model, reader)?;
    Ok(WrittenBpe {
        kind: "BPE",
        dropout: options.dropout,
        unk_token: options.unk_token.as_deref(),
        continuing_subword_prefix: options.continuing_subword_prefix.as_deref(),
        end_of_word_suffix: options.end_of_word_suffix.as_deref(),
        fuse_unk: options.fuse_unk,
        byte_fallback: options.byte_fallback,
        ignore_merges,
        vocab: Entries(vocab),
        merges: Merges { pairs, spelled },
    })
}

fn no_token(id: TokenId) -> String {
    format!("id {id} has no token")
}

/// A token as tokenizer.json spells it: `Ġfilm` for ` film`.
pub fn spelling(tokenizer: &Tokenizer, id: TokenId) -> Option<Cow<'_, str>> {
    let added = tokenizer.added_tokens();
    if let Ok(at) = added.binary_search_by_key(&id, |token| token.id) {
        return Some(Cow::Borrowed(&added[at].content));
    }
    let model = tokenizer.model();
    spell_id(model, id, model.vocab().bytes(id)?)
}

/// The spelling in files of a token of a model. A token that no text is encoded as is its own
/// spelling.
fn spell_id<'a>(model: &Model, id: TokenId, bytes: &'a [u8]) -> Option<Cow<'a, str>> {
    let unit = if model.vocab().is_unreachable(id) { Unit::Chars } else { model.unit() };
    spell(bytes, unit)
}

pub(super) fn spell_all(model: &Model) -> Result<Vec<Cow<'_, str>>> {
    let vocab = model.vocab();
    let mut spelled = vec![Cow::Borrowed(""); vocab.id_limit()];
    for (id, bytes) in vocab.iter_all() {
        spelled[id as usize] = spell_id(model, id, bytes).ok_or_else(|| {
            not_representable(format!("the token of id {id} is not UTF-8: {}", crate::pipeline::hex(bytes)))
        })?;
    }
    Ok(spelled)
}

/// The entries of the vocabulary, including the added tokens that tokenizers would otherwise number
/// differently.
pub(super) fn entries<'a>(
    tokenizer: &'a Tokenizer,
    spelled: &[Cow<'a, str>],
    reader: Reader,
) -> Result<Vec<(Cow<'a, str>, TokenId)>> {
    let vocab = tokenizer.model().vocab();
    let mut entries: Vec<_> = vocab.iter_all().map(|(id, _)| (spelled[id as usize].clone(), id)).collect();
    if reader == Reader::Sentitok {
        return Ok(entries);
    }
    let unit = tokenizer.model().unit();
    let mut outside: Vec<&AddedToken> = Vec::new();
    for token in tokenizer.added_tokens() {
        match id_of(vocab, &token.content, unit) {
            Some(id) if id == token.id => {}
            Some(id) => {
                return Err(not_representable(format!(
                    "the added token {:?} has id {}, but its text is spelled like the token of id {id}",
                    token.content, token.id
                )));
            }
            None if vocab.bytes(token.id).is_some() => {
                return Err(not_representable(format!(
                    "the added token {:?} shares id {} with the token spelled {:?}",
                    token.content, token.id, spelled[token.id as usize]
                )));
            }
            None => outside.push(token),
        }
    }
    // Added tokens with ids below the greatest of the model must be in the vocabulary. Those above
    // may stay outside if tokenizers assigns the same ids.
    let first_after = vocab.id_limit() as u64;
    let within = |token: &AddedToken| u64::from(token.id) < first_after;
    let n_within = outside.iter().filter(|token| within(token)).count();
    let mut next = NextId::new(vocab.len() + n_within);
    let numbered_alike = tokenizer
        .added_tokens()
        .iter()
        .all(|token| next.take(within(token).then_some(token.id)) == u64::from(token.id));
    for token in &outside {
        if within(token) || !numbered_alike {
            entries.push((Cow::Borrowed(&token.content), token.id));
        }
    }
    entries.sort_by_key(|(_, id)| *id);
    Ok(entries)
}

/// The merges in order, and whether whole tokens take precedence over them.
fn merges(model: &Bpe, reader: Reader) -> Result<(Vec<(TokenId, TokenId)>, bool)> {
    let options = model.options();
    match model.order() {
        MergeOrder::Ranks if reader == Reader::Sentitok => Ok((Vec::new(), true)),
        MergeOrder::Ranks => {
            let BpeOptions { continuing_subword_prefix, end_of_word_suffix, .. } = options;
            if continuing_subword_prefix.is_some() || end_of_word_suffix.is_some() {
                return Err(not_representable(
                    "merging by rank with a prefix or suffix has no list of merges",
                ));
            }
            Ok((model.last_merges().into_iter().flatten().collect(), true))
        }
        MergeOrder::List(merges) => {
            // If a pair is listed twice, its last rank counts.
            let pairs = model.pairs();
            let in_force = |rank: usize, left, right| pairs.get(left, right).rank as usize == rank;
            let merges = merges
                .iter()
                .enumerate()
                .filter(|&(rank, &(left, right))| in_force(rank, left, right))
                .map(|(_, &pair)| pair)
                .collect();
            Ok((merges, options.ignore_merges))
        }
        MergeOrder::Scores(_) if reader == Reader::Sentitok => Ok((Vec::new(), false)),
        MergeOrder::Scores(_) => match model.scores_as_list() {
            Ok(merges) => Ok((merges, options.ignore_merges)),
            Err(reason) => Err(not_representable(reason)),
        },
    }
}
