//! Unigram training by its definition: words, sets of strings, logarithms.
//!
//! No word is cut, no suffix sorted, nothing kept from step to step. Where two
//! numbers that decide are so close that rounding may order them, there is no
//! one right answer, and `train` gives none.

use std::collections::{BTreeMap, BTreeSet};

use sentitok::trainers::unigram::{Method, UnigramTrainer};

use super::Counts;

/// Numbers, and losses, closer than this may come out either way.
#[derive(Clone, Copy)]
struct Close {
    numbers: f64,
    losses: f64,
}

impl Close {
    /// SentencePiece's method rounds to 32 bits.
    fn of(method: Method) -> Self {
        match method {
            Method::Full => Self { numbers: 1e-7, losses: 1e-12 },
            Method::SentencePiece => Self { numbers: 1e-5, losses: 2e-6 },
        }
    }

    fn apart(self, a: f64, b: f64) -> Option<()> {
        ((a - b).abs() > self.numbers * (1.0 + a.abs())).then_some(())
    }
}

type Scores = BTreeMap<String, f64>;

/// The characters that the vocabulary must have, with counts.
pub(super) fn alphabet(options: &UnigramTrainer, counts: &Counts) -> BTreeMap<char, u64> {
    let mut seen: BTreeMap<char, u64> = BTreeMap::new();
    for (word, count) in counts {
        word.chars().for_each(|c| *seen.entry(c).or_default() += count);
    }
    let total: u64 = seen.values().sum();
    let mut by_count: Vec<(char, u64)> = seen.into_iter().collect();
    by_count.sort_by_key(|&(c, count)| (std::cmp::Reverse(count), c));
    let mut kept = BTreeMap::new();
    let mut covered = 0;
    for (c, count) in by_count {
        if covered as f64 >= options.pieces.character_coverage * total as f64 {
            break;
        }
        covered += count;
        kept.insert(c, count);
    }
    kept
}

/// Whether a string may be a piece.
fn may_be(options: &UnigramTrainer, piece: &str) -> bool {
    let chars: Vec<char> = piece.chars().collect();
    let mut before = None;
    for (at, &c) in chars.iter().enumerate() {
        let last = at + 1 == chars.len();
        let script = match c {
            '▁' if at == 0 => continue,
            '▁' if options.pieces.split_by_whitespace || last => return false,
            '▁' => continue,
            '0'..='9' if options.pieces.split_digits => return false,
            '0'..='9' if !options.pieces.split_by_number => None,
            '\u{301}' => before,
            'a'..='z' => Some("latin"),
            'а'..='я' => Some("cyrillic"),
            '中' | '文' | 'か' | 'ー' => Some("han"),
            _ => Some("common"),
        };
        if options.pieces.split_by_unicode_script && before.is_some() && script.is_some() && script != before
        {
            return false;
        }
        before = script;
    }
    (2..=options.pieces.max_piece_length).contains(&chars.len())
}

/// What follows a string, as far as the method can see.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Byte(u8),
    Char(char),
    /// The end of a word, each of which is another.
    End(String),
}

/// All characters, and the strings that different things follow.
fn seeds(options: &UnigramTrainer, counts: &Counts, alphabet: &BTreeMap<char, u64>) -> Scores {
    let mut found: BTreeMap<String, (u64, BTreeSet<Next>)> = BTreeMap::new();
    for (word, count) in counts {
        let chars: Vec<char> = word.chars().collect();
        for start in 0..chars.len() {
            for end in start + 2..=chars.len() {
                if chars[start..end].iter().any(|c| !alphabet.contains_key(c)) {
                    break;
                }
                let entry = found.entry(chars[start..end].iter().collect()).or_default();
                entry.0 += count;
                match (options.method, chars.get(end)) {
                    (Method::Full, Some(&next)) => drop(entry.1.insert(Next::Char(next))),
                    (Method::Full, None) => {
                        for n in 0..2 {
                            entry.1.insert(Next::End(format!("{n}{word}")));
                        }
                    }
                    (Method::SentencePiece, next) => {
                        // A space begins the next word; any other character becomes one that begins alike.
                        let next = next.filter(|c| alphabet.contains_key(c)).unwrap_or(&'▁');
                        entry.1.insert(Next::Byte(next.to_string().as_bytes()[0]));
                    }
                }
            }
        }
    }
    let mut seeds: Scores = alphabet.iter().map(|(c, &count)| (c.to_string(), count as f64)).collect();
    for (piece, (count, next)) in found {
        if next.len() > 1 && count > 1 && may_be(options, &piece) {
            let len = piece.chars().count() as f64;
            seeds.insert(piece, count as f64 * len);
        }
    }
    let sum: f64 = seeds.values().sum();
    seeds.values_mut().for_each(|score| *score = score.ln() - sum.ln());
    seeds
}

