//! Resolves the files of `aws.answers` and the folders of `aws.buckets`.

use std::path::Path;

use crate::input::files::Files;
use crate::input::problems::Problems;
use crate::input::yaml::PathStep;
use crate::plan::answer::Answer;
use crate::plan::aws::AwsPlan;

/// Resolves paths relative to `path`, the file that lists them, and reports files that cannot be read.
pub(super) fn resolve(aws: &mut AwsPlan, path: &Path, files: &dyn Files, problems: &mut Problems<'_>) {
    answered_files(&mut aws.answers, path, files, problems);
    for (name, bucket) in &mut aws.buckets {
        let Some(folder) = &mut bucket.folder else {
            continue;
        };
        let resolved = path.parent().unwrap_or(Path::new("")).join(&*folder);
        if !files.is_folder(&resolved) {
            let at = [
                PathStep::Key("aws"),
                PathStep::Key("buckets"),
                PathStep::Key(name),
                PathStep::Key("folder"),
            ];
            let what = format!("`{}` is not a folder", resolved.display());
            problems.add_at(&at, what, "", "the path is relative to the folder of this file");
        }
        *folder = resolved.display().to_string();
    }
}

fn answered_files(answers: &mut [Answer], path: &Path, files: &dyn Files, problems: &mut Problems<'_>) {
    for (index, answer) in answers.iter_mut().enumerate() {
        let Some(file) = &mut answer.file else { continue };
        let resolved = path.parent().unwrap_or(Path::new("")).join(&*file);
        if let Err(error) = files.open(&resolved) {
            let what = format!("cannot read file `{}`", resolved.display());
            let hint = "the path is relative to the folder of this file";
            problems.add(
                &format!("aws.answers[{index}].file"),
                what,
                error.to_string(),
                hint,
            );
        }
        *file = resolved.display().to_string();
    }
}
