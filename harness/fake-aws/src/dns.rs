//! The resolver of a node, 169.254.169.253: names of AWS, of the cluster and of the instance, and nothing else.
//!
//! | name | record | answer |
//! | --- | --- | --- |
//! | a host name of [a service](crate::router::Endpoint) | A | [`SERVICES`] |
//! | the cluster's endpoint, and its name in kubeadm's ConfigMaps | A | the control plane's address |
//! | the instance's private DNS name, its host name | A | its private address |
//! | the private address, reversed | PTR | the private DNS name |
//! | one of these, other record types | - | no error, no records |
//! | anything else | - | NXDOMAIN, and an event that says so |
//! | anything else, in an open network | - | REFUSED, which sends the node to its next resolver, and an event |

use std::net::Ipv4Addr;

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, PTR};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use nodejoin_core::observation::DnsQuery;
use nodejoin_core::plan::Network;

use crate::router::Endpoint;
use crate::world::World;

/// The address of every AWS host name in a node; its port 443 leads to the fakes.
pub const SERVICES: Ipv4Addr = Ipv4Addr::new(169, 254, 171, 1);

const TTL: u32 = 60;
const UDP_PAYLOAD: u16 = 1232;

/// What a question gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// An address.
    Address(Ipv4Addr),
    /// The name of an address.
    Pointer(String),
    /// The name exists and has no record of this type.
    Empty,
    /// There is no such name.
    Missing,
}

/// What a world's resolver says of a name, given in lower case and without its final dot.
#[must_use]
pub fn resolve(world: &World, name: &str, record: RecordType) -> Resolution {
    if let Some(address) = address(world, name) {
        return if record == RecordType::A {
            Resolution::Address(address)
        } else {
            Resolution::Empty
        };
    }
    if name == reversed(world.instance.private_ip) {
        let pointer = || Resolution::Pointer(world.instance.private_dns_name.clone());
        return if record == RecordType::PTR {
            pointer()
        } else {
            Resolution::Empty
        };
    }
    Resolution::Missing
}

fn address(world: &World, name: &str) -> Option<Ipv4Addr> {
    let instance = &world.instance;
    if Endpoint::of_host(name).is_some() {
        return Some(SERVICES);
    }
    let is_endpoint = name == world.cluster.endpoint_host(&world.region).to_ascii_lowercase();
    if is_endpoint || world.control_plane_name.as_deref() == Some(name) {
        return Some(world.control_plane_ip);
    }
    let own = [&instance.private_dns_name, &instance.host_name];
    own.iter()
        .any(|own| own.eq_ignore_ascii_case(name))
        .then_some(instance.private_ip)
}

fn reversed(ip: Ipv4Addr) -> String {
    let [a, b, c, d] = ip.octets();
    format!("{d}.{c}.{b}.{a}.in-addr.arpa")
}

/// Answers a query's bytes. `None` for what is no query; the event is `None` for a name that was only tried with the search
/// domain appended.
#[must_use]
pub fn answer(world: &World, query: &[u8]) -> Option<(Vec<u8>, Option<DnsQuery>)> {
    let query = parse(query)?;
    let mut response = respond_to(&query);
    let Some(question) = query
        .queries
        .first()
        .filter(|_| query.metadata.op_code == OpCode::Query)
    else {
        response.metadata.response_code = ResponseCode::NotImp;
        return Some((response.to_vec().ok()?, None));
    };
    let name = text(question);
    let resolution = resolve(world, &name, question.query_type());
    fill(&mut response, question, &resolution, world.network);
    let answered = resolution != Resolution::Missing;
    let seen = DnsQuery {
        record: question.query_type().to_string(),
        answered,
        name,
    };
    let event = (answered || !is_search(world, &seen.name)).then_some(seen);
    Some((response.to_vec().ok()?, event))
}

/// Refuses a query of a source that no world has.
#[must_use]
pub fn refuse(query: &[u8]) -> Option<Vec<u8>> {
    let mut response = respond_to(&parse(query)?);
    response.metadata.response_code = ResponseCode::ServFail;
    response.to_vec().ok()
}

fn parse(query: &[u8]) -> Option<Message> {
    Message::from_vec(query)
        .ok()
        .filter(|message| message.metadata.message_type == MessageType::Query)
}

fn respond_to(query: &Message) -> Message {
    let mut response = Message::response(query.metadata.id, query.metadata.op_code);
    response.metadata.recursion_desired = query.metadata.recursion_desired;
    response.metadata.recursion_available = true;
    response.add_queries(query.queries.iter().cloned());
    if query.edns.is_some() {
        let mut edns = Edns::new();
        edns.set_max_payload(UDP_PAYLOAD);
        response.set_edns(edns);
    }
    response
}

