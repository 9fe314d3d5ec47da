//! Whether network, instance and cluster have the form that AWS gives them.

use crate::input::problem::nearest;
use crate::input::problems::Problems;
use crate::input::yaml::Step;
use crate::plan::cidr::Cidr;
use crate::plan::{CLUSTER_STATUSES, Plan};
use crate::scenario::Scenario;
use crate::scenario::file::{AwsAuthFile, RoleMappingFile};

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
        let what = format!("{} is not in the subnet {subnet}", instance.private_ip);
        problems.add(
            "instance.private_ip",
            what,
            "",
            "take an address of the subnet, or leave one of the two out",
        );
    } else if subnet.is_reserved(instance.private_ip) {
        let why = "AWS keeps the first four addresses of a subnet and its last for itself";
        problems.add(
            "instance.private_ip",
            format!("{} cannot be an instance's", instance.private_ip),
            why,
            "",
        );
    }
    if !vpc.iter().any(|cidr| cidr.covers(&subnet)) {
        let what = format!(
            "the subnet {subnet} is not in the VPC {}",
            instance.vpc_cidrs.join(", ")
        );
        problems.add(
            "instance.subnet_cidr",
            what,
            "",
            "let one of `instance.vpc_cidrs` cover it",
        );
    }
}

pub(super) fn instance(plan: &Plan, problems: &mut Problems<'_>) {
    let instance = &plan.instance;
    if !is_mac(&instance.mac) {
        problems.add(
            "instance.mac",
            format!("`{}` is not a MAC address", instance.mac),
            "",
            "write it like `0a:1b:2c:3d:4e:5f`",
        );
    }
    if !instance.availability_zone.starts_with(plan.region.as_str()) {
        let what = format!("`{}` is no zone of {}", instance.availability_zone, plan.region);
        problems.add(
            "instance.availability_zone",
            what,
            "",
            format!("zones are called like `{}a`", plan.region),
        );
    }
    for (key, name) in [
        ("private_dns_name", &instance.private_dns_name),
        ("host_name", &instance.host_name),
    ] {
        if !is_host_name(name) {
            problems.add(
                &format!("instance.{key}"),
                format!("`{name}` is not a host name"),
                "",
                "use lower-case letters, digits, `-` and `.`",
            );
        }
    }
    let slashed = instance.tags.keys().find(|key| key.contains(['/', ' ']));
    if let (true, Some(tag)) = (instance.metadata.instance_tags, slashed) {
        let path = [Step::Key("instance"), Step::Key("tags"), Step::Key(tag)];
        let why = "EC2 takes no key with `/` or a blank while tags are on in the metadata";
        problems.add_at(
            &path,
            format!("the tag `{tag}` cannot be"),
            why,
            "turn `instance.metadata.instance_tags` off, or rename the tag",
        );
    }
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
        let why = "EKS takes letters, digits, `-` and `_`, a letter or digit first, at most 100";
        problems.add(
            "cluster.name",
            format!("`{}` is not a cluster's name", cluster.name),
            why,
            "",
        );
    }
    if cluster
        .service_ipv4_cidr
        .as_deref()
        .is_some_and(|cidr| cidr.parse::<Cidr>().is_err())
    {
        problems.add(
            "cluster.service_ipv4_cidr",
            "it is not an IPv4 network",
            "",
            "write it like `10.100.0.0/16`, or `null`",
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
        if !CLUSTER_STATUSES.contains(&step.status.as_str()) {
            let hint =
                nearest(&step.status, CLUSTER_STATUSES).map(|right| format!("did you mean `{right}`?"));
            let hint = hint.unwrap_or_else(|| format!("one of {}", CLUSTER_STATUSES.join(", ")));
            problems.add(
                &key,
                format!("`{}` is not a status of EKS", step.status),
                "",
                hint,
            );
        }
        match step.until_seconds {
            None if !is_last => problems.add(
                &key,
                "this status never ends",
                "other steps stand after it",
                "give it `until_seconds`",
            ),
            Some(_) if is_last => problems.add(
                &key,
                "the last status cannot end",
                "no step stands after it",
                "leave its `until_seconds` out",
            ),
            Some(until) if until <= begun => problems.add(
                &key,
                "this status ends before it begins",
                "",
                "let `until_seconds` grow from step to step",
            ),
            Some(until) => begun = until,
            None => {}
        }
    }
    if cluster.status.is_empty() {
        problems.add(
            "cluster.status",
            "there is no status",
            "",
            "write one such as `ACTIVE`",
        );
    }
    let rows = scenario.cluster.aws_auth.as_ref().map(AwsAuthFile::rows);
    for (index, row) in rows.unwrap_or_default().iter().enumerate() {
        mapping(index, row, plan, problems);
    }
}

fn mapping(index: usize, row: &RoleMappingFile, plan: &Plan, problems: &mut Problems<'_>) {
    let key = format!("cluster.aws_auth[{index}]");
    if row.role.is_some() == row.rolearn.is_some() {
        problems.add(
            &key,
            "it needs one of `role` and `rolearn`",
            "and not the other",
            "",
        );
    }
    let limit = plan.limits.join_seconds;
    if row
        .after_seconds
        .is_some_and(|after| !(0.0..limit).contains(&after))
    {
        problems.add(
            &format!("{key}.after_seconds"),
            "the row never comes",
            format!("the join ends after {limit} s"),
            "give it less than `limits.join_seconds`, or leave the row out",
        );
    }
}

fn is_cluster_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    name.len() <= 100 && name.bytes().all(is_word) && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}
