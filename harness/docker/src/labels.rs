//! The labels that stand on everything that is made, so that it is found again and its owner is known.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::owner::Owner;

/// The run that an object belongs to.
pub(crate) const RUN: &str = "nodejoin.run";
/// What the object is for.
pub(crate) const ROLE: &str = "nodejoin.role";
const PID: &str = "nodejoin.pid";
const PID_START: &str = "nodejoin.pid-start";
const PID_NAMESPACE: &str = "nodejoin.pid-namespace";
const BOOT: &str = "nodejoin.boot";
const EXPIRES: &str = "nodejoin.expires";
/// A folder of the machine that the object's owner ran on, which goes with the object.
pub(crate) const FOLDER: &str = "nodejoin.folder";

/// The image's name and tag.
pub(crate) const IMAGE: &str = "nodejoin.image";
/// The hash of everything the image is made of.
pub(crate) const RECIPE: &str = "nodejoin.recipe";
/// The version of the Kubernetes programs in the image.
pub(crate) const KUBERNETES: &str = "nodejoin.kubernetes";

/// How long an object may be there, whoever made it: nothing that runs longer is a test.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// The labels of an object of a run.
pub(crate) fn of(run: &str, role: &str, owner: &Owner, now: SystemTime) -> HashMap<String, String> {
    let expires = seconds(now) + LIFETIME.as_secs();
    [
        (RUN, run.to_owned()),
        (ROLE, role.to_owned()),
        (PID, owner.pid.to_string()),
        (PID_START, owner.started.to_string()),
        (PID_NAMESPACE, owner.namespace.clone()),
        (BOOT, owner.boot.clone()),
        (EXPIRES, expires.to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

/// Who made an object, read from its labels; nothing where they are not ours or not whole.
pub(crate) fn owner(labels: &HashMap<String, String>) -> Option<Owner> {
    labels.get(RUN)?;
    let number = |key: &str| labels.get(key)?.parse::<u64>().ok();
    Some(Owner {
        pid: u32::try_from(number(PID)?).ok()?,
        started: number(PID_START)?,
        namespace: labels.get(PID_NAMESPACE)?.clone(),
        boot: labels.get(BOOT)?.clone(),
    })
}

/// Whether the time of an object is over.
pub(crate) fn is_expired(labels: &HashMap<String, String>, now: SystemTime) -> bool {
    labels
        .get(EXPIRES)
        .and_then(|value| value.parse().ok())
        .is_some_and(|at: u64| at < seconds(now))
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_survives_the_way_through_labels() {
        let me = Owner::current();
        let now = SystemTime::now();
        let labels = of("abcdefgh", "node", &me, now);
        assert_eq!(owner(&labels), Some(me));
        assert!(!is_expired(&labels, now));
        assert!(is_expired(&labels, now + LIFETIME + Duration::from_secs(2)));
    }

    #[test]
    fn labels_that_are_not_whole_name_nobody() {
        let labels = HashMap::from([(RUN.to_owned(), "dev".to_owned())]);
        assert_eq!(owner(&labels), None);
        assert!(!is_expired(&labels, SystemTime::now()));
    }
}
