//! Pieces of Markdown.

/// A table. Cells are Markdown; line ends and bars in them are escaped.
pub(crate) fn table<const N: usize>(heads: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut text = row(heads.map(str::to_owned));
    text.push_str(&row([const { "---" }; N].map(str::to_owned)));
    rows.into_iter().for_each(|cells| text.push_str(&row(cells)));
    text
}

fn row<const N: usize>(cells: [String; N]) -> String {
    format!("| {} |\n", cells.map(|text| cell(&text)).join(" | "))
}

fn cell(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    outside_code(&text.replace('|', "\\|"))
}

/// Plain text as Markdown: `<` starts no element outside code.
pub(crate) fn outside_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(index, part)| match index % 2 {
        0 => part.replace('<', "&lt;"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Text as code.
pub(crate) fn code(text: &str) -> String {
    format!("`{text}`")
}

/// The anchor that mdBook and GitHub give a heading.
pub(crate) fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'))
        .map(|char| if char == ' ' { '-' } else { char })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_stays_in_its_column() {
        let text = table(["a"], [["one\n| <two> `<three>`".to_owned()]]);
        assert_eq!(text, "| a |\n| --- |\n| one \\| &lt;two> `<three>` |\n");
    }

    #[test]
    fn anchors_are_those_of_a_browser() {
        assert_eq!(anchor("A cluster that you run"), "a-cluster-that-you-run");
        assert_eq!(anchor("`nodejoin aws set`"), "nodejoin-aws-set");
    }
}
