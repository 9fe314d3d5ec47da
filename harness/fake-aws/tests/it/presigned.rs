//! Presigned URLs of S3 in both versions of signatures, by boto3, the AWS CLI and curl.

use std::net::TcpListener;

use crate::stored::bucket;
use crate::support::Fakes;
use crate::support::clients::{AwsClients, curl_host, out};
use nodejoin_fake_aws::World;

/// Prints presigned URLs in an older region, where boto3 signs them with version 2 unless told otherwise.
const PRESIGN: &str = r#"
import boto3, botocore.config, sys
def urls(style, expires=3600, operation="get_object", key="scripts/join node.sh", region="eu-west-1", version=None, **more):
    config = botocore.config.Config(s3={"addressing_style": style}, signature_version=version)
    s3 = boto3.client("s3", config=config, region_name=region)
    params = {"Bucket": "scripts-1", "Key": key, **more}
    print(s3.generate_presigned_url(operation, Params=params, ExpiresIn=expires))
"#;

/// A bucket with a dot in its name, which SDKs write in paths only, and the same without.
pub(crate) fn buckets(world: &mut World, folder: &std::path::Path) {
    bucket(world, folder);
    let same = world.aws.buckets["my.bucket"].clone();
    world.aws.buckets.insert("scripts-1".to_owned(), same);
}

