//! The lines of a file that decide whether a place of it runs, and with what.

use std::collections::BTreeSet;

/// The most lines that set one variable or call one function: of more, none says much.
const MOST_OF_A_NAME: usize = 8;

/// The lines of a file that enclose the place at an index, that set a variable of its lines, or that call a function
/// which encloses it.
pub(super) fn surroundings(file: &[&str], at: usize, place: &[&str]) -> Vec<String> {
    let enclosing = enclosing(file, at, place);
    let used = place.iter().chain(&enclosing).copied();
    let variables: BTreeSet<&str> = used.flat_map(variables).collect();
    let functions = enclosing.iter().filter_map(|line| defined_function(line));
    let sets = |line: &str| set_variable(line).is_some_and(|name| variables.contains(name));
    let mut lines: Vec<&str> = enclosing.clone();
    lines.extend(of_names(file, sets));
    for function in functions {
        let calls = |line: &str| {
            let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c));
            defined_function(line).is_none() && words.any(|word| word == function)
        };
        lines.extend(of_names(file, calls));
    }
    lines.into_iter().map(str::to_owned).collect()
}

fn of_names<'f>(file: &[&'f str], is_of: impl Fn(&str) -> bool) -> Vec<&'f str> {
    let found = file.iter().copied().filter(|line| is_of(line));
    found.take(MOST_OF_A_NAME).collect()
}

/// The lines before a place that are indented less, from the inside to the outside.
fn enclosing<'f>(file: &[&'f str], at: usize, place: &[&str]) -> Vec<&'f str> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let with_text = |line: &&str| !line.trim().is_empty();
    let own = place.iter().copied().filter(with_text);
    let mut depth = own.map(indent).min().unwrap_or_default();
    let mut found = Vec::new();
    for line in file.iter().take(at).rev().copied().filter(with_text) {
        if depth == 0 {
            break;
        }
        if indent(line) < depth {
            depth = indent(line);
            found.push(line);
        }
    }
    found
}

/// The variables that a line of a shell script uses.
fn variables(line: &str) -> impl Iterator<Item = &str> {
    line.split('$').skip(1).filter_map(|rest| {
        let rest = rest.trim_start_matches('{');
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        (!name.is_empty()).then_some(name)
    })
}

/// The variable that a line sets.
fn set_variable(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let words = ["local ", "export ", "declare ", "readonly "];
    let line = words
        .iter()
        .find_map(|word| line.strip_prefix(word))
        .unwrap_or(line);
    let (name, _) = line.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some(name)
}

/// The function whose definition begins at a line.
fn defined_function(line: &str) -> Option<&str> {
    let line = line.trim();
    let name = match line.strip_prefix("function ") {
        Some(rest) => rest.split(['(', ' ', '{']).next()?,
        None => line.split_once("()")?.0,
    };
    let name = name.trim();
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "#!/bin/bash
get_address() {
  local family=$1

  if [[ $family == ipv6 ]]; then
    echo \"$MAC\"
  fi
}
MAC=$(metadata mac)
OTHER=1
address=$(get_address \"$IP_FAMILY\")
";

    fn around(text: &str) -> Vec<String> {
        let file: Vec<&str> = SCRIPT.lines().collect();
        let at = file.iter().position(|line| line.contains(text)).unwrap();
        surroundings(&file, at, &[file[at]])
    }

    #[test]
    fn a_line_is_surrounded_by_its_conditions_its_variables_and_its_callers() {
        let found = around("echo");
        let found: Vec<&str> = found.iter().map(|line| line.trim()).collect();
        let expected = [
            "if [[ $family == ipv6 ]]; then",
            "get_address() {",
            "local family=$1",
            "MAC=$(metadata mac)",
            "address=$(get_address \"$IP_FAMILY\")",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_line_that_nothing_encloses_has_its_variables_alone() {
        assert_eq!(around("OTHER=1"), Vec::<String>::new());
        assert_eq!(around("address=$("), Vec::<String>::new());
    }
}
