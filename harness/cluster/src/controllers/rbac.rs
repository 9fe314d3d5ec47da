//! The RBAC that EKS lays into a cluster: for its nodes and for its own controllers.

use futures::future::try_join_all;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::ClusterError;

/// User of the approver and of nothing else.
pub(crate) const CERTIFICATE_CONTROLLER: &str = "eks:certificate-controller";
/// User of the cloud node controller.
pub(crate) const CLOUD_CONTROLLER: &str = "eks:cloud-controller-manager";
/// User that owns `aws-auth`.
pub(crate) const NODE_MANAGER: &str = "eks:node-manager";
/// User that reads `aws-auth` for the authenticator.
pub(crate) const AUTHENTICATOR: &str = "eks:authenticator";

/// User that made the cluster, as which eksctl writes `aws-auth`. EKS makes it a master; here it may do that alone.
pub(crate) const CREATOR: &str = "kubernetes-admin";

/// All of them.
pub(crate) const USERS: &[&str] = &[
    CERTIFICATE_CONTROLLER,
    CLOUD_CONTROLLER,
    NODE_MANAGER,
    AUTHENTICATOR,
    CREATOR,
];

/// Lays all of it down; what is there already is brought into this form.
pub(crate) async fn apply(client: &Client) -> Result<(), ClusterError> {
    // A binding may come before its role, so that none has to wait for another.
    try_join_all(objects().into_iter().map(|object| apply_one(client, object))).await?;
    Ok(())
}

/// Lays one object down.
pub(crate) async fn apply_one(client: &Client, object: Value) -> Result<(), ClusterError> {
    let (api, name, what) = api_of(client, &object);
    let params = PatchParams::apply("nodejoin").force();
    let applied = api.patch(&name, &params, &Patch::Apply(&object)).await;
    applied.map_err(ClusterError::api(format!("lay down {what}")))?;
    Ok(())
}

/// Where an object stands, its name, and what people call it.
pub(crate) fn api_of(client: &Client, object: &Value) -> (Api<DynamicObject>, String, String) {
    let field = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (kind, name, namespace) = (
        field("/kind"),
        field("/metadata/name"),
        field("/metadata/namespace"),
    );
    let version = field("/apiVersion");
    let (group, version) = version.rsplit_once('/').unwrap_or(("", &version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
    let api: Api<DynamicObject> = match namespace.as_str() {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let what = format!("{kind} `{name}`");
    (api, name, what)
}

/// Roles go before what binds them.
pub(crate) fn objects() -> Vec<Value> {
    let csrs = |resource: &str, verbs: &[&str]| rule("certificates.k8s.io", resource, verbs);
    let mut objects = vec![
        cluster_role(
            NODE_BOOTSTRAPPER,
            &[csrs("certificatesigningrequests/selfnodeserver", &["create"])],
        ),
        cluster_binding(
            NODE_BOOTSTRAPPER,
            &[group("system:bootstrappers"), group("system:nodes")],
        ),
        // On EKS kube-proxy runs as a Windows node's own user, which this group names.
        cluster_binding_to(
            "eks:kube-proxy-windows",
            "system:node-proxier",
            &[group("eks:kube-proxy-windows")],
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
        cluster_binding(CERTIFICATE_CONTROLLER, &[user(CERTIFICATE_CONTROLLER)]),
        cluster_role(
            CLOUD_CONTROLLER,
            &[
                rule("", "nodes", &["get", "list", "watch", "patch"]),
                rule("", "nodes/status", &["patch"]),
            ],
        ),
        cluster_binding(CLOUD_CONTROLLER, &[user(CLOUD_CONTROLLER)]),
        cluster_role(
            NODE_MANAGER,
            &[rule("", "nodes", &["get", "list", "watch", "patch"])],
        ),
        cluster_binding(NODE_MANAGER, &[user(NODE_MANAGER)]),
    ];
    let config_maps = |verbs: &[&str]| rule("", "configmaps", verbs);
    objects.extend(in_kube_system(
        NODE_MANAGER,
        &config_maps(&["get", "create", "update", "patch"]),
    ));
    objects.extend(in_kube_system(CREATOR, &config_maps(&["get", "update"])));
    objects.extend(in_kube_system(
        AUTHENTICATOR,
        &config_maps(&["get", "list", "watch"]),
    ));
    objects
}

fn in_kube_system(name: &str, rule: &Value) -> [Value; 2] {
    let metadata = json!({ "name": name, "namespace": "kube-system" });
    let version = format!("{GROUP}/v1");
    [
        json!({ "apiVersion": version, "kind": "Role", "metadata": metadata, "rules": [rule] }),
        json!({ "apiVersion": version, "kind": "RoleBinding", "metadata": metadata, "subjects": [user(name)],
                "roleRef": { "apiGroup": GROUP, "kind": "Role", "name": name } }),
    ]
}

pub(crate) fn cluster_role(name: &str, rules: &[Value]) -> Value {
    json!({ "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole", "metadata": { "name": name }, "rules": rules })
}

fn cluster_binding(name: &str, subjects: &[Value]) -> Value {
    cluster_binding_to(name, name, subjects)
}

fn cluster_binding_to(name: &str, role: &str, subjects: &[Value]) -> Value {
    json!({ "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": name },
            "subjects": subjects, "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": role } })
}

pub(crate) fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs })
}

fn user(name: &str) -> Value {
    json!({ "apiGroup": GROUP, "kind": "User", "name": name })
}

fn group(name: &str) -> Value {
    json!({ "apiGroup": GROUP, "kind": "Group", "name": name })
}

const GROUP: &str = "rbac.authorization.k8s.io";
const NODE_BOOTSTRAPPER: &str = "eks:node-bootstrapper";
