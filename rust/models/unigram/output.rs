//! `Output`: where the ids of a search go, and the replacement of a run of unknown characters.

use super::Unigram;
use crate::error::Result;
use crate::memory::MakeRoom;
use crate::vocab::TokenId;

/// Where ids go.
pub(super) struct Output<'a> {
    pub(super) ids: &'a mut Vec<TokenId>,
    /// The bytes each id covers, if asked for.
    pub(super) lens: Option<&'a mut Vec<u32>>,
    /// Where the run of unknown characters begins that continues here.
    pub(super) unknown: Option<usize>,
    /// Bytes that no id covers, as there is no id for unknown characters.
    pub(super) uncovered: u32,
}

impl<'a> Output<'a> {
    /// Ids alone.
    pub(super) fn of(ids: &'a mut Vec<TokenId>) -> Self {
        Self { ids, lens: None, unknown: None, uncovered: 0 }
    }

    /// Makes room for the ids of so many bytes.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is not enough.
    pub(super) fn make_room(&mut self, len: usize) -> Result<()> {
        self.ids.make_room(len)?;
        self.lens.as_mut().map_or(Ok(()), |lens| lens.make_room(len))
    }

    pub(super) fn push(&mut self, id: TokenId, len: u32) {
        self.ids.push(id);
        if let Some(lens) = &mut self.lens {
            lens.push(len + std::mem::take(&mut self.uncovered));
        }
    }

    /// Takes the steps of a path that begins at `start`; ids that are [`Unigram::unknown_mark`]
    /// are unknown characters.
    pub(super) fn follow(
        &mut self,
        model: &Unigram,
        text: &[u8],
        start: usize,
        path: impl Iterator<Item = (TokenId, u32)>,
    ) {
        let unknown = model.unknown_mark();
        let mut at = start;
        for (id, len) in path {
            if id == unknown {
                if !model.options().fuse_unk {
                    self.end_unknown(model, text, at);
                }
                self.unknown.get_or_insert(at);
            } else {
                self.end_unknown(model, text, at);
                self.push(id, len);
            }
            at += len as usize;
        }
    }

    /// Ends a run of unknown characters at `end`.
    pub(super) fn end_unknown(&mut self, model: &Unigram, text: &[u8], end: usize) {
        let Some(start) = self.unknown.take() else { return };
        let run = &text[start..end];
        if self.lens.is_none()
            && let Some(ids) = model.spelled(run)
        {
            return self.ids.extend(ids);
        }
        let before = self.ids.len();
        model.for_unknown(run, |id, len| self.push(id, len));
        if self.ids.len() == before {
            self.uncovered += run.len() as u32;
        }
    }
}
