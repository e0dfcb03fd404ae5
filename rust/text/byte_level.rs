//! The byte-to-character table of GPT-2, with which files spell byte strings as printable text: `"
//! a"` is `"Ġa"`.
//!
//! Inside the crate a token is a byte string, so encoding needs this table only for pipelines that
//! spell bytes. Source: `bytes_to_unicode` of openai/gpt-2.

use std::sync::LazyLock;

/// The character that represents each byte.
pub static BYTE_TO_CHAR: LazyLock<[char; 256]> = LazyLock::new(|| {
    let mut table = ['\0'; 256];
    let mut next = 0x100;
    for byte in 0..=255u8 {
        table[usize::from(byte)] = match byte {
            33..=126 | 161..=172 | 174..=255 => char::from(byte),
            _ => {
                next += 1;
                char::from_u32(next - 1).unwrap_or('\0')
            }
        };
    }
    table
});

/// The bytes ordered by the code points of their characters. Hugging Face's trainer numbers a
/// byte-level alphabet in this order.
pub static BYTES_BY_CHAR: LazyLock<[u8; 256]> = LazyLock::new(|| {
    let mut bytes: [u8; 256] = std::array::from_fn(|byte| byte as u8);
    bytes.sort_unstable_by_key(|&byte| BYTE_TO_CHAR[usize::from(byte)]);
    bytes
});

/// The byte that a character represents, if any.
pub fn char_to_byte(c: char) -> Option<u8> {
    match u32::from(c) {
        code @ (33..=126 | 161..=172 | 174..=255) => u8::try_from(code).ok(),
        code @ 0x100..=0x143 => BYTES_BY_CHAR.get(188 + (code - 0x100) as usize).copied(),
        _ => None,
    }
}

/// Spells bytes as characters.
pub fn to_chars(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| BYTE_TO_CHAR[usize::from(byte)]).collect()
}

/// The bytes that a text spells; `None` if a character represents no byte.
pub fn to_bytes(text: &str) -> Option<Vec<u8>> {
    text.chars().map(char_to_byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_round_trips() {
        for byte in 0..=255u8 {
            assert_eq!(char_to_byte(BYTE_TO_CHAR[usize::from(byte)]), Some(byte));
        }
        assert_eq!(to_chars(b" a\n"), "ĠaĊ");
        assert_eq!(to_bytes("ĠaĊ").as_deref(), Some(&b" a\n"[..]));
        assert_eq!(to_bytes("\u{144}"), None);
    }
}
