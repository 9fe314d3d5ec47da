//! Templates in which a key appears twice in a mapping.

use super::template::is_template;
use crate::error::ImportError;
use crate::tree::{Tree, yaml, yaml_of_last_keys};

/// The YAML documents of a text, and notes about keys that appear twice in a mapping of a template.
///
/// # Errors
/// The text is not YAML, or a key appears twice in another file than a template.
pub(crate) fn documents(text: &str) -> Result<(Vec<Tree>, Vec<String>), ImportError> {
    let error = match yaml(text) {
        Ok(documents) => return Ok((documents, Vec::new())),
        Err(error) => error,
    };
    match yaml_of_last_keys(text) {
        Ok((documents, repeated)) if documents.len() == 1 && documents.iter().all(is_template) => {
            let notes = repeated.iter().map(|(key, line)| {
                format!(
                    "the key `{key}` appears again in line {line}: CloudFormation takes the last one alone; remove the others"
                )
            });
            Ok((documents, notes.collect()))
        }
        Ok(_) | Err(_) => Err(error),
    }
}
