//! `.tiktoken`: one token per line, its bytes in base64 and its rank.
//!
//! The file has no pattern and no special tokens; users of tiktoken define these in code. It
//! implies rank order, so a tokenizer with a list of merges is written only if both orders provably
//! give the same ids.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::{memchr, memchr_iter};

use super::{UTF8_MARK, wide_encoding};
use crate::error::{Error, Result};
use crate::models::bpe::{Bpe, BpeOptions, MergeOrder, Unit};
use crate::parallel;
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::{PreTokenizer, SplitPattern};
use crate::text::byte_level;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::decoder::Decoder;
use crate::tokenizer::template::Template;
use crate::tokenizer::{CallDefaults, Parts, Tokenizer};
use crate::vocab::{TokenId, Vocab};

/// The format's name in messages.
const NAME: &str = ".tiktoken";

/// The fewest bytes of a file for which another thread pays off.
const PARALLEL_BYTES: usize = 1 << 18;

/// The pre-tokenizer for a name or a pattern. A pattern with look-around, as tiktoken's have, runs
/// with a step limit.
///
/// # Errors
/// [`Error::Option`] for a misspelt name; [`Error::Pattern`] for a pattern that does not compile.
pub fn pre_tokenizer(name_or_pattern: &str) -> Result<PreTokenizer> {
    let named = PreTokenizer::from_name(name_or_pattern);
    // `cl100k_base` is a valid pattern, too, but it would only match itself.
    let looks_like_a_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if named.is_ok() || name_or_pattern.bytes().all(looks_like_a_name) {
        return named;
    }
    of_pattern(name_or_pattern)
}

/// The pre-tokenizer for a pattern as tiktoken reads it. A pattern with look-around runs with a
/// step limit.
///
/// # Errors
/// [`Error::Pattern`] for a pattern that does not compile.
pub(super) fn of_pattern(pattern: &str) -> Result<PreTokenizer> {
    PreTokenizer::from_pattern(pattern).or_else(|error| match SplitPattern::new(pattern, true) {
        Ok(pattern) => Ok(PreTokenizer::Regex(pattern)),
        Err(_) => Err(error),
    })
}

/// Reads a file of ranks.
///
/// # Errors
/// [`Error::Format`] with the line at fault, for a byte without a token, or for a special token
/// whose id or text is also that of a token.
pub fn read(
    bytes: &[u8],
    pre_tokenizer: PreTokenizer,
    special_tokens: &[(String, TokenId)],
) -> Result<Parts> {
    if let Some(encoding) = wide_encoding(bytes) {
        return Err(Error::format(NAME, format!("the file is {encoding}; save it as UTF-8")));
    }
    // tiktoken ignores a byte order mark, because its base64 decoder skips invalid characters.
    let bytes = bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes);
    let parsed = parallel::in_chunks(bytes.len(), PARALLEL_BYTES, |range| parse_lines(bytes, range));
    let parsed = parsed.into_iter().collect::<std::result::Result<Vec<_>, _>>();
    let parsed = parsed.map_err(|(at, reason)| at_line(memchr_iter(b'\n', &bytes[..at]).count(), &reason))?;
    let tokens = |lines| {
        let Lines { slab, entries }: &Lines = lines;
        entries.iter().map(|(range, rank)| (&slab[range.clone()], *rank))
    };
    let vocab = Vocab::from_pairs(parsed.iter().flat_map(tokens).collect()).map_err(|error| match error {
        Error::Format { reason, .. } => Error::format(NAME, reason),
        other => other,
    })?;
    has_all_bytes(&vocab, NAME)?;
    for (content, id) in special_tokens {
        if let Some(token) = vocab.bytes(*id) {
            return Err(Error::format(
                "special tokens",
                format!("{content:?} has id {id}, the rank of {:?}", byte_level::to_chars(token)),
            ));
        }
    }
    let options = BpeOptions::default();
    Ok(Parts {
        pipeline: Pipeline::new(pre_tokenizer),
        model: std::sync::Arc::new(Bpe::new(vocab, MergeOrder::Ranks, options)?.into()),
        added: special_tokens.iter().map(|(content, id)| AddedToken::special(content, *id)).collect(),
        template: Template::default(),
        decoder: Decoder::Bytes,
        defaults: CallDefaults::default(),
    })
}

