//! Entry points of the fuzz targets.

use std::time::{Duration, SystemTime};

use crate::clock::{RequestTime, StateView};
use crate::http::Request;
use crate::instance::Instance;
use crate::router::Route;
use crate::world::World;

const LAUNCHED: Duration = Duration::from_secs(1_778_155_200);

/// Sends a query to the resolver of a world, and to the resolver of a source without a world.
pub fn resolve(world: &World, query: &[u8]) {
    let _ = crate::dns::respond(world, query, |_| None);
    let _ = crate::dns::refuse(query);
}

/// The status of the response to a request, without its socket.
#[must_use]
pub fn status(world: World, request: http::Request<bytes::Bytes>) -> u16 {
    let (parts, body) = request.into_parts();
    let request = Request {
        method: parts.method,
        host: parts.uri.host().unwrap_or_default().to_owned(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body,
    };
    let launched = SystemTime::UNIX_EPOCH + LAUNCHED;
    let mut instance = Instance::launch(world, launched);
    let time = RequestTime {
        now: launched.into(),
        elapsed: Duration::from_secs(1),
        view: StateView::Current,
    };
    let route = match request.host.as_str() {
        "169.254.169.254" => Route::Metadata,
        _ => Route::of_host(&request),
    };
    let _ = route.identify(&request);
    route.respond(&mut instance, &request, time).status
}
