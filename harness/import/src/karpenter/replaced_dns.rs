//! The DNS address of a NodeConfig in the user data of a class, in whose place Karpenter writes its own.

use super::node_options::NodeOptions;
use crate::adopt::Stated;

/// Says that such an address has no effect: nodeadm merges the NodeConfigs in their order, and that of Karpenter is the
/// last one.
pub(super) fn replaced_dns(text: &str, options: &NodeOptions<'_>) -> Option<String> {
    let stated = Stated::of(text.as_bytes());
    let own = &stated.configs.dns;
    // A flag takes precedence over all NodeConfigs, and a script can write one that nodeadm does not merge.
    let has_flag = !stated.configs.flags.dns.is_empty();
    let is_merged = !has_flag && *own == stated.dns && !text.contains("<<");
    if own.is_empty() || !is_merged || own.first() == options.cluster.dns_ip.as_ref() {
        return None;
    }
    Some(format!(
        "`spec.kubelet.config.clusterDNS` ({}) of the NodeConfig in `spec.userData` has no effect: Karpenter's NodeConfig, which nodeadm \
         reads last, has {}{}",
        own.join(", "),
        options.named_dns(),
        options.advice_about_dns()
    ))
}
