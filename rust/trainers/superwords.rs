//! `SuperwordTraining`: adds superwords to a BPE vocabulary, tokens that cross the pieces of the
//! pre-tokenizer.
//!
//! Training has two phases. The first is BPE on counted pieces. The second merges tokens inside
//! *stretches*, runs of pieces that may be joined ([`SuperwordPieces`]):
//!
//! - **SuperBPE** (Liu et al. 2025, arXiv 2503.13423): from a vocabulary of a given size on, BPE
//!   continues on the stretches, which are encoded with the merges made so far.
//! - **BoundlessBPE** (Schmidt et al. 2025, arXiv 2504.00178) in two phases (Tanner et al. 2026,
//!   arXiv 2604.05192): a supermerge joins neighbouring pieces that are one token each. Merges and
//!   supermerges compete by count, a merge first among equals.
//!
//! The phases of BoundlessBPE may follow each other, because supermerges do not change the counts of
//! merges, and the count of a supermerge is never greater than that of the merges that made its
//! parts. So where both are sorted by count, the parts of a supermerge come before it.
//!
//! **Memory.** The second phase sees no documents, but counted *segments* of token ids. A pair of
//! tokens never occurs more often than the two first-phase tokens at its middle are next to each
//! other, because a superword has one merge (a pair whose text is a token already is passed over),
//! so it is always made of the same first-phase tokens. So a stretch may be cut between two
//! neighbours that are rarer than every merge that will be made: segments are short, and equal ones
//! are counted together. One reading of the text adds up how often neighbours occur, in a table of
//! hashed sums, which are never too small; the next counts the segments. If training then needs a
//! rarer pair than was kept, segments are counted again with a lower limit. The result does not
//! depend on where stretches are cut.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::corpus::word_counts::{CountOptions, Keys, WordCounts, count_keys, counted};
use crate::corpus::{Document, FileOptions, FileSource, Source};
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::models::bpe::{Bpe, BpeOptions, END, MergeOrder, WordEncoder, WordScratch, has_several_words};
use crate::pipeline::{Pieces, Pipeline};
use crate::pre_tokenizer::{PreTokenizer, SuperwordPieces, is_word};
use crate::progress::Progress;
use crate::text::Piece;
use crate::text::simd::prefetch;
use crate::trainers::bpe::{BpeTrainer, Merge, MergeStop, TrainedMerges, Unit};
use crate::trainers::checkpoint::{Checkpoint, Options, Purpose};
use crate::trainers::pair_merging::by_count::ByCount;
use crate::trainers::pair_merging::layout::SymbolLayout;
use crate::trainers::pair_merging::merger::{self, Reuse, SavedMerges};
use crate::trainers::pair_merging::pairs::{Candidate, Pairs};
use crate::trainers::pair_merging::tokens::Tokens;
use crate::trainers::pair_merging::window::{Next, Order};
use crate::trainers::pair_merging::word_shape::{WordRules, WordShape};
use crate::trainers::pair_merging::{Limits, by_weight};
use crate::trainers::replay::{self, Replay, Written};
use crate::vocab::{TokenId, Vocab};

/// How superwords are trained.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SuperwordOptions {
    /// When superwords begin.
    pub begin: SuperwordBegin,
    /// The maximum number of words of a token; a word is a run of bytes other than spaces and line feeds.
    pub max_words: usize,
    /// The marks that no superword crosses.
    pub rule: SuperwordRule,
    /// Pairs of tokens that occur less often are not joined.
    pub min_frequency: u64,
}

impl SuperwordOptions {
    /// Options with the defaults of SuperBPE: at most four words, none across sentences.
    pub fn new(begin: SuperwordBegin) -> Self {
        Self { begin, max_words: 4, rule: SuperwordRule::Sentences, min_frequency: 0 }
    }
}

/// When superwords begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperwordBegin {
    /// When the vocabulary has this many tokens (SuperBPE).
    At(usize),
    /// When they occur more often than what else could be merged (BoundlessBPE).
    Auto,
}

