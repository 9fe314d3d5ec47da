//! The API server's audit log as its webhook sends it: decodes events and finds the tenant of each.
//!
//! Events keep the objects of Nodes and certificate signing requests and the ARNs of `aws-auth`; all other objects are
//! dropped. The log never contains tokens, because token reviews are logged without their bodies.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use nodejoin_core::observation::{Audit, MappingWrite};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::iam::aws_auth::{AwsAuth, NAME, NAMESPACE};
use crate::observe::signing_requests::SigningRequests;
use crate::tenants::{ClusterFact, TenantState, Tenants};

const CSRS: &str = "certificatesigningrequests";

/// Receives the audit log and sends each tenant its events.
pub(crate) struct AuditLog {
    tenants: Arc<Tenants>,
    signing_requests: Arc<SigningRequests>,
    /// The ARNs in `aws-auth` after the last write.
    mapped: Mutex<Vec<String>>,
}

/// `audit.k8s.io/v1` `EventList`.
#[derive(Debug, Deserialize)]
pub(crate) struct EventList {
    #[serde(default)]
    items: Vec<Event>,
}

/// The used fields of `audit.k8s.io/v1` `Event`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event {
    stage: String,
    #[serde(rename = "requestURI", default)]
    request_uri: String,
    verb: String,
    #[serde(default)]
    user: UserInfo,
    impersonated_user: Option<UserInfo>,
    #[serde(rename = "sourceIPs", default)]
    source_ips: Vec<IpAddr>,
    object_ref: Option<ObjectRef>,
    response_status: Option<ResponseStatus>,
    request_object: Option<Value>,
    response_object: Option<Value>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    stage_timestamp: String,
}

#[derive(Debug, Default, Deserialize)]
struct UserInfo {
    #[serde(default)]
    username: String,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    extra: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
struct ObjectRef {
    #[serde(default)]
    resource: String,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
    message: Option<String>,
}

impl EventList {
    /// The request URI of each event.
    pub(crate) fn uris(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|event| event.request_uri.as_str())
    }
}

impl AuditLog {
    pub(crate) fn new(tenants: Arc<Tenants>, signing_requests: Arc<SigningRequests>) -> Self {
        Self {
            tenants,
            signing_requests,
            mapped: Mutex::default(),
        }
    }

    pub(crate) fn record(&self, events: EventList) {
        for event in events.items.into_iter().filter(Event::is_outcome) {
            self.note_decision(&event);
            self.note_mapping(&event);
            if let Some(tenant) = self.tenant_of(&event) {
                if event.lists_runtime_classes() {
                    tenant.note_pods();
                }
                tenant.send(event.at(), ClusterFact::Audit(event.into_audit()));
            }
        }
    }

    /// Records who approved or denied a certificate signing request: only the audit log has that.
    fn note_decision(&self, event: &Event) {
        let Some(object) = event.object_ref.as_ref() else {
            return;
        };
        let is_decision = object.resource == CSRS && object.subresource.as_deref() == Some("approval");
        if let (true, 200..300, Some(name)) = (is_decision, event.code(), &object.name) {
            self.signing_requests.set_decided_by(name, &event.user().username);
        }
    }

    /// Sends who added rows to `aws-auth` to the tenants of these rows. Each write replaces the whole ConfigMap, so the
    /// added rows are the difference from its previous content.
    fn note_mapping(&self, event: &Event) {
        let Some(now) = event.mapped() else { return };
        let mut before = std::mem::replace(&mut *self.mapped.lock(), now.clone());
        let mut added = now;
        added.retain(|arn| match before.iter().position(|known| known == arn) {
            Some(known) => {
                before.swap_remove(known);
                false
            }
            None => true,
        });
        for tenant in self.tenants.by_rows(&added) {
            let write = MappingWrite {
                verb: event.verb.clone(),
                username: event.user().username.clone(),
                added: tenant.own_rows(&added),
            };
            tenant.send(event.at(), ClusterFact::Mapping(write));
        }
    }

    fn tenant_of(&self, event: &Event) -> Option<Arc<TenantState>> {
        let user = event.user();
        let by_session = user
            .extra
            .get("sessionName")
            .and_then(|names| self.tenants.by_session(names.first()?));
        by_session
            .or_else(|| self.tenants.by_user(&user.username))
            .or_else(|| self.tenant_of_object(event))
            .or_else(|| {
                event
                    .source_ips
                    .iter()
                    .find_map(|address| self.tenants.by_address(*address))
            })
    }

    fn tenant_of_object(&self, event: &Event) -> Option<Arc<TenantState>> {
        let object = event.object_ref.as_ref()?;
        match object.resource.as_str() {
            CSRS => self
                .tenants
                .by_instance(&self.signing_requests.owner(object.name.as_deref()?)?),
            "nodes" => self.tenants.by_node(object.name.as_deref()?),
            _ => None,
        }
    }
}

