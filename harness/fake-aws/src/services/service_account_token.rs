//! Tokens of service accounts. The fakes read their claims and leave their signatures unchecked: the issuer's key
//! belongs to a control plane.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::Value;

/// The claims of a token; `None` for other text.
pub(super) fn claims(token: &str) -> Option<Value> {
    let parts: Vec<&str> = token.split('.').collect();
    let [_, payload, _] = parts.as_slice() else {
        return None;
    };
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
}

pub(super) fn has_audience(claims: &Value, audience: &str) -> bool {
    match &claims["aud"] {
        Value::Array(all) => all.iter().any(|one| one == audience),
        one => one == audience,
    }
}
