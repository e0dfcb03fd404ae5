//! `Padding`: the pad token and the side for calls that do not name them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::numbers::PadId;
use crate::error::shown;
use crate::tokenizer::Tokenizer;
use crate::tokenizer::encoding::Side;
use crate::vocab::TokenId;

/// The pad token and side of a tokenizer.
#[derive(Clone)]
pub(super) struct Padding {
    pub id: PadToken,
    pub side: Side,
}

/// A pad token.
#[derive(Clone)]
pub(super) enum PadToken {
    /// A token by id; 0 if nothing defines one.
    Id(TokenId),
    /// A token that the settings name but the tokenizer does not have.
    Missing(String),
}

impl Padding {
    /// The padding that a tokenizer itself defines.
    pub fn of(tokenizer: &Tokenizer) -> Self {
        let side = tokenizer.call_defaults().padding.as_ref().map_or(Side::Right, |fill| fill.direction);
        Self { id: PadToken::Id(tokenizer.pad_id().unwrap_or(0)), side }
    }

    /// The same, overridden by a `sentitok.Settings`.
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
            // Files of other libraries may contain anything here.
            _ => usual.side,
        };
        Ok(Self { id, side })
    }

    /// The id with which a call pads.
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
