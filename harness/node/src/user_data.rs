//! The result of user data, from the files that cloud-init or the engine `direct` wrote in the node.

use std::collections::BTreeMap;

use nodejoin_core::observation::UserDataResult;
use serde_json::Value;

/// Folder in which cloud-init stores the scripts of user data.
const SCRIPTS: &str = "/scripts/";
/// Folder of its boothooks.
const BOOTHOOKS: &str = "/boothooks";
/// A shell's exit code for a file that it cannot execute; cloud-init reports none.
const NOT_EXECUTABLE: i32 = 126;

/// The files that the result is read from.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    /// `/run/cloud-init/status.json`.
    pub(crate) status: Option<String>,
    /// `/run/cloud-init/result.json`, which exists once all stages have finished.
    pub(crate) result: Option<String>,
    /// `/var/log/cloud-init.log`.
    pub(crate) log: String,
    /// `/var/log/cloud-init-output.log`.
    pub(crate) output: String,
    /// Status of the engine `direct`.
    pub(crate) direct_status: Option<String>,
    /// Exit codes of the engine `direct`.
    pub(crate) direct_codes: String,
}

/// The result of user data.
pub(crate) fn result(traces: &Traces) -> UserDataResult {
    if let Some(status) = &traces.direct_status {
        return direct(traces, status.trim());
    }
    let status = traces.status.as_deref().and_then(parsed).unwrap_or_default();
    let result = traces.result.as_deref().and_then(parsed);
    let errors = errors(&status, result.as_ref());
    let data_source = [
        result.as_ref().map(|r| &r["datasource"]),
        Some(&status["datasource"]),
    ]
    .into_iter()
    .flatten()
    .find_map(Value::as_str)
    .map(data_source);
    let exit_codes = exit_codes(&traces.log);
    UserDataResult {
        // User data without scripts runs too; without a data source nothing runs.
        ran: !exit_codes.is_empty()
            || data_source
                .as_deref()
                .is_some_and(|name| name != "DataSourceNone"),
        data_source,
        status: word(&status, result.is_some(), &errors),
        errors,
        exit_codes,
        output: traces.output.clone(),
    }
}

fn direct(traces: &Traces, status: &str) -> UserDataResult {
    let exit_codes: BTreeMap<_, _> = traces
        .direct_codes
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(part, code)| Some((part.to_owned(), code.trim().parse().ok()?)))
        .collect();
    let errors = exit_codes
        .iter()
        .filter(|(_, code)| **code != 0)
        .map(|(part, code)| format!("{part} exited with {code}"))
        .collect();
    UserDataResult {
        ran: true,
        data_source: Some("direct".to_owned()),
        status: Some(status.to_owned()),
        errors,
        exit_codes,
        output: traces.output.clone(),
    }
}

fn parsed(text: &str) -> Option<Value> {
    serde_json::from_str::<Value>(text)
        .ok()
        .map(|mut value| value["v1"].take())
}

/// The name of a data source. Some versions of cloud-init print `DataSourceEc2 [...]`.
fn data_source(text: &str) -> String {
    text.split_whitespace().next().unwrap_or(text).to_owned()
}

