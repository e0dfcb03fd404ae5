//! Valid and nearly valid tokenizer.json files of every kind, and texts of their own pieces: every
//! operation against the reference implementation or the whole call.
#![no_main]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use libfuzzer_sys::arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use sentitok::formats::tokenizer_json;
use sentitok::tokenizer::added_tokens::Specials;
use sentitok::tokenizer::stream_encoder::StreamEncoder;
use sentitok::{EncodeOptions, StreamDecoder, TokenId, Tokenizer};
use serde_json::{Value, json};

/// What pieces and texts consist of: case, accents, ligatures, white space, marks, parts of specials.
const UNITS: [&str; 24] = [
    "a", "b", "A", "é", "e\u{301}", "ﬁ", "İ", "中", "😀", "Ａ", " ", "  ", "\n", "\u{a0}", "▁", ".", "'",
    "<", ">", "s", "##", "1", "Ġ", "</w>",
];

#[derive(Debug)]
struct Case {
    file: Value,
    texts: Vec<Vec<u8>>,
}

fn some(u: &mut Unstructured, most: usize) -> Result<String> {
    let n = u.int_in_range(1..=most)?;
    (0..n).map(|_| u.choose(&UNITS).copied()).collect()
}

fn model(u: &mut Unstructured, pieces: &mut Vec<String>) -> Result<Value> {
    let n = u.int_in_range(1..=12)?;
    for _ in 0..n {
        // A piece made of others merges more often than any.
        let piece = if pieces.len() > 1 && u.ratio(1, 2)? {
            format!("{}{}", u.choose(pieces)?, u.choose(pieces)?)
        } else {
            some(u, 2)?
        };
        if !pieces.contains(&piece) && piece.len() < 40 {
            pieces.push(piece);
        }
    }
    let kind = u.int_in_range(0..=4)?;
    let affix = |u: &mut Unstructured| u.choose(&[None, None, Some("##"), Some("a"), Some("</w>")]).copied();
    let (prefix, suffix) = (affix(u)?, affix(u)?);
    let unk = u.choose(&[None, Some("<unk>"), Some("a")])?;
    let fallback = u.ratio(1, 4)?;
    if let Some(prefix) = prefix.filter(|_| kind < 3) {
        for at in 0..pieces.len() {
            pieces.push(format!("{prefix}{}", pieces[at]));
        }
    }
    if kind == 1 {
        // Of bytes, as GPT-2 does: all bytes, and the pieces spelled by their characters.
        let plain = |byte: u32| matches!(byte, 33..=126 | 161..=172 | 174..=255);
        let mut next = 256;
        let chars: Vec<char> = (0..256)
            .map(|byte| {
                let code = if plain(byte) { byte } else { next };
                next += u32::from(!plain(byte));
                char::from_u32(code).expect("a character")
            })
            .collect();
        let spelled = pieces.iter().map(|piece| piece.bytes().map(|byte| chars[usize::from(byte)]).collect());
        *pieces = chars.iter().map(|c| c.to_string()).chain(spelled.collect::<Vec<String>>()).collect();
    }
    if fallback && kind != 1 {
        pieces.extend((0..=255).map(|byte| format!("<0x{byte:02X}>")));
    }
    pieces.extend(unk.map(str::to_owned));
    let mut seen = BTreeSet::new();
    pieces.retain(|piece| seen.insert(piece.clone()));
    let vocab: serde_json::Map<String, Value> =
        pieces.iter().enumerate().map(|(id, piece)| (piece.clone(), json!(id))).collect();
    Ok(match kind {
        0 | 1 => {
            let mut merges = Vec::new();
            for _ in 0..u.int_in_range(0..=10)? {
                let (left, right) = (u.choose(pieces)?, u.choose(pieces)?);
                let inner = right.strip_prefix(prefix.unwrap_or("")).unwrap_or(right);
                if seen.contains(&format!("{left}{inner}")) || u.ratio(1, 20)? {
                    merges.push(json!([left, right]));
                }
            }
            json!({"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": unk,
                "continuing_subword_prefix": prefix, "end_of_word_suffix": suffix, "byte_fallback": fallback,
                "fuse_unk": bool::arbitrary(u)?, "ignore_merges": bool::arbitrary(u)?})
        }
        2 => json!({"type": "WordPiece", "vocab": vocab, "unk_token": unk.unwrap_or("<unk>"),
            "continuing_subword_prefix": prefix.unwrap_or(""),
            "max_input_chars_per_word": u.choose(&[100, 1, 2, 3])?}),
        3 => json!({"type": "WordLevel", "vocab": vocab, "unk_token": unk.unwrap_or("<unk>")}),
        _ => {
            // Few distinct scores: ties.
            let scores = [0.0, -0.5, -1.0, -1.0, -2.0, -0.1, -30.0];
            let mut rows = Vec::new();
            for piece in pieces.iter() {
                rows.push(json!([piece, u.choose(&scores)?]));
            }
            json!({"type": "Unigram", "vocab": rows, "byte_fallback": fallback,
                "unk_id": u.choose(&[Some(0), None, Some(1)])?})
        }
    })
}

