//! The permissions that the harness uses on a user's cluster. The kubeconfig's user must have all of them.

use futures::future::try_join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use crate::ClusterError;
use crate::controllers::rbac;

/// Permissions on one resource.
#[derive(Debug, Clone, Copy)]
pub struct Permission {
    pub verbs: &'static [&'static str],
    /// API group; empty for the core group.
    pub group: &'static str,
    pub resource: &'static str,
    /// Namespace; `None` for all.
    pub namespace: Option<&'static str>,
    /// Names of objects; empty for all.
    pub names: &'static [&'static str],
}

const ALL: Permission = Permission {
    verbs: &[],
    group: "",
    resource: "",
    namespace: None,
    names: &[],
};

const RBAC: &str = "rbac.authorization.k8s.io";

const REQUIRED: &[Permission] = &[
    // The controllers of EKS act as their own users.
    Permission {
        verbs: &["impersonate"],
        resource: "users",
        names: rbac::USERS,
        ..ALL
    },
    // The RBAC of EKS. Granting permissions that the user lacks requires `escalate` and `bind`.
    Permission {
        verbs: &["get", "create", "delete", "escalate", "bind"],
        group: RBAC,
        resource: "clusterroles",
        ..ALL
    },
    Permission {
        verbs: &["get", "create", "delete"],
        group: RBAC,
        resource: "clusterrolebindings",
        ..ALL
    },
    Permission {
        verbs: &["get", "create", "delete", "escalate", "bind"],
        group: RBAC,
        resource: "roles",
        namespace: Some("kube-system"),
        ..ALL
    },
    Permission {
        verbs: &["get", "create", "delete"],
        group: RBAC,
        resource: "rolebindings",
        namespace: Some("kube-system"),
        ..ALL
    },
    Permission {
        verbs: &["get", "delete"],
        resource: "configmaps",
        namespace: Some("kube-system"),
        ..ALL
    },
    // The objects of nodes: observed, and removed after each scenario.
    Permission {
        verbs: &["get", "list", "watch", "patch", "delete"],
        resource: "nodes",
        ..ALL
    },
    Permission {
        verbs: &["list", "watch", "delete"],
        group: "certificates.k8s.io",
        resource: "certificatesigningrequests",
        ..ALL
    },
    Permission {
        verbs: &["list", "delete"],
        resource: "pods",
        ..ALL
    },
    Permission {
        verbs: &["delete"],
        group: "coordination.k8s.io",
        resource: "leases",
        namespace: Some("kube-node-lease"),
        ..ALL
    },
    // Checks of what a node may do.
    Permission {
        verbs: &["create"],
        group: "authorization.k8s.io",
        resource: "subjectaccessreviews",
        ..ALL
    },
    Permission {
        verbs: &["get", "list", "watch"],
        group: "storage.k8s.io",
        resource: "csinodes",
        ..ALL
    },
    Permission {
        verbs: &["get", "list", "watch"],
        resource: "serviceaccounts",
        namespace: Some("default"),
        ..ALL
    },
];

/// One verb on one object or all objects of a resource.
#[derive(Debug)]
struct AccessCheck {
    attributes: ResourceAttributes,
    title: String,
}

/// All required permissions, for the documentation.
#[must_use]
pub const fn required_permissions() -> &'static [Permission] {
    REQUIRED
}

/// Fails with the list of missing permissions.
pub(crate) async fn check(client: &Client) -> Result<(), ClusterError> {
    let checks = access_checks().into_iter().map(|check| missing(client, check));
    let missing: Vec<_> = try_join_all(checks).await?.into_iter().flatten().collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(ClusterError::MissingRights { missing })
}

async fn missing(client: &Client, check: AccessCheck) -> Result<Option<String>, ClusterError> {
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(check.attributes),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let api = Api::<SelfSubjectAccessReview>::all(client.clone());
    let review = api.create(&PostParams::default(), &review).await;
    let review = review.map_err(ClusterError::api(
        "check the permissions of the kubeconfig's user",
    ))?;
    let allowed = review.status.is_some_and(|status| status.allowed);
    Ok((!allowed).then_some(check.title))
}

fn access_checks() -> Vec<AccessCheck> {
    REQUIRED.iter().flat_map(checks_of).collect()
}

fn checks_of(permission: &'static Permission) -> impl Iterator<Item = AccessCheck> {
    let names: Vec<Option<&str>> = match permission.names {
        [] => vec![None],
        names => names.iter().copied().map(Some).collect(),
    };
    permission.verbs.iter().flat_map(move |verb| {
        names
            .clone()
            .into_iter()
            .map(move |name| access_check(permission, verb, name))
    })
}

fn access_check(permission: &Permission, verb: &str, name: Option<&str>) -> AccessCheck {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let attributes = ResourceAttributes {
        group: text(permission.group),
        resource: text(permission.resource),
        verb: Some(verb.to_owned()),
        namespace: permission.namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        ..ResourceAttributes::default()
    };
    let mut title = format!("{verb} {}", permission.resource);
    if !permission.group.is_empty() {
        title = format!("{title}.{}", permission.group);
    }
    if let Some(name) = name {
        title = format!("{title} `{name}`");
    }
    if let Some(namespace) = permission.namespace {
        title = format!("{title} in {namespace}");
    }
    AccessCheck { attributes, title }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn permissions_read_like_those_of_kubectl() {
        let titles: Vec<_> = access_checks().into_iter().map(|check| check.title).collect();
        for title in [
            "impersonate users `eks:node-manager`",
            "escalate clusterroles.rbac.authorization.k8s.io",
            "delete configmaps in kube-system",
            "watch nodes",
            "delete leases.coordination.k8s.io in kube-node-lease",
        ] {
            assert!(titles.iter().any(|seen| seen == title), "{title} of {titles:#?}");
        }
    }

    #[test]
    fn the_documentation_lists_every_permission() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let pages = markdown(&root.join("docs"));
        let pages = pages.into_iter().chain([root.join("README.md")]);
        let text: String = pages.map(|page| fs::read_to_string(page).unwrap()).collect();
        for permission in REQUIRED {
            let resource = format!("`{}`", permission.resource);
            let row = text.lines().find(|line| {
                let lists = |verb: &&str| line.contains(*verb);
                line.starts_with('|') && line.contains(&resource) && permission.verbs.iter().all(lists)
            });
            assert!(row.is_some(), "no row lists {:?} on {resource}", permission.verbs);
        }
    }

    fn markdown(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .flat_map(|path| match path.is_dir() {
                true => markdown(&path),
                false => vec![path],
            })
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
            .collect()
    }
}
