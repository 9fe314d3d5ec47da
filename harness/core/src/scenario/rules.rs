//! Combinations that cannot be.
use super::file::Scenario;
use crate::plan::Plan;
use crate::report::Report;
pub(super) fn check(_scenario: &Scenario, _plan: &Plan, _report: &mut Report<'_>) {}
