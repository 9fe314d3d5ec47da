//! The script that is changed, and its place in the plans of scenarios.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nodejoin_core::observation::ScriptTrace;
use nodejoin_core::plan::sources::LineMap;
use nodejoin_core::plan::{OverlayFile, PatchedFile, Plan};
use nodejoin_core::run::exit_code::ExitCode;

use super::embedded;
use crate::process;

/// A script on this machine.
pub(super) struct TargetScript {
    /// Absolute.
    path: PathBuf,
    pub(super) text: String,
}

impl TargetScript {
    /// Reads a bash script.
    ///
    /// # Errors
    /// The exit code of a file that is unreadable or not a bash script; the reason is printed.
    pub(super) fn read(file: &Path) -> Result<Self, ExitCode> {
        let read = file
            .canonicalize()
            .and_then(|path| Ok((std::fs::read_to_string(&path)?, path)));
        let (text, path) = read.map_err(|error| {
            let hint = "name a bash script that an overlay of the scenarios contains".to_owned();
            process::report_error(
                &format!("could not read `{}`", file.display()),
                &error,
                Some(hint),
            );
            ExitCode::Usage
        })?;
        if !text.lines().next().is_some_and(is_bash) {
            note!(
                "error: {}:1: not a bash script: its first line must name bash, such as `#!/bin/bash`",
                file.display()
            );
            return Err(ExitCode::Usage);
        }
        Ok(Self { path, text })
    }

    /// The text of a line.
    pub(super) fn line(&self, line: u64) -> &str {
        let index = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        self.text.lines().nth(index).unwrap_or_default()
    }

    /// Whether the node of a plan has the script: as a file of an overlay, as its user data or within it.
    pub(super) fn is_in(&self, plan: &Plan) -> bool {
        plan.image.added().any(|file| self.is_file(file)) || self.user_data(plan, &self.text).is_some()
    }

    /// The path of the script on a node that ran it from its image.
    pub(super) fn path_in(&self, trace: &ScriptTrace) -> Option<String> {
        let traced = trace.0.iter().find(|traced| self.is_text(&traced.text))?;
        traced.path.starts_with('/').then(|| traced.path.clone())
    }

    /// Whether this text of a node is the script. Values that a scenario fills in change words, not lines.
    pub(super) fn is_text(&self, text: &str) -> bool {
        let without_end = |text: &str| text.trim_end_matches('\n').to_owned();
        without_end(text) == without_end(&self.text)
            || (self.text.contains("{{") && text.lines().count() == self.text.lines().count())
    }

    /// The plan with another text in place of the script, which is at this path of the image if nothing else has it.
    pub(super) fn replaced(&self, plan: &Plan, text: &str, in_image: Option<&str>) -> Plan {
        let changed = self.user_data(plan, text);
        let mut plan = plan.clone();
        if let Some(path) = in_image.filter(|_| !self.is_in(&plan)) {
            plan.image.overlay.push(self.laid(path, text));
        }
        for file in &mut plan.image.overlay {
            if self.is_file(file) {
                file.patched = Some(self.patched(text));
            }
        }
        if let (Some(changed), Some(user_data)) = (changed, &mut plan.user_data) {
            user_data.base64 = STANDARD.encode(changed);
        }
        plan
    }

    fn laid(&self, path: &str, text: &str) -> OverlayFile {
        OverlayFile {
            from: self.path.display().to_string(),
            to: path.to_owned(),
            mode: MODE,
            removed: false,
            may_be_missing: false,
            patched: Some(self.patched(text)),
        }
    }

    fn patched(&self, text: &str) -> PatchedFile {
        PatchedFile {
            patch: self.path.display().to_string(),
            content: text.to_owned(),
            lines: LineMap::default(),
        }
    }

    fn is_file(&self, file: &OverlayFile) -> bool {
        !file.removed
            && file.patched.is_none()
            && Path::new(&file.from)
                .canonicalize()
                .is_ok_and(|from| from == self.path)
    }

    /// The user data of a plan with another text in place of the script; `None` if it does not contain the script.
    fn user_data(&self, plan: &Plan, text: &str) -> Option<Vec<u8>> {
        let data = STANDARD.decode(&plan.user_data.as_ref()?.base64).ok()?;
        embedded::replaced(&data, &self.text, text)
    }
}

/// Mode of a script in place of one of the image.
const MODE: u32 = 0o755;

fn is_bash(line: &str) -> bool {
    line.starts_with("#!") && line.split(['/', ' ']).any(|word| word == "bash")
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodejoin_core::scenario;

    #[test]
    fn a_script_is_replaced_as_a_file_and_as_user_data() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("join.sh", "#!/bin/bash\na\n");
        write("overlay.yaml", "files: [{ from: join.sh, to: /opt/join.sh }]\n");
        write(
            "a.yaml",
            "name: x\noverlay: overlay.yaml\nuser_data: '#!/bin/sh'\n",
        );
        write("b.yaml", "name: x\nuser_data: { file: join.sh }\n");
        write("c.yaml", "name: x\nuser_data: '#!/bin/sh'\n");
        let disk = process::disk();
        let found = scenario::discover(&[folder.path().to_owned()], &disk).unwrap();
        let plans = scenario::load_all(&found, &disk).unwrap();
        let target = TargetScript::read(&folder.path().join("join.sh")).unwrap();
        let has: Vec<bool> = plans.iter().map(|plan| target.is_in(plan)).collect();
        assert_eq!(has, [true, true, false]);
        let changed = "#!/bin/bash\nb\n";
        let as_file = target.replaced(&plans[0], changed, None);
        assert_eq!(
            as_file.image.overlay[0].patched.as_ref().unwrap().content,
            changed
        );
        assert_eq!(as_file.user_data, plans[0].user_data);
        let as_user_data = target.replaced(&plans[1], changed, None).user_data.unwrap();
        assert_eq!(STANDARD.decode(as_user_data.base64).unwrap(), changed.as_bytes());
        assert_eq!(target.replaced(&plans[2], changed, None), plans[2]);
        let in_image = target.replaced(&plans[2], changed, Some("/etc/join.sh"));
        let [file] = &in_image.image.overlay[..] else {
            panic!("{:?}", in_image.image.overlay)
        };
        assert_eq!((file.to.as_str(), file.mode), ("/etc/join.sh", MODE));
    }

    #[test]
    fn a_script_of_another_shell_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("join");
        for (text, is_bash) in [
            ("#!/usr/bin/env bash\n", true),
            ("#!/bin/bash -eu\n", true),
            ("#!/bin/sh\n", false),
            ("echo\n", false),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(TargetScript::read(&file).is_ok(), is_bash, "{text}");
        }
        assert!(TargetScript::read(&folder.path().join("missing")).is_err());
    }
}
