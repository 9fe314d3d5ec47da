//! Reads the user data of a scenario, composes MIME parts, and checks the size limit of EC2.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::patch::{self, Patched};
use super::sources::{self, Text};
use super::user_data_file::{UserDataFile, UserDataPart, UserDataSource};
use crate::input::files::{Files, ForeignFileError};
use crate::input::problem::Position;
use crate::input::problems::{Problems, steps};
use crate::plan::sources::{LineMap, ScriptSource};
use crate::plan::{Plan, UserDataPlan};
use crate::user_data::{LIMIT, MimePart, UnknownTemplate, UserDataError, Values, fill, message, render};

/// Reads the user data of a scenario, with the positions of its scripts. `text` is the scenario file, to locate
/// problems in inline user data.
pub(super) fn read(
    file: Option<&UserDataFile>,
    plan: &Plan,
    path: &Path,
    text: &str,
    files: &dyn Files,
    problems: &mut Problems<'_>,
) -> Option<(UserDataPlan, Vec<ScriptSource>)> {
    let mut reader = UserDataReader {
        plan,
        path,
        text,
        files,
        problems,
        texts: Vec::new(),
        is_translated: false,
    };
    let (plan, bytes) = reader.any(file?)?;
    Some((plan, sources::scripts(&bytes, &reader.texts)))
}

struct UserDataReader<'a, 'r, 't> {
    plan: &'a Plan,
    path: &'a Path,
    text: &'a str,
    files: &'a dyn Files,
    problems: &'r mut Problems<'t>,
    /// Source texts of the user data.
    texts: Vec<Text>,
    is_translated: bool,
}

