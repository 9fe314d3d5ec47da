//! Scripts whose first line is not the one that their author means.

use nodejoin_core::user_data::{Parsed, Part};

use super::unhandled_parts::{CLOUD_CONFIG, SHELL};
use crate::mime;
use crate::source_lines::SourceLines;
use crate::text::has_cloud_config_keys;

const CONFIG: &str = "#cloud-config";

/// A sentence for each such script.
pub(super) fn mistakes(user_data: &str, parsed: &Parsed, lines: &SourceLines<'_>) -> Vec<String> {
    let has_types = mime::is_mime(user_data);
    let scripts = parsed.parts.iter().filter(|part| part.mime.starts_with(SHELL));
    scripts
        .filter_map(|part| {
            let text = String::from_utf8_lossy(&part.content);
            words_of_env(&text, part, lines).or_else(|| behind_script(&text, part, has_types, lines))
        })
        .collect()
}

/// The cloud-config behind the first line of a script, if the user data is such a text.
pub(super) fn config_behind_script(user_data: &str) -> Option<String> {
    let (first, rest) = user_data.split_once('\n')?;
    (first.starts_with("#!") && number_of_config(user_data).is_some()).then(|| rest.trim_start().to_owned())
}

/// The line, from 1, with the first line of a cloud-config directly behind that of a script.
fn number_of_config(text: &str) -> Option<usize> {
    let mut lines = (1..).zip(text.lines());
    lines.next().filter(|(_, first)| first.starts_with("#!"))?;
    let (number, line) = lines.find(|(_, line)| !line.trim().is_empty())?;
    let is_config = line.trim().eq_ignore_ascii_case(CONFIG) && has_cloud_config_keys(text);
    is_config.then_some(number)
}

fn behind_script(text: &str, part: &Part, has_types: bool, lines: &SourceLines<'_>) -> Option<String> {
    let number = number_of_config(text)?;
    let first = text.lines().next()?.trim();
    let place = lines.place(text, number, &part.name);
    let and_type = match has_types {
        true => format!(", and write `Content-Type: {CLOUD_CONFIG}`"),
        false => String::new(),
    };
    Some(format!(
        "`{CONFIG}` in {place} is behind `{first}`: cloud-init runs the text as a script, whose keys are not commands; remove `{first}`\
         {and_type}"
    ))
}

/// The kernel passes the words behind the program as one.
fn words_of_env(text: &str, part: &Part, lines: &SourceLines<'_>) -> Option<String> {
    let first = text.lines().next()?.trim();
    let (program, words) = first.strip_prefix("#!")?.trim().split_once([' ', '\t'])?;
    let words = words.trim();
    let (name, options) = words.split_once([' ', '\t'])?;
    // `env -S` splits them, and `env NAME=VALUE` finds a variable in them.
    if program.rsplit('/').next() != Some("env") || words.starts_with('-') || words.contains('=') {
        return None;
    }
    let place = lines.place(text, 1, &part.name);
    let advice = match name {
        "bash" | "sh" => format!("write `#!/bin/{name} {}`", options.trim()),
        _ => format!("write the path of {name} in place of `{program}`"),
    };
    Some(format!(
        "`{first}` ({place}): the kernel passes `{words}` to `env` as one word, and no program has that name (exit code 127), so nothing of \
         the script runs; {advice}"
    ))
}

#[cfg(test)]
mod tests {
    use nodejoin_core::user_data::parse;

    use super::*;

    fn found(text: &str) -> Vec<String> {
        mistakes(text, &parse(text.as_bytes()), &SourceLines::default())
    }

    #[test]
    fn options_of_a_program_that_env_does_not_find_are_named() {
        assert_eq!(
            found("#! /usr/bin/env bash -ex\necho\n"),
            [
                "`#! /usr/bin/env bash -ex` (line 1 of part-001): the kernel passes `bash -ex` to `env` as one word, and no program has that \
                 name (exit code 127), so nothing of the script runs; write `#!/bin/bash -ex`"
            ]
        );
        assert!(
            found("#!/usr/bin/env python3 -u\nprint()\n")[0]
                .ends_with("write the path of python3 in place of `/usr/bin/env`")
        );
        for right in [
            "#!/bin/bash -ex\n",
            "#!/usr/bin/env bash\n",
            "#!/usr/bin/env bash \n",
            "#!/usr/bin/env -S bash -ex\n",
            "#!/usr/bin/env A=b bash\n",
            "#!/bin/sh -e -u\n",
        ] {
            assert_eq!(found(&format!("{right}echo\n")), [""; 0], "{right}");
        }
    }

    #[test]
    fn a_cloud_config_behind_the_first_line_of_a_script_is_named() {
        let text = "#!/bin/bash\n\n#cloud-config\nruncmd:\n- echo\n";
        assert_eq!(
            found(text),
            [
                "`#cloud-config` in line 3 of part-001 is behind `#!/bin/bash`: cloud-init runs the text as a script, whose keys are not \
                 commands; remove `#!/bin/bash`"
            ]
        );
        assert_eq!(
            config_behind_script(text).as_deref(),
            Some("#cloud-config\nruncmd:\n- echo\n")
        );
        let part = format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\n\n{text}\n--B--\n"
        );
        assert!(
            found(&part)[0].ends_with("remove `#!/bin/bash`, and write `Content-Type: text/cloud-config`")
        );
        for right in [
            "#cloud-config\nruncmd:\n- echo\n",
            "#!/bin/bash\necho\n#cloud-config\nruncmd:\n",
            "#!/bin/bash\n#cloud-config\necho\n",
            "#!/bin/bash\n",
        ] {
            assert_eq!(
                (found(right), config_behind_script(right)),
                (Vec::new(), None),
                "{right}"
            );
        }
    }
}
