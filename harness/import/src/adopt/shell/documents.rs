//! The lines of a script, and the here-documents in it.

/// The lines as a shell reads them. cloud-init removes all carriage returns if the first line ends with one; otherwise
/// one behind a backslash stays, which continues no line then.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let is_unix = text.find('\n').is_some_and(|end| !text[..end].ends_with('\r'));
    let lines = text
        .split_inclusive('\n')
        .map(|line| line.strip_suffix('\n').unwrap_or(line));
    let read = lines.map(|line| match line.strip_suffix('\r') {
        Some(rest) if !(is_unix && rest.ends_with('\\')) => rest,
        _ => line,
    });
    read.collect()
}

/// Splits off the bodies of here-documents. The numbers are those of the lines that remain.
pub(super) fn without_documents(lines: &[&str]) -> (String, Vec<usize>, Vec<String>) {
    let mut kept = String::new();
    let mut numbers = Vec::new();
    let mut documents = Vec::new();
    let mut lines = (1..).zip(lines.iter().copied());
    while let Some((number, line)) = lines.next() {
        kept.push_str(line);
        kept.push('\n');
        numbers.push(number);
        let Some(end) = delimiter(line) else { continue };
        let inside = lines.by_ref().take_while(|(_, line)| line.trim() != end);
        let body: Vec<&str> = inside.map(|(_, line)| line).collect();
        documents.push(body.join("\n"));
    }
    (kept, numbers, documents)
}

/// The word that ends a here-document which begins in this line.
fn delimiter(line: &str) -> Option<String> {
    if line.trim_start().starts_with('#') {
        return None;
    }
    let (_, after) = line.split_once("<<")?;
    if after.starts_with('<') {
        return None;
    }
    let after = after.trim_start_matches('-').trim_start();
    let word: String = after
        .trim_start_matches(['"', '\'', '\\'])
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    (!word.is_empty()).then_some(word)
}
