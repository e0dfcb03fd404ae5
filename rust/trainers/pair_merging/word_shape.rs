//! Which tokens may join to a superword.

/// The properties of a token that decide whether it joins words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordShape {
    bytes: u32,
    /// Runs of bytes other than spaces.
    words: u32,
    starts_with_space: bool,
    ends_with_space: bool,
    /// Whether it ends in a full stop or a colon.
    ends_with_stop: bool,
}

impl WordShape {
    pub(crate) fn of(token: &[u8]) -> Self {
        let is_space = |byte: Option<&u8>| byte == Some(&b' ');
        let words = token.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).count();
        Self {
            bytes: u32::try_from(token.len()).unwrap_or(u32::MAX),
            words: u32::try_from(words).unwrap_or(u32::MAX),
            starts_with_space: is_space(token.first()),
            ends_with_space: is_space(token.last()),
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
        let is_one = !left.ends_with_space && !right.starts_with_space && left.words > 0 && right.words > 0;
        let words = left.words.saturating_add(right.words) - u32::from(is_one);
        let bytes = left.bytes.saturating_add(right.bytes);
        words <= self.max_words
            && (bytes == 2 || bytes < self.max_length)
            && (self.crosses_stops || !(left.ends_with_stop && right.starts_with_space))
    }
}