fn list(u: &mut Unstructured, key: &str, one: fn(&mut Unstructured) -> Result<Value>) -> Result<Value> {
    let mut steps = Vec::new();
    for _ in 0..u.int_in_range(0..=3)? {
        steps.push(one(u)?);
    }
    Ok(match steps.len() {
        0 => Value::Null,
        1 => steps.remove(0),
        _ => json!({"type": "Sequence", key: steps}),
    })
}

fn normalizer(u: &mut Unstructured) -> Result<Value> {
    let content = *u.choose(&["▁", "", "b", " "])?;
    Ok(match u.int_in_range(0..=7)? {
        0 => json!({"type": "Prepend", "prepend": u.choose(&["▁", "x", " "])?}),
        1 => json!({"type": "Replace", "pattern": {"String": u.choose(&[" ", "a", "ab", "▁"])?},
            "content": content}),
        2 => json!({"type": "Replace", "pattern": {"Regex": u.choose(&[" +", "[ab]", r"\s", "a|ab"])?},
            "content": content}),
        3 => json!({"type": "Strip", "strip_left": bool::arbitrary(u)?, "strip_right": bool::arbitrary(u)?}),
        4 => json!({"type": u.choose(&["NFC", "NFD", "NFKC", "NFKD"])?}),
        5 => json!({"type": u.choose(&["Lowercase", "StripAccents", "Nmt"])?}),
        _ => json!({"type": "BertNormalizer", "clean_text": bool::arbitrary(u)?,
            "handle_chinese_chars": bool::arbitrary(u)?, "strip_accents": Option::<bool>::arbitrary(u)?,
            "lowercase": bool::arbitrary(u)?}),
    })
}

fn splitter(u: &mut Unstructured) -> Result<Value> {
    let behavior =
        u.choose(&["MergedWithPrevious", "MergedWithNext", "Isolated", "Removed", "Contiguous"])?;
    Ok(match u.int_in_range(0..=8)? {
        0 => json!({"type": u.choose(&["Whitespace", "WhitespaceSplit", "BertPreTokenizer"])?}),
        1 => json!({"type": "Digits", "individual_digits": bool::arbitrary(u)?}),
        2 => json!({"type": "Punctuation", "behavior": behavior}),
        3 => json!({"type": "CharDelimiterSplit", "delimiter": u.choose(&[" ", "a", "."])?}),
        4 => json!({"type": "Split", "behavior": behavior, "invert": bool::arbitrary(u)?,
            "pattern": {"Regex": u.choose(&[r"\s+", "[ab]+", r"\w+|[^\w\s]+", r"\s+(?!\S)|\s+"])?}}),
        5 => json!({"type": "Split", "behavior": behavior, "invert": bool::arbitrary(u)?,
            "pattern": {"String": u.choose(&[" ", "a", "."])?}}),
        6 => json!({"type": "ByteLevel", "add_prefix_space": bool::arbitrary(u)?, "trim_offsets": true,
            "use_regex": bool::arbitrary(u)?}),
        _ => json!({"type": "Metaspace", "replacement": "▁", "split": bool::arbitrary(u)?,
            "prepend_scheme": u.choose(&["always", "first", "never"])?}),
    })
}

