//! A sample: its tests use nodejoin.
