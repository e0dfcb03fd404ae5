//! `Selection`: decides for which language the next merge is made, as Hugging Face's
//! `ParityBpeTrainer` does.

use std::cmp::Ordering;
use std::collections::VecDeque;

use super::Variant;

/// The measure of how much a language needs a merge.
#[derive(Debug)]
pub(super) enum Need {
    /// The tokens of its development text, or of its text: the most first.
    Length,
    /// How much its text was compressed, divided by the wanted ratio: the least first.
    Ratio(Vec<f64>),
}

/// The state of all languages.
#[derive(Debug)]
pub(super) struct Selection {
    need: Need,
    variant: Variant,
    /// The tokens before the first merge, and now.
    initial: Vec<u64>,
    current: Vec<u64>,
    /// Whether no pair of the language is left to merge.
    exhausted: Vec<bool>,
    /// The last selected languages, as many as the window holds, and how often each is among them.
    recent: VecDeque<usize>,
    n_recent: Vec<usize>,
}

impl Selection {
    pub(super) fn new(need: Need, variant: Variant, lengths: Vec<u64>) -> Self {
        let n = lengths.len();
        Self {
            need,
            variant,
            initial: lengths.clone(),
            current: lengths,
            exhausted: vec![false; n],
            recent: VecDeque::new(),
            n_recent: vec![0; n],
        }
    }

    /// The tokens of each language before the first merge.
    pub(super) fn initial(&self) -> &[u64] {
        &self.initial
    }

    /// The tokens of each language now.
    pub(super) fn current(&self) -> &[u64] {
        &self.current
    }

    pub(super) fn is_exhausted(&self, language: usize) -> bool {
        self.exhausted[language]
    }

    /// Records that no pair of a language is left.
    pub(super) fn exhaust(&mut self, language: usize) {
        self.exhausted[language] = true;
    }

    /// Records that a merge shortened the text of a language.
    pub(super) fn shorten(&mut self, language: usize, by: u64) {
        self.current[language] = self.current[language].saturating_sub(by);
    }

    /// The language for the next merge; `None` if all are exhausted. With a window the language may
    /// be exhausted: Hugging Face's trainer selects the first language where none may be selected,
    /// and counts that in the window.
    pub(super) fn next(&mut self) -> Option<usize> {
        if self.exhausted.iter().all(|&exhausted| exhausted) {
            return None;
        }
        let all = vec![true; self.current.len()];
        let Variant::Window { size, alpha } = self.variant else { return Some(self.neediest(&all)) };
        let selected = self.next_of_window(size, alpha / self.current.len() as f64, all);
        self.recent.push_back(selected);
        self.n_recent[selected] += 1;
        if self.recent.len() > size
            && let Some(oldest) = self.recent.pop_front()
        {
            self.n_recent[oldest] -= 1;
        }
        Some(selected)
    }

    /// The neediest language whose share of the window is at most `most`.
    fn next_of_window(&self, size: usize, most: f64, mut may_be: Vec<bool>) -> usize {
        loop {
            let best = self.neediest_of(&may_be).unwrap_or(0);
            if self.n_recent[best] as f64 / size as f64 <= most {
                return best;
            }
            if !may_be[best] {
                // Hugging Face's trainer never leaves this loop.
                may_be.fill(true);
                return self.neediest(&may_be);
            }
            may_be[best] = false;
            if !may_be.contains(&true) {
                return best;
            }
        }
    }

    /// The neediest language, or the first that is not exhausted if none can be compared.
    fn neediest(&self, may_be: &[bool]) -> usize {
        let any = || self.exhausted.iter().position(|&exhausted| !exhausted);
        self.neediest_of(may_be).or_else(any).unwrap_or(0)
    }

    /// The neediest language that is not exhausted; the first of equals.
    fn neediest_of(&self, may_be: &[bool]) -> Option<usize> {
        let mut best = None;
        for (language, &may_be) in may_be.iter().enumerate() {
            if may_be && !self.exhausted[language] && self.is_needier(language, best) {
                best = Some(language);
            }
        }
        best
    }

    fn is_needier(&self, language: usize, than: Option<usize>) -> bool {
        match &self.need {
            Need::Length => than.is_none_or(|than| self.current[language] > self.current[than]),
            Need::Ratio(ratios) => {
                let rate = |at: usize| self.initial[at] as f64 / self.current[at] as f64 / ratios[at];
                // A language without text has no rate.
                let least = than.map_or(f64::INFINITY, rate);
                rate(language).partial_cmp(&least) == Some(Ordering::Less)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(mut selection: Selection, n: usize) -> Vec<usize> {
        (0..n).filter_map(|_| selection.next()).collect()
    }

    #[test]
    fn longest_language_goes_first_and_first_of_equals() {
        assert_eq!(selected(Selection::new(Need::Length, Variant::Base, vec![3, 7, 7]), 2), [1, 1]);
    }

    #[test]
    fn least_compressed_for_its_ratio_goes_first() {
        let selection = Selection::new(Need::Ratio(vec![1.0, 2.0]), Variant::Base, vec![10, 10]);
        assert_eq!(selected(selection, 1), [1]);
    }

    #[test]
    fn window_limits_the_share_of_a_language() {
        let window = Variant::Window { size: 4, alpha: 1.0 };
        // At most a half of four: a third selection is passed over.
        assert_eq!(selected(Selection::new(Need::Length, window, vec![1, 9]), 6), [1, 1, 1, 0, 0, 1]);
    }

    #[test]
    fn selection_ends_when_all_languages_are_exhausted() {
        for variant in [Variant::Base, Variant::Window { size: 3, alpha: 0.5 }] {
            let mut selection = Selection::new(Need::Length, variant, vec![0, 5, 2]);
            let mut n = 0;
            while let Some(language) = selection.next() {
                selection.exhaust(language);
                n += 1;
                assert!(n < 100, "{variant:?}");
            }
        }
    }
}
