//! The meaning of `\p{...}` and `\d` in custom patterns: classes of Unicode 16, for any version of
//! regex-syntax.
//!
//! The names are those of regex-syntax 0.8, matched as loosely (UAX 44, LM3).
//! scripts/property_tables.py writes the tables.
//!
//! regex-syntax handles case folding (`(?i)`). Unicode guarantees that the case folding of an
//! assigned character never changes (Case Folding Stability policy), so another version differs
//! only for characters that are not assigned in Unicode 16.

mod names;

use std::fmt::Write;

use self::names::{CLASSES, PROPERTIES};

/// Each class once: the number of its ranges, then for each range the distance from the previous
/// one and the length less one. Numbers are in groups of seven bits, the lowest first.
static BYTES: &[u8] = include_bytes!("properties/classes.bin");

/// The pattern for regex-syntax, with classes spelled as ranges. `Err` for an unknown property.
pub(crate) fn spell_out(pattern: &str) -> Result<String, &'static str> {
    let mut spelled = String::with_capacity(pattern.len());
    let mut rest = pattern;
    // If classes may be restricted to ASCII, whose classes never change, digits are left to the
    // flag.
    let has_ascii_classes = pattern.contains("(?") && pattern.contains("-u");
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        spelled.push_str(before);
        let kind = escape[1..].chars().next();
        let len = 1 + kind.map_or(0, char::len_utf8);
        rest = match kind {
            Some('p' | 'P') => property(escape, &mut spelled)?,
            Some(digit @ ('d' | 'D')) if !has_ascii_classes => {
                write_class(named("gc", "nd").unwrap_or_default(), digit == 'D', &mut spelled);
                &escape[len..]
            }
            _ => {
                spelled.push_str(&escape[..len]);
                &escape[len..]
            }
        };
    }
    spelled.push_str(rest);
    Ok(spelled)
}

/// Appends the class of the property with which `escape` begins; returns the rest.
fn property<'a>(escape: &'a str, spelled: &mut String) -> Result<&'a str, &'static str> {
    let is_negated = escape.as_bytes().get(1) == Some(&b'P');
    let after = &escape[2..];
    let (query, rest) = match after.strip_prefix('{') {
        Some(braced) => braced.split_once('}').ok_or("Unicode property without a closing brace")?,
        None => after.split_at(after.chars().next().map_or(0, char::len_utf8)),
    };
    let unequal = query.split_once("!=");
    let valued = unequal.or_else(|| query.split_once(':')).or_else(|| query.split_once('='));
    let place = match valued {
        Some((property, value)) => {
            let property = normalized(property);
            let short = PROPERTIES.binary_search_by_key(&&*property, |(name, _)| name);
            let (_, short) = PROPERTIES[short.map_err(|_| "Unicode property not found")?];
            named(short, &normalized(value)).ok_or("Unicode property value not found")?
        }
        None => named("", &normalized(query)).ok_or("Unicode property not found")?,
    };
    write_class(place, is_negated != unequal.is_some(), spelled);
    Ok(rest)
}

/// The offset of a class in [`BYTES`].
fn named(property: &str, value: &str) -> Option<usize> {
    let at = CLASSES.binary_search_by_key(&(property, value), |(name, _)| *name).ok()?;
    Some(CLASSES[at].1 as usize)
}

/// A name as it is in the tables: without case, blanks, hyphens and underscores, and without `is` in front.
fn normalized(name: &str) -> String {
    let is = name.get(..2).filter(|start| start.eq_ignore_ascii_case("is"));
    let kept = |c: &char| c.is_ascii() && !matches!(c, ' ' | '_' | '-');
    let rest = name[is.map_or(0, str::len)..].chars().filter(kept);
    let normalized: String = rest.map(|c| c.to_ascii_lowercase()).collect();
    // Special case in UAX 44: `ISO_Comment` keeps its prefix. No class has that name.
    if is.is_some() && normalized == "c" { "isc".to_owned() } else { normalized }
}

/// The code points with this value of a property, both given by short names (`gc`, `p`), as sorted
/// ranges.
pub(crate) fn ranges(property: &str, value: &str) -> Vec<(u32, u32)> {
    named(property, value).map(ranges_at).unwrap_or_default()
}

/// The class at an offset of [`BYTES`].
fn ranges_at(place: usize) -> Vec<(u32, u32)> {
    let mut bytes = BYTES.iter().skip(place);
    let mut number = || {
        let (mut value, mut shift) = (0, 0);
        for &byte in bytes.by_ref() {
            value |= u32::from(byte & 0x7F) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        value
    };
    let n_ranges = number();
    let mut end = 0;
    let range = |_| {
        let first = end + number();
        let last = first + number();
        end = last + 1;
        (first, last)
    };
    (0..n_ranges).map(range).collect()
}

/// Appends the class at an offset of [`BYTES`] as a bracket.
fn write_class(place: usize, is_negated: bool, spelled: &mut String) {
    spelled.push_str(if is_negated { "[^" } else { "[" });
    for (first, last) in ranges_at(place) {
        // Writing to a String cannot fail.
        let _ = write!(spelled, r"\x{{{first:X}}}-\x{{{last:X}}}");
    }
    spelled.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails if regex-syntax in Cargo.lock has a later Unicode version. The patterns here must stay
    /// the same.
    #[test]
    fn classes_agree_with_regex_syntax_0_8_11() {
        let mut last = None;
        for ((property, value), place) in CLASSES {
            let query = if property.is_empty() { value.to_owned() } else { format!("{property}={value}") };
            for pattern in [format!(r"\p{{{query}}}"), format!(r"\P{{{query}}}")] {
                let spelled = spell_out(&pattern).unwrap();
                assert!(!spelled.contains(['p', 'P']), "{pattern}: {spelled}");
                // Aliases are mostly adjacent, and each class is parsed once for the first of them.
                if last != Some((property, place)) || property.is_empty() {
                    assert_eq!(regex_syntax::parse(&spelled), regex_syntax::parse(&pattern), "{pattern}");
                }
            }
            last = Some((property, place));
        }
    }

    #[test]
    fn properties_are_spelled_out_everywhere() {
        for pattern in [
            r"\pL+|\p{Lu}",
            r"[^\p{L}\d_]",
            r"[\p{Han}&&[^\x{3007}]]",
            r"\\p{L}\p{Is_Greek}",
            r"\p{sc!=Latn}",
            r"(?i)\p{lu}\D",
            r"\P{Script_Extensions:Hira}",
            r"\p{Any}\p{ASCII}\p{Assigned}",
            r"a\",
            r"\p{age=6.0}",
            r"[-\p{L}a-]",
            "é\\p{ z }\\é",
        ] {
            let spelled = spell_out(pattern).unwrap();
            assert_eq!(regex_syntax::parse(&spelled).ok(), regex_syntax::parse(pattern).ok(), "{pattern}");
        }
        assert_eq!(spell_out(r"(?-u:\d)a").unwrap(), r"(?-u:\d)a");
        for (pattern, expected) in [
            (r"\p{Nothing}", "property not found"),
            (r"\p{gc=Nothing}", "value not found"),
            (r"\p{Block=Thai}", "property not found"),
            (r"\p{L", "closing brace"),
            (r"\p", "property not found"),
        ] {
            assert!(spell_out(pattern).unwrap_err().contains(expected), "{pattern}");
            assert!(regex_syntax::parse(pattern).is_err(), "{pattern}");
        }
    }
}
