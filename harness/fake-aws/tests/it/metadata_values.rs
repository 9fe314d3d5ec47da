//! Values of the metadata service through curl: one row per fact, with its source.
//!
//! `EC2UG`: EC2 user guide, instancedata-data-categories. `capture`: recorded traffic of real services. `CI`:
//! cloud-init's EC2 datasource. `AEMM`: issues of amazon-ec2-metadata-mock.

use crate::support::Fakes;
use crate::support::clients::curl;
use nodejoin_core::plan::Tokens;
use nodejoin_fake_aws::World;
use serde_json::Value;

const MAC: &str = "0a:00:00:00:00:01";

fn optional(world: &mut World) {
    world.instance.metadata.tokens = Tokens::Optional;
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_have_their_values() {
    let fakes = Fakes::start(optional);
    let interface = format!("/latest/meta-data/network/interfaces/macs/{MAC}");
    let own = "ip-192-168-40-16.eu-west-1.compute.internal";
    let table: Vec<(String, &str)> = [
        ("/latest/meta-data/instance-id", "i-0b22a22eec53b9321"),
        ("/latest/meta-data/instance-id/", "i-0b22a22eec53b9321"),
        ("//latest/meta-data/instance-id", "i-0b22a22eec53b9321"),
        ("/latest/meta-data/instance-type", "m5.large"),
        ("/latest/meta-data/local-ipv4", "192.168.40.16"),
        ("/latest/meta-data/local-hostname", own),
        ("/latest/meta-data/mac", MAC),
        ("/latest/meta-data/instance-life-cycle", "on-demand"),
        ("/latest/meta-data/placement/availability-zone", "eu-west-1a"),
        ("/latest/meta-data/placement/availability-zone/", "eu-west-1a"),
        ("/latest/meta-data/placement/region", "eu-west-1"),
        ("/latest/meta-data/services/domain", "amazonaws.com"),
        ("/2018-09-24/meta-data/services/domain", "amazonaws.com"),
        ("/latest/meta-data/services/partition", "aws"),
        ("/latest/meta-data/iam/security-credentials/", "demo-role"),
        ("/latest/meta-data/network/interfaces/macs/", "0a:00:00:00:00:01/"),
        ("/latest/meta-data/network/interfaces/macs", "0a:00:00:00:00:01/"),
        ("/latest/meta-data/events/maintenance/scheduled", "[]"),
        ("/latest", "dynamic\nmeta-data"),
        ("/latest/", "dynamic\nmeta-data"),
        (
            "/latest/meta-data/identity-credentials/ec2/",
            "info\nsecurity-credentials/",
        ),
        (
            "/latest/meta-data/identity-credentials/ec2/security-credentials/",
            "ec2-instance",
        ),
        ("/latest/dynamic/", "fws/\ninstance-identity/"),
        (
            "/latest/dynamic/instance-identity",
            "document\npkcs7\nrsa2048\nsignature",
        ),
        (
            "/2009-04-04/dynamic/instance-identity",
            "document\npkcs7\nsignature",
        ),
    ]
    .into_iter()
    .map(|(path, value)| (path.to_owned(), value))
    .chain([
        (format!("{interface}/device-number"), "0"),
        (format!("{interface}/local-ipv4s"), "192.168.40.16"),
        (format!("{interface}/vpc-id"), "vpc-0a1b2c3d4e5f60718"),
        (
            format!("{interface}/vpc-ipv4-cidr-blocks"),
            "192.168.0.0/16\n100.64.0.0/16",
        ),
        (format!("{interface}/subnet-ipv4-cidr-block"), "192.168.32.0/19"),
    ])
    .collect();
    for (path, value) in table {
        let response = curl(&[&fakes.metadata(&path)]).await;
        assert_eq!(
            (response.status, response.text().as_str()),
            (200, value),
            "{path}"
        );
    }
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_paths_return_404() {
    let fakes = Fakes::start(|world| {
        optional(world);
        world.role = None;
    });
    let table = [
        ("/latest/user-data", "none was given"),
        ("/latest/meta-data/iam/info", "EC2UG: not present without a role"),
        ("/latest/meta-data/iam/security-credentials/", "EC2UG"),
        ("/latest/meta-data/public-ipv4", "EC2UG: no public address"),
        ("/latest/meta-data/public-hostname", "EC2UG"),
        ("/latest/meta-data/tags/", "EC2UG: tags are off"),
        ("/latest/meta-data/tags/instance", "EC2UG"),
        (
            "/latest/meta-data/spot/instance-action",
            "EC2UG: only once marked",
        ),
        ("/latest/meta-data/public-keys/", "EC2UG: no key was given"),
        ("/latest/meta-data/instance-i", "no prefix matches"),
        (
            "/2018-09-24/meta-data/instance-life-cycle",
            "EC2UG: since 2019-10-01",
        ),
        (
            "/2019-10-01/meta-data/placement/region",
            "EC2UG: since 2020-08-24",
        ),
        (
            "/2016-04-19/meta-data/network/interfaces/macs/0a:00:00:00:00:01/vpc-ipv4-cidr-blocks",
            "EC2UG: since 2016-06-30",
        ),
        ("/2031-01-01/meta-data/", "no such version"),
        ("/meta-data/", "no version"),
    ];
    for (path, source) in table {
        assert_eq!(
            curl(&[&fakes.metadata(path)]).await.status,
            404,
            "{path}: {source}"
        );
    }
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_appear_if_the_options_allow_them() {
    let tagged = |world: &mut World| {
        optional(world);
        world.instance.metadata.instance_tags = true;
    };
    let fakes = Fakes::start(tagged);
    let listing = curl(&[&fakes.metadata("/latest/meta-data/tags/instance")]).await;
    assert_eq!(listing.text(), "Name\neks:cluster-name", "EC2UG");
    assert_eq!(
        curl(&[&fakes.metadata("/latest/meta-data/tags/instance/Name")])
            .await
            .text(),
        "demo"
    );
    assert_eq!(
        curl(&[&fakes.metadata("/2018-09-24/meta-data/tags/")])
            .await
            .status,
        404,
        "EC2UG: since 2021-03-23"
    );
    fakes.end().await;
    let fakes = Fakes::start(|world| {
        tagged(world);
        world.instance.tags.clear();
    });
    let listing = curl(&[&fakes.metadata("/latest/meta-data/tags/instance")]).await;
    assert_eq!(
        (listing.status, listing.text().as_str()),
        (200, ""),
        "AEMM#189: no tags is an empty folder"
    );
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn user_data_has_ranges() {
    let fakes = Fakes::start(|world| {
        optional(world);
        world.user_data = Some(b"0123456789".to_vec());
    });
    let url = fakes.metadata("/latest/user-data");
    let table = [
        ("2-4", 206, "234", Some("bytes 2-4/10")),
        ("8-", 206, "89", Some("bytes 8-9/10")),
        ("-3", 206, "789", Some("bytes 7-9/10")),
        ("0-1,4-5", 200, "0123456789", None),
    ];
    for (range, status, body, header) in table {
        let response = curl(&["--range", range, &url]).await;
        let found = (response.status, response.text(), response.header("content-range"));
        assert_eq!(found, (status, body.to_owned(), header), "{range}");
        assert_eq!(response.header("accept-ranges"), Some("bytes"), "{range}");
    }
    let beyond = curl(&["--range", "10-", &url]).await;
    assert_eq!(
        (beyond.status, beyond.header("content-range")),
        (416, Some("bytes */10"))
    );
    let other = curl(&["--range", "0-1", &fakes.metadata("/latest/meta-data/instance-id")]).await;
    assert_eq!((other.status, other.header("accept-ranges")), (200, Some("none")));
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn user_data_is_served_byte_for_byte() {
    let bytes: Vec<u8> = (0..=255).cycle().take(16 * 1024).collect();
    let given = bytes.clone();
    let fakes = Fakes::start(|world| {
        optional(world);
        world.user_data = Some(given);
    });
    let response = curl(&[&fakes.metadata("/2021-03-23/user-data")]).await;
    assert_eq!(response.body, bytes);
    assert_eq!(
        response.header("content-type"),
        Some("application/octet-stream"),
        "capture"
    );
    assert_eq!(response.header("accept-ranges"), Some("bytes"), "capture");
    let root = curl(&[&fakes.metadata("/latest")]).await;
    assert_eq!(root.text(), "dynamic\nmeta-data\nuser-data");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_identity_document_has_signatures() {
    let fakes = Fakes::start(optional);
    let get = async |name: &str| {
        curl(&[
            "--max-time",
            "120",
            &fakes.metadata(&format!("/latest/dynamic/instance-identity/{name}")),
        ])
        .await
        .text()
    };
    let text = get("document").await;
    assert!(
        text.starts_with("{\n  \"accountId\" : \"111122223333\",\n  \"architecture\" : \"x86_64\",\n"),
        "EC2UG: {text}"
    );
    assert!(text.contains("\"billingProducts\" : null"), "EC2UG");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&document["region"], &document["version"]),
        (&"eu-west-1".into(), &"2017-09-30".into())
    );
    assert_eq!(document.as_object().unwrap().len(), 15, "EC2UG");
    assert_eq!(
        get("signature").await.replace('\n', "").len(),
        172,
        "RSA of 1024 bits in base64"
    );
    for name in ["signature", "pkcs7", "rsa2048"] {
        assert_eq!(get(name).await, get(name).await, "{name} never changes");
    }
    assert_eq!(get("document").await, text, "it never changes");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_and_profile_are_served() {
    let fakes = Fakes::start(optional);
    let get = async |path: &str| curl(&[&fakes.metadata(path)]).await.text();
    let credentials: Value =
        serde_json::from_str(&get("/latest/meta-data/iam/security-credentials/demo-role").await).unwrap();
    let names: Vec<&String> = credentials.as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 7, "{names:?}");
    assert_eq!(
        (&credentials["Code"], &credentials["Type"]),
        (&"Success".into(), &"AWS-HMAC".into())
    );
    assert!(
        credentials["Expiration"].as_str().unwrap().ends_with('Z'),
        "botocore reads no other form"
    );
    let info: Value = serde_json::from_str(&get("/latest/meta-data/iam/info").await).unwrap();
    let profile = "arn:aws:iam::111122223333:instance-profile/eks/demo-role";
    assert_eq!(
        info["InstanceProfileArn"], profile,
        "the profile's ARN, with its path"
    );
    fakes.end().await;
}

/// CI: a 404 in its recursive crawl fails the datasource.
#[tokio::test(flavor = "multi_thread")]
async fn every_listed_path_exists_under_every_version() {
    let fakes = Fakes::start(|world| {
        optional(world);
        world.instance.metadata.instance_tags = true;
    });
    let versions = curl(&[&fakes.metadata("/")]).await.lines();
    assert!(versions.first().unwrap() == "1.0" && versions.last().unwrap() == "latest");
    for version in [
        "1.0",
        "2009-04-04",
        "2016-09-02",
        "2018-09-24",
        "2021-03-23",
        "latest",
    ] {
        assert!(versions.contains(&version.to_owned()));
        let mut open = vec![
            format!("/{version}/meta-data/"),
            format!("/{version}/dynamic/instance-identity"),
        ];
        if version < "2009-04-04" {
            open.pop();
        }
        while let Some(path) = open.pop() {
            let response = curl(&[&fakes.metadata(&path)]).await;
            assert_eq!(response.status, 200, "{path}");
            let is_folder = path.ends_with('/') || path.ends_with("instance-identity");
            let base = path.trim_end_matches('/');
            open.extend(
                response
                    .lines()
                    .iter()
                    .filter(|_| is_folder)
                    .map(|name| format!("{base}/{name}")),
            );
        }
    }
    fakes.end().await;
}
