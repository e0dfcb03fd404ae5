//! `OneTokenWords`: which words one token may stand for, told without encoding them.
//!
//! Where the tokens of a word are its text, one after the other, a token that stands for all
//! of it is the word, with or without the mark of a space. Said of words of characters that the
//! pipeline leaves as they are, or only lowers, and that are never unknown; of all other words
//! nothing is known. Not for what a word becomes: that is to encode it.

use std::borrow::Cow;

use hashbrown::HashSet;
use memchr::memmem::Finder;

use super::Tokenizer;
use crate::models::Model;
use crate::models::bpe::Unit;
use crate::models::wordpiece::WordPiece;
use crate::normalizer::Normalizer;
use crate::pre_tokenizer::PreTokenizer;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::offsets_by_length::marks_spaces;

/// What stands for a space.
const MARK: &[u8] = "▁".as_bytes();
/// How the tokens of bytes are spelled.
const BYTE_SPELLING: &[u8] = b"<0x";

/// The texts of tokens, and what words they may be.
pub(crate) struct OneTokenWords<'a> {
    /// The texts of all tokens, without spaces or their marks at either end.
    texts: HashSet<&'a [u8]>,
    told: Told<'a>,
}

/// Of which words something is told.
struct Told<'a> {
    /// The bytes that they consist of.
    bytes: [bool; 256],
    /// What they do not hold.
    barred: Vec<Finder<'a>>,
    /// The most bytes they have.
    longest: usize,
    /// Whether they are lowered.
    lowers: bool,
    /// Whether each ideograph of any word is a token, known or not.
    splits_ideographs: bool,
}

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
        let told = self.told_words().filter(|_| self.model.dropout().is_none())?;
        let mut texts = HashSet::new();
        for id in 0..=self.max_id() {
            texts.extend(self.id_to_bytes(id).map(without_marks));
            let byte = self.model.fallback_byte(id);
            texts.extend(byte.and_then(|byte| BYTES.get(usize::from(byte)..=usize::from(byte))));
        }
        texts.extend(self.added.tokens().iter().map(|token| without_marks(token.content.as_bytes())));
        Some(OneTokenWords { texts, told })
    }

    fn told_words(&self) -> Option<Told<'_>> {
        let all = Told {
            bytes: [true; 256],
            barred: vec![Finder::new(MARK)],
            longest: usize::MAX,
            lowers: false,
            splits_ideographs: false,
        };
        if self.keeps_text() {
            return Some(all);
        }
        // A token that is looked for in the normalized text may be found as another text.
        let may_be_other = |token: &AddedToken| token.normalized && self.pipeline.normalizer.is_some();
        if self.added.tokens().iter().any(|token| may_be_other(token) || !token.content.is_ascii()) {
            return None;
        }
        let normalizer = self.pipeline.normalizer.as_ref();
        let is_marked = match &self.pipeline.pre_tokenizer {
            PreTokenizer::Bytes | PreTokenizer::MetaspaceWords => normalizer.and_then(marks_spaces).is_some(),
            PreTokenizer::Metaspace { .. } => normalizer.is_none(),
            PreTokenizer::Bert | PreTokenizer::GoogleBert => return self.told_words_of_bert(all),
            _ => return None,
        };
        // No token ends inside a mark.
        let extents = self.choices.extents().filter(|_| self.model.unit() == Unit::Chars)?;
        let is_told = |byte: u8| match byte {
            b'!'..=b'~' => extents.knows(char::from(byte)),
            0x80.. => is_marked && extents.knows_all(),
            _ => false,
        };
        let mut bytes = std::array::from_fn(|byte| is_told(byte as u8));
        if let Some(normalizer) = normalizer.filter(|_| !is_marked) {
            normalizer.retain_kept(&mut bytes);
        }
        let unknown = self.model.unk_token().filter(|token| !token.is_empty());
        let barred = [MARK, BYTE_SPELLING].into_iter().chain(unknown.map(str::as_bytes));
        Some(Told { bytes, barred: barred.map(Finder::new).collect(), ..all })
    }

    /// BERT's words are letters and digits, or a sign each.
    fn told_words_of_bert<'a>(&'a self, all: Told<'a>) -> Option<Told<'a>> {
        let (lowers, splits_ideographs) = match &self.pipeline.normalizer {
            None => (false, false),
            Some(Normalizer::Bert(bert)) => (bert.lowercase, bert.handle_chinese_chars),
            Some(Normalizer::GoogleBert(bert)) => (bert.lowercase, true),
            Some(_) => return None,
        };
        let Model::WordPiece(model) = &*self.model else { return None };
        let is_told = |byte: u8| {
            let byte = if lowers { byte.to_ascii_lowercase() } else { byte };
            byte.is_ascii_graphic() && self.is_never_unknown(model, byte)
        };
        let longest = model.options().max_input_chars_per_word;
        let bytes = std::array::from_fn(|byte| is_told(byte as u8));
        Some(Told { bytes, longest, lowers, splits_ideographs, ..all })
    }

    /// Whether a character of ASCII is a token wherever it may stand in a word.
    fn is_never_unknown(&self, model: &WordPiece, byte: u8) -> bool {
        let inside = [model.options().continuing_subword_prefix.as_bytes(), &[byte]].concat();
        let is_special = |text: &[u8]| {
            self.added.tokens().iter().any(|token| token.special && token.content.as_bytes() == text)
        };
        let is_token = |text: &[u8]| model.vocab().id(text).is_some() && !is_special(text);
        let is_known = is_token(&[byte]) && (!byte.is_ascii_alphanumeric() || is_token(&inside));
        is_known && !model.options().whole_words
    }
}

