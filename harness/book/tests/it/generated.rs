//! Generated pages are what the code describes.

use nodejoin_book::{COMMAND, pages, repository};

#[test]
fn every_generated_page_is_current() {
    let repository = repository();
    let outdated: Vec<_> = pages(&repository)
        .unwrap()
        .into_iter()
        .filter(|page| {
            std::fs::read_to_string(repository.join(page.path))
                .is_ok_and(|text| text == page.text)
                .eq(&false)
        })
        .map(|page| page.path)
        .collect();
    assert!(
        outdated.is_empty(),
        "these pages differ from the code: {}\nrun `{COMMAND}` and commit the result",
        outdated.join(", ")
    );
}
