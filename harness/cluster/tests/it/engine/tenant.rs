//! A `local` control plane as the engine starts it, and a tenant of it with its events and its token.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::BoxFuture;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use nodejoin_cluster::{
    ClusterEvent, ClusterFact, ControlPlane, ExternalSettings, ProviderInputs, ProviderKind, SecurityTokens,
    StsIdentity, StsRejection, Tenant,
};
use nodejoin_core::observation::Certificate;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{ClusterPlan, InstancePlan, ProviderName};
use nodejoin_core::testing::node_mapping;
use nodejoin_docker::{Engine, ImageSettings, Images, Run, new_run_id};
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::sync::mpsc;
use url::Url;

pub(super) const MAPPED: &str = "i-0b22a22eec53b9321";
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

    pub(super) async fn wait<T>(&mut self, what: &str, mut find: impl FnMut(&ClusterFact) -> Option<T>) -> T {
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

    pub(super) async fn certificate(&mut self, matches: impl Fn(&Certificate) -> bool) -> Certificate {
        let find = |fact: &ClusterFact| match fact {
            ClusterFact::Certificate(seen) if matches(seen) => Some(seen.clone()),
            _ => None,
        };
        self.wait("the certificate", find).await
    }
}

/// A client with the token of this instance.
pub(super) async fn client(plane: &ControlPlane, id: &str) -> Client {
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

pub(super) fn private_dns_name(id: &str) -> String {
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