fn at_line(number: usize, reason: &str) -> Error {
    Error::format(format!("{NAME}, line {}", number + 1), reason)
}

/// The tokens of some lines, and their ranks.
#[derive(Default)]
struct Lines {
    slab: Vec<u8>,
    entries: Vec<(Range<usize>, TokenId)>,
}

/// Parses the lines that begin in `range`. An error has the start of its line.
fn parse_lines(bytes: &[u8], range: Range<usize>) -> std::result::Result<Lines, (usize, String)> {
    let mut lines = Lines::default();
    lines.slab.reserve(range.len() / 2);
    lines.entries.reserve(range.len() / 16);
    let end_of_line = |from: usize| memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |at| from + at);
    let mut at = if range.start == 0 { 0 } else { end_of_line(range.start - 1) + 1 };
    while at < range.end {
        let end = end_of_line(at);
        let line = bytes[at..end].strip_suffix(b"\r").unwrap_or(&bytes[at..end]);
        if !line.is_empty() {
            let start = lines.slab.len();
            let rank = parse_line(line, &mut lines.slab).map_err(|reason| (at, reason))?;
            lines.entries.push((start..lines.slab.len(), rank));
        }
        at = end + 1;
    }
    Ok(lines)
}

/// Appends the token of a line and returns its rank.
fn parse_line(line: &[u8], slab: &mut Vec<u8>) -> std::result::Result<TokenId, String> {
    let found = || format!("expected base64, a space and a rank, found {:?}", String::from_utf8_lossy(line));
    let space = memchr(b' ', line).ok_or_else(found)?;
    let (token, rank) = (&line[..space], &line[space + 1..]);
    let start = slab.len();
    STANDARD.decode_vec(token, slab).map_err(|error| format!("{error}: {}", found()))?;
    if slab.len() == start {
        return Err("a token without bytes".into());
    }
    if rank.is_empty() || !rank.iter().all(u8::is_ascii_digit) {
        return Err(found());
    }
    let rank = std::str::from_utf8(rank).ok().and_then(|rank| rank.parse().ok());
    rank.filter(|&rank| rank < TokenId::MAX).ok_or_else(|| format!("the rank is too large; {}", found()))
}

/// Refuses ranks that do not cover all bytes, because some texts would have no ids.
pub(super) fn has_all_bytes(vocab: &Vocab, place: &str) -> Result<()> {
    match missing_byte(vocab) {
        Some(byte) => Err(Error::format(
            place,
            format!("the byte 0x{byte:02X} has no rank; all 256 must have one, or some text has no ids"),
        )),
        None => Ok(()),
    }
}

fn missing_byte(vocab: &Vocab) -> Option<u8> {
    (0..=255u8).find(|&byte| vocab.id(&[byte]).is_none())
}

/// Writes the ranks of a tokenizer.
///
/// # Errors
/// [`Error::NotRepresentable`], which says why ranks alone would give different ids.
pub fn write(tokenizer: &Tokenizer) -> Result<Vec<u8>> {
    let vocab = ranks(tokenizer, NAME)?;
    let mut text = String::with_capacity(vocab.len() * 16);
    for (id, bytes) in vocab.iter() {
        STANDARD.encode_string(bytes, &mut text);
        text.push(' ');
        text.push_str(&id.to_string());
        text.push('\n');
    }
    Ok(text.into_bytes())
}

