//! GitHub Actions: scripts of workflows exist, the checkers accept the workflows, and the steps of the action follow
//! its inputs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::github::{ActionResult, Runner, definitions, repository, runs, yaml};
use crate::support::{both, nodejoin};
use nodejoin_core::run::shard::Shard;
use tempfile::TempDir;

const WRONG: &str = "name: x\ninstance:\n  private_ipp: 192.168.1.10\n";
const FINE: &str = "name: a node joins\nuser_data: '#!/bin/sh'\n";

#[test]
fn scripts_of_workflows_exist_and_are_executable() {
    let mut called = Vec::new();
    for file in definitions() {
        for run in runs(&yaml(&file)) {
            let run = run
                .replace("\"$GITHUB_ACTION_PATH/", "ci/action/")
                .replace('"', " ");
            let words = run.split_whitespace().filter(|word| word.starts_with("ci/"));
            called.extend(words.map(|word| (file.clone(), word.to_owned())));
        }
    }
    assert!(called.len() >= 8, "{called:?}");
    for (file, script) in called {
        let path = repository().join(&script);
        let mode = std::fs::metadata(&path).map(|found| found.permissions().mode());
        assert!(
            mode.is_ok_and(|mode| mode & 0o111 != 0),
            "{} calls {script}, which is not executable",
            file.display()
        );
    }
}

#[test]
fn scripts_pass_known_flags_only() {
    for (script, command) in [
        ("ci/matrix", "run"),
        ("ci/action/run", "run"),
        ("ci/action/diff", "diff"),
    ] {
        let help = said(nodejoin(Path::new("."), &[command, "--help"]).output().unwrap());
        let text = std::fs::read_to_string(repository().join(script)).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let words = code.flat_map(|line| line.split(|c: char| c.is_whitespace() || "\"'=()".contains(c)));
        let flags: Vec<&str> = words
            .filter(|word| word.len() > 2 && word.starts_with("--"))
            .collect();
        assert!(flags.len() > 4, "{script}: {flags:?}");
        for flag in flags {
            assert!(
                help.contains(&format!("{flag} ")),
                "{script} gives {flag}:\n{help}"
            );
        }
    }
}

#[test]
fn the_checkers_accept_the_workflows() {
    let output = check(None);
    assert!(output.status.success(), "{}", both(&output));
}

#[test]
fn the_checkers_report_broken_workflows() {
    let folder = TempDir::new().unwrap();
    let workflow = |name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(repository().join(".github/workflows/ci.yml")).unwrap();
        assert!(text.contains(from), "{from}");
        let path = folder.path().join(".github/workflows").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.replacen(from, to, 1)).unwrap();
    };
    workflow("schema.yml", "runs-on:", "runs-in:");
    workflow(
        "injection.yml",
        "- run: ci/check",
        "- run: echo ${{ github.head_ref }}",
    );
    workflow("unpinned.yml", "@3d3c42e5aac5ba805825da76410c181273ba90b1", "@v7");
    let action = folder.path().join("ci/action/action.yml");
    std::fs::create_dir_all(action.parent().unwrap()).unwrap();
    std::fs::write(action, "name: x\nruns: { using: composite }\n").unwrap();
    let output = check(Some(folder.path()));
    let said = both(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "schema.yml",
        "'runs-on' is a required property",
        "template-injection",
        "injection.yml:",
        "unpinned-uses",
        "unpinned.yml:",
        "ci/action/action.yml::$",
    ] {
        assert!(said.contains(part), "`{part}` is missing in:\n{said}");
    }
}

#[test]
fn an_invalid_scenario_is_annotated_and_the_action_exits_with_2() {
    let runner = Runner::new(&[("scenarios/a.yaml", WRONG)]);
    let result = run(&runner, &[]);
    assert_eq!(result.code, Some(2), "{}", result.output);
    let annotation = "::error file=scenarios/a.yaml,line=3,col=3,title=nodejoin%3A invalid scenario::";
    assert!(result.output.contains(annotation), "{}", result.output);
    assert_eq!(result.outputs["exit-code"], "2");
    assert_eq!(result.outputs["passed"], "");
}

#[test]
fn an_empty_shard_passes_and_is_reported() {
    let runner = Runner::new(&[("test/of mine/a.yaml", FINE)]);
    let evidence = runner.workspace.path().join("out/evidence");
    let result = run(
        &runner,
        &[
            ("paths", "  test/of mine  \n\n"),
            ("shard", other_share("a")),
            ("artifacts-dir", "out/evidence"),
        ],
    );
    assert_eq!(result.code, Some(0), "{}", result.output);
    for (name, value) in [
        ("exit-code", "0"),
        ("passed", "0"),
        ("failed", "0"),
        ("errored", "0"),
        ("skipped", "0"),
        ("artifacts-dir", evidence.to_str().unwrap()),
        ("junit", evidence.join("junit.xml").to_str().unwrap()),
    ] {
        assert_eq!(result.outputs[name], value, "{name}");
    }
    assert!(
        result.summary.starts_with("## nodejoin: 0 passed, 0 failed"),
        "{}",
        result.summary
    );
    assert!(evidence.join("junit.xml").exists());
}

#[test]
fn a_missing_engine_has_its_exit_code() {
    let runner = Runner::new(&[("scenarios/a.yaml", FINE)]);
    let result = run(&runner, &[("shard", "1/1")]);
    assert_eq!(
        (result.code, result.outputs["exit-code"].as_str()),
        (Some(3), "3"),
        "{}",
        result.output
    );
}

