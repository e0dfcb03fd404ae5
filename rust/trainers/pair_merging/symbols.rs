//! `FirstSymbols`: the initial symbols of pieces and their ids.
//!
//! Order of ids: base, special tokens, byte tokens, alphabet by code point, then symbols with
//! prefix or suffix by code point. Hugging Face orders the last group by hash, so only the ids
//! before it are the same.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::Unit;
use super::tokens::Tokens;
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};
use crate::text::byte_level;
use crate::vocab::TokenId;

/// How many pieces are counted between two checks for progress. Counting bytes is too fast to need
/// one.
const TICK: usize = 1 << 12;

/// The position class of a symbol in its piece. Bit 0: not first; bit 1: last.
type Place = usize;

/// Symbols left out of the alphabet, with counts.
type Dropped = Vec<(Vec<u8>, u64)>;

/// The options of a trainer that concern initial symbols.
pub(crate) struct SymbolOptions<'a> {
    pub(crate) unit: Unit,
    /// Tokens with ids before all symbols.
    pub(crate) special_tokens: &'a [String],
    /// Whether the 256 tokens `<0x00>` to `<0xFF>` follow the special tokens, and characters
    /// outside the alphabet end a run of symbols.
    pub(crate) byte_fallback: bool,
    /// Characters that are in the alphabet even if no piece contains them.
    pub(crate) required: Vec<char>,
    /// The maximum number of symbols, if limited. Required characters are kept first.
    pub(crate) limit: Option<usize>,
    /// The prefix of each symbol that does not begin its piece.
    pub(crate) prefix: &'a [u8],
    /// The suffix of each symbol that ends its piece.
    pub(crate) suffix: &'a [u8],
}

/// Maps a symbol and its position class to its id.
pub(crate) struct FirstSymbols {
    unit: Unit,
    /// By the code point of the symbol's character.
    ids: FxHashMap<u32, [Option<TokenId>; 4]>,
    /// The same for bytes, by byte.
    byte_ids: [[Option<TokenId>; 4]; 256],
    /// Whether an unknown symbol ends a run (otherwise it vanishes).
    pub(crate) unknown_breaks: bool,
    dropped: Dropped,
}

impl FirstSymbols {
    /// Finds the alphabet of the pieces and adds its symbols to `tokens`.
    pub(crate) fn new(
        options: SymbolOptions<'_>,
        pieces: &[(&[u8], u64)],
        tokens: &mut Tokens,
        progress: &mut Progress,
    ) -> Result<Self> {
        Self::with_more(options, pieces, &[], tokens, progress)
    }

    /// As [`FirstSymbols::new`]; `more` pieces also count for the alphabet, but add no symbols with
    /// prefix or suffix.
    pub(crate) fn with_more(
        options: SymbolOptions<'_>,
        pieces: &[(&[u8], u64)],
        more: &[(&[u8], u64)],
        tokens: &mut Tokens,
        progress: &mut Progress,
    ) -> Result<Self> {
        let SymbolOptions { unit, prefix, suffix, .. } = options;
        if options.byte_fallback && unit == Unit::Bytes {
            return Err(Error::Option {
                option: "byte_fallback",
                value: "true".to_owned(),
                reason: "bytes need no fallback; train over characters, or leave it out".to_owned(),
            });
        }
        for text in options.special_tokens {
            tokens.add_special(text);
        }
        if options.byte_fallback {
            for byte in 0..=255u8 {
                tokens.intern(format!("<0x{byte:02X}>").as_bytes());
            }
        }

        let (kept, dropped) = keep(&options, count(unit, &[pieces, more], progress)?)?;
        let mut symbols = Self {
            unit,
            ids: FxHashMap::default(),
            byte_ids: [[None; 4]; 256],
            unknown_breaks: options.byte_fallback,
            dropped,
        };
        for &code in &kept {
            let id = tokens.intern(&unit.bytes(code));
            symbols.ids.insert(code, [Some(id); 4]);
        }
        if !prefix.is_empty() || !suffix.is_empty() {
            let symbol_text = |place: Place, symbol: &[u8]| -> Vec<u8> {
                let prefix = if place & 1 != 0 { prefix } else { &[] };
                [prefix, symbol, if place & 2 != 0 { suffix } else { &[] }].concat()
            };
            for (code, place) in symbols.places(pieces)? {
                let id = tokens.intern(&symbol_text(place, &unit.bytes(code)));
                if let Some(ids) = symbols.ids.get_mut(&code) {
                    ids[place] = Some(id);
                }
            }
            if !more.is_empty() {
                // A symbol has no id where it never occurs with this prefix or suffix.
                for (&code, ids) in &mut symbols.ids {
                    for (place, id) in ids.iter_mut().enumerate() {
                        *id = tokens.find(&symbol_text(place, &unit.bytes(code)));
                    }
                }
            }
        }
        for (&code, ids) in &symbols.ids {
            for &id in ids.iter().flatten() {
                tokens.set_length(id, 1);
            }
            if let Some(byte) = char::from_u32(code).and_then(byte_level::char_to_byte) {
                symbols.byte_ids[usize::from(byte)] = *ids;
            }
        }
        Ok(symbols)
    }

