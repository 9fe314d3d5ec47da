//! Marks of templates that a command of the same script fills in.

use super::name_marks::is_mark;

/// Commands that replace text by patterns.
const EDITORS: [&str; 5] = ["sed", "perl", "ruby", "awk", "gawk"];
/// Signs around the parts of `s/PATTERN/TEXT/`.
pub(super) const SEPARATORS: &str = "/|#,@~!:;^%";
const OPEN: &str = "{{";

/// Whether a command of the text puts a value into the place of a mark, or of `{{ NAME }}`.
pub(super) fn is_replaced(text: &str, mark: &str) -> bool {
    // `${{ NAME }}` of a workflow, too.
    let braces = mark.strip_prefix('$').unwrap_or(mark);
    if braces.starts_with(OPEN) {
        return patterns(text).any(|pattern| is_pattern_of(&pattern, braces));
    }
    let separators = ['/', '|', '#', ',', '@', '~', '!', ':'];
    let mut commands = separators.iter().map(|sign| format!("s{sign}{mark}{sign}"));
    let is_call = |line: &str| line.contains(".replace(") && line.contains(mark);
    is_mark(mark)
        && (commands.any(|command| text.contains(&command))
            || text.contains(&format!("//{mark}/"))
            || text.lines().any(is_call)
            || has_form(text, mark)
            || is_in_variable(text, mark))
}

/// Whether a command that replaces text has marks of this form: their names can be in variables.
fn has_form(text: &str, mark: &str) -> bool {
    let mut forms = ["@@", "__", "%"].into_iter();
    let Some(form) = forms.find(|form| mark.starts_with(*form)) else {
        return false;
    };
    // `%` begins a format, too, as in `%s`.
    let begins = ["%$", "%[", "%(", "%\\"];
    let is_of_form = |line: &str| match form {
        "%" => line.contains(mark) || begins.iter().any(|begin| line.contains(begin)),
        form => line.contains(form),
    };
    text.contains(&format!("//{form}$")) || edits(text).any(is_of_form)
}

/// Whether a text has a command that can fill in marks.
pub(super) fn may_replace(text: &str) -> bool {
    let mut expansions = text.split("${").skip(1);
    EDITORS.iter().any(|name| text.contains(name))
        || text.contains(".replace(")
        || expansions.any(|inside| {
            inside
                .split('}')
                .next()
                .is_some_and(|inside| inside.contains("//"))
        })
}

/// Whether a mark is the value of a variable that is the pattern of a command, as in `KEY=@@NAME@@`, `s|$KEY|demo|`.
fn is_in_variable(text: &str, mark: &str) -> bool {
    let patterns = patterns(text).filter_map(|pattern| {
        let name = pattern.strip_prefix('$')?;
        let inside = name.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
        let name = inside.unwrap_or(name);
        is_name(name).then(|| name.to_owned())
    });
    let mut names = patterns.flat_map(|name| [format!("{name}="), format!("for {name} in ")]);
    let with_mark: Vec<&str> = text.lines().filter(|line| line.contains(mark)).collect();
    names.any(|name| with_mark.iter().any(|line| line.contains(&name)))
}

/// Whether a pattern finds `{{ NAME }}`, also with any blanks, and with a variable in place of the name.
fn is_pattern_of(pattern: &str, place: &str) -> bool {
    let pattern = pattern.replace("\\s", "").replace([' ', '*', '\\'], "");
    pattern.contains(&place.replace(' ', "")) || pattern.contains("{{$")
}

/// The patterns of commands that replace text. What stands in the place of the replacement is none.
fn patterns(text: &str) -> impl Iterator<Item = String> {
    let of_shell = text.split("${").skip(1).filter_map(|inside| {
        let (name, rest) = inside.split_once("//")?;
        let (pattern, _) = rest.split_once('/').filter(|_| is_name(name))?;
        Some(pattern)
    });
    let calls = text.split(".replace(").skip(1).map(first_argument);
    let of_edits = edits(text).flat_map(of_edit);
    of_shell.chain(calls).chain(of_edits).map(str::to_owned)
}

fn is_name(text: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && text.bytes().all(is_of_name)
}

/// The patterns of `s/PATTERN/TEXT/`, `sub(PATTERN, TEXT)` and `gsub(PATTERN, TEXT)` on a line.
fn of_edit(line: &str) -> Vec<&str> {
    let mut found: Vec<&str> = line.split("sub(").skip(1).map(first_argument).collect();
    for (at, _) in line.match_indices('s') {
        let is_in_word = line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "_-".contains(c));
        let mut rest = line[at + 1..].chars();
        let Some(separator) = rest.next().filter(|c| SEPARATORS.contains(*c)) else {
            continue;
        };
        if let Some((pattern, _)) = rest.as_str().split_once(separator).filter(|_| !is_in_word) {
            found.push(pattern);
        }
    }
    found
}

