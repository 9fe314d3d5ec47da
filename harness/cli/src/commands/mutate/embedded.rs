//! A script within user data that writes it: as lines, in JSON or base64, with gzip or without.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// Shortest text that may be a script in base64.
const SHORTEST: usize = 40;
/// Most layers of encoding around a script.
const LAYERS: u8 = 4;
/// Longest user data without gzip, in bytes.
const LONGEST: u64 = 1 << 20;

/// User data with another script in place of one that it contains; `None` if it does not contain it.
pub(super) fn replaced(data: &[u8], script: &str, by: &str) -> Option<Vec<u8>> {
    let script = script.trim_end_matches('\n');
    let by = by.trim_end_matches('\n');
    (!script.is_empty())
        .then(|| replaced_in(data, script, by, LAYERS))
        .flatten()
}

fn replaced_in(data: &[u8], script: &str, by: &str, layers: u8) -> Option<Vec<u8>> {
    let layers = layers.checked_sub(1)?;
    if data.starts_with(&[0x1f, 0x8b]) {
        let mut text = Vec::new();
        MultiGzDecoder::new(data)
            .take(LONGEST)
            .read_to_end(&mut text)
            .ok()?;
        let changed = replaced_in(&text, script, by, layers)?;
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&changed).ok()?;
        return gzip.finish().ok();
    }
    let text = std::str::from_utf8(data).ok()?;
    let changed = as_lines(text, script, by)
        .or_else(|| in_json(text, script, by))
        .or_else(|| in_base64(text, script, by, layers))?;
    Some(changed.into_bytes())
}

/// Whole lines, each behind the same indentation, as in a block of YAML.
fn as_lines(text: &str, script: &str, by: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let of_script: Vec<&str> = script.split('\n').collect();
    let (at, indent) = (0..lines.len()).find_map(|at| {
        let indent = lines[at].strip_suffix(of_script[0])?;
        let rest = lines.get(at..at + of_script.len())?;
        let is_line = |(line, expected): (&&str, &&str)| {
            (line.strip_prefix(indent) == Some(*expected)) || (line.is_empty() && expected.is_empty())
        };
        (indent.trim().is_empty() && rest.iter().zip(&of_script).all(is_line)).then_some((at, indent))
    })?;
    let indented = by.split('\n').map(|line| match line {
        "" => String::new(),
        line => format!("{indent}{line}"),
    });
    let before = lines[..at].iter().map(|line| (*line).to_owned());
    let after = lines[at + of_script.len()..]
        .iter()
        .map(|line| (*line).to_owned());
    Some(before.chain(indented).chain(after).collect::<Vec<_>>().join("\n"))
}

/// A text of JSON.
fn in_json(text: &str, script: &str, by: &str) -> Option<String> {
    let escaped = |text: &str| {
        let quoted = serde_json::to_string(text).ok()?;
        Some(quoted[1..quoted.len() - 1].to_owned())
    };
    let script = escaped(script)?;
    text.contains(&script)
        .then(|| Some(text.replace(&script, &escaped(by)?)))
        .flatten()
}

/// A word in base64, or lines of it.
fn in_base64(text: &str, script: &str, by: &str, layers: u8) -> Option<String> {
    let mut start = 0;
    while let Some(found) = text[start..].find(is_letter) {
        let from = start + found;
        let words = words_from(text, from);
        let changed = words.iter().rev().find_map(|(to, word)| {
            let data = STANDARD.decode(word).ok()?;
            Some((*to, replaced_in(&data, script, by, layers)?))
        });
        if let Some((to, changed)) = changed {
            let encoded = STANDARD.encode(changed);
            return Some(format!("{}{encoded}{}", &text[..from], &text[to..]));
        }
        start = end_of_word(text, from);
    }
    None
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')
}

fn end_of_word(text: &str, from: usize) -> usize {
    text[from..]
        .find(|c| !is_letter(c))
        .map_or(text.len(), |length| from + length)
}

