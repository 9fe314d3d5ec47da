//! Lists, conditions and endpoints of S3, by boto3 and the AWS CLI.

use crate::presigned::buckets;
use crate::stored::{bucket, with};
use crate::support::Fakes;
use crate::support::clients::{AwsClients, error, json_of, out};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn buckets_and_keys_are_listed_in_both_versions() {
    let folder = tempfile::tempdir().unwrap();
    let mut fakes = Fakes::start(|world| {
        bucket(world, folder.path());
        let objects = json!({ "objects": {} });
        let more = serde_json::from_value(objects).unwrap();
        world.aws.buckets.insert("other".to_owned(), more);
    });
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, json
s3 = boto3.client("s3")
def names(found):
    return [o["Key"] for o in found.get("Contents", [])], [p["Prefix"] for p in found.get("CommonPrefixes", [])]
first = s3.list_objects(Bucket="my.bucket", Delimiter="/", MaxKeys=1)
pages = [names(page) for page in s3.get_paginator("list_objects").paginate(
    Bucket="my.bucket", Delimiter="/", PaginationConfig={"PageSize": 1})]
flat = [names(page)[0] for page in s3.get_paginator("list_objects").paginate(
    Bucket="my.bucket", PaginationConfig={"PageSize": 2})]
object = s3.list_objects(Bucket="my.bucket", Prefix="config/")["Contents"][0]
buckets = s3.list_buckets()
print(json.dumps({
  "first": [first["IsTruncated"], first["NextMarker"], names(first)],
  "pages": pages,
  "flat": flat,
  "resource": [o.key for o in boto3.resource("s3").Bucket("my.bucket").objects.filter(Prefix="s")],
  "owned": object["Owner"] == buckets["Owner"],
  "after": names(s3.list_objects_v2(Bucket="my.bucket", StartAfter="large.bin", FetchOwner=True)),
  "none": [s3.list_objects(Bucket="my.bucket", MaxKeys=0)["IsTruncated"], names(s3.list_objects(Bucket="other"))],
  "buckets": [b["Name"] for b in buckets["Buckets"]],
  "bucket_pages": [[b["Name"] for b in page["Buckets"]] for page in s3.get_paginator("list_buckets").paginate(
    PaginationConfig={"PageSize": 1})],
  "prefix": [b["Name"] for b in s3.list_buckets(Prefix="o")["Buckets"]],
  "location": s3.get_bucket_location(Bucket="other")["LocationConstraint"],
  "region": s3.head_bucket(Bucket="my.bucket")["ResponseMetadata"]["HTTPHeaders"]["x-amz-bucket-region"],
}))
"#;
    let found: Value = serde_json::from_str(&aws.python(program).await).unwrap();
    let expected = json!({
        "first": [true, "config/", [[], ["config/"]]],
        "pages": [[[], ["config/"]], [["large.bin"], []], [[], ["scripts/"]]],
        "flat": [["config/a.env", "large.bin"], ["scripts/join node.sh"]],
        "resource": ["scripts/join node.sh"],
        "owned": true,
        "after": [["scripts/join node.sh"], []],
        "none": [false, [[], []]],
        "buckets": ["my.bucket", "other"],
        "bucket_pages": [["my.bucket"], ["other"]],
        "prefix": ["other"],
        "location": "eu-west-1",
        "region": "eu-west-1",
    });
    assert_eq!(found, expected);
    let listed = out(&aws.cli(&["s3", "ls"]).await);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let missing = error(
        &aws.cli(&["s3api", "get-bucket-location", "--bucket", "none"])
            .await,
    );
    assert!(missing.contains("(NoSuchBucket)"), "{missing}");
    // What the scenario does not say stays unanswered.
    for other in [
        "get-bucket-versioning",
        "get-bucket-policy",
        "list-object-versions",
    ] {
        let refused = error(&aws.cli(&["s3api", other, "--bucket", "other"]).await);
        assert!(refused.contains("(NotEmulated)"), "{other}: {refused}");
    }
    let calls = fakes.calls();
    assert!(
        calls
            .iter()
            .any(|call| call.operation == "ListBuckets" && call.subject.is_none() && call.known)
    );
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listing_buckets_has_a_permission_of_its_own() {
    let fakes = Fakes::start(|world| {
        with(world, json!({ "buckets": { "logs": {} } }));
        world.region = "us-east-1".parse().unwrap();
        world.role.as_mut().unwrap().deny = vec!["s3:ListAllMyBuckets".into()];
    });
    let aws = AwsClients::of(&fakes).await;
    let denied = error(&aws.cli(&["--region", "us-east-1", "s3", "ls"]).await);
    assert!(
        denied.contains("is not authorized to perform: s3:ListAllMyBuckets with an explicit deny"),
        "{denied}"
    );
    let location = [
        "--region",
        "us-east-1",
        "s3api",
        "get-bucket-location",
        "--bucket",
        "logs",
    ];
    assert_eq!(
        json_of(&aws.cli(&location).await),
        json!({ "LocationConstraint": null })
    );
    fakes.end().await;
}

/// Host names without a region, dual-stack ones and those of FIPS.
#[tokio::test(flavor = "multi_thread")]
async fn every_endpoint_of_s3_has_the_buckets() {
    let folder = tempfile::tempdir().unwrap();
    let fakes = Fakes::start(|world| buckets(world, folder.path()));
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, botocore.config, botocore.exceptions
for region, settings, fips in (
    ("eu-west-1", {"use_accelerate_endpoint": True}, None), ("eu-west-1", {"use_dualstack_endpoint": True}, None),
    ("us-east-1", {"us_east_1_regional_endpoint": "legacy"}, None), ("us-east-1", {}, True), ("aws-global", {}, None),
):
    config = botocore.config.Config(s3=settings, use_fips_endpoint=fips)
    s3 = boto3.client("s3", region_name=region, config=config)
    print(s3.get_object(Bucket="scripts-1", Key="config/a.env")["Body"].read())
point = "arn:aws:s3:eu-west-1:111122223333:accesspoint/own"
try:
    boto3.client("s3").get_object(Bucket=point, Key="a")
except botocore.exceptions.ClientError as error:
    print(error)
"#;
    let printed = aws.python(program).await;
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[..5], ["b'A=1\\n'"; 5], "{printed}");
    let host = "own-111122223333.s3-accesspoint.eu-west-1.amazonaws.com";
    assert!(
        lines[5].contains(host) && lines[5].contains("(NotEmulated)"),
        "{printed}"
    );
    fakes.end().await;
}

