//! Tokens and tokenizers as HTML for notebooks: coloured tokens, visible white space, ids on hover.
//!
//! Characters are shown as in `sentitok show`: no character can act as markup, and a part of a
//! character is shown as bytes.

use std::fmt::Write;

use crate::tokenizer::encoding::Rows;
use crate::vocab::TokenId;

/// Backgrounds on which black text is readable; neighbours differ in hue.
const BACKGROUNDS: [&str; 6] = ["#afd7ff", "#ffd7af", "#afffaf", "#ffafaf", "#d7ff87", "#ffd75f"];
/// The maximum number of tokens that are shown; the rest is counted.
const MOST: usize = 2_000;
/// The maximum number of rows of a batch, and of tokens in a row.
const MOST_ROWS: usize = 10;
const MOST_IN_ROW: usize = 200;

const OPEN: &str = "<div style=\"font-family:monospace;white-space:pre-wrap;color:#000\">";

/// A `<div>` with the tokens; each has the bytes that it represents.
pub(super) fn tokens<'a>(tokens: impl ExactSizeIterator<Item = (TokenId, &'a [u8])>) -> String {
    let n = tokens.len();
    let mut html = String::from(OPEN);
    for (number, (id, bytes)) in tokens.take(MOST).enumerate() {
        span(number, id, bytes, &mut html);
        if bytes.contains(&b'\n') {
            html.push_str("<br>");
        }
    }
    let more = n.saturating_sub(MOST);
    let _ = match more {
        0 => write!(html, "</div><small>{n} tokens</small>"),
        more => write!(html, "</div><small>{n} tokens, {more} of them not shown</small>"),
    };
    html
}

/// A `<table>` with the first rows. `bytes` returns the bytes of an id.
pub(super) fn rows(rows: &Rows<'_, i64>, bytes: impl Fn(TokenId) -> Vec<u8>) -> String {
    let mut html = String::from("<table>");
    for (number, ids) in rows.iter().take(MOST_ROWS).enumerate() {
        let shown = &ids[..ids.len().min(MOST_IN_ROW)];
        let shown: Vec<(TokenId, Vec<u8>)> = shown.iter().map(|&id| (id, bytes(id))).collect();
        let cells = tokens(shown.iter().map(|(id, bytes)| (*id, &bytes[..])));
        let more = ids.len() - shown.len();
        let _ = write!(html, "<tr><th>{number}</th><td style=\"text-align:left\">{cells}");
        let _ = match more {
            0 => write!(html, "</td></tr>"),
            more => write!(html, "<small> and {more} more</small></td></tr>"),
        };
    }
    let _ = write!(html, "</table><small>{} rows, {} tokens", rows.len(), rows.ids.len());
    let _ = match rows.len().saturating_sub(MOST_ROWS) {
        0 => write!(html, "</small>"),
        more => write!(html, ", {more} rows not shown</small>"),
    };
    html
}

/// A `<table>` that describes a tokenizer: names with values, and names with tokens.
pub(super) fn facts<'a>(
    values: &[(&str, String)],
    tokens: impl IntoIterator<Item = (&'a str, Vec<(TokenId, Vec<u8>)>)>,
) -> String {
    let mut html = String::from("<table>");
    let begin = |name: &str, html: &mut String| {
        let _ = write!(html, "<tr><th style=\"text-align:left\">{name}</th><td style=\"text-align:left\">");
    };
    for (name, value) in values {
        begin(name, &mut html);
        value.chars().for_each(|c| if c == ' ' { html.push(c) } else { sign(c, &mut html) });
        html.push_str("</td></tr>");
    }
    for (name, tokens) in tokens {
        begin(name, &mut html);
        html.push_str(OPEN);
        for (number, (id, bytes)) in tokens.iter().take(MOST_IN_ROW).enumerate() {
            span(number, *id, bytes, &mut html);
            html.push(' ');
        }
        let _ = match tokens.len().saturating_sub(MOST_IN_ROW) {
            0 => write!(html, "</div></td></tr>"),
            more => write!(html, "</div><small>and {more} more</small></td></tr>"),
        };
    }
    html.push_str("</table>");
    html
}

/// One token, with its id on hover.
fn span(number: usize, id: TokenId, bytes: &[u8], html: &mut String) {
    let background = BACKGROUNDS[number % BACKGROUNDS.len()];
    // Writing to a String cannot fail.
    let _ = write!(html, "<span title=\"{id}\" style=\"background:{background}\">");
    readable(bytes, html);
    html.push_str("</span>");
}

fn readable(bytes: &[u8], html: &mut String) {
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|c| sign(c, html));
        for byte in chunk.invalid() {
            let _ = write!(html, "\\x{byte:02x}");
        }
    }
}

/// One character, escaped so that it cannot be markup.
fn sign(c: char, html: &mut String) {
    let _ = match c {
        ' ' => write!(html, "⋅"),
        '\t' => write!(html, "→"),
        '\n' => write!(html, "↵"),
        '&' | '<' | '>' | '"' | '\'' => write!(html, "&#{};", u32::from(c)),
        c if c.is_control() || c.is_whitespace() || is_format(c) => write!(html, "\\u{{{:x}}}", u32::from(c)),
        c => write!(html, "{c}"),
    };
}

/// Whether a character changes the direction of text or is invisible.
fn is_format(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::{facts, tokens};

    #[test]
    fn tokens_are_escaped() {
        let html =
            tokens([(7, &b"<b>&\n"[..]), (8, &b"\xe2\x80"[..]), (9, " \u{202e}".as_bytes())].into_iter());
        for part in [
            "title=\"7\"",
            "&#60;b&#62;&#38;↵</span><br>",
            "\\xe2\\x80</span>",
            "⋅\\u{202e}</span>",
            "3 tokens",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn facts_are_escaped() {
        let html =
            facts(&[("pattern", "a <b>".to_owned())], [("special tokens", vec![(3, b"<s>".to_vec())])]);
        for part in ["a &#60;b&#62;</td>", "title=\"3\"", "&#60;s&#62;</span>", "special tokens</th>"] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
