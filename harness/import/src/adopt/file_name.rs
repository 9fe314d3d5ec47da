//! The name of a machine as a name of files.

/// A name that is valid for a file and for the id of a scenario.
pub(super) fn file_name(machine: &str) -> String {
    let last = machine
        .rsplit(['/', '\\'])
        .next()
        .filter(|last| last.contains('.') && machine.starts_with(['/', '.']));
    let name: String = last
        .unwrap_or(machine)
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let parts: Vec<&str> = name.split('-').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        "machine".to_owned()
    } else {
        parts.join("-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_machines_become_names_of_files() {
        for (machine, name) in [
            ("web-lt/3", "web-lt-3"),
            (
                "aws_launch_template.workers[\"a\"]",
                "aws-launch-template-workers-a",
            ),
            ("/tmp/x/user-data.sh", "user-data-sh"),
            ("-", "machine"),
        ] {
            assert_eq!(file_name(machine), name);
        }
    }
}
