//! What `\p{...}` and `\d` mean in custom patterns: classes of Unicode 16, whatever regex-syntax is installed.
//!
//! The names are those that regex-syntax 0.8 knows, read as loosely as it reads them (UAX 44, LM3). The
//! tables are written by scripts/property_tables.py.
//!
//! Ignoring case (`(?i)`) is left to regex-syntax. Unicode promises that the case folding of an assigned character
//! never changes (its Case Folding Stability policy), so another version matches more only of characters that are
//! not assigned in Unicode 16.

mod names;

use std::fmt::Write;

use self::names::{CLASSES, PROPERTIES};

/// Each class once: the number of its ranges, then how far each begins behind the one before, and its length
/// less one; numbers in groups of seven bits, the lowest first.
static BYTES: &[u8] = include_bytes!("properties/classes.bin");

/// A pattern for regex-syntax whose classes are spelled as ranges. `Err` for a property that is unknown here.
pub(crate) fn spell_out(pattern: &str) -> Result<String, &'static str> {
    let mut spelled = String::with_capacity(pattern.len());
    let mut rest = pattern;
    // Where classes may be those of ASCII, which never change, digits are left to the flag.
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

/// Appends the class of a property with which `escape` begins; returns what follows it.
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

/// Where a class is in [`BYTES`].
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
    // A name of its own, `ISO_Comment`, which no class has.
    if is.is_some() && normalized == "c" { "isc".to_owned() } else { normalized }
}

/// The code points of a property's value, both by their short names (`gc`, `p`), as ranges in order.
pub(crate) fn ranges(property: &str, value: &str) -> Vec<(u32, u32)> {
    named(property, value).map(ranges_at).unwrap_or_default()
}

/// The class at a place of [`BYTES`].
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

/// Appends the class at a place of [`BYTES`] as a bracket.
fn write_class(place: usize, is_negated: bool, spelled: &mut String) {
    spelled.push_str(if is_negated { "[^" } else { "[" });
    for (first, last) in ranges_at(place) {
        // A string takes all that is written.
        let _ = write!(spelled, r"\x{{{first:X}}}-\x{{{last:X}}}");
    }
    spelled.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If regex-syntax in Cargo.lock is of a later Unicode, this fails: patterns here stay what they are.
    #[test]
    fn classes_are_those_of_regex_syntax_0_8_11() {
        let mut last = None;
        for ((property, value), place) in CLASSES {
            let query = if property.is_empty() { value.to_owned() } else { format!("{property}={value}") };
            for pattern in [format!(r"\p{{{query}}}"), format!(r"\P{{{query}}}")] {
                let spelled = spell_out(&pattern).unwrap();
                assert!(!spelled.contains(['p', 'P']), "{pattern}: {spelled}");
                // Aliases follow each other mostly; each class is parsed once for its first.
                if last != Some((property, place)) || property.is_empty() {
                    assert_eq!(regex_syntax::parse(&spelled), regex_syntax::parse(&pattern), "{pattern}");
                }
            }
            last = Some((property, place));
        }
    }

    #[test]
    fn properties_are_spelled_out_wherever_they_are() {
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
