//! Character classes, frozen at one Unicode version.

/// Whether a character is white space.
pub fn is_white_space(c: char) -> bool {
    c.is_whitespace()
}

/// Whether a character is a word character.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
