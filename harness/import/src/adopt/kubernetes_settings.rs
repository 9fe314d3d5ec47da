//! Which lines of Bottlerocket's settings are those of Kubernetes.

const KUBERNETES: &str = "settings.kubernetes";

/// Reads the lines of settings in their order.
#[derive(Debug, Default)]
pub(super) struct KubernetesLines {
    /// The table that the lines so far began.
    table: String,
}

impl KubernetesLines {
    /// Whether a line is one of `settings.kubernetes`.
    pub(super) fn read(&mut self, line: &str) -> bool {
        let text = line.replace([' ', '\t', '"', '\''], "");
        if let Some(table) = text.strip_prefix('[') {
            let table = table.trim_start_matches('[');
            self.table = table.split(']').next().unwrap_or_default().to_owned();
        }
        let key = text.split('=').next().unwrap_or_default();
        let path = match self.table.as_str() {
            "" => key.to_owned(),
            table => format!("{table}.{key}"),
        };
        let below = path.strip_prefix(KUBERNETES);
        below.is_some_and(|below| below.is_empty() || below.starts_with('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_belongs_to_the_table_before_it() {
        let text = "settings.kubernetes.a = 1\nsettings.motd = 1\n[settings]\nkubernetes.b = 1\nkubernetes-x = 1\n\
                    [settings.kubernetes]\nc = 1\n[ settings . \"kubernetes\" . node-labels ]\n'a/b' = 'c'\n\
                    [settings.ntp]\nd = 1\n[[settings.kubernetes.x]]\ne = 1\n";
        let mut lines = KubernetesLines::default();
        let own: Vec<&str> = text
            .lines()
            .filter(|line| lines.read(line) && !line.starts_with('['))
            .collect();
        let expected = [
            "settings.kubernetes.a = 1",
            "kubernetes.b = 1",
            "c = 1",
            "'a/b' = 'c'",
            "e = 1",
        ];
        assert_eq!(own, expected);
    }
}
