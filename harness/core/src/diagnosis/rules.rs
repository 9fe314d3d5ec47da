//! The rules in their order, each with the causes that it finds.

use super::facts::Facts;
use super::types::Finding;
use super::{
    certificates, clock, cluster, identity, instance, kubeadm, kubelet, nodeadm, script, unknown,
    user_data_end,
};
use crate::vocabulary::cause::Cause;

/// In this order: a rule may rely on the rules before it having found nothing. Each rule checks the phases it applies
/// to.
pub(super) const RULES: &[RuleEntry] = &[
    rule(instance::host_limit, &[Cause::HostLimit]),
    rule(cluster::node_deleted, &[Cause::NodeDeleted]),
    rule(
        certificates::serving_certificate_denied,
        &[Cause::ServingCertificateDenied],
    ),
    rule(
        certificates::serving_certificate_not_approved,
        &[Cause::ServingCertificateNotApproved],
    ),
    rule(cluster::cni_not_ready, &[Cause::CniNotReady]),
    rule(instance::metadata_unreachable, &[Cause::MetadataUnreachable]),
    rule(
        certificates::client_certificate_not_approved,
        &[Cause::ClientCertificateNotApproved],
    ),
    rule(kubeadm::ca_cert_hash_mismatch, &[Cause::CaCertHashMismatch]),
    rule(
        kubeadm::token_refused,
        &[Cause::BootstrapTokenRefused, Cause::BootstrapTokenExpired],
    ),
    rule(
        kubeadm::token_unknown,
        &[Cause::BootstrapTokenUnknown, Cause::BootstrapTokenExpired],
    ),
    rule(clock::clock_skew, &[Cause::ClockSkew]),
    rule(kubelet::label_refused, &[Cause::LabelRefused]),
    rule(kubelet::taint_invalid, &[Cause::TaintInvalid]),
    rule(identity::groups_missing, &[Cause::GroupsMissing]),
    rule(identity::node_name_refused, &[Cause::NodeNameRefused]),
    rule(cluster::node_invalid, &[Cause::NodeInvalid]),
    rule(identity::role_not_mapped, &[Cause::RoleNotMapped]),
    rule(
        identity::token_for_another_cluster,
        &[Cause::TokenForAnotherCluster],
    ),
    rule(
        kubelet::wrong_certificate_authority,
        &[Cause::WrongCertificateAuthority],
    ),
    rule(identity::unauthorized, &[Cause::Unauthorized]),
    rule(script::access_denied, &[Cause::AccessDenied]),
    rule(script::describe_failed, &[Cause::DescribeFailed]),
    rule(nodeadm::node_config_invalid, &[Cause::NodeConfigInvalid]),
    rule(instance::user_data_is_base64, &[Cause::UserDataNeverRan]),
    rule(instance::missing_shebang, &[Cause::MissingShebang]),
    rule(instance::user_data_never_ran, &[Cause::UserDataNeverRan]),
    rule(instance::metadata_token_missing, &[Cause::MetadataTokenMissing]),
    rule(kubelet::exits, &[Cause::KubeletExits]),
    rule(kubelet::endpoint_unreachable, &[Cause::EndpointUnreachable]),
    rule(kubelet::api_server_times_out, &[Cause::HostLimit]),
    rule(user_data_end::unit_is_refused, &[Cause::KubeletNeverStarted]),
    rule(nodeadm::failed, &[Cause::ScriptFailed]),
    rule(script::failed, &[Cause::ScriptFailed]),
    rule(user_data_end::error_is_hidden, &[Cause::ScriptFailed]),
    rule(script::kubelet_never_started, &[Cause::KubeletNeverStarted]),
    rule(
        cluster::of_another_instance,
        &[Cause::ProviderIdOfAnotherInstance],
    )
    .scope(RuleScope::Ready),
    rule(user_data_end::is_not_done, &[Cause::UserDataNotDone]).scope(RuleScope::AtTheEnd),
    rule(unknown::unknown, &[Cause::Unknown]).scope(RuleScope::AtTheEnd),
];

type Rule = fn(&Facts<'_>) -> Option<Finding>;

/// A rule with the causes that it can find.
pub(super) struct RuleEntry {
    pub(super) apply: Rule,
    pub(super) gives: &'static [Cause],
    pub(super) scope: RuleScope,
}

/// Which joins a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleScope {
    /// Joins that have not reached `ready`, at any time.
    Stopped,
    /// Joins that have reached `ready`.
    Ready,
    /// Joins that have not reached `ready` when they end, after all other rules.
    AtTheEnd,
}

impl RuleEntry {
    const fn scope(self, scope: RuleScope) -> Self {
        Self { scope, ..self }
    }

    const fn gives(&self, cause: Cause) -> bool {
        let mut index = 0;
        while index < self.gives.len() {
            if self.gives[index] as usize == cause as usize {
                return true;
            }
            index += 1;
        }
        false
    }
}

const fn rule(apply: Rule, gives: &'static [Cause]) -> RuleEntry {
    RuleEntry {
        apply,
        gives,
        scope: RuleScope::Stopped,
    }
}

/// A cause without a rule does not compile: the error ends with its word.
const _: () = {
    let mut index = 0;
    while index < Cause::ALL.len() {
        let cause = Cause::ALL[index];
        let mut rule = 0;
        while rule < RULES.len() && !RULES[rule].gives(cause) {
            rule += 1;
        }
        if rule == RULES.len() {
            panic!("{}", cause.word());
        }
        index += 1;
    }
};
