//! A folder of `cdk synth`: one template for each stack, and for each nested stack.

use std::path::{Path, PathBuf};

use super::template::Template;
use super::{NOTHING, NOTHING_HINT, is_template, machines};
use crate::error::ImportError;
use crate::input::Import;
use crate::machine::{FileFormat, Imported};
use crate::reading::Reading;
use crate::tree::json;

/// How the names of templates end.
const TEMPLATE: &str = ".template.json";

const OTHER_FOLDERS: &str =
    "give a file, or the folder that `cdk synth` wrote, usually `cdk.out`: other folders are not read";

/// Reads all templates of a folder, and of the stages in it.
pub(crate) fn read_folder(input: &Import<'_>, folder: &Path) -> Result<Imported, ImportError> {
    let mut reading = Reading::of(FileFormat::CdkOutput);
    let mut files = templates(folder)?;
    for stage in folders(folder)? {
        files.append(&mut templates(&stage)?);
    }
    if files.is_empty() {
        return Err(ImportError::Invalid {
            line: None,
            column: None,
            problem: format!("a folder without templates: no file of it ends with `{TEMPLATE}`"),
            hint: OTHER_FOLDERS.to_owned(),
        });
    }
    for file in files {
        let label = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
        let stack = label.strip_suffix(TEMPLATE).unwrap_or(&label).to_owned();
        let text = std::fs::read_to_string(&file).map_err(|error| unreadable(&file, &error))?;
        match json(&text) {
            Ok(document) if is_template(&document) => {
                machines::add(
                    &Template::of(input, &document),
                    &format!("{stack}/"),
                    &mut reading,
                );
            }
            Ok(_) => {}
            Err(error) => reading.add(&stack, Err(error)),
        }
    }
    reading.finish(NOTHING, NOTHING_HINT)
}

fn templates(folder: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let mut files = entries(folder)?;
    files.retain(|path| path.to_string_lossy().ends_with(TEMPLATE));
    Ok(files)
}

/// The folders of stages.
fn folders(folder: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let mut folders = entries(folder)?;
    folders.retain(|path| path.join("manifest.json").is_file());
    Ok(folders)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn unreadable(path: &Path, error: &std::io::Error) -> ImportError {
    ImportError::Invalid {
        line: None,
        column: None,
        problem: format!("could not read `{}`: {error}", path.display()),
        hint: OTHER_FOLDERS.to_owned(),
    }
}
