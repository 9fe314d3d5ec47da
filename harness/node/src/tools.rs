//! The programs with which scripts of the harness run inside a node: those of the image, which the recipes of the
//! harness guarantee, or those of the toolbox, for images that the harness did not build.

use nodejoin_core::observation::ImageFacts;
use nodejoin_docker::{ImageRef, TOOLS};

const IMAGE_SHELL: &str = "/bin/sh";
const SHELL: &str = "/opt/nodejoin/toolbox/bin/sh";
/// Makes the toolbox visible to a script, and to nothing that the script does not start itself.
const PREPARE: &str = "TOOLBOX=/opt/nodejoin/toolbox; export IMAGE_PATH=\"${IMAGE_PATH:-$PATH}\" \
                       PATH=\"/opt/nodejoin/toolbox/bin:$PATH\" XTABLES_LIBDIR=/opt/nodejoin/toolbox/lib/xtables\n";

/// The programs with which scripts of the harness run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tools {
    Image,
    Toolbox,
}

impl Tools {
    pub(crate) fn of(image: &ImageRef) -> Self {
        match image.facts {
            Some(_) => Self::Toolbox,
            None => Self::Image,
        }
    }

    /// The shell for `-c`.
    pub(crate) fn shell(self) -> &'static str {
        match self {
            Self::Image => IMAGE_SHELL,
            Self::Toolbox => SHELL,
        }
    }

    /// Path of `cat`.
    pub(crate) fn cat(self) -> String {
        match self {
            Self::Image => "cat".to_owned(),
            Self::Toolbox => format!("{TOOLS}/cat"),
        }
    }

    /// A script for the shell.
    pub(crate) fn script(self, text: &str) -> String {
        match self {
            Self::Image => text.to_owned(),
            Self::Toolbox => format!("{PREPARE}{text}"),
        }
    }

    /// A script as a file, or a unit: its interpreter is that of the toolbox.
    pub(crate) fn file(self, text: &str) -> String {
        match (self, text.split_once('\n')) {
            (Self::Toolbox, Some((first, rest))) if first.starts_with("#!/bin/") => {
                let shell = first.trim_start_matches("#!/bin/");
                format!("#!{TOOLS}/{shell}\n{PREPARE}{rest}")
            }
            (Self::Toolbox, _) => text.replace("ExecStart=/bin/sh ", &format!("ExecStart={SHELL} ")),
            (Self::Image, _) => text.to_owned(),
        }
    }
}

/// The first systemd that filters the fields of journal entries.
const FILTERS_FIELDS: u32 = 236;

/// The unit that copies the journal, for the systemd of an image: an older one prints all fields.
pub(crate) fn journal_unit(text: &str, facts: Option<&ImageFacts>) -> String {
    let major = facts.and_then(ImageFacts::systemd_major);
    if major.is_none_or(|major| major >= FILTERS_FIELDS) {
        return text.to_owned();
    }
    let is_kept = |word: &&str| !word.starts_with("--output-fields=");
    text.split(' ').filter(is_kept).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: &str = include_str!("../guest/journal.service");

    #[test]
    fn scripts_find_the_toolbox_and_keep_their_text() {
        let script = "#!/bin/bash\n# Comment\nexit 0\n";
        let file = Tools::Toolbox.file(script);
        assert!(
            file.starts_with("#!/opt/nodejoin/toolbox/bin/bash\nTOOLBOX="),
            "{file}"
        );
        assert!(file.ends_with("\n# Comment\nexit 0\n"), "{file}");
        assert_eq!(Tools::Image.file(script), script);
    }

    #[test]
    fn units_start_the_shell_of_the_toolbox() {
        assert!(
            Tools::Toolbox
                .file(UNIT)
                .contains("ExecStart=/opt/nodejoin/toolbox/bin/sh -c")
        );
    }

    #[test]
    fn an_old_systemd_prints_all_fields_of_the_journal() {
        let facts = |version: &str| ImageFacts {
            systemd: Some(version.to_owned()),
            ..ImageFacts::default()
        };
        let old = journal_unit(UNIT, Some(&facts("219")));
        assert!(
            !old.contains("--output-fields") && old.contains("--output=json >"),
            "{old}"
        );
        assert_eq!(journal_unit(UNIT, Some(&facts("257.8"))), UNIT);
        assert_eq!(journal_unit(UNIT, None), UNIT);
    }
}
