//! Commands that end a script or restart its machine.

use super::ShellGrammar;
use super::fault::Stop;

impl ShellGrammar {
    /// Notes a command with this first word, if it ends the script or restarts the machine.
    pub(super) fn note_end(&mut self, word: Option<&str>, line: usize) -> Result<(), Stop> {
        let word = word.unwrap_or_default();
        let rest = self.text[self.at..].iter();
        let arguments: String = rest.take_while(|c| !"\n;&|<>".contains(**c)).collect();
        let arguments = arguments.trim();
        // Otherwise it redirects the output of the script.
        let is_program =
            |text: &str| !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit() || c == '{');
        match word {
            "exit" => {
                self.outline.exit = Some(line);
                return Err(Stop::Ended);
            }
            "exec" if is_program(arguments) => return Err(Stop::Ended),
            _ => {}
        }
        if self.outline.restart.is_none() && restarts(word, arguments) {
            let command = format!("{word} {arguments}");
            self.outline.restart = Some((line, command.trim_end().to_owned()));
        }
        Ok(())
    }
}

/// Whether a command restarts the machine at once.
fn restarts(word: &str, arguments: &str) -> bool {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    match word.rsplit('/').next().unwrap_or_default() {
        "reboot" => arguments.is_empty() || arguments == ["-f"] || arguments == ["now"],
        "systemctl" => arguments == ["reboot"],
        "shutdown" => arguments.contains(&"-r") && arguments.contains(&"now"),
        "init" | "telinit" => arguments == ["6"],
        _ => false,
    }
}
