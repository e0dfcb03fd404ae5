//! `OneTokenWords`: which words one token may stand for, told without encoding them.
//!
//! Where the tokens of a word are its text, one after the other, a token that stands for all
//! of it is the word, with or without the mark of a space. Said of the characters that the
//! pipeline leaves as they are and that are never unknown; of all other words nothing is
//! known. Not for what a word becomes: that is to encode it.

use hashbrown::HashSet;

use super::Tokenizer;
use super::sums::marks_spaces;
use crate::pre_tokenizer::PreTokenizer;

/// The texts of tokens, and what words they may be.
pub(crate) struct OneTokenWords<'a> {
    /// The texts of all tokens, without spaces or their marks at either end.
    texts: HashSet<&'a [u8]>,
    /// Bytes of which words are their tokens' text.
    spelled: [bool; 256],
}

/// What stands for a space.
const MARK: &[u8] = "▁".as_bytes();
/// Every byte, for tokens that stand for one.
const BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = at as u8;
        at += 1;
    }
    bytes
};

impl Tokenizer {
    /// What can be told of words behind a space; `None` where that is nothing.
    pub(crate) fn one_token_words(&self) -> Option<OneTokenWords<'_>> {
        let spelled = self.spelled_bytes().filter(|_| self.model.dropout().is_none())?;
        let mut texts = HashSet::new();
        for id in 0..=self.max_id() {
            texts.extend(self.id_to_bytes(id).map(without_marks));
            let byte = self.model.fallback_byte(id);
            texts.extend(byte.and_then(|byte| BYTES.get(usize::from(byte)..=usize::from(byte))));
        }
        texts.extend(self.added.tokens().iter().map(|token| without_marks(token.content.as_bytes())));
        Some(OneTokenWords { texts, spelled })
    }

    /// Bytes of which words are their tokens' text, one after the other.
    fn spelled_bytes(&self) -> Option<[bool; 256]> {
        if self.keeps_text() {
            return Some([true; 256]);
        }
        let extents = self.choices.extents()?;
        let (normalizer, is_marked) = match (&self.pipeline.normalizer, &self.pipeline.pre_tokenizer) {
            (normalizer, PreTokenizer::Bytes | PreTokenizer::MetaspaceWords) => (normalizer, false),
            (normalizer, PreTokenizer::Metaspace { .. }) => (normalizer, normalizer.is_none()),
            _ => return None,
        };
        let is_marked = is_marked || normalizer.as_ref().is_some_and(|steps| marks_spaces(steps).is_some());
        // A token that is looked for in the normalized text may be found as another text.
        if self.added.tokens().iter().any(|token| !token.content.is_ascii()) {
            return None;
        }
        let is_spelled = |byte: u8| match byte {
            // Tokens of bytes are spelled `<0xNN>`.
            b'<' => false,
            b'!'..=b'~' => extents.knows(char::from(byte)),
            0x80.. => is_marked && byte != MARK[0] && extents.knows_all(),
            _ => false,
        };
        let mut spelled = std::array::from_fn(|byte| is_spelled(byte as u8));
        if let Some(normalizer) = normalizer.as_ref().filter(|_| !is_marked) {
            normalizer.retain_kept(&mut spelled);
        }
        Some(spelled)
    }
}

impl OneTokenWords<'_> {
    /// Whether a word behind a space may become a token that stands for all of it.
    pub(crate) fn may_have(&self, word: &[u8]) -> bool {
        self.texts.contains(word) || !word.iter().all(|&byte| self.spelled[usize::from(byte)])
    }
}

/// A text without spaces, or their marks, at either end.
fn without_marks(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let Some(rest) = text.strip_prefix(MARK).or(text.strip_prefix(b" ")) {
        text = rest;
    }
    while let Some(rest) = text.strip_suffix(MARK).or(text.strip_suffix(b" ")) {
        text = rest;
    }
    text
}
