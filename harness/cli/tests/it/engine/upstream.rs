//! A node whose user data calls services that moto answers.

use serde_json::Value;

use crate::moto::Moto;
use crate::support::folder;
use crate::support::running_command::RunningCommand;

const SCENARIO: &str = include_str!("../../../../../ci/on-demand/upstream.yaml");
const URL: &str = "http://127.0.0.1:5000";

#[test]
fn a_node_stores_an_object_and_sends_a_message_to_moto() {
    let moto = Moto::start();
    let scenario = SCENARIO.replace(URL, &format!("http://{}", moto.address));
    assert_ne!(scenario, SCENARIO);
    let folder = folder(&[("upstream.yaml", &scenario)]);
    let ended = RunningCommand::start(folder.path(), &["--evidence", "always"]).finish();
    assert_eq!(ended.code, Some(0), "{}", ended.verdicts());
    let text = std::fs::read_to_string(ended.evidence().join("aws.ndjson")).unwrap();
    let calls: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let has = |service: &str, operation: &str| {
        let mut of_service = calls.iter().filter(|call| call["service"] == service);
        of_service
            .any(|call| call["operation"] == operation && call["upstream"] == true && call["status"] == 200)
    };
    for (service, operation) in [
        ("s3", "GetObject"),
        ("sqs", "CreateQueue"),
        ("sqs", "SendMessage"),
    ] {
        assert!(has(service, operation), "{service} {operation}: {text}");
    }
    let message = moto.get("sqs", "/123456789012/joins?Action=ReceiveMessage");
    assert!(message.contains(r#""i-0b22a22eec53b9321 joins""#), "{message}");
}
