//! Rules of EKS for access entries.

use crate::input::problems::Problems;
use crate::plan::Plan;
use crate::plan::access_entry::{AccessEntryFile, AccessEntryType};
use crate::scenario::Scenario;

/// Prefixes that EKS reserves in the user names of `STANDARD` entries.
const RESERVED: [&str; 5] = ["system:", "eks:", "aws:", "amazon:", "iam:"];

pub(super) fn entries(scenario: &Scenario, plan: &Plan, problems: &mut Problems<'_>) {
    for (index, entry) in scenario.cluster.access_entries.iter().enumerate() {
        let key = format!("cluster.access_entries[{index}]");
        principal(&key, entry, plan, problems);
        user(&key, entry, problems);
    }
}

fn principal(key: &str, entry: &AccessEntryFile, plan: &Plan, problems: &mut Problems<'_>) {
    if entry.role.is_some() == entry.principal_arn.is_some() {
        problems.add(key, "set exactly one of `role` and `principal_arn`", "", "");
    }
    let account = format!(":iam::{}:", plan.account);
    let is_elsewhere = entry
        .principal_arn
        .as_ref()
        .is_some_and(|arn| !arn.contains(&account));
    if is_elsewhere && entry.entry_type != AccessEntryType::Standard {
        problems.add(
            &format!("{key}.principal_arn"),
            format!(
                "the principal of an entry of type {} belongs to another account",
                entry.entry_type.word()
            ),
            "EKS accepts only roles of the cluster's account",
            format!("use an ARN with `{account}`"),
        );
    }
}

fn user(key: &str, entry: &AccessEntryFile, problems: &mut Problems<'_>) {
    let word = entry.entry_type.word();
    if entry.entry_type != AccessEntryType::Standard {
        for (name, is_given) in [
            ("username", entry.username.is_some()),
            ("groups", !entry.groups.is_empty()),
        ] {
            if is_given {
                problems.add(
                    &format!("{key}.{name}"),
                    format!("an entry of type {word} does not support `{name}`"),
                    "EKS assigns user name and groups",
                    "remove it, or use the type STANDARD",
                );
            }
        }
        return;
    }
    let username = entry.username.as_deref().unwrap_or_default();
    if let Some(prefix) = RESERVED.iter().find(|prefix| username.starts_with(**prefix)) {
        problems.add(
            &format!("{key}.username"),
            format!("user name `{username}` starts with `{prefix}`"),
            "EKS reserves the prefix",
            "use the type EC2_LINUX for nodes",
        );
    }
}
