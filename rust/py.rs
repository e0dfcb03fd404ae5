//! The Python module `sentitok._sentitok`: wraps the crate and contains no logic.
//!
//! `error` converts errors and catches panics; `text`, `ids` and `source` convert arguments;
//! `arrays` builds results; `copy_protocol` is shared by all immutable classes. Every other file is
//! one class or function. `python/sentitok/_sentitok.pyi` has the types.

#![allow(missing_docs, reason = "2026-11: PyO3's macros make public items of private ones")]

mod added_token;
mod align;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod allocator;
mod arrays;
mod arrow;
mod batch;
mod call;
mod checkpoint;
mod copy_protocol;
mod corpus;
mod corpus_shards;
mod counting;
mod dataset;
mod document_reader;
mod encoding;
mod error;
mod feeding;
mod fertility;
mod file_kind;
mod foreign_kwargs;
mod gil_slices;
mod html;
mod ids;
mod loaded;
mod normalizer;
mod numbers;
mod padding;
mod paths;
mod pipeline;
mod pre_tokenizer;
mod progress;
mod quick_decode;
mod remote;
mod report;
mod rows;
mod sentencepiece_model;
mod source;
mod spans;
mod stream;
mod stream_encoder;
mod superwords;
mod text;
mod texts;
mod tokenizer;
mod train;
mod train_parity;
mod train_sentencepiece;
mod train_unigram;
mod train_wordpiece;
mod word_counts;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator::new();

/// Train and run tokenizers.
#[pyo3::pymodule(gil_used = false)]
mod _sentitok {
    use pyo3::exceptions::PyImportError;
    use pyo3::prelude::*;
    use pyo3::sync::PyOnceLock;

    #[pymodule_export]
    use super::added_token::{PyAddedToken, PySpecial};
    #[pymodule_export]
    use super::align::align_offsets;
    #[pymodule_export]
    use super::batch::PyEncodingBatch;
    #[pymodule_export]
    use super::checkpoint::remove_checkpoint;
    #[pymodule_export]
    use super::corpus_shards::cut_file;
    #[pymodule_export]
    use super::counting::{count, merge_counts};
    #[pymodule_export]
    use super::dataset::encode_files;
    #[pymodule_export]
    use super::document_reader::{PyDocumentBatch, PyDocumentReader};
    #[pymodule_export]
    use super::encoding::PyEncoding;
    #[pymodule_export]
    use super::fertility::{PyDistinctWords, PyFertility, PyFertilityCounter};
    #[pymodule_export]
    use super::file_kind::{file_kind, read_folder};
    #[pymodule_export]
    use super::normalizer::PyNormalizer;
    #[pymodule_export]
    use super::pre_tokenizer::PyPreTokenizer;
    #[pymodule_export]
    use super::quick_decode::QuickDecode;
    #[pymodule_export]
    use super::report::PyTrainReport;
    #[pymodule_export]
    use super::sentencepiece_model::PySentencePieceModel;
    #[pymodule_export]
    use super::stream::PyStreamDecoder;
    #[pymodule_export]
    use super::stream_encoder::PyStreamEncoder;
    #[pymodule_export]
    use super::tokenizer::PyTokenizer;
    #[pymodule_export]
    use super::train::train_bpe;
    #[pymodule_export]
    use super::train_parity::train_parity_bpe;
    #[pymodule_export]
    use super::train_unigram::train_unigram;
    #[pymodule_export]
    use super::train_wordpiece::train_wordpiece;
    #[pymodule_export]
    use super::word_counts::PyWordCounts;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        refuse_second_interpreter(module.py())?;
        super::error::install_panic_hook();
        super::remote::register();
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        crate::memory::ASK.get_or_init(|| |n_bytes| super::ALLOCATOR.has_room(n_bytes));
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        for (name, class) in super::error::Exceptions::get(module.py())?.all() {
            module.add(name, class)?;
        }
        super::word_counts::register_mapping(module.py())
    }

    /// Refuses to be loaded by a second interpreter of the process.
    ///
    /// NumPy supports one only: with two of them, printing an array can end the process. Each
    /// interpreter has its own module `sys`.
    fn refuse_second_interpreter(py: Python<'_>) -> PyResult<()> {
        static FIRST: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
        let sys = py.import("sys")?;
        if FIRST.get_or_init(py, || sys.clone().unbind()).is(&sys) {
            return Ok(());
        }
        Err(PyImportError::new_err(
            "another interpreter of this process has loaded sentitok already; use threads or processes",
        ))
    }
}
