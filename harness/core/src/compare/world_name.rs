//! Names of worlds in the ids of their scenarios.

/// The flags of arguments with short values; the value of a template or of a command says nothing, but for the name of
/// the file that a command writes if it is not that of the flag.
pub(super) fn without_values(arguments: &str) -> String {
    let (before_command, command) = arguments.split_once(" $(").unwrap_or((arguments, ""));
    let file = command.rsplit('/').next().and_then(|file| file.split('.').next());
    let words = before_command
        .split(' ')
        .filter(|word| !word.contains(['{', '}', '.', '"']) || word.starts_with("--"));
    let words: Vec<&str> = words.map(|word| word.trim_start_matches('-')).collect();
    let words = words.join("-");
    match file {
        Some(file) if !words.contains(file) => format!("{words}-{file}"),
        _ => words,
    }
}

/// A name for an id: lower-case letters, digits, `.` and `-`.
pub(super) fn slug(text: &str) -> String {
    let letter = |c: char| match c {
        'a'..='z' | '0'..='9' | '.' => c,
        'A'..='Z' => c.to_ascii_lowercase(),
        _ => '-',
    };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_world_has_the_flags_and_the_file_of_a_command() {
        assert_eq!(
            without_values("--dns 10.0.0.1 --fast --mode none"),
            "dns-fast-mode-none"
        );
        let name =
            |file: &str| without_values(&format!("--config-file $(x > /run/{file}; echo /run/{file})"));
        assert_eq!(name("config.toml"), "config-file");
        assert_eq!(name("indented.toml"), "config-file-indented");
    }
}
