//! The arguments of the kubelet in a call: which of them it gets, and why it does not get the others.
//!
//! bootstrap.sh of Amazon Linux 2 writes them as `Environment='KUBELET_EXTRA_ARGS=...'` into a drop-in (v20190109 to
//! v20260304).

use super::call::{ARGUMENTS, BootstrapCall};
use crate::adopt::shell::UNKNOWN;
use crate::adopt::systemd_words::{DropInValue, drop_in_value};
use crate::words::shortened;

impl BootstrapCall {
    /// The arguments that systemd reads from the drop-in.
    pub(crate) fn passed_arguments(&self) -> Option<String> {
        match self.in_drop_in()? {
            DropInValue::Whole(value) | DropInValue::Cut { value, .. } => Some(value),
            DropInValue::Ignored => None,
        }
    }

    /// Those that it ignores.
    pub(crate) fn ignored_arguments(&self) -> Option<String> {
        match self.in_drop_in()? {
            DropInValue::Whole(_) => None,
            DropInValue::Cut { rest, .. } => Some(rest),
            DropInValue::Ignored => self.values.get(ARGUMENTS).cloned(),
        }
    }

    fn in_drop_in(&self) -> Option<DropInValue> {
        let value = self.values.get(ARGUMENTS)?;
        // What a run fills in can have quotes, too.
        match value.contains('\'') && value.contains(UNKNOWN) {
            true => Some(DropInValue::Whole(value.clone())),
            false => Some(drop_in_value(value)),
        }
    }

    /// Why the kubelet does not get all of the arguments. `at` says where they are, `is_shown` whether that place has
    /// them: otherwise they are the value of a variable.
    pub(super) fn drop_in_note(&self, at: &str, is_shown: bool) -> Option<String> {
        let value = self.values.get(ARGUMENTS)?;
        let of_variable = match !is_shown && value.starts_with(['\'', '"']) {
            true => {
                "; a shell takes quotes in the value of a variable for letters: use an array, `ARGS=(...)` and `\"${ARGS[@]}\"`"
            }
            false => "",
        };
        match self.in_drop_in()? {
            DropInValue::Ignored if value.replace("\\\n", "").contains('\n') => Some(format!(
                "the value of `{ARGUMENTS}`{at} has a line break: bootstrap.sh writes it into one line of a drop-in, systemd ignores that \
                 line, and the kubelet gets none of these arguments; write them into one line, or end their lines with `\\`"
            )),
            DropInValue::Ignored => Some(format!(
                "a single quote in the value of `{ARGUMENTS}`{at} has no end: bootstrap.sh writes the value between single quotes into a \
                 drop-in, systemd ignores that line, and the kubelet gets none of these arguments{of_variable}"
            )),
            DropInValue::Cut { rest, .. } => {
                let rest = shortened(&rest);
                Some(format!(
                    "a single quote in the value of `{ARGUMENTS}`{at} ends the quotes between which bootstrap.sh writes it into a drop-in: \
                     systemd ignores `{rest}` behind the next blank, and the kubelet does not get it; write no single quotes into the value"
                ))
            }
            DropInValue::Whole(_) if is_garbage_for_219(value) => Some(format!(
                "the value of `{ARGUMENTS}`{at} has single quotes: bootstrap.sh writes it between single quotes into a drop-in, and systemd \
                 219 of Amazon Linux 2 ignores that line, so that the kubelet gets none of these arguments; newer versions, such as that of \
                 the node image, remove the quotes. Write double quotes into the value, or none{of_variable}"
            )),
            DropInValue::Whole(_) => None,
        }
    }
}

/// Whether systemd 219 takes what follows a quote for garbage behind the text in quotes, and ignores the line (`split`
/// in src/shared/util.c).
fn is_garbage_for_219(value: &str) -> bool {
    let behind = value.split_once('\'').map(|(_, behind)| behind);
    let is_word = |behind: &str| !behind.starts_with([' ', '\t']);
    behind.is_some_and(is_word) && !value.contains(['\\', UNKNOWN])
}

#[cfg(test)]
mod tests {
    use super::super::calls;
    use super::*;
    use crate::adopt::shell;

    fn one(arguments: &str) -> BootstrapCall {
        let text = format!("/etc/eks/bootstrap.sh demo --kubelet-extra-args {arguments}\n");
        calls(&shell::read(&text)).remove(0)
    }

    #[test]
    fn the_kubelet_gets_what_systemd_reads() {
        for (arguments, passed, ignored, note) in [
            ("'--a=\"b\",\"c\" --d'", Some("--a=\"b\",\"c\" --d"), None, None),
            ("\"--a=b \\\n --c\"", Some("--a=b  --c"), None, None),
            ("'--a=b \\\n--c'", Some("--a=b  --c"), None, None),
            (
                "'--a=b\n --c'",
                None,
                Some("--a=b\n --c"),
                Some("has a line break"),
            ),
            ("\"--a=b's\"", None, Some("--a=b's"), Some("has no end")),
            (
                "\"'--a=b --c=d'\"",
                Some("--a=b"),
                Some("--c=d"),
                Some("systemd ignores `--c=d` behind the next blank"),
            ),
            (
                "\"--a='b' --c\"",
                Some("--a=b --c"),
                None,
                Some("systemd 219 of Amazon Linux 2 ignores that line"),
            ),
            ("\"--a='$(x)\"", Some("--a='\u{e000}"), None, None),
        ] {
            let call = one(arguments);
            assert_eq!(call.passed_arguments().as_deref(), passed, "{arguments}");
            assert_eq!(call.ignored_arguments().as_deref(), ignored, "{arguments}");
            let found = call.drop_in_note(" (line 1)", true);
            assert_eq!(found.is_some(), note.is_some(), "{arguments}: {found:?}");
            let found = found.unwrap_or_default();
            assert!(found.contains(note.unwrap_or_default()), "{arguments}: {found}");
        }
        let of_variable = one("\"'--a=b\"").drop_in_note("", false).unwrap();
        assert!(of_variable.contains("use an array"), "{of_variable}");
    }
}
