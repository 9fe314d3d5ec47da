//! Directives of template engines in user data, such as `{% if gpu %}`: nothing on an instance evaluates them.

use crate::error::ImportError;
use crate::here_document::HereDocument;
use crate::{mime, template};

/// The keywords of Terraform, and of Ruby in ERB.
const OF_TERRAFORM: [&str; 5] = ["if", "else", "endif", "for", "endfor"];
const OF_RUBY: [&str; 10] = [
    "if", "unless", "else", "elsif", "end", "case", "when", "for", "while", "until",
];

/// What evaluates a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DirectiveOf {
    Terraform,
    /// Jinja or ERB.
    OtherEngine,
}

/// Rejects a script of a shell, or a message, with a directive. A script can write one into a file.
pub(crate) fn check_user_data(name: &str, text: &str) -> Result<(), ImportError> {
    let first = text.lines().next().unwrap_or_default();
    let is_script = first.starts_with("#!") && first.contains("sh");
    // cloud-init evaluates those of Jinja in parts of a message.
    let is_message = mime::is_mime(text);
    if !is_script && !is_message {
        return Ok(());
    }
    let mut document: Option<HereDocument> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match &document {
            Some(begun) if line.trim() == begun.end => document = None,
            Some(_) => {}
            None => match directive(line).filter(|of| is_script || *of == DirectiveOf::Terraform) {
                Some(of) => return Err(error(name, number, of)),
                None => document = HereDocument::begun(line),
            },
        }
    }
    Ok(())
}

/// Rejects a text with a directive that is YAML without it. A script can contain such a text.
pub(crate) fn check_yaml(name: &str, text: &str) -> Result<(), ImportError> {
    if text.lines().any(|line| HereDocument::begun(line).is_some()) {
        return Ok(());
    }
    let mut lines = (1..).zip(text.lines());
    match lines.find_map(|(number, line)| Some((number, directive(line)?))) {
        Some((number, of)) => Err(error(name, number, of)),
        None => Ok(()),
    }
}

fn error(name: &str, line: usize, of: DirectiveOf) -> ImportError {
    match of {
        DirectiveOf::Terraform => template::of_terraform(name, line),
        DirectiveOf::OtherEngine => template::of_engine(line),
    }
}

/// The directive of a line that is not a comment.
fn directive(line: &str) -> Option<DirectiveOf> {
    let code = line.trim_start();
    if code.starts_with('#') {
        return None;
    }
    let is_jinja = code.starts_with("{%") && code.contains("%}");
    if has_terraform(line) {
        return Some(DirectiveOf::Terraform);
    }
    (is_jinja || has_erb(line)).then_some(DirectiveOf::OtherEngine)
}

/// Whether a line has a directive such as `%{ if gpu ~}`. `%%{` is a text, and curl has names such as `%{http_code}`.
fn has_terraform(line: &str) -> bool {
    let mut places = line
        .match_indices("%{")
        .filter(|(at, _)| !line[..*at].ends_with('%'));
    places.any(|(at, begin)| {
        let inside = line[at + begin.len()..].trim_start_matches('~').trim_start();
        let (word, rest) = first_word(inside);
        OF_TERRAFORM.contains(&word) && rest.starts_with([' ', '~', '}']) && rest.contains('}')
    })
}

/// Whether a line has a directive such as `<% if gpu -%>`. `<%= gpu %>` is a value.
fn has_erb(line: &str) -> bool {
    let mut places = line.match_indices("<%");
    places.any(|(at, begin)| {
        let Some((inside, _)) = line[at + begin.len()..].split_once("%>") else {
            return false;
        };
        let inside = inside.trim_matches(['-', ' ']);
        let (word, rest) = first_word(inside);
        let has_block = inside.ends_with(" do") || inside.contains(" do |");
        let is_keyword = OF_RUBY.contains(&word) && (rest.is_empty() || rest.starts_with(' '));
        !inside.starts_with(['=', '#', '%']) && (is_keyword || has_block)
    })
}

fn first_word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphabetic());
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_told_from_texts_of_a_shell() {
        for line in [
            "%{ if gpu }",
            "%{if gpu}",
            "  %{~ for label in labels ~}",
            "x \"prod\" %{ if labels != \"\" ~}--y%{ endif ~}",
            "%{ endif ~}",
            "%{else}",
        ] {
            assert_eq!(directive(line), Some(DirectiveOf::Terraform), "{line}");
        }
        for line in [
            "{% if gpu %}",
            "  {%- endif %}",
            "<% if gpu %>",
            "<%- end -%>",
            "x <% unless @gpu -%>--y<% end %>",
            "<% labels.each do |label| %>",
        ] {
            assert_eq!(directive(line), Some(DirectiveOf::OtherEngine), "{line}");
        }
        for line in [
            "curl -w '%{http_code} %{format}' x",
            "rpm -q --qf '%{NAME}' x",
            "echo '%%{ if gpu }'",
            "# %{ if gpu }",
            "echo ${A%.*} ${B%{}",
            "/etc/eks/bootstrap.sh <%= @cluster %> <%# end %>",
            "awk '{ print }' <%end",
            "printf '%{ iffy }'",
        ] {
            assert_eq!(directive(line), None, "{line}");
        }
    }
}
