//! What the files of a node accept and tell apart: arguments of scripts, and types of a table.

use nodejoin_core::compare::{
    ScriptArguments, ScriptInputs, compared_minors, type_named_twice, value_for, values_for,
};
use nodejoin_core::plan::Plan;
use nodejoin_script::Flag;

/// The most values of one flag, each in a world of its own.
const MOST_VALUES: usize = 4;

/// Arguments for each flag of each shell script that an overlay puts on the node: values that the script knows, or one
/// that fits the name of the flag.
pub(super) fn of(plan: &Plan) -> ScriptInputs {
    let mut inputs = ScriptInputs::default();
    let all = &mut inputs.arguments;
    let files: Vec<_> = plan.image.added().collect();
    for (index, file) in files.iter().enumerate() {
        if files[index + 1..].iter().any(|later| later.to == file.to) {
            continue;
        }
        let content = match &file.patched {
            Some(patched) => patched.content.clone(),
            None => match std::fs::read(&file.from).map(String::from_utf8) {
                Ok(Ok(content)) => content,
                _ => continue,
            },
        };
        let interpreter = content.lines().next().unwrap_or_default();
        if !interpreter.starts_with("#!") || !interpreter.contains("sh") {
            inputs.instance_types.extend(type_named_twice(&content));
            continue;
        }
        inputs.kubelet_minors.extend(compared_minors(&content));
        let flags = nodejoin_script::flags(&content);
        let flags: Vec<Flag> = flags.into_iter().filter(|flag| flag.name != "--help").collect();
        let combined = described_values(&flags);
        let alone = flags.iter().flat_map(arguments);
        all.extend(
            combined
                .into_iter()
                .chain(alone)
                .map(|arguments| ScriptArguments {
                    path: file.to.clone(),
                    arguments,
                }),
        );
    }
    inputs
}

/// What a script passes that need not call EKS: the authority and the endpoint of the cluster, then also its IP family
/// with the address or the CIDR that follows from it.
fn described_values(flags: &[Flag]) -> Vec<String> {
    let named = |word: &str| {
        flags
            .iter()
            .find(|flag| flag.has_value && flag.name.contains(word))
    };
    let with = |flag: &Flag, value: &str| format!("{} {value}", flag.name);
    let (Some(authority), Some(endpoint)) = (named("cluster-ca"), named("endpoint")) else {
        return Vec::new();
    };
    let both = [authority, endpoint].map(|flag| with(flag, value_for(&flag.name)));
    let mut all = vec![both.to_vec()];
    if let Some(family) = named("ip-family") {
        let of_family = |value: &str| [both.to_vec(), vec![with(family, value)]].concat();
        all.extend(["ipv4", "ipv6"].map(of_family));
        if let Some(dns) = named("dns") {
            all.extend(
                [("ipv4", "10.200.0.10"), ("ipv6", "fd30:1c53:5f8a::a")]
                    .map(|(value, address)| [of_family(value), vec![with(dns, address)]].concat()),
            );
        }
        if let Some(cidr) = named("ipv6-cidr") {
            all.push([of_family("ipv6"), vec![with(cidr, value_for(&cidr.name))]].concat());
        }
    }
    all.iter().map(|words| words.join(" ")).collect()
}

/// A flag with each of its values.
fn arguments(flag: &Flag) -> Vec<String> {
    if !flag.has_value {
        return vec![flag.name.clone()];
    }
    let guess = value_for(&flag.name);
    let is_switch = flag
        .values
        .iter()
        .all(|value| ["true", "false"].contains(&value.as_str()));
    let values: Vec<&str> = match (flag.is_list, is_switch) {
        (true, _) => return vec![format!("{} {guess},{guess}1", flag.name)],
        (false, true) => values_for(&flag.name),
        (false, false) => flag.values.iter().map(String::as_str).take(MOST_VALUES).collect(),
    };
    values
        .iter()
        .map(|value| format!("{} {value}", flag.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use nodejoin_core::scenario;

    use super::*;
    use crate::process;

    #[test]
    fn each_flag_of_a_shell_script_on_the_node_has_a_value() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(
            "join.sh",
            "#!/bin/bash\ncase $1 in --b64-cluster-ca) A=$2 ;; --apiserver-endpoint) B=$2 ;; --fast) C=1 ;; --help) ;; esac\n",
        );
        write(
            "join.py",
            "#!/usr/bin/python3\n# case x in --not-a-flag) ;; esac\n",
        );
        write(
            "overlay.yaml",
            "files: [{ from: join.sh, to: /opt/join.sh }, { from: join.py, to: /opt/join.py }]\n",
        );
        write(
            "a.yaml",
            "name: x\noverlay: overlay.yaml\nuser_data: '#!/bin/sh'\n",
        );
        let disk = process::disk();
        let found = scenario::discover(&[folder.path().join("a.yaml")], &disk).unwrap();
        let plan = scenario::load_all(&found, &disk).unwrap().remove(0);
        let found = of(&plan).arguments.into_iter().map(|one| one.arguments);
        let found: Vec<String> = found.collect();
        let (authority, endpoint) = (
            "--b64-cluster-ca {{ cluster.certificate_authority }}",
            "--apiserver-endpoint {{ cluster.endpoint }}",
        );
        assert_eq!(
            found,
            [&format!("{authority} {endpoint}"), authority, endpoint, "--fast"]
        );
    }

    #[test]
    fn a_flag_has_a_world_for_each_value_that_its_script_knows() {
        let script = "#!/bin/bash\necho '--dns-cluster-ip Addresses, comma-separated'\n\
            case $1 in --disks) DISKS=$2 ;; --dns-cluster-ip) DNS=$2 ;; --use-max-pods) MAX=$2 ;; esac\n\
            case $DISKS in raid0 | mount) : ;; esac\n[ \"$MAX\" = true ]\n";
        let found = nodejoin_script::flags(script);
        let found: Vec<String> = found.iter().flat_map(arguments).collect();
        assert_eq!(
            found,
            [
                "--disks raid0",
                "--disks mount",
                "--dns-cluster-ip 10.200.0.10,10.200.0.101",
                "--use-max-pods false"
            ]
        );
    }

    #[test]
    fn what_eks_describes_is_passed_together() {
        let script = "#!/bin/bash\ncase $1 in --b64-cluster-ca) A=$2 ;; --apiserver-endpoint) B=$2 ;; --ip-family) C=$2 ;; \
            --dns-cluster-ip) D=$2 ;; --service-ipv6-cidr) E=$2 ;; esac\n";
        let found = described_values(&nodejoin_script::flags(script));
        let both = "--b64-cluster-ca {{ cluster.certificate_authority }} --apiserver-endpoint {{ cluster.endpoint }}";
        let more = [
            "",
            " --ip-family ipv4",
            " --ip-family ipv6",
            " --ip-family ipv4 --dns-cluster-ip 10.200.0.10",
            " --ip-family ipv6 --dns-cluster-ip fd30:1c53:5f8a::a",
            " --ip-family ipv6 --service-ipv6-cidr fd30:1c53:5f8a::/108",
        ];
        assert_eq!(found, more.map(|more| format!("{both}{more}")));
    }
}
