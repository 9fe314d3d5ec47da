//! Here-documents whose text is for a reader: a usage text, a message of the day. A name in one stands for nothing.

use super::angle_names::{command, is_printer};

/// Commands that print their input, or put it into a variable.
const READERS: [&str; 2] = ["cat", "read"];
/// Files that a person reads at the login.
const MESSAGES: [&str; 3] = ["/etc/motd", "/etc/issue", "/etc/issue.net"];

/// For whom the text of a here-document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentReader {
    Program,
    Person,
    /// A comment in the form of a command without effect.
    Absent,
}

impl DocumentReader {
    /// The reader of the here-document that begins on a line.
    pub(super) fn of(line: &str) -> Self {
        match line.split_once("<<") {
            Some((before, _)) if before.trim() == ":" => Self::Absent,
            Some((before, after)) if is_printed(before, after) => Self::Person,
            _ => Self::Program,
        }
    }
}

/// Whether nothing writes a document into a file, and no other program gets it. `before` and `after`: what stands
/// around its sign.
fn is_printed(before: &str, after: &str) -> bool {
    // A redirection into a stream does not end a command.
    let before = before.replace(">&1", "").replace(">&2", "");
    let end = before.rfind(|c: char| ";|&({)`".contains(c));
    let (outside, own) = before.split_at(end.map_or(0, |at| at + 1));
    let further = rest(after);
    if !is_command(outside) || has_file(own) || has_file(further) || further.contains(['|', '`']) {
        return false;
    }
    match command(own) {
        "tee" => has_streams_alone(own) && has_streams_alone(further),
        name => READERS.contains(&name) || is_printer(name),
    }
}

/// Whether the text before a command ends where a command begins whose output is printed or put into a variable.
fn is_command(outside: &str) -> bool {
    let inner = ["$(", "<(", ">(", "`"];
    let before = inner.into_iter().find_map(|begin| outside.strip_suffix(begin));
    match before {
        Some(before) => before.trim_end_matches(['"', '\'']).ends_with('='),
        None => true,
    }
}

/// What stands behind the word that ends a document, up to the end of the command.
fn rest(after: &str) -> &str {
    let word = after.trim_start_matches('-').trim_start();
    let word = word.trim_start_matches(['"', '\'', '\\']);
    let rest = word.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    let rest = rest.trim_start_matches(['"', '\'']);
    let ends = ["||", "&&", ";"].into_iter();
    let end = ends.filter_map(|sign| rest.find(sign)).min();
    &rest[..end.unwrap_or(rest.len())]
}

/// Whether a redirection leads into a file that a program can read.
fn has_file(text: &str) -> bool {
    let text = text.replace(">>", ">");
    let mut targets = text.split('>').skip(1).map(|target| {
        let target = target.trim_start().trim_start_matches(['"', '\'']);
        let end = target.find(|c: char| c.is_whitespace() || "\"'<|;)".contains(c));
        &target[..end.unwrap_or(target.len())]
    });
    !targets.all(is_read_by_a_person)
}

fn is_read_by_a_person(target: &str) -> bool {
    target == "&1" || target == "&2" || is_stream(target) || MESSAGES.contains(&target)
}

fn is_stream(target: &str) -> bool {
    target.starts_with("/dev/") && !target.starts_with("/dev/shm/")
}

/// Whether the arguments of `tee` in a text are flags and streams.
fn has_streams_alone(text: &str) -> bool {
    let is_argument = |word: &&str| !word.starts_with(['-', '>']);
    let mut words = text.split_whitespace().filter(is_argument);
    words.all(|word| word == "sudo" || word.ends_with("tee") || is_stream(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_is_printed_is_for_a_reader() {
        for line in [
            "cat <<EOF",
            "  cat <<-EOF",
            "usage() { cat << 'EOF'",
            "cat >&2 <<EOF",
            "cat 1>&2 <<EOF",
            "cat <<EOF >&2",
            "cat <<EOF 1>&2; exit 1",
            "[ -n \"$1\" ] || cat <<EOF",
            "tee /dev/stderr <<EOF",
            "tee -a /dev/console > /dev/null <<EOF",
            "read -r -d '' HELP <<'EOF'",
            "IFS= read -r -d '' HELP <<EOF || true",
            "HELP=$(cat <<EOF",
            "HELP=\"$(cat <<'EOF'",
            "logger -t node <<EOF",
            "cat > /etc/motd <<'EOF'",
            "cat <<EOF >> /etc/issue",
        ] {
            assert_eq!(DocumentReader::of(line), DocumentReader::Person, "{line}");
        }
    }

    #[test]
    fn a_document_that_a_program_reads_is_not() {
        for line in [
            "cat > /etc/x <<EOF",
            "cat >/etc/x <<EOF",
            "cat <<EOF > /etc/x",
            "cat <<EOF>/etc/x",
            "cat <<'EOF' >> \"$FILE\"",
            "cat <<EOF | tee /etc/x",
            "cat <<EOF | bash",
            "cat > /dev/shm/x <<EOF",
            "tee /etc/x <<EOF",
            "tee /etc/x > /dev/null <<EOF",
            "sudo tee -a /etc/x <<EOF",
            "bash -s <<EOF",
            "bash -c \"$(cat <<EOF",
            "source <(cat <<EOF",
            "kubectl apply -f - <<EOF",
            "done <<EOF",
            "echo <<NAME>>",
            "name: <<NAME>>",
            "echo demo",
        ] {
            assert_eq!(DocumentReader::of(line), DocumentReader::Program, "{line}");
        }
    }

    #[test]
    fn a_document_for_a_command_without_effect_is_a_comment() {
        for line in [": <<'DOC'", "  : << DOC"] {
            assert_eq!(DocumentReader::of(line), DocumentReader::Absent, "{line}");
        }
        assert_eq!(DocumentReader::of("name: <<DOC"), DocumentReader::Program);
    }
}
