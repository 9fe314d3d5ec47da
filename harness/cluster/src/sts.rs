//! What the authenticator asks of AWS, as a trait: the fake AWS answers it, and tests stand in for it.

use futures::future::BoxFuture;
use nodejoin_core::plan::ids::InstanceId;
use url::Url;

/// The AWS side of the IAM authenticator: STS, and EC2 for private DNS names.
pub trait SecurityTokens: Send + Sync + 'static {
    /// The instance whose credentials have this access key id.
    fn instance_of(&self, access_key_id: &str) -> Option<InstanceId>;

    /// `GetCallerIdentity` by a presigned URL, with the header `x-k8s-aws-id` set to the verifier's own cluster.
    fn caller_identity<'a>(
        &'a self,
        presigned: &'a Url,
        cluster: &'a str,
    ) -> BoxFuture<'a, Result<Caller, StsRefused>>;

    /// `PrivateDnsName` of an instance, as EC2 tells it.
    fn private_dns_name(&self, instance: &InstanceId) -> Option<String>;
}

/// What `GetCallerIdentity` answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Account id.
    pub account: String,
    /// ARN, such as `arn:aws:sts::111111111111:assumed-role/ROLE/SESSION`.
    pub arn: String,
    /// User id, such as `AROA...:SESSION`.
    pub user_id: String,
}

/// STS refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("sts getCallerIdentity failed: error from AWS (expected 200, got {status}). Body: {code}: {message}")]
pub struct StsRefused {
    /// HTTP status.
    pub status: u16,
    /// Error code.
    pub code: String,
    /// Message.
    pub message: String,
}
