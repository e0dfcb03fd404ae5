//! Long pieces, which are merged in windows, against the naive loop.

use crate::With;
use proptest::prelude::*;
use sentitok::models::bpe::{Bpe, BpeOptions, MergeOrder, Unit};
use sentitok::{TokenId, Vocab};

/// Merges the lowest pair, leftmost first, until there is none.
fn naive(bpe: &Bpe, mut ids: Vec<TokenId>) -> Vec<TokenId> {
    let never = u32::MAX;
    loop {
        let merges = ids.windows(2).map(|pair| bpe.pairs().get(pair[0], pair[1])).enumerate();
        match merges.filter(|(_, merged)| merged.rank != never).min_by_key(|(at, merged)| (merged.rank, *at))
        {
            Some((at, merged)) => drop(ids.splice(at..at + 2, [merged.id])),
            None => return ids,
        }
    }
}

/// What a text is before merging: a symbol a character, or a byte.
fn symbols(bpe: &Bpe, text: &str) -> Vec<TokenId> {
    let id = |token: &[u8]| bpe.vocab().id(token);
    let mut ids = Vec::new();
    for c in text.chars() {
        let c = c.to_string();
        match id(c.as_bytes()).filter(|_| bpe.options().unit == Unit::Chars) {
            Some(id) => ids.push(id),
            None if bpe.options().unit == Unit::Bytes => {
                ids.extend(c.bytes().map(|byte| id(&[byte]).unwrap()))
            }
            None => ids.extend(c.bytes().map(|byte| id(format!("<0x{byte:02X}>").as_bytes()).unwrap())),
        }
    }
    ids
}

/// Which order of merging a model has, and over what.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Ranks,
    List,
    Chars,
    Scores,
}

/// A model whose merges join random tokens, in which long ones are likely.
fn model(kind: Kind, joins: &[(usize, usize)], most: usize) -> Bpe {
    let over_chars = matches!(kind, Kind::Chars | Kind::Scores);
    let mut tokens: Vec<Vec<u8>> = match over_chars {
        true => (0..=255).map(|byte| format!("<0x{byte:02X}>").into_bytes()).collect(),
        false => (0..=255).map(|byte| vec![byte]).collect(),
    };
    let first: Vec<usize> = if over_chars {
        tokens.extend(["a", "b", "é"].map(|c| c.as_bytes().to_vec()));
        vec![256, 257, 258]
    } else {
        vec![97, 98, 0xC3, 0xA9]
    };
    let mut merges = Vec::new();
    for &(left, right) in joins {
        let made = tokens.len() - 256;
        let pick = |i: usize| match i % 3 {
            0 => first[i / 3 % first.len()],
            // Late tokens are long.
            _ if made > 0 => tokens.len() - 1 - (i / 3) % made.min(6),
            _ => first[0],
        };
        let (left, right) = (pick(left), pick(right));
        let joined = [&tokens[left][..], &tokens[right][..]].concat();
        if joined.len() < most && !tokens.contains(&joined) {
            tokens.push(joined);
            merges.push((left as TokenId, right as TokenId));
        }
    }
    let n = tokens.len();
    let options = BpeOptions::default().with(|it| {
        it.unit = if over_chars { Unit::Chars } else { Unit::Bytes };
        it.byte_fallback = over_chars;
    });
    let order = match kind {
        Kind::Ranks => MergeOrder::Ranks,
        Kind::List | Kind::Chars => MergeOrder::List(merges),
        // Few scores, so that ties are many.
        Kind::Scores => MergeOrder::Scores((0..n).map(|id| -((id / 3) as f32)).collect()),
    };
    Bpe::new(Vocab::from_tokens(tokens).unwrap(), order, options).unwrap()
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Kind::Ranks, Kind::List, Kind::Chars, Kind::Scores])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 150 } else { 3000 }))]

    #[test]
    fn windows_give_what_the_naive_loop_gives(
        kind in kinds(),
        joins in prop::collection::vec((any::<usize>(), any::<usize>()), 0..40),
        most in prop::sample::select(vec![4_usize, 20, 300]),
        parts in prop::collection::vec(("[abéx]{0,6}", 1..40_usize), 1..12),
    ) {
        let bpe = model(kind, &joins, most);
        let text: String = parts.iter().map(|(part, n)| part.repeat(*n)).collect();
        if kind_is_whole(&bpe, &text) {
            return Ok(());
        }
        prop_assert_eq!(bpe.encode(text.as_bytes()), naive(&bpe, symbols(&bpe, &text)));
    }
}

/// Whether the text is one token without merging.
fn kind_is_whole(bpe: &Bpe, text: &str) -> bool {
    *bpe.order() == MergeOrder::Ranks && bpe.vocab().id(text.as_bytes()).is_some()
}

/// Tokens longer than any window, and borders that move when the end does.
#[test]
fn tokens_longer_than_windows() {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    tokens.extend((1..12).map(|n| vec![b'a'; 1 << n]));
    tokens.extend((1..10).map(|n| [&b"b"[..], &vec![b'a'; 1 << n]].concat()));
    tokens.extend((2..10).map(|n| [&vec![b'a'; (1 << n) - 1][..], b"c"].concat()));
    let bpe =
        Bpe::new(Vocab::from_tokens(tokens).unwrap(), MergeOrder::Ranks, BpeOptions::default()).unwrap();
    for text in [
        "a".repeat(5000),
        format!("{}c", "a".repeat(3001)),
        format!("b{}", "a".repeat(2999)),
        format!("{}cb", "a".repeat(1023)).repeat(3),
        "ab".repeat(700),
        "aab".repeat(500),
    ] {
        assert_eq!(bpe.encode(text.as_bytes()), naive(&bpe, symbols(&bpe, &text)), "{}", text.len());
    }
}
