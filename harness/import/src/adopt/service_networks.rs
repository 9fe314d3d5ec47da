//! The network of services that user data names, beside that of the cluster in the rest of the file.

use super::bootstrap_call::BootstrapCall;
use super::stated::Stated;
use crate::machine::{AmiFamily, Traits};

/// How a report names the network of an IPv6 cluster.
pub(super) fn ipv6_network(cidr: &str) -> String {
    format!("service CIDR {cidr}, an IPv6 cluster")
}

/// Says that the user data names another network than the rest of the file.
pub(super) fn other_network(traits: &Traits, stated: &Stated) -> Option<String> {
    // Settings of Bottlerocket state no network: that of their NodeConfig follows from the DNS address.
    let is_translated = traits.ami_family == Some(AmiFamily::Bottlerocket);
    let may_describe = stated.calls.first().is_some_and(BootstrapCall::may_describe);
    let of_text = stated.cidr.as_ref().filter(|_| !is_translated && !may_describe)?;
    let of_cluster = traits.cluster.service_cidr.as_ref();
    let of_cluster = of_cluster.filter(|of_cluster| *of_cluster != of_text)?;
    let has = match traits.stand_ins.contains_key(&ipv6_network(of_cluster)) {
        true => "is one of IPv6".to_owned(),
        false => format!("has {of_cluster}"),
    };
    Some(format!(
        "the user data names the service CIDR {of_text}, the cluster in the rest of the file {has}: that of the run has {of_cluster}, and a \
         kubelet that gets its DNS address from {of_text} gives pods a wrong one"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::StandIn;

    fn problem(call: &str, of_cluster: &str, stand_in: Option<&str>) -> String {
        let mut traits = Traits::default();
        traits.cluster.service_cidr = Some(of_cluster.to_owned());
        let stand_in = stand_in.map(|cidr| (ipv6_network(cidr), StandIn::NotStated));
        traits.stand_ins.extend(stand_in);
        let stated = Stated::of(format!("#!/bin/bash\n/etc/eks/bootstrap.sh demo {call}\n").as_bytes());
        other_network(&traits, &stated).unwrap_or_default()
    }

    #[test]
    fn a_call_that_describes_the_cluster_takes_its_network() {
        let flag = "--service-ipv4-cidr 10.1.0.0/16";
        let known = format!("{flag} --apiserver-endpoint https://a.b --b64-cluster-ca Y2E=");
        assert!(problem(&known, "172.20.0.0/16", None).contains(
            "names the service CIDR 10.1.0.0/16, the cluster in the rest of the file has 172.20.0.0/16: that of the run"
        ));
        for (call, of_cluster) in [
            (flag.to_owned(), "172.20.0.0/16"),
            (
                format!("{flag} --apiserver-endpoint https://a.b"),
                "172.20.0.0/16",
            ),
            (known.clone(), "10.1.0.0/16"),
            (format!("{known} \"$@\""), "172.20.0.0/16"),
        ] {
            assert_eq!(problem(&call, of_cluster, None), "", "{call}");
        }
        let ipv6 = "fd30:1c53:5f8a::/108";
        assert!(
            problem(&known, ipv6, Some(ipv6)).contains("the cluster in the rest of the file is one of IPv6")
        );
    }
}
