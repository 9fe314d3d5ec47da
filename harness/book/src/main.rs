//! Writes the generated pages of the book.

use std::process::ExitCode;

fn main() -> ExitCode {
    let repository = nodejoin_book::repository();
    let written = nodejoin_book::pages(&repository).and_then(|pages| {
        pages.iter().try_for_each(|page| {
            let path = repository.join(page.path);
            std::fs::write(&path, &page.text)
                .map_err(|error| format!("could not write `{}`: {error}", page.path))
        })
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
