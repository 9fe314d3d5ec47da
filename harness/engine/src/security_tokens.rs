//! Connects the control plane's authenticator to the fake AWS.

use futures::future::BoxFuture;
use nodejoin_cluster::{SecurityTokens, StsIdentity, StsRejection};
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_fake_aws::StsClient;
use url::Url;

/// STS and EC2 of the fake AWS, for the authenticator.
pub(crate) struct FakeSecurityTokens(pub(crate) StsClient);

impl SecurityTokens for FakeSecurityTokens {
    fn instance_of(&self, access_key_id: &str) -> Option<InstanceId> {
        self.0.instance_of(access_key_id)
    }

    fn caller_identity<'a>(
        &'a self,
        presigned: &'a Url,
        cluster: &'a str,
    ) -> BoxFuture<'a, Result<StsIdentity, StsRejection>> {
        Box::pin(async move {
            let identity = self.0.caller_identity(presigned, cluster).await;
            let identity = identity.map_err(|error| StsRejection {
                status: error.status,
                code: error.code,
                message: error.message,
                body: error.body,
            })?;
            Ok(StsIdentity {
                account: identity.account,
                arn: identity.arn,
                user_id: identity.user_id,
            })
        })
    }

    fn private_dns_name(&self, instance: &InstanceId) -> Option<String> {
        self.0.private_dns_name(instance)
    }
}
