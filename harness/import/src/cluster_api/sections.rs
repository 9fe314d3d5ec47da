//! Fields that become sections of a cloud-config: files, time servers, users, disks, mounts.

use serde_json::{Map, Value, json};

use crate::tree::Tree;

/// Fields of a user, each with its key of cloud-config.
const USER: &[(&str, &str)] = &[
    ("name", "name"),
    ("passwd", "passwd"),
    ("gecos", "gecos"),
    ("groups", "groups"),
    ("homeDir", "homedir"),
    ("inactive", "inactive"),
    ("lockPassword", "lock_passwd"),
    ("shell", "shell"),
    ("primaryGroup", "primary_group"),
    ("sudo", "sudo"),
    ("sshAuthorizedKeys", "ssh_authorized_keys"),
];
/// Fields of a partition table.
const PARTITION: &[(&str, &str)] = &[
    ("tableType", "table_type"),
    ("layout", "layout"),
    ("overwrite", "overwrite"),
];
/// Fields of a file system.
const FILESYSTEM: &[(&str, &str)] = &[
    ("label", "label"),
    ("filesystem", "filesystem"),
    ("device", "device"),
    ("partition", "partition"),
    ("overwrite", "overwrite"),
    ("replaceFS", "replace_fs"),
    ("extraOpts", "extra_opts"),
];

/// `files` as cloud-init writes them. Those whose content is in a Secret are left empty.
pub(super) fn files(spec: &Tree) -> Vec<Value> {
    spec.items_at(&["files"]).iter().map(file).collect()
}

fn file(file: &Tree) -> Value {
    let mut own = Map::new();
    for key in ["path", "owner", "permissions", "encoding"] {
        if let Some(value) = file.text_at(&[key]) {
            own.insert(key.to_owned(), value.into());
        }
    }
    if file.get("append").is_some_and(Tree::is_true) {
        own.insert("append".to_owned(), true.into());
    }
    // A block scalar ends with a line end.
    let content = file.text_at(&["content"]).unwrap_or_default();
    own.insert(
        "content".to_owned(),
        format!("{}\n", content.trim_end_matches('\n')).into(),
    );
    own.into()
}

/// The other sections of the cloud-config.
pub(super) fn sections(spec: &Tree) -> String {
    let users = renamed_all(spec.items_at(&["users"]), USER);
    let filesystems = renamed_all(spec.items_at(&["diskSetup", "filesystems"]), FILESYSTEM);
    let partitions = spec.items_at(&["diskSetup", "partitions"]).iter();
    let disks: Map<String, Value> = partitions
        .filter_map(|partition| Some((partition.text_at(&["device"])?, renamed(partition, PARTITION))))
        .collect();
    let same = |key: &str| spec.get(key).map_or(Value::Null, Tree::to_json);
    [
        ("ntp", same("ntp")),
        ("users", users),
        ("disk_setup", disks.into()),
        ("fs_setup", filesystems),
        ("mounts", same("mounts")),
    ]
    .iter()
    .filter(|(_, value)| ![Value::Null, json!([]), json!({})].contains(value))
    .map(|(section, value)| format!("{section}: {value}\n"))
    .collect()
}

fn renamed_all(items: &[Tree], fields: &[(&str, &str)]) -> Value {
    items.iter().map(|item| renamed(item, fields)).collect()
}

fn renamed(item: &Tree, fields: &[(&str, &str)]) -> Value {
    let known = fields
        .iter()
        .filter_map(|(field, key)| Some(((*key).to_owned(), item.get(field)?.to_json())));
    Value::Object(known.collect())
}
