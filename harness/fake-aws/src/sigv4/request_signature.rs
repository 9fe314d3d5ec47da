//! The signature in a request: in the `Authorization` header or in the query string.

use time::OffsetDateTime;

use super::error::SignatureError;
use crate::clock;
use crate::http::Request;
use nodejoin_core::run::secret::Secret;

/// The one supported algorithm.
pub(crate) const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// The parameter with the access key id of a request with a signature of version 2.
pub(crate) const ACCESS_KEY_ID: &str = "AWSAccessKeyId";

/// A signature and its parameters.
#[derive(Debug, Clone)]
pub(crate) struct RequestSignature {
    pub form: SignatureLocation,
    pub access_key_id: String,
    pub scope: CredentialScope,
    /// Names of the signed headers in lower case, in the order of the request.
    pub headers: Vec<String>,
    /// The signature, in hexadecimal.
    pub signature: String,
    /// Time of the signature, unparsed.
    pub date: String,
    /// Time of the signature.
    pub time: OffsetDateTime,
    pub token: Option<Secret>,
    /// `X-Amz-Expires` of a presigned URL, unparsed.
    pub lifetime: Option<String>,
}

/// The location of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignatureLocation {
    /// In the `Authorization` header.
    Header,
    /// In the query string: a presigned URL.
    Query,
}

/// `20260507/eu-west-1/sts/aws4_request`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CredentialScope {
    pub date: String,
    pub region: String,
    pub service: String,
    /// `aws4_request`.
    pub terminator: String,
}

impl CredentialScope {
    /// The scope in the form of the string to sign.
    #[must_use]
    pub(crate) fn text(&self) -> String {
        format!(
            "{}/{}/{}/{}",
            self.date, self.region, self.service, self.terminator
        )
    }
}

/// The access key id of a request, with or without a valid signature, for the transcript.
#[must_use]
pub(crate) fn claimed_access_key_id(request: &Request) -> Option<String> {
    let query = request.query_parameters();
    let from_query = query.get("X-Amz-Credential").or(query.get(ACCESS_KEY_ID));
    let from_query = from_query.map(ToOwned::to_owned);
    let credential = match from_query {
        Some(credential) => credential,
        None => member(
            request.header("authorization")?.strip_prefix(ALGORITHM)?,
            "Credential",
        )?
        .to_owned(),
    };
    let id = credential.split('/').next()?;
    // Only a plausible access key id reaches the transcript, not just any text of a client.
    let plausible =
        (16..=32).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    plausible.then(|| id.to_owned())
}

impl RequestSignature {
    /// Parses the signature of a request.
    ///
    /// # Errors
    /// The request has no signature, or a part of it is missing.
    pub(crate) fn parse(request: &Request) -> Result<Self, SignatureError> {
        if request.query_parameters().get("X-Amz-Signature").is_some() {
            return Self::from_query(request).map_err(SignatureError::of_query);
        }
        match request.header("authorization") {
            Some(authorization) => Self::from_header(request, authorization),
            None => Err(SignatureError::Missing),
        }
    }

    fn from_header(request: &Request, authorization: &str) -> Result<Self, SignatureError> {
        let Some(members) = authorization.strip_prefix(ALGORITHM) else {
            return Err(SignatureError::Incomplete(
                "Unsupported AWS 'algorithm' in the Authorization header.".to_owned(),
            ));
        };
        let part = |name: &str| {
            member(members, name).ok_or_else(|| {
                SignatureError::Incomplete(format!("Authorization header requires '{name}' parameter. "))
            })
        };
        let date = request
            .header("x-amz-date")
            .or_else(|| request.header("date"))
            .ok_or_else(|| {
                SignatureError::Incomplete(
                    "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
                        .to_owned(),
                )
            })?;
        let token = request.header("x-amz-security-token").map(ToOwned::to_owned);
        Self::assemble(
            SignatureLocation::Header,
            part("Credential")?,
            part("SignedHeaders")?,
            part("Signature")?,
            date,
            token,
        )
    }

    fn from_query(request: &Request) -> Result<Self, SignatureError> {
        let parameters = request.query_parameters();
        let part = |name: &str| {
            parameters.get(name).ok_or_else(|| {
                SignatureError::Incomplete(format!("AWS query-string parameters must include '{name}'. "))
            })
        };
        if part("X-Amz-Algorithm")? != ALGORITHM {
            return Err(SignatureError::Incomplete(
                "X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256\"".to_owned(),
            ));
        }
        let token = parameters.get("X-Amz-Security-Token").map(ToOwned::to_owned);
        let (credential, headers) = (part("X-Amz-Credential")?, part("X-Amz-SignedHeaders")?);
        let signature = Self::assemble(
            SignatureLocation::Query,
            credential,
            headers,
            part("X-Amz-Signature")?,
            part("X-Amz-Date")?,
            token,
        )?;
        let lifetime = parameters.get("X-Amz-Expires").map(ToOwned::to_owned);
        Ok(Self {
            lifetime,
            ..signature
        })
    }

    fn assemble(
        form: SignatureLocation,
        credential: &str,
        headers: &str,
        signature: &str,
        date: &str,
        token: Option<String>,
    ) -> Result<Self, SignatureError> {
        let (access_key_id, scope) = split_credential(credential).ok_or_else(|| {
            SignatureError::Incomplete("Credential must have exactly 5 slash-delimited elements. ".to_owned())
        })?;
        let time = clock::parse_basic(date).ok_or_else(|| {
            SignatureError::Incomplete("Date must be in ISO-8601 'basic format'. ".to_owned())
        })?;
        let headers: Vec<String> = headers.split(';').map(str::to_ascii_lowercase).collect();
        if !headers.iter().any(|name| name == "host") {
            return Err(SignatureError::Incomplete(
                "'Host' must be a 'SignedHeader' in the AWS Authorization. ".to_owned(),
            ));
        }
        let (signature, date, token) = (signature.to_owned(), date.to_owned(), token.map(Secret::new));
        Ok(Self {
            form,
            access_key_id,
            scope,
            headers,
            signature,
            date,
            time,
            token,
            lifetime: None,
        })
    }
}

/// Finds `Name=value` among members separated by commas.
fn member<'a>(members: &'a str, name: &str) -> Option<&'a str> {
    members
        .split(',')
        .filter_map(|part| part.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

fn split_credential(credential: &str) -> Option<(String, CredentialScope)> {
    let parts: Vec<&str> = credential.split('/').collect();
    let [key, date, region, service, terminator] = parts.as_slice() else {
        return None;
    };
    let scope = CredentialScope {
        date: (*date).to_owned(),
        region: (*region).to_owned(),
        service: (*service).to_owned(),
        terminator: (*terminator).to_owned(),
    };
    Some(((*key).to_owned(), scope))
}
