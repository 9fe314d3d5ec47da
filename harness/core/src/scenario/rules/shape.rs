//! Rules of AWS for network, instance and cluster.

use super::names;
use crate::input::problems::Problems;
use crate::input::yaml::PathStep;
use crate::plan::instance_type::TypeData;
use crate::plan::step::Action;
use crate::plan::{InstancePlan, Plan, VolumePlan};
use crate::scenario::Scenario;
use crate::scenario::cluster_file::{AwsAuthFile, RoleMappingFile};
use crate::vocabulary::cidr::Cidr;
use crate::vocabulary::ec2_type::{EC2_TYPES, ec2_type};
use crate::vocabulary::nearest::nearest;

pub(super) fn network(plan: &Plan, problems: &mut Problems<'_>) {
    let instance = &plan.instance;
    let Ok(subnet) = instance.subnet_cidr.parse::<Cidr>() else {
        return;
    };
    let vpc: Vec<Cidr> = instance
        .vpc_cidrs
        .iter()
        .filter_map(|cidr| cidr.parse().ok())
        .collect();
    if !subnet.contains(instance.private_ip) {
        let what = format!("{} is outside of the subnet {subnet}", instance.private_ip);
        problems.add(
            "instance.private_ip",
            what,
            "",
            "use an address of the subnet, or remove one of the two keys",
        );
    } else if subnet.is_reserved(instance.private_ip) {
        let why = "AWS reserves the first four addresses and the last address of a subnet";
        problems.add(
            "instance.private_ip",
            format!("{} is reserved", instance.private_ip),
            why,
            "",
        );
    }
    if !vpc.iter().any(|cidr| cidr.covers(&subnet)) {
        let what = format!(
            "the subnet {subnet} is outside of the VPC {}",
            instance.vpc_cidrs.join(", ")
        );
        problems.add(
            "instance.subnet_cidr",
            what,
            "",
            "add a network that contains it to `instance.vpc_cidrs`",
        );
    }
}

pub(super) fn instance(plan: &Plan, problems: &mut Problems<'_>) {
    let instance = &plan.instance;
    if !is_mac(&instance.mac) {
        problems.add(
            "instance.mac",
            format!("invalid MAC address `{}`", instance.mac),
            "",
            "for example `0a:1b:2c:3d:4e:5f`",
        );
    }
    instance_type(instance, problems);
    volumes(instance, problems);
    if !instance.availability_zone.starts_with(plan.region.as_str()) {
        let what = format!(
            "unknown availability zone `{}` in {}",
            instance.availability_zone, plan.region
        );
        problems.add(
            "instance.availability_zone",
            what,
            "",
            format!("for example `{}a`", plan.region),
        );
    }
    for (key, name) in [
        ("private_dns_name", &instance.private_dns_name),
        ("host_name", &instance.host_name),
    ] {
        if !is_host_name(name) {
            problems.add(
                &format!("instance.{key}"),
                format!("invalid host name `{name}`"),
                "",
                "use lower-case letters, digits, `-` and `.`",
            );
        }
    }
    let slashed = instance.tags.keys().find(|key| key.contains(['/', ' ']));
    if let (true, Some(tag)) = (instance.metadata.instance_tags, slashed) {
        let path = [
            PathStep::Key("instance"),
            PathStep::Key("tags"),
            PathStep::Key(tag),
        ];
        let why = "EC2 rejects tag keys with `/` or a blank if the metadata service returns tags";
        problems.add_at(
            &path,
            format!("invalid tag key `{tag}`"),
            why,
            "turn off tags in the metadata (`InstanceMetadataTags` of a launch template, `instance.metadata.instance_tags` of a \
             scenario), or rename the tag",
        );
    }
}

/// The largest size of an EBS volume.
const MOST_GIB: u32 = 65_536;

fn volumes(instance: &InstancePlan, problems: &mut Problems<'_>) {
    for (index, volume) in instance.volumes.iter().enumerate() {
        let device = volume.device.as_str();
        let letters = VolumePlan::letters(device);
        let mut earlier = instance.volumes[..index].iter();
        let is_taken = earlier.any(|other| VolumePlan::letters(&other.device) == letters);
        let (key, what) = match () {
            () if letters == Some("a") => ("device", format!("`{device}` is the root volume")),
            () if letters.is_none() => ("device", format!("invalid device name `{device}`")),
            () if is_taken => ("device", format!("two volumes are `{device}`")),
            () if volume.gib == 0 || volume.gib > MOST_GIB => (
                "gib",
                format!("a volume has 1 to {MOST_GIB} GiB, not {}", volume.gib),
            ),
            () => continue,
        };
        let path = [
            PathStep::Key("instance"),
            PathStep::Key("volumes"),
            PathStep::Index(index),
            PathStep::Key(key),
        ];
        problems.add_at(&path, what, "", "for example `{ device: /dev/sdb, gib: 100 }`");
    }
}

fn instance_type(instance: &InstancePlan, problems: &mut Problems<'_>) {
    let (name, like) = (&instance.instance_type, instance.type_like.as_ref());
    let is_known = ec2_type(name).is_some();
    for (key, is_given) in [
        ("instance.type_like", like.is_some()),
        ("instance.type_data", instance.type_data.is_some()),
    ] {
        if is_known && is_given {
            let what = format!("the key has no effect: `{name}` is a known instance type");
            problems.add(key, what, "", "remove it");
        }
    }
    match (is_known, like, &instance.type_data) {
        (false, None, None) => {
            let newer =
                "For a newer type, set `type_like` to a known one with the same figures, or `type_data`";
            unknown_type("instance.type", name, newer, problems);
        }
        (false, Some(_), Some(_)) => {
            let what = "set one of `type_like` and `type_data`";
            problems.add("instance.type_data", what, "", "remove one of them");
        }
        (false, Some(like), None) if ec2_type(like).is_none() => {
            unknown_type(
                "instance.type_like",
                like,
                "Use a known one, such as `m5.large`",
                problems,
            );
        }
        (false, None, Some(data)) => type_data(data, problems),
        (true, _, _) | (false, Some(_), None) => {}
    }
}

