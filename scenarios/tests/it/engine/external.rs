//! An external cluster: a control plane of another run, whose API server uses the files of `nodejoin wiring`.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use nodejoin_cluster::pki::{Identity, Pki};
use nodejoin_cluster::{
    ApiServerWiring, ExternalSettings, ProviderInputs, ProviderKind, StartContext, Stopwatch, WiringFolder,
};
use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::plan::ProviderName;
use nodejoin_docker::{Engine, ImageSettings, Images, Run};
use nodejoin_engine::{Settings, new_run_id};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ran, plan, run, settings};

/// The external cluster and its files.
struct Cluster {
    run: Run,
    wiring: ApiServerWiring,
    files: TempDir,
    client: Client,
    server: String,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_cluster_of_the_users_a_node_joins_and_everything_is_as_it_was() {
    let cluster = Cluster::start().await;
    let before = cluster.settled().await;

    cluster.a_user_without_rights_is_told_which().await;
    cluster.what_is_there_is_not_overwritten().await;
    assert_eq!(cluster.objects().await, before, "a refusal makes nothing");

    let plans = ["first-join", "al2/pod-answers"].map(plan);
    let Ran { verdicts, left, .. } = run(cluster.settings("kubeconfig", true), &plans).await;
    assert_eq!(verdicts[0].outcome, Outcome::Passed, "{:#?}", verdicts[0]);
    let Outcome::Skipped(reason) = &verdicts[1].outcome else {
        panic!("{:?}", verdicts[1].outcome);
    };
    assert!(
        reason.contains("connections from the API server to kubelets"),
        "{reason}"
    );
    assert_eq!(left, Vec::<String>::new());
    cluster.is_again(&before).await;

    let Ran { verdicts, .. } = run(cluster.settings("kubeconfig", false), &plans[..1]).await;
    let Outcome::Skipped(reason) = &verdicts[0].outcome else {
        panic!(
            "a cluster without webhooks cannot pass: {:?}",
            verdicts[0].outcome
        );
    };
    assert!(
        reason.contains("--authentication-token-webhook-config-file"),
        "{reason}"
    );
    cluster.is_again(&before).await;
    assert_eq!(cluster.run.tear_down().await.left, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_beyond_private_networks_is_refused_before_anybody_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    std::fs::write(&file, kubeconfig("https://203.0.113.7", "", None)).unwrap();
    let mut settings = settings(ProviderName::External);
    settings.external.kubeconfig = vec![file];
    let Ran { verdicts, left, .. } = run(settings, &[plan("first-join")]).await;
    let Outcome::Errored(reason) = &verdicts[0].outcome else {
        panic!("{:?}", verdicts[0].outcome);
    };
    assert!(
        reason.contains("203.0.113.7, which is neither loopback nor private"),
        "{reason}"
    );
    assert!(reason.contains("--allow-remote"), "{reason}");
    assert_eq!(left, Vec::<String>::new());
}

impl Cluster {
    /// Starts an API server with the wiring's files, and nothing of EKS.
    async fn start() -> Self {
        let engine = Engine::connect().await.unwrap();
        let image_settings = ImageSettings::from_lookup(|name| std::env::var(name).ok());
        let images = Images::new(engine.clone(), image_settings.clone(), Arc::new(|_| ()));
        let run = Run::begin(engine.clone(), new_run_id());
        let network = run.network("theirs", true).await.unwrap();
        let listen = TcpListener::bind((network.gateway, 0))
            .unwrap()
            .local_addr()
            .unwrap();
        let files = tempfile::tempdir().unwrap();
        let folder = WiringFolder::create(&files.path().join("wiring"), listen).unwrap();
        let wiring = folder.wiring(Pki::generate().unwrap()).unwrap();
        let context = StartContext {
            run: &run,
            network: &network,
            wiring: &wiring,
            endpoint: None,
            times: &mut Stopwatch::start(),
        };
        let inputs = ProviderInputs {
            images: &images,
            settings: &image_settings,
            kubernetes: "",
            external: &ExternalSettings::default(),
            time_factor: engine.time_factor(),
        };
        let provider = ProviderKind::of(ProviderName::Local).build(inputs).await.unwrap();
        let running = provider.start(context).await.unwrap();
        let text = running.kubeconfig();
        std::fs::write(files.path().join("kubeconfig"), &text).unwrap();
        let parsed = Kubeconfig::from_yaml(&text).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(parsed, &options).await.unwrap();
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let client = Client::try_from(config).unwrap();
        Self {
            run,
            wiring,
            files,
            client,
            server,
        }
    }

    fn settings(&self, kubeconfig: &str, is_wired: bool) -> Settings {
        let mut settings = settings(ProviderName::External);
        settings.external = ExternalSettings {
            kubeconfig: vec![self.file(kubeconfig)],
            wiring: is_wired.then(|| self.file("wiring")),
            ..ExternalSettings::default()
        };
        settings
    }

    fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    async fn a_user_without_rights_is_told_which(&self) {
        let stranger = self.wiring.pki.cluster.client("stranger", &[]).unwrap();
        let text = kubeconfig(&self.server, self.wiring.pki.cluster.pem(), Some(&stranger));
        std::fs::write(self.file("stranger"), text).unwrap();
        let reason = self.refused("stranger").await;
        for right in [
            "impersonate users `eks:node-manager`",
            "create clusterroles.rbac.authorization.k8s.io",
            "delete nodes",
            "delete configmaps in kube-system",
        ] {
            assert!(reason.contains(right), "{right} in {reason}");
        }
    }

    async fn what_is_there_is_not_overwritten(&self) {
        let path = "/api/v1/namespaces/kube-system/configmaps";
        let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"aws-auth"},"data":{"mapRoles":"theirs"}}"#;
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(map.as_bytes().to_vec());
        self.client.request_text(request.unwrap()).await.unwrap();
        let reason = self.refused("kubeconfig").await;
        assert!(reason.contains("ConfigMap `aws-auth`"), "{reason}");
        let there = self.get(&format!("{path}/aws-auth")).await;
        assert_eq!(there["data"]["mapRoles"], "theirs");
        let request = http::Request::delete(format!("{path}/aws-auth")).body(Vec::new());
        self.client.request_text(request.unwrap()).await.unwrap();
    }

