//! Disks that user data names and the instance does not have.

use super::facts::Facts;
use crate::plan::disks::{DiskKind, InstanceDisk};
use crate::plan::{Plan, VolumePlan};

/// What to do about a message that names such a disk.
pub(super) fn remedy(facts: &Facts<'_>, message: &str) -> Option<String> {
    let disks = facts.plan.instance.disks(0);
    if names_store(message) && disks.iter().all(|disk| disk.kind != DiskKind::Store) {
        return Some(without_store(facts.plan));
    }
    let is_known = |name: &str| {
        let mapped = |device: &str| device.trim_start_matches("/dev/") == name;
        let is_disk = |disk: &InstanceDisk| {
            name.starts_with(disk.name.as_str()) || disk.mapped.as_deref().is_some_and(mapped)
        };
        disks.iter().any(is_disk)
    };
    let is_word = |c: char| !(c.is_ascii_alphanumeric() || "/-_".contains(c));
    let mut names = message
        .split(is_word)
        .filter_map(|word| word.strip_prefix("/dev/"));
    let missing = names.find(|name| is_disk_name(name) && !is_known(name))?;
    let device = match missing.starts_with("nvme") {
        true => "/dev/sdb".to_owned(),
        false => format!("/dev/{missing}"),
    };
    let key = format!("instance: {{ volumes: [{{ device: {device}, gib: 100 }}] }}");
    let how = match facts.plan.is_trial {
        true => format!("`--with '{key}'`"),
        false => format!("`{key}`"),
    };
    Some(format!(
        "the instance has no /dev/{missing}: state the volume of your launch template with {how}, or an instance type with an \
         instance store"
    ))
}

/// Whether a message is about the instance store as a whole, such as the model that its disks have.
fn names_store(message: &str) -> bool {
    let message = message.to_lowercase();
    [
        "instance storage",
        "instance store",
        "instance-store",
        "ephemeral disk",
    ]
    .iter()
    .any(|words| message.contains(words))
}

fn without_store(plan: &Plan) -> String {
    let kind = &plan.instance.instance_type;
    let key = "instance: { type: m5d.large }";
    let how = plan.key_hint(key);
    format!(
        "the instance type {kind} has no instance store: state the type of your node group; for one with a disk, {how}"
    )
}

/// Such as `nvme1n1`, `xvdb` or `sdb`.
fn is_disk_name(name: &str) -> bool {
    let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    // The root volume has another name here, which a script cannot know.
    let is_volume = VolumePlan::letters(name).is_some_and(|letters| letters != "a");
    name.strip_prefix("nvme").is_some_and(digit) || is_volume
}
