//! What the harness says of a join.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::{Deviation, Millis};
use crate::phase::Phase;

/// What the harness says of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The word.
    pub outcome: Outcome,
    /// The versions that were seen to run; `None` where nothing ran.
    #[serde(default)]
    pub versions: Option<RanOn>,
    /// When each phase was reached.
    pub phases: BTreeMap<Phase, Millis>,
    /// Why the join stopped, where it did.
    pub diagnosis: Option<Diagnosis>,
    /// Every check, held or not.
    pub checks: Vec<Check>,
    /// Changes that the harness made to what the AMI would have.
    pub deviations: Vec<Deviation>,
    /// What it was put together from: steps after the join.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// A part of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its name, such as `then reboot`.
    pub name: String,
    /// When each phase was reached, from the part's own start.
    pub phases: BTreeMap<Phase, Millis>,
    /// Why it stopped, where it did.
    pub diagnosis: Option<Diagnosis>,
}

/// The versions of Kubernetes that a join was seen with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RanOn {
    /// The control plane's, such as `v1.36.3`.
    pub kubernetes: String,
    /// The kubelet's.
    pub kubelet: String,
}

/// The word of a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "outcome", content = "reason")]
pub enum Outcome {
    /// Everything that must be seen was seen.
    Passed,
    /// Something that must be seen was not, or something that must not be seen was.
    Failed,
    /// The harness could not tell.
    Errored(String),
    /// The scenario is not for this control plane or this host.
    Skipped(String),
    /// The user ended the run.
    Cancelled,
}

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Key of the scenario's `expect`, such as `node.labels.app`.
    pub key: String,
    /// Whether it held.
    pub held: bool,
    /// What was wanted.
    pub expected: String,
    /// What was seen.
    pub seen: String,
}

/// Why a join stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The last phase that was reached.
    pub phase: Option<Phase>,
    /// The cause, by name.
    pub cause: Cause,
    /// The cause, in one sentence.
    pub because: String,
    /// The line of evidence, with its source and time.
    pub seen: String,
    /// The way out.
    pub remedy: String,
    /// Where the script was when it ended, where it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptPlace>,
}

/// A place in a script, in the node's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptPlace {
    /// The script's path, its file name, or the name of its part of the user data; `None` where only a line was told.
    pub script: Option<String>,
    /// The line, from 1; `None` where only the script is known.
    pub line: Option<u64>,
}

/// The causes that can be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The metadata service never answered.
    MetadataUnreachable,
    /// The metadata service refuses requests without a session token, and the script sends none.
    MetadataTokenMissing,
    /// User data never ran, although cloud-init says that it is done.
    UserDataNeverRan,
    /// A script part of the user data has no `#!` line.
    MissingShebang,
    /// The role may not call an AWS operation that the script needs.
    AccessDenied,
    /// DescribeCluster failed for another reason.
    DescribeFailed,
    /// The user data or the bootstrap script ended with an error.
    ScriptFailed,
    /// The user data was still running at the limit.
    UserDataNotDone,
    /// The kubelet was never started.
    KubeletNeverStarted,
    /// The kubelet refuses a label given on its command line.
    LabelRefused,
    /// The kubelet refuses a taint given on its command line.
    TaintInvalid,
    /// The kubelet ends by itself, for another reason.
    KubeletExits,
    /// The kubelet does not trust the API server's certificate.
    WrongCertificateAuthority,
    /// The kubelet cannot reach the API server.
    EndpointUnreachable,
    /// The token was signed for another cluster's name.
    TokenForAnotherCluster,
    /// The node's role has no row in aws-auth.
    RoleNotMapped,
    /// The node's row in aws-auth does not put it into the group `system:nodes`.
    GroupsMissing,
    /// The API server answers 401 for another reason.
    Unauthorized,
    /// The node may not register under this name.
    NodeNameRefused,
    /// The API server refuses the Node object.
    NodeInvalid,
    /// nodeadm cannot use the NodeConfig that it is given.
    NodeConfigInvalid,
    /// No one approved the client certificate that the kubelet asks for before it registers.
    ClientCertificateNotApproved,
    /// The cluster's CA is not the one whose hash kubeadm was given.
    CaCertHashMismatch,
    /// The bootstrap token is none of the cluster's, or none any more.
    BootstrapTokenUnknown,
    /// The bootstrap token has expired.
    BootstrapTokenExpired,
    /// The API server takes the bootstrap token for nobody.
    BootstrapTokenRefused,
    /// No one approved the serving certificate.
    ServingCertificateNotApproved,
    /// The approver refused the serving certificate.
    ServingCertificateDenied,
    /// No container networking was configured.
    CniNotReady,
    /// The Node was deleted, and its kubelet does not make it again.
    NodeDeleted,
    /// The Node is that of an instance which had the name before.
    ProviderIdOfAnotherInstance,
    /// The node's clock is too far from that of AWS.
    ClockSkew,
    /// The host that runs the harness has nothing left of something that the node needs: no verdict on the node.
    HostLimit,
    /// None of these.
    Unknown,
}
