//! WordPiece's decoder: words apart, their pieces together, spaces tidied.
//!
//! The tidying looks at one token at a time, with the space before it, as
//! tokenizers 0.23 does; a space between two tokens' halves of a
//! pattern stays.

/// The strings that tidying replaces, in this order.
const TIDIED: [(&[u8], &[u8]); 11] = [
    (b" .", b"."),
    (b" ?", b"?"),
    (b" !", b"!"),
    (b" ,", b","),
    (b" ' ", b"'"),
    (b" n't", b"n't"),
    (b" 'm", b"'m"),
    (b" do not", b" don't"),
    (b" 's", b"'s"),
    (b" 've", b"'ve"),
    (b" 're", b"'re"),
];

/// Appends the bytes of a token.
pub(super) fn push(token: &[u8], prefix: &[u8], first: bool, cleanup: bool, out: &mut Vec<u8>) {
    let from = out.len();
    match token.strip_prefix(prefix) {
        Some(rest) if !first => out.extend_from_slice(rest),
        _ => {
            if !first {
                out.push(b' ');
            }
            out.extend_from_slice(token);
        }
    }
    if cleanup {
        tidy(out, from);
    }
}

/// Tidies the text from a place on.
pub(super) fn tidy(out: &mut Vec<u8>, from: usize) {
    // Every pattern begins with a space.
    if !out[from..].contains(&b' ') {
        return;
    }
    for (pattern, by) in TIDIED {
        if memchr::memmem::find(&out[from..], pattern).is_some() {
            let tidied = replaced(&out[from..], pattern, by);
            out.truncate(from);
            out.extend_from_slice(&tidied);
        }
    }
}

fn replaced(text: &[u8], pattern: &[u8], by: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut end = 0;
    for at in memchr::memmem::find_iter(text, pattern) {
        result.extend_from_slice(&text[end..at]);
        result.extend_from_slice(by);
        end = at + pattern.len();
    }
    result.extend_from_slice(&text[end..]);
    result
}

#[cfg(test)]
mod tests {
    use super::push;

    /// Expected texts are those of tokenizers 0.23.3.
    #[test]
    fn tokens_become_text() {
        for (tokens, prefix, cleanup, expected) in [
            (&["un", "##aff", "##able", "!"][..], "##", true, "unaffable!"),
            (&["un", "##aff", "##able", "!"], "##", false, "unaffable !"),
            (&["##a", "##b", "c"], "##", true, "##ab c"),
            (&["i", "'", "m", "a", ".", "b"], "##", true, "i ' m a. b"),
            (&["i", "'m", "do not", "n't", "####x", "' "], "##", true, "i'm don'tn't##x'"),
            (&["a", "b"], "", true, "ab"),
            (&["a", " .", "b . ,c"], "##", true, "a . b.,c"),
        ] {
            let mut out = Vec::new();
            for (n, token) in tokens.iter().enumerate() {
                push(token.as_bytes(), prefix.as_bytes(), n == 0, cleanup, &mut out);
            }
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{tokens:?}");
        }
    }
}