/// `curl --etag-compare`, `curl --time-cond`, and the conditions of SDKs.
#[tokio::test(flavor = "multi_thread")]
async fn objects_are_read_on_conditions() {
    let folder = tempfile::tempdir().unwrap();
    let fakes = Fakes::start(|world| buckets(world, folder.path()));
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, botocore.exceptions, datetime
s3 = boto3.client("s3")
which = {"Bucket": "scripts-1", "Key": "config/a.env"}
head = s3.head_object(**which)
tag, at = head["ETag"], head["LastModified"]
second = datetime.timedelta(seconds=1)
for conditions in (
    {"IfMatch": tag}, {"IfMatch": '"x"'}, {"IfNoneMatch": tag}, {"IfNoneMatch": '"x"'},
    {"IfModifiedSince": at}, {"IfModifiedSince": at - second}, {"IfUnmodifiedSince": at}, {"IfUnmodifiedSince": at - second},
    {"IfNoneMatch": '"x"', "IfModifiedSince": at}, {"ExpectedBucketOwner": "111122223333"},
    {"ExpectedBucketOwner": "999999999999"}, {"Range": "bytes=2-1"}, {"Range": "bytes=9-"},
):
    try:
        print(s3.get_object(**which, **conditions)["ResponseMetadata"]["HTTPStatusCode"])
    except botocore.exceptions.ClientError as error:
        print(error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"])
"#;
    let printed = aws.python(program).await;
    let expected = [
        "200",
        "412 PreconditionFailed",
        "304 304",
        "200",
        "304 304",
        "200",
        "200",
        "412 PreconditionFailed",
        "200",
        "200",
        "403 AccessDenied",
        "200",
        "416 InvalidRange",
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
    fakes.end().await;
}