fn fill(response: &mut Message, question: &Query, resolution: &Resolution, network: Network) {
    let data = match resolution {
        Resolution::Address(address) => Some(RData::A(A(*address))),
        Resolution::Pointer(name) => Name::from_ascii(format!("{name}."))
            .ok()
            .map(|name| RData::PTR(PTR(name))),
        Resolution::Empty => None,
        Resolution::Missing => {
            // A resolver that says that there is no such name is believed; one that refuses is not asked alone.
            response.metadata.response_code = match network {
                Network::Isolated => ResponseCode::NXDomain,
                Network::Open => ResponseCode::Refused,
            };
            None
        }
    };
    if let Some(data) = data {
        response.add_answer(Record::from_rdata(question.name().clone(), TTL, data));
    }
}

fn text(question: &Query) -> String {
    question
        .name()
        .to_ascii()
        .trim_end_matches('.')
        .to_ascii_lowercase()
}

/// Whether a name was only tried beside another one that counts: made by appending the search domain, or what is left of one
/// of this world's names without it. Names of instances are what the domain is for, and always count.
fn is_search(world: &World, name: &str) -> bool {
    let domain = world.region.private_domain();
    let made = name.strip_suffix(&domain).and_then(|rest| rest.strip_suffix('.'));
    match made {
        Some(rest) => !rest.starts_with("ip-"),
        None => address(world, &format!("{name}.{domain}")).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::world;

    fn ask(name: &str, record: RecordType) -> (Message, Option<DnsQuery>) {
        ask_in(Network::Isolated, name, record)
    }

    fn ask_in(network: Network, name: &str, record: RecordType) -> (Message, Option<DnsQuery>) {
        let mut query = Message::query();
        query.add_query(Query::query(Name::from_ascii(name).unwrap(), record));
        query.set_edns(Edns::new());
        let (bytes, event) = answer(&World { network, ..world().0 }, &query.to_vec().unwrap()).unwrap();
        (Message::from_vec(&bytes).unwrap(), event)
    }

    #[test]
    fn names_resolve_as_the_table_says() {
        let endpoint = "0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com.";
        let own = "ip-192-168-40-16.eu-west-1.compute.internal.";
        let table = [
            (
                "eks.eu-west-1.amazonaws.com.",
                RecordType::A,
                Some("169.254.171.1"),
            ),
            ("STS.amazonaws.com.", RecordType::A, Some("169.254.171.1")),
            (
                "602401143452.dkr.ecr.eu-west-1.amazonaws.com.",
                RecordType::A,
                Some("169.254.171.1"),
            ),
            (endpoint, RecordType::A, Some("172.30.0.9")),
            (own, RecordType::A, Some("192.168.40.16")),
            ("16.40.168.192.in-addr.arpa.", RecordType::PTR, Some(own)),
            (own, RecordType::AAAA, Some("")),
            (endpoint, RecordType::AAAA, Some("")),
            ("registry.k8s.io.", RecordType::A, None),
            (
                "ip-192-168-40-17.eu-west-1.compute.internal.",
                RecordType::A,
                None,
            ),
        ];
        for (name, record, expected) in table {
            let (response, event) = ask(name, record);
            let data = response
                .answers
                .first()
                .map(|record| record.data.to_string())
                .unwrap_or_default();
            let code = if expected.is_some() {
                ResponseCode::NoError
            } else {
                ResponseCode::NXDomain
            };
            assert_eq!(
                (response.metadata.response_code, data.as_str()),
                (code, expected.unwrap_or_default()),
                "{name}"
            );
            assert_eq!(event.unwrap().answered, expected.is_some(), "{name}");
            assert!(response.edns.is_some());
        }
    }

    #[test]
    fn in_an_open_network_the_next_resolver_is_asked_for_what_is_not_known_here() {
        let (response, event) = ask_in(Network::Open, "registry.k8s.io.", RecordType::A);
        assert_eq!(response.metadata.response_code, ResponseCode::Refused);
        assert!(!event.unwrap().answered);
        // What is faked stays faked.
        let (response, _) = ask_in(Network::Open, "sts.amazonaws.com.", RecordType::A);
        assert_eq!(response.metadata.response_code, ResponseCode::NoError);
    }

    #[test]
    fn a_name_with_the_search_domain_appended_is_no_second_unknown_one() {
        let (response, event) = ask("registry.k8s.io.eu-west-1.compute.internal.", RecordType::A);
        assert_eq!(response.metadata.response_code, ResponseCode::NXDomain);
        assert_eq!(event, None);
        // A resolver asks for the AAAA record of its own short name without the domain, after there was none with it.
        assert_eq!(ask("ip-192-168-40-16.", RecordType::AAAA).1, None);
    }

    #[test]
    fn what_is_no_query_gets_no_answer() {
        assert_eq!(answer(&world().0, b"nonsense"), None);
        assert_eq!(answer(&world().0, b""), None);
    }
}
