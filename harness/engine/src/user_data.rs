//! User data of a node: rendered for the metadata service, and split into files and scripts for nodes without
//! cloud-init.

use nodejoin_core::plan::Plan;
use nodejoin_core::user_data::{self, Values};
use nodejoin_node::{DirectUserData, LaidFile, UserDataScript};

use crate::error::EngineError;

/// Splits user data into the files and scripts that cloud-init would write and run.
pub(crate) fn parse_user_data(bytes: &[u8]) -> DirectUserData {
    let parsed = user_data::parse(bytes);
    let files = parsed.cloud_config().files.into_iter();
    let scripts = parsed.scripts().into_iter();
    DirectUserData {
        files: files
            .map(|file| LaidFile {
                path: file.path,
                mode: file.mode,
                content: file.content,
            })
            .collect(),
        scripts: scripts
            .map(|script| UserDataScript {
                name: script.name,
                content: script.content,
            })
            .collect(),
    }
}

/// The bytes of the plan's user data with all values filled in; `None` for a plan without user data.
pub(crate) fn render(plan: &Plan, certificate_authority: &str) -> Result<Option<Vec<u8>>, EngineError> {
    let Some(user_data) = &plan.user_data else {
        return Ok(None);
    };
    let rendered = user_data::render(user_data, &values(plan, certificate_authority));
    rendered.map(Some).map_err(|source| EngineError::UserData {
        scenario: plan.id.to_string(),
        source,
    })
}

/// The values that user data can name. Generates the keys behind the identity document only when user data names their
/// certificates.
pub(crate) fn values(plan: &Plan, certificate_authority: &str) -> Values {
    let values = Values::of(plan, certificate_authority);
    if !plan.user_data.as_ref().is_some_and(user_data::names_identity) {
        return values;
    }
    let certificates = nodejoin_fake_aws::identity::certificates();
    values.with_identity(&certificates.rsa, &certificates.dsa, &certificates.rsa2048)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    #[test]
    fn cloud_config_becomes_files_and_scripts() {
        let text = "#cloud-config\nwrite_files:\n- { path: /etc/x, permissions: '0600', content: hello }\nruncmd: [[echo, hi]]\n";
        let parsed = parse_user_data(text.as_bytes());
        assert_eq!(parsed.files.len(), 1);
        assert_eq!(
            (parsed.files[0].path.as_str(), parsed.files[0].mode),
            ("/etc/x", 0o600)
        );
        assert_eq!(parsed.scripts.len(), 1);
        assert_eq!(parsed.scripts[0].name, "runcmd");
    }

    #[test]
    fn a_shell_script_is_one_script() {
        let parsed = parse_user_data(b"#!/bin/bash\necho hi\n");
        assert!(parsed.files.is_empty());
        assert_eq!(parsed.scripts.len(), 1);
        assert_eq!(parsed.scripts[0].content, b"#!/bin/bash\necho hi\n");
    }

    #[test]
    fn rendered_user_data_holds_the_cluster_s_name_and_authority() {
        let plan = plan(
            "name: x\ncluster: { name: demo }\nuser_data: 'join {{ cluster.name }} {{ cluster.certificate_authority }}'\n",
        );
        let text = render(&plan, "PEM").unwrap().unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("join demo "), "{text}");
    }

    #[test]
    fn a_plan_without_user_data_renders_nothing() {
        let mut plan = plan("name: x\n");
        plan.user_data = None;
        assert_eq!(render(&plan, "PEM").unwrap(), None);
    }
}