fn first_argument(text: &str) -> &str {
    text.split([',', '\n']).next().unwrap_or_default()
}

/// The lines of commands that replace text: from the command, and those that continue it.
fn edits(text: &str) -> impl Iterator<Item = &str> {
    let (mut is_continued, mut is_quoted) = (false, false);
    text.lines().filter_map(move |line| {
        let edit = match is_continued || is_quoted {
            true => Some(line),
            false => editor_at(line).map(|at| &line[at..]),
        };
        let own = edit.unwrap_or_default();
        // A program in quotes can have several lines.
        is_quoted ^= own.matches('\'').count() % 2 == 1;
        is_continued = own.trim_end().ends_with('\\');
        edit
    })
}

/// Where the first command that replaces text begins on a line.
fn editor_at(line: &str) -> Option<usize> {
    if line.trim_start().starts_with('#') {
        return None;
    }
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let places = EDITORS.iter().flat_map(|name| {
        let places = line.match_indices(name);
        places.filter(move |(at, name)| {
            !line[..*at].ends_with(is_of_word) && line[at + name.len()..].starts_with(char::is_whitespace)
        })
    });
    places.map(|(at, _)| at).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_that_a_command_fills_in_is_not_open() {
        let config = "name: __CLUSTER__\n";
        for command in [
            "sed -i \\\n  -e 's|__CLUSTER__|demo|' /x",
            "echo ${TEXT//__CLUSTER__/demo}",
            "text = text.replace('__CLUSTER__', name)",
            "for k in CLUSTER REGION; do sed -i \"s|__${k}__|${!k}|\" /x; done",
            "awk '\n{ gsub(/__CLUSTER__/, \"demo\") }\n1' /x",
            "KEY=__CLUSTER__; sed -i \"s|$KEY|demo|\" /x",
            "KEY='__CLUSTER__'\nsed -i \"s;${KEY};demo;\" /x",
            "for key in __CLUSTER__ __REGION__; do sed -i \"s|$key|$V|\" /x; done",
            "ruby -pi -e 'gsub(\"__CLUSTER__\",\"demo\")' /x",
        ] {
            assert!(
                is_replaced(&format!("{config}{command}\n"), "__CLUSTER__"),
                "{command}"
            );
        }
        for command in [
            "",
            "sed -i 's/@@REGION@@/x/' /x",
            "# sed -i 's|__CLUSTER__ |demo|' /x",
            "used __CLUSTER__",
            "NAME=__CLUSTER__; sed -i \"s|x|$NAME|\" /x",
        ] {
            assert!(
                !is_replaced(&format!("{config}{command}\n"), "__CLUSTER__"),
                "{command}"
            );
        }
        assert!(!is_replaced("s/<cluster>/x/", "<cluster>"));
    }

    #[test]
    fn percent_signs_are_also_those_of_formats() {
        let config = "name: %CLUSTER%\n";
        for (command, is_filled) in [
            ("ruby -pi -e 'gsub(\"%CLUSTER%\",\"demo\")' /x", true),
            ("perl -pi -e 's{%CLUSTER%}{demo}g' /x", true),
            ("sed -i \"s|%$k%|${!k}|\" /x", true),
            ("awk '{ printf \"%s\", $1 }' /x", false),
            ("sed -i \"s|x|$(date +%F)|\" /x", false),
        ] {
            let text = format!("{config}{command}\n");
            assert_eq!(is_replaced(&text, "%CLUSTER%"), is_filled, "{command}");
        }
    }

    #[test]
    fn braces_are_replaced_where_they_are_the_pattern() {
        for (command, is_filled) in [
            ("sed -i 's/{{CLUSTER}}/demo/g' /x", true),
            ("sed -i \"s|name: {{ CLUSTER }}|name: demo|\" /x", true),
            ("sed -i -E 's/\\{\\{ *CLUSTER *\\}\\}/demo/' /x", true),
            ("for k in CLUSTER; do sed -i \"s|{{ $k }}|${!k}|\" /x; done", true),
            ("awk '{ gsub(/{{CLUSTER}}/, \"demo\") } 1' /x", true),
            ("echo \"${TEXT//{{CLUSTER}}/demo}\"", true),
            ("text = text.replace('{{CLUSTER}}', name)", true),
            ("sed -i 's/demo/{{ CLUSTER }}/' /x", false),
            ("sed -i 's/{{OTHER}}/demo/' /x", false),
            ("curl https://{{ CLUSTER }}/x", false),
            ("echo {{ CLUSTER }}", false),
        ] {
            assert_eq!(is_replaced(command, "{{CLUSTER}}"), is_filled, "{command}");
        }
    }
}
