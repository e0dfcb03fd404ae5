//! SentencePiece's named rule sets, built from Unicode data.
//!
//! `nfkc` writes each character in normal form KC, and also each sequence that composes to a single
//! character, in all spellings of its parts (a full-width letter and a mark). `nmt` replaces unusual spaces
//! and drops control characters; `cf` folds case. Rules that shorter rules imply are left out. The rules are
//! exactly those of SentencePiece 0.2.3; only their layout in the trie differs.
//!
//! Source: google/sentencepiece 0.2.3, `src/builder.cc`; UAX #15.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use hashbrown::HashMap;
use sha2::{Digest, Sha256};

use super::tables::{FOLDS, LATER, LATER_COMPOSED};
use super::{Charsmap, double_array};
use crate::error::{Error, Result};
use crate::normalizer::Normalizer;
use crate::normalizer::frozen::{CANONICAL, COMPATIBLE, jamo};

/// From the string of each rule to its replacement.
type Images = HashMap<String, String>;

/// A named set of rules.
struct Published {
    name: &'static str,
    is_nmt: bool,
    folds_case: bool,
    /// The first 32 bits of the SHA-256 of the map: as built here, and as SentencePiece 0.2.3 ships
    /// it.
    digests: [u32; 2],
}

const PUBLISHED: [Published; 4] = [
    Published { name: "nmt_nfkc", is_nmt: true, folds_case: false, digests: [0x34d0_03f3, 0x1e2c_7b43] },
    Published { name: "nfkc", is_nmt: false, folds_case: false, digests: [0xf531_6460, 0x7e46_d9e0] },
    Published { name: "nmt_nfkc_cf", is_nmt: true, folds_case: true, digests: [0x9923_a093, 0x2c03_512e] },
    Published { name: "nfkc_cf", is_nmt: false, folds_case: true, digests: [0x521f_b1de, 0xd8df_ef3d] },
];
/// The name of the empty set of rules.
const IDENTITY: &str = "identity";

impl Charsmap {
    /// The names that [`Charsmap::published`] accepts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PUBLISHED.iter().map(|known| known.name).chain([IDENTITY])
    }

    /// The rules with this name; built once.
    ///
    /// # Errors
    /// [`Error::Option`], which lists the names, for an unknown name.
    pub fn published(name: &str) -> Result<Self> {
        static MADE: [OnceLock<Charsmap>; 4] = [const { OnceLock::new() }; 4];
        if name == IDENTITY {
            return Ok(Self::default());
        }
        let Some(at) = PUBLISHED.iter().position(|known| known.name == name) else {
            return Err(Error::Option {
                option: "rules",
                value: name.to_owned(),
                reason: format!("SentencePiece's rules are {}", Self::names().collect::<Vec<_>>().join(", ")),
            });
        };
        if let Some(made) = MADE[at].get() {
            return Ok(made.clone());
        }
        let mut rules = needed(nfkc()?);
        if PUBLISHED[at].is_nmt {
            rules = needed(nmt(rules));
        }
        if PUBLISHED[at].folds_case {
            rules = needed(case_folded(rules));
        }
        let made = compiled(&rules)?;
        Ok(MADE[at].get_or_init(|| made).clone())
    }

    /// The name of these rules, if they are a published set.
    pub fn name(&self) -> Option<&'static str> {
        let digest = Sha256::digest(self.bytes());
        let digest = digest.first_chunk::<4>().map(|first| u32::from_be_bytes(*first));
        let known =
            PUBLISHED.iter().find(|known| digest.is_some_and(|digest| known.digests.contains(&digest)));
        if self.is_empty() { Some(IDENTITY) } else { known.map(|known| known.name) }
    }
}

/// Compiles rules into a map.
fn compiled(rules: &Images) -> Result<Charsmap> {
    let mut places: BTreeMap<&str, u32> = rules.values().map(|to| (to.as_str(), 0)).collect();
    let mut replacements = Vec::new();
    for (text, place) in &mut places {
        *place = replacements.len() as u32;
        replacements.extend_from_slice(text.as_bytes());
        replacements.push(0);
    }
    let mut keys: Vec<(&[u8], u32)> =
        rules.iter().map(|(from, to)| (from.as_bytes(), places[to.as_str()])).collect();
    keys.sort_unstable();
    let units = double_array::units(&keys)?;
    let mut bytes = ((units.len() * 4) as u32).to_le_bytes().to_vec();
    units.iter().for_each(|unit| bytes.extend_from_slice(&unit.to_le_bytes()));
    bytes.extend(replacements);
    Charsmap::new(bytes)
}

