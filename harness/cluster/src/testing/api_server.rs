//! An API server in memory, for tests of controllers. It refuses requests and cuts watches on demand, like one that
//! restarts.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::channel::mpsc;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// The paths of objects end with one of these, or with a name below them.
const COLLECTIONS: [&str; 5] = [
    "/nodes",
    "/certificatesigningrequests",
    "/csinodes",
    "/configmaps",
    "/subjectaccessreviews",
];

/// An API server whose state is a map from paths to objects.
#[derive(Clone, Default)]
pub(crate) struct FakeApiServer {
    state: Arc<Mutex<StoredObjects>>,
}

#[derive(Default)]
struct StoredObjects {
    version: u64,
    objects: BTreeMap<String, Value>,
    /// Open watches, each with the path of its collection.
    watches: Vec<(String, mpsc::UnboundedSender<Bytes>)>,
    /// Status codes for the next requests.
    refusals: Vec<u16>,
    /// Status codes for the next requests that write.
    write_refusals: Vec<u16>,
    /// Number of requests that were refused.
    refused: usize,
}

impl FakeApiServer {
    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.respond(request).await) }
        });
        Client::new(service, "default")
    }

    /// Creates or changes an object, as another client does.
    pub(crate) fn put(&self, path: &str, object: Value) {
        self.state.lock().store(path, object);
    }

    /// Deletes an object, as another client does.
    pub(crate) fn delete(&self, path: &str) {
        let mut state = self.state.lock();
        if let Some(object) = state.objects.remove(path) {
            state.version += 1;
            state.publish(path, "DELETED", &object);
        }
    }

    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        self.state.lock().objects.get(path).cloned()
    }

    /// Ends all watches, and refuses the next requests with these status codes.
    pub(crate) fn restart(&self, refusals: &[u16]) {
        let mut state = self.state.lock();
        state.watches.clear();
        state.refusals = refusals.to_vec();
    }

    /// Refuses the next requests that write with these status codes.
    pub(crate) fn refuse_writes(&self, refusals: &[u16]) {
        self.state.lock().write_refusals = refusals.to_vec();
    }

    /// Whether all refusals were used up.
    pub(crate) fn has_refused(&self, count: usize) -> bool {
        self.state.lock().refused >= count
    }

    async fn respond(&self, request: Request<Body>) -> Answer {
        let (parts, body) = request.into_parts();
        let body = body
            .collect()
            .await
            .map(|body| body.to_bytes())
            .unwrap_or_default();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let query = parts.uri.query().unwrap_or_default();
        let watched = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("resourceVersion="))
            .filter(|_| query.contains("watch="));
        self.state
            .lock()
            .answer(&parts.method, parts.uri.path(), watched, body)
    }
}

impl StoredObjects {
    fn answer(&mut self, method: &Method, path: &str, watched: Option<&str>, body: Value) -> Answer {
        if let Some(code) = self.refusal(method) {
            self.refused += 1;
            return status(code);
        }
        let is_collection = COLLECTIONS.iter().any(|collection| path.ends_with(collection));
        match (method.as_str(), is_collection) {
            ("GET", true) => match watched {
                Some(version) => self.watch(path, version),
                None => self.list(path),
            },
            ("GET", false) => self.object(path),
            ("POST", _) => self.review(body),
            _ => self.change(path, method, body),
        }
    }

    fn refusal(&mut self, method: &Method) -> Option<u16> {
        let is_write = *method != Method::GET;
        match (
            self.refusals.is_empty(),
            is_write && !self.write_refusals.is_empty(),
        ) {
            (false, _) => Some(self.refusals.remove(0)),
            (true, true) => Some(self.write_refusals.remove(0)),
            (true, false) => None,
        }
    }

    /// A watch from the current version on; there is no history, so that a client has to list again after a change.
    fn watch(&mut self, path: &str, version: &str) -> Answer {
        let (sender, receiver) = mpsc::unbounded();
        if version != self.version.to_string() {
            return ok(&json!({ "type": "ERROR", "object": failure(410) }));
        }
        self.watches.push((path.to_owned(), sender));
        let frames = receiver.map(|line| Ok(Frame::data(line)));
        Response::new(StreamBody::new(frames).boxed_unsync())
    }

    fn list(&self, path: &str) -> Answer {
        let items = self.objects.iter().filter(|(at, _)| collection_of(at) == path);
        let items: Vec<&Value> = items.map(|(_, object)| object).collect();
        let version = self.version.to_string();
        ok(
            &json!({ "apiVersion": "v1", "kind": "List", "metadata": { "resourceVersion": version }, "items": items }),
        )
    }

    fn object(&self, path: &str) -> Answer {
        self.objects.get(path).map_or_else(|| status(404), ok)
    }

    /// Every access review is allowed.
    fn review(&self, mut review: Value) -> Answer {
        review["status"] = json!({ "allowed": true });
        ok(&review)
    }

    /// Applies a patch or a new version of an object.
    fn change(&mut self, path: &str, method: &Method, body: Value) -> Answer {
        let path = path.trim_end_matches("/status").trim_end_matches("/approval");
        let mut object = self.objects.get(path).cloned().unwrap_or_else(|| json!({}));
        match *method == Method::PUT {
            true => object = body,
            false => merge(&mut object, body),
        }
        ok(&self.store(path, object))
    }

    fn store(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let kind = match self.objects.insert(path.to_owned(), object.clone()) {
            Some(_) => "MODIFIED",
            None => "ADDED",
        };
        self.publish(path, kind, &object);
        object
    }

    fn publish(&mut self, path: &str, kind: &str, object: &Value) {
        let line = Bytes::from(format!("{}\n", json!({ "type": kind, "object": object })));
        let watches = self.watches.iter().filter(|(at, _)| at == collection_of(path));
        // A watch whose client went away needs no event.
        watches.for_each(|(_, watch)| drop(watch.unbounded_send(line.clone())));
    }
}

/// The collection of an object.
fn collection_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(collection, _)| collection)
}

fn merge(object: &mut Value, patch: Value) {
    match patch {
        Value::Object(fields) => fields
            .into_iter()
            .for_each(|(key, value)| merge(&mut object[key], value)),
        other => *object = other,
    }
}

fn ok(object: &Value) -> Answer {
    let body = Full::new(Bytes::from(object.to_string()));
    Response::new(body.boxed_unsync())
}

fn status(code: u16) -> Answer {
    let mut answer = ok(&failure(code));
    *answer.status_mut() = http::StatusCode::from_u16(code).unwrap();
    answer
}

fn failure(code: u16) -> Value {
    json!({ "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": "Refused",
            "message": "refused by the test", "metadata": {} })
}