impl OneTokenWords<'_> {
    /// Whether a word behind a space may become a token that stands for all of it.
    pub(crate) fn may_have(&self, word: &[u8]) -> bool {
        if self.told.splits_ideographs && has_two_ideographs(word) {
            return false;
        }
        if !self.told.is_of(word) {
            return true;
        }
        let mut word = Cow::Borrowed(word);
        if self.told.lowers && word.iter().any(u8::is_ascii_uppercase) {
            word.to_mut().make_ascii_lowercase();
        }
        self.texts.contains(&*word)
    }
}

impl Told<'_> {
    fn is_of(&self, word: &[u8]) -> bool {
        // Bytes that are no text may be normalized to some.
        word.len() <= self.longest
            && std::str::from_utf8(word).is_ok()
            && word.iter().all(|&byte| self.bytes[usize::from(byte)])
            && self.barred.iter().all(|text| text.find(word).is_none())
    }
}

/// Whether a word has two characters from U+5000 to U+8FFF, all of which are ideographs.
fn has_two_ideographs(word: &[u8]) -> bool {
    let is_ideograph = |bytes: &&[u8]| matches!(bytes, [0xE5..=0xE8, 0x80..=0xBF, 0x80..=0xBF]);
    word.windows(3).filter(is_ideograph).nth(1).is_some()
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

#[cfg(test)]
mod tests {
    use super::super::EncodeOptions;
    use super::*;

    /// What is said of a word, and whether one token alone touches it.
    fn told(file: &str, word: &str) -> (bool, bool) {
        let tokenizer = Tokenizer::from_bytes(file.as_bytes()).unwrap();
        let words = tokenizer.one_token_words().unwrap();
        let options = EncodeOptions { add_special_tokens: false, ..EncodeOptions::default() };
        let encoding = tokenizer.encode(&*format!(" {word}"), options).unwrap();
        let touches = encoding.spans.iter().filter(|span| span[0] <= word.len() as u64 && span[1] > 1);
        (words.may_have(word.as_bytes()), touches.count() == 1)
    }

    #[test]
    fn words_of_bert() {
        let file =
            r#"{"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "$$",
            "max_input_chars_per_word": 5, "vocab": {"[UNK]": 0, "a": 1, "b": 2, "$$a": 3, "$$b": 4, "ab": 5,
            "!": 6, "c": 7}},
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true}, "pre_tokenizer": {"type": "BertPreTokenizer"}}"#
                .replace('$', "#");
        for (word, expected) in [
            ("ab", (true, true)),
            ("AB", (true, true)),
            ("ba", (false, false)),
            ("!", (true, true)),
            ("!!", (false, false)),
            ("ab!", (false, false)),
            // Unknown, so nothing is told of them: a sign, a letter that goes on with no word, a long word.
            ("?", (true, true)),
            ("ac", (true, true)),
            ("bababa", (true, true)),
            ("é", (true, true)),
            // But each ideograph is a token.
            ("字", (true, true)),
            ("a字", (true, false)),
            ("字a字", (false, false)),
        ] {
            assert_eq!(told(&file, word), expected, "{word}");
        }
    }

    #[test]
    fn letters_that_are_special_tokens_are_unknown_in_words() {
        let file =
            r#"{"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "$$",
            "max_input_chars_per_word": 5, "vocab": {"[UNK]": 0, "a": 1, "b": 2, "$$a": 3, "$$b": 4}},
            "added_tokens": [{"id": 1, "content": "a", "special": true, "normalized": false, "lstrip": false,
            "rstrip": false, "single_word": false}], "pre_tokenizer": {"type": "BertPreTokenizer"}}"#
                .replace('$', "#");
        assert_eq!(told(&file, "ab"), (true, true));
        assert_eq!(told(&file, "bb"), (false, false));
    }

    #[test]
    fn steps_that_change_words_with_the_space_in_front_leave_nothing_told() {
        let kept = |steps: Vec<Normalizer>| {
            let mut chars = [true; 256];
            Normalizer::Sequence { normalizers: steps }.retain_kept(&mut chars);
            (b'!'..=b'~').filter(|&byte| chars[usize::from(byte)]).count()
        };
        let replace = |pattern: &str, content: &str| Normalizer::Replace {
            pattern: pattern.into(),
            content: content.into(),
        };
        assert_eq!(kept(vec![replace(" ", "▁"), replace("▁▁", "▁"), Normalizer::Nfkc]), 94);
        assert_eq!(kept(vec![replace("ab", "c"), Normalizer::Lowercase]), 94 - 1 - 26);
        for (pattern, content) in [(" ab", " c"), (" ", "_"), ("▁a", "b")] {
            assert_eq!(kept(vec![replace(pattern, content)]), 0, "{pattern}");
        }
    }

    #[test]
    fn words_of_marked_text() {
        let file =
            r#"{"model": {"type": "Unigram", "unk_id": 0, "byte_fallback": FALLS, "vocab": [["<unk>", -9.0],
            ["▁", -1.0], ["a", -2.0], ["b", -2.0], ["▁ab", -3.0], ["<", -2.0], ["u", -2.0], ["n", -2.0],
            ["k", -2.0], [">", -2.0], ["é", -3.0]]},
            "normalizer": NORMALIZER, "pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "always",
            "split": true, "replacement": "▁"}}"#
                .replace("FALLS", "false");
        let plain = file.replace("NORMALIZER", "null");
        let lowered = file.replace("NORMALIZER", r#"{"type": "Lowercase"}"#);
        for (file, word, expected) in [
            (&plain, "ab", (true, true)),
            (&plain, "ba", (false, false)),
            (&plain, "a", (true, true)),
            // Runs of what is unknown, by its spelling, too, are one token.
            (&plain, "xyz", (true, true)),
            (&plain, "<unk><unk>", (true, true)),
            (&plain, "é", (true, true)),
            (&plain, "▁", (true, true)),
            (&lowered, "AB", (true, true)),
            (&lowered, "ba", (false, false)),
        ] {
            assert_eq!(told(file, word), expected, "{word}");
        }
    }
}
