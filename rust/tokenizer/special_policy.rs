//! `SpecialPolicy`: the automata that find a call's added tokens, and a model that makes no other special token.
//!
//! Under `"all"` the model is as its file says, as in Hugging Face's library; otherwise it makes none of the
//! special tokens that the call does not take. The latest sets of names are kept. Nobody waits for them: where
//! the lock is taken, perhaps by a thread that a fork left behind, the set is built again.

use std::sync::{Arc, Mutex, OnceLock};

use super::safe_places::SafePlaces;
use super::workers::Workers;
use crate::error::{Error, Result};
use crate::models::{Model, Worker};
use crate::parallel;
use crate::pipeline::Pipeline;
use crate::token_lengths::TokenLengths;
use crate::tokenizer::added_tokens::{AddedTokens, Matchers, Named, Section, Side, Specials};
use crate::vocab::TokenId;

/// Sets of names that are kept ready.
const MOST_SETS: usize = 8;

/// The automata and the model of one choice.
#[derive(Clone)]
struct Choice {
    matchers: Arc<Matchers>,
    workers: Arc<Workers>,
    /// Made when a text is first continued.
    safe_places: Arc<OnceLock<SafePlaces>>,
}

impl Choice {
    fn new(matchers: Arc<Matchers>, workers: Arc<Workers>) -> Self {
        Self { matchers, workers, safe_places: Arc::default() }
    }
}

/// The choices of a tokenizer.
pub(super) struct SpecialPolicies {
    all: Choice,
    none: Choice,
    /// As `none`; where a text may be cut, depends on all special tokens.
    raise: Choice,
    /// The special tokens that are tokens of the model, too; ids ascending.
    excluded: Vec<TokenId>,
    /// The latest set first.
    sets: Mutex<Vec<(Named, Choice)>>,
}

impl SpecialPolicies {
    /// Makes ready what does not depend on names.
    pub(super) fn new(model: &Arc<Model>, added: &AddedTokens) -> Result<Self> {
        let is_excluded = |id: TokenId| model.vocab().bytes(id).is_some();
        let specials = added.tokens().iter().filter(|token| token.special);
        let excluded: Vec<TokenId> = specials.map(|token| token.id).filter(|&id| is_excluded(id)).collect();
        let without = model.without_specials(&excluded)?.map(Arc::new);
        // Calls that take turns between "all" and "none" find their caches both.
        let workers = Arc::new(Workers::new(model.clone(), 1 + usize::from(without.is_some())));
        let others = without.map_or_else(|| workers.clone(), |model| Arc::new(workers.beside(model)));
        let is_plain = |at: usize| !added.tokens()[at].special;
        // Where none is special, they are the same.
        let some_special = added.tokens().iter().any(|token| token.special);
        let (every, plain) = parallel::both(
            || added.matchers(|_| true).map(Arc::new),
            || some_special.then(|| added.matchers(is_plain).map(Arc::new)),
        );
        let every = every?;
        let plain = plain.unwrap_or_else(|| Ok(every.clone()))?;
        let raise = Choice::new(plain.clone(), others.clone());
        let (all, none) = (Choice::new(every, workers), Choice::new(plain, others));
        Ok(Self { all, none, raise, excluded, sets: Mutex::default() })
    }

    /// The model that makes no special token of text.
    pub(super) fn model_without_specials(&self) -> &Model {
        self.none.workers.model()
    }

    /// How far its ids reach.
    pub(super) fn token_lengths(&self) -> Option<&TokenLengths> {
        self.none.workers.token_lengths()
    }

    /// The policy for a call's choice.
    pub(super) fn policy<'a>(
        &self,
        added: &'a AddedTokens,
        specials: Specials<'_>,
    ) -> Result<SpecialPolicy<'a>> {
        let (choice, refused) = match specials {
            Specials::None => (self.none.clone(), None),
            Specials::All => (self.all.clone(), None),
            Specials::Raise => (self.raise.clone(), Some(self.all.matchers.clone())),
            Specials::Only(names) => (self.set(added, added.named(names)?)?, None),
        };
        Ok(SpecialPolicy { added, choice, refused, base: 0 })
    }

    fn set(&self, added: &AddedTokens, named: Named) -> Result<Choice> {
        if let Ok(mut sets) = self.sets.try_lock()
            && let Some(at) = sets.iter().position(|(known, _)| *known == named)
        {
            sets[..=at].rotate_right(1);
            return Ok(sets[0].1.clone());
        }
        let matching = added.matching(&named);
        let is_all = (0..added.tokens().len()).all(&matching);
        let is_none = named.iter().all(|&bits| bits == 0);
        if is_all || is_none {
            return Ok(if is_all { self.all.clone() } else { self.none.clone() });
        }
        let excluded: Vec<TokenId> = added
            .tokens()
            .iter()
            .enumerate()
            .filter(|&(at, token)| !matching(at) && self.excluded.binary_search(&token.id).is_ok())
            .map(|(_, token)| token.id)
            .collect();
        let workers = match excluded == self.excluded {
            true => self.none.workers.clone(),
            false => without_specials(&self.all.workers, &excluded)?,
        };
        let choice = Choice::new(Arc::new(added.matchers(&matching)?), workers);
        if let Ok(mut sets) = self.sets.try_lock() {
            sets.truncate(MOST_SETS - 1);
            sets.insert(0, (named.clone(), choice.clone()));
        }
        Ok(choice)
    }
}

