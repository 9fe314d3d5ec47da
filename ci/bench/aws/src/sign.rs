//! Requests of EC2's query protocol, signed once: a signature is valid for five minutes, longer than any measurement.

use bytes::Bytes;
use hmac::{Hmac, Mac as _};
use http::Request;
use http_body_util::Full;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use time::macros::format_description;

use crate::failed::Failed;

/// The caller that signs requests to EC2.
pub(crate) const HOST: &str = "ec2.eu-west-1.amazonaws.com";
const SCOPE: &str = "eu-west-1/ec2/aws4_request";
const SIGNED: &str = "content-type;host;x-amz-date;x-amz-security-token";
const FORM: &str = "application/x-www-form-urlencoded";

/// Credentials of the role.
pub(crate) struct RoleCredentials {
    key: String,
    secret: String,
    token: String,
}

impl RoleCredentials {
    pub(crate) fn read(document: &[u8]) -> Result<Self, Failed> {
        let document: Value = serde_json::from_slice(document)?;
        let member = |name: &str| {
            let text = document[name].as_str();
            text.map(str::to_owned)
                .ok_or_else(|| format!("the credentials have no {name}"))
        };
        Ok(Self {
            key: member("AccessKeyId")?,
            secret: member("SecretAccessKey")?,
            token: member("Token")?,
        })
    }
}

pub(crate) fn describe_instances(credentials: &RoleCredentials) -> Result<Request<Full<Bytes>>, Failed> {
    signed(credentials, "Action=DescribeInstances&Version=2016-11-15")
}

/// moto accepts an image that does not exist.
pub(crate) fn run_instance(credentials: &RoleCredentials) -> Result<Request<Full<Bytes>>, Failed> {
    let ask = "Action=RunInstances&Version=2016-11-15&ImageId=ami-12c6146b&MinCount=1&MaxCount=1&InstanceType=m5.large";
    signed(credentials, ask)
}

fn signed(credentials: &RoleCredentials, body: &'static str) -> Result<Request<Full<Bytes>>, Failed> {
    let format = format_description!("[year][month][day]T[hour][minute][second]Z");
    let date = OffsetDateTime::now_utc().format(format)?;
    let (day, token) = (&date[..8], &credentials.token);
    let headers =
        format!("content-type:{FORM}\nhost:{HOST}\nx-amz-date:{date}\nx-amz-security-token:{token}\n");
    let canonical = format!(
        "POST\n/\n\n{headers}\n{SIGNED}\n{}",
        hex::encode(Sha256::digest(body))
    );
    let digest = hex::encode(Sha256::digest(canonical));
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{day}/{SCOPE}\n{digest}");
    let mut key = format!("AWS4{}", credentials.secret).into_bytes();
    for part in [day, "eu-west-1", "ec2", "aws4_request"] {
        key = mac(&key, part)?;
    }
    let signature = hex::encode(mac(&key, &text)?);
    let proof = format!(
        "AWS4-HMAC-SHA256 Credential={}/{day}/{SCOPE}, SignedHeaders={SIGNED}, Signature={signature}",
        credentials.key
    );
    let request = Request::post("/")
        .header("host", HOST)
        .header("content-type", FORM)
        .header("x-amz-date", &date)
        .header("x-amz-security-token", token)
        .header("authorization", proof);
    Ok(request.body(Full::from(body))?)
}

fn mac(key: &[u8], text: &str) -> Result<Vec<u8>, Failed> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key)?;
    mac.update(text.as_bytes());
    Ok(mac.finalize().into_bytes().to_vec())
}