    async fn refused(&self, kubeconfig: &str) -> String {
        let ran = run(self.settings(kubeconfig, true), &[plan("first-join")]).await;
        assert_eq!(ran.left, Vec::<String>::new());
        match &ran.verdicts[0].outcome {
            Outcome::Errored(reason) => reason.clone(),
            other => panic!("{other:?}"),
        }
    }

    async fn get(&self, path: &str) -> Value {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let text = self.client.request_text(request).await.unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Every object that a run could leave, by path and name.
    async fn objects(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for path in PATHS {
            let list = self.get(path).await;
            let names = list["items"].as_array().unwrap().iter();
            all.extend(names.map(|item| format!("{path}/{}", item["metadata"]["name"].as_str().unwrap())));
        }
        all
    }

    /// The objects once the cluster has made its own.
    async fn settled(&self) -> BTreeSet<String> {
        until("the cluster to be ready", async || {
            let request = http::Request::get("/readyz").body(Vec::new()).unwrap();
            self.client.request_text(request).await.is_ok()
        })
        .await;
        for made in MADE_BY_CONTROLLERS {
            until(made, async || {
                let request = http::Request::get(made).body(Vec::new()).unwrap();
                self.client.request_text(request).await.is_ok()
            })
            .await;
        }
        self.objects().await
    }

    /// What hangs on a Node goes a moment after it, by the garbage collector of the cluster.
    async fn is_again(&self, before: &BTreeSet<String>) {
        until("everything to be as it was", async || {
            let after = self.objects().await;
            let more: Vec<_> = after.symmetric_difference(before).collect();
            if !more.is_empty() {
                println!("differs: {more:?}");
            }
            more.is_empty()
        })
        .await;
    }
}

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(90), wait).await;
    waited.unwrap_or_else(|_| panic!("waited for {what}"));
}

fn kubeconfig(server: &str, ca: &str, user: Option<&Identity>) -> String {
    let user = user.map_or_else(
        || "{}".to_owned(),
        |user| {
            format!(
                "{{ client-certificate-data: {}, client-key-data: {} }}",
                BASE64_STANDARD.encode(&user.certificate),
                BASE64_STANDARD.encode(user.key.reveal())
            )
        },
    );
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- name: a\n  context: {{ cluster: a, user: a }}\n\
         clusters:\n- name: a\n  cluster: {{ server: \"{server}\", tls-server-name: kubernetes, certificate-authority-data: \"{}\" }}\n\
         users:\n- name: a\n  user: {user}\n",
        BASE64_STANDARD.encode(ca)
    )
}

/// What the controllers of a cluster make a moment after it is ready.
const MADE_BY_CONTROLLERS: [&str; 2] = [
    "/api/v1/namespaces/default/serviceaccounts/default",
    "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt",
];

const PATHS: [&str; 10] = [
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/namespaces/kube-system/configmaps",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/storage.k8s.io/v1/csinodes",
];
