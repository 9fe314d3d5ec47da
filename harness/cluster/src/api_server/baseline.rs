//! All objects of an API server at one moment, and what has to change until they are the same again.
//!
//! Objects that only the programs of the control plane write are left to them: they repair those themselves, and create
//! some long after the start. Events are deleted as far as possible, because programs record them late.

use std::collections::BTreeMap;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::ApiResource;
use kube::discovery::{Discovery, verbs};
use kube::{Client, ResourceExt as _};
use serde_json::Value;

use super::objects::ignore_missing;
use crate::ClusterError;

/// Number of requests at the same time.
const CONCURRENCY: usize = 16;

/// Programs of a control plane, by the names under which they write objects.
const PROGRAMS: [&str; 2] = ["kube-apiserver", "kube-controller-manager"];

/// Events in their own group are those of the core group.
const EVENTS_GROUP: &str = "events.k8s.io";

/// Fields of the metadata that the API server sets.
const SERVER_FIELDS: [&str; 6] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The objects of a control plane before its first tenant.
#[derive(Debug)]
pub struct Baseline {
    resources: Vec<ApiResource>,
    objects: Objects,
}

type Objects = BTreeMap<ObjectKey, StoredObject>;

/// Where an object is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ObjectKey {
    /// Index in the list of resources.
    resource: usize,
    namespace: Option<String>,
    name: String,
}

/// What an object contains, without what the API server adds.
#[derive(Debug, Clone, PartialEq)]
struct StoredObject {
    content: Value,
    /// Whether only programs of the control plane have written it.
    is_theirs: bool,
}

/// A change that brings an object back to its earlier state.
#[derive(Debug, Clone, PartialEq)]
enum Repair {
    Delete(ObjectKey),
    /// The object is missing.
    Create(ObjectKey, Value),
    /// The object differs.
    Replace(ObjectKey, Value),
}

impl Baseline {
    /// Lists all objects that can be deleted.
    pub(crate) async fn take(client: &Client) -> Result<Self, ClusterError> {
        let discovery = Discovery::new(client.clone())
            .exclude(&[EVENTS_GROUP])
            .run()
            .await;
        let discovery = discovery.map_err(ClusterError::api("list the resources of the API server"))?;
        let resources: Vec<ApiResource> = discovery
            .groups()
            .flat_map(|group| group.recommended_resources())
            .filter(|(_, can)| can.supports_operation(verbs::LIST) && can.supports_operation(verbs::DELETE))
            .map(|(resource, _)| resource)
            .collect();
        let objects = list(client, &resources).await?;
        Ok(Self { resources, objects })
    }

    /// Changes what differs, once. Returns a line for each object that differed, except events.
    pub(crate) async fn restore_once(&self, client: &Client) -> Result<Vec<String>, ClusterError> {
        let now = list(client, &self.resources).await?;
        let repairs = self.repairs(&now);
        let lines = repairs
            .iter()
            .filter(|repair| !self.is_event(repair))
            .map(|repair| self.describe(repair))
            .collect();
        // A failed repair shows in the next list.
        let applied: Vec<BoxFuture<'_, ()>> = repairs
            .into_iter()
            .map(|repair| self.try_apply(client, repair).boxed())
            .collect();
        stream::iter(applied)
            .buffer_unordered(CONCURRENCY)
            .collect::<()>()
            .await;
        Ok(lines)
    }

    fn repairs(&self, now: &Objects) -> Vec<Repair> {
        let extra = now
            .iter()
            .filter(|(key, object)| !object.is_theirs && !self.objects.contains_key(key))
            .map(|(key, _)| Repair::Delete(key.clone()));
        let different = self
            .objects
            .iter()
            .filter_map(|(key, before)| match now.get(key) {
                None if self.expires(key) => None,
                None => Some(Repair::Create(key.clone(), before.content.clone())),
                Some(now) if now.is_theirs || self.expires(key) => None,
                Some(now) if now.content != before.content => {
                    Some(Repair::Replace(key.clone(), before.content.clone()))
                }
                Some(_) => None,
            });
        extra.chain(different).collect()
    }

    async fn try_apply(&self, client: &Client, repair: Repair) {
        let title = self.describe(&repair);
        if let Err(error) = self.apply(client, repair).await {
            tracing::debug!(%error, object = title, "could not restore an object");
        }
    }