/// Every piece in a word as (start, end, text, score); a character that is not a
/// piece has no text.
fn places<'a>(word: &[char], scores: &'a Scores, but: &str) -> Vec<(usize, usize, Option<&'a str>, f64)> {
    let unknown = scores.values().copied().fold(f64::INFINITY, f64::min) - 10.0;
    let mut places = Vec::new();
    for start in 0..word.len() {
        for end in start + 1..=word.len() {
            let text: String = word[start..end].iter().collect();
            match scores.get_key_value(&text) {
                Some((text, score)) if text != but => places.push((start, end, Some(text.as_str()), *score)),
                _ if end == start + 1 => places.push((start, end, None, unknown)),
                _ => (),
            }
        }
    }
    places
}

fn log_add(a: f64, b: f64) -> f64 {
    let most = a.max(b);
    if most == f64::NEG_INFINITY { most } else { most + ((a - most).exp() + (b - most).exp()).ln() }
}

/// The characters that SentencePiece counts like its most frequent character:
/// `foreign` characters, and all without a piece.
struct First<'a> {
    text: &'a str,
    foreign: f64,
}

/// How often each piece is expected.
fn expected(counts: &Counts, scores: &Scores, first: Option<&First<'_>>) -> Scores {
    let mut expected: Scores = scores.keys().map(|text| (text.clone(), 0.0)).collect();
    if let Some(first) = first {
        expected.insert(first.text.to_owned(), first.foreign);
    }
    for (word, &count) in counts {
        let word: Vec<char> = word.chars().collect();
        let places = places(&word, scores, "");
        let mut before = vec![f64::NEG_INFINITY; word.len() + 1];
        let mut after = before.clone();
        (before[0], after[word.len()]) = (0.0, 0.0);
        for &(start, end, _, score) in &places {
            before[end] = log_add(before[end], before[start] + score);
        }
        for &(start, end, _, score) in places.iter().rev() {
            after[start] = log_add(after[start], after[end] + score);
        }
        for (start, end, text, score) in places {
            let text = text.or(first.map(|first| first.text));
            if let Some(sum) = text.and_then(|text| expected.get_mut(text)) {
                *sum += count as f64 * (before[start] + score + after[end] - after[0]).exp();
            }
        }
    }
    expected
}

fn digamma(x: f64) -> f64 {
    let (mut x, mut result) = (x, 0.0);
    while x < 7.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    let s = 1.0 / (x - 0.5).powi(2);
    let series = s / 24.0 - 7.0 / 960.0 * s.powi(2) + 31.0 / 8064.0 * s.powi(3) - 127.0 / 30720.0 * s.powi(4);
    result + (x - 0.5).ln() + series
}

/// The score and the pieces of one segmentation.
type Way<'a> = (f64, Vec<Option<&'a str>>);

/// The best segmentation and its score; `None` when another is as good.
fn best<'a>(
    word: &[char],
    scores: &'a Scores,
    but: &str,
    close: Close,
) -> Option<(Vec<Option<&'a str>>, f64)> {
    let places = places(word, scores, but);
    let mut ways: Vec<Vec<Way>> = vec![Vec::new(); word.len() + 1];
    ways[0].push((0.0, Vec::new()));
    for (start, end, text, score) in places {
        // Two are enough to know whether the best is alone.
        let longer: Vec<_> = ways[start]
            .iter()
            .map(|(sum, path)| (sum + score, path.iter().copied().chain([text]).collect()))
            .collect();
        ways[end].extend(longer);
        ways[end].sort_by(|a, b| b.0.total_cmp(&a.0));
        ways[end].truncate(2);
    }
    let mut last = ways.pop()?;
    if last.len() > 1 {
        close.apart(last[0].0, last[1].0)?;
    }
    let (score, path) = last.swap_remove(0);
    Some((path, score))
}

