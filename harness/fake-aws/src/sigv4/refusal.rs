//! Why a signature was refused, in the words of the service that refuses it.

use crate::exchange::ServiceError;
use crate::wire::Shape;

/// Why a signature was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is none.
    Missing,
    /// It lacks a part.
    Incomplete(String),
    /// Nobody got this access key.
    UnknownKey,
    /// The session token is missing, or belongs to other credentials.
    WrongToken,
    /// The scope names another region, service or day.
    Scope(String),
    /// It was made too long ago, or in the future.
    Late(String),
    /// The credentials have expired.
    ExpiredCredentials,
    /// Another secret key, or something else was signed.
    Signature,
}

const WRONG_SIGNATURE: &str = "The request signature we calculated does not match the signature you provided. Check your AWS \
Secret Access Key and signing method. Consult the service documentation for details.";
const INVALID_TOKEN: &str = "The security token included in the request is invalid.";
const EXPIRED_TOKEN: &str = "The security token included in the request is expired";
const EC2_INVALID: &str = "AWS was not able to validate the provided access credentials";

impl Refusal {
    /// The error that a service of this shape answers with.
    #[must_use]
    pub fn error(self, shape: Shape) -> ServiceError {
        match shape {
            Shape::RestJson => self.json(403),
            // JSON 1.1 services answer 400 to a signature they refuse, where REST services answer 403.
            Shape::Json11 => self.json(400),
            Shape::Query(_) => self.query(),
            Shape::Ec2 => self.ec2(),
            Shape::Metadata | Shape::Registry => ServiceError::new(401, "UNAUTHORIZED", "Not Authorized"),
        }
    }

    fn json(self, status: u16) -> ServiceError {
        let (code, message) = match self {
            Self::Missing => (
                "MissingAuthenticationTokenException",
                "Missing Authentication Token".to_owned(),
            ),
            Self::Incomplete(message) => ("IncompleteSignatureException", message),
            Self::UnknownKey | Self::WrongToken => ("UnrecognizedClientException", INVALID_TOKEN.to_owned()),
            Self::Scope(message) | Self::Late(message) => ("InvalidSignatureException", message),
            Self::ExpiredCredentials => ("ExpiredTokenException", EXPIRED_TOKEN.to_owned()),
            Self::Signature => ("InvalidSignatureException", WRONG_SIGNATURE.to_owned()),
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
            Self::Incomplete(message) => (400, "IncompleteSignature", message),
            Self::UnknownKey | Self::WrongToken => (403, "InvalidClientTokenId", INVALID_TOKEN.to_owned()),
            Self::Scope(message) | Self::Late(message) => (403, "SignatureDoesNotMatch", message),
            Self::ExpiredCredentials => (403, "ExpiredToken", EXPIRED_TOKEN.to_owned()),
            Self::Signature => (403, "SignatureDoesNotMatch", WRONG_SIGNATURE.to_owned()),
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
            Self::Incomplete(message) => (400, "IncompleteSignature", message),
            Self::Late(_) => (400, "RequestExpired", "Request has expired.".to_owned()),
            Self::ExpiredCredentials => (400, "RequestExpired", "Request has expired.".to_owned()),
            Self::UnknownKey | Self::WrongToken | Self::Scope(_) | Self::Signature => {
                (401, "AuthFailure", EC2_INVALID.to_owned())
            }
        };
        ServiceError::new(status, code, message)
    }
}