impl Event {
    /// Selects one event per request. A failed authentication is logged only when its response starts, and a watch
    /// counts from its start.
    fn is_outcome(&self) -> bool {
        match self.stage.as_str() {
            "ResponseComplete" | "Panic" => self.verb != "watch",
            "ResponseStarted" => self.verb == "watch" || self.code() == 401,
            _ => false,
        }
    }

    fn at(&self) -> SystemTime {
        let at = OffsetDateTime::parse(&self.stage_timestamp, &Rfc3339);
        at.map_or_else(|_| SystemTime::now(), SystemTime::from)
    }

    fn code(&self) -> u16 {
        self.response_status.as_ref().map_or(0, |status| status.code)
    }

    /// Whether it is the request with which a kubelet begins to follow its pods.
    fn lists_runtime_classes(&self) -> bool {
        let resource = self.object_ref.as_ref().map(|object| object.resource.as_str());
        self.verb == "list" && resource == Some("runtimeclasses")
    }

    /// The ARNs of `aws-auth` after a write of it.
    fn mapped(&self) -> Option<Vec<String>> {
        let object = self.object_ref.as_ref()?;
        let is_map = object.resource == "configmaps"
            && object.name.as_deref() == Some(NAME)
            && object.namespace.as_deref() == Some(NAMESPACE);
        let is_write = matches!(self.verb.as_str(), "create" | "update" | "patch");
        if !is_map || !is_write || !(200..300).contains(&self.code()) {
            return None;
        }
        let data = self.response_object.as_ref()?.get("data").cloned();
        let data = serde_json::from_value(data.unwrap_or_default()).unwrap_or_default();
        Some(AwsAuth::parse(&data).role_arns())
    }

    /// The impersonated user, if any.
    fn user(&self) -> &UserInfo {
        self.impersonated_user.as_ref().unwrap_or(&self.user)
    }

    /// The reason of a rejection. API servers such as 1.20 omit it from the status; then the response has it if the
    /// policy logs responses, and an annotation has the authorizer's reason.
    fn message(&self) -> Option<String> {
        let in_status = self
            .response_status
            .as_ref()
            .and_then(|status| status.message.clone());
        let in_response = || {
            self.response_object
                .as_ref()?
                .get("message")?
                .as_str()
                .map(str::to_owned)
        };
        let in_annotation = || self.annotations.get("authorization.k8s.io/reason").cloned();
        let refusal = || {
            in_response()
                .or_else(in_annotation)
                .filter(|text| self.code() >= 400 && !text.is_empty())
        };
        in_status.or_else(refusal)
    }

    fn into_audit(self) -> Audit {
        let (code, message) = (self.code(), self.message());
        let (username, groups) = (self.user().username.clone(), self.user().groups.clone());
        // A failed authentication has no object reference, so the path stands in.
        let object_ref = self.object_ref.unwrap_or_else(|| ObjectRef {
            resource: self.request_uri.split('?').next().unwrap_or_default().to_owned(),
            ..ObjectRef::default()
        });
        let has_object = matches!(object_ref.resource.as_str(), "nodes" | CSRS);
        // The response to a rejected request is a Status, so the object of the request is used.
        let object = if code < 300 {
            self.response_object
        } else {
            self.request_object
        };
        Audit {
            verb: self.verb,
            name: object_ref.name.or_else(|| name_of(object.as_ref())),
            resource: match object_ref.subresource {
                Some(subresource) => format!("{}/{subresource}", object_ref.resource),
                None => object_ref.resource,
            },
            namespace: object_ref.namespace,
            username,
            groups,
            code,
            message,
            object: object.filter(|_| has_object).map(without_managed_fields),
        }
    }
}

/// A create request names its object only in the response.
fn name_of(object: Option<&Value>) -> Option<String> {
    Some(object?.pointer("/metadata/name")?.as_str()?.to_owned())
}

