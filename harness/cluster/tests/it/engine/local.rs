//! A real `local` control plane in Docker: a token maps to a node's user, and the controllers of EKS work.

use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret, ServiceAccount, Taint};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt as _};
use nodejoin_cluster::{ClusterFact, ControlPlane};
use nodejoin_core::observation::RejectionKind;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

use super::tenant::{MAPPED, Watched, client, private_dns_name, start};

const UNMAPPED: &str = "i-0b22a22eec53b9322";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_map_to_nodes_and_the_controllers_of_eks_work() {
    let (run, plane) = start().await;
    let mut mapped = Watched::admit(&plane, MAPPED, true).await;
    let mut unmapped = Watched::admit(&plane, UNMAPPED, false).await;

    what_no_key_signs_is_from_the_image(&plane).await;
    the_cluster_accepts_windows_nodes(&plane).await;
    a_role_that_is_not_mapped_is_unauthorized(&plane, &mut unmapped).await;
    a_node_registers_and_is_initialized(&plane, &mut mapped).await;
    a_serving_certificate_is_approved_and_issued(&plane, &mut mapped).await;
    a_serving_certificate_for_another_address_is_denied(&plane, &mut mapped).await;
    kept_objects_stay_until_the_next_tenant_of_the_name(&plane).await;
    removing_a_tenant_removes_all_its_objects(&plane).await;

    plane.shut_down().await;
    assert_eq!(run.tear_down().await.left, Vec::<String>::new());
}

/// The image's etcd has what every control plane writes first. Keys, and what has them, are of this control plane.
async fn what_no_key_signs_is_from_the_image(plane: &ControlPlane) {
    let client = plane.client();
    let account = Api::<ServiceAccount>::namespaced(client.clone(), "default");
    let account = account.get("default").await.unwrap();
    let of_image = account.creation_timestamp().unwrap().0;
    for role in ["cluster-admin", "system:node", "admin"] {
        let role = Api::<ClusterRole>::all(client.clone()).get(role).await.unwrap();
        assert!(
            role.rules.is_some_and(|rules| !rules.is_empty()),
            "{:?}",
            role.metadata
        );
        assert!(role.metadata.creation_timestamp.unwrap().0 <= of_image);
    }
    let of_harness = Api::<ClusterRole>::all(client.clone())
        .get("eks:node-bootstrapper")
        .await
        .unwrap();
    assert!(of_harness.creation_timestamp().unwrap().0 > of_image);
    let all = ListParams::default();
    for secret in &Api::<Secret>::all(client.clone()).list(&all).await.unwrap() {
        assert!(
            secret.creation_timestamp().unwrap().0 > of_image,
            "{:?}",
            secret.metadata
        );
    }
    for map in &Api::<ConfigMap>::all(client).list(&all).await.unwrap() {
        assert!(
            map.creation_timestamp().unwrap().0 > of_image,
            "{:?}",
            map.metadata
        );
    }
}

async fn the_cluster_accepts_windows_nodes(plane: &ControlPlane) {
    let maps = Api::<ConfigMap>::namespaced(plane.client(), "kube-system");
    let data = maps.get("amazon-vpc-cni").await.unwrap().data.unwrap();
    assert_eq!(data["enable-windows-ipam"], "true");
}

async fn a_role_that_is_not_mapped_is_unauthorized(plane: &ControlPlane, node: &mut Watched) {
    let error = Api::<Node>::all(client(plane, UNMAPPED).await)
        .list(&Default::default())
        .await
        .unwrap_err();
    assert!(
        matches!(&error, kube::Error::Api(status) if status.code == 401),
        "{error:?}"
    );
    let seen = node.wait("a refusal", |fact| match fact {
        ClusterFact::Authentication(seen) => Some(seen.clone()),
        _ => None,
    });
    let seen = seen.await;
    assert_eq!(
        seen.rejection().map(|rejection| rejection.kind),
        Some(RejectionKind::NotMapped)
    );
    assert_eq!(
        seen.canonical_arn.as_deref(),
        Some("arn:aws:iam::111111111111:role/role-of-i-0b22a22eec53b9322")
    );
}

async fn a_node_registers_and_is_initialized(plane: &ControlPlane, node: &mut Watched) {
    let api = Api::<Node>::all(client(plane, MAPPED).await);
    let wrong = api
        .create(&PostParams::default(), &external_node("another"))
        .await
        .unwrap_err();
    assert!(
        wrong.to_string().contains("is not allowed to modify node"),
        "{wrong}"
    );
    let refused = node.wait("the audit event of the refusal", |fact| match fact {
        ClusterFact::Audit(seen) if seen.verb == "create" && seen.code == 403 => seen.message.clone(),
        _ => None,
    });
    assert!(
        refused
            .await
            .ends_with("is not allowed to modify node \"another\"")
    );
    let name = private_dns_name(MAPPED);
    api.create(&PostParams::default(), &external_node(&name))
        .await
        .unwrap();

    let created = node.wait("the audit event of the creation", |fact| match fact {
        ClusterFact::Audit(seen) if seen.verb == "create" && seen.code == 201 => Some(seen.clone()),
        _ => None,
    });
    let created = created.await;
    assert_eq!(
        (created.resource.as_str(), created.name.as_deref()),
        ("nodes", Some(name.as_str()))
    );
    assert_eq!(created.username, format!("system:node:{name}"));
    assert!(
        created.object.unwrap().pointer("/metadata/uid").is_some(),
        "expected the created object"
    );

    let initialized = node.wait("the initialized node", |fact| match fact {
        ClusterFact::Node {
            object: Some(object), ..
        } if object.pointer("/spec/providerID").is_some() => Some(object.clone()),
        _ => None,
    });
    let initialized: Node = serde_json::from_value(initialized.await).unwrap();
    assert_eq!(initialized.labels()["topology.kubernetes.io/zone"], "eu-west-1a");
    let taints = initialized.spec.unwrap().taints.unwrap_or_default();
    assert!(
        !taints.iter().any(|taint| taint.key.contains("uninitialized")),
        "{taints:?}"
    );
    assert_eq!(
        initialized.status.unwrap().addresses.unwrap()[0].address,
        "192.168.40.1"
    );
}

