//! vocab.json and merges.txt, the two files of GPT-2.
//!
//! They contain neither special tokens nor the split pattern. The reader assumes GPT-2's splitter,
//! and that `<|endoftext|>` is special if it is in the vocabulary. The writer refuses or reports
//! what would be read differently. Other models have files with the same names; they are refused if
//! their tokens show it.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::de::DeserializeSeed;

use super::spelled::{merges, vocab};
use super::tokenizer_json::entries::{Place, VocabSeed};
use super::tokenizer_json::spelling;
use crate::error::{Error, Result};
use crate::models::bpe::{Bpe, BpeOptions, MergeOrder, Unit};
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::PreTokenizer;
use crate::text::byte_level;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::decoder::Decoder;
use crate::tokenizer::template::Template;
use crate::tokenizer::{CallDefaults, Parts, Tokenizer};
use crate::vocab::{TokenId, Vocab};

/// The format's name in messages.
const NAME: &str = "vocab.json and merges.txt";
const VERSION: &str = "#version: 0.2";
const END_OF_TEXT: &str = "<|endoftext|>";
const END_OF_WORD: &str = "</w>";

/// Reads both files.
///
/// # Errors
/// [`Error::Format`], which names the file and the line or token at fault.
pub fn read(vocab_json: &str, merges_txt: &str) -> Result<Parts> {
    let place = Place::default();
    place.set("vocab.json");
    let mut deserializer = serde_json::Deserializer::from_str(vocab_json);
    let spelled = VocabSeed(&place)
        .deserialize(&mut deserializer)
        .and_then(|vocab| deserializer.end().map(|()| vocab))
        .map_err(|error| place.error(&error))?;
    let vocab = vocab(&spelled, Unit::Bytes, "vocab.json")?;
    let mut pairs = Vec::new();
    for (number, line) in merges_txt.lines().enumerate() {
        if line.starts_with("#version") || line.is_empty() {
            continue;
        }
        match line.split_once(' ') {
            Some((left, right)) if !right.contains(' ') => pairs.push((left, right)),
            _ => {
                return Err(Error::format(
                    format!("merges.txt, line {}", number + 1),
                    format!("expected two tokens with one space between them, found {line:?}"),
                ));
            }
        }
    }
    let merges = merges(&pairs, &vocab, Unit::Bytes, "merges.txt, merge ")?;
    is_of_gpt2(&spelled, &pairs, &vocab)?;
    let end_of_text = vocab.id(END_OF_TEXT.as_bytes()).map(|id| AddedToken::special(END_OF_TEXT, id));
    Ok(Parts {
        pipeline: Pipeline::new(PreTokenizer::Gpt2 { add_prefix_space: false }),
        model: std::sync::Arc::new(Bpe::new(vocab, MergeOrder::List(merges), BpeOptions::default())?.into()),
        added: end_of_text.into_iter().collect(),
        template: Template::default(),
        decoder: Decoder::Bytes,
        defaults: CallDefaults::default(),
    })
}