/// The model with which text does not become one of `specials` by being its text.
fn without_specials(workers: &Arc<Workers>, specials: &[TokenId]) -> Result<Arc<Workers>> {
    Ok(match workers.model().without_specials(specials)? {
        Some(model) => Arc::new(workers.beside(Arc::new(model))),
        None => workers.clone(),
    })
}

/// Finds the added tokens that one call lets match, and lends workers that make
/// no other special token.
pub(super) struct SpecialPolicy<'a> {
    added: &'a AddedTokens,
    choice: Choice,
    /// Where a special token in the text is an error: what finds all of them.
    refused: Option<Arc<Matchers>>,
    /// Where the text that is cut begins in the text of the caller.
    base: usize,
}

impl<'a> SpecialPolicy<'a> {
    /// The same for a text that begins at `base`.
    pub(super) fn at(self, base: usize) -> Self {
        Self { base, ..self }
    }

    /// Where texts may be cut.
    ///
    /// # Errors
    /// As `Normalizer::normalize`.
    pub(super) fn safe_places(&self, pipeline: &Pipeline) -> Result<&SafePlaces> {
        if let Some(safe_places) = self.choice.safe_places.get() {
            return Ok(safe_places);
        }
        let (normalizer, tokens) = (pipeline.normalizer.as_ref(), self.added.tokens());
        // The matchers of refused tokens include those of matched ones.
        let matchers = self.refused.as_ref().unwrap_or(&self.choice.matchers);
        // Without a normalizer, both kinds of tokens are looked for in the same text.
        let (given, normalized): (&[Side], &[Side]) = match normalizer {
            None => (&[Side::Raw, Side::Normalized], &[]),
            Some(_) => (&[Side::Raw], &[Side::Normalized]),
        };
        let given = matchers.bounds(given, tokens, normalizer)?;
        let normalized = matchers.bounds(normalized, tokens, normalizer)?;
        let safe_places = SafePlaces::new(pipeline, self.model(), given, normalized);
        Ok(self.choice.safe_places.get_or_init(|| safe_places))
    }

    /// The model of the call.
    pub(super) fn model(&self) -> &Model {
        self.choice.workers.model()
    }

    /// How far the ids of the call reach.
    pub(super) fn token_lengths(&self) -> Option<&TokenLengths> {
        self.choice.workers.token_lengths()
    }

