//! Addresses of a node's pods, and the CNI configuration that hands them out.

use std::net::Ipv4Addr;

/// Path of the CNI configuration in the node.
pub const PATH: &str = "/etc/cni/net.d/10-nodejoin.conflist";

/// The addresses of a node's pods: a /24 of 100.64.0.0/10, chosen by the low 14 bits of the node's own address, so that
/// the nodes of one VPC (a /18 or smaller) do not share any.
#[must_use]
pub fn cidr(private_ip: Ipv4Addr) -> String {
    let [.., third, fourth] = private_ip.octets();
    format!("100.{}.{}.0/24", 64 + (third & 0x3f), fourth)
}

/// The configuration: a point-to-point link for each pod, as the VPC CNI gives them, and host ports.
#[must_use]
pub fn conflist(private_ip: Ipv4Addr) -> String {
    let list = serde_json::json!({
        "cniVersion": "0.4.0",
        "name": "nodejoin",
        "plugins": [
            {
                "type": "ptp",
                "ipMasq": true,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{ "subnet": cidr(private_ip) }]],
                    "routes": [{ "dst": "0.0.0.0/0" }]
                }
            },
            { "type": "portmap", "capabilities": { "portMappings": true } }
        ]
    });
    format!("{list:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_do_not_share_addresses() {
        assert_eq!(cidr(Ipv4Addr::new(192, 168, 40, 16)), "100.104.16.0/24");
        assert_ne!(
            cidr(Ipv4Addr::new(192, 168, 40, 16)),
            cidr(Ipv4Addr::new(192, 168, 41, 16))
        );
    }

    #[test]
    fn the_configuration_is_a_list_of_plugins() {
        let list: serde_json::Value = serde_json::from_str(&conflist(Ipv4Addr::new(10, 0, 0, 5))).unwrap();
        assert_eq!(
            list["plugins"][0]["ipam"]["ranges"][0][0]["subnet"],
            "100.64.5.0/24"
        );
    }
}