#[test]
fn inputs_are_never_executed() {
    let runner = Runner::new(&[("scenarios/a.yaml", FINE)]);
    for (name, value) in [
        ("paths", "$(touch made) `touch made`; touch made"),
        ("paths", "--help"),
        ("overlay", "x\"; touch made; \""),
        ("filter", "$(touch made)"),
        ("shard", "1/1; touch made"),
        ("kubernetes", "--help"),
        ("kubelet", "1.20; touch made"),
        ("jobs", "1\npassed=7"),
        ("artifacts-dir", "a\npassed=7"),
        ("binary", "no/such/program"),
    ] {
        let result = run(&runner, &[(name, value)]);
        assert!(
            matches!(result.code, Some(2 | 3)),
            "{name}={value}: {}",
            result.output
        );
        assert_ne!(result.outputs["passed"], "7", "{name}={value}");
        assert!(!runner.workspace.path().join("made").exists(), "{name}={value}");
    }
}

#[test]
fn images_are_cached_for_the_next_run() {
    let runner = Runner::new(&[("scenarios/a.yaml", FINE)]);
    let calls = runner.workspace.path().join("calls");
    let docker = format!(
        "#!/bin/bash\necho \"docker $*\" >> {0}\nif [[ $1 == save ]]; then touch \"$3\"; fi\n",
        calls.display()
    );
    runner.program("docker", &docker);
    let command = runner.program(
        "nodejoin",
        "#!/bin/bash\nif [[ $1 == images ]]; then echo 'nodejoin/node:1  node  current  1 MB'; echo 'nodejoin/node:0  node  stale  1 MB'; fi\n",
    );
    let run = |cache| {
        let _ = std::fs::remove_file(&calls);
        let result = runner.run(&[("binary", command.to_str().unwrap()), ("cache-images", cache)]);
        assert_eq!(result.code, Some(0), "{}", result.output);
        std::fs::read_to_string(&calls).unwrap_or_default()
    };
    assert_eq!(run("false"), "");
    let made = run("true");
    assert!(made.starts_with("docker save --output "), "{made}");
    assert!(
        made.trim().ends_with("nodejoin-images.tar nodejoin/node:1"),
        "{made}"
    );
    assert!(run("true").starts_with("docker load --quiet --input "));
}

#[test]
fn a_failed_image_cache_is_a_warning() {
    let runner = Runner::new(&[("scenarios/a.yaml", FINE)]);
    runner.program("docker", "#!/bin/bash\ntouch \"$3\"\nexit 1\n");
    let command = runner.program(
        "nodejoin",
        "#!/bin/bash\necho 'nodejoin/node:1  node  current  1 MB'\n",
    );
    let inputs = [("binary", command.to_str().unwrap()), ("cache-images", "true")];
    for _ in 0..2 {
        let result = runner.run(&inputs);
        assert_eq!(result.code, Some(0), "{}", result.output);
        assert!(
            result
                .output
                .contains("::warning title=nodejoin::images could not be written to"),
            "{}",
            result.output
        );
        assert!(
            !result.output.contains("taken from"),
            "a broken file is not kept: {}",
            result.output
        );
    }
}

#[test]
fn an_invalid_shard_is_refused() {
    let folder = crate::support::folder(&[("a.yaml", FINE)]);
    for (shard, why) in [
        ("0/4", "the first of 4 is 1/4"),
        ("5/4", "the last of 4 is 4/4"),
        ("x", "expected INDEX/COUNT"),
    ] {
        let by_flag = nodejoin(folder.path(), &["run", "--shard", shard, "."])
            .output()
            .unwrap();
        let by_variable = nodejoin(folder.path(), &["run", "."])
            .env("NODEJOIN_SHARD", shard)
            .output()
            .unwrap();
        for output in [by_flag, by_variable] {
            assert_eq!(output.status.code(), Some(2), "{}", both(&output));
            assert!(both(&output).contains(why), "{}", both(&output));
        }
    }
}

#[test]
fn all_shards_together_have_every_scenario_once() {
    let list = |arguments: &[&str]| -> Vec<String> {
        let output = nodejoin(&repository(), &[&["list", "scenarios"], arguments].concat());
        let text = said({ output }.output().unwrap());
        text.lines().map(str::to_owned).collect()
    };
    let mut all = list(&[]);
    let mut dealt: Vec<String> = (1..=4)
        .flat_map(|index| list(&["--shard", &format!("{index}/4")]))
        .collect();
    all.sort();
    dealt.sort();
    assert!(all.len() > 10, "{all:?}");
    assert_eq!(dealt, all);
}

/// The action, with the command that these tests are of.
fn run(runner: &Runner, inputs: &[(&str, &str)]) -> ActionResult {
    let own = [
        ("binary", env!("CARGO_BIN_EXE_nodejoin")),
        ("cache-images", "false"),
    ];
    runner.run(&[&own, inputs].concat())
}

/// A share of two that does not hold a scenario.
fn other_share(id: &str) -> &'static str {
    let shares = ["1/2", "2/2"];
    let is_other = |share: &&str| !share.parse::<Shard>().unwrap().holds(id);
    shares.into_iter().find(is_other).unwrap()
}

fn check(folder: Option<&Path>) -> Output {
    Command::new(repository().join("ci/workflows"))
        .args(folder)
        .output()
        .unwrap()
}

fn said(output: Output) -> String {
    assert!(output.status.success(), "{}", both(&output));
    String::from_utf8(output.stdout).unwrap()
}
