//! Saves scenarios with their user data and the files of AMIs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::read::{Tried, TryError};
use super::scenarios::{bootstrap_script, user_data_name};
use crate::ami_files;
use crate::args::TryArgs;

/// Folder for the files of AMIs.
const AMI: &str = "ami";

/// Writes all files into the folder. Returns their paths.
///
/// # Errors
/// A file exists with other content: then nothing is written.
pub(crate) fn write(folder: &Path, tried: &Tried, args: &TryArgs) -> Result<Vec<String>, TryError> {
    let files = files(folder, tried, args)?;
    save(folder, &files)
}

/// Writes files that do not exist, by their paths below the folder.
pub(crate) fn save(folder: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) -> Result<Vec<String>, TryError> {
    for (path, bytes) in files {
        let path = folder.join(path);
        let is_other = path.exists() && std::fs::read(&path).map_or(true, |old| old != *bytes);
        if is_other {
            return Err(TryError::new(
                format!(
                    "`{}` exists and has other content; nothing is written",
                    path.display()
                ),
                "choose another folder, or remove the file",
            ));
        }
    }
    for (path, bytes) in files {
        let path = folder.join(path);
        let written = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, bytes));
        written.map_err(|error| {
            TryError::new(
                format!("could not write `{}`: {error}", path.display()),
                "choose a folder that you can write to",
            )
        })?;
    }
    Ok(files.keys().map(|path| path.display().to_string()).collect())
}

fn files(folder: &Path, tried: &Tried, args: &TryArgs) -> Result<BTreeMap<PathBuf, Vec<u8>>, TryError> {
    let mut files = BTreeMap::new();
    let more = more_overlays(folder, args, &mut files)?;
    for trial in &tried.trials {
        let mut overlays = Vec::new();
        for ami in &trial.ami_files {
            overlays.push(
                Path::new(AMI)
                    .join(ami_files::manifest(*ami))
                    .display()
                    .to_string(),
            );
            for (path, bytes) in ami_files::of(*ami) {
                files.insert(Path::new(AMI).join(path), bytes.to_vec());
            }
        }
        overlays.extend(more.iter().cloned());
        let user_data = trial.user_data.as_ref().map(|bytes| {
            let name = user_data_name(&trial.id);
            files.insert(PathBuf::from(&name), bytes.clone());
            name
        });
        let text = trial.scenario(&overlays, user_data.as_deref(), &tried.added);
        files.insert(PathBuf::from(format!("{}.yaml", trial.id)), text.into_bytes());
    }
    Ok(files)
}

/// The overlays of the command line, as paths that the scenarios name.
fn more_overlays(
    folder: &Path,
    args: &TryArgs,
    files: &mut BTreeMap<PathBuf, Vec<u8>>,
) -> Result<Vec<String>, TryError> {
    let mut overlays = Vec::new();
    if let Some(script) = &args.bootstrap {
        let bytes = bootstrap_script(script)?;
        let manifest = "files:\n  - { from: bootstrap.sh, to: /etc/eks/bootstrap.sh, mode: \"0755\" }\n";
        files.insert("bootstrap/bootstrap.sh".into(), bytes);
        files.insert("bootstrap/overlay.yaml".into(), manifest.as_bytes().to_vec());
        overlays.push("bootstrap/overlay.yaml".to_owned());
    }
    for manifest in &args.overlay {
        let path = std::path::absolute(manifest).unwrap_or_else(|_| folder.join(manifest));
        overlays.push(path.display().to_string());
    }
    Ok(overlays)
}
