//! The AMI family that user data is written for, if it is not that of the node image: a NodeConfig on `al2`, or a call
//! of `bootstrap.sh` on `al2023`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::parse::{Parsed, SHELL, is_node_config, parse};
use crate::plan::{ImageSource, Plan};

/// The script by which nodes of Amazon Linux 2 join.
const BOOTSTRAP: &str = "/etc/eks/bootstrap.sh";
/// The program by which nodes of Amazon Linux 2023 join.
const NODEADM: &str = "/nodeadm";
/// Words before the name of a program that a line of a script calls.
const PREFIXES: [&str; 10] = ["exec", "sudo", "bash", "sh", "-x", "-e", "-ex", "time", "if", "!"];

/// User data for another AMI family than that of the node image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherFamily {
    /// A NodeConfig, and an image without nodeadm.
    NodeConfigOnAl2,
    /// A script that calls `bootstrap.sh`, and an image on which it only fails.
    BootstrapScriptOnAl2023,
}

impl OtherFamily {
    /// What does not fit, in one sentence.
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Self::NodeConfigOnAl2 => {
                "the user data is a NodeConfig for nodeadm of Amazon Linux 2023, and the node image `al2` has no nodeadm"
            }
            Self::BootstrapScriptOnAl2023 => {
                "the user data calls /etc/eks/bootstrap.sh of Amazon Linux 2, which the node image `al2023` replaces by nodeadm"
            }
        }
    }

    /// The image that the user data is for.
    #[must_use]
    pub fn image(self) -> &'static str {
        match self {
            Self::NodeConfigOnAl2 => "al2023",
            Self::BootstrapScriptOnAl2023 => "al2",
        }
    }

    /// What to change.
    #[must_use]
    pub fn remedy(self, plan: &Plan) -> String {
        let change = match self {
            _ if !plan.is_ami_stated => return plan.key_hint(&format!("image: {}", self.image())),
            Self::NodeConfigOnAl2 => {
                "call /etc/eks/bootstrap.sh in place of the NodeConfig, or name an AMI of Amazon Linux 2023"
            }
            Self::BootstrapScriptOnAl2023 => {
                "write a NodeConfig in place of the call, or name an AMI of Amazon Linux 2"
            }
        };
        format!("{change} in {}, which decides the AMI", plan.file)
    }

    /// The line for a run that is about to boot the node. A scenario that expects a failure gets none.
    #[must_use]
    pub fn warning(plan: &Plan) -> Option<String> {
        let other = Self::of(plan).filter(|_| plan.causes().next().is_none())?;
        let hint = other.remedy(plan);
        Some(format!("warning: {}: {}\n  do: {hint}", plan.file, other.what()))
    }

    /// Compares the user data of a plan with its image. Only built-in images are known, and an overlay that brings the
    /// program makes them fit. User data that mentions the script in other ways may create it.
    #[must_use]
    pub fn of(plan: &Plan) -> Option<Self> {
        let ImageSource::BuiltIn(image) = plan.image.source() else {
            return None;
        };
        let brings = |end: &str| plan.image.added().any(|file| file.to.ends_with(end));
        let found = match image {
            "al2" if !brings(NODEADM) => Self::NodeConfigOnAl2,
            // An overlay with nodeadm has the script of Amazon Linux 2023, which only fails.
            "al2023" if !brings(BOOTSTRAP) || brings(NODEADM) => Self::BootstrapScriptOnAl2023,
            _ => return None,
        };
        let bytes = STANDARD.decode(&plan.user_data.as_ref()?.base64).ok()?;
        let parsed = parse(&bytes);
        let calls = calls_bootstrap(&parsed);
        let mut configs = parsed.parts.iter().filter(|part| is_node_config(&part.content));
        let is_for_other = match found {
            // A script with a NodeConfig may bring nodeadm, too.
            Self::NodeConfigOnAl2 => calls == Some(false) && configs.any(|part| part.mime != SHELL),
            Self::BootstrapScriptOnAl2023 => calls == Some(true) && configs.next().is_none(),
        };
        is_for_other.then_some(found)
    }
}

/// Whether the scripts call `bootstrap.sh`; `None` if they mention it in other ways.
fn calls_bootstrap(parsed: &Parsed) -> Option<bool> {
    let is_written = parsed
        .cloud_config()
        .files
        .iter()
        .any(|file| file.path == BOOTSTRAP);
    let scripts = parsed.scripts();
    let texts = scripts
        .iter()
        .map(|script| String::from_utf8_lossy(&script.content));
    let mut calls = false;
    for text in texts {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        for line in lines.filter(|line| line.contains(BOOTSTRAP)) {
            if !is_call(line) {
                return None;
            }
            calls = true;
        }
    }
    (!is_written).then_some(calls)
}

