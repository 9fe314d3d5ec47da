//! Checks of certificate signing requests, and of the certificate on port 10250.

use super::{check, groups_without_authenticated, list, same};
use crate::judge::verdict::Check;
use crate::observation::{Certificate, Observation, ServingCertificate};
use crate::plan::expect::objects::CertificateExpect;

/// Whether port 10250 was already checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum JoinState {
    /// The port is checked later.
    Running,
    /// Everything is collected.
    Ended,
}

/// Each expected entry must match a different request; `[]` expects none.
pub(super) fn certificates(
    required: &[CertificateExpect],
    observation: &Observation,
    state: JoinState,
) -> Vec<Check> {
    let served = observation
        .collected
        .as_ref()
        .and_then(|collected| collected.served.as_ref());
    let seen = &observation.certificates;
    if required.is_empty() {
        let names = seen
            .iter()
            .map(|certificate| format!("{} ({})", certificate.name, certificate.signer));
        return vec![check("certificates", seen.is_empty(), "no request", list(names))];
    }
    let compare = |required, certificate| mismatches(required, certificate, served, state);
    let matching: Vec<Vec<usize>> = required
        .iter()
        .map(|required| {
            (0..seen.len())
                .filter(|index| compare(required, &seen[*index]).is_empty())
                .collect()
        })
        .collect();
    let owners = assign(&matching, seen.len());
    let mut checks = Vec::new();
    for (index, (required, owner)) in required.iter().zip(&owners).enumerate() {
        let key = format!("certificates[{index}]");
        if let Some(owner) = owner {
            checks.push(check(key, true, describe(required), seen[*owner].name.clone()));
            continue;
        }
        let free = (0..seen.len())
            .filter(|index| !owners.contains(&Some(*index)) && seen[*index].signer == required.signer);
        let nearest = free
            .map(|index| (compare(required, &seen[index]), index))
            .min_by_key(|(found, _)| found.len());
        match nearest {
            None => checks.push(check(
                key,
                false,
                describe(required),
                format!("no matching request ({} in total)", seen.len()),
            )),
            Some((found, _)) if found.is_empty() => {
                checks.push(check(
                    key,
                    false,
                    describe(required),
                    "the matching request belongs to another entry",
                ));
            }
            Some((found, owner)) => {
                checks.extend(found.into_iter().map(|m| m.check(&key, &seen[owner].name)));
            }
        }
    }
    checks
}

/// Assigns different requests to as many entries as possible (augmenting paths).
fn assign(matching: &[Vec<usize>], requests: usize) -> Vec<Option<usize>> {
    let mut owner_of: Vec<Option<usize>> = vec![None; requests];
    for entry in 0..matching.len() {
        augment(entry, matching, &mut owner_of, &mut vec![false; requests]);
    }
    let mut assigned = vec![None; matching.len()];
    for (request, owner) in owner_of.iter().enumerate() {
        if let Some(entry) = owner {
            assigned[*entry] = Some(request);
        }
    }
    assigned
}

fn augment(
    entry: usize,
    matching: &[Vec<usize>],
    owner_of: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    for &request in &matching[entry] {
        if std::mem::replace(&mut tried[request], true) {
            continue;
        }
        if owner_of[request].is_none_or(|owner| augment(owner, matching, owner_of, tried)) {
            owner_of[request] = Some(entry);
            return true;
        }
    }
    false
}

fn describe(required: &CertificateExpect) -> String {
    format!("a request for {}", required.signer)
}

struct Mismatch {
    field: &'static str,
    expected: String,
    seen: String,
}

impl Mismatch {
    fn check(self, key: &str, name: &str) -> Check {
        check(
            format!("{key}.{}", self.field),
            false,
            self.expected,
            format!("{} ({name})", self.seen),
        )
    }
}

fn mismatches(
    required: &CertificateExpect,
    seen: &Certificate,
    served: Option<&ServingCertificate>,
    state: JoinState,
) -> Vec<Mismatch> {
    let text = |field, required: &Option<String>, seen: Option<&str>| {
        let required = required.as_deref()?;
        (seen != Some(required)).then(|| Mismatch {
            field,
            expected: required.to_owned(),
            seen: seen.unwrap_or("nothing").to_owned(),
        })
    };
    let texts = |field, required: &Option<Vec<String>>, seen: &[String]| {
        let required = required.as_deref()?;
        (!same(required, seen)).then(|| Mismatch {
            field,
            expected: list(required),
            seen: list(seen),
        })
    };
    let flag = |field, required: Option<bool>, seen: bool| {
        let required = required?;
        (required != seen).then(|| Mismatch {
            field,
            expected: required.to_string(),
            seen: seen.to_string(),
        })
    };
    let signer = Some(required.signer.clone());
    [
        text("signer", &signer, Some(&seen.signer)),
        text("requestor", &required.requestor, Some(&seen.requestor)),
        texts(
            "groups",
            &required.groups.as_deref().map(groups_without_authenticated),
            &groups_without_authenticated(&seen.groups),
        ),
        text("common_name", &required.common_name, seen.common_name.as_deref()),
        texts("organizations", &required.organizations, &seen.organizations),
        texts("dns_names", &required.dns_names, &seen.dns_names),
        texts("ip_addresses", &required.ip_addresses, &seen.ip_addresses),
        texts("usages", &required.usages, &seen.usages),
        flag("approved", required.approved, seen.approved == Some(true)),
        text("decided_by", &required.decided_by, seen.decided_by.as_deref()),
        flag("issued", required.issued, seen.issued),
        served_mismatch(required.served, seen, served, state),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn served_mismatch(
    required: Option<bool>,
    seen: &Certificate,
    served: Option<&ServingCertificate>,
    state: JoinState,
) -> Option<Mismatch> {
    let required = required?;
    if state == JoinState::Running {
        // A certificate that is not issued cannot be served yet; the rest is checked at the end.
        return (required && !seen.issued).then(|| Mismatch {
            field: "served",
            expected: "true".to_owned(),
            seen: "not issued yet".to_owned(),
        });
    }
    let is_this = served.is_some_and(|served| {
        served.verified && served.fingerprint.is_some() && served.fingerprint == seen.fingerprint
    });
    let found = match served {
        None => "port 10250 was not checked".to_owned(),
        Some(ServingCertificate {
            error: Some(error), ..
        }) => error.clone(),
        Some(ServingCertificate {
            fingerprint: None, ..
        }) => "no handshake".to_owned(),
        Some(_) if is_this => "this certificate".to_owned(),
        Some(_) => "another certificate".to_owned(),
    };
    (required != is_this).then(|| Mismatch {
        field: "served",
        expected: required.to_string(),
        seen: found,
    })
}
