//! A CloudFormation stack, as user data reads it with `cfn-init`.

/// A CloudFormation stack, as far as user data can read it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TemplateStack {
    pub name: String,
    /// All resources of the template.
    pub resources: Vec<TemplateResource>,
    /// Logical ids of the resources that wait for signals.
    pub signalled: Vec<String>,
}

impl TemplateStack {
    /// The commands and files of `cfn-init`.
    pub(crate) fn scripts(&self) -> Vec<String> {
        let mut scripts = Vec::new();
        for resource in &self.resources {
            let metadata = resource.metadata.as_ref();
            let init = metadata.and_then(|metadata| metadata.get("AWS::CloudFormation::Init"));
            let configs = init
                .and_then(serde_json::Value::as_object)
                .into_iter()
                .flat_map(|init| init.values());
            for config in configs {
                let values = |key: &str| {
                    let section = config.get(key).and_then(serde_json::Value::as_object);
                    section.into_iter().flat_map(|section| section.values())
                };
                let contents = values("files").filter_map(|file| file.get("content"));
                let commands = values("commands").filter_map(|command| command.get("command"));
                scripts.extend(contents.chain(commands).filter_map(text_or_words));
            }
        }
        scripts
    }
}

/// A text, or the words of a command.
fn text_or_words(value: &serde_json::Value) -> Option<String> {
    let words = |words: &Vec<serde_json::Value>| {
        let words: Option<Vec<&str>> = words.iter().map(serde_json::Value::as_str).collect();
        words.map(|words| words.join(" "))
    };
    match value {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Array(list) => words(list),
        _ => None,
    }
}

/// A resource of a stack.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateResource {
    /// Logical id.
    pub id: String,
    /// Type, such as `AWS::AutoScaling::AutoScalingGroup`.
    pub kind: String,
    /// The attribute `Metadata`, with the results of its functions. `None`: it has none that can be read.
    pub metadata: Option<serde_json::Value>,
}
