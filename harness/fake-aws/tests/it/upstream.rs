//! Services that moto answers: the AWS CLI and boto3 as clients, moto from PyPI as the emulator.

use std::net::{SocketAddr, TcpListener};

use crate::support::Fakes;
use crate::support::clients::{AwsClients, error, json_of, out};
use crate::support::moto::Moto;
use nodejoin_fake_aws::World;
use serde_json::Value;

fn forwarded(services: &[&str], address: SocketAddr) -> impl Fn(&mut World) + use<> {
    forwarded_to(services, &format!("http://{address}"))
}

fn forwarded_to(services: &[&str], url: &str) -> impl Fn(&mut World) + use<> {
    let upstream: Vec<(String, String)> = services
        .iter()
        .map(|service| ((*service).to_owned(), url.to_owned()))
        .collect();
    move |world| {
        for (service, url) in &upstream {
            world.aws.upstream.insert(service.clone(), url.parse().unwrap());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn moto_answers_services_of_every_protocol_and_the_transcript_says_so() {
    let moto = Moto::start();
    // `sns` is one that the fake does not emulate; `ssm` is one that it emulates.
    let services = ["dynamodb", "sns", "lambda", "ssm"];
    let mut fakes = Fakes::start(forwarded(&services, moto.address));
    let aws = AwsClients::of(&fakes).await;
    let cli = async |arguments: &[&str]| json_of(&aws.cli(arguments).await);
    let table = [
        "dynamodb",
        "create-table",
        "--table-name",
        "nodes",
        "--billing-mode",
        "PAY_PER_REQUEST",
        "--attribute-definitions",
        "AttributeName=id,AttributeType=S",
        "--key-schema",
        "AttributeName=id,KeyType=HASH",
    ];
    assert_eq!(cli(&table).await["TableDescription"]["TableName"], "nodes");
    let put = [
        "dynamodb",
        "put-item",
        "--table-name",
        "nodes",
        "--item",
        r#"{"id":{"S":"a b+c"}}"#,
    ];
    aws.cli(&put).await;
    let item = cli(&[
        "dynamodb",
        "get-item",
        "--table-name",
        "nodes",
        "--key",
        r#"{"id":{"S":"a b+c"}}"#,
    ])
    .await;
    assert_eq!(item["Item"]["id"]["S"], "a b+c");
    assert!(cli(&["sns", "create-topic", "--name", "t"]).await["TopicArn"].is_string());
    assert_eq!(
        cli(&["lambda", "list-functions"]).await["Functions"],
        Value::Array(Vec::new())
    );
    cli(&[
        "ssm",
        "put-parameter",
        "--name",
        "/a",
        "--value",
        "v",
        "--type",
        "String",
    ])
    .await;
    assert_eq!(
        cli(&["ssm", "get-parameter", "--name", "/a"]).await["Parameter"]["Value"],
        "v"
    );
    let missing = error(
        &aws.cli(&["dynamodb", "describe-table", "--table-name", "none"])
            .await,
    );
    assert!(missing.contains("(ResourceNotFoundException)"), "{missing}");
    // The fake answers the rest.
    assert_eq!(
        cli(&["sts", "get-caller-identity"]).await["Account"],
        "111122223333"
    );
    let calls = fakes.calls();
    let of = |service: &str| {
        let found = calls.iter().filter(|call| call.service.word() == service);
        found.collect::<Vec<_>>()
    };
    for service in services {
        assert!(!of(service).is_empty(), "{service}");
        assert!(
            of(service).iter().all(|call| call.upstream && call.known),
            "{service}"
        );
    }
    assert!(of("sts").iter().all(|call| !call.upstream));
    let dynamodb = of("dynamodb");
    let last = dynamodb.last().unwrap();
    assert_eq!(
        (last.operation.as_str(), last.status, last.error.as_deref()),
        ("DescribeTable", 400, Some("ResourceNotFoundException"))
    );
    assert!(
        last.authorization
            .as_deref()
            .is_some_and(|id| id.starts_with("ASIA"))
    );
    fakes.end().await;
}

/// boto3 sends uploads in chunks, whose hash no header has. The AWS CLI sends requests for queues to the older host
/// name of SQS. moto names its own scheme in the URL of a queue.
const UPLOADS_AND_QUEUES: &str = r#"
import boto3
s3, sqs = boto3.client("s3"), boto3.client("sqs")
s3.create_bucket(Bucket="nodes", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
s3.put_object(Bucket="nodes", Key="a b/c+d", Body=b"text", ContentType="application/json")
print(s3.get_object(Bucket="nodes", Key="a b/c+d")["Body"].read())
large = bytes(range(256)) * 4096 * 10
s3.put_object(Bucket="nodes", Key="large", Body=large, ChecksumAlgorithm="SHA256")
print(s3.get_object(Bucket="nodes", Key="large")["Body"].read() == large)
print(s3.head_object(Bucket="nodes", Key="large")["ContentLength"] == len(large))
print([found["Key"] for found in s3.list_objects_v2(Bucket="nodes")["Contents"]])
url = s3.generate_presigned_url("get_object", Params={"Bucket": "nodes", "Key": "a b/c+d"})
print(url.split("?")[0])
queue = sqs.create_queue(QueueName="q")["QueueUrl"]
print(queue)
sqs.send_message(QueueUrl=queue, MessageBody="it's <http://127.0.0.1/>")
print(sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"])
"#;

#[tokio::test(flavor = "multi_thread")]
async fn moto_stores_uploads_and_messages_over_http_and_https() {
    for (scheme, options) in [("http", &[][..]), ("https", &["--ssl"])] {
        let moto = Moto::start_with(options);
        let url = format!("{scheme}://{}", moto.address);
        let mut fakes = Fakes::start(forwarded_to(&["s3", "sqs"], &url));
        let aws = AwsClients::of(&fakes).await;
        let expected = [
            "b'text'",
            "True",
            "True",
            "['a b/c+d', 'large']",
            "https://nodes.s3.amazonaws.com/a%20b/c%2Bd",
            "https://sqs.eu-west-1.amazonaws.com/123456789012/q",
            "it's <http://127.0.0.1/>",
        ];
        let found = aws.python(UPLOADS_AND_QUEUES).await;
        assert_eq!(found.lines().collect::<Vec<_>>(), expected, "{scheme}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("upload");
        std::fs::write(&file, vec![b'x'; 9 * 1024 * 1024]).unwrap();
        let file = file.to_str().unwrap();
        out(&aws.cli(&["s3", "cp", "--quiet", file, "s3://nodes/parts"]).await);
        let head = json_of(
            &aws.cli(&["s3api", "head-object", "--bucket", "nodes", "--key", "parts"])
                .await,
        );
        assert_eq!(head["ContentLength"], 9 * 1024 * 1024);
        let queue = json_of(&aws.cli(&["sqs", "get-queue-url", "--queue-name", "q"]).await);
        let queue = queue["QueueUrl"].as_str().unwrap().to_owned();
        let send = [
            "sqs",
            "send-message",
            "--queue-url",
            &queue,
            "--message-body",
            "m",
        ];
        assert!(json_of(&aws.cli(&send).await)["MessageId"].is_string());
        let calls = fakes.calls();
        let forwarded = calls
            .iter()
            .filter(|call| ["s3", "sqs"].contains(&call.service.word()));
        let forwarded: Vec<_> = forwarded.collect();
        assert!(
            forwarded.iter().all(|call| call.upstream && call.status == 200),
            "{forwarded:?}"
        );
        let hosts: Vec<&str> = forwarded.iter().map(|call| call.host.as_str()).collect();
        for host in [
            "nodes.s3.eu-west-1.amazonaws.com",
            "eu-west-1.queue.amazonaws.com",
        ] {
            assert!(hosts.contains(&host), "{host}: {hosts:?}");
        }
        fakes.end().await;
    }
}

/// No emulator is needed: a refused request never reaches it.
#[tokio::test(flavor = "multi_thread")]
async fn signatures_and_permissions_are_checked_before_a_request_is_forwarded() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let services = ["dynamodb", "sns", "lambda", "efs"];
    let mut fakes = Fakes::start(|world| {
        forwarded(&services, closed)(world);
        let role = world.role.as_mut().unwrap();
        role.allow = Some(vec![
            "dynamodb:Get*".into(),
            "sns:*".into(),
            "lambda:GetFunction".into(),
        ]);
        role.deny = vec!["sns:Publish".into()];
    });
    let aws = AwsClients::of(&fakes).await;
    let table: [(&[&str], &str); 6] = [
        (
            &["dynamodb", "list-tables"],
            "(AccessDeniedException) when calling the ListTables operation: User: arn:aws:sts::111122223333:assumed-role/\
demo-role/i-0b22a22eec53b9321 is not authorized to perform: dynamodb:ListTables because no identity-based policy allows \
the dynamodb:ListTables action",
        ),
        (
            &[
                "sns",
                "publish",
                "--topic-arn",
                "arn:aws:sns:eu-west-1:111122223333:t",
                "--message",
                "m",
            ],
            "(AccessDenied) when calling the Publish operation: User: arn:aws:sts::111122223333:assumed-role/demo-role/\
i-0b22a22eec53b9321 is not authorized to perform: sns:Publish with an explicit deny in an identity-based policy",
        ),
        // An operation of a REST service is a method and a path: any pattern for the service allows it.
        (&["efs", "describe-file-systems"], "(AccessDeniedException)"),
        (&["lambda", "list-functions"], "(UpstreamUnreachable)"),
        (&["sns", "list-topics"], "(UpstreamUnreachable)"),
        (
            &["dynamodb", "get-item", "--table-name", "t", "--key", "{}"],
            "(UpstreamUnreachable) when calling the GetItem operation: nodejoin received no response from http://127.0.0.1:",
        ),
    ];
    for (arguments, words) in table {
        let output = error(&aws.cli(arguments).await);
        assert!(output.contains(words), "{arguments:?}: {output}");
        let calls = fakes.calls();
        let of_services: Vec<_> = calls
            .iter()
            .filter(|call| call.service.word() != "imds")
            .collect();
        assert!(
            matches!(of_services.as_slice(), [call] if !call.upstream),
            "one call, no retry: {of_services:?}"
        );
    }
    let program = r#"
import boto3, botocore.exceptions
for key in {"aws_secret_access_key": "wrong", "aws_access_key_id": "ASIAIOSFODNN7EXAMPLE"}, {}:
    real = boto3.Session().get_credentials().get_frozen_credentials()
    arguments = dict(aws_access_key_id=real.access_key, aws_secret_access_key=real.secret_key, aws_session_token=real.token)
    arguments.update(key or {"aws_secret_access_key": "wrong"})
    try:
        boto3.client("dynamodb", **arguments).get_item(TableName="t", Key={})
    except botocore.exceptions.ClientError as error:
        print(error.response["Error"]["Code"])
"#;
    assert_eq!(
        aws.python(program).await.trim(),
        "UnrecognizedClientException\nInvalidSignatureException"
    );
    fakes.end().await;
}

/// A port that accepts connections and never speaks HTTP.
#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_is_no_http_server_has_a_clear_error() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in other.incoming() {
            let _ = std::io::Write::write_all(&mut stream.unwrap(), b"220 mail ready\r\n");
        }
    });
    let fakes = Fakes::start(forwarded(&["dynamodb"], address));
    let aws = AwsClients::of(&fakes).await;
    let output = error(&aws.cli(&["dynamodb", "list-tables"]).await);
    assert!(output.contains("it does not speak HTTP"), "{output}");
    fakes.end().await;
}
