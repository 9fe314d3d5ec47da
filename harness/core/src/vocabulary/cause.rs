//! The causes of a stopped join: what each means, where it occurs, and how to remove it.
//!
//! A new cause is a line of `causes!` and its arm in `facts`; a rule in `diagnosis` finds it, and a scenario expects
//! it. A cause without an arm or without a rule does not compile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cause_facts::{BlamedLine, CauseFacts, Permanence};
use super::phase::Phase;

/// Declares the enum and what lists its variants: meaning, variant, word in scenarios, source of the evidence.
macro_rules! causes {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $word:literal, $evidence:literal;)+) => {
        /// Why a join stopped.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Cause {
            $($(#[doc = $meaning])+ #[serde(rename = $word)] $variant,)+
        }

        impl Cause {
            /// Every cause, in the order of a join.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The word in scenarios and reports.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// One or two sentences for the page of diagnoses.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($meaning,)+).trim_ascii(),)+ }
            }

            /// Where the evidence is read from.
            #[must_use]
            pub const fn evidence(self) -> &'static str {
                match self { $(Self::$variant => $evidence,)+ }
            }
        }
    };
}

causes! {
    /// The metadata service did not respond to any request of the node.
    MetadataUnreachable = "metadata-unreachable", "requests to 169.254.169.254";
    /// The instance requires IMDSv2, and the script sends requests without a session token.
    MetadataTokenMissing = "metadata-token-missing", "requests to 169.254.169.254";
    /// cloud-init finished without running any user data.
    UserDataNeverRan = "user-data-never-ran", "cloud-init's log and status";
    /// A script part of the user data does not begin with `#!`, so the kernel cannot start it.
    MissingShebang = "missing-shebang", "cloud-init's log, the user data";
    /// A script part of the user data begins with a byte order mark, so the kernel does not find its `#!`.
    ByteOrderMark = "byte-order-mark", "cloud-init's log, the user data";
    /// The user data rebooted the instance before it started the kubelet, or reboots it without end. nodejoin boots the
    /// instance again, as EC2 does, and cloud-init does not run scripts of the user data a second time.
    InstanceRebooted = "instance-rebooted", "systemd's log, the end of the container";
    /// The user data shut the instance down.
    InstanceShutDown = "instance-shut-down", "systemd's log, the end of the container";
    /// The script requests a metadata path again and again that the instance does not have.
    MetadataPathMissing = "metadata-path-missing", "requests to 169.254.169.254";
    /// The script needs a name that does not resolve in the VPC either.
    NameNotResolved = "name-not-resolved", "calls to AWS, queries to the resolver, the output of the user data";
    /// The script needs something that nodejoin does not have, such as an AWS service, a name outside or a command. The
    /// result says nothing about the script.
    HarnessLimit = "harness-limit", "queries to the resolver, the output of the user data";
    /// The instance's role may not call an AWS operation that the script or the kubelet needs.
    AccessDenied = "access-denied", "responses of AWS";
    /// DescribeCluster failed for a reason other than permissions, or the cluster is not active.
    DescribeFailed = "describe-failed", "responses of EKS";
    /// nodeadm cannot use the NodeConfig in the user data.
    NodeConfigInvalid = "node-config-invalid", "nodeadm's log";
    /// kubeadm pins the hash of another CA than the cluster's.
    CaCertHashMismatch = "ca-cert-hash-mismatch", "kubeadm's output";
    /// The cluster does not have the bootstrap token, or does not have it any more.
    BootstrapTokenUnknown = "bootstrap-token-unknown", "the API server's audit log";
    /// The bootstrap token has expired.
    BootstrapTokenExpired = "bootstrap-token-expired", "the API server's audit log";
    /// The API server does not accept the bootstrap token.
    BootstrapTokenRefused = "bootstrap-token-refused", "the API server's audit log";
    /// The user data, a script that it calls, or nodeadm ended with an error.
    ScriptFailed = "script-failed", "the output of the user data, nodeadm's log";
    /// The user data was still running at the timeout.
    UserDataNotDone = "user-data-not-done", "the output of the user data, requests to AWS";
    /// The user data is done, and systemd did not start the kubelet.
    KubeletNeverStarted = "kubelet-never-started", "systemd's log";
    /// The kubelet refuses a label on its command line.
    LabelRefused = "label-refused", "the kubelet's log";
    /// The kubelet cannot parse a taint on its command line.
    TaintInvalid = "taint-invalid", "the kubelet's log";
    /// The kubelet exits by itself for another reason.
    KubeletExits = "kubelet-exits", "the kubelet's log, systemd's log";
    /// The kubelet does not trust the API server's certificate, or does not trust it any more.
    WrongCertificateAuthority = "wrong-certificate-authority", "the kubelet's log";
    /// The kubelet cannot connect to the API server.
    EndpointUnreachable = "endpoint-unreachable", "the kubelet's log";
    /// The node's clock is too far from AWS' time for its signatures.
    ClockSkew = "clock-skew", "the authenticator, responses of AWS";
    /// The token was signed for the name of another cluster.
    TokenForAnotherCluster = "token-for-another-cluster", "the authenticator";
    /// The node's role has neither a row in `aws-auth` nor an access entry with an effect.
    RoleNotMapped = "role-not-mapped", "the authenticator";
    /// The API server responds with 401 for another reason.
    Unauthorized = "unauthorized", "the authenticator, the kubelet's log";
    /// The role is mapped without the group `system:nodes`.
    GroupsMissing = "groups-missing", "the authenticator, the API server's audit log";
    /// The API server does not allow the kubelet to register under this node name.
    NodeNameRefused = "node-name-refused", "the API server's audit log, the kubelet's log";
    /// The API server rejects the Node object as invalid.
    NodeInvalid = "node-invalid", "the API server's audit log, the kubelet's log";
    /// The client certificate that the kubelet requests before it registers was not approved.
    ClientCertificateNotApproved = "client-certificate-not-approved", "certificate signing requests";
    /// The serving certificate was not approved.
    ServingCertificateNotApproved = "serving-certificate-not-approved", "certificate signing requests";
    /// The serving certificate was denied.
    ServingCertificateDenied = "serving-certificate-denied", "certificate signing requests";
    /// The container runtime has no network configuration.
    CniNotReady = "cni-not-ready", "the Node's Ready condition";
    /// The Node was deleted, and its kubelet does not create it again.
    NodeDeleted = "node-deleted", "the watch of the Node, the API server's audit log";
    /// The node was ready and is not any more: its Node was deleted or is NotReady, or its kubelet ended.
    NodeLost = "node-lost", "the Node, the kubelet's log, systemd's log";
    /// The Node belongs to an instance that had the same name before.
    ProviderIdOfAnotherInstance = "provider-id-of-another-instance", "the Node";
    /// The host that runs nodejoin lacks something that the node needs. The result says nothing about the node.
    HostLimit = "host-limit", "the node's journal";
    /// None of the other causes was found.
    Unknown = "unknown", "the last line of the journal that reports a failure";
}

