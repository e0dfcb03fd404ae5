//! `align`: the smallest spans of a text at which two tokenizations of it can be divided.
//!
//! A tokenization can be divided before its token `k` at every position from the greatest end of the
//! tokens before to the least start of the rest. These intervals ascend, so the positions where
//! both tokenizations can be divided are found in linear time. A token that covers part of a
//! character has the span of the whole character, so no span divides one.

/// The span of a token in its text; `None` for a token without a place in it.
pub type TokenSpan = Option<(usize, usize)>;

/// A span of text and the tokens that write it: `start..end` of the text, of `a` and of `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aligned {
    /// The span of the text.
    pub text: (usize, usize),
    /// The tokens of the first tokenization.
    pub a: (usize, usize),
    /// The tokens of the second tokenization.
    pub b: (usize, usize),
}

/// Aligns two tokenizations of a text. In each span both have a token with text; a token that only
/// one has, such as a space, belongs to the next span, or to the last at the end. There are no
/// spans if one tokenization has no text.
///
/// ```
/// use sentitok::tokenizer::align::align;
///
/// // "unhappy new" as un/happy/new and as unh/appy/ /new.
/// let a = [Some((0, 2)), Some((2, 7)), Some((8, 11))];
/// let b = [Some((0, 3)), Some((3, 7)), Some((7, 8)), Some((8, 11))];
/// let spans = align(&a, &b);
/// assert_eq!((spans[0].text, spans[0].a, spans[0].b), ((0, 7), (0, 2), (0, 2)));
/// assert_eq!((spans[1].text, spans[1].a, spans[1].b), ((7, 11), (2, 3), (2, 4)));
/// ```
pub fn align(a: &[TokenSpan], b: &[TokenSpan]) -> Vec<Aligned> {
    let (cuts_a, cuts_b) = (cuts(a), cuts(b));
    let (texts_a, texts_b) = (texts_before(a), texts_before(b));
    let mut found: Vec<((usize, usize), (usize, usize))> = Vec::new();
    let (mut i, mut j) = (0, 0);
    let mut last = (0, 0);
    while let (Some(&at_a), Some(&at_b)) = (cuts_a.get(i), cuts_b.get(j)) {
        let meets = |one: Cut, other: Cut| one.from.max(other.from) <= one.to.min(other.to);
        if meets(at_a, at_b) && texts_a[at_a.token] > texts_a[last.0] && texts_b[at_b.token] > texts_b[last.1]
        {
            found.push((last, (at_a.token, at_b.token)));
            last = (at_a.token, at_b.token);
        }
        let next_a = cuts_a.get(i + 1).is_some_and(|&next| meets(next, at_b));
        let next_b = cuts_b.get(j + 1).is_some_and(|&next| meets(at_a, next));
        // Advances the one whose next cut still meets the other; otherwise the one that ends first.
        let (is_a, is_b) = match (next_a, next_b) {
            (true, _) => (true, false),
            (false, true) => (false, true),
            (false, false) => (at_a.to <= at_b.to, at_b.to <= at_a.to),
        };
        i += usize::from(is_a);
        j += usize::from(is_b);
    }
    if let Some((_, end)) = found.last_mut() {
        *end = (a.len(), b.len());
    }
    let aligned = |(start, end): ((usize, usize), (usize, usize))| {
        let (a_tokens, b_tokens) = (trimmed(a, start.0, end.0), trimmed(b, start.1, end.1));
        let spans = a[a_tokens.0..a_tokens.1].iter().chain(&b[b_tokens.0..b_tokens.1]).flatten();
        let text = spans.fold((usize::MAX, 0), |hull, span| (hull.0.min(span.0), hull.1.max(span.1)));
        Aligned { text, a: a_tokens, b: b_tokens }
    };
    found.into_iter().map(aligned).collect()
}

/// A place to divide a tokenization: before `token`, at any position of `from..=to`.
#[derive(Clone, Copy)]
struct Cut {
    token: usize,
    from: usize,
    to: usize,
}

/// The places where a tokenization can be divided.
fn cuts(spans: &[TokenSpan]) -> Vec<Cut> {
    let mut starts = vec![usize::MAX; spans.len() + 1];
    for (at, span) in spans.iter().enumerate().rev() {
        starts[at] = span.map_or(starts[at + 1], |span| span.0.min(starts[at + 1]));
    }
    let mut from = 0;
    let mut cuts = Vec::with_capacity(starts.len());
    for (token, to) in starts.into_iter().enumerate() {
        if let Some((_, end)) = token.checked_sub(1).and_then(|before| spans[before]) {
            from = from.max(end);
        }
        if from <= to {
            cuts.push(Cut { token, from, to });
        }
    }
    cuts
}

/// How many tokens before each have text.
fn texts_before(spans: &[TokenSpan]) -> Vec<usize> {
    let mut sum = 0;
    let mut before = vec![0];
    for span in spans {
        sum += usize::from(span.is_some_and(|(start, end)| start < end));
        before.push(sum);
    }
    before
}

/// A range of tokens without those at its ends that have no place in the text.
fn trimmed(spans: &[TokenSpan], start: usize, end: usize) -> (usize, usize) {
    let has_place = |at: &usize| spans[*at].is_some();
    let first = (start..end).find(has_place).unwrap_or(start);
    (first, (start..end).rfind(has_place).map_or(first, |last| last + 1))
}
