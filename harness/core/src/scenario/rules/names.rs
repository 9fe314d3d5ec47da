//! Rejects names that nothing can ever match: a check of them would pass, or a fault never fire, without a meaning.

mod aws;
mod kubernetes;
mod units;

pub(super) use aws::{PolicyEffect, check_actions, check_call, check_fault, check_service};
pub(super) use kubernetes::{access, audit, labels};
pub(super) use units::{unit, units};

use crate::vocabulary::nearest::nearest;

/// The nearest candidate as a question, or a list of the candidates if it is short.
pub(super) fn meant<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, kind: &str) -> String {
    const FEW: usize = 16;
    let candidates: Vec<&str> = candidates.into_iter().collect();
    match nearest(word, candidates.iter().copied()) {
        Some(right) => format!("did you mean `{right}`?"),
        None if candidates.len() <= FEW => format!("{kind}: {}", candidates.join(", ")),
        None => String::new(),
    }
}

/// Whether one word becomes the other by one inserted, missing, wrong or swapped letter.
fn is_misspelt(word: &str, right: &str) -> bool {
    word != right && strsim::osa_distance(word, right) == 1
}
