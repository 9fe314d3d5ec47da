//! Labels that mark every object, so that the objects of a run and their owner can be found.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::owner::Owner;

/// Id of the run that the object belongs to.
pub(crate) const RUN: &str = "nodejoin.run";
/// Purpose of the object.
pub(crate) const ROLE: &str = "nodejoin.role";
const PID: &str = "nodejoin.pid";
const PID_START: &str = "nodejoin.pid-start";
const PID_NAMESPACE: &str = "nodejoin.pid-namespace";
const BOOT: &str = "nodejoin.boot";
const EXPIRES: &str = "nodejoin.expires";
/// A folder on the owner's machine that is removed together with the object.
pub(crate) const FOLDER: &str = "nodejoin.folder";

/// Name of the image without tag.
pub(crate) const IMAGE: &str = "nodejoin.image";
/// Hash of everything the image is built from.
pub(crate) const RECIPE: &str = "nodejoin.recipe";
/// Name or path that an imported image was made of.
pub(crate) const SOURCE: &str = "nodejoin.source";
/// Id or fingerprint of the source when it was imported.
pub(crate) const STATE: &str = "nodejoin.state";
/// What an imported image has, as JSON.
pub(crate) const FACTS: &str = "nodejoin.facts";
/// Name of the image of which a volume has a folder.
pub(crate) const FOLDER_OF: &str = "nodejoin.folder-of";
/// Version of the Kubernetes programs in the image.
pub(crate) const KUBERNETES: &str = "nodejoin.kubernetes";

/// Maximum age of an object, for any owner: no test takes longer. Not multiplied by the time factor, because a sweep
/// on another machine must compute the same age.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// Labels for an object of a run.
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

/// The process that created an object, read from its labels; `None` if they are missing or incomplete.
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

/// Whether an object is older than the maximum age.
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
    fn an_owner_is_read_back_from_its_labels() {
        let me = Owner::current();
        let now = SystemTime::now();
        let labels = of("abcdefgh", "node", &me, now);
        assert_eq!(owner(&labels), Some(me));
        assert!(!is_expired(&labels, now));
        assert!(is_expired(&labels, now + LIFETIME + Duration::from_secs(2)));
    }

    #[test]
    fn incomplete_labels_have_no_owner() {
        let labels = HashMap::from([(RUN.to_owned(), "dev".to_owned())]);
        assert_eq!(owner(&labels), None);
        assert!(!is_expired(&labels, SystemTime::now()));
    }
}
