//! Disks that user data names, and that the instance type of a trial does not have if no file states one.

use nodejoin_core::plan::VolumePlan;
use nodejoin_core::plan::instance_type::DEFAULT_INSTANCE_TYPE;

use super::stated::Stated;
use crate::eks::is_bottlerocket;
use crate::machine::Machine;
use crate::source_lines::SourceLines;

/// A flag of the last bootstrap script for Amazon Linux 2, and the strategies of it and of NodeConfigs.
const LOCAL_DISKS: &str = "--local-disks";
const STRATEGIES: [&str; 3] = ["raid0", "raid10", "mount"];
/// Words of scripts that look for the disks of the instance store: their model, and the program of the AMIs.
const OF_THE_STORE: [&str; 3] = ["Instance Storage", "Instance_Storage", "setup-local-disks"];

/// The option for a type with an instance store.
const TYPE: &str = "`--with 'instance: { type: m5d.large }'`";

/// A sentence about the first of them.
pub(super) fn note(machine: &Machine, stated: &Stated, lines: &SourceLines<'_>) -> Option<String> {
    let traits = &machine.traits;
    if traits.instance_type.is_some() || is_bottlerocket(machine) {
        return None;
    }
    let stand_in = format!("{DEFAULT_INSTANCE_TYPE}, the type of the trial as the file states none,");
    if let Some(user) = user_of_store(stated, lines) {
        return Some(format!(
            "{user} uses the instance store, and {stand_in} has none: {TYPE} for a type with one"
        ));
    }
    let (device, number) = devices(&stated.text).next()?;
    if !traits.volumes.is_empty() {
        return None;
    }
    let volume = match device.starts_with("/dev/nvme") {
        true => "/dev/sdb",
        false => device,
    };
    let at = place(stated, number, lines);
    Some(format!(
        "the user data names {device}{at}, and {stand_in} has no disk besides the root volume: `--with 'instance: {{ volumes: [{{ device: \
         {volume}, gib: 100 }}] }}'` for a volume, {TYPE} for an instance store"
    ))
}

/// What uses the instance store.
fn user_of_store(stated: &Stated, lines: &SourceLines<'_>) -> Option<String> {
    let is_strategy = |strategy: &str| {
        let mut known = STRATEGIES.iter();
        known.any(|known| known.eq_ignore_ascii_case(strategy))
    };
    if let Some(strategy) = stated.configs.local_storage().filter(|one| is_strategy(one)) {
        return Some(format!("`strategy: {strategy}` of the NodeConfig"));
    }
    let mut of_calls = stated
        .calls
        .iter()
        .filter_map(|call| call.values.get(LOCAL_DISKS));
    if let Some(strategy) = of_calls.find(|strategy| is_strategy(strategy.as_str())) {
        return Some(format!("`{LOCAL_DISKS} {strategy}` of the call of bootstrap.sh"));
    }
    let mut code = code(&stated.text);
    let names_store = |line: &str| OF_THE_STORE.iter().any(|word| line.contains(word));
    let (number, _) = code.find(|(_, line)| names_store(line))?;
    Some(format!("the user data{}", place(stated, number, lines)))
}

/// The lines of a text that are not comments, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines());
    lines.filter(|(_, line)| !line.trim_start().starts_with('#'))
}

/// The names of disks besides the root volume, each with its line.
fn devices(text: &str) -> impl Iterator<Item = (&str, usize)> {
    code(text).flat_map(|(number, line)| {
        let is_end = |c: char| !(c.is_ascii_alphanumeric() || "/-_$*?[{".contains(c));
        let words = line.split(is_end);
        words.filter_map(device).map(move |device| (device, number))
    })
}

/// The disk of a path, without the number of a partition.
fn device(word: &str) -> Option<&str> {
    let name = word.strip_prefix("/dev/")?;
    if let Some(rest) = name.strip_prefix("nvme") {
        // Such as `1n1p1`. The root volume is often the first one.
        let (controller, rest) = rest.split_once('n')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let namespace = rest.split('p').next().unwrap_or_default();
        let is_disk = is_number(controller) && controller != "0" && is_number(namespace);
        let length = "/dev/nvmen".len() + controller.len() + namespace.len();
        return word.get(..length).filter(|_| is_disk);
    }
    let disk = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let letters = VolumePlan::letters(disk)?;
    (letters != "a").then_some(disk)
}

fn place(stated: &Stated, number: usize, lines: &SourceLines<'_>) -> String {
    let place = lines.known_place(&stated.text, number);
    place.map(|place| format!(" ({place})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Traits;

    fn note_of(machine: &Machine, text: &str) -> Option<String> {
        note(machine, &Stated::of(text.as_bytes()), &SourceLines::default())
    }

    #[test]
    fn what_uses_the_instance_store_is_named() {
        let machine = Machine::default();
        let config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: { instance: { localStorage: { strategy: RAID0 } } }\n";
        assert_eq!(
            note_of(&machine, config).as_deref(),
            Some(
                "`strategy: RAID0` of the NodeConfig uses the instance store, and m5.large, the type of the trial as the file states none, \
                 has none: `--with 'instance: { type: m5d.large }'` for a type with one"
            )
        );
        let call = "#!/bin/bash\n/etc/eks/bootstrap.sh demo --local-disks raid0\n";
        let script = "#!/bin/bash\nDISKS=$(nvme list | awk '/Instance Storage/ {print $1}')\nmdadm --create /dev/md0 $DISKS\n";
        for text in [call, script] {
            let note = note_of(&machine, text);
            assert!(
                note.is_some_and(|note| note.contains("uses the instance store")),
                "{text}"
            );
        }
        let with_type = Machine {
            traits: Traits {
                instance_type: Some("m5.xlarge".to_owned()),
                ..Traits::default()
            },
            ..Machine::default()
        };
        for text in [config, call, script] {
            assert_eq!(note_of(&with_type, text), None, "{text}");
        }
        assert_eq!(note_of(&machine, &config.replace("RAID0", "none")), None);
    }

    #[test]
    fn a_disk_that_the_type_lacks_is_named() {
        let machine = Machine::default();
        let of = |device: &str| {
            note_of(
                &machine,
                &format!("#!/bin/bash\n# /dev/xvdz\nmkfs.ext4 '{device}'\n"),
            )
        };
        assert_eq!(
            of("/dev/xvdb1").as_deref(),
            Some(
                "the user data names /dev/xvdb, and m5.large, the type of the trial as the file states none, has no disk besides the root \
                 volume: `--with 'instance: { volumes: [{ device: /dev/xvdb, gib: 100 }] }'` for a volume, `--with 'instance: { type: \
                 m5d.large }'` for an instance store"
            )
        );
        let nvme = of("/dev/nvme1n1p1").unwrap_or_default();
        assert!(
            nvme.contains("names /dev/nvme1n1, and") && nvme.contains("device: /dev/sdb"),
            "{nvme}"
        );
        for device in [
            "/dev/xvda",
            "/dev/nvme0n1",
            "/dev/sd$X",
            "/dev/xvd*",
            "/dev/sda1",
            "/dev/null",
            "/dev/nvme",
        ] {
            assert_eq!(of(device), None, "{device}");
        }
        let volumes = [("/dev/sdb".to_owned(), 100)].into();
        let with_volume = Machine {
            traits: Traits {
                volumes,
                ..Traits::default()
            },
            ..Machine::default()
        };
        assert_eq!(note_of(&with_volume, "#!/bin/bash\nmkfs.ext4 /dev/xvdb\n"), None);
    }
}
