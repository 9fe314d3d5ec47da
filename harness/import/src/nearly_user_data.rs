//! Texts that are almost user data: a NodeConfig of another API group, settings of Bottlerocket below another name, an
//! indented MIME message, and bytes that are not UTF-8.

use crate::error::ImportError;
use crate::known_fields::meant;
use crate::text;
use crate::tree::Tree;

const API: &str = "node.eks.aws/v1alpha1";
const KIND: &str = "NodeConfig";
/// What only a NodeConfig of nodeadm has.
const OF_CLUSTER: [&str; 2] = ["apiServerEndpoint", "certificateAuthority"];

/// A NodeConfig of another API group, which nodeadm rejects. Other programs have such a kind, too.
pub(crate) fn node_config_of_other_group(document: &Tree) -> Option<ImportError> {
    if document.text_at(&["kind"])? != KIND {
        return None;
    }
    let api = document.text_at(&["apiVersion"]).unwrap_or_default();
    let cluster = document.at(&["spec", "cluster"]);
    let is_of_nodeadm =
        || cluster.is_some_and(|cluster| OF_CLUSTER.iter().any(|key| cluster.get(key).is_some()));
    if api.starts_with("node.eks.aws/") || !(api.contains("eks") || is_of_nodeadm()) {
        return None;
    }
    let is = match api.as_str() {
        "" => "missing".to_owned(),
        _ => format!("`{api}`"),
    };
    Some(ImportError::Invalid {
        line: document.get("apiVersion").unwrap_or(document).line(),
        column: None,
        problem: format!("nodeadm rejects the NodeConfig: its `apiVersion` is {is}, and `{API}` is expected"),
        hint: format!("write `apiVersion: {API}`"),
    })
}

/// Settings of Bottlerocket whose table has another name, such as `[setting.kubernetes]`.
pub(crate) fn misspelt_settings(content: &str) -> Option<ImportError> {
    let table = text::settings(content).ok()?;
    let is_settings = |(name, value): &(&String, &toml::Value)| {
        let is_near = name.as_str() != "settings" && meant(name, ["settings"].into_iter()).is_some();
        is_near && value.get("kubernetes").is_some_and(toml::Value::is_table)
    };
    let (name, _) = table.iter().find(is_settings)?;
    let line = content.lines().position(|line| line.contains(name.as_str()));
    Some(ImportError::Invalid {
        line: line.map(|index| index + 1),
        column: None,
        problem: format!(
            "Bottlerocket rejects the user data: it has a table `{name}` and none with the name `settings`"
        ),
        hint: "write `[settings.kubernetes]`".to_owned(),
    })
}

/// A MIME message whose lines begin with blanks, as a here-document of another file has it. Python takes the first line
/// for the rest of one before it, and finds no header.
pub(crate) fn indented_message(content: &str) -> Option<ImportError> {
    let mut lines = (1..)
        .zip(content.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    let (number, first) = lines.next()?;
    let header = first.trim_start();
    let is_header = ["mime-version:", "content-type: multipart/"]
        .iter()
        .any(|begin| header.to_ascii_lowercase().starts_with(begin));
    let blanks = first.len() - header.len();
    if !is_header || blanks == 0 || !lines.all(|(_, line)| line.starts_with([' ', '\t'])) {
        return None;
    }
    Some(ImportError::Invalid {
        line: Some(number),
        column: None,
        problem: "the MIME message is indented: cloud-init finds no header in it, takes it for plain text and runs nothing of it"
            .to_owned(),
        hint: format!(
            "remove the first {blanks} characters of each line, as `cut -c{}-` does",
            blanks + 1
        ),
    })
}

/// User data with a byte that is not UTF-8, at this offset. `None`: the bytes are something else.
pub(crate) fn not_utf8(bytes: &[u8], at: usize) -> Option<ImportError> {
    let content = String::from_utf8_lossy(bytes);
    let is_text = !bytes.contains(&0) && (text::format(&content).is_some() || text::joins(&content));
    let byte = bytes.get(at).filter(|_| is_text)?;
    let before = String::from_utf8_lossy(bytes.get(..at)?);
    Some(ImportError::Invalid {
        line: Some(before.matches('\n').count() + 1),
        column: None,
        problem: format!("the byte {byte:02x} is not UTF-8, and nodejoin reads files in UTF-8 only"),
        hint: "save the file as UTF-8, such as with `iconv -f ISO-8859-1 -t UTF-8`".to_owned(),
    })
}