/// Marks that no superword crosses, in addition to marks that the pre-tokenizer isolates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperwordRule {
    /// A full stop or a colon that a space follows.
    Sentences,
    /// Line feeds only.
    Lines,
    /// Nothing.
    Documents,
}

/// How many sums of neighbours are kept.
const N_SUMS: usize = 1 << 21;
/// Neighbours are kept as if this many times the wanted merges were made.
const SPARE: usize = 3;
/// By how much the limit is lowered when segments are counted again.
const LOWER: u64 = 8;
/// How many sums are read together, so that waiting for memory overlaps.
const GATHER: usize = 32;
/// The bytes of an id in the key of a segment.
const ID_BYTES: usize = 3;

/// Calls a function with runs of ids of a document, and how often each counts.
type Runs<'a> =
    Box<dyn FnMut(Document<'_>, &mut dyn FnMut(&[TokenId], u64) -> Result<()>) -> Result<()> + Send + 'a>;

/// The second phase of training.
pub struct SuperwordTraining {
    options: SuperwordOptions,
    pieces: SuperwordPieces,
    pipeline: Pipeline,
    vocab_size: usize,
    rules: WordRules,
    order: crate::trainers::bpe::TieBreak,
    threads: Option<usize>,
    first: TrainedMerges,
    words: WordEncoder,
    shapes: Vec<WordShape>,
    sums: Vec<AtomicU64>,
    /// Neighbours with a lower sum are cut.
    least: u64,
    /// Which sums reach it, as bits.
    kept: Vec<u64>,
    /// Whether documents are stretches with their counts.
    of_counts: bool,
    /// The number of tokens before the first superword.
    begins_at: usize,
}

impl SuperwordTraining {
    /// The pipeline of a tokenizer with superwords by a rule, and the family of its pieces.
    ///
    /// # Errors
    /// [`Error::Option`] for a pre-tokenizer without stretches.
    pub fn pipeline_of(pipeline: &Pipeline, rule: SuperwordRule) -> Result<(Pipeline, SuperwordPieces)> {
        let Some(pieces) = SuperwordPieces::of(&pipeline.pre_tokenizer) else {
            return Err(Error::Option {
                option: "pre_tokenizer",
                value: pipeline.pre_tokenizer.name().to_owned(),
                reason:
                    "superwords are trained with gpt2, cl100k, cl100k-1digit, o200k or tekken; pass one of \
                         these"
                        .to_owned(),
            });
        };
        let pieces = if rule == SuperwordRule::Documents { pieces.across_lines() } else { pieces };
        let pre_tokenizer = PreTokenizer::Superwords { pieces };
        Ok((Pipeline { normalizer: pipeline.normalizer.clone(), pre_tokenizer }, pieces))
    }

    /// The trainer of the first phase.
    ///
    /// # Errors
    /// [`Error::Option`] for options that do not go with superwords.
    pub fn first_phase(options: &SuperwordOptions, trainer: &BpeTrainer) -> Result<BpeTrainer> {
        let refuse = |option: &'static str, value: String, reason: String| {
            Err(Error::Option { option, value, reason })
        };
        if trainer.unit != Unit::Bytes {
            return refuse("unit", "chars".into(), "superwords are trained over bytes; leave it out".into());
        }
        let affixes = [&trainer.continuing_subword_prefix, &trainer.end_of_word_suffix];
        if let Some(affix) = affixes.into_iter().flatten().find(|affix| !affix.is_empty()) {
            let reason = "superwords have no prefix or suffix; leave it out".to_owned();
            return refuse("continuing_subword_prefix or end_of_word_suffix", format!("{affix:?}"), reason);
        }
        if trainer.vocab_size >= 1 << (8 * ID_BYTES) {
            let reason = "with superwords there are at most 16,777,215 tokens; ask for fewer".to_owned();
            return refuse("vocab_size", trainer.vocab_size.to_string(), reason);
        }
        if options.max_words < 2 {
            let reason = "a superword has at least 2 words; pass 2 or more".to_owned();
            return refuse("max_superword_words", options.max_words.to_string(), reason);
        }
        if options.begin == SuperwordBegin::Auto && options.rule == SuperwordRule::Documents {
            let reason = "auto joins words only, none of which holds a line feed; leave the rule out, or pass \
                          superwords_from";
            return refuse("superword_rule", "documents".into(), reason.into());
        }
        let mut first = trainer.clone();
        if let SuperwordBegin::At(size) = options.begin {
            if size >= trainer.vocab_size {
                let most = trainer.vocab_size;
                let reason = format!(
                    "the vocabulary has {most} tokens, so none would be a superword; pass less than {most}, or \
                     a greater vocab_size"
                );
                return refuse("superwords_from", size.to_string(), reason);
            }
            if let Some(base) = trainer.extend.as_ref().filter(|base| size < base.tokens.len()) {
                let n = base.tokens.len();
                let reason = format!("the base has {n} tokens, which all stay; pass {n} or more");
                return refuse("superwords_from", size.to_string(), reason);
            }
            // A trainer adds a token to a base at least; `new` takes it away.
            first.vocab_size = size.max(trainer.extend.as_ref().map_or(0, |base| base.tokens.len() + 1));
        }
        if options.begin == SuperwordBegin::Auto
            && trainer
                .extend
                .iter()
                .any(|base| base.tokens.iter().flatten().any(|token| has_several_words(token)))
        {
            let reason = "the base has superwords already, and only a fixed size adds to them; pass \
                          superwords_from, the size of the base";
            return refuse("superwords", "auto".into(), reason.into());
        }
        Ok(first)
    }

    /// A checkpoint of both phases in the folder `dir`.
    ///
    /// # Errors
    /// See [`Checkpoint`].
    pub fn checkpoint(
        options: &SuperwordOptions,
        trainer: &BpeTrainer,
        dir: &Path,
        resume: bool,
    ) -> Result<Checkpoint> {
        let SuperwordOptions { begin, max_words, rule, min_frequency } = options;
        let (auto, from) = match begin {
            SuperwordBegin::Auto => (Some("auto"), None),
            SuperwordBegin::At(size) => (None, Some(*size)),
        };
        let named: Options<'_> = vec![
            ("superwords", &auto),
            ("superwords_from", &from),
            ("max_superword_words", max_words),
            ("superword_rule", rule),
            ("min_count", min_frequency),
        ];
        trainer.checkpoint_of("BPE with superwords", &named, dir, resume)
    }

    /// The second phase, after the first gave `first` on pieces of `pipeline`.
    ///
    /// # Errors
    /// As [`SuperwordTraining::pipeline_of`]; [`Error::Format`] for a base whose merges are not its
    /// tokens.
    pub fn new(
        options: SuperwordOptions,
        trainer: &BpeTrainer,
        pipeline: &Pipeline,
        mut first: TrainedMerges,
    ) -> Result<Self> {
        if let SuperwordBegin::At(size) = options.begin {
            let n = size.max(first.n_initial).min(first.tokens.len());
            first.tokens.truncate(n);
            first.merges.retain(|merge| (merge.id as usize) < n);
        }
        let (pipeline, pieces) = Self::pipeline_of(pipeline, options.rule)?;
        let tokens = first.tokens.iter().enumerate();
        let tokens = tokens.filter_map(|(id, token)| Some((token.as_deref()?, id as TokenId))).collect();
        let base = trainer.extend.iter().flat_map(|base| &base.merges);
        let merges = base.map(|&(left, right, _)| (left, right));
        let merges = merges.chain(first.merges.iter().map(|merge| (merge.left, merge.right))).collect();
        let bpe = Bpe::new(Vocab::from_pairs(tokens)?, MergeOrder::List(merges), BpeOptions::default())?;
        let max_length =
            trainer.max_token_length.map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX));
        let rules = WordRules {
            max_words: u32::try_from(options.max_words).unwrap_or(u32::MAX),
            max_length,
            crosses_stops: options.rule != SuperwordRule::Sentences,
        };
        let shapes = first.tokens.iter().map(|token| WordShape::of(token.as_deref().unwrap_or_default()));
        Ok(Self {
            pieces,
            pipeline,
            vocab_size: trainer.vocab_size,
            rules,
            order: trainer.tie_break,
            threads: trainer.threads,
            words: WordEncoder::new(bpe),
            shapes: shapes.collect(),
            sums: (0..N_SUMS).map(|_| AtomicU64::new(0)).collect(),
            least: 0,
            kept: vec![0; N_SUMS / 64],
            of_counts: false,
            begins_at: first.tokens.len(),
            first,
            options,
        })
    }

    /// Reads the source of [`SuperwordCounts`](crate::corpus::word_counts::SuperwordCounts) instead of text.
    #[must_use]
    pub fn of_counts(mut self) -> Self {
        self.of_counts = true;
        self
    }

    /// The pipeline of the tokenizer.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The number of tokens before the first superword.
    pub fn begins_at(&self) -> usize {
        self.begins_at
    }

    /// Reads the text and adds up how often tokens are adjacent.
    ///
    /// # Errors
    /// As [`crate::corpus::word_counts::count`].
    pub fn add_neighbours(
        &mut self,
        source: &mut dyn Source,
        options: &CountOptions,
        progress: &mut Progress,
    ) -> Result<()> {
        self.read_neighbours(source, options, progress)?;
        self.keep(self.first_least());
        Ok(())
    }

    /// The same for files, and saves the sums of what was read to a checkpoint.
    ///
    /// # Errors
    /// As [`crate::corpus::word_counts::count`]; see [`Checkpoint`].
    pub fn add_neighbours_of_files<P: AsRef<Path>>(
        &mut self,
        paths: &[P],
        files: FileOptions,
        options: &CountOptions,
        checkpoint: &mut Checkpoint,
        progress: &mut Progress,
    ) -> Result<()> {
        let mut count = |source: &mut FileSource, options: &CountOptions, progress: &mut Progress| {
            self.read_neighbours(source, options, progress)?;
            self.take_sums()
        };
        let counting = (&self.pipeline, options);
        let sums = checkpoint.count_for(Purpose::Neighbours, paths, files, counting, &mut count, progress)?;
        for (cell, sum) in sums.iter() {
            let cell = cell.iter().fold(0, |cell, &byte| cell << 8 | usize::from(byte));
            let Some(cell) = self.sums.get(cell) else {
                return Err(Error::Internal("a sum too many".to_owned()));
            };
            cell.store(sum, Ordering::Relaxed);
        }
        self.keep(self.first_least());
        Ok(())
    }

    /// Keeps the neighbours of the segments that a checkpoint saved, where the first were too frequent.
    pub fn resume_from(&mut self, checkpoint: &Checkpoint) {
        if let Some(least) = checkpoint.least() {
            self.keep(least);
        }
    }

    fn read_neighbours(
        &self,
        source: &mut dyn Source,
        options: &CountOptions,
        progress: &mut Progress,
    ) -> Result<()> {
        let keys = || -> Keys<'_> {
            let mut runs = self.runs();
            Box::new(move |document, _| {
                runs(document, &mut |ids, n| {
                    self.add_pairs(ids, n);
                    Ok(())
                })
            })
        };
        count_keys(source, &self.pipeline, options, &keys, progress).map(drop)
    }

    /// The sums by cell, which begin again at 0.
    fn take_sums(&self) -> Result<WordCounts> {
        let sums = self.sums.iter().enumerate();
        let sums = sums.map(|(cell, sum)| ((cell as u32).to_be_bytes(), sum.swap(0, Ordering::Relaxed)));
        WordCounts::from_pairs(self.pipeline.clone(), sums)
    }

    /// Reads the text and counts the segments to merge.
    ///
    /// # Errors
    /// As [`crate::corpus::word_counts::count`].
    pub fn count_segments(
        &self,
        source: &mut dyn Source,
        options: &CountOptions,
        progress: &mut Progress,
    ) -> Result<WordCounts> {
        let keys = || -> Keys<'_> {
            let mut runs = self.runs();
            let mut key = Vec::new();
            Box::new(move |document, f| runs(document, &mut |ids, n| self.segments(ids, n, &mut key, f)))
        };
        count_keys(source, &self.pipeline, options, &keys, progress)
    }

    /// The same for files, and saves the segments of what was read to a checkpoint.
    ///
    /// # Errors
    /// As [`crate::corpus::word_counts::count`]; see [`Checkpoint`].
    pub fn count_segments_of_files<P: AsRef<Path>>(
        &self,
        paths: &[P],
        files: FileOptions,
        options: &CountOptions,
        checkpoint: &mut Checkpoint,
        progress: &mut Progress,
    ) -> Result<WordCounts> {
        checkpoint.begin_segments(self.least);
        let mut count = |source: &mut FileSource, options: &CountOptions, progress: &mut Progress| {
            self.count_segments(source, options, progress)
        };
        let counting = (&self.pipeline, options);
        checkpoint.count_for(Purpose::Segments, paths, files, counting, &mut count, progress)
    }

    /// Merges counted segments. Returns `None` if rarer segments are needed; then count them again.
    ///
    /// # Errors
    /// As [`BpeTrainer::train`].
    pub fn merge(&mut self, segments: &WordCounts, progress: &mut Progress) -> Result<Option<TrainedMerges>> {
        self.run(segments, None, progress)
    }

    /// Merges as [`SuperwordTraining::merge`] does, and saves the superwords made so far to `checkpoint`, from
    /// which merging continues if they were saved before.
    ///
    /// # Errors
    /// As [`BpeTrainer::train`]; see [`Checkpoint`].
    pub fn merge_resumable(
        &mut self,
        segments: &WordCounts,
        checkpoint: &mut Checkpoint,
        progress: &mut Progress,
    ) -> Result<Option<TrainedMerges>> {
        checkpoint.begin_segments(self.least);
        checkpoint.begin_superwords(segments)?;
        self.run(segments, Some(checkpoint), progress)
    }

    fn run(
        &mut self,
        segments: &WordCounts,
        checkpoint: Option<&mut Checkpoint>,
        progress: &mut Progress,
    ) -> Result<Option<TrainedMerges>> {
        let n_first = self.first.tokens.len();
        let budget = self.vocab_size.saturating_sub(self.first.n_initial);
        let mut tokens = Tokens::by_words(self.rules);
        for (id, token) in self.first.tokens.iter().enumerate() {
            tokens.push_base(token.as_deref())?;
            if let Some(token) = token {
                tokens.set_length(id as TokenId, token.len());
            }
        }
        let saved = SavedMerges::before(checkpoint, n_first);
        let done = (tokens.len() + saved.merges.len()) as u64;
        let mut layout = layout_of(segments, &saved.merges, (done, self.vocab_size as u64), progress)?;
        replay::add_tokens(&mut tokens, &saved.merges)?;
        let order = ByCount::new(self.order);
        let (merges, stop) = match self.options.begin {
            SuperwordBegin::At(_) => {
                let limits = Limits::new(self.vocab_size, self.least, self.threads);
                merger::run(order, &mut layout, &mut tokens, &limits, Reuse::Skip, saved, progress)?
            }
            SuperwordBegin::Auto => {
                let limits = Limits::new(n_first + budget, self.least, self.threads);
                let mut race = Race::new(&self.first, budget);
                race.n_super = saved.merges.len();
                let order = Competing { order, race };
                merger::run(order, &mut layout, &mut tokens, &limits, Reuse::Skip, saved, progress)?
            }
        };
        let is_full = matches!(stop, MergeStop::VocabFull | MergeStop::NoGain);
        if !is_full && self.least > self.floor() {
            self.keep((self.least / LOWER).max(self.floor()));
            return Ok(None);
        }
        let kept = match self.options.begin {
            SuperwordBegin::At(_) => n_first,
            SuperwordBegin::Auto => {
                // Merges fill what supermerges leave.
                (self.first.n_initial + budget.saturating_sub(merges.len())).min(n_first)
            }
        };
        self.begins_at = kept;
        Ok(Some(self.joined(kept, &tokens, &merges, if is_full { MergeStop::VocabFull } else { stop })))
    }

    /// The first `kept` tokens of the first phase, and the superwords.
    fn joined(&self, kept: usize, tokens: &Tokens, merges: &[Merge], stop: MergeStop) -> TrainedMerges {
        let first = &self.first;
        let shift = (first.tokens.len() - kept) as TokenId;
        let renamed = |id: TokenId| if id as usize >= first.tokens.len() { id - shift } else { id };
        let mut joined = first.clone();
        joined.tokens.truncate(kept);
        let new = first.tokens.len()..tokens.len();
        joined.tokens.extend(new.map(|id| Some(tokens.bytes(id as TokenId).to_vec())));
        let n_merges = first.merges.iter().take_while(|merge| (merge.id as usize) < kept).count();
        joined.merges.truncate(n_merges);
        joined.merges.extend(merges.iter().map(|merge| Merge {
            left: renamed(merge.left),
            right: renamed(merge.right),
            id: renamed(merge.id),
            count: merge.count,
        }));
        joined.stop = stop;
        joined
    }

    /// Calls a function with runs of ids of a document, in which neighbours may join.
    fn runs(&self) -> Runs<'_> {
        let mut words = WordScratch::default();
        let mut ids = Vec::new();
        let mut run = Vec::new();
        let joins_whole = self.options.begin == SuperwordBegin::Auto;
        // Pieces are joined here where each must be one token.
        let pre_tokenizer = match joins_whole {
            true => self.pieces.pre_tokenizer(),
            false => self.pipeline.pre_tokenizer.clone(),
        };
        // Counted stretches are normalized.
        let normalizer = self.pipeline.normalizer.clone().filter(|_| !self.of_counts);
        let pipeline = Pipeline { normalizer, pre_tokenizer };
        Box::new(move |document, f| {
            let (document, n) = if self.of_counts { counted(document)? } else { (document, 1) };
            let mut visit = |text: &[u8], pieces: &[Piece], begins: bool| -> Result<()> {
                // A text that begins is not joined with the one before.
                if begins {
                    f(&run, n)?;
                    run.clear();
                }
                ids.clear();
                pieces.iter().for_each(|&piece| self.words.push(&mut words, text, piece, &mut ids));
                self.words.flush(&mut words, text, &mut ids);
                words.check()?;
                let of_pieces = ids.split(|&id| id == END);
                if !joins_whole {
                    return of_pieces.take(pieces.len()).try_for_each(|ids| f(ids, n));
                }
                for (piece, of_piece) in pieces.iter().zip(of_pieces) {
                    let bytes = &text[piece.range()];
                    let id = match of_piece {
                        &[id] if self.pieces.joins(bytes) && is_word(bytes) => Some(id),
                        _ => None,
                    };
                    if id.is_none() {
                        f(&run, n)?;
                        run.clear();
                    }
                    id.map_or(Ok(()), |id| memory::push(&mut run, id))?;
                }
                Ok(())
            };
            let whole = |bytes: &[u8]| [Piece { start: 0, end: bytes.len() as u32 }];
            match document {
                Document::Text(stretch) if self.of_counts && !joins_whole => {
                    visit(stretch.as_bytes(), &whole(stretch.as_bytes()), true)?;
                }
                _ => document.for_each_chunk(&pipeline, |pieces| match pieces {
                    Pieces::Chunk(text, pieces) => {
                        visit(text, pieces, pieces.first().is_some_and(|it| it.start == 0))
                    }
                    // Bytes that are not text are alone. Other pieces end between characters.
                    Pieces::One(piece) if std::str::from_utf8(piece).is_err() => visit(piece, &[], true),
                    Pieces::One(piece) => visit(piece, &whole(piece), false),
                })?,
            }
            f(&run, n)?;
            run.clear();
            Ok(())
        })
    }

    /// Adds to the sums of neighbours, which stay at their maximum.
    fn add_pairs(&self, ids: &[TokenId], n: u64) {
        let mut cells = [0; GATHER];
        let mut pairs = ids.windows(2);
        loop {
            let mut n_cells = 0;
            for pair in pairs.by_ref().take(GATHER) {
                let cell = cell(pair[0], pair[1]);
                prefetch(&self.sums[cell]);
                cells[n_cells] = cell;
                n_cells += usize::from(self.may_join(pair[0], pair[1]));
            }
            for &cell in &cells[..n_cells] {
                if self.of_counts {
                    let sum = |sum: u64| Some(sum.saturating_add(n));
                    // It never fails: there is always a sum.
                    let _ = self.sums[cell].fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
                } else {
                    self.sums[cell].fetch_add(n, Ordering::Relaxed);
                }
            }
            if pairs.len() == 0 {
                return;
            }
        }
    }

    /// Whether neighbours of this sum are kept together. Some that may not join are, too, which only makes
    /// segments longer.
    #[inline]
    fn is_kept(&self, cell: usize) -> bool {
        self.kept[cell / 64] >> (cell % 64) & 1 != 0
    }

    /// Keeps neighbours with at least this sum together.
    fn keep(&mut self, least: u64) {
        self.least = least;
        self.kept.fill(0);
        for (cell, sum) in self.sums.iter().enumerate() {
            self.kept[cell / 64] |= u64::from(sum.load(Ordering::Relaxed) >= least) << (cell % 64);
        }
    }

    fn may_join(&self, left: TokenId, right: TokenId) -> bool {
        self.rules.join(self.shapes[left as usize], self.shapes[right as usize])
    }

    /// Calls `f` with the keys of the segments of a run.
    fn segments(
        &self,
        ids: &[TokenId],
        n: u64,
        key: &mut Vec<u8>,
        f: &mut dyn FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<()> {
        key.clear();
        let mut finish = |key: &mut Vec<u8>| {
            if key.len() > ID_BYTES {
                f(key, n)?;
            }
            key.clear();
            Ok(())
        };
        for (at, &id) in ids.iter().enumerate() {
            if at.checked_sub(1).is_some_and(|before| !self.is_kept(cell(ids[before], id))) {
                finish(key)?;
            }
            key.extend_from_slice(&id.to_be_bytes()[4 - ID_BYTES..]);
        }
        finish(key)
    }

    /// The least count that any merge may have.
    fn floor(&self) -> u64 {
        self.options.min_frequency.max(1)
    }

    /// The least sum of neighbours that are kept at first.
    fn first_least(&self) -> u64 {
        let mut sums: Vec<u64> = self.sums.iter().map(|sum| sum.load(Ordering::Relaxed)).collect();
        // Only the greatest are sorted; no further ones are asked for.
        let most = SPARE * self.vocab_size;
        if most < sums.len() {
            sums.select_nth_unstable_by(most, |a, b| b.cmp(a));
            sums.truncate(most + 1);
        }
        sums.sort_unstable_by(|a, b| b.cmp(a));
        let at = |n: usize| sums.get(n).copied().unwrap_or(0);
        let least = match self.options.begin {
            SuperwordBegin::At(size) => at(SPARE * (self.vocab_size - size)),
            SuperwordBegin::Auto => {
                let budget = self.vocab_size.saturating_sub(self.first.n_initial);
                let mut race = Race::new(&self.first, budget);
                while race.wins(at(race.n_super)) {
                    race.n_super += 1;
                }
                at(SPARE * race.n_super)
            }
        };
        least.max(self.floor())
    }
}

