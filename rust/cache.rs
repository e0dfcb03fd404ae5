//! Caches of models. All are bounded, and all are filled only by running the model, so none decides an id.
//!
//! | type | holds | at most | in a long call |
//! |---|---|---|---|
//! | `PieceTable` | values of pieces of up to 15 bytes, by their bytes | 8 MiB | 32 MiB |
//! | `PretokenCache` | the ids of such pieces: a `PieceTable`, and ids of pieces of more than three | 12 MiB | 48 MiB |
//! | `LongPieces` | the ids of pieces of 16 to 256 bytes | 2 MiB and 28,672 entries | the same |
//!
//! A worker of a model has one `PretokenCache` (Unigram: a `PieceTable` with its memo) and one `LongPieces`; between two
//! calls they lie in the tokenizer's `ScratchPool`.

pub(crate) mod long_pieces;
pub(crate) mod piece_table;
pub(crate) mod pretoken_cache;
