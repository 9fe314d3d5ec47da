//! The rights that a kubeconfig must have: what the harness does on a cluster of the user's, and nothing more.

use futures::future::try_join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use crate::ClusterError;
use crate::controllers::rbac;

/// Rights on one resource.
struct Rights {
    verbs: &'static [&'static str],
    group: &'static str,
    resource: &'static str,
    subresource: &'static str,
    /// In one namespace, else in all.
    namespace: Option<&'static str>,
    /// On objects of these names only, else on all.
    names: &'static [&'static str],
}

const ALL: Rights = Rights {
    verbs: &[],
    group: "",
    resource: "",
    subresource: "",
    namespace: None,
    names: &[],
};

/// One right, as it is asked for and told.
#[derive(Debug)]
struct Right {
    attributes: ResourceAttributes,
    told: String,
}

/// Asks the API server about every right, and names those that are missing.
pub(crate) async fn check(client: &Client) -> Result<(), ClusterError> {
    let asked = rights().into_iter().map(|right| is_missing(client, right));
    let missing: Vec<_> = try_join_all(asked).await?.into_iter().flatten().collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(ClusterError::MissingRights { missing })
}

async fn is_missing(client: &Client, right: Right) -> Result<Option<String>, ClusterError> {
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(right.attributes),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let api = Api::<SelfSubjectAccessReview>::all(client.clone());
    let answer = api.create(&PostParams::default(), &review).await;
    let answer = answer.map_err(ClusterError::api("ask which rights the kubeconfig has"))?;
    let allowed = answer.status.is_some_and(|status| status.allowed);
    Ok((!allowed).then_some(right.told))
}

fn rights() -> Vec<Right> {
    RIGHTS.iter().flat_map(each).collect()
}

fn each(rights: &'static Rights) -> impl Iterator<Item = Right> {
    let names: Vec<Option<&str>> = match rights.names {
        [] => vec![None],
        names => names.iter().copied().map(Some).collect(),
    };
    rights.verbs.iter().flat_map(move |verb| {
        names
            .clone()
            .into_iter()
            .map(move |name| right(rights, verb, name))
    })
}

fn right(rights: &Rights, verb: &str, name: Option<&str>) -> Right {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let attributes = ResourceAttributes {
        group: text(rights.group),
        resource: text(rights.resource),
        subresource: text(rights.subresource),
        verb: Some(verb.to_owned()),
        namespace: rights.namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        ..ResourceAttributes::default()
    };
    let mut told = format!("{verb} {}", rights.resource);
    for (sign, part) in [("/", rights.subresource), (".", rights.group)] {
        if !part.is_empty() {
            told = format!("{told}{sign}{part}");
        }
    }
    if let Some(name) = name {
        told = format!("{told} `{name}`");
    }
    if let Some(namespace) = rights.namespace {
        told = format!("{told} in {namespace}");
    }
    Right { attributes, told }
}

const RBAC: &str = "rbac.authorization.k8s.io";

/// The list of the README.
const RIGHTS: &[Rights] = &[
    // EKS' controllers act as users of their own.
    Rights {
        verbs: &["impersonate"],
        resource: "users",
        names: rbac::USERS,
        ..ALL
    },
    // What EKS lays into a cluster. Whoever gives rights that he has not himself must be allowed to.
    Rights {
        verbs: &["get", "create", "delete", "escalate", "bind"],
        group: RBAC,
        resource: "clusterroles",
        ..ALL
    },
    Rights {
        verbs: &["get", "create", "delete"],
        group: RBAC,
        resource: "clusterrolebindings",
        ..ALL
    },
    Rights {
        verbs: &["get", "create", "delete", "escalate", "bind"],
        group: RBAC,
        resource: "roles",
        namespace: Some("kube-system"),
        ..ALL
    },
    Rights {
        verbs: &["get", "create", "delete"],
        group: RBAC,
        resource: "rolebindings",
        namespace: Some("kube-system"),
        ..ALL
    },
    Rights {
        verbs: &["get", "delete"],
        resource: "configmaps",
        namespace: Some("kube-system"),
        ..ALL
    },
    // What a node leaves, and what is seen of it.
    Rights {
        verbs: &["get", "list", "watch", "patch", "delete"],
        resource: "nodes",
        ..ALL
    },
    Rights {
        verbs: &["list", "watch", "delete"],
        group: "certificates.k8s.io",
        resource: "certificatesigningrequests",
        ..ALL
    },
    Rights {
        verbs: &["list", "delete"],
        resource: "pods",
        ..ALL
    },
    Rights {
        verbs: &["delete"],
        group: "coordination.k8s.io",
        resource: "leases",
        namespace: Some("kube-node-lease"),
        ..ALL
    },
    // What the node may do is asked in its name.
    Rights {
        verbs: &["create"],
        group: "authorization.k8s.io",
        resource: "subjectaccessreviews",
        ..ALL
    },
    Rights {
        verbs: &["get", "list", "watch"],
        group: "storage.k8s.io",
        resource: "csinodes",
        ..ALL
    },
    Rights {
        verbs: &["get", "list", "watch"],
        resource: "serviceaccounts",
        namespace: Some("default"),
        ..ALL
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_right_is_told_in_words_that_kubectl_knows() {
        let told: Vec<_> = rights().into_iter().map(|right| right.told).collect();
        for line in [
            "impersonate users `eks:node-manager`",
            "escalate clusterroles.rbac.authorization.k8s.io",
            "delete configmaps in kube-system",
            "watch nodes",
            "delete leases.coordination.k8s.io in kube-node-lease",
        ] {
            assert!(told.iter().any(|told| told == line), "{line} of {told:#?}");
        }
    }

    #[test]
    fn the_readme_lists_what_is_asked_for() {
        let readme = include_str!("../../../../../README.md");
        for rights in RIGHTS {
            let resource = format!("`{}`", rights.resource);
            let row = readme
                .lines()
                .find(|line| line.starts_with('|') && line.contains(&resource))
                .unwrap_or_else(|| panic!("no row for {resource}"));
            for verb in rights.verbs {
                assert!(row.contains(verb), "{verb} in {row}");
            }
        }
    }
}
