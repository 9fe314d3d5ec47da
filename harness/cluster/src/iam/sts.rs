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

    /// `PrivateDnsName` of an instance in EC2, empty while EC2 has no name yet; `None` for an unknown instance.
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

/// An error response of STS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StsRejection {
    /// HTTP status; 0 without a response.
    pub status: u16,
    pub code: String,
    pub message: String,
    /// The body of the response; empty without a response.
    pub body: String,
}

impl StsRejection {
    /// Whether the authenticator takes it for throttling: it looks for the word anywhere in the body.
    pub(crate) fn is_throttling(&self) -> bool {
        self.body.contains("Throttling")
    }

    /// The words of aws-iam-authenticator. `host` is that of the presigned URL.
    pub(crate) fn reason(&self, host: &str) -> String {
        let Self {
            status,
            message,
            body,
            ..
        } = self;
        // The authenticator names the endpoint by the second label.
        let region = match host {
            "sts.amazonaws.com" => "global",
            host => host.split('.').nth(1).unwrap_or_default(),
        };
        match status {
            _ if self.is_throttling() => format!("sts getCallerIdentity was throttled: {body}"),
            0 => format!("sts getCallerIdentity failed: error during GET: {message} on {region} endpoint"),
            _ => format!(
                "sts getCallerIdentity failed: error from AWS (expected 200, got {status}) on {region} endpoint. Body: {body}"
            ),
        }
    }
}
