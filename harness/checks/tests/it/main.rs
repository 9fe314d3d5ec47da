//! Tests of the repository itself. None of them needs Docker.

mod fixtures;