/// The place of a pair of neighbours among the sums.
#[inline]
fn cell(left: TokenId, right: TokenId) -> usize {
    let key = u64::from(left) << 32 | u64::from(right);
    // Fibonacci hashing: the high bits of the product are mixed best.
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - N_SUMS.trailing_zeros())) as usize
}

/// The segments as runs of symbols, after these merges.
fn layout_of(
    segments: &WordCounts,
    merges: &[Merge],
    at: (u64, u64),
    progress: &mut Progress,
) -> Result<SymbolLayout> {
    let pieces = by_weight(segments.iter())?;
    let ids = |key: &[u8], f: &mut dyn FnMut(Option<TokenId>)| -> Result<()> {
        let id = |id: &[u8]| id.iter().fold(0, |id, &byte| id << 8 | TokenId::from(byte));
        key.chunks_exact(ID_BYTES).for_each(|key| f(Some(id(key))));
        Ok(())
    };
    if !merges.is_empty() {
        let mut replay = Replay::new(false);
        replay.add(merges);
        let written = Written { pieces: &pieces, symbols: ids, unknown_breaks: true };
        return replay.layout(written, |_, _, _, _| (), at, progress);
    }
    let n: usize = pieces.iter().map(|(key, _)| key.len() / ID_BYTES + 1).sum();
    let mut layout = SymbolLayout::with_slots(n)?;
    let mut run: Vec<TokenId> = Vec::new();
    for (key, weight) in pieces {
        run.make_room(key.len() / ID_BYTES)?;
        ids(key, &mut |id| run.extend(id))?;
        layout.push_run(&mut run, weight);
    }
    layout.check()
}

