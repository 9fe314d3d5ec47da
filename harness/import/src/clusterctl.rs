//! Templates of clusterctl, which fills in `${NAME}` with envsubst.

use std::collections::BTreeMap;

use crate::error::ImportError;
use crate::words::set_option;

const COMMAND: &str = "`clusterctl generate cluster NAME --from FILE > manifests.yaml`";
/// Keys whose values are never those of a script.
const KEYS: [&str; 5] = ["name:", "instanceType:", "region:", "version:", "replicas:"];
/// What stands between a name and its default, which also takes the place of an empty value.
const DEFAULTS: [&str; 3] = [":=", ":-", "="];

/// Whether manifests of Cluster API are a template: `${NAME}` in other values may belong to a script.
pub(crate) fn is_template(text: &str) -> bool {
    text.lines().any(is_open)
}

fn is_open(line: &str) -> bool {
    let line = line.trim_start();
    line.contains("${") && KEYS.iter().any(|key| line.starts_with(key))
}

/// The text with values in place of the names that have a default.
pub(crate) fn with_defaults(text: &str, set: &BTreeMap<String, String>) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        // `$${` stands for `${` itself.
        match with_default(after).filter(|_| !before.ends_with('$')) {
            Some((name, default, behind)) => {
                let value = set.get(name).filter(|value| !value.is_empty());
                filled.push_str(value.map_or(default, String::as_str));
                rest = behind;
            }
            None => {
                filled.push_str("${");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// The name and the default at the beginning of a text behind `${`, and what is behind both.
fn with_default(text: &str) -> Option<(&str, &str, &str)> {
    let (inside, behind) = text.split_once('}')?;
    let (name, rest) = inside.split_at(name_length(inside));
    let default = DEFAULTS.iter().find_map(|sign| rest.strip_prefix(*sign))?;
    let is_plain = !name.is_empty() && !default.contains("${");
    is_plain.then_some((name, default, behind))
}

fn name_length(text: &str) -> usize {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.find(|c| !is_of_name(c)).unwrap_or(text.len())
}

/// Rejects manifests of Cluster API in which a name is not filled in.
///
/// # Errors
/// Names the first one, and gives the options for those without more than a name.
pub(crate) fn check(text: &str) -> Result<(), ImportError> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| is_open(line));
    let Some((number, line)) = lines.next() else {
        return Ok(());
    };
    let expressions = |line| expressions(line).into_iter();
    let all: Vec<&str> = expressions(line)
        .chain(lines.flat_map(|(_, line)| expressions(line)))
        .collect();
    let mut options: Vec<String> = Vec::new();
    let is_name = |inside: &&&str| !inside.is_empty() && name_length(inside) == inside.len();
    for name in all.iter().filter(is_name) {
        let option = set_option(name);
        if !options.contains(&option) {
            options.push(option);
        }
    }
    let render = format!("render it with {COMMAND}, and give the result");
    Err(ImportError::Invalid {
        line: Some(number),
        column: None,
        problem: format!(
            "a template of clusterctl that is not rendered yet: `${{{}}}` is not filled in",
            all.first().copied().unwrap_or_default()
        ),
        hint: match &options[..] {
            [] => render,
            [one] => format!("give its value, `{one}`, or {render}"),
            several => format!("give the values, `{}`, or {render}", several.join(" ")),
        },
    })
}

/// What is between `${` and `}` in a line.
fn expressions(line: &str) -> Vec<&str> {
    let parts = line.split("${").skip(1);
    parts.map(|part| part.split('}').next().unwrap_or(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_default_have_a_value() {
        let set = BTreeMap::from([
            ("A".to_owned(), "own".to_owned()),
            ("EMPTY".to_owned(), String::new()),
        ]);
        for (text, expected) in [
            (
                "version: \"${V:=v1.7.5-eksbuild.1}\"",
                "version: \"v1.7.5-eksbuild.1\"",
            ),
            ("${V:-x}-${V=y}", "x-y"),
            ("${A:=x}", "own"),
            ("${EMPTY:=x}", "x"),
            ("${V:=}", ""),
            ("$${V:=x}", "$${V:=x}"),
            ("${V}", "${V}"),
            ("${V:0:54}", "${V:0:54}"),
            ("${V:=${W}}", "${V:=${W}}"),
            ("${V:=x", "${V:=x"),
        ] {
            assert_eq!(with_defaults(text, &set), expected, "{text}");
        }
    }

    #[test]
    fn a_refusal_names_what_is_not_filled_in() {
        let refused = |text: &str| {
            let error = check(text).unwrap_err();
            format!("{error}: {}", error.hint())
        };
        let cut = refused("kind: A\n  name: ${CLUSTER_NAME:0:54}\n");
        assert!(
            cut.starts_with(
                "line 2: a template of clusterctl that is not rendered yet: `${CLUSTER_NAME:0:54}` is not filled in: render it with"
            ),
            "{cut}"
        );
        let several = refused("name: \"${A}-x\"\nother: ${X}\nregion: ${B}\nreplicas: ${A}\n");
        assert!(
            several.contains(
                "`${A}` is not filled in: give the values, `--set A=VALUE --set B=VALUE`, or render it with"
            ),
            "{several}"
        );
        assert!(check("other: ${X}\n").is_ok());
    }
}
