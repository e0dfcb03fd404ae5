//! tokenizer.json: any text ends in an error or in a tokenizer that encodes as the reference
//! implementation does, and that comes back from our own file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sentitok::formats::tokenizer_json;
use sentitok::{EncodeOptions, Tokenizer};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(parts) = tokenizer_json::read(text) else { return };
    let Ok(tokenizer) = Tokenizer::new(parts) else { return };
    for text in [&b"The text, \xC3\xA9 \xE4\xB8\xAD  \xFF"[..], data.get(..200).unwrap_or(data)] {
        // A custom pattern may reach its step limit: an error, too.
        let options = EncodeOptions { spans: true, ..EncodeOptions::default() };
        if let (Ok(fast), Ok(slow)) =
            (tokenizer.encode(text, options), tokenizer.encode_reference(text, options))
        {
            assert_eq!((fast.ids, fast.spans), (slow.ids, slow.spans));
        }
    }
    if let Ok(bytes) = tokenizer.to_bytes() {
        let back = Tokenizer::from_bytes(&bytes).expect("the written file is read");
        assert_eq!(back.to_bytes().ok(), Some(bytes));
    }
});