fn errors(status: &Value, result: Option<&Value>) -> Vec<String> {
    let list = |value: &Value| -> Vec<String> {
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    if let Some(result) = result {
        return list(&result["errors"]);
    }
    status
        .as_object()
        .into_iter()
        .flatten()
        .flat_map(|(_, stage)| list(&stage["errors"]))
        .collect()
}

/// The status as `cloud-init status` reports it; the command itself takes half a second.
fn word(status: &Value, finished: bool, errors: &[String]) -> Option<String> {
    let word = match status {
        Value::Null => return None,
        _ if !errors.is_empty() && finished => "error",
        _ if finished => "done",
        _ => "running",
    };
    Some(word.to_owned())
}

/// Exit codes by part, from the log. A started script without a reported failure exited with 0 once the log continues.
fn exit_codes(log: &str) -> BTreeMap<String, i32> {
    let mut codes = BTreeMap::new();
    let mut running: Option<String> = None;
    let mut failed = false;
    for line in log.lines() {
        if let Some(part) = line
            .split_once("Running command [")
            .and_then(|(_, rest)| script(rest))
        {
            settle(&mut codes, running.replace(part), failed);
            failed = false;
        } else if line.contains("Running command [") {
            // cloud-init runs one command at a time: a boothook has ended when another command runs.
            settle(&mut codes, running.take(), failed);
            failed = false;
        } else if line.contains("Unexpected error while running command") {
            failed = true;
        } else if let (Some(part), Some(code)) = (&running, line.strip_prefix("Exit code: ")) {
            codes.insert(part.clone(), code.trim().parse().unwrap_or(NOT_EXECUTABLE));
        } else if line.contains("config-scripts-user") && line.contains("finish:") {
            settle(&mut codes, running.take(), failed);
        }
    }
    codes
}

/// Records the exit code 0 for a script that ended without a failure.
fn settle(codes: &mut BTreeMap<String, i32>, part: Option<String>, failed: bool) {
    if let Some(part) = part.filter(|_| !failed) {
        codes.entry(part).or_insert(0);
    }
}

/// `part-001` of `'/var/lib/cloud/instance/scripts/part-001'] with allowed ...`. A shell can come before it.
fn script(rest: &str) -> Option<String> {
    let (command, _) = rest.split_once(']')?;
    let words: Vec<&str> = command.split(", ").collect();
    let path = match words.as_slice() {
        [path] | ["'/bin/bash'", path] => path.strip_prefix('\'')?.strip_suffix('\'')?,
        _ => return None,
    };
    let (folder, name) = path.rsplit_once('/')?;
    let is_part = format!("{folder}/").ends_with(SCRIPTS) || folder.ends_with(BOOTHOOKS);
    is_part.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
2026-11-21 10:44:19,711 - subp.py[DEBUG]: Running command ['/var/lib/cloud/instance/scripts/part-001'] with allowed return codes [0] (shell=False, capture=False)
2026-11-21 10:44:20,438 - subp.py[DEBUG]: Unexpected error while running command.
Command: ['/var/lib/cloud/instance/scripts/part-001']
Exit code: 3
Reason: -
2026-11-21 10:44:20,439 - subp.py[DEBUG]: Running command ['/var/lib/cloud/instance/scripts/part-002'] with allowed return codes [0] (shell=False, capture=False)
2026-11-21 10:44:20,716 - subp.py[DEBUG]: Running command ['/var/lib/cloud/instance/scripts/part-003'] with allowed return codes [0] (shell=False, capture=False)
2026-11-21 10:44:20,716 - subp.py[DEBUG]: Unexpected error while running command.
Exit code: -
Reason: [Errno 8] Exec format error: b'/var/lib/cloud/instance/scripts/part-003'
2026-11-21 10:44:20,717 - subp.py[DEBUG]: Running command ['/var/lib/cloud/instance/scripts/runcmd'] with allowed return codes [0] (shell=False, capture=False)
";

    #[test]
    fn each_part_has_its_exit_code() {
        let codes = exit_codes(LOG);
        assert_eq!(codes["part-001"], 3);
        assert_eq!(codes["part-002"], 0);
        assert_eq!(codes["part-003"], 126);
        assert!(!codes.contains_key("runcmd"), "it is still running");
        let over =
            format!("{LOG}x - handlers.py[DEBUG]: finish: modules-final/config-scripts-user: SUCCESS\n");
        assert_eq!(exit_codes(&over)["runcmd"], 0);
    }

    #[test]
    fn a_boothook_has_its_exit_code_and_no_later_command_changes_it() {
        let hook = |number: u8| {
            format!(
                "x - subp.py[DEBUG]: Running command ['/var/lib/cloud/instance/boothooks/part-00{number}'] with allowed return codes [0]\n"
            )
        };
        let failed = "x - subp.py[DEBUG]: Unexpected error while running command.\nExit code: -\n";
        let other = "x - subp.py[DEBUG]: Running command ['hostnamectl', 'set-hostname', 'x'] with allowed return codes [0]\n\
            x - subp.py[DEBUG]: Unexpected error while running command.\nExit code: 5\n";
        let codes = exit_codes(&format!("{}{failed}{}{other}", hook(1), hook(2)));
        assert_eq!((codes["part-001"], codes["part-002"]), (126, 0));
    }

    #[test]
    fn a_script_without_an_interpreter_has_its_exit_code() {
        let log = "x - subp.py[DEBUG]: Running command ['/bin/bash', '/var/lib/cloud/instance/scripts/part-001'] with \
                   allowed return codes [0] (shell=False, capture=False)\n\
                   x - handlers.py[DEBUG]: finish: modules-final/config-scripts-user: SUCCESS\n";
        assert_eq!(exit_codes(log)["part-001"], 0);
    }

    #[test]
    fn other_commands_are_ignored() {
        let log = "x - subp.py[DEBUG]: Running command ['hostname', 'a'] with allowed return codes [0]\n";
        assert!(exit_codes(log).is_empty());
    }

    #[test]
    fn without_a_data_source_user_data_did_not_run() {
        let traces = Traces {
            status: Some(r#"{"v1": {"datasource": "DataSourceNone", "stage": null}}"#.to_owned()),
            result: Some(r#"{"v1": {"datasource": "DataSourceNone", "errors": []}}"#.to_owned()),
            ..Traces::default()
        };
        let data = result(&traces);
        assert!(!data.ran);
        assert_eq!(data.status.as_deref(), Some("done"));
        assert_eq!(data.data_source.as_deref(), Some("DataSourceNone"));
    }

    #[test]
    fn an_unfinished_stage_is_running() {
        let traces = Traces {
            status: Some(
                r#"{"v1": {"datasource": "DataSourceEc2", "stage": "modules-final", "init": {"errors": []}}}"#.to_owned(),
            ),
            ..Traces::default()
        };
        let data = result(&traces);
        assert_eq!(data.status.as_deref(), Some("running"));
        assert!(data.ran);
        assert_eq!(result(&Traces::default()).status, None);
    }

    #[test]
    fn the_direct_engine_reports_the_same_fields() {
        let traces = Traces {
            direct_status: Some("error\n".to_owned()),
            direct_codes: "part-001 0\nruncmd 1\n".to_owned(),
            ..Traces::default()
        };
        let data = result(&traces);
        assert_eq!(data.exit_codes["runcmd"], 1);
        assert_eq!(data.status.as_deref(), Some("error"));
        assert_eq!(data.errors, ["runcmd exited with 1"]);
    }
}