impl UserDataReader<'_, '_, '_> {
    fn any(&mut self, file: &UserDataFile) -> Option<(UserDataPlan, Vec<u8>)> {
        match file {
            UserDataFile::Text(inline) => {
                let source = UserDataSource {
                    inline: Some(inline.clone()),
                    ..Default::default()
                };
                self.source(&source, "user_data")
            }
            UserDataFile::Source(source) => self.source(source, "user_data.inline"),
        }
    }

    fn source(&mut self, source: &UserDataSource, inline_key: &str) -> Option<(UserDataPlan, Vec<u8>)> {
        if source.file.is_none() {
            self.patch_needs_file(source.patch.as_ref(), "user_data")?;
        }
        if source.select.is_some() && source.from.is_none() {
            let what = "`select` names a machine in the file of `from`, and there is none";
            self.problems
                .add("user_data.select", what, "", "name the file in `from`");
            return None;
        }
        let UserDataSource {
            inline,
            file,
            base64,
            from,
            parts,
            ..
        } = source;
        let bytes = match (inline, file, base64, from, parts) {
            (Some(inline), None, None, None, None) => self.inline(inline, inline_key),
            (None, Some(file), None, None, None) => self.file(file, source.patch.as_deref(), "user_data")?,
            (None, None, Some(base64), None, None) => self.base64(base64)?,
            (None, None, None, Some(from), None) => self.machine(from, source.select.as_deref())?,
            (None, None, None, None, Some(parts)) => self.parts(parts)?,
            _ => {
                self.one_of("user_data", "`inline`, `file`, `base64`, `from` and `parts`");
                return None;
            }
        };
        if bytes.is_empty() {
            self.problems.add(
                "user_data",
                "the user data is empty",
                "",
                "remove `user_data` for an instance without user data",
            );
        }
        let plan = UserDataPlan {
            engine: source.engine,
            base64: STANDARD.encode(&bytes),
            gzip: source.gzip,
            replace: source.replace,
            is_translated: self.is_translated,
        };
        self.size(&plan);
        Some((plan, bytes))
    }

    /// Checks the size with all values except the CA filled in: the CA only adds to it.
    fn size(&mut self, plan: &UserDataPlan) {
        if let Err(error @ UserDataError::TooLarge { size }) = render(plan, &Values::of(self.plan, "")) {
            let why = format!("{size} bytes exceed the EC2 limit of {LIMIT}");
            let hint = if plan.gzip {
                "move the content to a file that a short script downloads".to_owned()
            } else {
                error.hint()
            };
            self.problems
                .add("user_data", "the user data is too large", why, hint);
        }
    }

    fn base64(&mut self, text: &str) -> Option<Vec<u8>> {
        let compact: String = text.split_whitespace().collect();
        let decoded = STANDARD.decode(compact);
        decoded
            .map_err(|error| {
                let hint = "give the text of the user data itself in `inline`, or correct the base64";
                self.problems
                    .add("user_data.base64", "invalid base64", error.to_string(), hint);
            })
            .ok()
    }

    /// The user data of a machine in the file of another tool.
    fn machine(&mut self, name: &str, select: Option<&str>) -> Option<Vec<u8>> {
        let path = self.path.parent().unwrap_or(Path::new("")).join(name);
        match self.files.machine_user_data(&path, select) {
            Ok(found) => {
                self.is_translated |= found.is_translated;
                Some(found.bytes)
            }
            Err(ForeignFileError { message, hint }) => {
                let what = format!("cannot read the user data in `{}`", path.display());
                self.problems.add("user_data.from", what, message, hint);
                None
            }
        }
    }

    fn inline(&mut self, inline: &str, key: &str) -> Vec<u8> {
        if let Err(unknown) = fill(inline.as_bytes(), &Values::of(self.plan, "")) {
            let position = self.position_in_scenario(&unknown, key);
            self.unknown_template(&unknown, position, key, String::new());
        }
        self.remember(self.path.display().to_string(), self.text.as_bytes(), None);
        inline.as_bytes().to_vec()
    }

    /// The content of the file that `key` names in `file`, after the patch that it names in `patch`.
    fn file(&mut self, name: &str, patch: Option<&str>, key: &str) -> Option<Vec<u8>> {
        let (key, patch_key) = (&format!("{key}.file"), &format!("{key}.patch"));
        let path = self.path.parent().unwrap_or(Path::new("")).join(name);
        let bytes = match self.files.read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let what = format!("cannot read file `{}`", path.display());
                self.problems.add(
                    key,
                    what,
                    error.to_string(),
                    "the path is relative to the folder of the scenario",
                );
                return None;
            }
        };
        let file = path.display().to_string();
        let (bytes, lines) = match patch {
            Some(patch) => {
                let Patched { text, lines } = self.patched(&bytes, &file, patch, patch_key)?;
                (text.into_bytes(), Some(lines))
            }
            None => (bytes, None),
        };
        if let Err(unknown) = fill(&bytes, &Values::of(self.plan, "")) {
            let position = self.problems.position_of(&steps(key));
            let line = unknown.line as u64;
            let source = lines.as_ref().and_then(|lines| lines.source(line));
            let (file, line) = source.map_or((file.clone(), Some(line)), |source| (source.file, source.line));
            let why = format!("{file}, line {}", line.unwrap_or_default());
            self.unknown_template(&unknown, position, key, why);
        }
        self.remember(file, &bytes, lines);
        Some(bytes)
    }

    fn patched(&mut self, original: &[u8], file: &str, name: &str, key: &str) -> Option<Patched> {
        let patch = self.path.parent().unwrap_or(Path::new("")).join(name);
        let patched = patch::apply_file(original, file, &patch, self.files);
        patched
            .map_err(|error| {
                let what = format!("cannot apply `{}` to `{file}`", patch.display());
                self.problems.add(key, what, error.to_string(), error.hint());
            })
            .ok()
    }

    fn patch_needs_file(&mut self, patch: Option<&String>, key: &str) -> Option<()> {
        if patch.is_some() {
            let key = format!("{key}.patch");
            let what = "a patch applies to a `file`, and there is none";
            self.problems
                .add(&key, what, "", "name the file to patch in `file`");
        }
        patch.is_none().then_some(())
    }

    fn remember(&mut self, file: String, bytes: &[u8], patched: Option<LineMap>) {
        let is_same = |text: &Text| text.file == file && text.patched == patched;
        if !self.texts.iter().any(is_same) {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.texts.push(Text { file, text, patched });
        }
    }

    fn parts(&mut self, parts: &[UserDataPart]) -> Option<Vec<u8>> {
        if parts.is_empty() {
            self.problems.add(
                "user_data.parts",
                "the list is empty",
                "a MIME message requires at least one part",
                "",
            );
            return None;
        }
        let parts: Option<Vec<MimePart>> = parts
            .iter()
            .enumerate()
            .map(|(index, part)| self.part(part, &format!("user_data.parts[{index}]")))
            .collect();
        parts.map(|parts| message(&parts))
    }

    fn part(&mut self, part: &UserDataPart, key: &str) -> Option<MimePart> {
        if part.file.is_none() {
            self.patch_needs_file(part.patch.as_ref(), key)?;
        }
        let content = match (&part.inline, &part.file) {
            (Some(inline), None) => self.inline(inline, &format!("{key}.inline")),
            (None, Some(file)) => self.file(file, part.patch.as_deref(), key)?,
            _ => {
                self.one_of(key, "`inline` and `file`");
                return None;
            }
        };
        Some(MimePart {
            mime: part.part_type.mime().to_owned(),
            filename: part.filename.clone(),
            content,
        })
    }

    fn one_of(&mut self, key: &str, keys: &str) {
        self.problems
            .add(key, format!("set exactly one of {keys}"), "", "");
    }

    fn unknown_template(&mut self, unknown: &UnknownTemplate, position: Position, key: &str, why: String) {
        let what = format!("unknown name `{{{{ {} }}}}`", unknown.name);
        self.problems
            .push(position, key.to_owned(), what, why, unknown.hint());
    }

    /// Position of the name in the scenario file: the first occurrence after the key.
    fn position_in_scenario(&self, unknown: &UnknownTemplate, key: &str) -> Position {
        let start = self.problems.position_of(&steps(key));
        let lines = (1..)
            .zip(self.text.lines())
            .skip(usize::try_from(start.line).unwrap_or(1).saturating_sub(1));
        for (number, line) in lines {
            if let Some(before) = line.find(&unknown.name).map(|at| &line[..at]) {
                return Position {
                    line: number,
                    column: before.chars().count() as u64 + 1,
                };
            }
        }
        start
    }
}
