//! vocab.txt, the file of BERT: one token per line; the line number is the id.
//!
//! The file contains nothing else, so the reader assumes the conventions of BERT: its clean-up, its
//! special tokens by name, `[CLS] text [SEP]`. Lines are read as in tokenizers 0.23: white space at
//! the end of a line is not a part of the token, and if a token occurs twice the last line counts.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::models::Model;
use crate::models::wordpiece::{WordPiece, WordPieceOptions};
use crate::normalizer::{Bert, GoogleBert, Normalizer};
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::PreTokenizer;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::decoder::Decoder;
use crate::tokenizer::template::{Part, Template};
use crate::tokenizer::{CallDefaults, Parts, Tokenizer};
use crate::vocab::{TokenId, Vocab};

/// The format's name in messages.
const NAME: &str = "vocab.txt";
const CLS: &str = "[CLS]";
const SEP: &str = "[SEP]";
/// BERT's special tokens. In a file, each of them that occurs is special.
const SPECIALS: [&str; 5] = ["[UNK]", SEP, "[PAD]", CLS, "[MASK]"];

/// Which clean-up precedes the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CleanUp {
    /// Hugging Face's, through which most models are served.
    #[default]
    HuggingFace,
    /// Google's.
    Google,
}

/// A tokenizer as defined by the file and BERT's conventions.
#[non_exhaustive]
pub struct BertVocab {
    /// The tokens.
    pub vocab: Vocab,
    /// The options of the model.
    pub options: WordPieceOptions,
    /// The clean-up and the split.
    pub pipeline: Pipeline,
    /// The special tokens that occur in the file.
    pub added: Vec<AddedToken>,
    /// `[CLS] text [SEP]`, if both occur in the file.
    pub template: Template,
    /// Joins the pieces of a word, and puts spaces between words.
    pub decoder: Decoder,
}

/// Reads a file.
///
/// # Errors
/// [`Error::Format`] for a file without a token, or as [`Vocab::from_pairs`].
pub fn read(text: &str, lowercase: bool, clean_up: CleanUp) -> Result<BertVocab> {
    let mut last: HashMap<&str, TokenId> = HashMap::new();
    for (line, number) in text.lines().zip(0..) {
        last.insert(line.trim_end(), number);
    }
    // A blank line counts as a line, but no word is empty.
    last.remove("");
    if last.is_empty() {
        return Err(Error::format(NAME, "it holds no token; expected one on each line"));
    }
    let vocab = Vocab::from_pairs(last.into_iter().collect())?;
    let options = WordPieceOptions::default();
    let id = |token: &str| vocab.id(token.as_bytes());
    let (normalizer, pre_tokenizer) = match clean_up {
        CleanUp::HuggingFace => (Normalizer::Bert(Bert { lowercase, ..Bert::default() }), PreTokenizer::Bert),
        CleanUp::Google => (Normalizer::GoogleBert(GoogleBert { lowercase }), PreTokenizer::GoogleBert),
    };
    Ok(BertVocab {
        added: SPECIALS.iter().filter_map(|token| Some(AddedToken::special(*token, id(token)?))).collect(),
        template: match (id(CLS), id(SEP)) {
            (Some(cls), Some(sep)) => template(cls, sep),
            _ => Template::default(),
        },
        pipeline: Pipeline { normalizer: Some(normalizer), pre_tokenizer },
        decoder: Decoder::WordPiece { prefix: options.continuing_subword_prefix.clone(), cleanup: true },
        options,
        vocab,
    })
}

/// `[CLS] text [SEP]` and `[CLS] text [SEP] text [SEP]`.
fn template(cls: TokenId, sep: TokenId) -> Template {
    let special = |id, type_id| Part::Special { id, type_id };
    let single = vec![special(cls, 0), Part::First { type_id: 0 }, special(sep, 0)];
    let pair = [&single[..], &[Part::Second { type_id: 1 }, special(sep, 1)]].concat();
    Template { single, pair, ..Template::default() }
}

