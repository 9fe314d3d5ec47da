//! What the tools request, how they prove themselves, and what they do with the responses.

use serde_json::{Value, json};

use super::{Node, Service, at};

#[test]
fn the_instance_proves_itself_with_its_identity_or_a_role() {
    let node = Node::new();
    let service = Service::start(&json!({ "AWS::CloudFormation::Init": { "config": {} } }));
    assert_eq!(node.init_with(&service, &[]), (0, String::new()));
    assert_eq!(node.init_with(&service, &["--role", "node"]), (0, String::new()));
    let requests = service.requests();
    for part in [
        "Action=DescribeStackResource",
        "StackName=nodes",
        "LogicalResourceId=Worker",
    ] {
        assert!(
            requests.iter().all(|request| request.contains(part)),
            "{requests:?}"
        );
    }
    assert!(
        requests[0].ends_with(" CFN_V1 eyJpbnN0YW5jZUlkIjoiaS0wYWJjIn0=:signedhere"),
        "{requests:?}"
    );
    assert!(
        requests[1].contains(" AWS4-HMAC-SHA256 Credential=ASIA1/"),
        "{requests:?}"
    );
    assert!(
        requests[1].contains("/eu-west-1/cloudformation/aws4_request, "),
        "{requests:?}"
    );
}

#[test]
fn errors_of_cloudformation_and_missing_metadata_are_reported() {
    let node = Node::new();
    let service = Service::start(&json!({ "Other": 1 }));
    let read = |resource| node.run(&service, "cfn-init", &["-s", "nodes", "-r", resource]);
    let missing = read("None");
    let errors = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(
        (missing.status.code(), errors.as_str()),
        (
            Some(1),
            "cfn-init: ValidationError: Resource None does not exist\n"
        )
    );
    // As there: a resource without the key is not an error.
    let other = read("Worker");
    let errors = String::from_utf8(other.stderr).unwrap();
    assert!(other.status.success() && errors.contains("Could not find 'AWS::CloudFormation::Init' key"));
    let unknown = node.run(&service, "cfn-init", &["-s", "nodes", "-r", "Worker", "--resume"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn downloads_prove_themselves_as_the_metadata_says() {
    let node = Node::new();
    let service = Service::start(&Value::Null);
    let host = service.url.trim_start_matches("http://").to_owned();
    let files = json!({ at(&node, "a"): { "source": format!("{}/file", service.url) },
        at(&node, "b"): { "source": format!("{}/file", service.url), "authentication": "s3" } });
    let metadata = json!({
        "AWS::CloudFormation::Init": { "config": { "files": files,
            "sources": { at(&node, "unpacked"): format!("{}/archive.tar", service.url) } } },
        "AWS::CloudFormation::Authentication": {
            "basic": { "type": "basic", "username": "me", "password": "it", "uris": [host] },
            "s3": { "type": "S3", "roleName": "node", "buckets": ["files"] } } });
    let stack = Service::start(&metadata);
    assert_eq!(node.init_with(&stack, &[]), (0, String::new()));
    assert_eq!(node.read("unpacked/agent/version"), "1.2");
    let requests = service.requests();
    assert!(
        requests[0].ends_with("/archive.tar HTTP/1.1 Basic bWU6aXQ="),
        "{requests:?}"
    );
    assert!(
        requests[1].ends_with("/file HTTP/1.1 Basic bWU6aXQ="),
        "{requests:?}"
    );
    assert!(
        requests[2].contains("/eu-west-1/s3/aws4_request, "),
        "{requests:?}"
    );
}

#[test]
fn signals_have_the_id_of_the_instance_and_the_result() {
    let node = Node::new();
    let service = Service::start(&Value::Null);
    for (arguments, status) in [
        (&["-e", "0"][..], "SUCCESS"),
        (&["--exit-code", "3"], "FAILURE"),
        (&["-s", "false"], "FAILURE"),
        (&[], "SUCCESS"),
    ] {
        let stack = ["--stack", "nodes", "--resource", "NodeGroup"];
        let output = node.run(&service, "cfn-signal", &[&stack[..], arguments].concat());
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let [request] = <[String; 1]>::try_from(service.requests()).unwrap();
        for part in [
            "Action=SignalResource",
            "UniqueId=i-0abc",
            &format!("Status={status}&"),
        ] {
            assert!(request.contains(part), "{request}");
        }
    }
}

#[test]
fn metadata_is_printed_whole_or_by_its_key() {
    let node = Node::new();
    let service = Service::start(&json!({ "a": { "b": [1] } }));
    let read = |arguments: &[&str]| {
        let stack = ["-s", "nodes", "-r", "Worker"];
        let output = node.run(&service, "cfn-get-metadata", &[&stack[..], arguments].concat());
        (
            output.status.code(),
            serde_json::from_slice::<Value>(&output.stdout).ok(),
        )
    };
    assert_eq!(read(&[]), (Some(0), Some(json!({ "a": { "b": [1] } }))));
    assert_eq!(read(&["-k", "a.b"]), (Some(0), Some(json!([1]))));
    assert_eq!(read(&["-k", "a.c"]), (Some(1), None));
}
