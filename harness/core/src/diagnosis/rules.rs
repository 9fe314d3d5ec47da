//! Rules, each with its order and the causes that it finds. The file of a rule lists it.

use std::sync::LazyLock;

use super::types::RuleEntry;
use super::{
    certificates, clock, cluster, identity, instance, kubeadm, kubelet, limits, lost, metadata_path, nodeadm,
    paths, power, script, unknown, user_data_end,
};
use crate::vocabulary::cause::Cause;

/// The rules of all files.
const RULES: &[&[RuleEntry]] = &[
    certificates::RULES,
    clock::RULES,
    cluster::RULES,
    identity::RULES,
    instance::RULES,
    kubeadm::RULES,
    kubelet::RULES,
    limits::RULES,
    lost::RULES,
    metadata_path::RULES,
    nodeadm::RULES,
    paths::RULES,
    power::RULES,
    script::RULES,
    unknown::RULES,
    user_data_end::RULES,
];

/// All rules in their order: a rule may rely on the rules before it having found nothing. Each rule checks the phases
/// it applies to.
pub(super) static ORDERED: LazyLock<Vec<&RuleEntry>> = LazyLock::new(|| {
    let mut rules: Vec<_> = RULES.iter().copied().flatten().collect();
    rules.sort_by_key(|rule| rule.order);
    rules
});

/// A cause without a rule does not compile: the error ends with its word.
const _: () = {
    let mut index = 0;
    while index < Cause::ALL.len() {
        let cause = Cause::ALL[index];
        if !has_rule(cause) {
            panic!("{}", cause.word());
        }
        index += 1;
    }
};

const fn has_rule(cause: Cause) -> bool {
    let mut file = 0;
    while file < RULES.len() {
        let mut rule = 0;
        while rule < RULES[file].len() {
            if RULES[file][rule].gives(cause) {
                return true;
            }
            rule += 1;
        }
        file += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rules_have_the_same_order() {
        for pair in ORDERED.windows(2) {
            assert!(
                pair[0].order < pair[1].order,
                "{:?} {:?}",
                pair[0].gives,
                pair[1].gives
            );
        }
    }
}