/// Removes the managed fields: three quarters of a Node's text, irrelevant for a join.
pub(crate) fn without_managed_fields(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(value: Value) -> Event {
        serde_json::from_value(value).unwrap()
    }

    fn create(code: u16) -> Value {
        json!({
            "stage": "ResponseComplete", "verb": "create", "requestURI": "/api/v1/nodes",
            "user": { "username": "system:node:a", "groups": ["system:nodes"],
                      "extra": { "sessionName": ["i-0b22a22eec53b9321"] } },
            "sourceIPs": ["172.30.0.4"],
            "objectRef": { "resource": "nodes", "apiVersion": "v1" },
            "responseStatus": { "metadata": {}, "code": code, "message": "why" },
            "requestObject": { "metadata": { "name": "a" } },
            "responseObject": { "metadata": { "name": "a", "uid": "1", "managedFields": [] } },
            "stageTimestamp": "2026-11-21T10:00:00.500000Z"
        })
    }

    #[test]
    fn a_create_has_the_created_object() {
        let event = event(create(201));
        let since = event.at().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(since.subsec_millis(), 500);
        let audit = event.into_audit();
        assert_eq!(
            audit.object,
            Some(json!({ "metadata": { "name": "a", "uid": "1" } }))
        );
        assert_eq!(
            (audit.resource.as_str(), audit.name.as_deref(), audit.code),
            ("nodes", Some("a"), 201)
        );
    }

    #[test]
    fn a_kubelet_follows_its_pods_once_it_lists_runtime_classes() {
        let of = |verb: &str, resource: &str| {
            let request =
                json!({ "stage": "ResponseComplete", "verb": verb, "objectRef": { "resource": resource } });
            event(request).lists_runtime_classes()
        };
        assert!(of("list", "runtimeclasses"));
        assert!(!of("watch", "runtimeclasses") && !of("list", "nodes"));
    }

    #[test]
    fn a_rejected_create_has_the_requested_object() {
        let audit = event(create(403)).into_audit();
        assert_eq!(audit.object, Some(json!({ "metadata": { "name": "a" } })));
        assert_eq!(audit.message.as_deref(), Some("why"));
    }

    #[test]
    fn the_reason_of_a_rejection_is_found_in_each_versions_place() {
        let refused = |answer: Value, reason: &str| {
            event(json!({
                "stage": "ResponseComplete", "verb": "get", "responseStatus": { "code": 403 },
                "responseObject": answer, "annotations": { "authorization.k8s.io/reason": reason }
            }))
            .into_audit()
            .message
        };
        let not_allowed = json!({ "kind": "Status", "message": "is not allowed to modify node" });
        assert_eq!(
            refused(not_allowed, "").as_deref(),
            Some("is not allowed to modify node")
        );
        assert_eq!(
            refused(Value::Null, "can only read its own").as_deref(),
            Some("can only read its own")
        );
        assert_eq!(refused(Value::Null, ""), None);
    }

    #[test]
    fn objects_of_other_kinds_are_dropped() {
        let mut secret = create(201);
        secret["objectRef"]["resource"] = json!("secrets");
        assert_eq!(event(secret).into_audit().object, None);
    }

    #[test]
    fn a_tenant_gets_an_event_when_its_row_is_added() {
        let tenants = Arc::new(Tenants::default());
        let (tenant, mut events) = crate::testing::tenant();
        tenants.admit(tenant).unwrap();
        let log = AuditLog::new(Arc::clone(&tenants), Arc::new(SigningRequests::new(tenants)));
        let write = |verb: &str, user: &str, roles: &[&str]| {
            let rows: String = roles.iter().map(|arn| format!("- rolearn: {arn}\n")).collect();
            let event = json!({
                "stage": "ResponseComplete", "verb": verb, "user": { "username": user },
                "objectRef": { "resource": "configmaps", "namespace": "kube-system", "name": "aws-auth" },
                "responseStatus": { "code": 200 }, "responseObject": { "data": { "mapRoles": rows } },
            });
            log.record(serde_json::from_value(json!({ "items": [event] })).unwrap());
        };
        let own = crate::testing::ROLE_ARN;
        write("patch", "eks:node-manager", &["arn:aws:iam::1:role/other"]);
        write("update", "kubernetes-admin", &["arn:aws:iam::1:role/other", own]);
        write("patch", "eks:node-manager", &[own]);
        let ClusterFact::Mapping(seen) = events.try_recv().unwrap().what else {
            panic!("another fact")
        };
        let expected = MappingWrite {
            verb: "update".to_owned(),
            username: "kubernetes-admin".to_owned(),
            added: vec![own.to_owned()],
        };
        assert_eq!(seen, expected);
        assert!(events.try_recv().is_err(), "the other writes added nothing");
    }

    #[test]
    fn each_request_gives_one_event() {
        let outcome = |stage: &str, verb: &str, code: u16| {
            event(json!({ "stage": stage, "verb": verb, "responseStatus": { "code": code } })).is_outcome()
        };
        assert!(outcome("ResponseComplete", "create", 201));
        assert!(outcome("ResponseStarted", "get", 401));
        assert!(outcome("ResponseStarted", "watch", 200));
        assert!(!outcome("ResponseComplete", "watch", 200));
        assert!(!outcome("ResponseStarted", "get", 200));
        assert!(!outcome("RequestReceived", "get", 0));
    }

    #[test]
    fn a_failed_authentication_has_its_path() {
        let audit = event(json!({
            "stage": "ResponseStarted", "verb": "get", "requestURI": "/api/v1/nodes?limit=500",
            "user": {}, "responseStatus": { "code": 401, "message": "Authentication failed, attempted: bearer" }
        }))
        .into_audit();
        assert_eq!(
            (audit.resource.as_str(), audit.username.as_str()),
            ("/api/v1/nodes", "")
        );
    }
}
