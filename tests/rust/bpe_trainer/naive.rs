//! BPE training by its definition: each step counts all pairs of all words.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use sentitok::TokenId;
use sentitok::trainers::bpe::{BpeTrainer, Merge, TieBreak, Unit};

use super::Counts;

/// GPT-2's character of a byte: printable Latin-1 spells itself, the rest are U+0100 and on, in order.
fn byte_level_char(byte: u8) -> char {
    let is_printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if is_printable(byte) {
        return char::from(byte);
    }
    let number = (0..byte).filter(|&other| !is_printable(other)).count() as u32;
    char::from_u32(256 + number).expect("a character")
}

/// The merges of words, whose ids become those of merged tokens.
pub(super) fn merges(
    options: &BpeTrainer,
    tokens: &mut Vec<Vec<u8>>,
    words: &mut [(Vec<TokenId>, u64)],
) -> Vec<Merge> {
    let length = |tokens: &[Vec<u8>], id: TokenId| match options.unit {
        Unit::Bytes => tokens[id as usize].len(),
        Unit::Chars => String::from_utf8_lossy(&tokens[id as usize]).chars().count(),
    };
    let mut merges = Vec::new();
    while tokens.len() < options.vocab_size {
        let mut pairs: BTreeMap<(TokenId, TokenId), u64> = BTreeMap::new();
        for (word, weight) in words.iter() {
            for pair in word.windows(2) {
                *pairs.entry((pair[0], pair[1])).or_default() += weight;
            }
        }
        let most = options.max_token_length.unwrap_or(usize::MAX);
        pairs.retain(|pair, _| {
            let length = length(tokens, pair.0) + length(tokens, pair.1);
            length == 2 || length < most
        });
        let Some(&count) = pairs.values().max() else { break };
        if count < options.min_frequency {
            break;
        }
        let bytes = |id: TokenId| tokens[id as usize].clone();
        let joined = |pair: &(TokenId, TokenId)| [bytes(pair.0), bytes(pair.1)].concat();
        let top = pairs.into_iter().filter(|pair| pair.1 == count).map(|pair| pair.0);
        let best = match options.tie_break {
            TieBreak::HuggingFace => top.min(),
            TieBreak::Bytes => top.max_by_key(|pair| (bytes(pair.0), bytes(pair.1))),
            TieBreak::SentencePiece => {
                top.min_by_key(|pair| (length(tokens, pair.0) + length(tokens, pair.1), joined(pair), *pair))
            }
            TieBreak::Text => {
                let text = |id: TokenId| match options.unit {
                    Unit::Bytes => bytes(id).into_iter().map(byte_level_char).collect(),
                    Unit::Chars => String::from_utf8_lossy(&bytes(id)).into_owned(),
                };
                top.max_by_key(|pair| (text(pair.0), text(pair.1), Reverse(*pair)))
            }
        };
        let Some(pair) = best else { break };
        let joined = joined(&pair);
        let id = tokens.iter().position(|token| *token == joined).unwrap_or(tokens.len());
        if id == tokens.len() {
            tokens.push(joined);
        }
        merges.push(Merge { left: pair.0, right: pair.1, id: id as TokenId, count });
        for (word, _) in words.iter_mut() {
            let mut out = Vec::new();
            let mut at = 0;
            while at < word.len() {
                let is_pair = word[at] == pair.0 && word.get(at + 1) == Some(&pair.1);
                out.push(if is_pair { id as TokenId } else { word[at] });
                at += if is_pair { 2 } else { 1 };
            }
            *word = out;
        }
    }
    merges
}

/// The tokens and merges of pieces, with the seen alphabet.
pub(super) fn from_pieces(options: &BpeTrainer, counts: &Counts) -> (Vec<Vec<u8>>, Vec<Merge>) {
    let mut tokens: Vec<Vec<u8>> =
        options.special_tokens.iter().map(|text| text.clone().into_bytes()).collect();
    let split = |piece: &Vec<u8>| -> Vec<Vec<u8>> {
        match options.unit {
            Unit::Bytes => piece.iter().map(|&byte| vec![byte]).collect(),
            Unit::Chars => {
                String::from_utf8_lossy(piece).chars().map(|c| c.to_string().into_bytes()).collect()
            }
        }
    };
    let order = |symbol: &Vec<u8>| match options.unit {
        Unit::Bytes => u32::from(sentitok::text::byte_level::BYTE_TO_CHAR[usize::from(symbol[0])]),
        Unit::Chars => String::from_utf8_lossy(symbol).chars().next().map_or(0, u32::from),
    };
    let mut symbols: Vec<Vec<u8>> = counts.keys().flat_map(split).collect();
    symbols.sort_by_key(order);
    symbols.dedup();
    symbols.retain(|symbol| !tokens.contains(symbol));
    tokens.extend(symbols);
    let id = |symbol: &Vec<u8>| tokens.iter().position(|token| token == symbol).map_or(0, |id| id as TokenId);
    let mut words: Vec<(Vec<TokenId>, u64)> =
        counts.iter().map(|(piece, count)| (split(piece).iter().map(id).collect(), *count)).collect();
    let merges = merges(options, &mut tokens, &mut words);
    (tokens, merges)
}