impl Cause {
    /// The first and the last phase at which a join can stop for this cause.
    #[must_use]
    pub const fn phases(self) -> (Phase, Phase) {
        let facts = self.facts();
        (facts.first, facts.last)
    }

    /// Whether joins that succeed can also show this cause for a while.
    #[must_use]
    pub const fn may_pass(self) -> bool {
        matches!(self.facts().permanence, Permanence::MayPass)
    }

    /// What to change in general; a diagnosis has the remedy for its join.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        self.facts().remedy
    }

    /// Whether only joins that have reached `ready` can have the cause.
    #[must_use]
    pub fn is_after_ready(self) -> bool {
        self.phases().0 == Phase::Ready
    }

    pub(crate) const fn blames_script(self) -> BlamedLine {
        self.facts().blames
    }
}

impl Cause {
    #[rustfmt::skip]
    const fn facts(self) -> CauseFacts {
        use Permanence::{Lasts, MayPass};
        use BlamedLine::{KubeletFlag, LastOfScript, NoLine, PartWithoutInterpreter};
        use Phase::{Authenticated, Booted, Certified, Configured, Described, KubeletStarted, Metadata, Ready, Registered};
        match self {
            Self::MetadataUnreachable => CauseFacts::new(Booted, Booted, Lasts, LastOfScript,
                "Enable the instance's metadata service, and remove routes, proxies and firewalls in front of 169.254.169.254."),
            Self::MetadataTokenMissing => CauseFacts::new(Booted, Authenticated, Lasts, LastOfScript,
                "Request a session token (PUT /latest/api/token) and send it with each request."),
            Self::UserDataNeverRan => CauseFacts::new(Booted, Described, Lasts, LastOfScript,
                "Pass user data that is encoded once, and make sure that the metadata service responds to every path that it lists."),
            Self::MissingShebang => CauseFacts::new(Booted, Described, Lasts, PartWithoutInterpreter,
                "Begin the part with `#!/bin/bash`."),
            Self::ByteOrderMark => CauseFacts::new(Booted, Described, Lasts, PartWithoutInterpreter,
                "Save the part as UTF-8 without a byte order mark."),
            Self::InstanceRebooted => CauseFacts::new(Booted, Certified, Lasts, LastOfScript,
                "Call the bootstrap script before the reboot, and enable the kubelet's unit."),
            Self::InstanceShutDown => CauseFacts::new(Booted, Certified, Lasts, LastOfScript,
                "Remove the command that shuts the instance down."),
            Self::MetadataPathMissing => CauseFacts::new(Booted, Described, Lasts, LastOfScript,
                "Request a path that the instance has, and stop after a 404: it does not change."),
            Self::NameNotResolved => CauseFacts::new(Booted, Described, Lasts, LastOfScript,
                "Correct the name, or let the script continue without it."),
            Self::HarnessLimit => CauseFacts::new(Booted, Described, Lasts, LastOfScript,
                "Set `network: open`, add what is missing with an overlay, or replace the command by a stub."),
            Self::AccessDenied => CauseFacts::new(Booted, KubeletStarted, Lasts, LastOfScript,
                "Allow the operation in the policy of the role."),
            Self::DescribeFailed => CauseFacts::new(Booted, Described, Lasts, LastOfScript,
                "Pass the right cluster name, wait until the cluster is active, and retry throttled requests."),
            Self::NodeConfigInvalid => CauseFacts::new(Booted, Described, Lasts, LastOfScript,
                "Correct the NodeConfig; `nodeadm config check` in the node validates it."),
            Self::CaCertHashMismatch => CauseFacts::new(Booted, KubeletStarted, Lasts, LastOfScript,
                "Pass the hash of the cluster's CA to kubeadm."),
            Self::BootstrapTokenUnknown => CauseFacts::new(Booted, KubeletStarted, Lasts, LastOfScript,
                "Create a token with `kubeadm token create --print-join-command`."),
            Self::BootstrapTokenExpired => CauseFacts::new(Booted, KubeletStarted, Lasts, LastOfScript,
                "Create a token with `kubeadm token create --print-join-command`."),
            Self::BootstrapTokenRefused => CauseFacts::new(Booted, KubeletStarted, Lasts, LastOfScript,
                "Create the token with both usages, and start the API server with --enable-bootstrap-token-auth."),
            Self::ScriptFailed => CauseFacts::new(Booted, Described, Lasts, LastOfScript,
                "Run the failed line in the node; `nodejoin run --keep` keeps it."),
            Self::UserDataNotDone => CauseFacts::new(Booted, Configured, Lasts, LastOfScript,
                "Find out what the script waits for; if it only needs more time, increase `limits.join_seconds`."),
            Self::KubeletNeverStarted => CauseFacts::new(Booted, Configured, Lasts, NoLine,
                "Call the bootstrap script in the user data, and correct failed units that the kubelet requires."),
            Self::LabelRefused => CauseFacts::new(KubeletStarted, KubeletStarted, Lasts, KubeletFlag("--node-labels"),
                "Use a label domain that a kubelet may set; set other labels with `kubectl label node`."),
            Self::TaintInvalid => CauseFacts::new(KubeletStarted, KubeletStarted, Lasts, KubeletFlag("--register-with-taints"),
                "Write the taint as `key=value:Effect`."),
            Self::KubeletExits => CauseFacts::new(Configured, Authenticated, MayPass, NoLine,
                "Correct the flag, file or setting that the kubelet names in its last line."),
            Self::WrongCertificateAuthority => CauseFacts::new(KubeletStarted, Certified, Lasts, NoLine,
                "Pass the CA that DescribeCluster returns for this cluster."),
            Self::EndpointUnreachable => CauseFacts::new(KubeletStarted, KubeletStarted, MayPass, NoLine,
                "Pass the endpoint that DescribeCluster returns for this cluster."),
            Self::ClockSkew => CauseFacts::new(Metadata, KubeletStarted, Lasts, LastOfScript,
                "Synchronize the clock (chronyd with 169.254.169.123) before anything signs requests."),
            Self::TokenForAnotherCluster => CauseFacts::new(KubeletStarted, KubeletStarted, Lasts, NoLine,
                "Pass this cluster's name to the script: each token contains it."),
            Self::RoleNotMapped => CauseFacts::new(KubeletStarted, KubeletStarted, Lasts, NoLine,
                "Add a row for the role to `aws-auth`, or create an access entry of type EC2_LINUX."),
            Self::Unauthorized => CauseFacts::new(KubeletStarted, KubeletStarted, MayPass, NoLine,
                "Run the `exec` command of the kubelet's kubeconfig in the node, and correct what it reports."),
            Self::GroupsMissing => CauseFacts::new(Authenticated, Authenticated, Lasts, NoLine,
                "Map the role to the groups system:bootstrappers and system:nodes."),
            Self::NodeNameRefused => CauseFacts::new(KubeletStarted, Authenticated, Lasts, NoLine,
                "Let the kubelet register under the name that the mapping of its role gives it."),
            Self::NodeInvalid => CauseFacts::new(KubeletStarted, Authenticated, Lasts, NoLine,
                "Correct the labels and taints that the kubelet registers with."),
            Self::ClientCertificateNotApproved => CauseFacts::new(Authenticated, Authenticated, MayPass, NoLine,
                "Let kube-controller-manager approve client certificates of nodes, or run `kubectl certificate approve`."),
            Self::ServingCertificateNotApproved => CauseFacts::new(Authenticated, Registered, MayPass, NoLine,
                "Run an approver of kubelet-serving requests, or run `kubectl certificate approve`."),
            Self::ServingCertificateDenied => CauseFacts::new(Authenticated, Registered, Lasts, NoLine,
                "Let the kubelet request only the names and addresses of its instance."),
            Self::CniNotReady => CauseFacts::new(Registered, Certified, MayPass, NoLine,
                "Install the VPC CNI; in a scenario set `cni: bridge`."),
            Self::NodeDeleted => CauseFacts::new(Booted, Certified, Lasts, LastOfScript,
                "Restart the kubelet, or replace the instance."),
            Self::NodeLost => CauseFacts::new(Ready, Ready, Lasts, NoLine,
                "Find the command that runs after the join and changes the kubelet, the container runtime or the Node."),
            Self::ProviderIdOfAnotherInstance => CauseFacts::new(Ready, Ready, Lasts, NoLine,
                "Delete the Node before the kubelet of the new instance starts."),
            Self::HostLimit => CauseFacts::new(Booted, Certified, Lasts, NoLine,
                "Run fewer nodes at once, or raise the limit of the host; `nodejoin doctor` lists what is missing."),
            Self::Unknown => CauseFacts::new(Booted, Certified, MayPass, LastOfScript,
                "Read the evidence folder: journals, AWS calls, timeline."),
        }
    }
}
