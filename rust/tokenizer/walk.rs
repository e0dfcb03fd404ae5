//! Walks over a text that may end before it does: because there is enough, or
//! because something failed. The two are different types, so that a request to
//! stop is never taken for a full output.

use crate::error::{Error, Result};

/// Why a walk over a text ended before the text did.
#[derive(Debug)]
pub(super) enum Ended {
    /// There are as many ids as were asked for.
    Full,
    /// It failed.
    Failed(Error),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A walk over a text.
pub(super) type Walk = Result<(), Ended>;

/// The result of a walk that need not reach the end of the text.
pub(super) fn finished(walk: Walk) -> Result<()> {
    match walk {
        Ok(()) | Err(Ended::Full) => Ok(()),
        Err(Ended::Failed(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::super::output::{Keeps, Output};
    use super::*;
    use crate::tokenizer::added_tokens::AddedToken;

    #[test]
    fn a_full_output_is_no_request_to_stop() {
        let mut output = Output::new(Keeps::Ids, Some(1), None);
        assert!(output.room_left().is_ok());
        output.push_token(&AddedToken::special("<s>", 7), 0, 3, b"<s>").unwrap();
        assert!(matches!(output.room_left(), Err(Ended::Full)));
        assert!(finished(output.room_left()).is_ok());
        // What the caller asked for reaches the caller, full or not.
        assert!(matches!(finished(Err(Error::Cancelled.into())), Err(Error::Cancelled)));
    }
}
