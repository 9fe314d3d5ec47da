//! ECR and its registry: the password through the AWS CLI, the protocol through curl. The tests of `nodejoin aws` pull
//! with Docker, the scenarios with containerd.

use crate::support::Fakes;
use crate::support::clients::{AwsClients, curl, curl_host};
use nodejoin_core::image_archive::ImageArchive;
use nodejoin_core::plan::architecture::Architecture;
use nodejoin_core::plan::aws::RepositoryPlan;
use nodejoin_core::plan::fault::{Effect, Fault, Service};
use nodejoin_fake_aws::{RegistryImage, World, busybox_images};
use serde_json::{Value, json};

const HOST: &str = "https://602401143452.dkr.ecr.eu-west-1.amazonaws.com";
const MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

fn stocked(world: &mut World) {
    world.images = busybox_images(b"stands for busybox").unwrap();
}

async fn password(aws: &AwsClients) -> String {
    let output = aws.cli(&["ecr", "get-login-password"]).await;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_pulled_step_by_step() {
    let mut fakes = Fakes::start(stocked);
    let aws = AwsClients::of(&fakes).await;
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
        let response = curl_host(&fakes, &["-u", &user, &url]).await;
        assert_eq!(
            (response.status, response.body.len() as u64),
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
async fn the_registry_rejects_invalid_requests() {
    let denied = |world: &mut World| {
        stocked(world);
        world.role.as_mut().unwrap().deny = vec!["ecr:GetDownloadUrlForLayer".into()];
    };
    let mut fakes = Fakes::start(denied);
    let aws = AwsClients::of(&fakes).await;
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
        let response = curl_host(&fakes, &[arguments, &[&format!("{HOST}{path}")]].concat()).await;
        assert_eq!(response.status, status, "{path}");
        assert!(response.text().contains(text), "{path}: {}", response.text());
    }
    let unknown: Vec<_> = fakes.calls().into_iter().filter(|call| !call.known).collect();
    assert_eq!((unknown.len(), unknown[0].method.as_str()), (1, "POST"));
    fakes.end().await;
}

/// kubelet's credential provider splits the token at its first colon and uses the host in `proxyEndpoint`.
#[tokio::test(flavor = "multi_thread")]
async fn boto3_reads_the_authorization_token() {
    let fakes = Fakes::start(stocked);
    let aws = AwsClients::of(&fakes).await;
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

/// An image of one layer in an OCI layout, and the layer.
fn layout() -> (std::fs::File, Vec<u8>) {
    use sha2::{Digest as _, Sha256};
    let mut archive = tar::Builder::new(tempfile::tempfile().unwrap());
    let mut append = |name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, bytes).unwrap();
    };
    let mut add = |kind: &str, bytes: &[u8]| {
        let digest = hex::encode(Sha256::digest(bytes));
        append(&format!("blobs/sha256/{digest}"), bytes);
        let media_type = format!("application/vnd.oci.image.{kind}");
        json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len() })
    };
    // Exceeds one read of a file.
    let layer: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
    let here = std::env::consts::ARCH.parse::<Architecture>().unwrap().go();
    let rootfs = json!({ "type": "layers", "diff_ids": [] });
    let config = json!({ "os": "linux", "architecture": here, "rootfs": rootfs });
    let config = add("config.v1+json", config.to_string().as_bytes());
    let layers = [add("layer.v1.tar", &layer)];
    let manifest = json!({ "schemaVersion": 2, "config": config, "layers": layers });
    let manifest = add("manifest.v1+json", manifest.to_string().as_bytes());
    let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
    append("index.json", index.to_string().as_bytes());
    (archive.into_inner().unwrap(), layer)
}

/// A world whose registry has `team/web:v1`, and a repository without an image.
fn with_own_images(world: &mut World) {
    let (file, _) = layout();
    let here = std::env::consts::ARCH.parse().unwrap();
    let archive = ImageArchive::read(&file, here).unwrap();
    stocked(world);
    world.images.push(RegistryImage::stored(
        "team/web",
        vec!["v1".into()],
        archive,
        file,
    ));
    for name in ["team/web", "team/empty"] {
        world.aws.repositories.push(RepositoryPlan {
            name: name.to_owned(),
            images: Vec::new(),
        });
    }
}

const OWN: &str = "https://111122223333.dkr.ecr.eu-west-1.amazonaws.com";

