//! Whether access entries can be as EKS takes them.

use crate::input::problems::Problems;
use crate::plan::Plan;
use crate::plan::access_entry::{AccessEntryFile, AccessEntryType};
use crate::scenario::Scenario;

/// What user names of `STANDARD` entries may not begin with.
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
        problems.add(
            key,
            "it needs one of `role` and `principal_arn`",
            "and not the other",
            "",
        );
    }
    let account = format!(":iam::{}:", plan.account);
    let is_elsewhere = entry
        .principal_arn
        .as_ref()
        .is_some_and(|arn| !arn.contains(&account));
    if is_elsewhere && entry.entry_type != AccessEntryType::Standard {
        problems.add(
            &format!("{key}.principal_arn"),
            format!("nodes of {} are of another account", entry.entry_type.word()),
            "EKS takes a role of the cluster's own account only",
            format!("write it with `{account}`"),
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
                    format!("an entry of the type {word} has none of its own"),
                    "EKS sets user name and groups itself",
                    "leave it out, or use the type STANDARD",
                );
            }
        }
        return;
    }
    let username = entry.username.as_deref().unwrap_or_default();
    if let Some(prefix) = RESERVED.iter().find(|prefix| username.starts_with(**prefix)) {
        problems.add(
            &format!("{key}.username"),
            format!("`{username}` begins with `{prefix}`"),
            "EKS takes no such user name",
            "for nodes use the type EC2_LINUX, which sets it",
        );
    }
}
