//! `nodejoin merge`

use std::fs;
use std::io;
use std::path::Path;

use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_engine::merge::MergedRuns;

use crate::args::MergeArgs;
use crate::process;

/// Joins runs, prints them, and writes the requested files. The exit code is that of one run with all scenarios;
/// cancelled ones are undecided.
pub(crate) fn merge(args: &MergeArgs) -> ExitCode {
    let runs = match MergedRuns::read(&args.inputs) {
        Ok(runs) => runs,
        Err(error) => {
            process::report_error("could not join the runs", &error, Some(error.hint.clone()));
            return ExitCode::Usage;
        }
    };
    out!("{}", runs.to_text(args.slowest));
    let code = ExitCode::of_joined(&runs.summary());
    let junit = args.junit.as_deref().map(|file| {
        let xml = runs.to_junit().map_err(io::Error::other);
        (file, xml.and_then(|xml| write(file, &xml)))
    });
    let page = args.page.as_deref().map(|file| {
        let folder = file.parent().unwrap_or(Path::new(""));
        (file, runs.to_page(folder).and_then(|html| write(file, &html)))
    });
    for (file, written) in [junit, page].into_iter().flatten() {
        if let Err(error) = written {
            process::report_error(&format!("could not write `{}`", file.display()), &error, None);
            return ExitCode::Environment;
        }
    }
    code
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(file, text)
}
