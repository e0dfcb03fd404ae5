//! `ParityBpeTrainer`: one vocabulary for several languages, in which each merge goes to the language
//! that needs it most.
//!
//! Parity-aware BPE (Foroutan et al. 2025, arXiv 2508.04796): each step selects the language whose
//! text has the most tokens, and merges the most frequent pair *of that language*, in all languages.
//! The merges are those of Hugging Face's `ParityBpeTrainer` 0.23.3 for the same pieces. The text
//! that decides is a development text, the same in all languages, or the training text with a wanted
//! compression for each language.
//!
//! The pieces of all languages, and those of the development texts, are groups of one layout of
//! `pair_merging`, so a merge costs its occurrences (`language_pairs`).

mod language_pairs;
mod selection;

use serde::{Deserialize, Serialize};

use crate::corpus::word_counts::WordCounts;
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};
use crate::trainers::bpe::{BpeTrainer, TieBreak};
use crate::trainers::pair_merging::layout::SymbolLayout;
use crate::trainers::pair_merging::symbols::{FirstSymbols, SymbolOptions};
use crate::trainers::pair_merging::tokens::Tokens;
use crate::trainers::pair_merging::{Limits, Merge, MergeStop, TrainedMerges, by_weight, last_of_each};
use crate::vocab::TokenId;
use language_pairs::LanguagePairs;
use selection::{Need, Selection};

/// The options of parity-aware BPE training.
///
/// ```
/// use sentitok::trainers::parity::{Language, ParityBpeTrainer};
/// use sentitok::{Pipeline, PreTokenizer, Progress, WordCounts};
///
/// let counts = |pairs: &[(&str, u64)]| {
///     WordCounts::from_pairs(Pipeline::new(PreTokenizer::Bytes), pairs.iter().copied())
/// };
/// let (large, small) = (counts(&[("aabb", 900)])?, counts(&[("ccdd", 10)])?);
/// // The same sentence in both: the small language is not passed over.
/// let (aabb, ccdd) = (counts(&[("aabb", 1)])?, counts(&[("ccdd", 1)])?);
/// let mut trainer = ParityBpeTrainer::default();
/// trainer.bpe.vocab_size = 256 + 4;
/// let languages = [
///     Language { name: "large", counts: &large, development: Some(&aabb), ratio: None },
///     Language { name: "small", counts: &small, development: Some(&ccdd), ratio: None },
/// ];
/// let trained = trainer.train(&languages, &mut Progress::silent())?;
/// assert_eq!(trained.languages[1].merges, 2);
/// # Ok::<(), sentitok::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ParityBpeTrainer {
    /// The options shared with [`BpeTrainer`]. `tie_break`, `byte_fallback` and `extend` must be the
    /// defaults: ties follow [`TieBreak::Text`].
    pub bpe: BpeTrainer,
    /// How a language is selected.
    pub variant: Variant,
    /// How many of the first merges are those of all languages together, as in [`BpeTrainer`].
    pub global_merges: usize,
    /// The most merges, if they are limited apart from the vocabulary.
    pub max_merges: Option<usize>,
}

/// How the language of the next merge is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Variant {
    /// The language that needs it most.
    #[default]
    Base,
    /// The language that needs it most among the languages selected in at most `alpha / languages`
    /// of the last `size` merges.
    Window {
        /// The number of merges in the window.
        size: usize,
        /// The share of a language, times the number of languages.
        alpha: f64,
    },
}

/// A language to train on.
#[derive(Clone, Copy, Debug)]
pub struct Language<'a> {
    /// The name, for messages and the report.
    pub name: &'a str,
    /// The counted pieces of its text.
    pub counts: &'a WordCounts,
    /// The counted pieces of its development text. All languages have one, or none.
    pub development: Option<&'a WordCounts>,
    /// The wanted compression of its text, in relation to those of the other languages. All
    /// languages have one, or none.
    pub ratio: Option<f64>,
}

/// The result of training.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParityTrained {
    /// The vocabulary and merges.
    pub merges: TrainedMerges,
    /// The result for each language, in the given order.
    pub languages: Vec<TrainedLanguage>,
}

/// The result of training for a language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrainedLanguage {
    /// Its name.
    pub name: String,
    /// How many merges were made for it.
    pub merges: usize,
    /// The tokens of its development text, or of its text if there is none, before the first merge.
    pub initial_tokens: u64,
    /// The tokens after the last merge.
    pub tokens: u64,
}

