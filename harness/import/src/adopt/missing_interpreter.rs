//! Parts of scripts that do not begin with `#!`. Amazon's cloud-init for Amazon Linux 2 runs them with a shell, that of
//! AL2023 does not.

use nodejoin_core::user_data::{FaultKind, Parsed, Part, parse};

use super::ami::AmiChoice;
use super::inner_messages;
use super::mistyped_parts::is_mistyped;
use super::other_beginnings::type_by_beginning;
use super::report::{AdoptionKind, AdoptionLine, line};

const SHELL: &str = "text/x-shellscript";

/// Adds a line for each such part. Only the image for AL2023 is named in a choice.
pub(super) fn note_parts(user_data: &[u8], choice: &AmiChoice, report: &mut Vec<AdoptionLine>) {
    let parsed = parse(user_data);
    let is_al2023 = choice.image.is_some();
    for fault in &parsed.faults {
        let (FaultKind::MissingShebang, Some(part)) = (fault.kind, &fault.part) else {
            continue;
        };
        // Such a part has a note of its own.
        let is_other = |one: &Part| one.name == *part && type_by_beginning(one).is_some();
        if parsed.parts.iter().any(is_other) {
            continue;
        }
        if !is_al2023 {
            let text = format!(
                "{part} does not begin with `#!`: Amazon Linux 2 runs it with a shell, and AL2023 stops at it"
            );
            line(report, AdoptionKind::Note, text);
        } else if is_script(&parsed, part) {
            let text = format!(
                "{part} does not begin with `#!`: AL2023 cannot execute it (`Exec format error`), and nothing in it runs; begin it \
                 with `#!/bin/bash`"
            );
            line(report, AdoptionKind::Problem, text);
        }
    }
}

/// Whether the part with this name is a script. One with a NodeConfig has a note of its own.
fn is_script(parsed: &Parsed, name: &str) -> bool {
    let is_of_another = |part: &Part| is_mistyped(part) || !inner_messages::node_configs(part).is_empty();
    let mut parts = parsed.parts.iter().filter(|part| part.name == name);
    parts.all(|part| {
        let is_blank = part.content.trim_ascii().is_empty();
        part.mime == SHELL && !is_blank && !is_of_another(part)
    })
}
