//! Asks the API server's authorizers what a user may do.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;
use nodejoin_core::observation::AccessResult;
use nodejoin_core::plan::expect::AccessExpect;

use super::running::ControlPlane;
use crate::ClusterError;

impl ControlPlane {
    /// Whether a user with these groups is authorized.
    ///
    /// # Errors
    /// When the API server rejects the review.
    pub async fn may(
        &self,
        user: &str,
        groups: &[String],
        access: &AccessExpect,
    ) -> Result<AccessResult, ClusterError> {
        let api = Api::<SubjectAccessReview>::all(self.client());
        let review = api
            .create(&PostParams::default(), &review(user, groups, access))
            .await;
        let review = review.map_err(ClusterError::api(format!(
            "review whether `{user}` may {}",
            access.question()
        )))?;
        let status = review.status.unwrap_or_default();
        Ok(AccessResult {
            allowed: status.allowed,
            reason: status.reason.unwrap_or_default(),
        })
    }
}

fn review(user: &str, groups: &[String], access: &AccessExpect) -> SubjectAccessReview {
    let (resource, subresource) = match access.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (access.resource.as_str(), None),
    };
    let attributes = ResourceAttributes {
        verb: Some(access.verb.clone()),
        group: Some(access.group.clone()),
        resource: Some(resource.to_owned()),
        subresource,
        namespace: access.namespace.clone(),
        ..ResourceAttributes::default()
    };
    // Every authenticated request has this group in addition to those of its token.
    let groups = groups.iter().cloned().chain(["system:authenticated".to_owned()]);
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.to_owned()),
            groups: Some(groups.collect()),
            resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subresource_is_a_separate_attribute() {
        let access = AccessExpect {
            verb: "get".to_owned(),
            resource: "pods/log".to_owned(),
            ..AccessExpect::default()
        };
        let spec = review("system:node:a", &["system:nodes".to_owned()], &access).spec;
        let attributes = spec.resource_attributes.unwrap();
        assert_eq!(
            (attributes.resource.as_deref(), attributes.subresource.as_deref()),
            (Some("pods"), Some("log"))
        );
        assert_eq!(spec.groups.unwrap(), ["system:nodes", "system:authenticated"]);
    }
}