/// The kept pieces; `None` when rounding decides.
fn prune(
    counts: &Counts,
    scores: &Scores,
    first: Option<&First<'_>>,
    most: usize,
    close: Close,
) -> Option<Scores> {
    let mut found: BTreeMap<&str, f64> = first.iter().map(|first| (first.text, first.foreign)).collect();
    let stand_in = first.map(|first| first.text);
    for (word, &count) in counts {
        let word: Vec<char> = word.chars().collect();
        for text in best(&word, scores, "", close)?.0.into_iter().filter_map(|text| text.or(stand_in)) {
            *found.entry(text).or_default() += count as f64;
        }
    }
    found.retain(|_, count| *count > 0.0);
    let sum: f64 = found.values().sum();
    let mut kept = Scores::new();
    let mut losses = Vec::new();
    for (text, &count) in &found {
        let chars: Vec<char> = text.chars().collect();
        if chars.len() == 1 {
            kept.insert((*text).to_owned(), scores[*text]);
            continue;
        }
        let (parts, score) = best(&chars, scores, text, close)?;
        close.apart(score, scores[*text])?;
        if score > scores[*text] {
            continue;
        }
        let log_sum = (sum + count * (parts.len() as f64 - 1.0)).ln();
        let of =
            |part: &Option<&str>| part.or(stand_in).and_then(|part| found.get(part)).copied().unwrap_or(0.0);
        let then: f64 = parts.iter().map(|part| (of(part) + count).ln() - log_sum).sum();
        losses.push((count / sum * (count.ln() - sum.ln() - then), *text));
    }
    losses.sort_by(|a, b| b.0.total_cmp(&a.0));
    let room = most - kept.len();
    if let (Some(last), Some(next)) = (losses.get(room.wrapping_sub(1)), losses.get(room)) {
        ((last.0 - next.0).abs() > close.losses).then_some(())?;
    }
    kept.extend(losses.into_iter().take(room).map(|(_, text)| (text.to_owned(), scores[text])));
    Some(kept)
}

/// The pieces with scores, without special tokens.
pub(super) fn train(options: &UnigramTrainer, counts: &Counts) -> Option<Scores> {
    let (alphabet, close) = (alphabet(options, counts), Close::of(options.method));
    // A character outside the alphabet ends a word.
    let mut words = Counts::new();
    for (word, count) in counts {
        for part in word.split(|c| !alphabet.contains_key(&c)).filter(|part| !part.is_empty()) {
            *words.entry(part.to_owned()).or_default() += count;
        }
    }
    let mut scores = seeds(options, counts, &alphabet);
    let foreign: u64 = counts
        .iter()
        .map(|(word, count)| word.chars().filter(|c| !alphabet.contains_key(c)).count() as u64 * count)
        .sum();
    let mut by_count: Vec<(char, u64)> = alphabet.clone().into_iter().collect();
    by_count.sort_by_key(|&(c, count)| (std::cmp::Reverse(count), c));
    let chars: Vec<String> = by_count.iter().map(|seen| seen.0.to_string()).collect();
    let first = |scores: &Scores| match options.method {
        Method::Full => Some(None),
        Method::SentencePiece => {
            let text = chars.iter().find(|text| scores.contains_key(*text))?;
            Some(Some(First { text, foreign: foreign as f64 }))
        }
    };
    let desired = options.vocab_size + options.vocab_size / 10;
    loop {
        for _ in 0..options.n_sub_iterations {
            let mut expected = expected(&words, &scores, first(&scores)?.as_ref());
            for count in expected.values() {
                close.apart(*count, 0.5)?;
            }
            expected.retain(|_, count| *count >= 0.5);
            let sum: f64 = expected.values().sum();
            scores =
                expected.into_iter().map(|(text, count)| (text, digamma(count) - digamma(sum))).collect();
        }
        let most = desired.max((options.shrinking_factor * scores.len() as f64) as usize);
        scores = prune(&words, &scores, first(&scores)?.as_ref(), most, close)?;
        if scores.len() <= desired {
            break;
        }
    }
    finish(options, scores, &alphabet)
}

fn finish(options: &UnigramTrainer, scores: Scores, alphabet: &BTreeMap<char, u64>) -> Option<Scores> {
    let least = scores.values().copied().fold(f64::INFINITY, f64::min);
    let required = |text: &str| text.chars().count() == 1;
    let mut result: Scores = scores
        .iter()
        .filter(|(text, _)| required(text))
        .map(|(text, score)| (text.clone(), *score))
        .collect();
    let mut lost: Vec<(char, u64)> = alphabet
        .iter()
        .map(|(c, count)| (*c, *count))
        .filter(|(c, _)| !scores.contains_key(&c.to_string()))
        .collect();
    lost.sort_by_key(|&(c, count)| (std::cmp::Reverse(count), c));
    for (n, (c, _)) in lost.into_iter().enumerate() {
        result.insert(c.to_string(), least + 0.0001 * n as f64);
    }
    let mut others: Vec<(&String, f64)> =
        scores.iter().filter(|(text, _)| !required(text)).map(|(text, score)| (text, *score)).collect();
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    let room = options.vocab_size - options.pieces.special_tokens.len() - result.len();
    if let (Some(last), Some(next)) = (others.get(room.wrapping_sub(1)), others.get(room)) {
        Close::of(options.method).apart(last.1, next.1)?;
    }
    result.extend(others.into_iter().take(room).map(|(text, score)| (text.clone(), score)));
    Some(result)
}
