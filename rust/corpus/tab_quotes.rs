//! Decides whether the quotes of a TSV file enclose its fields or are text.
//!
//! In most files they are text: a field may begin with a quoted word. Programs that write quotes
//! put them around every field of a column, or only around fields that contain a tab, a quote, a
//! line end or, as Excel does, a comma. If each single line has as many fields as the header, a
//! quoted field of several lines would swallow rows; in that case quotes count as enclosing only if
//! all fields are quoted.

use std::collections::HashSet;

/// How the fields of a text are written if quotes are read as in CSV.
#[derive(Default)]
struct Quotes {
    /// All quotes close at the end of their field, and all rows have as many fields as the header.
    fit: bool,
    /// Some quoted fields span several lines.
    several_lines: bool,
    /// All fields that are not empty are quoted.
    everywhere: bool,
    /// Quotes are around whole columns, or where they are needed.
    as_programs: bool,
    n_columns: usize,
}

/// Whether the fields at the start of a file are quoted. `ended` says that `head` is the whole
/// file.
pub(super) fn are_quoted(head: &[u8], ended: bool) -> bool {
    if memchr::memchr(b'"', head).is_none() {
        return false;
    }
    let whole = match memchr::memrchr2(b'\n', b'\r', head) {
        Some(end) if !ended => &head[..end],
        _ => head,
    };
    let mut counts = whole
        .split(|&byte| byte == b'\n' || byte == b'\r')
        .filter(|line| !line.is_empty())
        .map(|line| memchr::memchr_iter(b'\t', line).count());
    let first = counts.next();
    let lines_fit = counts.all(|count| Some(count) == first);
    let quotes = Quotes::of(head, ended);
    if !quotes.fit {
        // Both readings are errors. That of quotes is clearer if one spans several lines.
        return !lines_fit && quotes.several_lines;
    }
    if quotes.everywhere {
        return true;
    }
    if lines_fit && quotes.several_lines && quotes.n_columns > 1 {
        return false;
    }
    quotes.as_programs || !lines_fit
}

impl Quotes {
    fn of(text: &[u8], ended: bool) -> Self {
        let mut found = Self { everywhere: true, ..Self::default() };
        let (mut stray, mut row, mut column) = (false, 0, 0);
        // Columns with unnecessary quotes, and columns with unquoted fields that a program would
        // quote if it quoted columns.
        let (mut needless, mut plain) = (HashSet::new(), HashSet::new());
        let (mut for_a_comma, mut plain_comma) = (HashSet::new(), false);
        let ends_field = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r');
        let mut at = 0;
        while at < text.len() {
            if column == 0 && matches!(text[at], b'\n' | b'\r') {
                at += 1;
                continue;
            }
            let start = at;
            if text[at] == b'"' {
                let Some(end) = closing_quote(text, at + 1) else {
                    // The field may continue after `head`.
                    if ended {
                        found.several_lines |= text[at..].iter().any(|byte| matches!(byte, b'\n' | b'\r'));
                        return found;
                    }
                    break;
                };
                let inner = &text[at + 1..end];
                found.several_lines |= inner.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
                at = end + 1;
                if text.get(at).is_some_and(|byte| !ends_field(byte)) {
                    return found;
                }
                let is_needed = inner.iter().any(|byte| matches!(byte, b'"') || ends_field(byte));
                if row > 0 && !inner.is_empty() && !is_needed {
                    if inner.contains(&b',') { &mut for_a_comma } else { &mut needless }.insert(column);
                }
            } else {
                at = text[at..].iter().position(ends_field).map_or(text.len(), |len| at + len);
                let field = &text[start..at];
                if !field.is_empty() {
                    found.everywhere = false;
                    stray |= field.contains(&b'"');
                    plain_comma |= field.contains(&b',');
                    if row > 0 && field != b"NA" && !is_number(field) {
                        plain.insert(column);
                    }
                }
            }
            column += 1;
            match text.get(at) {
                Some(b'\t') => at += 1,
                None if !ended => break,
                _ => {
                    if row == 0 {
                        found.n_columns = column;
                    } else if column != found.n_columns {
                        return found;
                    }
                    (row, column) = (row + 1, 0);
                }
            }
        }
        found.fit = true;
        if plain_comma {
            needless.extend(for_a_comma);
        }
        found.as_programs = !stray && needless.is_disjoint(&plain);
        found
    }
}

/// The end of the quoted field whose text begins at `at`.
fn closing_quote(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let quote = at + memchr::memchr(b'"', text.get(at..)?)?;
        if text.get(quote + 1) != Some(&b'"') {
            return Some(quote);
        }
        at = quote + 2;
    }
}

fn is_number(field: &[u8]) -> bool {
    let digits = field.strip_prefix(b"-").or_else(|| field.strip_prefix(b"+")).unwrap_or(field);
    digits.first().is_some_and(u8::is_ascii_digit)
        && digits.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enclosing_quotes_are_distinguished_from_text() {
        for (text, ended, expected) in [
            ("a\tb\n1\tx\n", true, false),
            ("text\tlabel\n\"Great\t1\nfine\t0\na classic\"\t1\n", true, false),
            ("text\tlabel\n\"Great\t1\nfine\t0\n", true, false),
            ("text\tlabel\n\"Great\"\t1\nfine\t0\n", true, false),
            ("text\tlabel\n\"Great\"\t1\n\"fine\"\t0\n", true, true),
            ("text\tlabel\n\"Gr\"\"eat\"\t1\nfine\t0\n", true, true),
            ("text\tlabel\nsays \"no\"\t1\n\"a \"\"b\"\"\"\t0\n", true, false),
            ("text\tlabel\n\"two\nlines\"\t1\nfine\t0\n", true, true),
            ("\"text\"\t\"label\"\n\"a\tb\"\t\"1\"\n", true, true),
            ("text\n\"two\nlines\"\n", true, true),
            ("text\tlabel\nclean decks\t\"Food, Services\"\ncars\tCars\n", true, true),
            ("text\tlabel\n\"A gem, he said.\"\tpos\nbad, bad\tneg\n", true, false),
            ("text\tlabel\n\"a\"\t1\n\"cut of", false, true),
            ("\"", true, false),
            ("\"a\"b\n", true, false),
        ] {
            assert_eq!(are_quoted(text.as_bytes(), ended), expected, "{text:?}");
        }
    }
}
