//! `Alphabet`: the tokens that are one character, by code point.
//!
//! An array in pages of 256 characters, of which only those are there that hold
//! a token: one look for each character of a text, where a hash costs ten times
//! as much.

use crate::vocab::{TokenId, Vocab};

/// No token.
const NONE: TokenId = TokenId::MAX;
const PAGE: usize = 256;
const PAGES: usize = 0x11_0000 / PAGE;

/// Characters and their tokens.
#[derive(Clone, Default)]
pub(super) struct Alphabet {
    /// The number of each page; the first, empty one stands for those that are
    /// not there.
    pages: Vec<u16>,
    ids: Vec<TokenId>,
}

impl Alphabet {
    pub(super) fn new(vocab: &Vocab) -> Self {
        let mut alphabet = Self { pages: vec![0; PAGES], ids: vec![NONE; PAGE] };
        for (id, token) in vocab.iter() {
            if let Some(c) = single_char(token) {
                alphabet.set(c as usize, id);
            }
        }
        alphabet
    }

    /// Gives a character a token.
    pub(super) fn set(&mut self, c: usize, id: TokenId) {
        let page = &mut self.pages[c / PAGE];
        if *page == 0 {
            *page = (self.ids.len() / PAGE) as u16;
            self.ids.resize(self.ids.len() + PAGE, NONE);
        }
        self.ids[usize::from(*page) * PAGE + c % PAGE] = id;
    }

    /// The token of a text, if the text is one character; an error if it is not.
    #[inline]
    pub(super) fn id(&self, text: &[u8]) -> Result<Option<TokenId>, NotOne> {
        let c = match *text {
            [byte @ 0..=0x7F] => usize::from(byte),
            _ if text.len() > 4 => return Err(NotOne),
            _ => single_char(text).ok_or(NotOne)? as usize,
        };
        self.known(c).ok_or(NotOne).map(|id| Some(id).filter(|&id| id != NONE))
    }

    /// The token of a character.
    #[inline(always)]
    pub(super) fn of(&self, c: char) -> Option<TokenId> {
        self.known(c as usize).filter(|&id| id != NONE)
    }

    /// The same by code point, with the mark of none; nothing if the alphabet is empty.
    #[inline(always)]
    fn known(&self, c: usize) -> Option<TokenId> {
        let page = self.pages.get(c / PAGE)?;
        Some(self.ids[usize::from(*page) * PAGE + c % PAGE])
    }
}

/// A text is not one character, or the alphabet is empty.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotOne;

fn single_char(bytes: &[u8]) -> Option<char> {
    let mut chars = std::str::from_utf8(bytes).ok()?.chars();
    chars.next().filter(|_| chars.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_characters_have_their_tokens() {
        let tokens = [&b"a"[..], b"ab", "é".as_bytes(), "\u{10FFFF}".as_bytes(), b"\xFF", b""];
        let alphabet = Alphabet::new(&Vocab::from_tokens(tokens).unwrap());
        for (text, expected) in [
            (&b"a"[..], Ok(Some(0))),
            (b"b", Ok(None)),
            ("é".as_bytes(), Ok(Some(2))),
            ("è".as_bytes(), Ok(None)),
            ("\u{10FFFF}".as_bytes(), Ok(Some(3))),
            (b"ab", Err(NotOne)),
            (b"\xFF", Err(NotOne)),
            (b"", Err(NotOne)),
        ] {
            assert_eq!(alphabet.id(text), expected, "{text:?}");
            if let Some(c) = single_char(text) {
                assert_eq!(alphabet.of(c), expected.unwrap());
            }
        }
        assert_eq!(Alphabet::default().id(b"a"), Err(NotOne));
    }
}
