//! Why a machine cannot be tried. Each error has a next step.

use super::placeholders::Placeholder;
use crate::error::ImportError;

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
    /// EKS rejects the user data of a managed node group.
    #[error("{0}")]
    Rejected(ImportError),
}

impl AdoptError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Placeholders { placeholders, .. } => {
                let mut values: Vec<String> = Vec::new();
                for placeholder in placeholders {
                    let value = format!("--set '{}=VALUE'", name_of(&placeholder.text));
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
    text.trim_matches(|c: char| "${}<> ".contains(c))
}

fn list(placeholders: &[Placeholder]) -> String {
    let texts: Vec<String> = placeholders
        .iter()
        .map(|placeholder| format!("line {} `{}`", placeholder.line, placeholder.text))
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
                .ends_with("give the values: --set 'cluster-name=VALUE' --set 'var.ca=VALUE'"),
            "{}",
            error.hint()
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
