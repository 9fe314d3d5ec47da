//! A second call of the bootstrap script in a script, of which not all has an effect.

use std::collections::BTreeSet;

use super::call::BootstrapCall;
use crate::adopt::shell::{ShellScript, UNKNOWN};
use crate::here_document::HereDocument;
use crate::source_lines::SourceLines;

/// What a message calls a script whose line it cannot find in the user data.
const SCRIPT: &str = "the script";
/// Words that begin and end blocks, whose commands need not run.
const OPENS: [&str; 7] = ["if", "case", "for", "while", "until", "select", "{"];
const CLOSES: [&str; 4] = ["fi", "esac", "done", "}"];
/// Words of lines after which the rest of a script may not run.
const ENDS: [&str; 6] = ["exit", "return", "exec", "reboot", "shutdown", "poweroff"];
/// Lines with it may restart the kubelet, or change its files.
const KUBELET: &str = "kubelet";

/// What the second of two calls does not do that run one after the other. All scripts for Amazon Linux 2 replace words
/// of the kubeconfig (`sed -i s,CLUSTER_NAME,...`), which a second call does not find, and start the kubelet.
pub(in crate::adopt) fn called_again(
    calls: &[BootstrapCall],
    script: &ShellScript,
    source: &SourceLines<'_>,
) -> Option<String> {
    let [first, second, ..] = calls else { return None };
    let is_equal = first.cluster == second.cluster && first.values == second.values;
    if is_equal || first.is_open || second.is_open || !run_both(first, second, &script.lines) {
        return None;
    }
    let text = script.lines.join("\n");
    let place = |call: &BootstrapCall| source.place(&text, call.lines.0, SCRIPT);
    let is_known = |name: &&String| !name.contains([UNKNOWN, '$', '{']);
    let names = [first, second].map(|call| call.cluster.as_ref().filter(is_known));
    let of_names = match names {
        [Some(joined), Some(other)] if joined != other => {
            format!(", so the node joins {joined}, and the name {other} has no effect")
        }
        _ => String::new(),
    };
    Some(format!(
        "bootstrap.sh runs in {} and again in {}: the second call does not change the cluster in the kubeconfig, which the first one has \
         filled in{of_names}; the kubelet takes new flags only when it starts again (scripts of AMIs since v20221222 do not restart it with \
         containerd), and its Node keeps the labels and taints with which it registers; write one call",
        place(first),
        place(second)
    ))
}

/// Whether both calls run, and nothing else of the script is about the kubelet.
fn run_both(first: &BootstrapCall, second: &BootstrapCall, lines: &[String]) -> bool {
    let certain = certain_lines(lines);
    let of_calls: BTreeSet<usize> = [first, second]
        .into_iter()
        .flat_map(|call| call.lines.0..=call.lines.1)
        .collect();
    let mut others = (1..).zip(lines).filter(|(number, _)| !of_calls.contains(number));
    let is_between = |number: usize| (first.lines.1..second.lines.0).contains(&number);
    let may_change = |(number, line): (usize, &String)| {
        let code = line.trim_start();
        let has_end = || words(code).any(|word| ENDS.contains(&word));
        !code.starts_with('#') && (code.contains(KUBELET) || (is_between(number) && has_end()))
    };
    first.lines.1 < second.lines.0 && of_calls.is_subset(&certain) && !others.any(may_change)
}

/// The lines of a script, from 1, that run in any case: outside of blocks, functions, lists and here-documents.
fn certain_lines(lines: &[String]) -> BTreeSet<usize> {
    let mut certain = BTreeSet::new();
    let mut depth = 0_usize;
    let mut document: Option<HereDocument> = None;
    for (number, line) in (1..).zip(lines) {
        if let Some(begun) = &document {
            if line.trim() == begun.end {
                document = None;
            }
            continue;
        }
        document = HereDocument::begun(line);
        let code = line.trim();
        if code.starts_with('#') {
            continue;
        }
        let opened = words(code)
            .filter(|word| OPENS.contains(word) || word.ends_with('{'))
            .count();
        let closed = words(code).filter(|word| CLOSES.contains(word)).count();
        let is_list = ["&&", "||"].iter().any(|sign| code.contains(sign)) || code.ends_with('&');
        let is_process = words(code).any(|word| word.starts_with('('));
        if depth == 0 && opened == 0 && closed == 0 && !is_list && !is_process {
            certain.insert(number);
        }
        depth = (depth + opened).saturating_sub(closed);
    }
    certain
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| c.is_whitespace() || c == ';')
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adopt::bootstrap_call::calls;
    use crate::adopt::shell;

    const CALL: &str = "/etc/eks/bootstrap.sh";
    const LABELS: &str = "--kubelet-extra-args '--node-labels=a=b'";

    fn note(text: &str) -> Option<String> {
        let script = shell::read(&format!("#!/bin/bash\n{text}\n"));
        called_again(&calls(&script), &script, &SourceLines::default())
    }

    #[test]
    fn a_second_call_that_runs_is_named() {
        assert_eq!(
            note(&format!("set -ex\n{CALL} demo\n{CALL} demo \\\n  {LABELS}")).as_deref(),
            Some(
                "bootstrap.sh runs in line 3 of the script and again in line 4 of the script: the second call does not change the cluster in \
                 the kubeconfig, which the first one has filled in; the kubelet takes new flags only when it starts again (scripts of AMIs \
                 since v20221222 do not restart it with containerd), and its Node keeps the labels and taints with which it registers; write \
                 one call"
            )
        );
        let two = note(&format!(
            "if a; then\n  echo\nfi\n{CALL} prod-cluster\necho x\n{CALL} prod-cluser {LABELS}"
        ));
        assert!(two.is_some_and(|text| {
            text.contains("so the node joins prod-cluster, and the name prod-cluser has no effect;")
        }));
    }

    #[test]
    fn calls_of_which_one_may_run_are_not() {
        for text in [
            format!("{CALL} demo\n{CALL} demo"),
            format!("if a; then\n{CALL} demo\nelse\n{CALL} demo {LABELS}\nfi"),
            format!("{CALL} demo ||\n{CALL} demo {LABELS}"),
            format!("{CALL} demo || {CALL} demo {LABELS}"),
            format!("join() {{\n{CALL} demo\n}}\n{CALL} demo {LABELS}"),
            format!("{CALL} demo\nif a; then exit 0; fi\n{CALL} demo {LABELS}"),
            format!("{CALL} demo\nsystemctl stop kubelet\n{CALL} demo {LABELS}"),
            format!("{CALL} demo\n{CALL} demo {LABELS}\nsystemctl restart kubelet"),
            format!("{CALL} demo\ncat > /x <<E\n{CALL} demo {LABELS}\nE"),
            format!("{CALL} demo\n{CALL} demo {LABELS} \"$@\""),
            format!("({CALL} demo)\n{CALL} demo {LABELS}"),
            format!("{CALL} demo"),
        ] {
            assert_eq!(note(&text), None, "{text}");
        }
    }
}
