//! `Model`: the remaining pieces with their log-probabilities.
//!
//! Texts are stored once, for the seeds; the remaining pieces point into them. The order of pieces
//! is SentencePiece's (characters, then by score, then by loss), because it decides between pieces
//! of equal loss.

use super::lattices::GONE;
use super::logarithm::digamma;
use crate::error::Result;
use crate::memory::{self, MakeRoom};

/// A piece whose expected count is lower is dropped.
const LEAST_EXPECTED: f64 = 0.5;
/// How much lower than the lowest piece a character without a piece scores.
const UNKNOWN_PENALTY: f64 = 10.0;

/// Pieces and scores, by number.
#[derive(Default)]
pub(super) struct Model {
    bytes: String,
    ends: Vec<usize>,
    /// The text of each piece.
    texts: Vec<u32>,
    pub(super) scores: Vec<f64>,
}

impl Model {
    /// Adds a seed.
    pub(super) fn push(&mut self, text: &str, score: f64) -> Result<()> {
        memory::push(&mut self.texts, self.ends.len() as u32)?;
        self.bytes.make_room(text.len())?;
        self.bytes.push_str(text);
        memory::push(&mut self.ends, self.bytes.len())?;
        memory::push(&mut self.scores, score)
    }

    /// The seeds that remain, by number.
    pub(super) fn remaining(&self) -> &[u32] {
        &self.texts
    }

    pub(super) fn len(&self) -> usize {
        self.scores.len()
    }

    pub(super) fn text(&self, piece: usize) -> &str {
        let number = self.texts[piece] as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    /// The lowest score; 0 if there are no pieces.
    pub(super) fn min_score(&self) -> f64 {
        self.scores.iter().copied().reduce(f64::min).unwrap_or(0.0)
    }

    /// The score of a character that is not a piece.
    pub(super) fn unknown_score(&self) -> f64 {
        self.min_score() - UNKNOWN_PENALTY
    }

    /// Estimates scores from expected counts; returns the new number of each piece.
    ///
    /// The digamma function makes the estimate Bayesian with a sparse prior (Liang and Klein 2007,
    /// "Structured Bayesian Nonparametric Models with Variational Inference").
    ///
    /// With `in_single`, counts, their sum and scores are rounded to 32 bits in the same order as
    /// in SentencePiece, so that the same pieces tie and their text decides.
    pub(super) fn estimate(&mut self, expected: &[f64], in_single: bool) -> Vec<u32> {
        let kept: Vec<u32> =
            (0..self.len() as u32).filter(|&piece| expected[piece as usize] >= LEAST_EXPECTED).collect();
        let rounded = |value: f64| if in_single { f64::from(value as f32) } else { value };
        let counts = kept.iter().map(|&piece| rounded(expected[piece as usize]));
        let sum = counts.clone().fold(0.0, |sum, count| rounded(sum + count));
        let numbers = self.keep(&kept);
        if !kept.is_empty() {
            let log_sum = rounded(digamma(sum));
            self.scores = counts.map(|count| rounded(digamma(count) - log_sum)).collect();
        }
        numbers
    }

    /// Keeps these pieces, in this order; returns the new number of each piece.
    pub(super) fn keep(&mut self, kept: &[u32]) -> Vec<u32> {
        let mut numbers = vec![GONE; self.len()];
        for (number, &piece) in kept.iter().enumerate() {
            numbers[piece as usize] = number as u32;
        }
        self.texts = kept.iter().map(|&piece| self.texts[piece as usize]).collect();
        self.scores = kept.iter().map(|&piece| self.scores[piece as usize]).collect();
        numbers
    }
}