    async fn apply(&self, client: &Client, repair: Repair) -> kube::Result<()> {
        match repair {
            Repair::Delete(key) => {
                let immediately = DeleteParams::default().grace_period(0);
                ignore_missing(self.api(client, &key).delete(&key.name, &immediately).await)
            }
            Repair::Create(key, content) => {
                let object = object(content)?;
                let api = self.api(client, &key);
                api.create(&PostParams::default(), &object).await.map(drop)
            }
            Repair::Replace(key, content) => {
                let api = self.api(client, &key);
                let mut object = object(content)?;
                object.metadata.resource_version = api.get(&key.name).await?.resource_version();
                api.replace(&key.name, &PostParams::default(), &object)
                    .await
                    .map(drop)
            }
        }
    }

    fn api(&self, client: &Client, key: &ObjectKey) -> Api<DynamicObject> {
        let resource = &self.resources[key.resource];
        match &key.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
            None => Api::all_with(client.clone(), resource),
        }
    }

    /// Whether the objects of a resource change and end by themselves: leases, events, signing requests.
    fn expires(&self, key: &ObjectKey) -> bool {
        let plural = self.resources[key.resource].plural.as_str();
        matches!(plural, "leases" | "events" | "certificatesigningrequests")
    }

    fn is_event(&self, repair: &Repair) -> bool {
        self.resources[repair.key().resource].plural == "events"
    }

    fn describe(&self, repair: &Repair) -> String {
        let key = repair.key();
        let kind = &self.resources[key.resource].kind;
        let namespace = key.namespace.as_ref().map(|name| format!("{name}/"));
        let name = format!("{kind} `{}{}`", namespace.unwrap_or_default(), key.name);
        match repair {
            Repair::Delete(_) => format!("{name} is new"),
            Repair::Create(..) => format!("{name} is missing"),
            Repair::Replace(..) => format!("{name} has changed"),
        }
    }
}

impl Repair {
    fn key(&self) -> &ObjectKey {
        match self {
            Self::Delete(key) | Self::Create(key, _) | Self::Replace(key, _) => key,
        }
    }
}

async fn list(client: &Client, resources: &[ApiResource]) -> Result<Objects, ClusterError> {
    // Boxed, because the compiler cannot prove that this stream of futures with references is `Send`.
    let lists: Vec<BoxFuture<'static, _>> = resources
        .iter()
        .enumerate()
        .map(|(index, resource)| list_one(client.clone(), index, resource.clone()).boxed())
        .collect();
    let lists: Vec<Vec<_>> = stream::iter(lists)
        .buffer_unordered(CONCURRENCY)
        .try_collect()
        .await?;
    Ok(lists.into_iter().flatten().collect())
}

async fn list_one(
    client: Client,
    index: usize,
    resource: ApiResource,
) -> Result<Vec<(ObjectKey, StoredObject)>, ClusterError> {
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let found = api.list(&ListParams::default()).await;
    let found = found.map_err(ClusterError::api(format!("list {}", resource.plural)))?;
    Ok(found
        .items
        .into_iter()
        .map(|object| stored(index, &resource, object))
        .collect())
}

fn stored(index: usize, resource: &ApiResource, object: DynamicObject) -> (ObjectKey, StoredObject) {
    let key = ObjectKey {
        resource: index,
        namespace: object.namespace(),
        name: object.name_any(),
    };
    let managers = object.managed_fields();
    let is_program = |name: &Option<String>| name.as_deref().is_some_and(|name| PROGRAMS.contains(&name));
    let is_theirs = !managers.is_empty() && managers.iter().all(|entry| is_program(&entry.manager));
    let mut content = serde_json::to_value(&object).unwrap_or_default();
    if let Some(fields) = content.as_object_mut() {
        // The items of a list lack both.
        fields.insert("apiVersion".to_owned(), resource.api_version.clone().into());
        fields.insert("kind".to_owned(), resource.kind.clone().into());
        fields.remove("status");
        // kube-controller-manager adds a token some time after the start, up to 1.23, and again if it is missing. The
        // API server does not name it as the writer, because it created the account without any field.
        if resource.kind == "ServiceAccount" {
            fields.remove("secrets");
        }
    }
    if let Some(metadata) = content.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| !SERVER_FIELDS.contains(&field.as_str()));
    }
    (key, StoredObject { content, is_theirs })
}

