//! Signatures of an independent signer: `aws-sigv4` of the AWS SDK for Rust. The fake accepts its signatures and
//! rejects a request that changed after signing.

use std::time::{Duration as StdDuration, SystemTime};

use aws_credential_types::Credentials as SdkCredentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign,
};
use aws_sigv4::sign::v4;
use bytes::Bytes;
use http::Method;
use proptest::prelude::*;
use time::{Duration, OffsetDateTime};

use super::error::SignatureError;
use super::{SignaturePolicy, verify};
use crate::credentials::{CredentialStore, Credentials};
use crate::http::Request;

const HOST: &str = "eks.eu-west-1.amazonaws.com";

fn noon() -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(1_778_155_200).unwrap()
}

/// A request before signing.
#[derive(Debug, Clone)]
struct SignedParts {
    method: Method,
    /// Path and query, as they go over the wire.
    target: String,
    header: Option<(&'static str, String)>,
    body: Vec<u8>,
    presigned: bool,
    /// Whether the body's hash is declared in a header.
    declares_body: bool,
}

fn parts() -> impl Strategy<Value = SignedParts> {
    let segment = "[a-zA-Z0-9_.~%-]{0,8}".prop_map(|text| text.replace('%', "%2F"));
    let path = proptest::collection::vec(segment, 0..4).prop_map(|parts| format!("/{}", parts.join("/")));
    let pair = ("[A-Za-z][A-Za-z0-9.-]{0,8}", "[a-zA-Z0-9 :/+=&é*'()~]{0,12}").prop_map(|(name, value)| {
        let encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
        format!("{name}={}", encoded.replace('+', "%20"))
    });
    let query = proptest::collection::vec(pair, 0..4).prop_map(|pairs| pairs.join("&"));
    let target = (path, query).prop_map(|(path, query)| match query.as_str() {
        "" => path,
        query => format!("{path}?{query}"),
    });
    let name = prop::sample::select(vec!["x-k8s-aws-id", "x-amz-target", "content-type"]);
    let header = prop::option::of((name, "[a-zA-Z0-9./=; -]{1,20}").prop_map(|(name, text)| (name, text)));
    let method = prop::sample::select(vec![Method::GET, Method::POST, Method::PUT, Method::DELETE]);
    let body = proptest::collection::vec(any::<u8>(), 0..64);
    (method, target, header, body, any::<bool>(), any::<bool>()).prop_map(
        |(method, target, header, body, presigned, declares_body)| SignedParts {
            method,
            target,
            header,
            body: if presigned { Vec::new() } else { body },
            presigned,
            declares_body,
        },
    )
}

/// The signed request as the server receives it.
fn request_signature(parts: &SignedParts, credentials: &Credentials) -> Request {
    let identity = SdkCredentials::new(
        &credentials.access_key_id,
        credentials.secret_access_key.reveal(),
        Some(credentials.token.reveal().to_owned()),
        None,
        "test",
    )
    .into();
    let mut settings = SigningSettings::default();
    if parts.presigned {
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = Some(StdDuration::from_secs(60));
    } else if parts.declares_body {
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    }
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region("eu-west-1")
        .name("eks")
        .time(SystemTime::from(noon()))
        .settings(settings)
        .build()
        .unwrap()
        .into();
    let uri = format!("https://{HOST}{}", parts.target);
    let headers = parts.header.iter().map(|(name, value)| (*name, value.as_str()));
    let signable = SignableRequest::new(
        parts.method.as_str(),
        &uri,
        headers,
        SignableBody::Bytes(&parts.body),
    )
    .unwrap();
    let (instructions, _) = sign(signable, &parameters).unwrap().into_parts();
    let mut request = http::Request::builder().method(parts.method.clone()).uri(&uri);
    if let Some((name, value)) = &parts.header {
        request = request.header(*name, value);
    }
    let mut request = request.body(()).unwrap();
    instructions.apply_to_request_http1x(&mut request);
    Request {
        method: request.method().clone(),
        host: HOST.to_owned(),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
        headers: request.headers().clone(),
        body: Bytes::from(parts.body.clone()),
    }
}

fn check(request: &Request, issued: &CredentialStore) -> Result<String, SignatureError> {
    let demand = SignaturePolicy {
        service: "eks",
        region: "eu-west-1",
        window: Duration::minutes(5),
    };
    verify(request, issued, demand, noon()).map(|credentials| credentials.access_key_id.clone())
}

/// The part of a request that changes.
#[derive(Debug, Clone, Copy)]
enum ChangedPart {
    Path,
    Body,
    Header,
    Signature,
    Date,
    CredentialScope,
}

/// Flips one bit of one byte; `None` if the result cannot arrive or means the same to a server.
fn flipped(request: &Request, part: ChangedPart, index: usize, bit: u8) -> Option<Request> {
    let mut changed = request.clone();
    let flip = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        let index = index.checked_rem(bytes.len())?;
        bytes[index] ^= 1 << bit;
        Some(bytes)
    };
    let flip_text = |text: &str| String::from_utf8(flip(text.as_bytes())?).ok();
    match part {
        ChangedPart::Path => {
            // Empty and dot segments mean nothing to a server, so that a change that makes or ends one may be the same
            // path.
            changed.path =
                flip_text(&request.path).filter(|path| path.starts_with('/') && !path.contains("//"))?;
            if [&request.path, &changed.path]
                .iter()
                .any(|path| path.split('/').skip(1).any(is_dot))
            {
                return None;
            }
        }
        ChangedPart::Body => changed.body = flip(&request.body)?.into(),
        ChangedPart::Header => {
            let value = flip(request.headers.get("x-k8s-aws-id")?.as_bytes())?;
            // Blanks at the ends and doubled ones are the same to a server.
            let same = |bytes: &[u8]| bytes.iter().any(u8::is_ascii_whitespace);
            if same(&value) || same(request.headers.get("x-k8s-aws-id")?.as_bytes()) {
                return None;
            }
            changed
                .headers
                .insert("x-k8s-aws-id", http::HeaderValue::from_bytes(&value).ok()?);
        }
        ChangedPart::Signature => replace(&mut changed, "Signature=", index % 64, bit)?,
        ChangedPart::CredentialScope => replace(&mut changed, "Credential=", 21 + index % 22, bit)?,
        ChangedPart::Date => match request.header("x-amz-date") {
            Some(date) => {
                let date = flip_text(date)?;
                changed.headers.insert("x-amz-date", date.parse().ok()?);
            }
            None => replace(&mut changed, "X-Amz-Date=", index % 16, bit)?,
        },
    }
    Some(changed)
}

