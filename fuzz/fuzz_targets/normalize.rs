//! Normalizing: the text alone, which vectors write, against the text with its alignment.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use sentitok::normalizer::Normalizer;

static NORMALIZERS: LazyLock<Vec<(&str, Normalizer)>> = LazyLock::new(|| {
    let one = |name| (name, Normalizer::from_name(name).expect("a name of the list"));
    Normalizer::names().map(one).collect()
});

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for (name, normalizer) in NORMALIZERS.iter() {
        let plain = normalizer.normalize_text(&text);
        let aligned = normalizer.normalize(&text);
        let (Ok(plain), Ok(aligned)) = (&plain, &aligned) else {
            assert_eq!(plain.is_err(), aligned.is_err(), "{name}");
            continue;
        };
        let same = aligned.as_ref().map_or(&*text, |aligned| aligned.text.as_str());
        assert_eq!(plain.as_deref().unwrap_or(&text), same, "{name}");
        // Each character comes from a place of the text, and places are in order.
        let Some(aligned) = aligned else { continue };
        let (alignment, mut last) = (aligned.alignment(), 0);
        for (at, c) in aligned.text.char_indices() {
            let place = alignment.to_original(at..at + c.len_utf8());
            assert!(last <= place.start && place.start <= place.end && place.end <= text.len(), "{name}");
            last = place.start;
        }
    }
});
