//! Documents from files and iterables, in blocks.
