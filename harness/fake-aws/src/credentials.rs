//! Credentials of an instance: issue, renewal and lookup, and the proofs by an instance's own key.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
use hmac::{Hmac, Mac};
use rand::RngCore;
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime};

use nodejoin_core::run::secret::Secret;

/// New credentials appear at least this long before the old ones expire (AWS documents five minutes).
pub(crate) const RENEWED_BEFORE: Duration = Duration::minutes(15);
/// Expired credentials stay known this long, so that their use is reported as expired and not as an unknown key.
const REMEMBERED: Duration = Duration::hours(24);
/// Limit of an instance's credentials.
const MAX_CREDENTIALS: usize = 1_000;

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// One set of temporary credentials.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    /// `ASIA` and 16 characters. Not a secret.
    pub access_key_id: String,
    /// Secret access key, 40 characters.
    pub secret_access_key: Secret,
    /// Session token.
    pub token: Secret,
    /// Time of issue.
    pub updated: OffsetDateTime,
    pub expires: OffsetDateTime,
    pub principal: Principal,
}

/// The owner of credentials.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Principal {
    /// The session of the instance's own role.
    #[default]
    Instance,
    /// A session of an assumed role.
    Assumed {
        /// The role's name, without its path.
        role: String,
        session: String,
    },
}

/// The credentials of an instance: those of its own role, and those of the roles that it assumed.
#[derive(Debug)]
pub(crate) struct CredentialStore {
    all: Vec<Credentials>,
    /// Access key id of the instance's current credentials.
    current: Option<String>,
    lifetime: Duration,
}

impl CredentialStore {
    /// An empty store. `lifetime` is that of the instance's own credentials.
    #[must_use]
    pub(crate) fn with_lifetime(lifetime: Duration) -> Self {
        Self {
            all: Vec::new(),
            current: None,
            lifetime,
        }
    }

    /// The instance's own credentials; new ones if the last are about to expire.
    pub(crate) fn current(&mut self, now: OffsetDateTime) -> &Credentials {
        let before = RENEWED_BEFORE.min(self.lifetime / 2);
        let index = self.own().filter(|index| {
            let last = &self.all[*index];
            now >= last.updated && now + before < last.expires
        });
        let index = index.unwrap_or_else(|| {
            let fresh = Credentials::issue(now, self.lifetime, Principal::Instance);
            self.current = Some(fresh.access_key_id.clone());
            self.keep(fresh, now)
        });
        &self.all[index]
    }

    /// Issues credentials that expired a minute ago.
    pub(crate) fn expired(&mut self, now: OffsetDateTime) -> &Credentials {
        let made = now - self.lifetime - Duration::minutes(1);
        let expired = Credentials::issue(made, self.lifetime, Principal::Instance);
        let index = self.keep(expired, now);
        &self.all[index]
    }

    /// Issues credentials of an assumed role.
    pub(crate) fn assume(
        &mut self,
        principal: Principal,
        lifetime: Duration,
        now: OffsetDateTime,
    ) -> &Credentials {
        let assumed = Credentials::issue(now, lifetime, principal);
        let index = self.keep(assumed, now);
        &self.all[index]
    }

    fn own(&self) -> Option<usize> {
        let id = self.current.as_deref()?;
        self.all
            .iter()
            .position(|credentials| credentials.access_key_id == id)
    }

    /// Stores credentials and drops old ones: a client may assume any number of roles.
    fn keep(&mut self, credentials: Credentials, now: OffsetDateTime) -> usize {
        let current = self.current.clone();
        let is_own = |old: &Credentials| current.as_deref() == Some(&old.access_key_id);
        self.all
            .retain(|old| is_own(old) || now < old.expires + REMEMBERED);
        if self.all.len() >= MAX_CREDENTIALS
            && let Some(oldest) = self.all.iter().position(|old| !is_own(old))
        {
            self.all.remove(oldest);
        }
        self.all.push(credentials);
        self.all.len() - 1
    }

    #[must_use]
    pub(crate) fn find(&self, access_key_id: &str) -> Option<&Credentials> {
        self.all
            .iter()
            .find(|credentials| credentials.access_key_id == access_key_id)
    }
}

impl Credentials {
    fn issue(now: OffsetDateTime, lifetime: Duration, principal: Principal) -> Self {
        // Every real session token starts with these bytes.
        let token = format!("IQoJb3JpZ2luX2Vj{}", BASE64_STANDARD.encode(random::<630>()));
        Self {
            access_key_id: format!("ASIA{}", base32::<16>(&random::<16>())),
            secret_access_key: Secret::new(BASE64_STANDARD.encode(random::<30>())),
            token: Secret::new(token),
            updated: now,
            expires: now + lifetime,
            principal,
        }
    }
}

/// The unique id of a role or an instance profile: a prefix and 17 characters, derived from the ARN.
#[must_use]
pub(crate) fn unique_id(prefix: &str, arn: &str) -> String {
    format!("{prefix}{}", base32::<17>(&Sha256::digest(arn)))
}

fn base32<const LENGTH: usize>(bytes: &[u8]) -> String {
    bytes
        .iter()
        .take(LENGTH)
        .map(|byte| char::from(BASE32[usize::from(byte % 32)]))
        .collect()
}

fn random<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