/// Refuses files of other models, recognised by their tokens.
///
/// GPT-1 and CLIP mark the last symbol of a word, so `a</w>` is an initial symbol there. In GPT-2
/// such a token can only be the result of a merge, for example from HTML. GPT-2 also has a token
/// for each byte; without that of the space, as in a vocabulary of plain words, spaces would
/// vanish.
fn is_of_gpt2(spelled: &[(Cow<'_, str>, TokenId)], merges: &[(&str, &str)], vocab: &Vocab) -> Result<()> {
    let ends_word = |token: &str| token.len() > END_OF_WORD.len() && token.ends_with(END_OF_WORD);
    let mut ends: HashSet<&str> =
        spelled.iter().map(|(token, _)| &**token).filter(|token| ends_word(token)).collect();
    for (left, right) in merges.iter().filter(|(_, right)| right.ends_with('>')) {
        ends.remove(format!("{left}{right}").as_str());
    }
    // The minimum makes the report the same each time.
    if let Some(token) = ends.into_iter().min() {
        return Err(Error::format(
            "vocab.json",
            format!(
                "the symbol {token:?} ends a word, as in the files of GPT-1 and CLIP, which do not say how text is \
                 cut; write \"tokenizer_class\": \"OpenAIGPTTokenizer\" or \"CLIPTokenizer\" into \
                 tokenizer_config.json next to it and call Tokenizer.from_pretrained(folder)"
            ),
        ));
    }
    if let Some(byte) = (0..=255u8).find(|&byte| vocab.id(&[byte]).is_none()) {
        return Err(Error::format(
            "vocab.json",
            format!(
                "there is not a token {:?} for the byte 0x{byte:02X}, and GPT-2 has one for each, or text would vanish; \
                 these are files of another model: name its \"tokenizer_class\" in tokenizer_config.json next to \
                 them and call Tokenizer.from_pretrained(folder), or save it as tokenizer.json",
                byte_level::to_chars(&[byte])
            ),
        ));
    }
    Ok(())
}

/// Both files, and the list of what they cannot store.
#[non_exhaustive]
pub struct Written {
    /// vocab.json.
    pub vocab_json: Vec<u8>,
    /// merges.txt.
    pub merges_txt: Vec<u8>,
    /// Differences in reading, in sentences.
    pub left_out: Vec<String>,
}

/// Writes both files.
///
/// # Errors
/// [`Error::NotRepresentable`] if they would give different ids for plain text.
pub fn write(tokenizer: &Tokenizer) -> Result<Written> {
    let refuse = |reason: &str| Err(Error::NotRepresentable { format: NAME, reason: reason.into() });
    let model = tokenizer.model().bpe_for(NAME)?;
    let options = model.options();
    let plain = BpeOptions {
        // These options do nothing if every byte is a token.
        fuse_unk: options.fuse_unk,
        byte_fallback: options.byte_fallback,
        ..BpeOptions::default()
    };
    if options.unit != Unit::Bytes || !model.is_lossless() {
        return refuse("its tokens are not made of all 256 bytes");
    }
    let affixes = [&options.continuing_subword_prefix, &options.end_of_word_suffix];
    let affixed = affixes.into_iter().flatten().any(|affix| !affix.is_empty());
    if affixed || options.dropout != plain.dropout || options.unk_token != plain.unk_token {
        return refuse(
            "it has options of the model (dropout, unknown token, prefix, suffix) that they have no place for",
        );
    }
    if tokenizer.pipeline() != &Pipeline::new(PreTokenizer::Gpt2 { add_prefix_space: false }) {
        return refuse("programs that read them split as GPT-2 does, and this tokenizer splits differently");
    }
    let last = model.last_merges();
    let whole_only = |(id, bytes): &(u32, &[u8])| {
        bytes.len() > 1
            && last[*id as usize].is_none()
            && tokenizer.added_tokens().binary_search_by_key(id, |token| token.id).is_err()
    };
    let pairs = match model.order() {
        MergeOrder::List(merges) if !options.ignore_merges => merges.clone(),
        _ if model.vocab().iter().any(|token| whole_only(&token)) => {
            return refuse("some of its tokens come from no merge, only as whole pieces");
        }
        MergeOrder::List(merges) => merges.clone(),
        MergeOrder::Ranks => last.into_iter().flatten().collect(),
        MergeOrder::Scores(_) => return refuse("it merges characters by scores, not bytes by a list"),
    };
    let spell = |id| spelling(tokenizer, id).unwrap_or_default();
    let mut ids: Vec<_> = model.vocab().iter_all().map(|(id, _)| id).collect();
    ids.extend(tokenizer.added_tokens().iter().map(|token| token.id));
    ids.sort_unstable();
    ids.dedup();
    let entries: serde_json::Map<_, _> =
        ids.into_iter().map(|id| (spell(id).into_owned(), serde_json::Value::from(id))).collect();
    let vocab_json = serde_json::to_vec(&entries).map_err(|error| Error::Internal(error.to_string()))?;
    let mut merges_txt = format!("{VERSION}\n");
    for (left, right) in pairs {
        merges_txt.push_str(&format!("{} {}\n", spell(left), spell(right)));
    }
    Ok(Written { vocab_json, merges_txt: merges_txt.into_bytes(), left_out: left_out(tokenizer) })
}

fn left_out(tokenizer: &Tokenizer) -> Vec<String> {
    let mut left_out: Vec<_> = tokenizer
        .added_tokens()
        .iter()
        .filter(|token| {
            let AddedToken { special, single_word, lstrip, rstrip, .. } = **token;
            token.content != END_OF_TEXT || !special || single_word || lstrip || rstrip
        })
        .map(|token| {
            format!("{:?} (id {}) is in vocab.json, but no longer an added token", token.content, token.id)
        })
        .collect();
    if *tokenizer.template() != Template::default() {
        left_out.push("the special tokens around a text are left out".into());
    }
    left_out
}