impl ParityBpeTrainer {
    /// Trains on the counted pieces of each language.
    ///
    /// # Errors
    /// As [`BpeTrainer::train`]; [`Error::Option`] for options that cannot be;
    /// [`Error::PipelineMismatch`] for counts that were split differently.
    pub fn train(&self, languages: &[Language<'_>], progress: &mut Progress) -> Result<ParityTrained> {
        self.check(languages)?;
        let BpeTrainer { unit, max_token_length, .. } = self.bpe;
        let affix = |option, text: &Option<String>| match text {
            None => Ok(Vec::new()),
            Some(text) => unit.affix(option, text),
        };
        let prefix = affix("continuing_subword_prefix", &self.bpe.continuing_subword_prefix)?;
        let suffix = affix("end_of_word_suffix", &self.bpe.end_of_word_suffix)?;
        let mut tokens = Tokens::new(unit, prefix.clone(), max_token_length);
        let options = SymbolOptions {
            unit,
            special_tokens: &self.bpe.special_tokens,
            byte_fallback: false,
            required: self.bpe.initial_alphabet.chars(),
            limit: self.bpe.limit_alphabet,
            prefix: &prefix,
            suffix: &suffix,
        };
        let mut groups = Vec::new();
        for counts in languages.iter().map(|language| language.counts) {
            groups.push(by_weight(counts.iter())?);
        }
        for counts in languages.iter().filter_map(|language| language.development) {
            groups.push(by_weight(counts.iter())?);
        }
        let (training, development) = groups.split_at(languages.len());
        let training = training.concat();
        let symbols =
            FirstSymbols::with_more(options, &training, &development.concat(), &mut tokens, progress)?;
        drop(training);
        let limits = Limits::new(self.bpe.vocab_size, self.bpe.min_frequency, self.bpe.threads);
        limits.check(tokens.len())?;

        let (mut layout, lengths) = lay_out(languages.len(), &groups, &symbols, progress)?;
        drop(groups);
        let ratios: Option<Vec<f64>> = languages.iter().map(|language| language.ratio).collect();
        let has_development = lengths.len() > languages.len();
        let deciding = if has_development { languages.len() } else { 0 };
        let lengths = lengths[deciding..].to_vec();
        let selection = Selection::new(ratios.map_or(Need::Length, Need::Ratio), self.variant, lengths);
        let mut run = Run { tokens, limits, selection, deciding, by_language: vec![0; languages.len()] };
        let n_initial = run.tokens.len();
        let (merges, stop) = self.merge(&mut run, &mut layout, progress)?;
        progress.report(Stage::Merge, run.tokens.len() as u64, run.limits.vocab_size as u64)?;

        let (initial, current) = (run.selection.initial(), run.selection.current());
        let trained = languages.iter().enumerate().map(|(at, language)| TrainedLanguage {
            name: language.name.to_owned(),
            merges: run.by_language[at],
            initial_tokens: initial[at],
            tokens: current[at],
        });
        let languages = trained.collect();
        let (tokens, special_tokens) = run.tokens.into_parts();
        let dropped = symbols.into_dropped();
        let merges = TrainedMerges { tokens, special_tokens, merges, n_initial, stop, dropped };
        Ok(ParityTrained { merges, languages })
    }

    /// Makes merges until the vocabulary is full or no pair is left.
    fn merge(
        &self,
        run: &mut Run,
        layout: &mut SymbolLayout,
        progress: &mut Progress,
    ) -> Result<(Vec<Merge>, MergeStop)> {
        let Run { tokens, limits, selection, deciding, by_language } = run;
        let n_languages = by_language.len();
        let n_merges = (limits.vocab_size - tokens.len()).min(self.max_merges.unwrap_or(usize::MAX));
        let pairs = &mut LanguagePairs::new(n_languages, self.global_merges > 0, limits);
        let mut merges: Vec<Merge> = Vec::new();
        let mut is_any_reused = false;
        let stop = loop {
            let is_full = self.max_merges.is_some_and(|most| merges.len() >= most);
            if is_full || tokens.len() >= limits.vocab_size {
                break MergeStop::VocabFull;
            }
            progress.tick(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;
            if merges.len() == self.global_merges {
                pairs.drop_total();
            }
            let language = match merges.len() < self.global_merges {
                true => pairs.total(),
                false => match selection.next() {
                    Some(language) if selection.is_exhausted(language) => continue,
                    Some(language) => language,
                    None => break why_none(pairs, layout, tokens, limits, progress)?,
                },
            };
            let left = n_merges.saturating_sub(merges.len());
            let best = loop {
                match pairs.best(tokens, language) {
                    None if !pairs.holds_all(language) => {
                        pairs.refill(layout, tokens, limits, (Some(language), left), progress)?;
                    }
                    best => break best,
                }
            };
            let Some(best) = best else {
                if language == pairs.total() {
                    break why_none(pairs, layout, tokens, limits, progress)?;
                }
                selection.exhaust(language);
                continue;
            };
            let bytes = tokens.joined(best.left, best.right);
            let is_reused = tokens.find(&bytes).is_some_and(|id| tokens.length(id) > 0);
            let length = tokens.length(best.left) + tokens.length(best.right);
            let id = tokens.intern(&bytes);
            tokens.set_length(id, length);
            let merged = |group: usize, by: u64| {
                if let Some(language) = group.checked_sub(*deciding).filter(|&at| at < n_languages) {
                    selection.shorten(language, by);
                }
            };
            let done = tokens.len() as u64;
            let mut tick = || progress.tick(Stage::Merge, done, limits.vocab_size as u64);
            pairs.merge(layout, tokens, best, id, merged, &mut tick)?;
            if is_reused {
                // Pairs of the token were counted already, so those of this merge are not new.
                is_any_reused = true;
                pairs.refill(layout, tokens, limits, (None, left), progress)?;
            }
            if let Some(n) = by_language.get_mut(language) {
                *n += 1;
            }
            merges.push(Merge { left: best.left, right: best.right, id, count: best.count });
        };
        Ok((if is_any_reused { last_of_each(merges) } else { merges }, stop))
    }

    /// Refuses languages and options that cannot be.
    fn check(&self, languages: &[Language<'_>]) -> Result<()> {
        let refuse = |option, value: String, reason: &str| {
            Err(Error::Option { option, value, reason: reason.to_owned() })
        };
        let Some(first) = languages.first() else {
            return refuse("languages", "0".to_owned(), "give at least one language");
        };
        for language in languages {
            if language.counts.pipeline() != first.counts.pipeline() {
                return mismatch(first.counts, language.counts);
            }
            if let Some(development) = language.development
                && development.pipeline() != first.counts.pipeline()
            {
                return mismatch(first.counts, development);
            }
            if language.development.is_some() != first.development.is_some() {
                return refuse(
                    "development",
                    language.name.to_owned(),
                    "give a development text for every language, or for none",
                );
            }
            if language.ratio.is_some() != first.ratio.is_some() {
                return refuse(
                    "ratios",
                    language.name.to_owned(),
                    "give a ratio for every language, or for none",
                );
            }
            if let Some(ratio) = language.ratio.filter(|ratio| !(ratio.is_finite() && *ratio > 0.0)) {
                return refuse("ratios", ratio.to_string(), "a ratio is more than 0, such as 1.5");
            }
        }
        if first.development.is_some() && first.ratio.is_some() {
            return refuse(
                "ratios",
                "given".to_owned(),
                "ratios and development texts exclude each other; give one of them",
            );
        }
        if let Variant::Window { size, alpha } = self.variant {
            if size == 0 {
                return refuse("window_size", "0".to_owned(), "it is a number of merges, such as 100");
            }
            if !(alpha.is_finite() && alpha > 0.0) {
                return refuse("alpha", alpha.to_string(), "it is more than 0, such as 2.0");
            }
        }
        let BpeTrainer { tie_break, byte_fallback, extend, .. } = &self.bpe;
        for (option, is_given) in [
            ("tie_break", *tie_break != TieBreak::HuggingFace),
            ("byte_fallback", *byte_fallback),
            ("extend", extend.is_some()),
        ] {
            if is_given {
                return refuse(option, "given".to_owned(), "parity-aware training has no such option");
            }
        }
        Ok(())
    }
}

/// The state of training.
struct Run {
    tokens: Tokens,
    limits: Limits,
    selection: Selection,
    /// The first group whose tokens decide which language is selected.
    deciding: usize,
    /// How many merges were made for each language.
    by_language: Vec<usize>,
}

fn mismatch<T>(left: &WordCounts, right: &WordCounts) -> Result<T> {
    Err(Error::PipelineMismatch { left: left.pipeline().to_json()?, right: right.pipeline().to_json()? })
}

/// Writes the pieces of each group; returns also the symbols of each group. After the first
/// `n_languages` groups, pieces with an unknown symbol are left out, as in Hugging Face's trainer.
fn lay_out(
    n_languages: usize,
    groups: &[Vec<(&[u8], u64)>],
    symbols: &FirstSymbols,
    progress: &mut Progress,
) -> Result<(SymbolLayout, Vec<u64>)> {
    let mut layout = SymbolLayout::with_capacity(&groups.concat())?;
    let mut lengths = Vec::new();
    let mut run: Vec<TokenId> = Vec::new();
    for (group, pieces) in groups.iter().enumerate() {
        layout.begin_group();
        let mut length = 0u64;
        for (at, &(piece, weight)) in pieces.iter().enumerate() {
            if at % (1 << 12) == 0 {
                progress.tick(Stage::Merge, 0, 0)?;
            }
            let mut is_known = true;
            symbols.for_each(piece, |id| match id {
                Some(id) => run.push(id),
                None => is_known = false,
            })?;
            if !is_known && group >= n_languages {
                run.clear();
                continue;
            }
            let more = (run.len() as u64).checked_mul(weight);
            let sum = more.and_then(|more| length.checked_add(more));
            length =
                sum.ok_or_else(|| Error::CountOverflow { what: "the symbols of a language".to_owned() })?;
            layout.push_run(&mut run, weight);
        }
        lengths.push(length);
    }
    Ok((layout.check()?, lengths))
}

/// Why no pair is left: there is none, or the most frequent is too rare.
fn why_none(
    pairs: &mut LanguagePairs,
    layout: &mut SymbolLayout,
    tokens: &Tokens,
    limits: &Limits,
    progress: &mut Progress,
) -> Result<MergeStop> {
    if limits.min_frequency <= 1 {
        return Ok(MergeStop::NoPairs);
    }
    Ok(match pairs.max_count(layout, tokens, limits, progress)? {
        0 => MergeStop::NoPairs,
        count => MergeStop::BelowMinFrequency { count },
    })
}
