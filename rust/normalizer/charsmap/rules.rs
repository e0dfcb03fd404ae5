//! The rules of SentencePiece's named sets, built from Unicode data: what `published/*.bin` holds.
//!
//! `nfkc` writes each character in normal form KC, and also each sequence that composes to a single
//! character, in all spellings of its parts (a full-width letter and a mark). `nmt` replaces unusual spaces
//! and drops control characters; `cf` folds case. Rules that shorter rules imply are left out.
//!
//! `SENTITOK_WRITE_TABLES=1 cargo test published_files_hold_the_rules` writes the files.
//!
//! Source: google/sentencepiece 0.2.3, `src/builder.cc`; UAX #15.

#![cfg(test)]

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::double_array;
use super::published::PUBLISHED;
use super::tables::{FOLDS, LATER, LATER_COMPOSED};
use crate::error::Result;
use crate::normalizer::Normalizer;
use crate::normalizer::frozen::{CANONICAL, COMPATIBLE, jamo};

/// From the string of each rule to its replacement.
type Images = HashMap<String, String>;

#[test]
fn published_files_hold_the_rules() {
    for known in &PUBLISHED {
        let mut rules = needed(nfkc().unwrap());
        if known.name.starts_with("nmt") {
            rules = needed(nmt(rules));
        }
        if known.name.ends_with("cf") {
            rules = needed(case_folded(rules));
        }
        let bytes = compiled(&rules).unwrap();
        if std::env::var_os("SENTITOK_WRITE_TABLES").is_some() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/rust/normalizer/charsmap/published");
            std::fs::write(format!("{folder}/{}.bin", known.name), bytes).unwrap();
        } else {
            assert!(known.bytes == bytes, "{}: write the files again", known.name);
        }
    }
}

/// Compiles rules into the bytes of a map.
fn compiled(rules: &Images) -> Result<Vec<u8>> {
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
    Ok(bytes)
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
