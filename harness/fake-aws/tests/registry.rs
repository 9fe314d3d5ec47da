//! ECR and its registry: the password by the AWS CLI, the protocol by curl. containerd 1.6 and Docker 20.10 pull from it in the
//! scenarios.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod support;

use nodejoin_core::fault::Service;
use nodejoin_fake_aws::{World, busybox_images};
use serde_json::Value;
use support::Fakes;
use support::clients::{Aws, curl_host};

const HOST: &str = "https://602401143452.dkr.ecr.eu-west-1.amazonaws.com";
const MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

fn stocked(world: &mut World) {
    world.images = busybox_images(b"stands for busybox").unwrap();
}

async fn password(aws: &Aws) -> String {
    let output = aws.cli(&["ecr", "get-login-password"]).await;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_step_by_step() {
    let mut fakes = Fakes::start(stocked);
    let aws = Aws::of(&fakes).await;
    let user = format!("AWS:{}", password(&aws).await);
    fakes.calls();

    let challenge = curl_host(&fakes, &[&format!("{HOST}/v2/")]).await;
    let expected = format!("Basic realm=\"{HOST}/\",service=\"ecr.amazonaws.com\"");
    assert_eq!(
        (challenge.status, challenge.header("www-authenticate")),
        (401, Some(expected.as_str()))
    );
    let version = curl_host(&fakes, &["-u", &user, &format!("{HOST}/v2/")]).await;
    assert_eq!(
        (version.status, version.header("docker-distribution-api-version")),
        (200, Some("registry/2.0"))
    );

    let manifest_url = format!("{HOST}/v2/eks/pause/manifests/3.1-eksbuild.1");
    let head = curl_host(&fakes, &["-u", &user, "--head", &manifest_url]).await;
    let manifest = curl_host(&fakes, &["-u", &user, &manifest_url]).await;
    assert_eq!(
        (manifest.status, manifest.header("content-type")),
        (200, Some(MANIFEST))
    );
    assert_eq!(
        head.header("content-length").unwrap(),
        manifest.body.len().to_string()
    );
    let digest = head.header("docker-content-digest").unwrap();
    let by_digest = curl_host(
        &fakes,
        &["-u", &user, &format!("{HOST}/v2/eks/pause/manifests/{digest}")],
    )
    .await;
    assert_eq!(by_digest.body, manifest.body);

    let manifest: Value = serde_json::from_slice(&manifest.body).unwrap();
    for blob in [&manifest["config"], &manifest["layers"][0]] {
        let url = format!("{HOST}/v2/eks/pause/blobs/{}", blob["digest"].as_str().unwrap());
        let answer = curl_host(&fakes, &["-u", &user, &url]).await;
        assert_eq!(
            (answer.status, answer.body.len() as u64),
            (200, blob["size"].as_u64().unwrap())
        );
    }
    let calls = fakes.calls();
    assert!(
        calls
            .iter()
            .all(|call| call.known && call.service == Service::Registry)
    );
    let subjects: Vec<_> = calls.iter().filter_map(|call| call.subject.as_deref()).collect();
    assert_eq!(subjects[0], "eks/pause:3.1-eksbuild.1");
    assert!(!serde_json::to_string(&calls).unwrap().contains(&user[4..]));
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_registry_refuses() {
    let denied = |world: &mut World| {
        stocked(world);
        world.role.as_mut().unwrap().deny = vec!["ecr:GetDownloadUrlForLayer".into()];
    };
    let mut fakes = Fakes::start(denied);
    let aws = Aws::of(&fakes).await;
    let right = format!("AWS:{}", password(&aws).await);
    fakes.calls();
    let zeros = "0".repeat(64);
    let blob = format!("/v2/eks/pause/blobs/sha256:{zeros}");
    let manifest = format!("/v2/eks/pause/manifests/sha256:{zeros}");
    let table: [(&str, &[&str], u16, &str); 6] = [
        (
            "/v2/eks/pause/manifests/1",
            &["-u", "AWS:wrong"],
            401,
            "Not Authorized",
        ),
        (
            "/v2/eks/pause/manifests/1",
            &["-u", "someone:else"],
            401,
            "Not Authorized",
        ),
        (
            "/v2/nothing/manifests/1",
            &["-u", &right],
            404,
            "does not exist in the registry with id '602401143452'",
        ),
        (&manifest, &["-u", &right], 404, "MANIFEST_UNKNOWN"),
        (
            &blob,
            &["-u", &right],
            403,
            "is not authorized to perform: ecr:GetDownloadUrlForLayer",
        ),
        (
            "/v2/eks/pause/blobs/uploads/",
            &["-u", &right, "-X", "POST"],
            405,
            "UNSUPPORTED",
        ),
    ];
    for (path, arguments, status, text) in table {
        let answer = curl_host(&fakes, &[arguments, &[&format!("{HOST}{path}")]].concat()).await;
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.text().contains(text), "{path}: {}", answer.text());
    }
    let unknown: Vec<_> = fakes.calls().into_iter().filter(|call| !call.known).collect();
    assert_eq!((unknown.len(), unknown[0].method.as_str()), (1, "POST"));
    fakes.end().await;
}

/// The credential provider of kubelet splits the token at its first colon and asks for the host that `proxyEndpoint` names.
#[tokio::test(flavor = "multi_thread")]
async fn the_authorization_token_by_boto3() {
    let fakes = Fakes::start(stocked);
    let aws = Aws::of(&fakes).await;
    let program = r#"
import boto3, base64, datetime
ecr = boto3.client("ecr")
own = ecr.get_authorization_token()["authorizationData"][0]
user, password = base64.b64decode(own["authorizationToken"]).decode().split(":", 1)
left = own["expiresAt"] - datetime.datetime.now(datetime.timezone.utc)
print(user, own["proxyEndpoint"], round(left.total_seconds() / 3600))
print(ecr.get_authorization_token(registryIds=["602401143452"])["authorizationData"][0]["proxyEndpoint"])
"#;
    let expected = format!("AWS https://111122223333.dkr.ecr.eu-west-1.amazonaws.com 12\n{HOST}\n");
    assert_eq!(aws.python(program).await, expected);
    fakes.end().await;
}
