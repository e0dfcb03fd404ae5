//! Which tokens may join to a superword.

/// The properties of a token that decide whether it joins words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordShape {
    bytes: u32,
    /// Runs of bytes other than spaces and line feeds.
    words: u32,
    starts_with_space: bool,
    /// A space or a line feed.
    starts_with_gap: bool,
    ends_with_gap: bool,
    /// Whether it ends in a full stop or a colon.
    ends_with_stop: bool,
}

impl WordShape {
    pub(crate) fn of(token: &[u8]) -> Self {
        let words = token.split(|&byte| is_gap(byte)).filter(|word| !word.is_empty()).count();
        Self {
            bytes: u32::try_from(token.len()).unwrap_or(u32::MAX),
            words: u32::try_from(words).unwrap_or(u32::MAX),
            starts_with_space: token.first() == Some(&b' '),
            starts_with_gap: token.first().is_some_and(|&byte| is_gap(byte)),
            ends_with_gap: token.last().is_some_and(|&byte| is_gap(byte)),
            ends_with_stop: matches!(token.last(), Some(b'.' | b':')),
        }
    }
}

/// The limits of superwords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordRules {
    pub(crate) max_words: u32,
    /// Tokens have fewer bytes than this.
    pub(crate) max_length: u32,
    /// Whether a token may hold a full stop or a colon that a space follows.
    pub(crate) crosses_stops: bool,
}

impl WordRules {
    /// Whether two tokens may join.
    pub(crate) fn join(&self, left: WordShape, right: WordShape) -> bool {
        let is_one = !left.ends_with_gap && !right.starts_with_gap && left.words > 0 && right.words > 0;
        let words = left.words.saturating_add(right.words) - u32::from(is_one);
        let bytes = left.bytes.saturating_add(right.bytes);
        words <= self.max_words
            && (bytes == 2 || bytes < self.max_length)
            && (self.crosses_stops || !(left.ends_with_stop && right.starts_with_space))
    }
}

/// Whether a byte is between words.
fn is_gap(byte: u8) -> bool {
    matches!(byte, b' ' | b'\r' | b'\n')
}
