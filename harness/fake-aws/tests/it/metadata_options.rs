//! Options of the metadata service: one row per fact, with its source.
//!
//! `EC2UG`: EC2 user guide, instancedata-data-categories. `CPA`: kubernetes/cloud-provider-aws,
//! `parseMetadataLocalHostname`. `CI`: cloud-init's EC2 datasource and its test data.

use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::support::clients::{AwsClients, curl, out};
use crate::support::{Fakes, HERE, world};
use nodejoin_core::plan::Tokens;
use nodejoin_core::plan::aws::{SpotAction, SpotNotice};
use nodejoin_core::plan::ec2::InterfacePlan;
use nodejoin_fake_aws::{FakeAws, FakeAwsServer, StoppedClock, World};
use serde_json::Value;

const METADATA: &str = "/latest/meta-data";
const MACS: &str = "/latest/meta-data/network/interfaces/macs";

fn optional(world: &mut World) {
    world.instance.metadata.tokens = Tokens::Optional;
}

/// Checks rows of path, status and body.
async fn check(fakes: &Fakes, rows: &[(&str, u16, &str)]) {
    for (path, status, body) in rows {
        let response = curl(&[&fakes.metadata(path)]).await;
        assert_eq!(response.status, *status, "{path}");
        if *status == 200 {
            assert_eq!(response.text(), *body, "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_and_interfaces_have_paths() {
    let fakes = Fakes::start(|world| {
        optional(world);
        let network = &mut world.instance.network;
        network.public_ip = Some("13.59.77.202".parse().unwrap());
        network.ipv6 = vec!["2001:db8:1:2::3".parse().unwrap()];
        network.secondary_ips = vec!["192.168.40.17".parse().unwrap()];
        network.interfaces = vec![InterfacePlan {
            mac: "0a:00:00:00:00:02".into(),
            private_ips: vec!["192.168.41.1".parse().unwrap(), "192.168.41.2".parse().unwrap()],
            network_card: 1,
            device_index: None,
        }];
    });
    let first = format!("{MACS}/0a:00:00:00:00:01");
    let second = format!("{MACS}/0a:00:00:00:00:02");
    let path = |base: &str, name: &str| format!("{base}/{name}");
    let rows = [
        (path(METADATA, "public-ipv4"), "13.59.77.202"),
        (
            path(METADATA, "public-hostname"),
            "ec2-13-59-77-202.eu-west-1.compute.amazonaws.com",
        ),
        (path(METADATA, "ipv6"), "2001:db8:1:2::3"),
        (path(MACS, ""), "0a:00:00:00:00:01/\n0a:00:00:00:00:02/"),
        (path(&first, "local-ipv4s"), "192.168.40.16\n192.168.40.17"),
        (path(&first, "ipv6s"), "2001:db8:1:2::3"),
        (path(&first, "subnet-ipv6-cidr-blocks"), "2001:db8:1:2::/64"),
        (path(&first, "public-ipv4s"), "13.59.77.202"),
        // CI: the value is the private address.
        (path(&first, "ipv4-associations/13.59.77.202"), "192.168.40.16"),
        (path(&second, "device-number"), "1"),
        (path(&second, "network-card"), "1"),
        (path(&second, "local-ipv4s"), "192.168.41.1\n192.168.41.2"),
        (path(&second, "mac"), "0a:00:00:00:00:02"),
    ];
    for (path, value) in &rows {
        check(&fakes, &[(path.as_str(), 200, value)]).await;
    }
    for (path, source) in [
        (
            path(&second, "public-ipv4s"),
            "the public address is the primary interface's",
        ),
        ("/2020-11-01/meta-data/ipv6".to_owned(), "EC2UG: since 2021-01-03"),
    ] {
        assert_eq!(curl(&[&fakes.metadata(&path)]).await.status, 404, "{source}");
    }
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn public_keys_are_listed_by_number_and_name() {
    let fakes = Fakes::start(|world| {
        optional(world);
        let keys = [("a-key", "ssh-rsa AAAA a"), ("b-key", "ssh-ed25519 BBBB b")];
        let keys = keys.map(|(name, key)| (name.to_owned(), key.to_owned()));
        world.instance.metadata.public_keys = keys.into();
    });
    check(
        &fakes,
        &[
            ("/latest/meta-data/public-keys/", 200, "0=a-key\n1=b-key"),
            ("/latest/meta-data/public-keys", 200, "0=a-key\n1=b-key"),
            ("/latest/meta-data/public-keys/0/", 200, "openssh-key"),
            (
                "/latest/meta-data/public-keys/1/openssh-key",
                200,
                "ssh-ed25519 BBBB b",
            ),
            ("/latest/meta-data/public-keys/2/openssh-key", 404, ""),
        ],
    )
    .await;
    fakes.end().await;
}

/// CPA: a name, then bare domains. EC2UG: `hostname` has the same value.
#[tokio::test(flavor = "multi_thread")]
async fn dhcp_domains_follow_the_host_name() {
    let fakes = Fakes::start(|world| {
        optional(world);
        world.instance.network.dhcp_domains = vec!["a.a".into(), "b.b".into()];
    });
    let names = "ip-192-168-40-16.eu-west-1.compute.internal a.a b.b";
    check(
        &fakes,
        &[
            ("/latest/meta-data/local-hostname", 200, names),
            ("/latest/meta-data/hostname", 200, names),
        ],
    )
    .await;
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_have_their_own_domains() {
    for (region, domain, partition, profile) in [
        ("cn-north-1", "amazonaws.com.cn", "aws-cn", "arn:aws-cn:iam::"),
        (
            "us-gov-west-1",
            "amazonaws.com",
            "aws-us-gov",
            "arn:aws-us-gov:iam::",
        ),
        ("us-east-1", "amazonaws.com", "aws", "arn:aws:iam::"),
    ] {
        let fakes = Fakes::start(|world| {
            optional(world);
            world.region = region.parse().unwrap();
        });
        check(
            &fakes,
            &[
                ("/latest/meta-data/services/domain", 200, domain),
                ("/latest/meta-data/services/partition", 200, partition),
                ("/latest/meta-data/placement/region", 200, region),
            ],
        )
        .await;
        let info = curl(&[&fakes.metadata("/latest/meta-data/iam/info")]).await;
        assert!(info.text().contains(profile), "{}", info.text());
        fakes.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_redirect_with_the_legacy_option() {
    let fakes = Fakes::start(|world| {
        optional(world);
        world.instance.metadata.legacy_redirect = true;
    });
    let response = curl(&[&fakes.metadata("/latest/meta-data")]).await;
    let location = "http://169.254.169.254/latest/meta-data/";
    assert_eq!(
        (response.status, response.header("location")),
        (301, Some(location))
    );
    check(&fakes, &[("/latest/meta-data/mac", 200, "0a:00:00:00:00:01")]).await;
    fakes.end().await;
}

/// Fakes with a clock that the test advances.
struct Timed {
    server: FakeAwsServer,
    clock: Arc<StoppedClock>,
}

impl Timed {
    fn start(change: impl FnOnce(&mut World)) -> Self {
        let clock = Arc::new(StoppedClock::at(
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_778_155_200),
        ));
        let (mut world, _events) = world();
        optional(&mut world);
        change(&mut world);
        let id = world.instance.id.clone();
        let server = FakeAws::bind_with_clock(&"testrun01".parse().unwrap(), HERE, clock.clone())
            .unwrap()
            .listen()
            .unwrap();
        server.admit(world);
        server.attach(HERE, &id);
        Self { server, clock }
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let response = curl(&[&format!("http://{}{path}", self.server.metadata)]).await;
        (response.status, response.text())
    }
}

/// EC2UG: missing, also in listings, before the notice; the action follows two minutes later.
#[tokio::test(flavor = "multi_thread")]
async fn a_spot_notice_appears_at_its_time() {
    for (action, word, has_termination) in [
        (SpotAction::Terminate, "terminate", true),
        (SpotAction::Stop, "stop", false),
        (SpotAction::Hibernate, "hibernate", false),
    ] {
        let timed = Timed::start(|world| {
            world.instance.life_cycle = nodejoin_core::plan::LifeCycle::Spot;
            let metadata = &mut world.instance.metadata;
            metadata.spot_notice = Some(SpotNotice {
                action,
                after_seconds: 60.0,
            });
            metadata.rebalance_after_seconds = Some(30.0);
            metadata.lifecycle_state = Some("InService".into());
        });
        let (_, listing) = timed.get("/latest/meta-data/").await;
        assert!(!listing.contains("spot"), "{listing}");
        assert_eq!(timed.get("/latest/meta-data/spot/instance-action").await.0, 404);
        timed.clock.advance(Duration::from_secs(61));
        assert!(timed.get("/latest/meta-data/").await.1.contains("spot/"));
        assert_eq!(
            timed.get("/latest/meta-data/spot/instance-action").await.1,
            format!("{{\"action\": \"{word}\", \"time\": \"2026-05-07T12:03:00Z\"}}")
        );
        let (status, time) = timed.get("/latest/meta-data/spot/termination-time").await;
        assert_eq!(status == 200, has_termination, "{word}");
        assert!(!has_termination || time == "2026-05-07T12:03:00Z", "{time}");
        assert_eq!(
            timed
                .get("/latest/meta-data/events/recommendations/rebalance")
                .await
                .1,
            "{\"noticeTime\": \"2026-05-07T12:00:30Z\"}"
        );
        let state = timed
            .get("/latest/meta-data/autoscaling/target-lifecycle-state")
            .await;
        assert_eq!(state.1, "InService");
        timed.server.shut_down().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_appear_late_and_are_renewed() {
    let timed = Timed::start(|world| {
        let credentials = &mut world.instance.metadata.credentials;
        credentials.after_seconds = 10.0;
        credentials.lifetime_seconds = 3_600;
    });
    let role = "/latest/meta-data/iam/security-credentials/demo-role";
    for path in [
        role,
        "/latest/meta-data/iam/security-credentials/",
        "/latest/meta-data/iam/info",
    ] {
        assert_eq!(timed.get(path).await.0, 404, "amazon-eks-ami#1970: {path}");
    }
    timed.clock.advance(Duration::from_secs(10));
    let at = async || serde_json::from_str::<Value>(&timed.get(role).await.1).unwrap();
    let first = at().await;
    assert_eq!(first["Expiration"], "2026-05-07T13:00:10Z");
    timed.clock.advance(Duration::from_secs(44 * 60));
    assert_eq!(at().await["AccessKeyId"], first["AccessKeyId"]);
    // EC2UG: new credentials appear at least five minutes before the old ones expire.
    timed.clock.advance(Duration::from_secs(2 * 60));
    assert_ne!(at().await["AccessKeyId"], first["AccessKeyId"]);
    timed.server.shut_down().await;
}

/// botocore and aws-config: a failure has status 200 and another `Code`.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_ec2_cannot_assume_has_another_code() {
    let fakes = Fakes::start(|world| {
        world.instance.metadata.credentials.code = "AssumeRoleUnauthorizedAccess".into();
    });
    let aws = AwsClients::of(&fakes).await;
    let token = crate::support::clients::token(&fakes).await;
    let path = "/latest/meta-data/iam/security-credentials/demo-role";
    let response = crate::support::clients::metadata(&fakes, &token, path).await;
    let document: Value = serde_json::from_str(&response.text()).unwrap();
    assert_eq!(
        (response.status, &document["Code"]),
        (200, &"AssumeRoleUnauthorizedAccess".into())
    );
    assert!(
        document["Message"]
            .as_str()
            .unwrap()
            .starts_with("EC2 cannot assume the role demo-role.")
    );
    assert!(document.get("AccessKeyId").is_none());
    let output = crate::support::clients::error(&aws.cli(&["sts", "get-caller-identity"]).await);
    assert!(output.contains("Unable to locate credentials"), "{output}");
    fakes.end().await;
}

/// The IPv6 endpoint serves instances that enable it and closes connections of others. The AWS CLI uses it.
#[tokio::test(flavor = "multi_thread")]
async fn the_ipv6_endpoint_serves_instances_that_enable_it() {
    let (mut plan, _events) = world();
    plan.instance.metadata.ipv6 = true;
    let id = plan.instance.id.clone();
    let bound = FakeAws::bind(&"testrun01".parse().unwrap(), HERE).unwrap();
    let server = bound.with_ipv6(Ipv6Addr::LOCALHOST).unwrap().listen().unwrap();
    server.admit(plan);
    server.attach(HERE, &id);
    server.attach(Ipv6Addr::LOCALHOST, &id);
    let endpoint = format!("http://{}", server.metadata_ipv6.unwrap());
    let fakes = Fakes {
        server,
        events: _events,
    };
    let ttl = "X-aws-ec2-metadata-token-ttl-seconds: 60";
    let put = ["-g", "-X", "PUT", "-H", ttl];
    let token = curl(&[&put[..], &[&format!("{endpoint}/latest/api/token")]].concat()).await;
    assert_eq!((token.status, token.body.len()), (200, 56));
    let header = format!("X-aws-ec2-metadata-token: {}", token.text());
    let moved = curl(&["-g", "-H", &header, &format!("{endpoint}/latest/meta-data//mac")]).await;
    assert_eq!(
        moved.header("location"),
        Some("http://[fd00:ec2::254]/latest/meta-data/mac")
    );
    let aws = AwsClients::of(&fakes).await;
    let environment = [("AWS_EC2_METADATA_SERVICE_ENDPOINT", endpoint.as_str())];
    let arn = ["sts", "get-caller-identity", "--query", "Arn", "--output", "text"];
    let arn = out(&aws.cli_with(&arn, &environment).await);
    assert!(arn.ends_with("demo-role/i-0b22a22eec53b9321"), "{arn}");
    // The instance with its endpoint disabled.
    let (plan, _events) = world();
    fakes.server.admit(plan);
    let response = curl(&["-g", &format!("{endpoint}/latest/meta-data/")]).await;
    assert_eq!(response.status, 0, "no answer at all");
    fakes.end().await;
}
