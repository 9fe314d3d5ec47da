//! Checks signatures against the example in AWS' documentation, and rejects each kind of invalid signature.

use http::{HeaderMap, HeaderName, HeaderValue, Method};

use super::canonical::{canonical_request, signature};
use super::*;

/// The example of the Signature Version 4 test suite: `get-vanilla`, of AWS' documentation.
#[test]
fn the_vanilla_request_of_aws_test_suite() {
    let authorization = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
        SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
    let request = request(&[
        ("x-amz-date", "20150830T123600Z"),
        ("authorization", authorization),
    ]);
    let request_signature = RequestSignature::parse(&request).unwrap();
    let hash = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(canonical_request(
        &request,
        &request_signature,
    )));
    assert_eq!(
        hash,
        "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63"
    );
    assert_eq!(
        signature(
            &request,
            &request_signature,
            "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
        ),
        request_signature.signature
    );
}

fn request(headers: &[(&'static str, &str)]) -> Request {
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            )
        })
        .collect();
    Request {
        method: Method::GET,
        host: "example.amazonaws.com".into(),
        path: "/".into(),
        query: String::new(),
        headers,
        body: bytes::Bytes::new(),
    }
}

fn noon() -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(1_778_155_200).unwrap()
}

/// A request that is signed rightly, by the code under test: the AWS CLI's signatures are checked in `tests/`.
fn signed_by(credentials: &Credentials, region: &str, service: &str, at: OffsetDateTime) -> Request {
    let date = clock::basic(at);
    let head = format!(
        "AWS4-HMAC-SHA256 Credential={}/{}/{region}/{service}/aws4_request",
        credentials.access_key_id,
        &date[..8]
    );
    let token = credentials.token.reveal();
    let with = |signature: &str| {
        let authorization =
            format!("{head}, SignedHeaders=host;x-amz-date;x-amz-security-token, Signature={signature}");
        request(&[
            ("x-amz-date", &date),
            ("x-amz-security-token", token),
            ("authorization", &authorization),
        ])
    };
    let unsigned = with("0");
    let right = signature(
        &unsigned,
        &RequestSignature::parse(&unsigned).unwrap(),
        credentials.secret_access_key.reveal(),
    );
    with(&right)
}

fn eks() -> SignaturePolicy<'static> {
    SignaturePolicy {
        service: "eks",
        region: "eu-west-1",
        window: Duration::minutes(5),
    }
}

#[test]
fn a_right_signature_is_accepted() {
    let mut issued = CredentialStore::with_lifetime(Duration::hours(6));
    let credentials = issued.current(noon()).clone();
    let request = signed_by(&credentials, "eu-west-1", "eks", noon());
    let verified = verify(&request, &issued, eks(), noon()).unwrap();
    assert_eq!(verified.access_key_id, credentials.access_key_id);
}

#[test]
fn every_wrong_one_is_refused_for_its_own_reason() {
    let mut issued = CredentialStore::with_lifetime(Duration::hours(6));
    let credentials = issued.current(noon()).clone();
    let minutes = Duration::minutes;
    let wrong_secret = Credentials {
        secret_access_key: nodejoin_core::run::secret::Secret::new("x".into()),
        ..credentials.clone()
    };
    let wrong_token = Credentials {
        token: nodejoin_core::run::secret::Secret::new("x".into()),
        ..credentials.clone()
    };
    let wrong_key = Credentials {
        access_key_id: "ASIAAAAAAAAAAAAAAAAA".into(),
        ..credentials.clone()
    };
    let late = credentials.expires + minutes(1);
    let table = [
        (request(&[]), noon(), SignatureError::Missing),
        (signed_by(&wrong_key, "eu-west-1", "eks", noon()), noon(), SignatureError::UnknownKey),
        (signed_by(&wrong_token, "eu-west-1", "eks", noon()), noon(), SignatureError::WrongToken),
        (signed_by(&wrong_secret, "eu-west-1", "eks", noon()), noon(), SignatureError::Mismatch),
        (
            signed_by(&credentials, "us-east-1", "eks", noon()),
            noon(),
            SignatureError::Scope("Credential should be scoped to a valid region. ".into()),
        ),
        (
            signed_by(&credentials, "eu-west-1", "sts", noon()),
            noon(),
            SignatureError::Scope("Credential should be scoped to correct service: 'eks'. ".into()),
        ),
        (
            signed_by(&credentials, "eu-west-1", "eks", noon()),
            noon() + minutes(6),
            SignatureError::Late("Signature expired: 20260507T120000Z is now earlier than 20260507T120100Z (20260507T120600Z - 5 min.)".into()),
        ),
        (
            signed_by(&credentials, "eu-west-1", "eks", noon() + minutes(6)),
            noon(),
            SignatureError::Late("Signature not yet current: 20260507T120600Z is still later than 20260507T120500Z (20260507T120000Z + 5 min.)".into()),
        ),
        (signed_by(&credentials, "eu-west-1", "eks", late), late, SignatureError::ExpiredCredentials),
    ];
    for (request, now, expected) in table {
        assert_eq!(verify(&request, &issued, eks(), now).unwrap_err(), expected);
    }
}

#[test]
fn a_changed_request_is_refused() {
    let mut issued = CredentialStore::with_lifetime(Duration::hours(6));
    let credentials = issued.current(noon()).clone();
    let right = signed_by(&credentials, "eu-west-1", "eks", noon());
    let changes: [fn(&mut Request); 4] = [
        |r| r.path = "/clusters".into(),
        |r| r.query = "a=b".into(),
        |r| r.host = "other.amazonaws.com".into(),
        |r| r.method = Method::POST,
    ];
    for change in changes {
        let mut request = right.clone();
        change(&mut request);
        assert_eq!(
            verify(&request, &issued, eks(), noon()).unwrap_err(),
            SignatureError::Mismatch
        );
    }
    let mut request = right;
    request.body = "x".into();
    assert_eq!(
        verify(&request, &issued, eks(), noon()).unwrap_err(),
        SignatureError::Mismatch
    );
}

/// Every changed digit of a signature makes it invalid.
#[test]
fn no_other_signature_is_accepted() {
    let mut issued = CredentialStore::with_lifetime(Duration::hours(6));
    let credentials = issued.current(noon()).clone();
    let right = signed_by(&credentials, "eu-west-1", "eks", noon());
    let authorization = right.header("authorization").unwrap().to_owned();
    let start = authorization.len() - 64;
    for index in start..authorization.len() {
        let mut bytes = authorization.clone().into_bytes();
        bytes[index] = if bytes[index] == b'0' { b'1' } else { b'0' };
        let mut request = right.clone();
        request
            .headers
            .insert("authorization", HeaderValue::from_bytes(&bytes).unwrap());
        assert_eq!(
            verify(&request, &issued, eks(), noon()).unwrap_err(),
            SignatureError::Mismatch,
            "digit {}",
            index - start
        );
    }
}
