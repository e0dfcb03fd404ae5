//! Splitting: every form of every splitter against the scalar rule.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use sentitok::PreTokenizer;
use sentitok::text::simd::Level;

static PRE_TOKENIZERS: LazyLock<Vec<PreTokenizer>> =
    LazyLock::new(|| PreTokenizer::names().filter_map(|name| PreTokenizer::from_name(name).ok()).collect());

fn pieces(pre_tokenizer: &PreTokenizer, form: Option<Level>, text: &str) -> Vec<std::ops::Range<usize>> {
    let mut pieces = Vec::new();
    let result = pre_tokenizer.for_each_piece_by(form, text, |piece| {
        pieces.push(piece);
        Ok(())
    });
    result.expect("no pattern runs");
    pieces
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for pre_tokenizer in PRE_TOKENIZERS.iter() {
        let expected = pieces(pre_tokenizer, None, &text);
        for level in Level::all() {
            assert_eq!(pieces(pre_tokenizer, Some(level), &text), expected, "{}", pre_tokenizer.name());
        }
    }
});
