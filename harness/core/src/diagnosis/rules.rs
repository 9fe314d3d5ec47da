//! Rules in their order, from the rows of `vocabulary/cause_table.rs`.

use std::sync::LazyLock;

use super::facts::Facts;
use super::types::Finding;
use super::{
    ami_family, api_server, certificates, clock, cluster, container_runtime, dns_fault, exhausted, identity,
    instance, kubeadm, kubelet, kubelet_program, limits, lost, metadata_path, never_started, nodeadm,
    outside, paths, pod, power, registration, sandbox_image, script, stored_values, unanswered, unknown,
    user_data_end, user_data_start,
};
use crate::vocabulary::cause_table::cause_table;

type Rule = fn(&Facts<'_>) -> Option<Finding>;

/// A rule, from a row of the table of causes.
pub(super) struct RuleEntry {
    /// Smaller numbers apply first.
    pub(super) order: u32,
    pub(super) apply: Rule,
    pub(super) scope: RuleScope,
    /// The file and the function.
    #[cfg(test)]
    pub(super) name: &'static str,
}

/// Which joins a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleScope {
    /// Joins that have not reached `ready`, at any time.
    Stopped,
    /// Joins that have reached `ready`.
    Ready,
    /// Joins that have reached `ready` when they end, after all other rules.
    ReadyAtTheEnd,
    /// Joins that have not reached `ready` when they end, after all other rules.
    AtTheEnd,
}

/// Lists the rules of each row; a rule that finds two causes stands in two rows.
macro_rules! rules {
    ($(
        $(#[$meaning:meta])+
        $variant:ident = $word:literal {
            rules: $scope:ident { $($order:literal: $file:ident::$rule:ident),+ },
            $($facts:tt)+
        }
    )+) => {
        const RULES: &[RuleEntry] = &[$($(RuleEntry {
            order: $order,
            apply: $file::$rule,
            scope: RuleScope::$scope,
            #[cfg(test)]
            name: stringify!($file::$rule),
        },)+)+];
    };
}

cause_table!(rules);

/// Each rule once, in its order: a rule may rely on the rules before it having found nothing.
/// Each rule checks the phases it applies to.
pub(super) static ORDERED: LazyLock<Vec<&RuleEntry>> = LazyLock::new(|| {
    let mut rules: Vec<_> = RULES.iter().collect();
    rules.sort_by_key(|rule| rule.order);
    rules.dedup_by_key(|rule| rule.order);
    rules
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::tests::cases;

    #[test]
    fn a_number_stands_for_one_rule() {
        for one in RULES {
            for other in RULES {
                let (one_name, other_name) = (one.name, other.name);
                assert_eq!(
                    one_name == other_name,
                    one.order == other.order,
                    "{one_name} and {other_name}"
                );
                assert!(one_name != other_name || one.scope == other.scope, "{one_name}");
            }
        }
    }

    #[test]
    fn a_rule_finds_only_the_causes_in_whose_rows_it_stands() {
        for case in cases::all() {
            let (order, cause) = case.found_by();
            assert!(
                cause.orders().contains(&order),
                "{}: rule {order} finds `{}`, and is not in its row",
                case.name(),
                cause.word()
            );
        }
    }
}
