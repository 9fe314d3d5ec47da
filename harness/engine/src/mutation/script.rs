//! The script that mutants change.

use nodejoin_core::plan::Plan;

/// Puts a script in place of the original one.
pub type ReplaceScript<'a> = dyn Fn(&Plan, &str) -> Plan + Sync + 'a;

/// The script that mutants change, and what puts another one in its place.
pub struct MutatedScript<'a> {
    pub original: &'a str,
    pub replace: &'a ReplaceScript<'a>,
}
