//! The resolver of a node, 169.254.169.253: names of AWS, of the cluster and of the instance.
//!
//! | name | record | response |
//! | --- | --- | --- |
//! | a host name of [a service or a resource](crate::endpoint::HostName), emulated or not | A | [`names::SERVICES`] |
//! | a host name of a service to which a fault refuses connections | A | an address of its own |
//! | a host in the scenario's answers or in `outside`, the HTTP proxy | A | [`OUTSIDE`] |
//! | the cluster's endpoint, and its name in kubeadm's ConfigMaps | A | the control plane's address |
//! | the instance's private DNS name, its host name | A | its private address |
//! | the private address, reversed | PTR | the private DNS name |
//! | one of these, other record types | - | no records |
//! | any other that can be a host of the Internet | A | [`OUTSIDE`], and an event as of a name that does not exist |
//! | the rest | - | NXDOMAIN, and an event |
//! | a name that a DNS fault matches | any | what the fault says, and an event with the fault |
//! | any other, in an open network | - | REFUSED, which sends the node to its next resolver, and an event |

mod names;

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, PTR};
use hickory_proto::rr::{Name, RData, Record};
use nodejoin_core::observation::DnsQuery;
use nodejoin_core::plan::Network;
use nodejoin_core::plan::dns_fault::DnsEffect;

use crate::dns_faults::FiredDnsFault;
use crate::world::World;
use names::{OUTSIDE, Resolution, is_search, resolve};

const TTL: u32 = 60;
const UDP_PAYLOAD: u16 = 1232;

/// The response to a query, and what it says about its node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    /// `None`: a fault leaves the query without a response.
    pub(crate) response: Option<Vec<u8>>,
    /// `None` for a name that a resolver tried only because of the search domain.
    pub(crate) event: Option<DnsQuery>,
}

/// Responds to a query; `None` for bytes that are not a query. `fault` returns the fault that fires for a name.
#[must_use]
pub(crate) fn respond(
    world: &World,
    query: &[u8],
    fault: impl FnOnce(&str) -> Option<FiredDnsFault>,
) -> Option<Reply> {
    let query = parse(query)?;
    let mut response = respond_to(&query);
    let Some(question) = query
        .queries
        .first()
        .filter(|_| query.metadata.op_code == OpCode::Query)
    else {
        response.metadata.response_code = ResponseCode::NotImp;
        return Some(Reply {
            response: Some(response.to_vec().ok()?),
            event: None,
        });
    };
    let name = text(question);
    if let Some(fired) = fault(&name) {
        let event = Some(DnsQuery {
            record: question.query_type().to_string(),
            answered: false,
            fault: Some(fired.index),
            name,
        });
        let response = match response_code(fired.effect) {
            Some(code) => {
                response.metadata.response_code = code;
                Some(response.to_vec().ok()?)
            }
            None => None,
        };
        return Some(Reply { response, event });
    }
    let resolution = resolve(world, &name, question.query_type());
    fill(&mut response, question, &resolution, world.network);
    let answered = match resolution {
        Resolution::Address(_) | Resolution::Pointer(_) | Resolution::Empty => true,
        Resolution::Outside | Resolution::OutsideEmpty | Resolution::Missing => false,
    };
    let query_event = DnsQuery {
        record: question.query_type().to_string(),
        answered,
        fault: None,
        name,
    };
    let event = (answered || !is_search(world, &query_event.name)).then_some(query_event);
    Some(Reply {
        response: Some(response.to_vec().ok()?),
        event,
    })
}

/// The code of the response that a fault gives; `None` if there is no response.
fn response_code(effect: DnsEffect) -> Option<ResponseCode> {
    match effect {
        DnsEffect::Servfail => Some(ResponseCode::ServFail),
        DnsEffect::Refused => Some(ResponseCode::Refused),
        DnsEffect::Nxdomain => Some(ResponseCode::NXDomain),
        DnsEffect::Empty => Some(ResponseCode::NoError),
        DnsEffect::NoAnswer => None,
    }
}

