//! A folder of `cdk synth`: one template for each stack, and for each nested stack.

use std::path::{Path, PathBuf};

use super::assets::{self, CdkAsset};
use super::exports::{FolderExports, FolderStack};
use super::machines::{self, NOTHING, NOTHING_HINT};
use super::other_stacks::add_other_stacks;
use super::place::StackPlace;
use super::template::{Template, is_template};
use crate::error::ImportError;
use crate::input::Import;
use crate::machine::{FileFormat, Imported};
use crate::reading::Reading;
use crate::tree::{Tree, json};

/// How the names of templates end.
const TEMPLATE: &str = ".template.json";

const OTHER_FOLDERS: &str =
    "give a file, or the folder that `cdk synth` wrote, usually `cdk.out`: other folders are not read";

/// Reads all templates of a folder, and of the stages in it.
pub(crate) fn read_folder(input: &Import<'_>, folder: &Path) -> Result<Imported, ImportError> {
    let mut reading = Reading::of(FileFormat::CdkOutput);
    let mut files = templates(folder)?;
    let mut assets = assets_of(folder)?;
    for stage in folders(folder)? {
        files.append(&mut templates(&stage)?);
        assets.append(&mut assets_of(&stage)?);
    }
    if files.is_empty() {
        return Err(ImportError::Invalid {
            line: None,
            column: None,
            problem: format!("a folder without templates: no file of it ends with `{TEMPLATE}`"),
            hint: OTHER_FOLDERS.to_owned(),
        });
    }
    let mut stacks = Vec::new();
    for file in files {
        let label = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
        let label = label.strip_suffix(TEMPLATE).unwrap_or(&label).to_owned();
        let text = std::fs::read_to_string(&file).map_err(|error| unreadable(&file, &error))?;
        match json(&text) {
            Ok(document) if is_template(&document) => stacks.push(FolderStack {
                label,
                document,
                place: place(&file),
            }),
            Ok(_) => {}
            Err(error) => reading.add(&label, Err(error)),
        }
    }
    let mut imported = of_stacks(input, &stacks, reading)?;
    for machine in &mut imported.machines {
        assets.iter().for_each(|asset| asset.note(machine));
    }
    Ok(imported)
}

/// The machines of all stacks, each with what other stacks state about its cluster.
fn of_stacks(
    input: &Import<'_>,
    stacks: &[FolderStack],
    mut reading: Reading,
) -> Result<Imported, ImportError> {
    let exports = FolderExports::of(input, stacks);
    let all = stacks.iter().map(|stack| stack.template(input, &exports));
    let templates: Vec<Template<'_>> = all.collect();
    let mut ends = Vec::new();
    for (stack, template) in stacks.iter().zip(&templates) {
        machines::add(template, &format!("{}/", stack.label), &mut reading);
        ends.push(reading.machine_count());
    }
    let mut imported = reading.finish(NOTHING, NOTHING_HINT)?;
    for (index, machine) in imported.machines.iter_mut().enumerate() {
        let own = ends.partition_point(|end| *end <= index);
        add_other_stacks(stacks, &templates, own, machine);
    }
    Ok(imported)
}

/// Where the manifest of its folder puts the stack of a template.
fn place(file: &Path) -> StackPlace {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
    let manifest = file.with_file_name("manifest.json");
    let manifest = std::fs::read_to_string(manifest)
        .ok()
        .and_then(|text| json(&text).ok());
    let artifacts = manifest.as_ref().and_then(|manifest| manifest.get("artifacts"));
    let artifacts = artifacts.map(Tree::entries).unwrap_or_default();
    let is_of_file = |(_, artifact): &&(String, Tree)| {
        let of_artifact = artifact.at(&["properties", "templateFile"]).and_then(Tree::text);
        of_artifact == name.as_deref() && of_artifact.is_some()
    };
    // A nested stack is where the stacks of its folder are.
    let stacks = || {
        artifacts
            .iter()
            .filter(|(_, artifact)| artifact.get("environment").is_some())
    };
    let artifact = artifacts.iter().find(is_of_file).or_else(|| stacks().next());
    let environment = artifact.and_then(|(_, artifact)| artifact.text_at(&["environment"]));
    StackPlace::of_environment(&environment.unwrap_or_default())
}

fn templates(folder: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let mut files = entries(folder)?;
    files.retain(|path| path.to_string_lossy().ends_with(TEMPLATE));
    Ok(files)
}

fn assets_of(folder: &Path) -> Result<Vec<CdkAsset>, ImportError> {
    let mut files = entries(folder)?;
    files.retain(|path| path.to_string_lossy().ends_with(assets::MANIFEST));
    Ok(files
        .iter()
        .flat_map(|manifest| assets::assets(manifest))
        .collect())
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
