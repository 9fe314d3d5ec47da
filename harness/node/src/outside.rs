//! Which addresses a node of an isolated network does not reach, where connections are refused at once; and the
//! address of its HTTP proxy.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use nodejoin_core::plan::outside::{named_addresses, recorded_addresses};
use nodejoin_core::plan::{Plan, link_local};

/// Private, shared, link-local and loopback networks, multicast and what is reserved.
const NOT_PUBLIC: [&str; 8] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "224.0.0.0/3",
];

/// The networks whose addresses keep their connections, separated by spaces. A VPC, and a network of the container
/// engine, can have public addresses.
pub(crate) fn inside(plan: &Plan, subnet: &str, api_server: Option<IpAddr>) -> String {
    let mut inside: BTreeSet<String> = NOT_PUBLIC.iter().map(|cidr| (*cidr).to_owned()).collect();
    inside.insert(subnet.to_owned());
    for instance in plan.instances() {
        inside.extend(instance.vpc_cidrs.iter().cloned());
    }
    inside.extend(plan.cluster.service_ipv4_cidr.clone());
    inside.extend(api_server.map(|address| address.to_string()));
    inside.into_iter().collect::<Vec<_>>().join(" ")
}

/// Where the node finds the HTTP proxy of the plan, as `address:port`; empty without one.
pub(crate) fn http_proxy(plan: &Plan) -> String {
    plan.http_proxy.as_ref().map_or_else(String::new, |proxy| {
        let address = proxy.address().unwrap_or(link_local::OUTSIDE);
        format!("{address}:{}", proxy.port())
    })
}

/// Public addresses whose ports of HTTP and HTTPS lead to the fakes, in any network: those of recorded URLs.
pub(crate) fn recorded(plan: &Plan) -> String {
    listed(recorded_addresses(&plan.outside))
}

/// Public addresses whose port of HTTPS leads to the fakes in an isolated network: those that the user data names.
pub(crate) fn named_in_user_data(plan: &Plan) -> String {
    let mut named = named_addresses(plan);
    for recorded in recorded_addresses(&plan.outside) {
        named.remove(&recorded);
    }
    listed(named)
}

fn listed(addresses: BTreeSet<Ipv4Addr>) -> String {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    addresses.join(" ")
}

#[cfg(test)]
mod tests {
    use nodejoin_core::testing::{plan, user_data_of};

    use super::*;

    #[test]
    fn addresses_of_urls_and_of_the_user_data_lead_to_the_fakes() {
        let mut plan = Plan {
            user_data: Some(user_data_of("curl https://203.0.113.7/ https://9.9.9.9/")),
            ..plan()
        };
        assert_eq!(recorded(&plan), "");
        assert_eq!(named_in_user_data(&plan), "9.9.9.9 203.0.113.7");
        let url = "http://203.0.113.7/x".to_owned();
        plan.outside.insert(url, "x".to_owned());
        assert_eq!(recorded(&plan), "203.0.113.7");
        assert_eq!(named_in_user_data(&plan), "9.9.9.9");
    }

    #[test]
    fn networks_of_the_run_and_of_the_vpc_are_inside() {
        let mut plan =
            nodejoin_core::scenario::default_account(&nodejoin_core::input::files::Disk::with_variables([]));
        plan.instance.vpc_cidrs = vec!["52.10.0.0/16".to_owned(), "10.0.0.0/8".to_owned()];
        plan.cluster.service_ipv4_cidr = Some("203.0.113.0/24".to_owned());
        assert_eq!(http_proxy(&plan), "");
        for (proxy, at) in [
            ("http://proxy:3128", "169.254.171.2:3128"),
            ("http://10.0.0.4", "10.0.0.4:80"),
        ] {
            plan.http_proxy = Some(proxy.parse().unwrap());
            assert_eq!(http_proxy(&plan), at);
        }
        let api_server = "198.51.100.9".parse().unwrap();
        assert_eq!(
            inside(&plan, "198.18.4.0/24", Some(api_server)),
            "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16 \
             198.18.4.0/24 198.51.100.9 203.0.113.0/24 224.0.0.0/3 52.10.0.0/16"
        );
    }
}
