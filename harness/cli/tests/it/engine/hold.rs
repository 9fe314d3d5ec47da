//! A held run: its node, its AWS and its API server answer until the signal, and then nothing remains.

use std::process::Stdio;

use nodejoin_core::run::event::RunEvent;

use crate::support::engine_objects::of_run;
use crate::support::running_command::RunningCommand;
use crate::support::{END, REGISTERS, both, folder, nodejoin};

/// Requests a session token of the metadata service, asks STS who the node is, and runs the user data again.
const AGAIN: &str = "set -e
curl -sfX PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token > /dev/null
aws sts get-caller-identity --region eu-west-1 --query Arn --output text
/var/lib/cloud/instance/scripts/part-001 > /dev/null 2>&1
echo ran again";

#[test]
fn a_held_run_is_entered_by_the_commands_that_it_prints() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let mut run = RunningCommand::start(folder.path(), &["--hold"]);
    let id = run.id.clone();
    run.until("held", |event| matches!(event, RunEvent::Held { .. }));
    let enter = |arguments: &[&str]| {
        let command = nodejoin(folder.path(), arguments).stdin(Stdio::null()).output();
        both(&command.unwrap())
    };
    let again = enter(&["shell", "--", "bash", "-c", AGAIN]);
    let journal = enter(&["logs", "kubelet"]);
    let nodes = enter(&["kubectl", "get", "nodes", "--output=name"]);
    let by_name = enter(&["shell", &id, "--", "hostname"]);
    let unknown = enter(&["shell", "no-such-node"]);
    run.signal("INT");
    let ended = run.end(END);

    assert!(
        again.contains(":assumed-role/") && again.ends_with("ran again\n"),
        "{again}"
    );
    assert!(journal.contains("kubelet["), "{journal}");
    assert!(nodes.starts_with("node/"), "{nodes}");
    let node = nodes.trim().trim_start_matches("node/");
    assert_eq!(by_name.trim(), node);
    assert!(unknown.contains("no node is named `no-such-node`"), "{unknown}");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let held = ended.events.iter().find_map(|event| match event {
        RunEvent::Held { commands, .. } => Some(commands),
        _ => None,
    });
    assert!(
        held.unwrap()
            .iter()
            .all(|command| command.starts_with("nodejoin ")),
        "{held:?}"
    );
    assert_eq!(of_run(&id), Vec::<String>::new());
    let evidence = folder.path().join("evidence").join(&id);
    assert!(
        !evidence.exists(),
        "neither evidence of a passed scenario nor a kubeconfig remains"
    );
}
