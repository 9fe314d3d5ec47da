//! The transcript: what is recorded of each request, as one line of JSON.

use crate::support::Fakes;
use crate::support::clients::{curl, curl_host, metadata, token};
use nodejoin_core::plan::fault::{Effect, Fault, Service};

const UNSIGNED: &str = "Action=DescribeInstances&InstanceId.1=i-0b22a22eec53b9321";

fn ecr_is_closed() -> Fault {
    Fault {
        service: Service::Ecr,
        operation: None,
        path: None,
        after: 0,
        times: None,
        from_seconds: None,
        until_seconds: None,
        effect: Effect::Close,
        may_fire: false,
        above_per_second: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_known_unknown_refused_and_dropped_requests() {
    let mut fakes = Fakes::start(|world| world.faults = vec![ecr_is_closed()]);
    let token = token(&fakes).await;
    metadata(&fakes, &token, "/latest/meta-data/instance-id").await;
    metadata(&fakes, &token, "/2021-07-15/meta-data/missing").await;
    curl(&[&fakes.metadata("/latest/meta-data/instance-id")]).await;
    let requests: [&[&str]; 6] = [
        &["--data", UNSIGNED, "https://ec2.eu-west-1.amazonaws.com/"],
        &[
            "--data",
            "Action=RunInstances",
            "https://ec2.eu-west-1.amazonaws.com/",
        ],
        &["https://eks.eu-west-1.amazonaws.com/clusters/demo?x=1"],
        &["https://eks.eu-west-1.amazonaws.com/clusters/demo/fargate-profiles"],
        &["--data", "{}", "https://api.ecr.eu-west-1.amazonaws.com/"],
        &["https://s3.eu-west-1.amazonaws.com/bucket/key"],
    ];
    for arguments in requests {
        curl_host(&fakes, arguments).await;
    }
    let mut lines = Vec::new();
    for mut call in fakes.calls() {
        call.took_ms = 0;
        lines.push(serde_json::to_string(&call).unwrap());
    }
    insta::assert_snapshot!("transcript", lines.join("\n"));
    fakes.end().await;
}
