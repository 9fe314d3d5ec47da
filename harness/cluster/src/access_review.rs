//! Asks the API server's authorizers what somebody may do.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;
use nodejoin_core::observation::AccessResult;
use nodejoin_core::plan::expect::AccessExpect;

use crate::ClusterError;
use crate::plane::ControlPlane;

impl ControlPlane {
    /// Whether a user with these groups may do this.
    ///
    /// # Errors
    /// When the API server refuses the review.
    pub async fn may(
        &self,
        user: &str,
        groups: &[String],
        asked: &AccessExpect,
    ) -> Result<AccessResult, ClusterError> {
        let api = Api::<SubjectAccessReview>::all(self.client());
        let answer = api
            .create(&PostParams::default(), &review(user, groups, asked))
            .await;
        let answer = answer.map_err(ClusterError::api(format!(
            "review whether `{user}` may {}",
            asked.question()
        )))?;
        let status = answer.status.unwrap_or_default();
        Ok(AccessResult {
            allowed: status.allowed,
            reason: status.reason.unwrap_or_default(),
        })
    }
}

fn review(user: &str, groups: &[String], asked: &AccessExpect) -> SubjectAccessReview {
    let (resource, subresource) = match asked.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (asked.resource.as_str(), None),
    };
    let attributes = ResourceAttributes {
        verb: Some(asked.verb.clone()),
        group: Some(asked.group.clone()),
        resource: Some(resource.to_owned()),
        subresource,
        namespace: asked.namespace.clone(),
        ..ResourceAttributes::default()
    };
    // Every request that is authenticated has this group beside those of its token.
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
    fn a_subresource_stands_by_itself() {
        let asked = AccessExpect {
            verb: "get".to_owned(),
            resource: "pods/log".to_owned(),
            ..AccessExpect::default()
        };
        let spec = review("system:node:a", &["system:nodes".to_owned()], &asked).spec;
        let attributes = spec.resource_attributes.unwrap();
        assert_eq!(
            (attributes.resource.as_deref(), attributes.subresource.as_deref()),
            (Some("pods"), Some("log"))
        );
        assert_eq!(spec.groups.unwrap(), ["system:nodes", "system:authenticated"]);
    }
}
