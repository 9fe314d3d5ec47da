//! Checks of certificate signing requests, and of the certificate on port 10250.

use super::{check, list, same};
use crate::judge::verdict::Check;
use crate::observation::{Certificate, Observation, ServingCertificate};
use crate::plan::expect::CertificateExpect;

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
    wanted: &[CertificateExpect],
    observation: &Observation,
    state: JoinState,
) -> Vec<Check> {
    let served = observation
        .collected
        .as_ref()
        .and_then(|collected| collected.served.as_ref());
    let seen = &observation.certificates;
    if wanted.is_empty() {
        let names = seen
            .iter()
            .map(|certificate| format!("{} ({})", certificate.name, certificate.signer));
        return vec![check("certificates", seen.is_empty(), "no request", list(names))];
    }
    let compare = |wanted, certificate| mismatches(wanted, certificate, served, state);
    let matching: Vec<Vec<usize>> = wanted
        .iter()
        .map(|wanted| {
            (0..seen.len())
                .filter(|index| compare(wanted, &seen[*index]).is_empty())
                .collect()
        })
        .collect();
    let owners = assign(&matching, seen.len());
    let mut checks = Vec::new();
    for (index, (wanted, owner)) in wanted.iter().zip(&owners).enumerate() {
        let key = format!("certificates[{index}]");
        if let Some(owner) = owner {
            checks.push(check(key, true, describe(wanted), seen[*owner].name.clone()));
            continue;
        }
        let free = (0..seen.len())
            .filter(|index| !owners.contains(&Some(*index)) && seen[*index].signer == wanted.signer);
        let nearest = free
            .map(|index| (compare(wanted, &seen[index]), index))
            .min_by_key(|(found, _)| found.len());
        match nearest {
            None => checks.push(check(
                key,
                false,
                describe(wanted),
                format!("no matching request ({} in total)", seen.len()),
            )),
            Some((found, _)) if found.is_empty() => {
                checks.push(check(
                    key,
                    false,
                    describe(wanted),
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

fn describe(wanted: &CertificateExpect) -> String {
    format!("a request for {}", wanted.signer)
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
    wanted: &CertificateExpect,
    seen: &Certificate,
    served: Option<&ServingCertificate>,
    state: JoinState,
) -> Vec<Mismatch> {
    let text = |field, wanted: &Option<String>, seen: Option<&str>| {
        let wanted = wanted.as_deref()?;
        (seen != Some(wanted)).then(|| Mismatch {
            field,
            expected: wanted.to_owned(),
            seen: seen.unwrap_or("nothing").to_owned(),
        })
    };
    let texts = |field, wanted: &Option<Vec<String>>, seen: &[String]| {
        let wanted = wanted.as_deref()?;
        (!same(wanted, seen)).then(|| Mismatch {
            field,
            expected: list(wanted),
            seen: list(seen),
        })
    };
    let flag = |field, wanted: Option<bool>, seen: bool| {
        let wanted = wanted?;
        (wanted != seen).then(|| Mismatch {
            field,
            expected: wanted.to_string(),
            seen: seen.to_string(),
        })
    };
    let signer = Some(wanted.signer.clone());
    [
        text("signer", &signer, Some(&seen.signer)),
        text("requestor", &wanted.requestor, Some(&seen.requestor)),
        text("common_name", &wanted.common_name, seen.common_name.as_deref()),
        texts("organizations", &wanted.organizations, &seen.organizations),
        texts("dns_names", &wanted.dns_names, &seen.dns_names),
        texts("ip_addresses", &wanted.ip_addresses, &seen.ip_addresses),
        texts("usages", &wanted.usages, &seen.usages),
        flag("approved", wanted.approved, seen.approved == Some(true)),
        text("decided_by", &wanted.decided_by, seen.decided_by.as_deref()),
        flag("issued", wanted.issued, seen.issued),
        served_mismatch(wanted.served, seen, served, state),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn served_mismatch(
    wanted: Option<bool>,
    seen: &Certificate,
    served: Option<&ServingCertificate>,
    state: JoinState,
) -> Option<Mismatch> {
    let wanted = wanted?;
    if state == JoinState::Running {
        // A certificate that is not issued cannot be served yet; the rest is checked at the end.
        return (wanted && !seen.issued).then(|| Mismatch {
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
    (wanted != is_this).then(|| Mismatch {
        field: "served",
        expected: wanted.to_string(),
        seen: found,
    })
}