fn type_data(data: &TypeData, problems: &mut Problems<'_>) {
    if data.network_cards.get(data.default_network_card).is_none() {
        let why = format!("the primary interface is on card {}", data.default_network_card);
        let hint = "for example `network_cards: [4]`";
        problems.add(
            "instance.type_data.network_cards",
            "a network card is missing",
            why,
            hint,
        );
    }
    for (index, architecture) in data.architectures.iter().enumerate() {
        const KNOWN: [&str; 4] = ["i386", "x86_64", "arm64", "x86_64_mac"];
        if !KNOWN.contains(&architecture.as_str()) {
            problems.add(
                &format!("instance.type_data.architectures[{index}]"),
                format!("unknown architecture `{architecture}`"),
                "",
                names::meant(architecture, KNOWN, "architectures"),
            );
        }
    }
}

fn unknown_type(key: &str, name: &str, otherwise: &str, problems: &mut Problems<'_>) {
    let nearest = nearest(name, EC2_TYPES.iter().map(|known| known.name.as_str()));
    let hint = nearest.map_or_else(
        || otherwise.to_owned(),
        |right| format!("did you mean `{right}`? {otherwise}"),
    );
    let why = "DescribeInstanceTypes has no such type";
    problems.add(key, format!("unknown instance type `{name}`"), why, hint);
}

pub(super) fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == 6
        && parts
            .iter()
            .all(|part| part.len() == 2 && u8::from_str_radix(part, 16).is_ok())
}

fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(is_word)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

pub(super) fn cluster(scenario: &Scenario, plan: &Plan, problems: &mut Problems<'_>) {
    let cluster = &plan.cluster;
    if !is_cluster_name(&cluster.name) {
        let why = "EKS allows up to 100 letters, digits, `-` and `_`, starting with a letter or digit";
        problems.add(
            "cluster.name",
            format!("invalid cluster name `{}`", cluster.name),
            why,
            "",
        );
    }
    let mut begun = 0.0;
    for (index, step) in cluster.status.iter().enumerate() {
        let is_last = index + 1 == cluster.status.len();
        let key = if cluster.status.len() == 1 && step.until_seconds.is_none() {
            "cluster.status".to_owned()
        } else {
            format!("cluster.status[{index}]")
        };
        match step.until_seconds {
            None if !is_last => problems.add(
                &key,
                "`until_seconds` is missing",
                "only the last status has no end",
                "add `until_seconds`",
            ),
            Some(_) if is_last => problems.add(
                &key,
                "the last status cannot end",
                "",
                "remove its `until_seconds`",
            ),
            Some(until) if until <= begun => problems.add(
                &key,
                "this status ends before it starts",
                "",
                "increase `until_seconds` from step to step",
            ),
            Some(until) => begun = until,
            None => {}
        }
    }
    if cluster.status.is_empty() {
        problems.add(
            "cluster.status",
            "the list is empty",
            "",
            "add a status such as `ACTIVE`",
        );
    }
    approvals(plan, problems);
    let rows = scenario.cluster.aws_auth.as_ref().map(AwsAuthFile::rows);
    for (index, row) in rows.unwrap_or_default().iter().enumerate() {
        mapping(index, row, plan, problems);
    }
}

fn mapping(index: usize, row: &RoleMappingFile, plan: &Plan, problems: &mut Problems<'_>) {
    let key = format!("cluster.aws_auth[{index}]");
    if row.role.is_some() == row.rolearn.is_some() {
        problems.add(&key, "set exactly one of `role` and `rolearn`", "", "");
    }
    let timeout = plan.limits.join_seconds;
    if row
        .after_seconds
        .is_some_and(|after| !(0.0..timeout).contains(&after))
    {
        problems.add(
            &format!("{key}.after_seconds"),
            "the row is never added",
            format!("the join times out after {timeout} s"),
            "use less than `limits.join_seconds`, or remove the row",
        );
    }
}

/// Checks that a late approval begins during the join, and that no other instance would need it again.
fn approvals(plan: &Plan, problems: &mut Problems<'_>) {
    let timeout = plan.limits.join_seconds;
    let is_replaced = plan
        .then
        .iter()
        .any(|step| step.action == Action::ReplaceInstance);
    for (key, approval) in [
        ("cluster.approve_serving", plan.cluster.approve_serving),
        ("cluster.approve_clients", plan.cluster.approve_clients),
    ] {
        let Some(after) = approval.after_seconds() else {
            continue;
        };
        if !(0.0..timeout).contains(&after) {
            problems.add(
                &format!("{key}.after_seconds"),
                "requests are never approved",
                format!("the join times out after {timeout} s"),
                "use less than `limits.join_seconds`, or `false`",
            );
        }
        if is_replaced {
            let why = "the approval begins during the first join, and is for its instance";
            problems.add(
                key,
                "`replace-instance` needs an approval from the start",
                why,
                "",
            );
        }
    }
}

fn is_cluster_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    name.len() <= 100 && name.bytes().all(is_word) && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}
