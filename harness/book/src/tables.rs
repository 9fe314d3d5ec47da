//! Pages that are one table: phases, deviations, exit codes.

use nodejoin_core::observation::phase::Phase;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_node::DeviationKind;

use crate::markdown::{code, table};
use crate::scenario::variants;

pub(crate) fn phases() -> String {
    let described = variants("Phase");
    let rows = Phase::ALL.into_iter().map(|phase| {
        let about = described.iter().find(|(word, _)| word == phase.word());
        [
            code(phase.word()),
            about.map(|(_, about)| about.clone()).unwrap_or_default(),
        ]
    });
    let rows = table(["phase", "reached when"], rows);
    format!(
        "# Phases\n\nA join reaches phases in this order, except that `ready` may come before `certified`. A report prints them in order\n\
         of time. If the kubelet requests a serving certificate, `expect.phase: ready` holds only after the certificate is\n\
         issued. `expect.phase` requires that a join reaches one of them, or, with\n\
         `expect.diagnosis`, that it stops there. A node that is given the endpoint and the certificate authority skips\n\
         `described`.\n\n{rows}"
    )
}

pub(crate) fn deviations() -> String {
    let rows = DeviationKind::ALL.into_iter().map(|kind| {
        [
            code(kind.name()),
            kind.when().to_owned(),
            kind.what().to_owned(),
            kind.why().to_owned(),
        ]
    });
    let rows = table(["deviation", "when", "what differs", "why"], rows);
    format!(
        "# Deviations\n\nA node of the harness is a container, not an instance that runs an EKS AMI. Every difference that the harness\n\
         creates when a node boots has a name. `-v` prints those of each node that did not pass, and `deviations.json` in its\n\
         [evidence](../guide/evidence.md) has them, too; `--evidence always` keeps that of nodes that passed.\n\n\
         The node image itself differs too, and reports do not list it: `al2` is Debian bookworm, not Amazon Linux; its\n\
         `bootstrap.sh` is nodejoin's own script with the flags and files of the EKS AMI of August 2022; and its\n\
         `aws-iam-authenticator` is a stand-in unless the build could download the released one. Its AWS CLI is Debian's: the\n\
         first call of root leaves a process behind that has loaded the modules, and later calls run in forks of it, with the\n\
         files, environment, limits and control groups of their callers. Calls of other users, in a sandbox or from a terminal\n\
         load the modules themselves. `al2023` is the same Debian\n\
         with a stand-in of nodeadm ([Node images](../guide/images.md#the-built-in-images)). To test your files, overlay\n\
         them ([Your own script](../guide/your-script.md)).\n\n{rows}"
    )
}

pub(crate) fn exit_codes() -> String {
    let rows = ExitCode::ALL
        .into_iter()
        .map(|code| [code.code().to_string(), code.meaning().to_owned()]);
    let rows = table(["exit code", "meaning"], rows);
    format!(
        "# Exit codes\n\nScripts may rely on the exit codes of `nodejoin`. If a run has several outcomes, a failed scenario takes\n\
         precedence over one that the harness could not decide, and a cancelled run over both.\n\n{rows}"
    )
}