    /// Runs `work` with a worker for the model of the call.
    pub(super) fn lend<T>(&self, work: impl FnOnce(&mut Worker<'_>) -> T) -> T {
        self.choice.workers.lend(work)
    }

    /// Cuts a text at the tokens that match before normalization.
    pub(super) fn cut_raw<E: From<Error>>(
        &self,
        text: &str,
        each: impl FnMut(Section<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.cut(Side::Raw, text, each)
    }

    /// Cuts a normalized text at the tokens that match after normalization.
    pub(super) fn cut_normalized<E: From<Error>>(
        &self,
        text: &str,
        each: impl FnMut(Section<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.cut(Side::Normalized, text, each)
    }

    fn cut<E: From<Error>>(
        &self,
        side: Side,
        text: &str,
        each: impl FnMut(Section<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        let tokens = self.added.tokens();
        if let Some(all) = &self.refused {
            all.cut(side, tokens, text, |section| refuse(&section, self.base))?;
        }
        self.choice.matchers.cut(side, tokens, text, each)
    }

    /// Whether a normalized text can hold tokens at all.
    pub(super) fn cuts_normalized(&self) -> bool {
        let refuses = self.refused.as_ref().is_some_and(|all| all.cuts_normalized());
        refuses || self.choice.matchers.cuts_normalized()
    }
}

fn refuse(section: &Section<'_>, base: usize) -> Result<()> {
    match section.token {
        Some(token) if token.special => Err(Error::Encode(format!(
            "the text holds the special token {:?} at byte {}; pass `Specials::None` to take it as text, or \
             `Specials::All` to take it as a token",
            token.content,
            base + section.range.start
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::wordpiece::{WordPiece, WordPieceOptions};
    use crate::tokenizer::added_tokens::AddedToken;
    use crate::vocab::Vocab;

    fn policies(added: &AddedTokens) -> SpecialPolicies {
        let vocab = Vocab::from_tokens(["<s>", "[UNK]", "foo"]).unwrap();
        let model = WordPiece::new(vocab, WordPieceOptions::default()).unwrap();
        SpecialPolicies::new(&Arc::new(model.into()), added).unwrap()
    }

    fn sections(added: &AddedTokens, specials: Specials<'_>, text: &str) -> Vec<(String, Option<TokenId>)> {
        let mut out = Vec::new();
        policies(added)
            .policy(added, specials)
            .unwrap()
            .cut_raw(text, |section| {
                out.push((text[section.range].to_owned(), section.token.map(|token| token.id)));
                Ok::<(), Error>(())
            })
            .unwrap();
        out
    }

    #[test]
    fn rules_of_matching() {
        let plain = |content: &str, id| AddedToken { special: false, ..AddedToken::special(content, id) };
        let added = AddedTokens::new(
            vec![
                AddedToken::special("<s>", 0),
                AddedToken::special("<s>>", 1),
                AddedToken { single_word: true, ..plain("foo", 2) },
                AddedToken { lstrip: true, rstrip: true, ..plain("<m>", 3) },
            ],
            None,
        )
        .unwrap();
        let only = ["<s>>".to_owned()];
        for (name, specials, text, expected) in [
            ("text stays text", Specials::None, "<s>a", vec![("<s>a", None)]),
            ("longest", Specials::All, "<s>>a<s>", vec![("<s>>", Some(1)), ("a", None), ("<s>", Some(0))]),
            ("only", Specials::Only(&only), "<s><s>>", vec![("<s>", None), ("<s>>", Some(1))]),
            ("single word", Specials::None, "food foo", vec![("food ", None), ("foo", Some(2))]),
            ("strips", Specials::None, "a <m>\t b", vec![("a", None), (" <m>\t ", Some(3)), ("b", None)]),
            ("empty", Specials::All, "", vec![]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|(text, id)| (text.to_owned(), id)).collect();
            assert_eq!(sections(&added, specials, text), expected, "{name}");
        }
        let policies = policies(&added);
        assert!(policies.policy(&added, Specials::Only(&["foo".to_owned()])).is_err());
        assert!(
            policies
                .policy(&added, Specials::Raise)
                .unwrap()
                .cut_raw("x<s>", |_| Ok::<(), Error>(()))
                .is_err()
        );
    }

    #[test]
    fn sets_of_names_are_kept_the_last_few() {
        let tokens = (0..20).map(|id| AddedToken::special(format!("<{id}>"), id)).collect();
        let added = AddedTokens::new(tokens, None).unwrap();
        let policies = policies(&added);
        let find = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            policies.policy(&added, Specials::Only(&names)).unwrap().choice.matchers
        };
        let first = find(&["<1>", "<2>"]);
        assert!(Arc::ptr_eq(&first, &find(&["<2>", "<1>", "<2>"])), "order does not matter");
        for id in 0..MOST_SETS {
            find(&[&format!("<{id}>")]);
        }
        assert!(!Arc::ptr_eq(&first, &find(&["<1>", "<2>"])), "the oldest goes");
        assert!(policies.sets.lock().unwrap().len() <= MOST_SETS);
        let held = policies.sets.lock().unwrap();
        // Nobody waits while another thread holds the lock.
        drop(find(&["<3>", "<4>"]));
        drop(held);
        let every: Vec<String> = (0..20).map(|id| format!("<{id}>")).collect();
        let every: Vec<&str> = every.iter().map(String::as_str).collect();
        assert!(Arc::ptr_eq(&policies.all.matchers, &find(&every)));
        assert!(Arc::ptr_eq(&policies.none.matchers, &find(&[])));
    }

    #[test]
    fn the_models_of_a_tokenizer_share_the_places_of_their_workers() {
        let tokens = (0..3).map(|id| AddedToken::special(["<s>", "[UNK]", "foo"][id as usize], id)).collect();
        let added = AddedTokens::new(tokens, None).unwrap();
        let policies = policies(&added);
        let lend = |specials| policies.policy(&added, specials).unwrap().choice.workers;
        let sets = [["<s>".to_owned()], ["foo".to_owned()]];
        let all = [
            lend(Specials::All),
            lend(Specials::None),
            lend(Specials::Only(&sets[0])),
            lend(Specials::Only(&sets[1])),
        ];
        for (n, one) in all.iter().enumerate() {
            for other in &all[n + 1..] {
                assert!(!Arc::ptr_eq(one.model(), other.model()) && one.share_places_with(other));
            }
        }
        assert_eq!(all[0].n_places(), 2 * crate::parallel::default_threads());
        let plain = AddedTokens::new(vec![AddedToken::special("<new>", 3)], None).unwrap();
        let plain = self::policies(&plain);
        assert!(Arc::ptr_eq(&plain.all.workers, &plain.none.workers));
        assert_eq!(plain.all.workers.n_places(), crate::parallel::default_threads());
    }
}