fn is_dot(segment: &str) -> bool {
    matches!(segment, "" | "." | "..")
}

/// Flips a bit of the text after a word in the `Authorization` header or in the query.
fn replace(request: &mut Request, word: &str, index: usize, bit: u8) -> Option<()> {
    let flip = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        let at = text.find(word)? + word.len() + index;
        *bytes.get_mut(at)? ^= 1 << bit;
        let text = String::from_utf8(bytes).ok()?;
        // A byte that ends the value makes it another value; the parts that stand around it are not what is tested
        // here.
        (!text[at..=at].contains(['&', '+', '#', ' ', ','])).then_some(text)
    };
    match request.header("authorization") {
        Some(authorization) => {
            let changed = flip(authorization)?;
            request.headers.insert("authorization", changed.parse().ok()?);
        }
        None => {
            // `%2f` is `%2F` to a server.
            let read = |query: &str| {
                url::form_urlencoded::parse(query.as_bytes())
                    .into_owned()
                    .collect::<Vec<_>>()
            };
            let changed = flip(&request.query)?;
            if read(&changed) == read(&request.query) {
                return None;
            }
            request.query = changed;
        }
    }
    Some(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn signatures_of_the_sdk_are_accepted(parts in parts()) {
        let mut issued = CredentialStore::with_lifetime(Duration::hours(6));
        let credentials = issued.current(noon()).clone();
        let request = request_signature(&parts, &credentials);
        prop_assert_eq!(check(&request, &issued), Ok(credentials.access_key_id), "{:?}", request);
    }

    #[test]
    fn a_request_with_one_changed_bit_is_rejected(
        parts in parts(), index in any::<usize>(), bit in 0_u8..8,
        part in prop::sample::select(vec![ChangedPart::Path, ChangedPart::Body, ChangedPart::Header, ChangedPart::Signature, ChangedPart::Date, ChangedPart::CredentialScope]),
    ) {
        let mut issued = CredentialStore::with_lifetime(Duration::hours(6));
        let credentials = issued.current(noon()).clone();
        let request = request_signature(&parts, &credentials);
        let Some(changed) = flipped(&request, part, index, bit) else { return Ok(()) };
        prop_assert!(check(&changed, &issued).is_err(), "{:?} of {:?}", part, changed);
    }
}
