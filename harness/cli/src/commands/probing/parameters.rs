//! The arguments that the scripts of a node accept, for worlds in which user data passes them.

use nodejoin_core::compare::{ScriptArguments, value_for};
use nodejoin_core::plan::Plan;

/// One entry for each flag of each shell script that an overlay puts on the node, with a value that fits its name.
pub(super) fn of(plan: &Plan) -> Vec<ScriptArguments> {
    let mut all = Vec::new();
    for file in plan.image.added() {
        let content = match &file.patched {
            Some(patched) => patched.content.clone(),
            None => match std::fs::read(&file.from).map(String::from_utf8) {
                Ok(Ok(content)) => content,
                _ => continue,
            },
        };
        let interpreter = content.lines().next().unwrap_or_default();
        if !interpreter.starts_with("#!") || !interpreter.contains("sh") {
            continue;
        }
        let flags = nodejoin_script::flags(&content);
        // With both, a script need not call EKS.
        let named = |word: &str| {
            flags
                .iter()
                .find(|flag| flag.has_value && flag.name.contains(word))
        };
        if let (Some(authority), Some(endpoint)) = (named("cluster-ca"), named("endpoint")) {
            let pair = [authority, endpoint].map(|flag| format!("{} {}", flag.name, value_for(&flag.name)));
            all.push(ScriptArguments {
                path: file.to.clone(),
                arguments: pair.join(" "),
            });
        }
        for flag in flags {
            let arguments = match flag.has_value {
                true => format!("{} {}", flag.name, value_for(&flag.name)),
                false if flag.name == "--help" => continue,
                false => flag.name,
            };
            all.push(ScriptArguments {
                path: file.to.clone(),
                arguments,
            });
        }
    }
    all
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
        let found: Vec<String> = of(&plan).into_iter().map(|one| one.arguments).collect();
        let (authority, endpoint) = (
            "--b64-cluster-ca {{ cluster.certificate_authority }}",
            "--apiserver-endpoint {{ cluster.endpoint }}",
        );
        assert_eq!(
            found,
            [&format!("{authority} {endpoint}"), authority, endpoint, "--fast"]
        );
    }
}