    /// Calls `f` with the id of each symbol of a piece; `None` for a symbol outside the alphabet.
    pub(crate) fn for_each(&self, piece: &[u8], mut f: impl FnMut(Option<TokenId>)) -> Result<()> {
        match self.unit {
            Unit::Bytes => {
                let last = piece.len().saturating_sub(1);
                for (at, &byte) in piece.iter().enumerate() {
                    f(self.byte_ids[usize::from(byte)][place(at == 0, at == last)]);
                }
            }
            Unit::Chars => {
                let text = utf8(piece)?;
                for (at, c) in text.char_indices() {
                    let place = place(at == 0, at + c.len_utf8() == text.len());
                    f(self.ids.get(&u32::from(c)).and_then(|ids| ids[place]));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn into_dropped(self) -> Dropped {
        self.dropped
    }

    /// Every symbol of the alphabet with each position class in which it occurs, by code point.
    fn places(&self, pieces: &[(&[u8], u64)]) -> Result<Vec<(u32, Place)>> {
        let mut seen: FxHashMap<u32, u8> = FxHashMap::default();
        let mut codes = Vec::new();
        for (piece, _) in pieces {
            codes.clear();
            self.unit.for_each_code(piece, |code| codes.push(code))?;
            for (at, &code) in codes.iter().enumerate() {
                if self.ids.contains_key(&code) {
                    *seen.entry(code).or_default() |= 1 << place(at == 0, at + 1 == codes.len());
                }
            }
        }
        let mut places: Vec<(u32, Place)> = seen
            .into_iter()
            .flat_map(|(code, mask)| {
                (0..4).filter(move |place| mask >> place & 1 != 0).map(move |place| (code, place))
            })
            .collect();
        places.sort_unstable();
        Ok(places)
    }
}

impl Unit {
    /// The bytes of the symbol whose character has this code point.
    fn bytes(self, code: u32) -> Vec<u8> {
        let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        match self {
            Unit::Bytes => byte_level::char_to_byte(c).into_iter().collect(),
            Unit::Chars => c.to_string().into_bytes(),
        }
    }

    /// Calls `f` with the code point of each symbol's character.
    fn for_each_code(self, piece: &[u8], mut f: impl FnMut(u32)) -> Result<()> {
        match self {
            Unit::Bytes => {
                piece.iter().for_each(|&byte| f(byte_level::BYTE_TO_CHAR[usize::from(byte)].into()));
            }
            Unit::Chars => utf8(piece)?.chars().for_each(|c| f(c.into())),
        }
        Ok(())
    }

    /// A prefix or suffix as the bytes of tokens.
    pub(crate) fn affix(self, option: &'static str, text: &str) -> Result<Vec<u8>> {
        match self {
            Unit::Chars => Ok(text.as_bytes().to_vec()),
            Unit::Bytes => byte_level::to_bytes(text).ok_or_else(|| Error::Option {
                option,
                value: format!("{text:?}"),
                reason: "over bytes it is written in byte-level characters (a blank is Ġ); train over \
                         characters, or write it so"
                    .to_owned(),
            }),
        }
    }
}

fn place(is_first: bool, is_last: bool) -> Place {
    usize::from(!is_first) | usize::from(is_last) << 1
}

fn utf8(piece: &[u8]) -> Result<&str> {
    std::str::from_utf8(piece).map_err(|_| Error::Option {
        option: "unit",
        value: "chars".to_owned(),
        reason: format!(
            "the piece {:?} is not UTF-8; train over bytes, or replace invalid bytes while reading",
            String::from_utf8_lossy(piece)
        ),
    })
}

/// Counts symbols by the code point of their character.
fn count(unit: Unit, pieces: &[&[(&[u8], u64)]], progress: &mut Progress) -> Result<FxHashMap<u32, u64>> {
    let overflow = |code: u32| Error::CountOverflow {
        what: format!("the symbol {:?}", String::from_utf8_lossy(&unit.bytes(code))),
    };
    let mut counts = FxHashMap::default();
    match unit {
        Unit::Bytes => {
            let mut by_byte = [0u64; 256];
            for &(piece, weight) in pieces.iter().copied().flatten() {
                for &byte in piece {
                    let count = &mut by_byte[usize::from(byte)];
                    *count = count
                        .checked_add(weight)
                        .ok_or_else(|| overflow(byte_level::BYTE_TO_CHAR[usize::from(byte)].into()))?;
                }
            }
            for (byte, &count) in by_byte.iter().enumerate().filter(|(_, count)| **count > 0) {
                counts.insert(byte_level::BYTE_TO_CHAR[byte].into(), count);
            }
        }
        Unit::Chars => {
            for (at, &(piece, weight)) in pieces.iter().copied().flatten().enumerate() {
                if at % TICK == 0 {
                    progress.tick(Stage::Merge, 0, 0)?;
                }
                for c in utf8(piece)?.chars() {
                    let count: &mut u64 = counts.entry(c.into()).or_default();
                    *count = count.checked_add(weight).ok_or_else(|| overflow(c.into()))?;
                }
            }
        }
    }
    Ok(counts)
}

/// The code points of the alphabet, ascending, and the symbols left out.
fn keep(options: &SymbolOptions<'_>, counts: FxHashMap<u32, u64>) -> Result<(Vec<u32>, Dropped)> {
    if let (Unit::Bytes, Some(c)) =
        (options.unit, options.required.iter().find(|c| byte_level::char_to_byte(**c).is_none()))
    {
        return Err(Error::Option {
            option: "initial_alphabet",
            value: format!("{c:?}"),
            reason: "over bytes each character spells a byte (a blank is Ġ), this one for none; train \
                     over characters, or leave it out"
                .to_owned(),
        });
    }
    // Required symbols come first, whatever their counts.
    let mut ranked: Vec<(bool, u64, u32)> =
        counts.iter().map(|(&code, &count)| (false, count, code)).collect();
    let required: BTreeSet<u32> = options.required.iter().copied().map(u32::from).collect();
    ranked.retain(|entry| !required.contains(&entry.2));
    ranked.extend(required.iter().map(|code| (true, counts.get(code).copied().unwrap_or(0), *code)));
    let limit = options.limit.unwrap_or(usize::MAX).min(ranked.len());
    // Hugging Face gives all required symbols the same count.
    ranked.sort_unstable_by_key(|&(required, count, code)| {
        (!required, std::cmp::Reverse(if required { 0 } else { count }), code)
    });
    let dropped = ranked
        .split_off(limit)
        .into_iter()
        .map(|(_, count, code)| (options.unit.bytes(code), count))
        .collect();
    let mut kept: Vec<u32> = ranked.into_iter().map(|entry| entry.2).collect();
    kept.sort_unstable();
    Ok((kept, dropped))
}
