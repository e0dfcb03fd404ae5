//! `Padding`: the id and the side by which rows are filled up where a call names none.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::numbers::PadId;
use crate::error::shown;
use crate::tokenizer::Tokenizer;
use crate::tokenizer::encoding::Side;
use crate::vocab::TokenId;

/// What a tokenizer fills rows up by.
#[derive(Clone)]
pub(super) struct Padding {
    pub id: PadToken,
    pub side: Side,
}

/// The token that fills rows up.
#[derive(Clone)]
pub(super) enum PadToken {
    /// That of an id; 0 where nothing names one.
    Id(TokenId),
    /// One that settings name and the tokenizer has not.
    Missing(String),
}

impl Padding {
    /// What a tokenizer says itself.
    pub fn of(tokenizer: &Tokenizer) -> Self {
        let side = tokenizer.call_defaults().padding.as_ref().map_or(Side::Right, |fill| fill.direction);
        Self { id: PadToken::Id(tokenizer.pad_id().unwrap_or(0)), side }
    }

    /// The same, but for what a `sentitok.Settings` says.
    pub fn by_settings(tokenizer: &Tokenizer, settings: &Bound<'_, PyAny>) -> PyResult<Self> {
        let usual = Self::of(tokenizer);
        let named = settings.getattr("special_tokens")?.call_method1("get", ("pad_token",))?;
        let id = match named.extract::<Option<String>>()? {
            None => usual.id,
            Some(token) => tokenizer.spelled_to_id(&token).map_or(PadToken::Missing(token), PadToken::Id),
        };
        let side = settings.getattr("config")?.call_method1("get", ("padding_side",))?;
        let side = match side.extract::<String>().as_deref() {
            Ok("left") => Side::Left,
            Ok("right") => Side::Right,
            // Another library's files may hold anything there.
            _ => usual.side,
        };
        Ok(Self { id, side })
    }

    /// The id that a call fills up by.
    pub fn id(&self, asked: Option<PadId>) -> PyResult<TokenId> {
        match (asked, &self.id) {
            (Some(id), _) => Ok(id.get()),
            (None, PadToken::Id(id)) => Ok(*id),
            (None, PadToken::Missing(token)) => Err(PyValueError::new_err(format!(
                "the settings name {:?} as pad_token, and the tokenizer has no such token; add it, as in \
                 tokenizer.with_specials([...]), or pass pad_id=",
                shown(token)
            ))),
        }
    }
}
