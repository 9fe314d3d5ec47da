//! Names of the template behind `$` without braces, which `Fn::Sub` leaves as they are.

use super::template::Template;
use crate::tree::Tree;
use crate::words::shortened;

/// What comes before a name to which a script gives a value.
const SETTERS: [&str; 4] = ["read ", "read -r ", "for ", "getopts "];

/// A name without braces, and its line.
struct UnbracedName<'t> {
    name: &'t str,
    line: &'t str,
}

impl Template<'_> {
    /// Says which names of the template remain in the user data, if nothing else gives them a value.
    pub(super) fn unbraced_names(&self, field: &Tree, user_data: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        self.add_unbraced(field, &mut found);
        // A condition can leave a text out.
        let user_data = String::from_utf8_lossy(user_data);
        found.retain(|one| user_data.contains(&format!("${}", one.name)));
        let mut problems: Vec<String> = found.iter().map(UnbracedName::problem).collect();
        problems.dedup();
        problems
    }

    fn add_unbraced<'t>(&self, tree: &'t Tree, found: &mut Vec<UnbracedName<'t>>) {
        for (key, value) in tree.entries() {
            if key == "Fn::Sub" {
                self.add_of_text(value, found);
            }
            self.add_unbraced(value, found);
        }
        tree.items()
            .iter()
            .for_each(|item| self.add_unbraced(item, found));
    }

    /// `argument`: a text, or a text and a mapping of names.
    fn add_of_text<'t>(&self, argument: &'t Tree, found: &mut Vec<UnbracedName<'t>>) {
        let text = argument.text().or_else(|| argument.items().first()?.text());
        let own = argument.items().get(1).map(Tree::entries).unwrap_or_default();
        let Some(text) = text.filter(|text| !reads_other_file(text)) else {
            return;
        };
        let is_code = |line: &&str| !line.trim_start().starts_with('#');
        for line in text.lines().filter(is_code) {
            for name in names(line) {
                let is_own = own.iter().any(|(key, _)| key == name);
                if (is_own || self.has_name(name)) && !is_set(text, name) {
                    found.push(UnbracedName { name, line });
                }
            }
        }
    }

    fn has_name(&self, name: &str) -> bool {
        let is_parameter = self.document.at(&["Parameters", name]).is_some();
        is_parameter || self.resource(name).is_some() || self.pseudo(name).is_some()
    }
}

impl UnbracedName<'_> {
    fn problem(&self) -> String {
        let name = self.name;
        format!(
            "`${name}` stays as it is in `{}`: `Fn::Sub` fills in names in braces alone; write `${{{name}}}`",
            shortened(self.line.trim())
        )
    }
}

/// Whether a script reads another file, which can give names their values.
fn reads_other_file(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| line.starts_with("source ") || line.starts_with(". "))
}

/// The names behind `$` in a line, such as `Cluster` and `AWS::Region`.
fn names(line: &str) -> Vec<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names = Vec::new();
    for (at, _) in line.match_indices('$') {
        let rest = &line[at + 1..];
        let length = |text: &str| text.find(|c| !is_of_name(c)).unwrap_or(text.len());
        let mut end = length(rest);
        if let Some(second) = rest[end..].strip_prefix("::") {
            end += 2 + length(second);
        }
        let is_escaped = line[..at].ends_with(['$', '\\']);
        if end > 0 && !is_escaped {
            names.push(&rest[..end]);
        }
    }
    names
}

/// Whether a script gives a variable a value.
fn is_set(text: &str, name: &str) -> bool {
    let is_assigned = text.match_indices(&format!("{name}=")).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| !c.is_ascii_alphanumeric() && !"_$-".contains(c))
    });
    is_assigned
        || SETTERS
            .iter()
            .any(|setter| text.contains(&format!("{setter}{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_behind_a_dollar_are_read_as_a_shell_does() {
        for (line, expected) in [
            ("name: $Cluster", &["Cluster"][..]),
            ("a $Cluster.Endpoint $AWS::Region", &["Cluster", "AWS::Region"]),
            ("${Cluster} $$Cluster \\$Cluster $( $", &[]),
            ("$Clusters", &["Clusters"]),
        ] {
            assert_eq!(names(line), expected, "{line}");
        }
        for (text, expected) in [
            ("Cluster=x\necho $Cluster", true),
            ("export Cluster=$(x)", true),
            ("read -r Cluster", true),
            ("for Cluster in a b", true),
            ("--Cluster=x", false),
            ("MyCluster=x", false),
            ("name: $Cluster", false),
        ] {
            assert_eq!(is_set(text, "Cluster"), expected, "{text}");
        }
    }
}
