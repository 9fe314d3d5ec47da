//! Objects as data: builders of RBAC, applying them, and deleting what may already be gone.

use futures::future::try_join_all;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::ClusterError;

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
const RBAC_V1: &str = "rbac.authorization.k8s.io/v1";

/// Applies objects concurrently, also a binding before its role. Existing objects are changed to this form.
pub(crate) async fn apply_all(client: &Client, objects: Vec<Value>) -> Result<(), ClusterError> {
    try_join_all(objects.into_iter().map(|object| apply(client, object))).await?;
    Ok(())
}

/// Applies one object.
pub(crate) async fn apply(client: &Client, object: Value) -> Result<(), ClusterError> {
    let (api, name, title) = api_of(client, &object);
    let params = PatchParams::apply("nodejoin").force();
    let applied = api.patch(&name, &params, &Patch::Apply(&object)).await;
    applied.map_err(ClusterError::api(format!("apply {title}")))?;
    Ok(())
}

/// The API for an object, its name, and its title for messages.
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
    let title = format!("{kind} `{name}`");
    (api, name, title)
}

/// Turns the result of deleting a missing object into success.
pub(crate) fn ignore_missing<T>(deleted: kube::Result<T>) -> kube::Result<()> {
    match deleted {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map(|_| ()),
    }
}

/// The result of a deletion as an error that names the object. A missing object is not an error.
pub(crate) fn deleted<T>(result: kube::Result<T>, kind: &str, name: &str) -> Result<(), ClusterError> {
    ignore_missing(result).map_err(ClusterError::api(format!("delete {kind} `{name}`")))
}

pub(crate) fn cluster_role(name: &str, rules: &[Value]) -> Value {
    json!({ "apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": { "name": name }, "rules": rules })
}

pub(crate) fn cluster_role_binding(name: &str, role: &str, subjects: &[Value]) -> Value {
    json!({ "apiVersion": RBAC_V1, "kind": "ClusterRoleBinding", "metadata": { "name": name },
            "subjects": subjects, "roleRef": { "apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role } })
}

/// A Role and its binding, both with this name.
pub(crate) fn bound_role(namespace: &str, name: &str, rules: &[Value], subjects: &[Value]) -> [Value; 2] {
    let metadata = json!({ "name": name, "namespace": namespace });
    [
        json!({ "apiVersion": RBAC_V1, "kind": "Role", "metadata": metadata, "rules": rules }),
        json!({ "apiVersion": RBAC_V1, "kind": "RoleBinding", "metadata": metadata, "subjects": subjects,
                "roleRef": { "apiGroup": RBAC_GROUP, "kind": "Role", "name": name } }),
    ]
}

pub(crate) fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs })
}

pub(crate) fn user(name: &str) -> Value {
    json!({ "apiGroup": RBAC_GROUP, "kind": "User", "name": name })
}

pub(crate) fn group(name: &str) -> Value {
    json!({ "apiGroup": RBAC_GROUP, "kind": "Group", "name": name })
}
