//! Mistakes that only a whole script, or all NodeConfigs together, show.

use super::broken_scripts;
use super::dns_addresses;
use super::early_exits;
use super::mistyped_parts::is_read_alone;
use super::stated::Stated;
use crate::source_lines::SourceLines;

/// A sentence for each.
pub(super) fn mistakes(user_data: &[u8], stated: &Stated, lines: &SourceLines<'_>) -> Vec<String> {
    let is_alone = is_read_alone(user_data, &stated.text);
    let configs = &stated.configs;
    let of_configs = configs.mistakes_together(&stated.text, is_alone, lines);
    let broken = broken_scripts::notes(user_data, lines).into_iter();
    broken
        .chain(early_exits::note(user_data, lines))
        .chain(of_configs)
        .chain(dns_addresses::others(stated, lines))
        .collect()
}