/// The word at a position, and the words that it forms with the lines after it: a part of MIME has lines of 76 letters.
/// Each with its end.
fn words_from(text: &str, from: usize) -> Vec<(usize, String)> {
    let mut to = end_of_word(text, from);
    let mut word = text[from..to].to_owned();
    if word.len() < SHORTEST {
        return Vec::new();
    }
    let mut words = vec![(to, word.clone())];
    while let Some(rest) = text[to..]
        .strip_prefix("\r\n")
        .or_else(|| text[to..].strip_prefix('\n'))
    {
        let line = text.len() - rest.trim_start_matches([' ', '\t']).len();
        let end = end_of_word(text, line);
        if end == line {
            break;
        }
        word.push_str(&text[line..end]);
        to = end;
        words.push((to, word.clone()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "#!/bin/bash\nif a; then\n  b \"$1\"\n\nfi\n";
    const OTHER: &str = "#!/bin/bash\nif a; then\n  :\n\nfi\n";

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    /// User data around a script: whole and gzip, a block of YAML, JSON, base64 of gzip, a part of MIME.
    fn forms(script: &str) -> Vec<Vec<u8>> {
        let indented: String = script
            .lines()
            .map(|line| match line {
                "" => "\n".to_owned(),
                line => format!("    {line}\n"),
            })
            .collect();
        let yaml = format!("#cloud-config\nwrite_files:\n- content: |\n{indented}  path: /x\n");
        let json = format!(
            "#cloud-config\n{{\"write_files\":[{{\"content\":{}}}]}}",
            serde_json::to_string(script).unwrap()
        );
        let encoded = STANDARD.encode(gzip(script.as_bytes()));
        let word =
            format!("#cloud-config\nwrite_files:\n- {{ content: {encoded}, encoding: gz+b64, path: /x }}\n");
        let mime = format!(
            "Content-Transfer-Encoding: base64\n\n{}\n--end--\n",
            STANDARD.encode(script)
        );
        let block = format!("#cloud-config\nwrite_files:\n- content: {encoded}\n  encoding: gz+b64\n");
        let all = [
            block.into_bytes(),
            script.as_bytes().to_vec(),
            gzip(yaml.as_bytes()),
            yaml.into_bytes(),
            json.into_bytes(),
            word.into_bytes(),
        ];
        all.into_iter().chain([mime.into_bytes()]).collect()
    }

    #[test]
    fn a_script_is_replaced_in_each_form_of_user_data() {
        for (data, expected) in forms(SCRIPT).into_iter().zip(forms(OTHER)) {
            let changed = replaced(&data, SCRIPT, OTHER).unwrap();
            let text = String::from_utf8_lossy(&data);
            assert_eq!(
                changed.strip_suffix(b"\n").unwrap_or(&changed),
                expected.strip_suffix(b"\n").unwrap_or(&expected),
                "{text}"
            );
            assert_eq!(replaced(&data, "#!/bin/bash\nother\n", OTHER), None, "{text}");
        }
    }

    #[test]
    fn base64_over_several_lines_is_one_text() {
        let long = format!("{SCRIPT}{}", "echo a line of text\n".repeat(20));
        let encoded = STANDARD.encode(&long);
        let lines: Vec<&str> = (0..encoded.len())
            .step_by(76)
            .map(|at| &encoded[at..encoded.len().min(at + 76)])
            .collect();
        let data = format!(
            "MIME-Version: 1.0\n\n{}\n\nContent-Type: text/plain\n",
            lines.join("\n")
        );
        let changed = replaced(data.as_bytes(), &long, OTHER).unwrap();
        let expected = format!(
            "MIME-Version: 1.0\n\n{}\n\nContent-Type: text/plain\n",
            STANDARD.encode(OTHER)
        );
        assert_eq!(String::from_utf8(changed).unwrap(), expected);
    }

    #[test]
    fn lines_that_only_look_alike_are_not_the_script() {
        assert_eq!(replaced(b"x #!/bin/bash\na\n", "#!/bin/bash\na\n", "b"), None);
        assert_eq!(replaced(b"  #!/bin/bash\na\n", "#!/bin/bash\na\n", "b"), None);
        assert_eq!(replaced(b"anything", "", "b"), None);
    }
}