/// A random request id in AWS' format.
#[must_use]
pub(crate) fn request_id() -> String {
    let text = hex::encode(random::<16>());
    format!(
        "{}-{}-4{}-a{}-{}",
        &text[..8],
        &text[8..12],
        &text[13..16],
        &text[17..20],
        &text[20..]
    )
}

/// An instance's own key. It proves metadata tokens and registry passwords, so that the fake stores none of them: a
/// client may request millions.
pub(crate) struct InstanceKey([u8; 32]);

impl std::fmt::Debug for InstanceKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InstanceKey(..)")
    }
}

/// The kind of value that an instance's key proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A session token of the metadata service.
    MetadataToken,
    /// A password of the image registry.
    RegistryPassword,
}

impl InstanceKey {
    #[must_use]
    pub(crate) fn generate() -> Self {
        Self(random())
    }

    #[must_use]
    pub(crate) fn proof(&self, purpose: Purpose, bytes: &[u8]) -> [u8; 32] {
        let mut mac = self.mac(purpose);
        mac.update(bytes);
        mac.finalize().into_bytes().into()
    }

    fn mac(&self, purpose: Purpose) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(&[purpose as u8]);
        mac
    }

    /// A session token of the metadata service: like real ones, 56 characters that start with `AQAEA`.
    #[must_use]
    pub(crate) fn metadata_token(&self, expires: OffsetDateTime) -> String {
        let mut token = [0_u8; 40];
        token[..4].copy_from_slice(&[1, 0, 4, random::<1>()[0] & 3]);
        token[4..12].copy_from_slice(&expires.unix_timestamp().to_be_bytes());
        token[12..16].copy_from_slice(&random::<4>());
        let proof = self.proof(Purpose::MetadataToken, &token[..16]);
        token[16..].copy_from_slice(&proof[..24]);
        BASE64_URL_SAFE.encode(token)
    }

    /// Expiry of a token; `None` for a token of another origin.
    #[must_use]
    pub(crate) fn token_expiry(&self, token: &str) -> Option<OffsetDateTime> {
        let bytes: [u8; 40] = BASE64_URL_SAFE.decode(token).ok()?.try_into().ok()?;
        if self.proof(Purpose::MetadataToken, &bytes[..16])[..24] != bytes[16..] {
            return None;
        }
        OffsetDateTime::from_unix_timestamp(i64::from_be_bytes(bytes[4..12].try_into().ok()?)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noon() -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(1_778_155_200).unwrap()
    }

    const LIFETIME: Duration = Duration::hours(6);

    #[test]
    fn credentials_have_the_form_of_real_ones() {
        let credentials = Credentials::issue(noon(), LIFETIME, Principal::Instance);
        assert!(credentials.access_key_id.starts_with("ASIA") && credentials.access_key_id.len() == 20);
        assert_eq!(credentials.secret_access_key.reveal().len(), 40);
        assert!(credentials.token.reveal().starts_with("IQoJb3JpZ2luX2Vj"));
        assert!(!format!("{credentials:?}").contains(credentials.secret_access_key.reveal()));
    }

    #[test]
    fn credentials_are_renewed_before_expiry_and_stay_known() {
        let mut issued = CredentialStore::with_lifetime(LIFETIME);
        let first = issued.current(noon()).access_key_id.clone();
        assert_eq!(issued.current(noon() + Duration::hours(5)).access_key_id, first);
        assert_ne!(
            issued
                .current(noon() + LIFETIME - Duration::minutes(10))
                .access_key_id,
            first
        );
        assert!(issued.find(&first).is_some());
        // A lifetime below the margin does not cause a renewal at every request.
        let mut issued = CredentialStore::with_lifetime(Duration::minutes(10));
        let first = issued.current(noon()).access_key_id.clone();
        assert_eq!(issued.current(noon() + Duration::minutes(4)).access_key_id, first);
        assert_ne!(issued.current(noon() + Duration::minutes(6)).access_key_id, first);
    }

    #[test]
    fn the_number_of_credentials_is_limited() {
        let mut issued = CredentialStore::with_lifetime(LIFETIME);
        let own = issued.current(noon()).access_key_id.clone();
        for _ in 0..2 * MAX_CREDENTIALS {
            issued.assume(Principal::Instance, LIFETIME, noon());
        }
        assert_eq!(issued.all.len(), MAX_CREDENTIALS);
        assert_eq!(issued.current(noon()).access_key_id, own);
    }

    #[test]
    fn tokens_are_56_characters_and_bound_to_their_instance() {
        let (key, other) = (InstanceKey::generate(), InstanceKey::generate());
        let token = key.metadata_token(noon());
        assert_eq!((token.len(), &token[..5]), (56, "AQAEA"));
        assert!(token.ends_with("=="));
        assert_eq!(key.token_expiry(&token), Some(noon()));
        assert_eq!(other.token_expiry(&token), None);
        assert_eq!(key.token_expiry("fake"), None);
    }

    #[test]
    fn unique_ids_are_stable() {
        let id = unique_id("AROA", "arn:aws:iam::111122223333:role/demo");
        assert_eq!(id.len(), 21);
        assert_eq!(id, unique_id("AROA", "arn:aws:iam::111122223333:role/demo"));
        assert_eq!(request_id().len(), 36);
    }
}
