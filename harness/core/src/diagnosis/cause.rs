//! Causes of a stopped join.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