/// Normal form KC of all characters, and of all sequences that compose to one character.
fn nfkc() -> Result<Images> {
    let later: HashMap<char, &str> = LATER.into_iter().collect();
    let mut rules = Images::default();
    // The characters that decompose into a single character, keyed by that character.
    let mut spellings: HashMap<char, Vec<char>> = HashMap::new();
    let mut decomposed = Vec::new();
    for c in '\u{1}'..=char::MAX {
        let Some(parts) = later.get(&c).map(|&parts| parts.to_owned()).or_else(|| decomposition(c)) else {
            continue;
        };
        let whole = normal(&parts)?;
        let mut chars = parts.chars();
        match (chars.next(), chars.next()) {
            (Some(only), None) => spellings.entry(only).or_insert_with(|| vec![only]).push(c),
            _ => decomposed.push((parts, whole.clone())),
        }
        if !whole.chars().eq([c]) {
            rules.insert(c.to_string(), whole);
        }
    }
    decomposed.extend(LATER_COMPOSED.map(|(parts, whole)| (parts.to_owned(), whole.to_owned())));
    for (parts, whole) in decomposed.iter().filter(|(parts, whole)| parts != whole) {
        let mut spelled = vec![String::new()];
        for c in parts.chars() {
            let others = spellings.get(&c).map_or(std::slice::from_ref(&c), Vec::as_slice);
            spelled =
                spelled.iter().flat_map(|start| others.iter().map(move |c| format!("{start}{c}"))).collect();
        }
        rules.extend(spelled.into_iter().filter(|from| from != whole).map(|from| (from, whole.clone())));
    }
    Ok(rules)
}

/// The compatibility decomposition of a character in the frozen tables, if it has one.
fn decomposition(c: char) -> Option<String> {
    if let Some((parts, n)) = jamo(c) {
        return Some(parts[..n].iter().collect());
    }
    COMPATIBLE.get(c).or_else(|| CANONICAL.get(c)).map(str::to_owned)
}

fn normal(text: &str) -> Result<String> {
    Ok(Normalizer::Nfkc.normalize_text(text)?.unwrap_or_else(|| text.to_owned()))
}

/// Adds rules that replace unusual spaces and drop control characters; keeps the full-width tilde.
fn nmt(mut rules: Images) -> Images {
    let spaces =
        ['\t', '\n', '\u{C}', '\r', '\u{61C}', '\u{1680}', '\u{200B}', '\u{200C}', '\u{200E}', '\u{200F}'];
    let more = ['\u{2028}', '\u{2029}', '\u{2581}', '\u{FEFF}', '\u{FFFD}'];
    rules.extend(spaces.into_iter().chain(more).map(|c| (c.to_string(), " ".to_owned())));
    let control =
        ('\u{1}'..='\u{8}').chain('\u{E}'..='\u{1F}').chain(['\u{B}', '\u{7F}', '\u{8F}', '\u{9F}']);
    rules.extend(control.map(|c| (c.to_string(), String::new())));
    rules.remove("\u{FF5E}");
    rules
}

/// Folds the case of all replacements, and of characters without a rule.
fn case_folded(mut rules: Images) -> Images {
    let run = |&(first, last, step, delta): &(u32, u32, u32, i32)| {
        let points = (first..=last).step_by(step as usize);
        points.filter_map(move |point| {
            Some((char::from_u32(point)?, char::from_u32(point.wrapping_add_signed(delta))?))
        })
    };
    let folds: HashMap<char, char> = FOLDS.iter().flat_map(run).collect();
    for to in rules.values_mut() {
        *to = to.chars().map(|c| folds.get(&c).copied().unwrap_or(c)).collect();
    }
    for (c, folded) in folds {
        rules.entry(c.to_string()).or_insert_with(|| folded.to_string());
    }
    rules
}

/// Removes rules that shorter rules imply.
fn needed(rules: Images) -> Images {
    let mut by_length: Vec<Vec<(String, String)>> = Vec::new();
    for rule in rules {
        let length = rule.0.chars().count();
        by_length.resize_with(by_length.len().max(length), Vec::new);
        by_length[length - 1].push(rule);
    }
    let mut kept = Images::default();
    for (shorter, rules) in by_length.into_iter().enumerate() {
        let new: Vec<_> = rules
            .into_iter()
            .filter(|(from, to)| shorter == 0 || applied(&kept, from, shorter) != *to)
            .collect();
        kept.extend(new);
    }
    kept
}

/// Applies the rules of at most `longest` characters to a text, longest match first.
fn applied(rules: &Images, text: &str, longest: usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let ends: Vec<usize> = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(longest).collect();
        let rule = ends.iter().rev().find_map(|&end| Some((end, rules.get(&rest[..end])?.as_str())));
        let (len, to) = rule.unwrap_or((c.len_utf8(), &rest[..c.len_utf8()]));
        out.push_str(to);
        rest = &rest[len..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in Charsmap::names() {
            assert_eq!(Charsmap::published(name).unwrap().name(), Some(name), "{name}: {:08x}", digest(name));
        }
        assert!(Charsmap::published("nmt").unwrap_err().to_string().contains("nmt_nfkc, nfkc"));
    }

    fn digest(name: &str) -> u32 {
        let digest = Sha256::digest(Charsmap::published(name).unwrap().bytes());
        u32::from_be_bytes(*digest.first_chunk().unwrap())
    }

    #[test]
    fn published_rules_rewrite() {
        let map = Charsmap::published("nmt_nfkc_cf").unwrap();
        for (text, expected) in [
            ("Ａ", Some((3, "a"))),
            ("Ａ\u{301}b", Some((5, "á"))),
            ("㋿", Some((3, "令和"))),
            ("\u{1}", Some((1, ""))),
            ("\u{61C}", Some((2, " "))),
            ("～", None),
            ("각", None),
            ("a", None),
        ] {
            assert_eq!(map.longest(text.as_bytes()), expected, "{text:?}");
        }
    }
}
