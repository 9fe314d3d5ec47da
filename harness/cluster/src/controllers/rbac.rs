//! The RBAC of an EKS cluster: for its nodes and for the controllers of EKS.

use serde_json::{Value, json};

use crate::api_server::objects::{bound_role, cluster_role, cluster_role_binding, group, rule, user};

/// User of the approver of serving certificates.
pub(crate) const CERTIFICATE_CONTROLLER: &str = "eks:certificate-controller";
/// User of the cloud node controller.
pub(crate) const CLOUD_CONTROLLER: &str = "eks:cloud-controller-manager";
/// User that owns `aws-auth`.
pub(crate) const NODE_MANAGER: &str = "eks:node-manager";
/// User that reads `aws-auth` for the authenticator.
pub(crate) const AUTHENTICATOR: &str = "eks:authenticator";
/// User that created the cluster; eksctl writes `aws-auth` as this user. EKS adds it to `system:masters`; here it has
/// the rights for `aws-auth` only.
pub(crate) const CREATOR: &str = "kubernetes-admin";

/// The users of all controllers.
pub(crate) const USERS: &[&str] = &[
    CERTIFICATE_CONTROLLER,
    CLOUD_CONTROLLER,
    NODE_MANAGER,
    AUTHENTICATOR,
    CREATOR,
];

const NODE_BOOTSTRAPPER: &str = "eks:node-bootstrapper";
const KUBE_PROXY_WINDOWS: &str = "eks:kube-proxy-windows";

/// All objects, roles before their bindings.
pub(crate) fn objects() -> Vec<Value> {
    let csrs = |resource: &str, verbs: &[&str]| rule("certificates.k8s.io", resource, verbs);
    let mut objects = vec![
        cluster_role(
            NODE_BOOTSTRAPPER,
            &[csrs("certificatesigningrequests/selfnodeserver", &["create"])],
        ),
        cluster_role_binding(
            NODE_BOOTSTRAPPER,
            NODE_BOOTSTRAPPER,
            &[group("system:bootstrappers"), group("system:nodes")],
        ),
        // On EKS, kube-proxy of a Windows node runs as the node's user, which has this group.
        cluster_role_binding(
            KUBE_PROXY_WINDOWS,
            "system:node-proxier",
            &[group(KUBE_PROXY_WINDOWS)],
        ),
        cluster_role(
            CERTIFICATE_CONTROLLER,
            &[
                csrs("certificatesigningrequests", &["get", "list", "watch"]),
                csrs("certificatesigningrequests/approval", &["update"]),
                json!({ "apiGroups": ["certificates.k8s.io"], "resources": ["signers"],
                        "resourceNames": ["kubernetes.io/kubelet-serving"], "verbs": ["approve"] }),
                rule("authorization.k8s.io", "subjectaccessreviews", &["create"]),
            ],
        ),
        bind_to_user(CERTIFICATE_CONTROLLER),
        cluster_role(
            CLOUD_CONTROLLER,
            &[
                rule("", "nodes", &["get", "list", "watch", "patch"]),
                rule("", "nodes/status", &["patch"]),
            ],
        ),
        bind_to_user(CLOUD_CONTROLLER),
        cluster_role(
            NODE_MANAGER,
            &[rule("", "nodes", &["get", "list", "watch", "patch"])],
        ),
        bind_to_user(NODE_MANAGER),
    ];
    let config_maps = |user_name: &str, verbs: &[&str]| {
        let rules = [rule("", "configmaps", verbs)];
        bound_role("kube-system", user_name, &rules, &[user(user_name)])
    };
    objects.extend(config_maps(NODE_MANAGER, &["get", "create", "update", "patch"]));
    objects.extend(config_maps(CREATOR, &["get", "update"]));
    objects.extend(config_maps(AUTHENTICATOR, &["get", "list", "watch"]));
    objects
}

/// Binds a user to the cluster role of the same name.
fn bind_to_user(name: &str) -> Value {
    cluster_role_binding(name, name, &[user(name)])
}
