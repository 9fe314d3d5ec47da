//! What Bottlerocket rejects: keys that it does not have, and the line of a setting.

use nodejoin_core::vocabulary::nearest::nearest;

use crate::error::ImportError;

/// Settings that a variant for Kubernetes does not have.
pub(super) const OF_ECS: &str = "ecs";

/// Checks the keys of a table. Those that no release is known to have are problems: newer ones may have them.
///
/// # Errors
/// A misspelled key.
pub(super) fn check_keys(
    text: &str,
    path: &str,
    table: &toml::Table,
    known: &[&str],
    problems: &mut Vec<String>,
) -> Result<(), ImportError> {
    for key in table.keys().filter(|key| !known.contains(&key.as_str())) {
        if path == "settings" && key == OF_ECS {
            problems.push(format!(
                "`settings.{OF_ECS}` exists in variants of Bottlerocket for ECS only: one for Kubernetes rejects all of its user data, and the \
                 node does not join"
            ));
            continue;
        }
        match nearest(key, known.iter().copied()).filter(|meant| is_misspelled(key, meant)) {
            Some(meant) => {
                let problem = format!("unknown setting `{path}.{key}`; did you mean `{meant}`?");
                return Err(invalid(text, key, problem));
            }
            None => problems.push(format!(
                "nodejoin knows no setting `{path}.{key}`: if your release of Bottlerocket has none either, it rejects all of its user data, \
                 and the node does not join"
            )),
        }
    }
    Ok(())
}

/// Newer releases know more words: only one that differs in two letters or less is certainly wrong.
pub(crate) fn is_misspelled(word: &str, meant: &str) -> bool {
    strsim::levenshtein(&word.to_lowercase(), &meant.to_lowercase()) <= 2
}

/// An error in the line of a key.
pub(super) fn invalid(text: &str, key: &str, problem: String) -> ImportError {
    let is_key = |line: &str| {
        let line = line.trim_start().trim_start_matches(['[', '"']);
        let rest = line
            .strip_prefix(key)
            .or_else(|| line.rsplit('.').next()?.strip_prefix(key));
        rest.is_some_and(|rest| {
            rest.trim_start_matches('"')
                .trim_start()
                .starts_with(['=', '.', ']'])
        })
    };
    let line = text
        .lines()
        .position(is_key)
        .or_else(|| text.lines().position(|line| line.contains(key)));
    ImportError::Invalid {
        line: line.map(|index| index + 1),
        column: None,
        problem,
        hint: "Bottlerocket rejects all of its user data for one invalid setting; correct the line"
            .to_owned(),
    }
}
