//! Answers of the scenario, by the AWS CLI and curl.

use crate::support::Fakes;
use crate::support::clients::{AwsClients, curl, curl_host, error, json_of, metadata, token};
use nodejoin_core::plan::answer::Answer;

fn fakes(answers: &[&str]) -> Fakes {
    let answers: Vec<Answer> = answers
        .iter()
        .map(|answer| serde_json::from_str(answer).unwrap())
        .collect();
    Fakes::start(|world| world.aws.answers = answers)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cli_receives_the_answers_to_its_operations() {
    let mut fakes = fakes(&[
        r#"{ "service": "kms", "operation": "Decrypt", "json": { "Plaintext": "aGk=" } }"#,
        r#"{ "service": "elbv2", "body": "<R><DescribeTagsResult><TagDescriptions/></DescribeTagsResult></R>",
             "headers": { "Content-Type": "text/xml" } }"#,
        r#"{ "service": "ec2", "operation": "RunInstances", "status": 403,
             "body": "<Response><Errors><Error><Code>No</Code><Message>not today</Message></Error></Errors></Response>" }"#,
        r#"{ "service": "efs", "path": "/2015-02-01/file-systems", "json": { "FileSystems": [] } }"#,
    ]);
    let aws = AwsClients::of(&fakes).await;
    let decrypted = json_of(&aws.cli(&["kms", "decrypt", "--ciphertext-blob", "aGk="]).await);
    assert_eq!(decrypted["Plaintext"], "aGk=");
    let arn = "arn:aws:elasticloadbalancing:eu-west-1:111122223333:loadbalancer/x";
    let tags = json_of(&aws.cli(&["elbv2", "describe-tags", "--resource-arns", arn]).await);
    assert_eq!(tags["TagDescriptions"], serde_json::json!([]));
    let run = error(&aws.cli(&["ec2", "run-instances", "--image-id", "ami-1"]).await);
    assert!(run.contains("(No)") && run.contains("not today"), "{run}");
    let systems = json_of(&aws.cli(&["efs", "describe-file-systems"]).await);
    assert_eq!(systems["FileSystems"], serde_json::json!([]));
    let calls = fakes.calls();
    assert!(calls.iter().all(|call| call.known), "{calls:?}");
    let answers: Vec<usize> = calls.iter().filter_map(|call| call.answer).collect();
    assert_eq!(answers, [0, 1, 2, 3]);
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_paths_and_metadata_have_answers_by_count() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.tar.gz");
    std::fs::write(&file, b"\x1f\x8b\xffbytes").unwrap();
    let stored = format!(
        r#"{{ "host": "downloads.example.com", "path": "/agent/*", "file": "{}" }}"#,
        file.display()
    );
    let fakes = fakes(&[
        r#"{ "host": "downloads.example.com", "status": 503, "times": 1, "headers": { "Retry-After": "0" } }"#,
        &stored,
        r#"{ "service": "imds", "path": "/latest/meta-data/tags/instance/role", "body": "worker" }"#,
    ]);
    let url = "https://downloads.example.com/agent/1.tar.gz";
    let first = curl_host(&fakes, &[url]).await;
    assert_eq!((first.status, first.header("retry-after")), (503, Some("0")));
    let second = curl_host(&fakes, &[url]).await;
    assert_eq!(
        (second.status, second.body.as_slice()),
        (200, &b"\x1f\x8b\xffbytes"[..])
    );
    let path = "/latest/meta-data/tags/instance/role";
    let answered = metadata(&fakes, &token(&fakes).await, path).await;
    assert_eq!((answered.status, answered.text().as_str()), (200, "worker"));
    // The metadata service still requires its token.
    assert_eq!(curl(&[&fakes.metadata(path)]).await.status, 401);
    fakes.end().await;
}
