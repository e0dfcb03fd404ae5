//! `SentencePieceModel`: the pieces of a SentencePiece file.

use numpy::PyArray1;
use pyo3::prelude::*;

use super::arrays;
use super::error::entry;
use crate::formats::sentencepiece::{SpModel, read};
use crate::models::unigram::PieceKind;

/// The pieces of a SentencePiece file: texts, scores and kinds, by id.
///
/// Args:
///     data: the content of a `.model` file.
///
/// Raises:
///     FormatError: for a file that SentencePiece refuses, or a feature that is not supported.
#[pyclass(frozen, module = "sentitok", name = "SentencePieceModel")]
pub(super) struct PySentencePieceModel {
    model: SpModel,
}

#[pymethods]
impl PySentencePieceModel {
    #[new]
    fn new(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        entry(|| Ok(Self { model: py.detach(|| read(data))? }))
    }

    /// The text of each piece, with `▁` for a space.
    #[getter]
    fn pieces(&self) -> Vec<&str> {
        self.model.pieces().iter().map(|piece| piece.piece.as_str()).collect()
    }

    /// The score of each piece, as float32.
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        entry(|| arrays::read_only(py, self.model.pieces().iter().map(|piece| piece.score).collect()))
    }

    /// The kind of each piece: `"normal"`, `"unknown"`, `"control"`, `"user_defined"`, `"unused"`
    /// or `"byte"`.
    #[getter]
    fn kinds(&self) -> Vec<&'static str> {
        let name = |kind| match kind {
            PieceKind::Normal => "normal",
            PieceKind::Unknown => "unknown",
            PieceKind::Control => "control",
            PieceKind::UserDefined => "user_defined",
            PieceKind::Unused => "unused",
            PieceKind::Byte => "byte",
        };
        self.model.pieces().iter().map(|piece| name(piece.kind)).collect()
    }

    /// How the file cuts text: `"unigram"` or `"bpe"`.
    #[getter]
    fn model_type(&self) -> &'static str {
        self.model.model_type().name()
    }

    /// The texts of the unknown piece and the pieces of begin, end and padding; they need not
    /// exist.
    #[getter]
    fn special_pieces(&self) -> (String, String, String, String) {
        let [unk, bos, eos, pad] = self.model.special_pieces();
        (unk, bos, eos, pad)
    }

    fn __len__(&self) -> usize {
        self.model.pieces().len()
    }
}
