//! Requests to hosts outside: scripts that need one, and scripts that continue without it.

use super::*;
use crate::observation::{CalledService, DnsQuery, TLS_PROXY};

const URL: &str = "https://downloads.example.com/agent/agent.tar.gz";

/// A request that nothing answered, after the query for its name.
fn refused(request: &str) -> [ObservedEvent; 2] {
    let (method, url) = request.split_once(' ').unwrap();
    let (_, rest) = url.split_once("://").unwrap();
    let (host, path) = rest.split('?').next().unwrap().split_once('/').unwrap();
    let query = ObservedEvent::Dns(DnsQuery {
        name: host.to_owned(),
        record: "A".to_owned(),
        answered: false,
        fault: None,
    });
    let call = ObservedEvent::Aws(AwsCall {
        service: CalledService::Outside,
        method: method.to_owned(),
        host: host.to_owned(),
        path: format!("/{path}"),
        known: false,
        ..aws(Service::Ec2, request, 0)
    });
    [query, call]
}

fn download() -> [ObservedEvent; 2] {
    refused(&format!("GET {URL}"))
}

/// A join with these events after a download that nothing answered.
fn after_download<const N: usize>(name: &'static str, events: [ObservedEvent; N]) -> Case {
    Case::new(name, after_boot(download()).into_iter().chain(events))
}

/// A request for a tunnel to EC2 inside of TLS.
fn tunnel() -> ObservedEvent {
    ObservedEvent::Aws(AwsCall {
        service: CalledService::Outside,
        method: "CONNECT".to_owned(),
        host: "ec2.eu-west-1.amazonaws.com".to_owned(),
        known: false,
        error: Some(TLS_PROXY.to_owned()),
        ..aws(Service::Ec2, "CONNECT ec2.eu-west-1.amazonaws.com:443", 501)
    })
}

const TLS: &str = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  instance:\n    environment:\n      default:\n        \
                   HTTPS_PROXY: https://proxy.example.com\n";

pub(super) fn cases() -> Vec<Case> {
    let empty = || cloud("curl: (52) Empty reply from server");
    vec![
        after_download("download by curl", [empty(), failed_part()]),
        after_download(
            "download by wget",
            [
                cloud(
                    "Connecting to downloads.example.com (downloads.example.com)|169.254.171.2|:443... connected.",
                ),
                cloud("HTTP request sent, awaiting response... No data received."),
                cloud("Giving up."),
                failed_part(),
            ],
        ),
        after_download(
            "download by a program that names the host",
            [
                cloud("Get \"https://downloads.example.com/agent/agent.tar.gz\": EOF"),
                cloud("ERROR: no agent"),
                failed_part(),
            ],
        ),
        after_download("download without output", [failed_part()]),
        after_download(
            "download whose file the script opens",
            [
                empty(),
                cloud("tar (child): agent.tar.gz: Cannot open: No such file or directory"),
                failed_part(),
            ],
        ),
        Case::new(
            "download that is repeated",
            [boot(), imds()]
                .into_iter()
                .chain((0..5).flat_map(|_| download())),
        ),
        Case::new("proxy that expects TLS", after_boot([tunnel()])).user_data(TLS),
        Case::new("proxy that expects TLS, of a program", after_boot([tunnel()])),
        Case::new(
            "proxy that expects TLS, which has no address",
            after_boot([journal(
                "nodeadm-config.service",
                "nodeadm",
                "fatal nodeadm:106 Command failed {\"error\": \"operation error EC2: DescribeInstances, Failed to connect to proxy URL: \
                 \\\"https://proxy.example.com\\\"\"}",
            )]),
        )
        .user_data(TLS),
        Case::new(
            "HTTP proxy that the scenario does not have",
            after_boot([cloud("curl: (5) Could not resolve proxy: proxy.corp.internal")]),
        )
        .user_data("#!/bin/bash\nexport HTTPS_PROXY=http://proxy.corp.internal:3128\n"),
        after_download("download of a trial", [empty(), failed_part()]).plan(|plan| plan.is_trial = true),
        Case::new(
            "upload",
            after_boot(refused("POST https://hooks.example.com/boot?token=1"))
                .into_iter()
                .chain([empty(), failed_part()]),
        ),
        after_download(
            "download that the script does without, before a misspelt command",
            [
                empty(),
                cloud("/var/lib/cloud/instance/scripts/part-001: line 9: systemclt: command not found"),
                failed_part(),
            ],
        ),
        after_download(
            "download that the script does without, before a command that only an AMI has",
            [
                empty(),
                cloud("/var/lib/cloud/instance/scripts/part-001: line 9: nvidia-smi: command not found"),
                failed_part(),
            ],
        ),
        after_download(
            "download that the script does without, before another request",
            [
                ObservedEvent::Aws(aws(Service::Ec2, "DescribeTags", 200)),
                cloud("no team in the tags"),
                failed_part(),
            ],
        ),
        after_download(
            "download that the script does without, silently",
            [
                cloud("continuing without the agent"),
                cloud("mounting the disks"),
                cloud("reading the labels"),
                cloud("bootstrap.sh: no labels"),
                failed_part(),
            ],
        ),
        after_query(
            "download by a program with authorities of its own",
            [
                cloud(PIP),
                cloud(
                    "ERROR: Could not find a version that satisfies the requirement ansible (from versions: none)",
                ),
                cloud("ERROR: No matching distribution found for ansible"),
                failed_part(),
            ],
        ),
        after_query(
            "certificate of the cluster by another authority",
            [cloud(OF_THE_CLUSTER), failed_part()],
        ),
    ]
}

const PIP: &str = "Could not fetch URL https://pypi.org/simple/ansible/: There was a problem confirming the ssl \
                   certificate: HTTPSConnectionPool(host='pypi.org', port=443): Max retries exceeded with url: \
                   /simple/ansible/ (Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] \
                   certificate verify failed: unable to get local issuer certificate (_ssl.c:1006)'))) - skipping";

const OF_THE_CLUSTER: &str = "curl: (60) SSL certificate problem: unable to get local issuer certificate: \
                              0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com";

/// A join with these events after the query for a name outside.
fn after_query<const N: usize>(name: &'static str, events: [ObservedEvent; N]) -> Case {
    let [query, _] = refused("GET https://pypi.org/simple/ansible/");
    Case::new(name, after_boot([query]).into_iter().chain(events))
}
