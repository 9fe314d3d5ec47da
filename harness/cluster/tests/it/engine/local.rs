//! A real `local` control plane in Docker: a token maps to a node's user, and the controllers of EKS work.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::BoxFuture;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret, ServiceAccount, Taint};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{ListParams, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt as _};
use nodejoin_cluster::{
    ClusterEvent, ClusterFact, ControlPlane, ExternalSettings, ProviderInputs, ProviderKind, SecurityTokens,
    StsIdentity, StsRejection, Tenant,
};
use nodejoin_core::observation::{Certificate, RejectionKind};
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{ClusterPlan, InstancePlan, ProviderName};
use nodejoin_core::testing::node_mapping;
use nodejoin_docker::{Engine, ImageSettings, Images, Run, new_run_id};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::sync::mpsc;
use url::Url;

pub(super) const MAPPED: &str = "i-0b22a22eec53b9321";
const UNMAPPED: &str = "i-0b22a22eec53b9322";
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

/// An STS that accepts every signature. The access key is the instance id without its dash; each instance has its own
/// role.
struct Sts;

impl SecurityTokens for Sts {
    fn instance_of(&self, access_key_id: &str) -> Option<InstanceId> {
        access_key_id.replacen('i', "i-", 1).parse().ok()
    }

    fn caller_identity<'a>(
        &'a self,
        url: &'a Url,
        _: &'a str,
    ) -> BoxFuture<'a, Result<StsIdentity, StsRejection>> {
        let credential = url
            .query_pairs()
            .find(|(name, _)| name == "X-Amz-Credential")
            .unwrap()
            .1
            .into_owned();
        let instance = self.instance_of(credential.split('/').next().unwrap()).unwrap();
        let arn = format!("arn:aws:sts::111111111111:assumed-role/role-of-{instance}/{instance}");
        let user_id = format!("AROAEXAMPLE:{instance}");
        Box::pin(async move {
            Ok(StsIdentity {
                account: "111111111111".to_owned(),
                arn,
                user_id,
            })
        })
    }

    fn private_dns_name(&self, instance: &InstanceId) -> Option<String> {
        Some(private_dns_name(instance.as_str()))
    }
}

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

/// A run with a control plane on an internal network, like the engine starts it.
pub(super) async fn start() -> (Run, ControlPlane) {
    let engine = Engine::connect().await.unwrap();
    let settings = ImageSettings::from_lookup(|name| std::env::var(name).ok());
    let images = Images::new(
        engine.clone(),
        settings.clone(),
        Arc::new(|event| println!("{event:?}")),
    );
    let inputs = ProviderInputs {
        images: &images,
        settings: &settings,
        kubernetes: "",
        external: &ExternalSettings::default(),
        time_factor: engine.time_factor(),
    };
    let provider = ProviderKind::of(ProviderName::Local).build(inputs).await.unwrap();
    let run = Run::begin(engine.clone(), new_run_id());
    let network = run.network("isolated", true).await.unwrap();
    let plane = ControlPlane::start(&*provider, &run, &network, None, Sts)
        .await
        .unwrap();
    println!("{} {:#?}", plane.version, plane.start_times());
    (run, plane)
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

/// A tenant and its events.
pub(super) struct Watched(mpsc::UnboundedReceiver<ClusterEvent>);

impl Watched {
    pub(super) async fn admit(plane: &ControlPlane, id: &str, is_mapped: bool) -> Self {
        let (events, received) = mpsc::unbounded_channel();
        let instance = instance(id);
        let (account, region) = ("111111111111".parse().unwrap(), "eu-west-1".parse().unwrap());
        let cluster = cluster(is_mapped.then(|| format!("arn:aws:iam::111111111111:role/role-of-{id}")));
        plane
            .admit(Tenant {
                pod_cidr: None,
                cluster,
                instance,
                account,
                region,
                events,
            })
            .await
            .unwrap();
        Self(received)
    }

    async fn wait<T>(&mut self, what: &str, mut find: impl FnMut(&ClusterFact) -> Option<T>) -> T {
        let mut seen = Vec::new();
        let found = tokio::time::timeout(EVENT_TIMEOUT, async {
            while let Some(event) = self.0.recv().await {
                assert!(event.at <= SystemTime::now());
                if let Some(found) = find(&event.what) {
                    return Some(found);
                }
                seen.push(event.what);
            }
            None
        });
        found
            .await
            .ok()
            .flatten()
            .unwrap_or_else(|| panic!("timeout waiting for {what}; seen: {seen:#?}"))
    }

    async fn certificate(&mut self, matches: impl Fn(&Certificate) -> bool) -> Certificate {
        let find = |fact: &ClusterFact| match fact {
            ClusterFact::Certificate(seen) if matches(seen) => Some(seen.clone()),
            _ => None,
        };
        self.wait("the certificate", find).await
    }
}

/// A client with the token of this instance.
async fn client(plane: &ControlPlane, id: &str) -> Client {
    let mut kubeconfig = Kubeconfig::from_yaml(&plane.kubeconfig()).unwrap();
    let user: AuthInfo = serde_json::from_value(serde_json::json!({ "token": token(id) })).unwrap();
    kubeconfig.auth_infos[0].auth_info = Some(user);
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

fn token(id: &str) -> String {
    let format = format_description!("[year][month][day]T[hour][minute][second]Z");
    let date = OffsetDateTime::now_utc().format(format).unwrap();
    let key = id.replacen("i-", "i", 1);
    let url = format!(
        "https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15\
         &X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={key}%2F{}%2Feu-west-1%2Fsts%2Faws4_request\
         &X-Amz-Date={date}&X-Amz-Expires=60&X-Amz-SignedHeaders=host%3Bx-k8s-aws-id&X-Amz-Signature=00",
        &date[..8]
    );
    format!("k8s-aws-v1.{}", URL_SAFE_NO_PAD.encode(url))
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

fn private_dns_name(id: &str) -> String {
    format!("ip-192-168-40-{}.eu-west-1.compute.internal", last_digit(id))
}

fn last_digit(id: &str) -> u8 {
    id[id.len() - 1..].parse().unwrap()
}

fn instance(id: &str) -> InstancePlan {
    InstancePlan {
        id: id.parse().unwrap(),
        private_ip: [192, 168, 40, last_digit(id)].into(),
        private_dns_name: private_dns_name(id),
        host_name: private_dns_name(id),
        mac: "0a:ff:c0:a8:28:10".to_owned(),
        ..nodejoin_core::testing::instance()
    }
}

fn cluster(role: Option<String>) -> ClusterPlan {
    ClusterPlan {
        name: "ironman".to_owned(),
        service_ipv4_cidr: None,
        aws_auth: role.iter().map(|role| node_mapping(role)).collect(),
        ..nodejoin_core::testing::cluster()
    }
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