async fn presigned(aws: &AwsClients, calls: &str) -> Vec<String> {
    let printed = aws.python(&format!("{PRESIGN}{calls}")).await;
    printed.lines().map(ToOwned::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn presigned_urls_of_signature_version_2_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let mut fakes = Fakes::start(|world| buckets(world, folder.path()));
    let aws = AwsClients::of(&fakes).await;
    let urls = presigned(
        &aws,
        r#"
urls("path")
urls("virtual")
urls("virtual", ResponseContentDisposition='attachment; filename="a b"', ResponseContentType="text/x-shellscript")
urls("path", expires=-5)
urls("path", region="eu-central-1", version="s3")
urls("path", key="none")
"#,
    )
    .await;
    for url in &urls {
        assert!(
            url.contains("AWSAccessKeyId=") && url.contains("Expires="),
            "{url}"
        );
        assert!(!url.contains("X-Amz-Signature"), "{url}");
    }
    assert!(urls[0].starts_with("https://s3.eu-west-1.amazonaws.com/scripts-1/"));
    assert!(urls[1].starts_with("https://scripts-1.s3.eu-west-1.amazonaws.com/"));
    let without_expiry = urls[0].split('&').filter(|part| !part.starts_with("Expires="));
    let without_expiry = without_expiry.collect::<Vec<_>>().join("&");
    let later = urls[0].replace("Expires=1", "Expires=2");
    let signature = "<Code>SignatureDoesNotMatch</Code>";
    let denied = "<Code>AccessDenied</Code><Message>";
    let table = [
        (urls[0].as_str(), 200, "echo join\n".to_owned()),
        (&urls[1], 200, "echo join\n".to_owned()),
        (&urls[2], 200, "echo join\n".to_owned()),
        (&urls[3], 403, format!("{denied}Request has expired")),
        (&urls[4], 400, "Please use AWS4-HMAC-SHA256.".to_owned()),
        (&urls[5], 404, "<Code>NoSuchKey</Code>".to_owned()),
        (&urls[0].replace("join", "leave"), 403, signature.to_owned()),
        (&urls[1].replace("scripts-1", "other"), 403, signature.to_owned()),
        (
            &urls[2].replace("shellscript", "python"),
            403,
            signature.to_owned(),
        ),
        (&later, 403, signature.to_owned()),
        (
            &without_expiry,
            403,
            format!("{denied}Query-string authentication requires"),
        ),
        (
            &urls[0].replace("AWSAccessKeyId=ASIA", "AWSAccessKeyId=AKIA"),
            403,
            "<Code>InvalidAccessKeyId</Code>".to_owned(),
        ),
        (
            &urls[0].replace("x-amz-security-token=", "x-amz-security-token=x"),
            400,
            "<Code>InvalidToken</Code>".to_owned(),
        ),
    ];
    for (url, status, text) in table {
        let curled = curl_host(&fakes, &[url]).await;
        assert_eq!(curled.status, status, "{url}: {}", curled.text());
        assert!(curled.text().contains(&text), "{url}: {}", curled.text());
    }
    let curled = curl_host(&fakes, &[&urls[2]]).await;
    let headers = ["content-disposition", "content-type"].map(|name| curled.header(name));
    assert_eq!(
        headers,
        [Some("attachment; filename=\"a b\""), Some("text/x-shellscript")]
    );
    let mut calls = fakes.calls().into_iter();
    let get = calls.find(|call| call.service.word() == "s3").unwrap();
    assert_eq!(get.operation, "GetObject");
    assert!(get.authorization.unwrap().starts_with("ASIA"));
    fakes.end().await;
}

/// The method is a part of what is signed.
#[tokio::test(flavor = "multi_thread")]
async fn a_presigned_head_is_not_a_get_and_policies_apply() {
    let folder = tempfile::tempdir().unwrap();
    let fakes = Fakes::start(|world| {
        buckets(world, folder.path());
        world.role.as_mut().unwrap().allow = Some(vec!["s3:GetObject".into()]);
    });
    let aws = AwsClients::of(&fakes).await;
    let urls = presigned(
        &aws,
        r#"
urls("path", operation="head_object")
print(boto3.client("s3", region_name="eu-west-1").generate_presigned_url("list_objects", Params={"Bucket": "scripts-1", "Prefix": "s"}))
"#,
    )
    .await;
    assert_eq!(curl_host(&fakes, &["--head", &urls[0]]).await.status, 200);
    let curled = curl_host(&fakes, &[&urls[0]]).await;
    assert!(
        curled.text().contains("SignatureDoesNotMatch"),
        "{}",
        curled.text()
    );
    let curled = curl_host(&fakes, &[&urls[1]]).await;
    assert!(
        curled.text().contains("not authorized to perform: s3:ListBucket"),
        "{}",
        curled.text()
    );
    // `aws s3 presign` of version 1.
    let url = out(&aws.cli(&["s3", "presign", "s3://my.bucket/config/a.env"]).await);
    let curled = curl_host(&fakes, &[&url]).await;
    assert_eq!((curled.status, curled.text().as_str()), (200, "A=1\n"), "{url}");
    fakes.end().await;
}

/// A URL of signature version 4 is valid for the time that it declares, not for the 15 minutes of a header.
#[tokio::test(flavor = "multi_thread")]
async fn presigned_urls_of_signature_version_4_expire_when_they_declare() {
    let folder = tempfile::tempdir().unwrap();
    let fakes = Fakes::start(|world| buckets(world, folder.path()));
    let aws = AwsClients::of(&fakes).await;
    let urls = presigned(
        &aws,
        r#"
import botocore.auth, datetime
now = botocore.auth.get_current_datetime
def shifted(hours):
    botocore.auth.get_current_datetime = lambda *a, **k: now(*a, **k) + datetime.timedelta(hours=hours)
boto3.client("sts", region_name="eu-west-1").get_caller_identity()
shifted(-2)
urls("path", expires=3 * 3600, version="s3v4")
urls("path", expires=3600, version="s3v4")
shifted(1)
urls("path", version="s3v4")
shifted(0)
urls("path", expires=604801, version="s3v4")
urls("path", version="s3v4")
"#,
    )
    .await;
    let malformed = |text: &str| format!("<Code>AuthorizationQueryParametersError</Code><Message>{text}");
    let denied = "<Code>AccessDenied</Code><Message>";
    let without = urls[4].replace("X-Amz-Expires=3600&", "");
    let table = [
        (&urls[0], 200, "echo join".to_owned()),
        (&urls[1], 403, format!("{denied}Request has expired")),
        (&urls[2], 403, format!("{denied}Request is not valid yet")),
        (&urls[3], 400, malformed("X-Amz-Expires must be less than a week")),
        (
            &without,
            400,
            malformed("Query-string authentication version 4 requires"),
        ),
        (
            &urls[4].replace("Expires=3600", "Expires=x"),
            400,
            malformed("X-Amz-Expires should be a number"),
        ),
        (
            &urls[4].replace("Expires=3600", "Expires=-1"),
            400,
            malformed("X-Amz-Expires must be non-negative"),
        ),
        (
            &urls[4].replace("Expires=3600", "Expires=9999"),
            403,
            "<Code>SignatureDoesNotMatch</Code>".to_owned(),
        ),
    ];
    for (url, status, text) in table {
        let curled = curl_host(&fakes, &[url]).await;
        assert_eq!(curled.status, status, "{url}: {}", curled.text());
        assert!(curled.text().contains(&text), "{url}: {}", curled.text());
    }
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn presigned_urls_are_verified_before_they_are_forwarded() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let fakes = Fakes::start(|world| {
        let upstream = format!("http://{closed}").parse().unwrap();
        world.aws.upstream.insert("s3".to_owned(), upstream);
    });
    let aws = AwsClients::of(&fakes).await;
    let urls = presigned(&aws, "urls('virtual')").await;
    let forwarded = curl_host(&fakes, &[&urls[0]]).await;
    assert!(
        forwarded.text().contains("UpstreamUnreachable"),
        "{}",
        forwarded.text()
    );
    let changed = curl_host(&fakes, &[&urls[0].replace("join", "leave")]).await;
    assert!(
        changed.text().contains("SignatureDoesNotMatch"),
        "{}",
        changed.text()
    );
    fakes.end().await;
}
