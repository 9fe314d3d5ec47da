//! Values that the schema of a scenario refuses, each with its place and the way out.

use super::{check, parse};
use crate::input::schema::scenario_schema;

fn problems(text: &str) -> Vec<(u64, u64, String, Option<String>)> {
    check("f", &scenario_schema(), &parse(text).unwrap())
        .into_iter()
        .map(|p| (p.place.line, p.place.column, p.to_string(), p.hint))
        .collect()
}

/// Each: YAML after `name: x`, the place, what the message holds, what the hint holds.
const REFUSED: &[(&str, (u64, u64), &str, &str)] = &[
    ("intsance: {}", (2, 1), "`intsance`: unknown key", "`instance`"),
    (
        "instance: { privateIp: 1.2.3.4 }",
        (2, 13),
        "`instance.privateIp`: unknown key",
        "`private_ip`",
    ),
    (
        "expect: { node: { label: {} } }",
        (2, 19),
        "`expect.node.label`",
        "`labels`",
    ),
    ("cni: brige", (2, 6), "`cni`: unknown value `brige`", "`bridge`"),
    ("cni: 3", (2, 6), "`cni`: wrong type", ""),
    (
        "account: 111122223333",
        (2, 10),
        "it must be text, not a number",
        "quotes",
    ),
    (
        "user_data: [x]",
        (2, 12),
        "it must be text or a mapping, not a list",
        "",
    ),
    (
        "user_data: { parts: [{ type: shel, inline: x }] }",
        (2, 30),
        "`user_data.parts[0].type`",
        "`shell`",
    ),
    (
        "user_data: { parts: [{ inline: x }] }",
        (2, 22),
        "the key `type` is missing",
        "add `type:`",
    ),
    (
        "expect:\n  diagnosis: role-not-maped",
        (3, 14),
        "`expect.diagnosis`",
        "`role-not-mapped`",
    ),
    (
        "faults: [{ service: imds, effect: delay-ms }]",
        (2, 35),
        "`faults[0].effect`",
        "takes a value",
    ),
    (
        "faults: [{ service: imds, effect: { dely-ms: 3 } }]",
        (2, 37),
        "unknown key",
        "`delay-ms`",
    ),
    (
        "faults: [{ service: imds, effect: { error: { statu: 3 } } }]",
        (2, 44),
        "`status` is missing",
        "add",
    ),
    (
        "faults: [{ service: imds, effect: { error: { status: 99999 } } }]",
        (2, 54),
        "too large",
        "",
    ),
    (
        "faults: [{ service: s3, effect: refuse }]",
        (2, 21),
        "unknown value `s3`",
        "values: ",
    ),
    (
        "expect: { aws: { eks.DescribeCluster: -1 } }",
        (2, 39),
        "too small",
        "",
    ),
    (
        "expect: { aws: { eks.DescribeCluster: lots } }",
        (2, 39),
        "a whole number or a mapping",
        "",
    ),
    (
        "limits: { join_seconds: soon }",
        (2, 25),
        "it must be a number, not text",
        "",
    ),
    (
        "region:",
        (2, 7),
        "it must be text, not nothing",
        "remove the key",
    ),
    (
        "instance: { tags: { a: true } }",
        (2, 24),
        "`instance.tags.a`",
        "quotes",
    ),
];

#[test]
fn each_fault_is_told_at_its_place_with_the_way_out() {
    for (yaml, place, message, hint) in REFUSED {
        let found = problems(&format!("name: x\n{yaml}\n"));
        assert!(!found.is_empty(), "{yaml}: nothing refused");
        let (line, column, text, told) = &found[0];
        assert_eq!((*line, *column), *place, "{yaml}: {text}");
        assert!(text.contains(message), "{yaml}: {text}");
        assert!(
            told.as_deref().unwrap_or_default().contains(hint),
            "{yaml}: hint {told:?}"
        );
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let found = problems("nam: x\ncni: brige\nlimits: { settle: 3 }\n");
    assert_eq!(found.len(), 4, "{found:#?}");
}

#[test]
fn what_the_schema_allows_passes() {
    let text = "name: x\ninstance: { role: null }\ncluster: { service_ipv4_cidr: ~, status: [{ status: ACTIVE }] }\n\
        faults: [{ service: eks, effect: { delay-ms: 3 }, until_seconds: 2 }]\nuser_data: |\n  #!/bin/sh\n\
        expect: { aws: { eks.DescribeCluster: { min: 1 }, sts.X: 0 }, kubelet: { config: { a: [1, { b: ~ }] } } }\n";
    assert_eq!(problems(text), []);
}
