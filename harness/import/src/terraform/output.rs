//! Texts as `terraform output` without `-raw` and `terraform console` print them: in quotes, or as a here-document if
//! they have several lines.

use crate::error::ImportError;

/// The first characters of the word that ends a here-document. Terraform adds `_` if the text has a line of them.
const END: &str = "EOT";

/// The one text of such an output; `None` for anything else.
///
/// # Errors
/// The output has more than one text, or it is not complete.
pub(crate) fn printed_text(output: &str) -> Result<Option<String>, ImportError> {
    let lines: Vec<&str> = output.lines().collect();
    let Some(first) = lines.iter().position(|line| !line.trim().is_empty()) else {
        return Ok(None);
    };
    if let Some(text) = quoted(output) {
        return Ok(Some(text));
    }
    let Some(start) = Start::of(lines[first]) else {
        return Ok(None);
    };
    let body = &lines[first + 1..];
    let Some(end) = body.iter().position(|line| line.trim() == start.end) else {
        let problem = format!(
            "a here-document of Terraform without the line `{}` at its end",
            start.end
        );
        return Err(invalid(first + 1, problem));
    };
    if body[end + 1..].iter().any(|line| !line.trim().is_empty()) {
        let problem = "the output of Terraform has more than one value".to_owned();
        return Err(invalid(first + end + 3, problem));
    }
    Ok(Some(without_indentation(&body[..end], start.is_indented)))
}

/// The line with which a here-document begins.
struct Start<'a> {
    end: &'a str,
    is_indented: bool,
}

impl<'a> Start<'a> {
    /// Reads `<<EOT`, and `NAME = <<EOT` of an output among others. A shell has no blanks around `=`.
    fn of(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let value = match line.split_once(" = ") {
            Some((name, value)) if name.bytes().all(is_of_name) => value,
            Some(_) => return None,
            None => line,
        };
        let word = value.strip_prefix("<<")?;
        let end = word.strip_prefix('-').unwrap_or(word);
        let is_end = end
            .strip_prefix(END)
            .is_some_and(|rest| rest.bytes().all(|byte| byte == b'_'));
        is_end.then_some(Self {
            end,
            is_indented: word.starts_with('-'),
        })
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

fn without_indentation(lines: &[&str], is_indented: bool) -> String {
    let blanks = |line: &&&str| line.len() - line.trim_start_matches(' ').len();
    let written = lines.iter().filter(|line| !line.trim().is_empty());
    let indentation = match is_indented {
        true => written
            .clone()
            .map(|line| blanks(&line))
            .min()
            .unwrap_or_default(),
        false => 0,
    };
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.get(indentation..).unwrap_or_default())
        .collect();
    lines.join("\n")
}

/// A text in quotes, which has one line.
fn quoted(output: &str) -> Option<String> {
    let output = output.trim();
    let is_one = output.len() > 1 && output.starts_with('"') && output.ends_with('"');
    // Escapes of Go that JSON lacks are those of bytes that no user data has.
    serde_json::from_str(output).ok().filter(|_| is_one)
}

fn invalid(line: usize, problem: String) -> ImportError {
    ImportError::Invalid {
        line: Some(line),
        column: None,
        problem,
        hint: "print the text alone, as the instance receives it: `terraform output -raw NAME > user-data`"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(output: &str) -> Option<String> {
        printed_text(output).unwrap()
    }

    #[test]
    fn the_text_of_an_output_is_found() {
        let script = Some("#!/bin/bash\necho 'a'\n".to_owned());
        assert_eq!(text("<<EOT\n#!/bin/bash\necho 'a'\n\nEOT\n"), script);
        assert_eq!(text("\n<<EOT\r\n#!/bin/bash\r\necho 'a'\r\n\r\nEOT\r\n"), script);
        assert_eq!(text("user_data = <<EOT\n#!/bin/bash\necho 'a'\n\nEOT\n"), script);
        assert_eq!(
            text("<<-EOT\n    #!/bin/bash\n    echo 'a'\n    \n    EOT"),
            script
        );
        assert_eq!(
            text("<<EOT_\ncat <<EOT\nx\nEOT\nEOT_\n").as_deref(),
            Some("cat <<EOT\nx\nEOT")
        );
        assert_eq!(
            text("\"IyEvYmluL2Jhc2g=\"\n").as_deref(),
            Some("IyEvYmluL2Jhc2g=")
        );
    }

    #[test]
    fn other_texts_are_not_outputs() {
        for other in [
            "",
            "#!/bin/bash\ncat <<EOT\nx\nEOT\n",
            "<<EOF\nx\nEOF\n",
            "A=<<EOT\nx\nEOT\n",
            "\"",
            "{\"a\": \"b\"}",
        ] {
            assert_eq!(text(other), None, "{other}");
        }
    }

    #[test]
    fn several_values_and_cut_ones_are_refused() {
        for (output, problem) in [
            (
                "a = <<EOT\nx\ny\nEOT\nb = \"c\"\n",
                "line 5: the output of Terraform has more than one value",
            ),
            (
                "<<EOT\nx\n",
                "line 1: a here-document of Terraform without the line `EOT`",
            ),
        ] {
            let error = printed_text(output).unwrap_err();
            assert!(error.to_string().starts_with(problem), "{error}");
            assert!(error.hint().contains("`terraform output -raw NAME > user-data`"));
        }
    }
}
