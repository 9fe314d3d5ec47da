//! The configuration of containerd in a NodeConfig.

use super::types::{FieldType, WrongType, wrong};
use crate::adopt::shell::UNKNOWN;
use crate::tree::Tree;

/// The configuration, if it is not TOML: nodeadm merges it with its own (v20260304: `combineContainerdConfigs`).
pub(super) fn not_toml(document: &Tree) -> Option<WrongType<'_>> {
    const KEY: &str = "config";
    let value = document.at(&["spec", "containerd", KEY])?;
    let text = value.text()?;
    let is_filled_in = text.contains([UNKNOWN, '$', '<']) || text.contains("{{");
    if is_filled_in || wrong(value, FieldType::Text).is_some() {
        return None;
    }
    let error = toml::from_str::<toml::Table>(text).err()?;
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| before.matches('\n').count() + 1);
    let line = line
        .map(|line| format!(" in its line {line}"))
        .unwrap_or_default();
    let message = error.message().lines().next().unwrap_or_default();
    Some(WrongType {
        by: "nodeadm ends before it starts the kubelet",
        field: format!("spec.containerd.{KEY}"),
        key: KEY.to_owned(),
        value,
        what: format!("is not valid TOML: {message}{line}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::yaml;

    fn what(config: &str) -> Option<String> {
        let lines: String = config.lines().map(|line| format!("      {line}\n")).collect();
        let text = format!("spec:\n  containerd:\n    config: |\n{lines}");
        let document = yaml(&text).unwrap().remove(0);
        not_toml(&document).map(|wrong| wrong.what)
    }

    #[test]
    fn a_configuration_that_is_not_toml_is_found_with_its_line() {
        let wrong =
            what("[plugins.\"io.containerd.grpc.v1.cri\".registry]\nconfig_path = /etc/containerd/certs.d\n");
        let wrong = wrong.unwrap();
        assert!(
            wrong.starts_with("is not valid TOML: ") && wrong.ends_with(" in its line 2"),
            "{wrong}"
        );
        for right in [
            "version = 3\n[plugins.'io.containerd.cri.v1.images']\ndiscard_unpacked_layers = false\nx = { a = [1, 2] }\n",
            "config_path = $DIR\n",
            "config_path = {{ path }}\n",
        ] {
            assert_eq!(what(right), None, "{right}");
        }
    }
}
