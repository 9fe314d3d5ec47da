//! Resolves the files of `aws.answers`.

use std::path::Path;

use crate::input::files::Files;
use crate::input::problems::Problems;
use crate::plan::answer::Answer;

/// Resolves paths relative to `path`, the file that lists them, and reports files that cannot be read.
pub(super) fn resolve(answers: &mut [Answer], path: &Path, files: &dyn Files, problems: &mut Problems<'_>) {
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
