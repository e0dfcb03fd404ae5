//! Writing tokenizer.json: the bytes tokenizers 0.23.3 writes for an equal
//! tokenizer.
//!
//! The vocabulary stands in id order, merges in rank order, as pairs: only so
//! do tokens with spaces survive. Rank order becomes a list of merges with
//! `ignore_merges` ([`Bpe::last_merges`]).

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Value, json};

use super::NAME;
use super::added::{NextId, template_json, token_json};
use super::split;
use crate::added_tokens::AddedToken;
use crate::bpe::{Bpe, BpeOptions, MergeOrder, Unit};
use crate::decoder::Decoder;
use crate::error::{Error, Result};
use crate::format::spelled::{id_of, spell};
use crate::normalizer::Normalizer;
use crate::pre_tokenizer::PreTokenizer;
use crate::tokenizer::Tokenizer;
use crate::vocab::TokenId;

/// For whom a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::format) enum Reader {
    /// tokenizers: it must mean the same there.
    HuggingFace,
    /// Ourselves, with a header for what the format has no words for.
    Sentitok,
}

/// The file.
#[derive(serde::Serialize)]
pub(super) struct Document<'a> {
    version: &'static str,
    truncation: Value,
    padding: Value,
    added_tokens: Vec<Value>,
    normalizer: Value,
    pre_tokenizer: Value,
    post_processor: Value,
    decoder: Value,
    model: Model<'a>,
}

#[derive(serde::Serialize)]
struct Model<'a> {
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
    /// By id; empty for ids outside the model.
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

fn not_representable(reason: impl Into<String>) -> Error {
    Error::NotRepresentable { format: NAME, reason: reason.into() }
}

/// Makes the file's contents.
pub(super) fn document(tokenizer: &Tokenizer, reader: Reader) -> Result<Document<'_>> {
    let model = tokenizer.model();
    let options = model.options();
    let pipeline = tokenizer.pipeline();
    let spelled = spell_all(model)?;
    let vocab = entries(tokenizer, &spelled, reader)?;
    let (pairs, ignore_merges) = merges(model, reader)?;
    let pre_tokenizer = match split::write(&pipeline.pre_tokenizer, options.unit) {
        Err(_) if reader == Reader::Sentitok => Value::Null,
        other => other?,
    };
    let decoder = match decoder(tokenizer.decoder(), options.unit, &pipeline.pre_tokenizer) {
        Err(_) if reader == Reader::Sentitok => Value::Null,
        other => other?,
    };
    let name =
        |id| spelling(tokenizer, id).map(Cow::into_owned).ok_or_else(|| not_representable(no_token(id)));
    Ok(Document {
        version: "1.0",
        truncation: Value::Null,
        padding: Value::Null,
        added_tokens: tokenizer.added_tokens().iter().map(token_json).collect(),
        normalizer: pipeline.normalizer.as_ref().map_or(Value::Null, normalizer),
        pre_tokenizer,
        post_processor: template_json(tokenizer.template(), name)?,
        decoder,
        model: Model {
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
        },
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
    spell(model.vocab().bytes(id)?, model.options().unit)
}

fn spell_all(model: &Bpe) -> Result<Vec<Cow<'_, str>>> {
    let vocab = model.vocab();
    let mut spelled = vec![Cow::Borrowed(""); vocab.id_limit()];
    for (id, bytes) in vocab.iter() {
        spelled[id as usize] = spell(bytes, model.options().unit).ok_or_else(|| {
            not_representable(format!("the token of id {id} is no UTF-8: {}", crate::pipeline::hex(bytes)))
        })?;
    }
    Ok(spelled)
}

/// The entries of the vocabulary, with those added tokens that tokenizers
/// would otherwise number differently.
fn entries<'a>(
    tokenizer: &'a Tokenizer,
    spelled: &[Cow<'a, str>],
    reader: Reader,
) -> Result<Vec<(Cow<'a, str>, TokenId)>> {
    let vocab = tokenizer.model().vocab();
    let mut entries: Vec<_> = vocab.iter().map(|(id, _)| (spelled[id as usize].clone(), id)).collect();
    if reader == Reader::Sentitok {
        return Ok(entries);
    }
    let unit = tokenizer.model().options().unit;
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
    // Ids below the greatest of the model can only stand in the vocabulary;
    // those above may stay outside if tokenizers counts on to the same ids.
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

/// The merges in order, and whether whole tokens come before them.
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
            // Of a pair listed twice the last place counts.
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
    }
}

fn normalizer(normalizer: &Normalizer) -> Value {
    match normalizer {
        Normalizer::Prepend { prepend } => json!({"type": "Prepend", "prepend": prepend}),
        Normalizer::Replace { pattern, content } => {
            json!({"type": "Replace", "pattern": {"String": pattern}, "content": content})
        }
        Normalizer::Sequence { normalizers } => {
            let steps: Vec<_> = normalizers.iter().map(self::normalizer).collect();
            json!({"type": "Sequence", "normalizers": steps})
        }
    }
}

fn decoder(decoder: &Decoder, unit: Unit, pre_tokenizer: &PreTokenizer) -> Result<Value> {
    let replace = json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "});
    Ok(match (unit, decoder) {
        (Unit::Bytes, Decoder::Bytes) => split::byte_level_json(true, true),
        (Unit::Bytes, other) => {
            return Err(not_representable(format!("byte-level tokens with the decoder {other:?}")));
        }
        (Unit::Chars, Decoder::Bytes) => json!({"type": "Fuse"}),
        (Unit::Chars, Decoder::Metaspace { strip_first }) => {
            let (scheme, split) = match pre_tokenizer {
                PreTokenizer::Metaspace { prepend, split } => (split::scheme(*prepend), *split),
                _ => ("always", true),
            };
            let scheme = match (strip_first, scheme) {
                (false, _) => "never",
                (true, "never") => "always",
                (true, scheme) => scheme,
            };
            json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split})
        }
        (Unit::Chars, Decoder::ByteFallback { strip }) => {
            let mut steps = vec![replace, json!({"type": "ByteFallback"}), json!({"type": "Fuse"})];
            if *strip > 0 {
                steps.push(json!({"type": "Strip", "content": " ", "start": strip, "stop": 0}));
            }
            json!({"type": "Sequence", "decoders": steps})
        }
        (Unit::Chars, Decoder::Suffix(suffix)) => json!({"type": "BPEDecoder", "suffix": suffix}),
        (Unit::Chars, Decoder::Spaced) => Value::Null,
    })
}
