//! The AWS requests of the authenticator, as a trait that the fake AWS and the tests implement.

use futures::future::BoxFuture;
use nodejoin_core::plan::ids::InstanceId;
use url::Url;

/// The AWS side of the IAM authenticator: STS, and EC2 for private DNS names.
pub trait SecurityTokens: Send + Sync + 'static {
    /// The instance whose credentials have this access key id.
    fn instance_of(&self, access_key_id: &str) -> Option<InstanceId>;

    /// `GetCallerIdentity` with a presigned URL and the header `x-k8s-aws-id` set to the verifier's cluster.
    fn caller_identity<'a>(
        &'a self,
        presigned: &'a Url,
        cluster: &'a str,
    ) -> BoxFuture<'a, Result<StsIdentity, StsRejection>>;

    /// `PrivateDnsName` of an instance in EC2.
    fn private_dns_name(&self, instance: &InstanceId) -> Option<String>;
}

/// The response of `GetCallerIdentity`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StsIdentity {
    pub account: String,
    /// ARN, such as `arn:aws:sts::111111111111:assumed-role/ROLE/SESSION`.
    pub arn: String,
    /// User id, such as `AROA...:SESSION`.
    pub user_id: String,
}

/// An error response of STS, in the words of aws-iam-authenticator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("sts getCallerIdentity failed: error from AWS (expected 200, got {status}). Body: {code}: {message}")]
pub struct StsRejection {
    pub status: u16,
    pub code: String,
    pub message: String,
}