/// The tokens without the added ones, if their order of ids, taken as ranks, gives the ids of this
/// tokenizer. Errors name `format`.
///
/// # Errors
/// [`Error::NotRepresentable`].
pub(super) fn ranks(tokenizer: &Tokenizer, format: &'static str) -> Result<Vocab> {
    let refuse = |reason: String| Err(Error::NotRepresentable { format, reason });
    let model = tokenizer.model().bpe_for(format)?;
    let options = model.options();
    if options.unit != Unit::Bytes {
        return refuse("its tokens are made of characters, not of bytes".into());
    }
    if options.dropout.is_some_and(|p| p > 0.0) {
        return refuse("it has BPE-dropout; take it off first".into());
    }
    let affixes = [&options.continuing_subword_prefix, &options.end_of_word_suffix];
    if affixes.into_iter().flatten().any(|affix| !affix.is_empty()) {
        return refuse("it has a prefix or suffix for parts of words".into());
    }
    let pipeline = tokenizer.pipeline();
    if pipeline.normalizer.is_some() || pipeline.pre_tokenizer.rewrites() {
        return refuse("it rewrites the text before splitting it, which tiktoken cannot".into());
    }
    let is_added = |id: TokenId| tokenizer.added_tokens().binary_search_by_key(&id, |token| token.id).is_ok();
    let vocab = Vocab::from_pairs(
        model.vocab().iter().filter(|(id, _)| !is_added(*id)).map(|(id, b)| (b, id)).collect(),
    )?;
    if let Some(byte) = missing_byte(&vocab) {
        return refuse(format!("the byte 0x{byte:02X} is not a token; all 256 must be"));
    }
    let into_added = model.pairs().iter().filter(|(_, _, merged)| is_added(merged.id));
    // The table is unordered; the minimum makes the report the same each time.
    if let Some((left, right, merged)) = into_added.min_by_key(|&(left, right, _)| (left, right)) {
        return refuse(format!(
            "ids {left} and {right} merge into the added token {}, which is not among the ranks",
            merged.id
        ));
    }
    if let MergeOrder::List(merges) = model.order()
        && let Err(reason) = check_list(model, merges, &vocab)
    {
        return refuse(reason);
    }
    Ok(vocab)
}

/// Proves that a list of merges gives the same ids as ranks, or says why not.
///
/// By rank, a token is only made by its last merge ([`Bpe::last_merges`]). If the list contains all
/// of these, and their results are in ascending order of ids, then at each step the listed pair
/// with the lowest rank is the pair that ranks choose: no other pair with the same or a lower
/// result is present at that time.
fn check_list(model: &Bpe, merges: &[(TokenId, TokenId)], vocab: &Vocab) -> std::result::Result<(), String> {
    let by_rank = Bpe::new(vocab.clone(), MergeOrder::Ranks, BpeOptions::default())
        .map_err(|error| error.to_string())?;
    let last = by_rank.last_merges();
    let name =
        |id: TokenId| format!("{id} ({:?})", byte_level::to_chars(vocab.bytes(id).unwrap_or_default()));
    let mut listed = vec![false; last.len()];
    let mut before = 0;
    for (number, &(left, right)) in merges.iter().enumerate() {
        let merged = model.pairs().get(left, right);
        if merged.rank as usize != number {
            continue;
        }
        if merged.id < before {
            return Err(format!(
                "merge {number} makes the token {}, a later one came before it; tiktoken merges in the order of ids",
                name(merged.id)
            ));
        }
        before = merged.id;
        if last[merged.id as usize] == Some((left, right)) {
            listed[merged.id as usize] = true;
        }
    }
    for (id, bytes) in vocab.iter().filter(|(_, bytes)| bytes.len() > 1) {
        match last[id as usize] {
            Some((left, right)) if !listed[id as usize] => {
                return Err(format!(
                    "by rank the token {} comes from {} and {}, a merge this tokenizer does not have",
                    name(id),
                    name(left),
                    name(right)
                ));
            }
            None if !model.options().ignore_merges => {
                return Err(format!(
                    "the token {} comes from no merge, and tiktoken would take it for a whole piece of {} bytes",
                    name(id),
                    bytes.len()
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(file: &[u8], range: Range<usize>) -> Vec<(Vec<u8>, TokenId)> {
        let Lines { slab, entries } = parse_lines(file, range).unwrap();
        entries.into_iter().map(|(at, rank)| (slab[at].to_vec(), rank)).collect()
    }

    #[test]
    fn lines_are_parsed_once_for_any_cut_of_the_file() {
        let file = b"IQ== 0\n\nIiI= 1\r\nIw== 2";
        let whole = tokens(file, 0..file.len());
        assert_eq!(whole, [(b"!".to_vec(), 0), (b"\"\"".to_vec(), 1), (b"#".to_vec(), 2)]);
        for cut in 0..=file.len() {
            assert_eq!([tokens(file, 0..cut), tokens(file, cut..file.len())].concat(), whole, "cut at {cut}");
        }
        assert_eq!(parse_lines(b"IQ== 0\nI!== 1\n", 3..14).err().map(|error| error.0), Some(7));
    }
}
