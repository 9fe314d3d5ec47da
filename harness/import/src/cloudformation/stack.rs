//! The stack that `cfn-init` on a machine reads.

use super::template::Template;
use crate::template_stack::{TemplateResource, TemplateStack};
use crate::tree::Tree;

/// Programs that read the metadata of resources.
const READERS: [&str; 3] = ["cfn-init", "cfn-get-metadata", "cfn-hup"];
/// What lets a stack wait for signals.
const POLICIES: [&str; 2] = ["CreationPolicy", "UpdatePolicy"];
const GROUP: &str = "AWS::AutoScaling::AutoScalingGroup";

impl Template<'_> {
    /// The stack of the template, if the user data reads metadata of its resources, and notes about those that cannot
    /// be evaluated.
    pub(super) fn stack(&self, user_data: Option<&[u8]>) -> (Option<TemplateStack>, Vec<String>) {
        let text = String::from_utf8_lossy(user_data.unwrap_or_default());
        if !READERS.iter().any(|reader| text.contains(reader)) {
            return (None, Vec::new());
        }
        let mut notes = Vec::new();
        let mut stack = TemplateStack {
            name: self.pseudo("AWS::StackName").unwrap_or_default(),
            ..TemplateStack::default()
        };
        for (id, resource) in self.resources() {
            let holds = resource.get("Condition").map(|name| self.condition(name));
            if let Some(Ok(false)) = holds {
                continue;
            }
            let kind = resource.text_at(&["Type"]).unwrap_or_default();
            if kind == GROUP || POLICIES.iter().any(|policy| resource.get(policy).is_some()) {
                stack.signalled.push(id.clone());
            }
            let metadata = resource.get("Metadata").map(|metadata| self.evaluate(metadata));
            let metadata = metadata.transpose().unwrap_or_else(|error| {
                notes.push(format!(
                    "`cfn-init` does not find the metadata of `{id}`, which cannot be read from the template: {error}"
                ));
                None
            });
            stack.resources.push(TemplateResource {
                id: id.clone(),
                kind,
                metadata: metadata.as_ref().map(Tree::to_json),
            });
        }
        (Some(stack), notes)
    }
}
