//! Requests that nothing answers: AWS calls that the fake AWS does not emulate, names outside, and names that a DNS
//! fault does not resolve.

use super::*;
use crate::observation::{CalledService, DnsQuery};
use crate::plan::dns_fault::{DnsEffect, DnsFault};
use crate::vocabulary::aws_service::AwsService;
use crate::vocabulary::not_emulated;

fn miss(name: &str) -> ObservedEvent {
    ObservedEvent::Dns(DnsQuery {
        name: name.to_owned(),
        record: "A".to_owned(),
        answered: false,
        fault: None,
    })
}

fn query(name: &str) -> DnsQuery {
    DnsQuery {
        name: name.to_ascii_lowercase(),
        record: "A".to_owned(),
        answered: false,
        fault: Some(0),
    }
}

fn failed_query(name: &str) -> ObservedEvent {
    ObservedEvent::Dns(query(name))
}

fn dns_fault(for_seconds: Option<f64>) -> DnsFault {
    DnsFault {
        name: None,
        times: None,
        for_seconds,
        effect: DnsEffect::Servfail,
        may_fire: false,
    }
}

fn nodeadm_fatal(error: &str) -> ObservedEvent {
    let fields = serde_json::json!({ "error": error });
    let line = format!("fatal nodeadm:110 Command failed {fields}");
    journal("nodeadm-config.service", "nodeadm", &line)
}

fn unanswered(operation: &str) -> ObservedEvent {
    let service = AwsService::named("kms").unwrap();
    ObservedEvent::Aws(AwsCall {
        service: CalledService::NotEmulated(service),
        known: false,
        error: Some("NotEmulated".to_owned()),
        message: Some(format!("nodejoin does not emulate {operation} of kms")),
        ..aws(Service::Ec2, operation, 501)
    })
}

fn resource() -> ObservedEvent {
    let service = AwsService::named("execute-api").unwrap();
    let host = "a1b2c3.execute-api.eu-west-1.amazonaws.com";
    ObservedEvent::Aws(AwsCall {
        service: CalledService::NotEmulated(service),
        host: host.to_owned(),
        path: "/prod/register".to_owned(),
        known: false,
        error: Some(not_emulated::CODE.to_owned()),
        message: Some(not_emulated::resource_message(
            host,
            "execute-api",
            "GET /prod/register",
        )),
        ..aws(Service::Ec2, "GET /prod/register", 501)
    })
}

fn silent_upstream(operation: &str) -> ObservedEvent {
    let service = AwsService::named("kms").unwrap();
    ObservedEvent::Aws(AwsCall {
        service: CalledService::NotEmulated(service),
        known: false,
        error: Some(not_emulated::UPSTREAM_CODE.to_owned()),
        message: Some(not_emulated::upstream_message(
            "kms",
            "http://127.0.0.1:5000",
            "refused",
        )),
        ..aws(Service::Ec2, operation, 501)
    })
}

fn unread(parameter: &str) -> ObservedEvent {
    let operation = "DescribeInstances";
    ObservedEvent::Aws(AwsCall {
        known: false,
        error: Some(not_emulated::CODE.to_owned()),
        message: Some(not_emulated::parameter_message("ec2", operation, parameter)),
        ..aws(Service::Ec2, operation, 501)
    })
}

pub(super) fn cases() -> Vec<Case> {
    let waiting = || (0..5).flat_map(|_| [miss("db.corp.internal"), miss("db.corp.internal.ec2.internal")]);
    vec![
        Case::new(
            "AWS service that is not emulated",
            after_boot([
                unanswered("ListKeys"),
                cloud(
                    "An error occurred (NotEmulated) when calling the ListKeys operation: nodejoin does not emulate ListKeys",
                ),
                failed_part(),
            ]),
        ),
        Case::new(
            "AWS service whose upstream does not respond",
            after_boot([
                silent_upstream("ListKeys"),
                cloud("An error occurred (UpstreamUnreachable) when calling the ListKeys operation: nodejoin received"),
                failed_part(),
            ]),
        )
        .plan(|plan| {
            let url = "http://127.0.0.1:5000".parse().unwrap();
            plan.aws.upstream.insert("kms".to_owned(), url);
        }),
        Case::new(
            "AWS service that is not emulated, without output",
            after_boot([unanswered("ListKeys"), failed_part()]),
        ),
        Case::new(
            "API of the account, with an id in its host name",
            after_boot([resource(), failed_part()]),
        ),
        Case::new(
            "parameter that is not emulated",
            after_boot([unread("IncludeManagedResources"), failed_part()]),
        ),
        Case::new(
            "AWS service that is not emulated, polled",
            after_boot([(); 5].map(|()| unanswered("GenerateDataKey"))),
        ),
        Case::new(
            "AWS host that does not exist",
            after_boot([
                miss("ssn.eu-west-1.amazonaws.com"),
                cloud("Could not connect to the endpoint URL: \"https://ssn.eu-west-1.amazonaws.com/\""),
                failed_part(),
            ]),
        ),
        Case::new(
            "name outside",
            after_boot([
                miss("downloads.example.com"),
                cloud("curl: (6) Could not resolve host: downloads.example.com"),
                failed_part(),
            ]),
        ),
        Case::new(
            "name that never resolves",
            [boot(), imds()].into_iter().chain(waiting()),
        ),
        Case::new(
            "endpoint that a fault does not resolve",
            after_boot([
                failed_query(HOST),
                failed_query(HOST),
                cloud(&format!("curl: (6) Could not resolve host: {HOST}")),
                failed_part(),
            ]),
        )
        .plan(|plan| plan.dns_faults = vec![dns_fault(Some(1.0))]),
        Case::new(
            "name that a fault never resolves, without output",
            after_boot([failed_query("eks.eu-west-1.amazonaws.com"), failed_part()]),
        )
        .plan(|plan| plan.dns_faults = vec![dns_fault(None)]),
        Case::new(
            "endpoint that a fault does not resolve for nodeadm",
            after_boot([failed_query(HOST), nodeadm_fatal(&format!("lookup {HOST}: [Errno -3] Temporary failure"))]),
        )
        .plan(|plan| plan.dns_faults = vec![dns_fault(Some(1.0))]),
        Case::new(
            "script that repeated the look-up and failed later",
            after_boot([
                failed_query(HOST),
                ObservedEvent::Dns(DnsQuery { answered: true, fault: None, ..query(HOST) }),
                cloud(&format!("curl: (60) SSL certificate problem: {HOST}")),
                failed_part(),
            ]),
        )
        .plan(|plan| plan.dns_faults = vec![dns_fault(Some(1.0))]),
        Case::new(
            "endpoint of another cluster in a script",
            after_boot([
                miss("abc.gr7.eu-west-1.eks.amazonaws.com"),
                cloud("curl: (6) Could not resolve host: ABC.gr7.eu-west-1.eks.amazonaws.com"),
                failed_part(),
            ]),
        ),
        Case::new(
            "host name with a zone for the region",
            after_boot([
                miss("eks.us-west-2-lax-1.amazonaws.com"),
                cloud(
                    "Could not connect to the endpoint URL: \"https://eks.us-west-2-lax-1.amazonaws.com/clusters/demo\"",
                ),
                failed_part(),
            ]),
        ),
    ]
}