async fn a_serving_certificate_is_approved_and_issued(plane: &ControlPlane, node: &mut Watched) {
    request_certificate(plane, "192.168.40.1").await;
    let issued = node
        .certificate(|seen| seen.issued && seen.decided_by.is_some())
        .await;
    assert_eq!(issued.approved, Some(true));
    assert_eq!(issued.decided_by.as_deref(), Some("eks:certificate-controller"));
    assert!(issued.decision.unwrap().starts_with("AutoApproved: "));
    assert_eq!(issued.fingerprint.unwrap().len(), 64);
}

async fn a_serving_certificate_for_another_address_is_denied(plane: &ControlPlane, node: &mut Watched) {
    request_certificate(plane, "10.0.0.1").await;
    let denied = node
        .certificate(|seen| seen.approved == Some(false) && seen.decided_by.is_some())
        .await;
    assert!(!denied.issued);
    assert!(
        denied
            .decision
            .unwrap()
            .starts_with("UnverifiedSubjectAlternativeName: address 10.0.0.1")
    );
}

async fn kept_objects_stay_until_the_next_tenant_of_the_name(plane: &ControlPlane) {
    let name = private_dns_name(MAPPED);
    let nodes = Api::<Node>::all(plane.client());
    let before = nodes.get(&name).await.unwrap();
    plane
        .retire_keeping_objects(&MAPPED.parse().unwrap())
        .await
        .unwrap();
    assert_eq!(nodes.get(&name).await.unwrap().metadata.uid, before.metadata.uid);
    let _next = Watched::admit(plane, MAPPED, true).await;
    assert!(nodes.get_opt(&name).await.unwrap().is_none());
    let again = Node {
        metadata: kube::api::ObjectMeta {
            name: Some(name),
            ..Default::default()
        },
        ..Default::default()
    };
    nodes.create(&Default::default(), &again).await.unwrap();
}

async fn removing_a_tenant_removes_all_its_objects(plane: &ControlPlane) {
    plane.remove(&MAPPED.parse().unwrap()).await.unwrap();
    assert_eq!(
        Api::<Node>::all(plane.client())
            .list(&Default::default())
            .await
            .unwrap()
            .items
            .len(),
        0
    );
    let requests = Api::<CertificateSigningRequest>::all(plane.client())
        .list(&Default::default())
        .await
        .unwrap();
    assert_eq!(requests.items.len(), 0);
    // The token is still valid, but its tenant is gone.
    let error = Api::<Node>::all(client(plane, UNMAPPED).await)
        .list(&Default::default())
        .await
        .unwrap_err();
    assert!(
        matches!(&error, kube::Error::Api(status) if status.code == 401),
        "{error:?}"
    );
}

/// Creates a request like a kubelet's, with the node's token.
async fn request_certificate(plane: &ControlPlane, address: &str) {
    let user = format!("system:node:{}", private_dns_name(MAPPED));
    let mut params = CertificateParams::new(vec![private_dns_name(MAPPED), address.to_owned()]).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, "system:nodes");
    params.distinguished_name.push(DnType::CommonName, user);
    let pem = params
        .serialize_request(&KeyPair::generate().unwrap())
        .unwrap()
        .pem()
        .unwrap();
    let mut request = CertificateSigningRequest {
        spec: CertificateSigningRequestSpec {
            request: ByteString(pem.into_bytes()),
            signer_name: "kubernetes.io/kubelet-serving".to_owned(),
            // The signer of 1.20 accepts exactly these three; later ones also accept a kubelet's two.
            usages: Some(
                ["digital signature", "key encipherment", "server auth"]
                    .map(str::to_owned)
                    .to_vec(),
            ),
            ..CertificateSigningRequestSpec::default()
        },
        ..CertificateSigningRequest::default()
    };
    request.metadata.generate_name = Some("csr-".to_owned());
    let api = Api::<CertificateSigningRequest>::all(client(plane, MAPPED).await);
    api.create(&PostParams::default(), &request).await.unwrap();
}

fn external_node(name: &str) -> Node {
    let mut node = Node::default();
    node.metadata.name = Some(name.to_owned());
    let key = "node.cloudprovider.kubernetes.io/uninitialized".to_owned();
    let taint = Taint {
        key,
        value: Some("true".to_owned()),
        effect: "NoSchedule".to_owned(),
        time_added: None,
    };
    node.spec.get_or_insert_default().taints = Some(vec![taint]);
    node
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kube_controller_manager_starts_again() {
    let (run, plane) = start().await;
    let container = plane.container_id().unwrap().to_owned();
    let in_container = async |command: &str| {
        let output = run
            .engine()
            .exec(&container, &["sh", "-c", command])
            .await
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    // It has started, and has not ended at once.
    let wait = "until pidof kube-controller-manager; do sleep 0.1; done";
    let first = in_container(wait).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    let second = in_container(&format!("kill -KILL {first}; sleep 1; {wait}")).await;
    assert_ne!(first, second);
    plane.check().await.unwrap();

    plane.shut_down().await;
    assert_eq!(run.tear_down().await.left, Vec::<String>::new());
}
