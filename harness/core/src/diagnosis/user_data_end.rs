//! How user data ends: an error that something after it hides, or no end at all.

use super::Finding;
use super::facts::{Evidence, Facts};
use crate::diagnosis::Cause;
use crate::observation::phase::Phase;
use crate::observation::{AwsCall, JournalLine, Millis};

/// A script in the user data ended with an error, what came after it ended well, and so cloud-init says that all is well.
pub(super) fn error_is_hidden(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    let done = facts.user_data_done?;
    let mut told = facts.user_data_lines().filter(|(at, _)| *at <= done);
    let (at, line) = told.find(|(_, line)| is_end_of_script(line))?;
    let because = format!(
        "a script in the user data ended with an error ({}), and what runs after it ended well, so cloud-init reports no failure",
        line.message.trim()
    );
    let remedy = "mend the script, and begin the commands around it with `set -e`: without that only the exit code of the last \
                  one counts"
        .to_owned();
    facts.final_(Cause::ScriptFailed, because, &Evidence::journal(at, line), remedy)
}

/// What bash says of a script that it ends, and what the trap of a bootstrap script says.
fn is_end_of_script(line: &JournalLine) -> bool {
    const WORDS: [&str; 4] = [
        "Exited with error on line",
        " ended with status",
        ": unbound variable",
        ": syntax error",
    ];
    !line.by_systemd && WORDS.iter().any(|words| line.message.contains(words))
}

/// systemd refuses the kubelet's unit as it stands on the disk, most often because of a drop-in.
pub(super) fn unit_is_refused(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    let (at, line) = facts.systemd_of_kubelet().find(|(_, line)| {
        line.message.contains("Refusing.") || line.message.contains("bad unit file setting")
    })?;
    let said = line.message.trim();
    let because = format!("systemd refuses the kubelet's unit: {said}");
    let remedy = if said.contains("more than one ExecStart=") {
        "put an empty `ExecStart=` before the drop-in's own, which resets that of the unit"
    } else {
        "see `systemd-analyze verify kubelet.service` in the node"
    };
    facts.final_(
        Cause::KubeletNeverStarted,
        because,
        &Evidence::journal(at, line),
        remedy.to_owned(),
    )
}

/// User data was still running when the harness gave up waiting.
pub(super) fn is_not_done(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) || facts.user_data_done.is_some() || facts.exit().is_some() {
        return None;
    }
    let (at, evidence, doing) = last_sign(facts)?;
    let because = format!("the user data was still running: the last that was seen of it, {doing}");
    let remedy = "see what the script waits for in the evidence folder (journal, transcript of AWS calls); where it only needs \
                  longer, set `limits.join_seconds`"
        .to_owned();
    facts
        .found(Cause::UserDataNotDone, because, &evidence, remedy)
        .map(|finding| Finding { at, ..finding })
}

/// The last line that user data printed or the last call that it made, whichever is later.
fn last_sign(facts: &Facts<'_>) -> Option<(Millis, Evidence, &'static str)> {
    let printed = facts
        .user_data_lines()
        .filter(|(_, line)| !line.by_systemd && !line.message.trim().is_empty())
        .last();
    let called: Option<(Millis, &AwsCall)> = facts.calls().last();
    match (printed, called) {
        (Some((at, line)), called) if called.is_none_or(|(call, _)| call <= at) => {
            Some((at, Evidence::journal(at, line), "it printed a line"))
        }
        (_, Some((at, call))) => Some((at, Evidence::call(at, call), "it made a request to AWS")),
        _ => None,
    }
}
