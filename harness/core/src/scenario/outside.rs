//! Resolves the files of `outside`.

use std::path::Path;

use crate::input::files::Files;
use crate::input::problems::Problems;
use crate::input::yaml::PathStep;
use crate::plan::outside::OutsideFiles;

/// Resolves paths relative to `path`, the file that lists them, and reports files that cannot be read.
pub(super) fn resolve(
    given: &OutsideFiles,
    path: &Path,
    files: &dyn Files,
    problems: &mut Problems<'_>,
) -> OutsideFiles {
    let mut resolved = |(url, file): (&String, &String)| {
        let file = path.parent().unwrap_or(Path::new("")).join(file);
        if let Err(error) = files.open(&file) {
            let at = [PathStep::Key("outside"), PathStep::Key(url)];
            let what = format!("cannot read file `{}`", file.display());
            let hint = "the path is relative to the folder of this file";
            problems.add_at(&at, what, error.to_string(), hint);
        }
        (url.clone(), file.display().to_string())
    };
    given.iter().map(&mut resolved).collect()
}
