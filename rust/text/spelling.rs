//! Suggests the name that was probably meant by an unknown one.

/// The known name most similar to `name`, if one is similar at all.
///
/// Ignores case, `-`, `_` and `.`. A known name is similar if it is a prefix of `name`
/// (`cl100k_base` suggests `cl100k`; the longest prefix counts), or if at most a third of its
/// letters differ.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let asked = letters(name);
    if asked.is_empty() || asked.len() > MOST_LETTERS {
        return None;
    }
    let scored = known.into_iter().filter_map(|known| {
        let candidate = letters(known);
        let distance = distance(&asked, &candidate);
        let is_start = candidate.len() >= 3 && asked.starts_with(&candidate);
        let is_near = 3 * distance <= asked.len().min(candidate.len());
        // The lowest rank is best: first by edit distance, then by the longest prefix.
        let rank = if is_near { (0, distance) } else { (1, asked.len() - candidate.len().min(asked.len())) };
        (is_near || is_start).then_some((rank, known))
    });
    scored.min_by_key(|(rank, _)| *rank).map(|(_, known)| known)
}

/// ` did you mean NAME?` to append to a message about an unknown name; empty if no name is similar.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |nearest| format!(" (did you mean {nearest}?)"))
}

/// Whether a name begins with `beginning`, which contains only lower-case letters and digits.
pub(crate) fn begins_with(name: &str, beginning: &str) -> bool {
    let asked = letters(name);
    asked.len() <= MOST_LETTERS && beginning.chars().eq(asked.into_iter().take(beginning.len()))
}

/// Longer names are not compared, because they are not typing errors.
const MOST_LETTERS: usize = 64;

fn letters(name: &str) -> Vec<char> {
    let counts = |c: &char| !matches!(c, '-' | '_' | '.' | ' ');
    name.chars().flat_map(char::to_lowercase).filter(counts).take(MOST_LETTERS + 1).collect()
}

/// The edit distance: how many letters must be changed, inserted or removed.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pre_tokenizer::PreTokenizer;

    #[test]
    fn similar_names_are_suggested() {
        for (name, expected) in [
            ("cl100k_base", Some("cl100k")),
            ("o200k_base", Some("o200k")),
            ("o200k_harmony", Some("o200k")),
            ("r50k_base", Some("r50k")),
            ("p50k_base", None),
            ("p50k", Some("r50k")),
            ("gpt-2", Some("gpt2")),
            ("GPT2", Some("gpt2")),
            ("gpt2-medium", Some("gpt2")),
            ("bert-base-uncased", Some("bert")),
            ("whitespaces", Some("whitespace")),
            ("whitspace_split", Some("whitespace-split")),
            ("metaspce", Some("metaspace")),
            ("byte", Some("bytes")),
            ("zzz", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(nearest(name, PreTokenizer::names()), expected, "{name}");
        }
        assert_eq!(nearest(&"gpt2".repeat(1000), PreTokenizer::names()), None);
        assert_eq!(did_you_mean("gpt-2", ["gpt2"]), " (did you mean gpt2?)");
        assert_eq!(did_you_mean("x", ["gpt2"]), "");
    }

    #[test]
    fn edit_distances() {
        let of = |a, b| distance(&letters(a), &letters(b));
        assert_eq!((of("", "abc"), of("abc", "abc"), of("kitten", "sitting")), (3, 0, 3));
    }
}
