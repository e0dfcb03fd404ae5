//! Our own file: any bytes end in an error or in a tokenizer of which the same
//! bytes come again once it was written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sentitok::{EncodeOptions, Tokenizer};

fuzz_target!(|data: &[u8]| {
    let whole = [b"#sentitok-tokenizer 1 ", data].concat();
    for bytes in [data, &whole] {
        let Ok(tokenizer) = Tokenizer::from_bytes(bytes) else { continue };
        let _ = tokenizer.encode(b"The text, \xC3\xA9  \xFF", EncodeOptions::default());
        let Ok(written) = tokenizer.to_bytes() else { continue };
        let back = Tokenizer::from_bytes(&written).expect("the written file is read");
        assert_eq!(back.to_bytes().ok(), Some(written));
    }
});