fn decoder(u: &mut Unstructured) -> Result<Value> {
    Ok(match u.int_in_range(0..=6)? {
        0 => json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}),
        1 => json!({"type": u.choose(&["ByteFallback", "Fuse"])?}),
        2 => json!({"type": "Strip", "content": " ", "start": u.int_in_range(0..=2)?, "stop": 0}),
        3 => json!({"type": "WordPiece", "prefix": "##", "cleanup": bool::arbitrary(u)?}),
        4 => json!({"type": "BPEDecoder", "suffix": u.choose(&["</w>", "b"])?}),
        5 => json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}),
        _ => json!({"type": "Metaspace", "replacement": "▁", "split": true,
            "prepend_scheme": u.choose(&["always", "first", "never"])?}),
    })
}

impl Arbitrary<'_> for Case {
    fn arbitrary(u: &mut Unstructured) -> Result<Self> {
        let mut pieces = Vec::new();
        let model = model(u, &mut pieces)?;
        let mut added = Vec::new();
        for _ in 0..u.int_in_range(0..=4)? {
            let content = if u.ratio(1, 3)? { u.choose(&pieces)?.clone() } else { some(u, 3)? };
            let known = pieces.iter().position(|piece| *piece == content);
            added.push(json!({"id": known.unwrap_or(pieces.len() + added.len()), "content": content,
                "special": bool::arbitrary(u)?, "single_word": u.ratio(1, 4)?, "lstrip": u.ratio(1, 4)?,
                "rstrip": u.ratio(1, 4)?, "normalized": bool::arbitrary(u)?}));
            pieces.push(content);
        }
        let special = u.choose(&pieces)?.clone();
        let id = pieces.iter().position(|piece| *piece == special);
        let template = json!({"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": special, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 1}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {&special: {"id": special, "ids": [id], "tokens": [special]}}});
        let post_processor = if u.ratio(1, 3)? { template } else { Value::Null };
        let file = json!({
            "version": "1.0", "added_tokens": added, "model": model, "post_processor": post_processor,
            "normalizer": list(u, "normalizers", normalizer)?,
            "pre_tokenizer": list(u, "pretokenizers", splitter)?,
            "decoder": list(u, "decoders", decoder)?,
        });
        let mut texts = Vec::new();
        for _ in 0..u.int_in_range(1..=3)? {
            let mut text = Vec::new();
            for _ in 0..u.int_in_range(0..=10)? {
                match u.int_in_range(0..=9)? {
                    0 => text.push(u8::arbitrary(u)?),
                    1..=4 => text.extend(u.choose(&pieces)?.as_bytes()),
                    _ => text.extend(u.choose(&UNITS)?.as_bytes()),
                }
            }
            texts.push(text);
        }
        Ok(Self { file, texts })
    }
}

/// In parts of three characters, the ids of the text.
fn streamed(tokenizer: &Arc<Tokenizer>, text: &str, options: EncodeOptions) -> Option<Vec<TokenId>> {
    let mut encoder = StreamEncoder::new(tokenizer.clone(), options).ok()?;
    let mut ids = Vec::new();
    let chars: Vec<char> = text.chars().collect();
    for part in chars.chunks(3) {
        ids.extend(encoder.push(&part.iter().collect::<String>()).ok()?);
    }
    ids.extend(encoder.finish().ok()?);
    Some(ids)
}