/// Whether the first program of a line is the script, once.
fn is_call(line: &str) -> bool {
    let mut words = line.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
    let first = words.find(|word| !PREFIXES.contains(word) && !word.contains('='));
    first == Some(BOOTSTRAP) && line.matches(BOOTSTRAP).count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ImagePlan, OverlayFile};

    const CONFIG: &str = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n";
    const CALL: &str = "#!/bin/bash\nset -e\n/etc/eks/bootstrap.sh demo\n";

    fn of(image: &str, user_data: &str, overlay: Option<&str>) -> Option<OtherFamily> {
        OtherFamily::of(&plan(image, user_data, overlay))
    }

    fn plan(image: &str, user_data: &str, overlay: Option<&str>) -> Plan {
        let mut plan = crate::testing::plan();
        plan.image = ImagePlan::named(image);
        plan.image.overlay.extend(overlay.map(|to| OverlayFile {
            from: "/x".to_owned(),
            to: to.to_owned(),
            mode: 0o755,
            removed: false,
            may_be_missing: false,
            patched: None,
        }));
        plan.user_data = Some(crate::plan::UserDataPlan {
            engine: crate::plan::UserDataEngine::CloudInit,
            base64: STANDARD.encode(user_data),
            gzip: false,
            replace: None,
            is_translated: false,
        });
        plan
    }

    #[test]
    fn a_run_warns_before_the_node_boots_unless_a_failure_is_expected() {
        let mut plan = plan("al2", CONFIG, None);
        let warning = OtherFamily::warning(&plan).unwrap();
        assert!(
            warning.starts_with("warning: ") && warning.contains("has no nodeadm\n  do: "),
            "{warning}"
        );
        assert!(warning.contains("image: al2023"), "{warning}");
        plan.is_ami_stated = true;
        let warning = OtherFamily::warning(&plan).unwrap();
        assert!(
            warning.contains("name an AMI of Amazon Linux 2023 in demo.yaml") && !warning.contains("image:"),
            "{warning}"
        );
        plan.expect.diagnosis = Some(crate::vocabulary::cause::Cause::WrongAmiFamily);
        assert_eq!(OtherFamily::warning(&plan), None);
    }

    #[test]
    fn each_family_is_recognized_on_the_image_of_the_other() {
        let mime = format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: application/node.eks.aws\n\n\
             {CONFIG}\n--B--\n"
        );
        assert_eq!(of("al2", CONFIG, None), Some(OtherFamily::NodeConfigOnAl2));
        assert_eq!(of("al2", &mime, None), Some(OtherFamily::NodeConfigOnAl2));
        assert_eq!(of("al2023", CONFIG, None), None);
        assert_eq!(
            of("al2023", CALL, None),
            Some(OtherFamily::BootstrapScriptOnAl2023)
        );
        let in_cloud_config = "#cloud-config\nruncmd:\n  - /etc/eks/bootstrap.sh demo\n";
        let found = Some(OtherFamily::BootstrapScriptOnAl2023);
        assert_eq!(of("al2023", in_cloud_config, None), found);
        assert_eq!(of("al2", CALL, None), None);
    }

    #[test]
    fn overlays_other_images_and_scripts_that_write_the_program_are_not_reported() {
        assert_eq!(of("al2", CONFIG, Some("/usr/bin/nodeadm")), None);
        assert_eq!(of("al2023", CALL, Some("/etc/eks/bootstrap.sh")), None);
        assert_eq!(of("my-ami:1", CONFIG, None), None);
        // A checkout of the AMI has the program and the script that only fails.
        let mut plan = plan("al2023", CALL, Some("/etc/eks/bootstrap.sh"));
        let nodeadm = OverlayFile {
            to: "/usr/bin/nodeadm".to_owned(),
            ..plan.image.overlay[0].clone()
        };
        plan.image.overlay.push(nodeadm);
        let found = Some(OtherFamily::BootstrapScriptOnAl2023);
        assert_eq!(OtherFamily::of(&plan), found);
        let writes = "#!/bin/bash\ncurl -o /etc/eks/bootstrap.sh https://x\n/etc/eks/bootstrap.sh demo\n";
        assert_eq!(of("al2023", writes, None), None);
        let checks = "#!/bin/bash\n[ -x /etc/eks/bootstrap.sh ] && /etc/eks/bootstrap.sh demo\n";
        assert_eq!(of("al2023", checks, None), None);
        let comment = "#!/bin/bash\n# /etc/eks/bootstrap.sh demo\necho\n";
        assert_eq!(of("al2023", comment, None), None);
    }
}
