//! Values that the scenario schema refuses, each with its position and a hint.

use super::{check, parse};
use crate::input::problem::{Problem, ScenarioError};
use crate::scenario::scenario_schema;

fn problems(text: &str) -> Vec<Problem> {
    check("f", scenario_schema(), &parse(text).unwrap())
}

/// YAML after `name: x`.
const REFUSED: &[&str] = &[
    "intsance: {}",
    "instance: { privateIp: 1.2.3.4 }",
    "expect: { node: { label: {} } }",
    "cni: brige",
    "cni: 3",
    "account: 111122223333",
    "user_data: [x]",
    "user_data: { parts: [{ type: shel, inline: x }] }",
    "user_data: { parts: [{ inline: x }] }",
    "expect:\n  diagnosis: role-not-maped",
    "faults: [{ service: imds, effect: delay-ms }]",
    "faults: [{ service: imds, effect: { dely-ms: 3 } }]",
    "faults: [{ service: imds, effect: { error: { statu: 3 } } }]",
    "faults: [{ service: imds, effect: { error: { status: 99999 } } }]",
    "faults: [{ service: dynamodb, effect: refuse }]",
    "expect: { aws: { eks.DescribeCluster: -1 } }",
    "expect: { aws: { eks.DescribeCluster: lots } }",
    "limits: { join_seconds: soon }",
    "region:",
    "instance: { tags: { a: true } }",
];

#[test]
fn each_problem_has_its_position_and_a_hint() {
    let reports = REFUSED.iter().map(|yaml| {
        let problems = problems(&format!("name: x\n{yaml}\n"));
        assert!(!problems.is_empty(), "{yaml}");
        (*yaml, ScenarioError { problems }.with_hints())
    });
    insta::assert_snapshot!(crate::testing::listing(reports));
}

#[test]
fn all_problems_are_reported_at_once() {
    let found = problems("nam: x\ncni: brige\nlimits: { settle: 3 }\n");
    assert_eq!(found.len(), 4, "{found:#?}");
}

#[test]
fn values_that_the_schema_allows_pass() {
    let text = "name: x\ninstance: { role: null }\ncluster: { service_ipv4_cidr: ~, status: [{ status: ACTIVE }] }\n\
        faults: [{ service: eks, effect: { delay-ms: 3 }, until_seconds: 2 }]\nuser_data: |\n  #!/bin/sh\n\
        expect: { aws: { eks.DescribeCluster: { min: 1 }, sts.X: 0 }, kubelet: { config: { a: [1, { b: ~ }] } } }\n";
    assert_eq!(problems(text), []);
}