fn object(content: Value) -> kube::Result<DynamicObject> {
    serde_json::from_value(content).map_err(kube::Error::SerdeError)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn resource(kind: &str, plural: &str) -> ApiResource {
        ApiResource {
            group: String::new(),
            version: "v1".to_owned(),
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        }
    }

    fn resources() -> Vec<ApiResource> {
        vec![
            resource("ConfigMap", "configmaps"),
            resource("Event", "events"),
            resource("Lease", "leases"),
        ]
    }

    fn one(index: usize, name: &str, manager: &str, data: &str) -> (ObjectKey, StoredObject) {
        let object = serde_json::from_value(json!({
            "metadata": {
                "name": name, "namespace": "kube-system", "uid": name, "resourceVersion": data,
                "managedFields": [{ "manager": manager, "operation": "Update" }],
            },
            "data": { "text": data },
            "status": { "seen": data },
        }));
        stored(index, &resources()[index], object.unwrap())
    }

    fn lines(before: &[(ObjectKey, StoredObject)], now: &[(ObjectKey, StoredObject)]) -> Vec<String> {
        let baseline = Baseline {
            resources: resources(),
            objects: before.iter().cloned().collect(),
        };
        let repairs = baseline.repairs(&now.iter().cloned().collect());
        repairs.iter().map(|repair| baseline.describe(repair)).collect()
    }

    #[test]
    fn what_is_new_missing_or_different_is_repaired() {
        let before = [
            one(0, "same", "x", "1"),
            one(0, "gone", "x", "1"),
            one(0, "other", "x", "1"),
        ];
        let now = [
            one(0, "same", "x", "1"),
            one(0, "new", "x", "1"),
            one(0, "other", "x", "2"),
        ];
        assert_eq!(
            lines(&before, &now),
            [
                "ConfigMap `kube-system/new` is new",
                "ConfigMap `kube-system/gone` is missing",
                "ConfigMap `kube-system/other` has changed",
            ]
        );
    }

    #[test]
    fn what_the_api_server_adds_is_not_compared() {
        let (key, mut now) = one(0, "same", "x", "1");
        let (_, later) = one(0, "same", "x", "2");
        assert!(now.content.get("status").is_none() && now.content["metadata"].get("uid").is_none());
        now.content["data"] = later.content["data"].clone();
        assert_eq!(now.content, later.content);
        assert_eq!(key.name, "same");
    }

    #[test]
    fn tokens_of_service_accounts_are_left_to_the_controller_manager() {
        let of = |secrets: Value| {
            let account = json!({
                "metadata": { "name": "default", "namespace": "default" },
                "secrets": secrets, "imagePullSecrets": [{ "name": "x" }],
            });
            let resource = resource("ServiceAccount", "serviceaccounts");
            stored(0, &resource, serde_json::from_value(account).unwrap()).1
        };
        assert_eq!(of(json!([])), of(json!([{ "name": "default-token-x" }])));
        assert_eq!(
            of(json!([])).content["imagePullSecrets"],
            json!([{ "name": "x" }])
        );
    }

    #[test]
    fn objects_of_the_control_planes_programs_are_left_to_them() {
        let theirs = "kube-controller-manager";
        let before = [one(0, "root-ca", theirs, "1")];
        let now = [one(0, "root-ca", theirs, "2"), one(0, "late", theirs, "1")];
        assert_eq!(lines(&before, &now), Vec::<String>::new());
        // Another client has written it since.
        let now = [one(0, "root-ca", "kubectl", "2")];
        assert_eq!(
            lines(&before, &now),
            ["ConfigMap `kube-system/root-ca` has changed"]
        );
    }

    #[test]
    fn leases_and_events_may_change_and_end_but_new_ones_are_deleted() {
        let before = [one(1, "old", "x", "1"), one(2, "node", "x", "1")];
        let now = [
            one(2, "node", "x", "2"),
            one(2, "other", "x", "1"),
            one(1, "new", "x", "1"),
        ];
        assert_eq!(
            lines(&before, &now),
            [
                "Event `kube-system/new` is new",
                "Lease `kube-system/other` is new"
            ]
        );
    }
}
