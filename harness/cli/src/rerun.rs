//! The command that runs a scenario again, for the report.

use std::sync::Arc;

use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::run::last_run::without_run;
use nodejoin_core::run::shell;
use nodejoin_core::scenario;
use nodejoin_engine::RerunCommand;

use crate::args::RunArgs;

/// `nodejoin run FILE` with the options that change a verdict.
pub(crate) fn of_run(args: &RunArgs) -> RerunCommand {
    let options = options(args);
    let (kubernetes, kubelet) = (
        args.options.images.kubernetes.clone(),
        args.options.images.kubelet.clone(),
    );
    Arc::new(move |id, file| {
        let mut words = vec!["nodejoin".to_owned(), "run".to_owned(), file.to_owned()];
        let scenario = without_run(id);
        let scenario = scenario.split_once('@').map_or(scenario, |(id, _)| id);
        if scenario::variant_of(scenario, file).is_some() {
            words.extend(["--filter".to_owned(), format!("id({scenario})")]);
        }
        let version = version(id).unwrap_or(&kubernetes);
        for (flag, value) in [("--kubernetes", version), ("--kubelet", &kubelet)] {
            if !value.is_empty() {
                words.extend([flag.to_owned(), value.to_owned()]);
            }
        }
        words.extend(options.iter().cloned());
        quoted(&words)
    })
}

/// The command line of this process.
pub(crate) fn of_this_process() -> RerunCommand {
    let words = std::iter::once("nodejoin".to_owned()).chain(std::env::args().skip(1));
    let command = quoted(&words.collect::<Vec<_>>());
    Arc::new(move |_, _| command.clone())
}

fn options(args: &RunArgs) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(name) = args.options.control_plane {
        words.extend(["--control-plane".to_owned(), name.to_string()]);
    }
    for overlay in &args.overlay {
        words.extend(["--overlay".to_owned(), overlay.display().to_string()]);
    }
    if let Some(image) = &args.options.image {
        words.extend(["--image".to_owned(), image.display().to_string()]);
    }
    if args.options.strict {
        words.push("--strict".to_owned());
    }
    words
}

/// The version in the id of a scenario that runs on several.
fn version(id: &ScenarioId) -> Option<&str> {
    let (_, version) = without_run(id).rsplit_once('@')?;
    Some(version)
}

fn quoted(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell::quoted(word)).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Args, Command};

    fn command(line: &[&str], id: &str, file: &str) -> String {
        let args = Args::try_parse_from([&["nodejoin", "run"], line].concat()).unwrap();
        let Command::Run(args) = args.command else {
            panic!("{args:?}")
        };
        of_run(&args)(&id.parse().unwrap(), file)
    }

    #[test]
    fn the_command_has_the_file_and_what_changes_its_verdict() {
        assert_eq!(
            command(&["scenarios"], "al2/x", "scenarios/al2/x.yaml"),
            "nodejoin run scenarios/al2/x.yaml"
        );
        assert_eq!(
            command(&["scenarios"], "al2/x.arm@1.36", "scenarios/al2/x.yaml"),
            "nodejoin run scenarios/al2/x.yaml --filter 'id(al2/x.arm)' --kubernetes 1.36"
        );
        assert_eq!(
            command(
                &[
                    "a b",
                    "--kubernetes",
                    "1.20,1.36",
                    "--strict",
                    "--control-plane",
                    "kind",
                    "--jobs",
                    "4"
                ],
                "x@1.36@run-2",
                "a b/x.yaml"
            ),
            "nodejoin run 'a b/x.yaml' --kubernetes 1.36 --control-plane kind --strict"
        );
    }
}
