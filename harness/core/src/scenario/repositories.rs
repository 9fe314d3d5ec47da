//! Checks the repositories of a scenario's image registry: names and tags by the rules of ECR, and the images in
//! archives.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::image_archive::ImageArchive;
use crate::input::files::Files;
use crate::input::problem::Position;
use crate::input::problems::{Problems, steps};
use crate::plan::architecture::Architecture;
use crate::plan::aws::{AwsPlan, RepositoryPlan, StoredImage};

/// Resolves archive paths relative to `path`, the file that lists them. Also returns the position of each image.
pub(super) fn found(
    aws: &AwsPlan,
    path: &Path,
    files: &dyn Files,
    problems: &mut Problems<'_>,
) -> (AwsPlan, BTreeMap<String, Position>) {
    let mut aws = aws.clone();
    let mut names = BTreeSet::new();
    let mut reader = RepositoryReader {
        path,
        files,
        problems,
        positions: BTreeMap::new(),
    };
    for (index, repository) in aws.repositories.iter_mut().enumerate() {
        let key = format!("aws.repositories[{index}]");
        if !names.insert(repository.name.clone()) {
            let what = format!("duplicate repository `{}`", repository.name);
            let hint = "list all of its images in one entry";
            reader.problems.add(&format!("{key}.name"), what, "", hint);
        }
        reader.repository(repository, &key);
    }
    (aws, reader.positions)
}

struct RepositoryReader<'a, 'r, 't> {
    path: &'a Path,
    files: &'a dyn Files,
    problems: &'r mut Problems<'t>,
    positions: BTreeMap<String, Position>,
}

impl RepositoryReader<'_, '_, '_> {
    fn repository(&mut self, repository: &mut RepositoryPlan, key: &str) {
        if !is_name(&repository.name) {
            let what = format!("invalid repository name `{}`", repository.name);
            let why =
                "ECR allows 2 to 256 lower-case letters and digits, separated by single `.`, `_`, `-` or `/`";
            self.problems
                .add(&format!("{key}.name"), what, why, "for example `team/web`");
        }
        let mut tags = BTreeSet::new();
        for (index, image) in repository.images.iter_mut().enumerate() {
            let key = format!("{key}.images[{index}]");
            for (number, tag) in image.tags.iter().enumerate() {
                self.tag(tag, tags.insert(tag.clone()), &format!("{key}.tags[{number}]"));
            }
            self.image(image, &key);
        }
    }

    fn tag(&mut self, tag: &str, is_new: bool, key: &str) {
        if !is_tag(tag) {
            let why =
                "a tag has up to 128 letters, digits, `_`, `.` and `-`, and does not start with `.` or `-`";
            self.problems
                .add(key, format!("invalid tag `{tag}`"), why, "for example `v1.2`");
        } else if !is_new {
            let hint = "a tag belongs to one image; remove it from the other";
            self.problems.add(key, format!("duplicate tag `{tag}`"), "", hint);
        }
    }

    fn image(&mut self, image: &mut StoredImage, key: &str) {
        match (&mut image.archive, &image.engine) {
            (Some(archive), None) => {
                let path = self.path.parent().unwrap_or(Path::new("")).join(&*archive);
                let key = format!("{key}.archive");
                self.archive(&path, &key);
                self.remember(key);
                *archive = path.display().to_string();
            }
            // The engine is queried when the run starts.
            (None, Some(_)) => self.remember(format!("{key}.engine")),
            _ => self
                .problems
                .add(key, "set exactly one of `archive` and `engine`", "", ""),
        }
    }

    fn remember(&mut self, key: String) {
        let position = self.problems.position_of(&steps(&key));
        self.positions.insert(key, position);
    }

    fn archive(&mut self, path: &Path, key: &str) {
        let archive = match self.files.open(path) {
            Ok(archive) if !self.files.is_folder(path) => archive,
            Ok(_) => {
                let hint = "pack the OCI image layout: `tar --create --file image.tar --directory FOLDER .`";
                let what = format!("`{}` is a folder", path.display());
                return self.problems.add(key, what, "", hint);
            }
            Err(error) => {
                let what = format!("cannot read file `{}`", path.display());
                let hint = "the path is relative to the folder of this file; `docker save --output FILE IMAGE` creates an archive";
                return self.problems.add(key, what, error.to_string(), hint);
            }
        };
        // Nodes have the architecture of the host, regardless of their instance type.
        let Ok(here) = std::env::consts::ARCH.parse::<Architecture>() else {
            return;
        };
        if let Err(error) = ImageArchive::read(archive, here) {
            let what = format!("`{}` does not contain a usable image", path.display());
            self.problems.add(key, what, error.to_string(), error.hint());
        }
    }
}

fn is_name(name: &str) -> bool {
    (2..=256).contains(&name.len()) && name.split('/').all(is_part)
}

/// Letters and digits with single separators.
fn is_part(part: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    part.split(['.', '_', '-'])
        .all(|word| !word.is_empty() && word.chars().all(is_plain))
}

fn is_tag(tag: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=128).contains(&tag.len())
        && tag.starts_with(is_word)
        && tag.chars().all(|c| is_word(c) || c == '.' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tags_follow_the_rules_of_ecr() {
        for (name, is_valid) in [
            ("web", true),
            ("team/web-1.2_x", true),
            ("a", false),
            ("Team/web", false),
            ("team//web", false),
            ("team/web-", false),
            ("a..b", false),
            ("team/web:v1", false),
        ] {
            assert_eq!(is_name(name), is_valid, "{name}");
        }
        for (tag, is_valid) in [
            ("v1.2-x", true),
            ("_a", true),
            ("-a", false),
            ("", false),
            ("a/b", false),
        ] {
            assert_eq!(is_tag(tag), is_valid, "{tag}");
        }
    }
}