fn check_text(
    tokenizer: &Arc<Tokenizer>,
    again: &[Tokenizer],
    text: &[u8],
    specials: Specials,
) -> Option<Vec<TokenId>> {
    let options = EncodeOptions { specials, spans: true, ..EncodeOptions::default() };
    let encoding = tokenizer.encode(text, options).ok();
    let slow = tokenizer.encode_reference(text, options).ok();
    assert_eq!(
        encoding.as_ref().map(|one| (&one.ids, &one.spans, &one.type_ids)),
        slow.as_ref().map(|one| (&one.ids, &one.spans, &one.type_ids))
    );
    let options = EncodeOptions { specials, ..EncodeOptions::default() };
    for other in again {
        assert_eq!(
            other.encode(text, options).ok().map(|one| one.ids),
            encoding.as_ref().map(|one| one.ids.clone())
        );
    }
    let encoding = encoding?;
    let ids = encoding.ids;
    assert_eq!(tokenizer.count(text, options).ok(), Some(ids.len()));
    assert_eq!(tokenizer.fits(text, ids.len(), options).ok(), Some(true));
    for [start, end] in encoding.spans.into_iter().flatten() {
        assert!(start <= end && end as usize <= text.len());
    }
    if let Ok(text) = std::str::from_utf8(text) {
        if let Some(parts) = streamed(tokenizer, text, options) {
            assert_eq!(parts, ids);
        }
        let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        if let Ok(before) = tokenizer.encode(&text[..half], options) {
            let more = tokenizer.encode_more(&text[..half], &before.ids, text, options);
            assert_eq!(more.ok(), Some(ids.clone()));
        }
    }
    let whole = tokenizer.decode(&ids, false).expect("ids of ours are known");
    let mut decoder = StreamDecoder::new(tokenizer.clone(), false);
    let mut parts = String::new();
    for &id in &ids {
        let _ = write!(parts, "{}", decoder.push(id).expect("ids of ours are known"));
    }
    parts.push_str(&decoder.finish().expect("ids of ours are known"));
    assert_eq!(parts, whole);
    if tokenizer.is_lossless() {
        let plain = EncodeOptions { add_special_tokens: false, ..options };
        let ids = tokenizer.encode(text, plain).expect("nothing is unknown").ids;
        assert_eq!(tokenizer.decode_bytes(&ids, false).expect("ids of ours are known"), text);
    }
    Some(ids)
}

fuzz_target!(|case: Case| {
    let Ok(parts) = tokenizer_json::read(&case.file.to_string()) else { return };
    let Ok(tokenizer) = Tokenizer::new(parts) else { return };
    let tokenizer = Arc::new(tokenizer);
    let bytes = tokenizer.to_bytes().expect("a tokenizer that was read can be written");
    let own = Tokenizer::from_bytes(&bytes).expect("a file that was written can be read");
    assert_eq!(own.to_bytes().ok(), Some(bytes));
    let mut again = vec![own];
    if let Ok(written) = tokenizer_json::write(&tokenizer) {
        again.push(Tokenizer::from_bytes(&written).expect("a file that was written can be read"));
    }
    let mut all = Vec::new();
    for text in &case.texts {
        for specials in [Specials::None, Specials::All] {
            let ids = check_text(&tokenizer, &again, text, specials);
            all.extend(ids.map(|ids| (text, specials, ids)));
        }
    }
    let plain = EncodeOptions { add_special_tokens: false, ..EncodeOptions::default() };
    if let Ok(found) = tokenizer.doctor() {
        for text in &case.texts {
            let ids = tokenizer.encode(&text[..], plain).map(|one| one.ids).unwrap_or_default();
            assert!(ids.iter().all(|id| !found.unreachable.contains(id)));
        }
    }
    let Some((_, _, keep)) = all.first() else { return };
    let Ok((pruned, new_ids)) = tokenizer.prune(keep) else { return };
    // A word that WordPiece does not know may become known when a longer token is removed.
    let unk = match &**tokenizer.model() {
        sentitok::Model::WordPiece(model) => tokenizer.token_to_id(model.options().unk_token.as_bytes()),
        _ => None,
    };
    for (text, specials, ids) in &all {
        let options = EncodeOptions { specials: *specials, ..EncodeOptions::default() };
        let kept: Option<Vec<TokenId>> = ids.iter().map(|&id| new_ids[id as usize]).collect();
        if let Some(kept) = kept.filter(|_| unk.is_none_or(|unk| !ids.contains(&unk))) {
            assert_eq!(pruned.encode(&text[..], options).ok().map(|one| one.ids), Some(kept));
        }
    }
});
