//! Parameters, secrets and objects of the scenario, by the AWS CLI, boto3 and curl.

use crate::support::Fakes;
use crate::support::clients::{AwsClients, curl_host, error, json_of, out};
use nodejoin_core::plan::aws::AwsPlan;
use nodejoin_fake_aws::World;
use serde_json::json;

pub(crate) fn with(world: &mut World, resources: serde_json::Value) {
    world.aws = serde_json::from_value::<AwsPlan>(resources).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cli_reads_parameters() {
    let mut fakes = Fakes::start(|world| {
        let mut parameters = json!({
            "/demo/name": "demo",
            "/demo/list": { "type": "StringList", "value": "a,b" },
            "/demo/deep/token": { "type": "SecureString", "value": "secret" },
            "plain": "x",
        });
        for number in 0..12 {
            parameters[format!("/many/{number:02}")] = json!(number.to_string());
        }
        with(world, json!({ "parameters": parameters }));
        world.role.as_mut().unwrap().deny = vec!["ssm:GetParametersByPath".into()];
    });
    let aws = AwsClients::of(&fakes).await;
    let get = json_of(&aws.cli(&["ssm", "get-parameter", "--name", "/demo/name"]).await);
    let parameter = &get["Parameter"];
    assert_eq!(
        (&parameter["Value"], &parameter["Type"]),
        (&json!("demo"), &json!("String"))
    );
    assert_eq!(
        parameter["ARN"],
        "arn:aws:ssm:eu-west-1:111122223333:parameter/demo/name"
    );
    let value = ["--query", "Parameter.Value", "--output", "text"];
    let secure = ["ssm", "get-parameter", "--name", "/demo/deep/token"];
    assert_ne!(out(&aws.cli(&[&secure[..], &value].concat()).await), "secret");
    let decrypted = [&secure[..], &["--with-decryption"], &value].concat();
    assert_eq!(out(&aws.cli(&decrypted).await), "secret");
    let several = ["ssm", "get-parameters", "--names", "plain", "/demo/list", "none"];
    let several = json_of(&aws.cli(&several).await);
    assert_eq!(several["InvalidParameters"], json!(["none"]));
    assert_eq!(several["Parameters"].as_array().unwrap().len(), 2);
    let missing = error(&aws.cli(&["ssm", "get-parameter", "--name", "/none"]).await);
    assert!(missing.contains("(ParameterNotFound)"), "{missing}");
    let elsewhere = [
        "--region",
        "us-east-1",
        "ssm",
        "get-parameter",
        "--name",
        "/demo/name",
    ];
    let elsewhere = error(&aws.cli(&elsewhere).await);
    assert!(elsewhere.contains("(ParameterNotFound)"), "{elsewhere}");
    let denied = error(
        &aws.cli(&["ssm", "get-parameters-by-path", "--path", "/many"])
            .await,
    );
    assert!(
        denied.contains("is not authorized to perform: ssm:GetParametersByPath"),
        "{denied}"
    );
    let calls = fakes.calls();
    assert!(
        calls
            .iter()
            .any(|call| call.operation == "GetParameter" && call.subject.as_deref() == Some("/none"))
    );
    assert!(calls.iter().all(|call| call.known));
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_below_a_path_come_in_pages() {
    let fakes = Fakes::start(|world| {
        let parameters: serde_json::Map<_, _> = (0..12)
            .map(|number| (format!("/many/{number:02}"), json!("x")))
            .chain([("/many/deep/x".to_owned(), json!("y"))])
            .collect();
        with(world, json!({ "parameters": parameters }));
    });
    let aws = AwsClients::of(&fakes).await;
    let below = ["ssm", "get-parameters-by-path", "--path", "/many/"];
    let count = |listed: serde_json::Value| listed["Parameters"].as_array().unwrap().len();
    assert_eq!(count(json_of(&aws.cli(&below).await)), 12);
    assert_eq!(
        count(json_of(&aws.cli(&[&below[..], &["--recursive"]].concat()).await)),
        13
    );
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cli_reads_and_deletes_secrets() {
    let fakes = Fakes::start(|world| {
        let secrets = json!({ "demo/text": "{\"password\":\"x\"}", "part-0": { "binary": "aGVsbG8=" } });
        with(world, json!({ "secrets": secrets }));
    });
    let aws = AwsClients::of(&fakes).await;
    let get = |id| ["secretsmanager", "get-secret-value", "--secret-id", id];
    let text = json_of(&aws.cli(&get("demo/text")).await);
    assert_eq!(text["SecretString"], "{\"password\":\"x\"}");
    let arn = text["ARN"].as_str().unwrap();
    assert_eq!(json_of(&aws.cli(&get(arn)).await)["Name"], "demo/text");
    let elsewhere = [&["--region", "us-east-1"][..], &get("demo/text")].concat();
    let elsewhere = error(&aws.cli(&elsewhere).await);
    assert!(elsewhere.contains("(ResourceNotFoundException)"), "{elsewhere}");
    // The boothook of Cluster API reads the parts of user data so, and deletes them.
    let query = ["--output", "text", "--query", "SecretBinary"];
    assert_eq!(
        out(&aws.cli(&[&get("part-0")[..], &query].concat()).await),
        "aGVsbG8="
    );
    let delete = [
        "secretsmanager",
        "delete-secret",
        "--force-delete-without-recovery",
        "--secret-id",
        "part-0",
    ];
    assert_eq!(json_of(&aws.cli(&delete).await)["Name"], "part-0");
    let missing = error(&aws.cli(&get("part-0")).await);
    assert!(missing.contains("(ResourceNotFoundException)"), "{missing}");
    fakes.end().await;
}

/// A value of another version, or with a condition that is not read, is an error and not another value.
#[tokio::test(flavor = "multi_thread")]
async fn other_versions_and_filters_are_refused() {
    let mut fakes = Fakes::start(|world| {
        let parameters = json!({ "/demo/name": "demo" });
        with(
            world,
            json!({ "parameters": parameters, "secrets": { "demo/text": "x" } }),
        );
    });
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, botocore.exceptions
ssm, secrets = boto3.client("ssm"), boto3.client("secretsmanager")
arn = "arn:aws:ssm:eu-west-1:111122223333:parameter/demo/name"
id = secrets.get_secret_value(SecretId="demo/text")["VersionId"]
for call in (
    lambda: ssm.get_parameter(Name="/demo/name:1"),
    lambda: ssm.get_parameter(Name=arn + ":1"),
    lambda: ssm.get_parameter(Name="/demo/name:2"),
    lambda: ssm.get_parameter(Name="/demo/name:label"),
    lambda: ssm.get_parameters(Names=["/demo/name", "/demo/name"]),
    lambda: ssm.get_parameters_by_path(Path="/demo", MaxResults=11),
    lambda: ssm.get_parameters_by_path(Path="/demo", NextToken="x"),
    lambda: ssm.get_parameters_by_path(Path="/demo", ParameterFilters=[{"Key": "Type", "Values": ["String"]}]),
    lambda: secrets.get_secret_value(SecretId="demo/text", VersionId=id, VersionStage="AWSCURRENT"),
    lambda: secrets.get_secret_value(SecretId="demo/text", VersionStage="AWSPREVIOUS"),
    lambda: secrets.get_secret_value(SecretId="demo/text", VersionId=id[::-1]),
):
    try:
        call()
        print("OK")
    except botocore.exceptions.ClientError as error:
        print(error.response["Error"]["Code"])
print(ssm.get_parameters(Names=["/demo/name:7"])["InvalidParameters"])
"#;
    let printed = aws.python(program).await;
    let expected = [
        "OK",
        "OK",
        "ParameterVersionNotFound",
        "ParameterVersionNotFound",
        "ValidationException",
        "ValidationException",
        "InvalidNextToken",
        "NotEmulated",
        "OK",
        "ResourceNotFoundException",
        "ResourceNotFoundException",
        "['/demo/name:7']",
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
    let calls = fakes.calls();
    let unread = calls.iter().find(|call| !call.known).unwrap();
    assert!(
        unread
            .message
            .as_ref()
            .unwrap()
            .contains("the parameter ParameterFilters of"),
        "{unread:?}"
    );
    fakes.end().await;
}

pub(crate) fn bucket(world: &mut World, folder: &std::path::Path) {
    std::fs::create_dir_all(folder.join("scripts")).unwrap();
    std::fs::write(folder.join("scripts/join node.sh"), "echo join\n").unwrap();
    // Larger than the CLI's limit for one request: it reads ranges in parallel.
    std::fs::write(folder.join("large.bin"), vec![7; 9 * 1024 * 1024]).unwrap();
    let objects = json!({ "config/a.env": "A=1\n" });
    with(
        world,
        json!({ "buckets": { "my.bucket": { "folder": folder, "objects": objects } } }),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cli_copies_and_lists_objects() {
    let folder = tempfile::tempdir().unwrap();
    let mut fakes = Fakes::start(|world| bucket(world, folder.path()));
    let aws = AwsClients::of(&fakes).await;
    assert_eq!(
        out(&aws.cli(&["s3", "cp", "s3://my.bucket/config/a.env", "-"]).await),
        "A=1"
    );
    assert_eq!(
        out(&aws
            .cli(&["s3", "cp", "s3://my.bucket/scripts/join node.sh", "-"])
            .await),
        "echo join"
    );
    let copies = tempfile::tempdir().unwrap();
    let to = copies.path().to_str().unwrap();
    out(&aws.cli(&["s3", "sync", "s3://my.bucket", to]).await);
    assert_eq!(
        std::fs::read(copies.path().join("large.bin")).unwrap(),
        vec![7; 9 * 1024 * 1024]
    );
    let listed = out(&aws.cli(&["s3", "ls", "s3://my.bucket/"]).await);
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    assert_eq!(names, ["config/", "scripts/", "large.bin"]);
    let page = [
        "s3api",
        "list-objects-v2",
        "--bucket",
        "my.bucket",
        "--page-size",
        "1",
    ];
    assert_eq!(
        json_of(&aws.cli(&page).await)["Contents"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let missing = error(
        &aws.cli(&[
            "s3api",
            "get-object",
            "--bucket",
            "my.bucket",
            "--key",
            "no",
            "/dev/null",
        ])
        .await,
    );
    assert!(missing.contains("(NoSuchKey)"), "{missing}");
    let missing = error(&aws.cli(&["s3", "ls", "s3://other"]).await);
    assert!(missing.contains("(NoSuchBucket)"), "{missing}");
    let put = error(
        &aws.cli(&["s3api", "put-object", "--bucket", "my.bucket", "--key", "x"])
            .await,
    );
    assert!(put.contains("(NotEmulated)"), "{put}");
    let calls = fakes.calls();
    let get = calls.iter().find(|call| call.operation == "GetObject").unwrap();
    assert_eq!(get.subject.as_deref(), Some("my.bucket/config/a.env"));
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn presigned_urls_of_both_styles_are_verified_and_denied_by_policy() {
    let folder = tempfile::tempdir().unwrap();
    let fakes = Fakes::start(|world| {
        bucket(world, folder.path());
        world.role.as_mut().unwrap().deny = vec!["s3:ListBucket".into()];
    });
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, botocore.config
for style in "path", "virtual":
    config = botocore.config.Config(s3={"addressing_style": style}, signature_version="s3v4")
    s3 = boto3.client("s3", config=config, region_name="eu-west-1")
    for key in "scripts/join node.sh", "none":
        print(s3.generate_presigned_url("get_object", Params={"Bucket": "my.bucket", "Key": key}))
"#;
    let urls = aws.python(program).await;
    let urls: Vec<&str> = urls.lines().collect();
    for (url, status, text) in [
        (urls[0], 200, "echo join\n"),
        // Without permission to list, a missing key looks like a forbidden one.
        (urls[1], 403, "s3:ListBucket"),
        (urls[2], 200, "echo join\n"),
        (urls[3], 403, "s3:ListBucket"),
        (&urls[0].replace("join", "leave"), 403, "SignatureDoesNotMatch"),
        (
            "https://s3.eu-west-1.amazonaws.com/my.bucket/config/a.env",
            403,
            "AccessDenied",
        ),
    ] {
        let curled = curl_host(&fakes, &[url]).await;
        assert_eq!(curled.status, status, "{url}: {}", curled.text());
        assert!(curled.text().contains(text), "{url}: {}", curled.text());
    }
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn created_tags_are_described() {
    let fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let id = "i-0b22a22eec53b9321";
    let create = [
        "ec2",
        "create-tags",
        "--resources",
        id,
        "--tags",
        "Key=Name,Value=new",
        "Key=team,Value=blue",
    ];
    out(&aws.cli(&create).await);
    let delete = [
        "ec2",
        "delete-tags",
        "--resources",
        id,
        "--tags",
        "Key=eks:cluster-name",
        "Key=team,Value=red",
    ];
    out(&aws.cli(&delete).await);
    let filter = format!("Name=resource-id,Values={id}");
    let query = ["--query", "Tags[].join('=',[Key,Value])", "--output", "text"];
    let described = aws
        .cli(&[&["ec2", "describe-tags", "--filters", &filter], &query[..]].concat())
        .await;
    assert_eq!(out(&described), "Name=new\tteam=blue");
    let modify = [
        "ec2",
        "modify-instance-attribute",
        "--instance-id",
        id,
        "--no-source-dest-check",
    ];
    out(&aws.cli(&modify).await);
    let missing = [
        "ec2",
        "create-tags",
        "--resources",
        "i-0123456789abcdef0",
        "--tags",
        "Key=a,Value=b",
    ];
    let missing = error(&aws.cli(&missing).await);
    assert!(missing.contains("(InvalidInstanceID.NotFound)"), "{missing}");
    let tags: Vec<String> = (0..51).map(|number| format!("Key=k{number},Value=x")).collect();
    let tags = tags.iter().map(String::as_str);
    let many: Vec<&str> = ["ec2", "create-tags", "--resources", id, "--tags"]
        .into_iter()
        .chain(tags)
        .collect();
    assert!(error(&aws.cli(&many).await).contains("(TagLimitExceeded)"));
    let reserved = [
        "ec2",
        "create-tags",
        "--resources",
        id,
        "--tags",
        "Key=aws:x,Value=b",
    ];
    assert!(error(&aws.cli(&reserved).await).contains("(InvalidParameterValue)"));
    fakes.end().await;
}
