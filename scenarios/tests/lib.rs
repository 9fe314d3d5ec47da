//! The scenarios beside this folder are data; `join.rs` makes each of them a test.