#[tokio::test(flavor = "multi_thread")]
async fn listed_images_are_only_in_the_own_registry() {
    let fakes = Fakes::start(with_own_images);
    let aws = AwsClients::of(&fakes).await;
    let user = format!("AWS:{}", password(&aws).await);
    let get = async |url: String| curl_host(&fakes, &["-u", &user, &url]).await;

    let manifest = get(format!("{OWN}/v2/team/web/manifests/v1")).await;
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    assert_eq!(
        (manifest.status, manifest.header("content-type")),
        (200, Some(media_type))
    );
    let document: Value = serde_json::from_slice(&manifest.body).unwrap();
    let blob = format!(
        "{OWN}/v2/team/web/blobs/{}",
        document["layers"][0]["digest"].as_str().unwrap()
    );
    assert_eq!(get(blob.clone()).await.body, layout().1);
    let head = curl_host(&fakes, &["-u", &user, "--head", &blob]).await;
    assert_eq!(head.header("content-length"), Some("800000"));
    let tags = get(format!("{OWN}/v2/team/web/tags/list")).await;
    assert_eq!(tags.text(), r#"{"name":"team/web","tags":["v1"]}"#);

    let elsewhere = "https://111122223333.dkr.ecr.eu-west-2.amazonaws.com";
    let table = [
        (format!("{OWN}/v2/team/web/manifests/v2"), "MANIFEST_UNKNOWN"),
        (format!("{OWN}/v2/team/empty/manifests/v1"), "MANIFEST_UNKNOWN"),
        (format!("{OWN}/v2/team/none/manifests/v1"), "NAME_UNKNOWN"),
        (format!("{HOST}/v2/team/web/manifests/v1"), "NAME_UNKNOWN"),
        (format!("{elsewhere}/v2/team/web/manifests/v1"), "NAME_UNKNOWN"),
    ];
    for (url, code) in table {
        let response = get(url.clone()).await;
        assert!(
            response.status == 404 && response.text().contains(code),
            "{url}: {}",
            response.text()
        );
    }
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_apply_to_content_in_files() {
    let cut = Fault {
        service: Service::Registry,
        operation: Some("blob".into()),
        path: None,
        after: 0,
        times: None,
        from_seconds: None,
        until_seconds: None,
        above_per_second: None,
        effect: Effect::CutAfter(100_000),
        may_fire: false,
    };
    let fakes = Fakes::start(|world| {
        with_own_images(world);
        world.faults = vec![cut];
    });
    let aws = AwsClients::of(&fakes).await;
    let user = format!("AWS:{}", password(&aws).await);
    let manifest = curl_host(&fakes, &["-u", &user, &format!("{OWN}/v2/team/web/manifests/v1")]).await;
    let document: Value = serde_json::from_slice(&manifest.body).unwrap();
    let digest = document["layers"][0]["digest"].as_str().unwrap();
    let blob = curl_host(
        &fakes,
        &["-u", &user, &format!("{OWN}/v2/team/web/blobs/{digest}")],
    )
    .await;
    // curl's exit code for a partial transfer.
    assert_eq!((blob.exit, blob.body.len()), (18, 100_000));
    fakes.end().await;
}

/// Docker accepts any certificate of a registry at a loopback address.
#[tokio::test(flavor = "multi_thread")]
async fn the_own_registry_serves_a_loopback_address() {
    let mut fakes = Fakes::start(with_own_images);
    let aws = AwsClients::of(&fakes).await;
    let user = format!("AWS:{}", password(&aws).await);
    fakes.calls();
    let at = format!("https://{}", fakes.server.tls);
    let challenge = curl(&["--insecure", &format!("{at}/v2/")]).await;
    let realm = format!("Basic realm=\"{at}/\",service=\"ecr.amazonaws.com\"");
    assert_eq!(
        (challenge.status, challenge.header("www-authenticate")),
        (401, Some(realm.as_str()))
    );
    let url = format!("{at}/v2/team/web/manifests/v1");
    assert_eq!(curl(&["--insecure", "-u", &user, &url]).await.status, 200);
    assert!(
        fakes
            .calls()
            .iter()
            .all(|call| call.known && call.service == Service::Registry)
    );
    let elsewhere = curl(&["--insecure", "-u", &user, &format!("{at}/clusters")]).await;
    assert_eq!((elsewhere.status, fakes.calls()[0].known), (404, false));
    fakes.end().await;
}

/// The API describes what the registry serves.
#[tokio::test(flavor = "multi_thread")]
async fn the_api_describes_repositories_and_images() {
    let mut fakes = Fakes::start(with_own_images);
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, json, botocore.exceptions
ecr = boto3.client("ecr")
def refused(call, **more):
    try:
        call(**more)
    except botocore.exceptions.ClientError as e:
        return e.response["Error"]["Code"]
of = dict(repositoryName="team/web")
image, = ecr.describe_images(imageIds=[{"imageTag": "v1"}], **of)["imageDetails"]
batch = ecr.batch_get_image(imageIds=[{"imageTag": "v1"}, {"imageTag": "v2"}], **of)
print(json.dumps({
  "repositories": [[r["repositoryName"], r["repositoryUri"]] for r in ecr.describe_repositories()["repositories"]],
  "image": [image["imageTags"], image["imageSizeInBytes"] > 800000, image["imageManifestMediaType"]],
  "digest": image["imageDigest"] == batch["images"][0]["imageId"]["imageDigest"],
  "layers": len(json.loads(batch["images"][0]["imageManifest"])["layers"]),
  "failures": [[f["failureCode"], f["imageId"]["imageTag"]] for f in batch["failures"]],
  "empty": ecr.describe_images(repositoryName="team/empty")["imageDetails"],
  "errors": [refused(ecr.describe_images, imageIds=[{"imageTag": "v2"}], **of),
             refused(ecr.describe_repositories, repositoryNames=["none"]), refused(ecr.batch_get_image, repositoryName="none", imageIds=[{"imageTag": "v1"}])],
}))
"#;
    let results: Value = serde_json::from_str(&aws.python(program).await).unwrap();
    let host = "111122223333.dkr.ecr.eu-west-1.amazonaws.com";
    let expected = json!({
        "repositories": [["team/web", format!("{host}/team/web")], ["team/empty", format!("{host}/team/empty")]],
        "image": [["v1"], true, "application/vnd.oci.image.manifest.v1+json"],
        "digest": true,
        "layers": 1,
        "failures": [["ImageNotFound", "v2"]],
        "empty": [],
        "errors": ["ImageNotFoundException", "RepositoryNotFoundException", "RepositoryNotFoundException"],
    });
    assert_eq!(results, expected);
    let calls = fakes.calls();
    let described = calls.iter().find(|call| call.operation == "DescribeImages");
    assert_eq!(described.unwrap().subject.as_deref(), Some("team/web"));
    fakes.end().await;
}
