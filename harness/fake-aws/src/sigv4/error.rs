//! Invalid signatures, and each service's error for them.

use crate::http::ServiceError;
use crate::wire::WireFormat;

/// The reason to reject a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SignatureError {
    Missing,
    Incomplete(String),
    /// Of a presigned URL: a parameter is missing or invalid.
    IncompleteQuery(String),
    /// S3's own reason to reject a presigned URL.
    Denied(String),
    /// S3 in this region does not accept signatures of version 2.
    Version,
    /// No credentials have this access key.
    UnknownKey,
    /// The session token is missing, or belongs to other credentials.
    WrongToken,
    /// The scope has another region, service or day.
    Scope(String),
    /// The time is too far in the past or the future.
    Late(String),
    ExpiredCredentials,
    /// The signature is of another secret key or another request.
    Mismatch,
}

const WRONG_SIGNATURE: &str = "The request signature we calculated does not match the signature you provided. Check your AWS \
Secret Access Key and signing method. Consult the service documentation for details.";
const INVALID_TOKEN: &str = "The security token included in the request is invalid.";
const EXPIRED_TOKEN: &str = "The security token included in the request is expired";
const S3_UNKNOWN_KEY: &str = "The AWS Access Key Id you provided does not exist in our records.";
const S3_LATE: &str = "The difference between the request time and the current time is too large.";
const S3_MISMATCH: &str = "The request signature we calculated does not match the signature you provided. Check your key and \
signing method.";
const EC2_INVALID: &str = "AWS was not able to validate the provided access credentials";

const S3_VERSION: &str =
    "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.";

impl SignatureError {
    /// A presigned URL of S3 after its time.
    #[must_use]
    pub(crate) fn expired() -> Self {
        Self::Denied("Request has expired".to_owned())
    }

    /// The error of a signature in the query.
    #[must_use]
    pub(crate) fn of_query(self) -> Self {
        match self {
            Self::Incomplete(message) => Self::IncompleteQuery(message),
            other => other,
        }
    }

    /// The error in a service's wire format.
    #[must_use]
    pub(crate) fn service_error(self, wire_format: WireFormat) -> ServiceError {
        match wire_format {
            WireFormat::RestJson => self.json(403),
            // JSON 1.1 services return 400 for an invalid signature, REST services 403.
            WireFormat::Json10 | WireFormat::Json11 | WireFormat::Cbor => self.json(400),
            WireFormat::S3 => self.s3(),
            WireFormat::Query(_) => self.query(),
            WireFormat::Ec2 => self.ec2(),
            WireFormat::Metadata | WireFormat::Registry => {
                ServiceError::new(401, "UNAUTHORIZED", "Not Authorized")
            }
        }
    }

    fn json(self, status: u16) -> ServiceError {
        let (code, message) = match self {
            Self::Missing => (
                "MissingAuthenticationTokenException",
                "Missing Authentication Token".to_owned(),
            ),
            Self::Incomplete(message) | Self::IncompleteQuery(message) => {
                ("IncompleteSignatureException", message)
            }
            Self::UnknownKey | Self::WrongToken => ("UnrecognizedClientException", INVALID_TOKEN.to_owned()),
            Self::Scope(message) | Self::Late(message) | Self::Denied(message) => {
                ("InvalidSignatureException", message)
            }
            Self::ExpiredCredentials => ("ExpiredTokenException", EXPIRED_TOKEN.to_owned()),
            Self::Mismatch | Self::Version => ("InvalidSignatureException", WRONG_SIGNATURE.to_owned()),
        };
        ServiceError::new(status, code, message)
    }

    fn query(self) -> ServiceError {
        let (status, code, message) = match self {
            Self::Missing => (
                403,
                "MissingAuthenticationToken",
                "Request is missing Authentication Token".to_owned(),
            ),
            Self::Incomplete(message) | Self::IncompleteQuery(message) => {
                (400, "IncompleteSignature", message)
            }
            Self::UnknownKey | Self::WrongToken => (403, "InvalidClientTokenId", INVALID_TOKEN.to_owned()),
            Self::Scope(message) | Self::Late(message) | Self::Denied(message) => {
                (403, "SignatureDoesNotMatch", message)
            }
            Self::ExpiredCredentials => (403, "ExpiredToken", EXPIRED_TOKEN.to_owned()),
            Self::Mismatch | Self::Version => (403, "SignatureDoesNotMatch", WRONG_SIGNATURE.to_owned()),
        };
        ServiceError::new(status, code, message)
    }

    /// Codes and messages of the S3 API reference, "Error responses".
    fn s3(self) -> ServiceError {
        let (status, code, message) = match self {
            Self::Missing => (403, "AccessDenied", "Access Denied".to_owned()),
            Self::Incomplete(message) | Self::Scope(message) => {
                (400, "AuthorizationHeaderMalformed", message)
            }
            Self::IncompleteQuery(message) => (400, "AuthorizationQueryParametersError", message),
            Self::Denied(message) => (403, "AccessDenied", message),
            Self::Version => (400, "InvalidRequest", S3_VERSION.to_owned()),
            Self::UnknownKey => (403, "InvalidAccessKeyId", S3_UNKNOWN_KEY.to_owned()),
            Self::WrongToken => (
                400,
                "InvalidToken",
                "The provided token is malformed or otherwise invalid.".to_owned(),
            ),
            Self::Late(_) => (403, "RequestTimeTooSkewed", S3_LATE.to_owned()),
            Self::ExpiredCredentials => (400, "ExpiredToken", "The provided token has expired.".to_owned()),
            Self::Mismatch => (403, "SignatureDoesNotMatch", S3_MISMATCH.to_owned()),
        };
        ServiceError::new(status, code, message)
    }

    fn ec2(self) -> ServiceError {
        let (status, code, message) = match self {
            Self::Missing => (
                400,
                "MissingParameter",
                "The request must contain the parameter AWSAccessKeyId".to_owned(),
            ),
            Self::Incomplete(message) | Self::IncompleteQuery(message) => {
                (400, "IncompleteSignature", message)
            }
            Self::Late(_) | Self::Denied(_) | Self::ExpiredCredentials => {
                (400, "RequestExpired", "Request has expired.".to_owned())
            }
            Self::UnknownKey | Self::WrongToken | Self::Scope(_) | Self::Mismatch | Self::Version => {
                (401, "AuthFailure", EC2_INVALID.to_owned())
            }
        };
        ServiceError::new(status, code, message)
    }
}