/// Writes the tokens of `vocab`, and the tokens of `added` that are not in it.
///
/// # Errors
/// [`Error::NotRepresentable`] for tokens that would be read differently: not UTF-8, with a line
/// break, or with white space at the end.
pub fn write(vocab: &Vocab, added: &[AddedToken]) -> Result<Vec<u8>> {
    let refuse = |id: TokenId, reason: &str| {
        Err(Error::NotRepresentable { format: NAME, reason: format!("token {id} {reason}") })
    };
    let last_added = added.iter().map(|token| token.id as usize + 1).max().unwrap_or(0);
    let n_lines = vocab.id_limit().max(last_added);
    if n_lines > vocab.len() + added.len() + Vocab::MAX_GAPS {
        return refuse((n_lines - 1) as TokenId, "would be behind too many blank lines");
    }
    let mut lines = vec![&b""[..]; n_lines];
    for token in added {
        lines[token.id as usize] = token.content.as_bytes();
    }
    for (id, bytes) in vocab.iter() {
        lines[id as usize] = bytes;
    }
    let mut file = Vec::new();
    for (line, id) in lines.into_iter().zip(0..) {
        match std::str::from_utf8(line) {
            Err(_) => return refuse(id, "is not UTF-8"),
            Ok(token) if token.contains('\n') => return refuse(id, "has a line break"),
            Ok(token) if token.trim_end() != token => return refuse(id, "ends in white space"),
            Ok(_) => {}
        }
        file.extend_from_slice(line);
        file.push(b'\n');
    }
    Ok(file)
}

impl BertVocab {
    /// The parts of a tokenizer.
    ///
    /// # Errors
    /// As [`WordPiece::new`].
    pub fn into_parts(self) -> Result<Parts> {
        let Self { vocab, options, pipeline, added, template, decoder } = self;
        let model = Arc::new(WordPiece::new(vocab, options)?.into());
        Ok(Parts { pipeline, model, added, template, decoder, defaults: CallDefaults::default() })
    }
}

/// A file, and the list of what it cannot store, in sentences.
#[non_exhaustive]
pub struct Written {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The parts that the format cannot store.
    pub left_out: Vec<String>,
}

/// Writes a tokenizer.
///
/// # Errors
/// [`Error::NotRepresentable`] if other readers of vocab.txt would get different ids.
pub fn write_tokenizer(tokenizer: &Tokenizer) -> Result<Written> {
    let refuse = |reason: String| Err(Error::NotRepresentable { format: NAME, reason });
    let Model::WordPiece(model) = &**tokenizer.model() else {
        return refuse(format!("it holds WordPiece models only, and this is {}", tokenizer.model().name()));
    };
    if *model.options() != WordPieceOptions::default() {
        return refuse(format!(
            "its unknown token, prefix or longest word is not BERT's: {:?}",
            model.options()
        ));
    }
    let pipeline = tokenizer.pipeline();
    let lowercase = match (&pipeline.normalizer, &pipeline.pre_tokenizer) {
        (Some(Normalizer::Bert(bert)), PreTokenizer::Bert)
            if *bert == (Bert { lowercase: bert.lowercase, ..Bert::default() }) =>
        {
            bert.lowercase
        }
        (Some(Normalizer::GoogleBert(bert)), PreTokenizer::GoogleBert) => bert.lowercase,
        _ => return refuse("its clean-up or splitter is not BERT's".into()),
    };
    let left_out = vec![format!(
        "whether text is lowered ({lowercase}) is not in the file: give it to the program that reads it"
    )];
    Ok(Written { bytes: write(model.vocab(), tokenizer.added_tokens())?, left_out })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vocab_txt_round_trips() {
        let text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n\n##a\né\n#\n";
        let read_back = read(text, true, CleanUp::default()).unwrap();
        assert_eq!(read_back.vocab.len(), 7);
        assert_eq!(read_back.vocab.id("é".as_bytes()), Some(6));
        assert_eq!(read_back.added.iter().map(|token| token.id).collect::<Vec<_>>(), [1, 3, 0, 2]);
        assert_eq!(read_back.template.around_single(), (vec![2], vec![3]));
        assert_eq!(write(&read_back.vocab, &read_back.added).unwrap(), text.as_bytes());
    }

    #[test]
    fn lines_are_read_as_in_hugging_face() {
        for (text, expected) in [
            ("a\r\nb \r\n", vec![("a", 0), ("b", 1)]),
            ("a\nb\na", vec![("b", 1), ("a", 2)]),
            (" a\n\u{3000}\n\u{2028}x\n", vec![(" a", 0), ("\u{2028}x", 2)]),
        ] {
            let vocab = read(text, false, CleanUp::Google).unwrap().vocab;
            let found: Vec<_> =
                vocab.iter().map(|(id, bytes)| (std::str::from_utf8(bytes).unwrap(), id)).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn tokens_that_would_be_lost_are_refused() {
        for (token, expected) in
            [(&b"a\nb"[..], "has a line break"), (b"a ", "ends in white space"), (b"\xFF", "is not UTF-8")]
        {
            let error = write(&Vocab::from_tokens([token]).unwrap(), &[]).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = read("\n\n", true, CleanUp::default()).err().unwrap().to_string();
        assert!(error.contains("holds no token"), "{error}");
    }
}
