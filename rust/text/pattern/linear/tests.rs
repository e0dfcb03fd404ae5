//! All ways to search find the same matches, and none reads a text without bound.

use proptest::prelude::*;

use super::*;

/// The matches found with or without counting; `None` if the search gives up.
fn matches(
    linear: &Linear,
    text: &str,
    free: usize,
    budget: Option<&StepBudget>,
) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    linear.dfas.with_caches(|caches| {
        let mut search = Search::new(&linear.dfas, caches, text, budget);
        search.free = free;
        let done = search.run(&mut |range| -> Result<(), ()> {
            found.push(range);
            Ok(())
        });
        matches!(done, Ok(Ok(true))).then_some(())
    })?;
    Some(found)
}

proptest! {
    #[test]
    fn anchored_searches_agree_with_one_search(
        pattern in r"(\\A|\\z|\(\?m\)\^|\(\?m\)\$| \{2,\}|[a-cé中]|\\w|\\s|[^\\w\\s]|\.|b\*|\||[a-b]\+|[é中]\{1,3\}|\(a\|bc\)\?){1,6}",
        text in "[ab cé中\n\r.]{0,40}",
    ) {
        let Ok(linear) = Linear::new(&pattern) else { return Ok(()) };
        let whole = matches(&unaware_of_edges(&pattern), &text, 0, Some(&StepBudget::of(1 << 20)));
        prop_assert_eq!(matches(&linear, &text, usize::MAX, None), whole.clone(), "{}", pattern);
        if linear.dfas.firsts.get().is_some_and(|firsts| !firsts.are_in(&text)) {
            prop_assert_eq!(whole, Some(vec![]), "{}", pattern);
        }
    }
}

/// The same pattern without the shortcut for the ends of a text.
fn unaware_of_edges(pattern: &str) -> Linear {
    let mut linear = Linear::new(pattern).unwrap();
    Arc::get_mut(&mut linear.dfas).unwrap().at_edges = false;
    linear
}

proptest! {
    #[test]
    fn search_at_edges_agrees_with_search_at_all_positions(
        first in "(\\\\A)?(a|b\\*|a\\*\\?|[ab]\\+|\\[\\^ \\]\\+é|\\(a\\|ab\\)|)",
        last in "(\\[a \\]\\+|b\\*|b\\*\\?|é|\\(b\\|ab\\)|\\.\\*a|)\\\\z",
        order in any::<bool>(),
        text in "[ab é]{0,9}",
    ) {
        let pattern = if order { format!(r"\A{first}|{last}") } else { format!(r"{last}|\A{first}") };
        let Ok(linear) = Linear::new(&pattern) else { return Ok(()) };
        prop_assert!(linear.dfas.at_edges, "{}", pattern);
        let expected = matches(&unaware_of_edges(&pattern), &text, 0, Some(&StepBudget::of(1 << 20)));
        prop_assert_eq!(matches(&linear, &text, usize::MAX, None), expected.clone(), "{} {}", pattern, text);
        prop_assert_eq!(matches(&linear, &text, 0, Some(&StepBudget::of(1 << 20))), expected, "{}", pattern);
    }
}

#[test]
fn two_common_first_bytes_are_searched_together() {
    for (pattern, text, expected) in [
        (" {2,}", "a b  c   d ", vec![3..5, 6..9]),
        ("ab|abc", "aabcab", vec![1..3, 4..6]),
        ("(?m)a$", "ab a\nba", vec![3..4, 6..7]),
        ("é+", "éab\u{ea}éé", vec![0..2, 6..10]),
        ("aa", "aaaaa", vec![0..2, 2..4]),
    ] {
        let linear = Linear::new(pattern).unwrap();
        assert_eq!(matches(&linear, text, usize::MAX, None), Some(expected), "{pattern}");
    }
}

/// Positions where searches fail do not make a text be read again and again.
#[test]
fn bytes_read_without_a_match_are_bounded() {
    let linear = Linear::new(r"[a-z]+@| ").unwrap();
    let text = "a".repeat(1 << 16) + " ";
    let free = FREE_LOOKS * text.len() + FREE_BYTES;
    let end = text.len();
    let found = matches(&linear, &text, free, None).unwrap();
    assert!(found.iter().eq([&(end - 1..end)]), "{found:?}");
}

#[test]
fn pool_keeps_one_cache_per_processor() {
    let linear = Linear::new(r"\w+|\s+").unwrap();
    let search = || {
        let mut n = 0;
        let done = linear.for_each_match("one two", &StepBudget::of(7), |_| -> Result<(), ()> {
            n += 1;
            Ok(())
        });
        assert!(matches!(done, Ok(Ok(()))));
        assert_eq!(n, 3);
    };
    // Threads that live for one call, in sequence and in parallel.
    for _ in 0..20 {
        std::thread::scope(|scope| drop(scope.spawn(search)));
    }
    std::thread::scope(|scope| (0..20).for_each(|_| drop(scope.spawn(search))));
    let Dfas { pool, owner, .. } = &*linear.dfas;
    let n = std::iter::from_fn(|| pool.take(*owner)).count();
    assert!((1..=parallel::default_threads()).contains(&n), "{n}");
}
