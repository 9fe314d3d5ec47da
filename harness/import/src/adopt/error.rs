//! Why a machine cannot be tried. Each error has a next step.

use super::name_marks::{is_mark, name_of_erb};
use super::placeholders::{Placeholder, is_format};
use crate::error::ImportError;
use crate::words::value_to_set;

/// A machine that cannot be tried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdoptError {
    #[error("the user data of `{machine}` has values that are not filled in: {}", list(.placeholders))]
    Placeholders {
        machine: String,
        placeholders: Vec<Placeholder>,
    },
    #[error("`{machine}` runs {system}, which nodejoin does not start")]
    UnsupportedSystem {
        machine: String,
        system: &'static str,
        hint: &'static str,
    },
    /// EKS rejects the user data of a managed node group, or no instance can read it.
    #[error("{0}")]
    Rejected(ImportError),
}

impl AdoptError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Placeholders { placeholders, .. } => {
                if placeholders
                    .iter()
                    .all(|placeholder| is_format(&placeholder.text))
                {
                    return "a program prints the user data with these values: save what it prints, and give that".to_owned();
                }
                let mut values: Vec<String> = Vec::new();
                for placeholder in placeholders {
                    let name = name_of(&placeholder.text);
                    // In a text in quotes of the shell.
                    let quoted = name.replace('\'', "'\\''");
                    let value = format!("--set '{quoted}={}'", value_to_set(name));
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                format!(
                    "render the file with its tool, or give the values: {}",
                    values.join(" ")
                )
            }
            Self::UnsupportedSystem { hint, .. } => (*hint).to_owned(),
            Self::Rejected(error) => error.hint(),
        }
    }
}

/// The name by which `--set` fills in a place.
fn name_of(text: &str) -> &str {
    match name_of_erb(text) {
        Some(name) => name,
        None if is_mark(text) => text,
        None => text.trim_matches(|c: char| "${}<> ".contains(c)),
    }
}

fn list(placeholders: &[Placeholder]) -> String {
    let texts: Vec<String> = placeholders
        .iter()
        .map(|placeholder| format!("{} `{}`", placeholder.place, placeholder.text))
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_names_the_machine_and_the_next_step() {
        let placeholder = |line, text: &str| Placeholder {
            line,
            place: format!("line {line}"),
            text: text.to_owned(),
        };
        let error = AdoptError::Placeholders {
            machine: "web".to_owned(),
            placeholders: vec![placeholder(3, "<cluster-name>"), placeholder(7, "${var.ca}")],
        };
        assert_eq!(
            error.to_string(),
            "the user data of `web` has values that are not filled in: line 3 `<cluster-name>`, line 7 `${var.ca}`"
        );
        assert!(
            error
                .hint()
                .ends_with("--set 'cluster-name=VALUE' --set 'var.ca={{ cluster.certificate_authority }}'"),
            "{}",
            error.hint()
        );
        let printed = AdoptError::Placeholders {
            machine: "web".to_owned(),
            placeholders: vec![placeholder(3, "%s")],
        };
        assert!(
            printed.hint().starts_with("a program prints"),
            "{}",
            printed.hint()
        );
        let marked = AdoptError::Placeholders {
            machine: "web".to_owned(),
            placeholders: vec![
                placeholder(3, "%CLUSTER%"),
                placeholder(4, "<%= @ca %>"),
                placeholder(5, "{{ f('a') }}"),
                placeholder(6, "${{ inputs.cluster }}"),
            ],
        };
        assert!(
            marked.hint().ends_with(
                "--set '%CLUSTER%=VALUE' --set '@ca={{ cluster.certificate_authority }}' --set '{{ f('\\''a'\\'') }}=VALUE' \
                 --set 'inputs.cluster=VALUE'"
            ),
            "{}",
            marked.hint()
        );
        let error = AdoptError::UnsupportedSystem {
            machine: "web".to_owned(),
            system: "Windows",
            hint: "a hint",
        };
        assert_eq!(
            error.to_string(),
            "`web` runs Windows, which nodejoin does not start"
        );
        assert_eq!(error.hint(), "a hint");
    }
}