/// Merges and supermerges, the more frequent first, until there are enough of both.
struct Race {
    /// The counts of the first phase's tokens, in order.
    counts: Vec<u64>,
    budget: usize,
    n_regular: usize,
    n_super: usize,
}

impl Race {
    fn new(first: &TrainedMerges, budget: usize) -> Self {
        let mut counts = Vec::with_capacity(first.merges.len());
        for merge in &first.merges {
            // A merge that makes a token again adds none.
            if merge.id as usize == first.n_initial + counts.len() {
                counts.push(merge.count);
            }
        }
        Self { counts, budget, n_regular: 0, n_super: 0 }
    }

    /// Whether a supermerge of this count is made; merges that come before it are.
    fn wins(&mut self, count: u64) -> bool {
        while self.n_regular + self.n_super < self.budget
            && self.counts.get(self.n_regular).is_some_and(|&regular| regular >= count)
        {
            self.n_regular += 1;
        }
        count > 0 && self.n_regular + self.n_super < self.budget
    }
}

/// Supermerges by count, until merges take the rest of the vocabulary.
struct Competing {
    order: ByCount,
    race: Race,
}

impl Order for Competing {
    fn fill(&mut self, tokens: &Tokens, pairs: &Pairs) -> Result<()> {
        self.order.fill(tokens, pairs)
    }

    fn push(&mut self, tokens: &Tokens, pair: Candidate) -> Result<()> {
        self.order.push(tokens, pair)
    }

    fn best(&mut self, tokens: &Tokens, pairs: &mut Pairs, least: u64, is_last: bool) -> Next {
        match self.order.best(tokens, pairs, least, is_last) {
            Next::Pair(pair) if !self.race.wins(pair.count) => Next::NoGain,
            next => next,
        }
    }

    fn remove(&mut self, tokens: &Tokens, pair: Candidate) {
        self.order.remove(tokens, pair);
    }

    fn merged(&mut self, _pair: (TokenId, TokenId), _id: TokenId, _by: u64) {
        self.race.n_super += 1;
    }
}
