//! Checks whether two tokenizers give the same ids, for example after a conversion: both encode the
//! same documents. Counts the documents with different ids and keeps the first.

use crate::error::Result;
use crate::tokenizer::{EncodeOptions, Input, Tokenizer};
use crate::vocab::TokenId;

/// The result of a comparison so far.
///
/// ```
/// use sentitok::{EncodeOptions, Tokenizer, formats::verify::Report};
/// let file = r#"{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}"#;
/// let left = Tokenizer::from_bytes(file.as_bytes())?;
/// let right = Tokenizer::from_bytes(&left.to_bytes()?)?;
/// let mut report = Report::default();
/// report.compare(&left, &right, &["ab", "ba"], EncodeOptions::default())?;
/// assert!(report.is_equal());
/// # Ok::<(), sentitok::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Documents compared.
    pub documents: u64,
    /// Ids from the first tokenizer.
    pub tokens: u64,
    /// Documents with different ids.
    pub differing: u64,
    /// The first of them.
    pub first: Option<Difference>,
}

/// A document with different ids.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Its number, from 0.
    pub document: u64,
    /// Its bytes.
    pub text: Vec<u8>,
    /// The ids of the first tokenizer.
    pub left: Vec<TokenId>,
    /// The ids of the second.
    pub right: Vec<TokenId>,
}

impl Difference {
    /// The index of the first id that differs.
    pub fn at(&self) -> usize {
        self.left.iter().zip(&self.right).take_while(|(left, right)| left == right).count()
    }
}

impl Report {
    /// Whether no document differs.
    pub fn is_equal(&self) -> bool {
        self.differing == 0
    }

    /// Compares two tokenizers on more documents.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`].
    pub fn compare<'t, T>(
        &mut self,
        left: &Tokenizer,
        right: &Tokenizer,
        documents: &'t [T],
        options: EncodeOptions<'_>,
    ) -> Result<()>
    where
        &'t T: Into<Input<'t>>,
    {
        let options = EncodeOptions { spans: false, ..options };
        let (left, right) = (left.encode_batch(documents, options)?, right.encode_batch(documents, options)?);
        for (number, document) in documents.iter().enumerate() {
            let ids = |batch: &crate::EncodingBatch| {
                batch.row(number).and_then(|row| batch.ids.get(row)).unwrap_or_default().to_vec()
            };
            let (left, right) = (ids(&left), ids(&right));
            self.tokens += left.len() as u64;
            if left != right {
                self.differing += 1;
                self.first.get_or_insert_with(|| Difference {
                    document: self.documents,
                    text: document.into().bytes().to_vec(),
                    left,
                    right,
                });
            }
            self.documents += 1;
        }
        Ok(())
    }
}