/// Responds to a query of a source without a world.
#[must_use]
pub(crate) fn refuse(query: &[u8]) -> Option<Vec<u8>> {
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
        Resolution::Outside => Some(RData::A(A(OUTSIDE))),
        Resolution::Empty | Resolution::OutsideEmpty => None,
        Resolution::Missing => {
            // NXDOMAIN is final; after REFUSED, the node tries its next resolver.
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

#[cfg(test)]
mod tests {
    use hickory_proto::rr::RecordType;

    use super::*;
    use crate::testing::world;

    fn query_for(name: &str, record: RecordType) -> (Message, Option<DnsQuery>) {
        ask_in(Network::Isolated, name, record)
    }

    fn ask_in(network: Network, name: &str, record: RecordType) -> (Message, Option<DnsQuery>) {
        let mut query = Message::query();
        query.add_query(Query::query(Name::from_ascii(name).unwrap(), record));
        query.set_edns(Edns::new());
        let world = World { network, ..world().0 };
        reply(&world, &query)
    }

    fn reply(world: &World, query: &Message) -> (Message, Option<DnsQuery>) {
        let reply = respond(world, &query.to_vec().unwrap(), |_| None).unwrap();
        (Message::from_vec(&reply.response.unwrap()).unwrap(), reply.event)
    }

    #[test]
    fn names_resolve() {
        let endpoint = "0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com.";
        let own = "ip-192-168-40-16.eu-west-1.compute.internal.";
        let table = [
            (
                "eks.eu-west-1.amazonaws.com.",
                RecordType::A,
                Some("169.254.171.1"),
            ),
            (
                "ssm.eu-west-1.amazonaws.com.",
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
            ("db.corp.internal.", RecordType::A, None),
            ("eks.eu-wset-1.amazonaws.com.", RecordType::A, None),
            (
                "ip-192-168-40-17.eu-west-1.compute.internal.",
                RecordType::A,
                None,
            ),
        ];
        for (name, record, expected) in table {
            let (response, event) = query_for(name, record);
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
    fn names_outside_lead_to_the_fakes_and_stay_unknown() {
        let table = [
            (
                Network::Isolated,
                "registry.k8s.io.",
                RecordType::A,
                "169.254.171.2",
                false,
            ),
            (Network::Isolated, "registry.k8s.io.", RecordType::AAAA, "", false),
            (
                Network::Isolated,
                "a.example.com.",
                RecordType::A,
                "169.254.171.2",
                true,
            ),
            (
                Network::Open,
                "a.example.com.",
                RecordType::A,
                "169.254.171.2",
                true,
            ),
        ];
        for (network, name, record, address, answered) in table {
            let mut query = Message::query();
            query.add_query(Query::query(Name::from_ascii(name).unwrap(), record));
            let mut world = World { network, ..world().0 };
            world
                .outside
                .insert("http://a.example.com/x".to_owned(), "x".to_owned());
            let (response, event) = reply(&world, &query);
            let found = response.answers.first().map(|record| record.data.to_string());
            assert_eq!(response.metadata.response_code, ResponseCode::NoError, "{name}");
            assert_eq!(found.unwrap_or_default(), address, "{name}");
            assert_eq!(event.unwrap().answered, answered, "{name}");
        }
    }

    #[test]
    fn an_open_network_refuses_unknown_names() {
        let (response, event) = ask_in(Network::Open, "registry.k8s.io.", RecordType::A);
        assert_eq!(response.metadata.response_code, ResponseCode::Refused);
        assert!(!event.unwrap().answered);
        let (response, _) = ask_in(Network::Open, "sts.amazonaws.com.", RecordType::A);
        assert_eq!(response.metadata.response_code, ResponseCode::NoError);
    }

    #[test]
    fn a_name_with_the_search_domain_is_not_recorded() {
        let (response, event) = query_for("registry.k8s.io.eu-west-1.compute.internal.", RecordType::A);
        assert_eq!(response.metadata.response_code, ResponseCode::NXDomain);
        assert_eq!(event, None);
        // After its full name, a resolver queries the AAAA record of its short name.
        assert_eq!(query_for("ip-192-168-40-16.", RecordType::AAAA).1, None);
    }

    #[test]
    fn bytes_that_are_not_a_query_have_no_response() {
        assert_eq!(respond(&world().0, b"nonsense", |_| None), None);
        assert_eq!(respond(&world().0, b"", |_| None), None);
    }

    #[test]
    fn a_fault_takes_the_place_of_the_response() {
        let table = [
            (DnsEffect::Servfail, Some(ResponseCode::ServFail)),
            (DnsEffect::Refused, Some(ResponseCode::Refused)),
            (DnsEffect::Nxdomain, Some(ResponseCode::NXDomain)),
            (DnsEffect::Empty, Some(ResponseCode::NoError)),
            (DnsEffect::NoAnswer, None),
        ];
        for (effect, code) in table {
            let mut query = Message::query();
            let name = Name::from_ascii("EKS.eu-west-1.amazonaws.com.").unwrap();
            query.add_query(Query::query(name, RecordType::A));
            let fire = |name: &str| {
                assert_eq!(name, "eks.eu-west-1.amazonaws.com");
                Some(FiredDnsFault { index: 1, effect })
            };
            let reply = respond(&world().0, &query.to_vec().unwrap(), fire).unwrap();
            let response = reply.response.map(|bytes| Message::from_vec(&bytes).unwrap());
            let found = response.as_ref().map(|response| response.metadata.response_code);
            assert_eq!(found, code);
            assert!(
                response.is_none_or(|response| response.answers.is_empty()),
                "{effect:?}"
            );
            let event = reply.event.unwrap();
            assert_eq!((event.answered, event.fault), (false, Some(1)));
        }
    }
}
