//! Settings of Bottlerocket as tables of TOML.

use std::collections::BTreeMap;

use crate::machine::Taint;

/// The table of a key; a value of another type is replaced.
pub(crate) fn subtable<'a>(table: &'a mut toml::Table, key: &str) -> &'a mut toml::Table {
    let value = table
        .entry(key)
        .or_insert_with(|| toml::Value::Table(toml::Table::new()));
    if !value.is_table() {
        *value = toml::Value::Table(toml::Table::new());
    }
    value.as_table_mut().expect("the value is a table")
}

/// Adds labels to `settings.kubernetes`.
pub(crate) fn set_labels(kubernetes: &mut toml::Table, labels: &BTreeMap<String, String>) {
    if labels.is_empty() {
        return;
    }
    let table = subtable(kubernetes, "node-labels");
    for (key, value) in labels {
        table.insert(key.clone(), value.as_str().into());
    }
}

/// Adds taints to `settings.kubernetes`; those with one key are one list.
pub(crate) fn set_taints(kubernetes: &mut toml::Table, taints: &[Taint]) {
    let mut by_key: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for taint in taints {
        let values = by_key.entry(&taint.key).or_default();
        values.push(format!("{}:{}", taint.value, taint.effect));
    }
    for (key, values) in by_key {
        subtable(kubernetes, "node-taints").insert(key.to_owned(), values.into());
    }
}
