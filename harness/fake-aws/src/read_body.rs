//! Reading a request's body without keeping more of it than is wanted.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

/// A client that sends so many bytes more than are wanted is cut off.
const MOST_THROWN_AWAY: usize = 64 * 1024 * 1024;

/// A body, or nothing where it has more than `largest` bytes. What is past them is thrown away and yet read: the end of a
/// connection on which a client still sends takes the refusal along that it was to read.
///
/// # Errors
/// Where the connection ends before the body does, or what it sends is no HTTP.
pub async fn read_body(mut body: Incoming, largest: usize) -> hyper::Result<Option<Bytes>> {
    let (mut kept, mut length) = (BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        length += data.len();
        if length <= largest {
            kept.extend_from_slice(&data);
        } else if length > largest + MOST_THROWN_AWAY {
            break;
        }
    }
    Ok((length <= largest).then(|| kept.freeze()))
}
