//! Collects the problems of a file, each with the position of its key.

use crate::input::problem::{Position, Problem, ScenarioError};
use crate::input::yaml::{PathStep, YamlTree};

/// The problems of a file.
pub(crate) struct Problems<'a> {
    file: &'a str,
    tree: &'a YamlTree,
    /// Prefix of the key paths.
    base: Vec<PathStep<'static>>,
    /// Index in `instances` of the instance that the key `instance` stands for.
    instance: Option<usize>,
    /// Index in `expect.one_of` of the alternative that the key `expect` stands for.
    alternative: Option<usize>,
    problems: Vec<Problem>,
}

impl<'a> Problems<'a> {
    pub(crate) fn of(file: &'a str, tree: &'a YamlTree) -> Self {
        Self {
            file,
            tree,
            base: Vec::new(),
            instance: None,
            alternative: None,
            problems: Vec::new(),
        }
    }

    /// Collects problems below a key, whose path is added to theirs.
    pub(crate) fn below(&mut self, base: &[PathStep<'static>], check: impl FnOnce(&mut Self)) {
        let before = self.base.len();
        self.base.extend_from_slice(base);
        check(self);
        self.base.truncate(before);
    }

    /// Collects problems while the key `instance` stands for an item of `instances`.
    pub(crate) fn with_instance_at(&mut self, index: usize, check: impl FnOnce(&mut Self)) {
        self.instance = Some(index);
        check(self);
        self.instance = None;
    }

    /// Collects problems while the key `expect` stands for an item of `expect.one_of`.
    pub(crate) fn with_alternative_at(&mut self, index: usize, check: impl FnOnce(&mut Self)) {
        self.alternative = Some(index);
        check(self);
        self.alternative = None;
    }

    /// Adds a problem of a key path such as `instance.id` or `faults[0].effect`.
    pub(crate) fn add(
        &mut self,
        key: &str,
        what: impl Into<String>,
        why: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add_at(&steps(key), what, why, hint);
    }

    /// Adds a problem of a key path whose parts may contain dots.
    pub(crate) fn add_at(
        &mut self,
        path: &[PathStep<'_>],
        what: impl Into<String>,
        why: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let path = match (self.instance, self.alternative, path) {
            (Some(index), _, [PathStep::Key("instance"), rest @ ..]) => {
                let item = [PathStep::Key("instances"), PathStep::Index(index)];
                [&self.base, &item[..], rest].concat()
            }
            (_, Some(index), [PathStep::Key("expect"), rest @ ..]) => {
                let item = [
                    PathStep::Key("expect"),
                    PathStep::Key("one_of"),
                    PathStep::Index(index),
                ];
                [&self.base, &item[..], rest].concat()
            }
            _ => [&self.base, path].concat(),
        };
        self.push(
            self.tree.position_of(&path),
            text(&path),
            what.into(),
            why.into(),
            hint.into(),
        );
    }

    /// Adds a problem at a known position.
    pub(crate) fn push(&mut self, position: Position, key: String, what: String, why: String, hint: String) {
        let hint = Some(hint).filter(|hint| !hint.is_empty());
        self.problems.push(Problem {
            file: self.file.to_owned(),
            position,
            key,
            what,
            why,
            hint,
        });
    }

    /// Adds the problems of another file.
    pub(crate) fn extend(&mut self, error: ScenarioError) {
        self.problems.extend(error.problems);
    }

    /// Parses a value; adds a problem on failure.
    pub(crate) fn parse<T>(&mut self, key: &str, value: &str, hint: &str) -> Option<T>
    where
        T: std::str::FromStr,
        T::Err: std::fmt::Display,
    {
        value
            .parse()
            .map_err(|error: T::Err| self.add(key, error.to_string(), "", hint))
            .ok()
    }

    /// Position of a key, or of its nearest existing parent.
    pub(crate) fn position_of(&self, path: &[PathStep<'_>]) -> Position {
        self.tree.position_of(path)
    }

    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }
}

/// Splits a key path.
pub(crate) fn steps(key: &str) -> Vec<PathStep<'_>> {
    key.split('.')
        .flat_map(|part| {
            let (name, indexes) = part.split_once('[').unwrap_or((part, ""));
            let indexes = indexes
                .split(['[', ']'])
                .filter_map(|index| index.parse().ok())
                .map(PathStep::Index);
            std::iter::once(PathStep::Key(name)).chain(indexes)
        })
        .collect()
}

fn text(path: &[PathStep<'_>]) -> String {
    path.iter().fold(String::new(), |text, step| match step {
        PathStep::Key(key) if text.is_empty() => (*key).to_owned(),
        PathStep::Key(key) => format!("{text}.{key}"),
        PathStep::Index(index) => format!("{text}[{index}]"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_paths_are_split() {
        assert_eq!(
            steps("a.b[1].c"),
            [
                PathStep::Key("a"),
                PathStep::Key("b"),
                PathStep::Index(1),
                PathStep::Key("c")
            ]
        );
        assert_eq!(text(&steps("a.b[1].c")), "a.b[1].c");
    }

    #[test]
    fn problems_below_a_key_have_its_path() {
        let tree = crate::input::yaml::parse("then:\n  - expect:\n      phase: ready\n").unwrap();
        let mut problems = Problems::of("a.yaml", &tree);
        problems.below(&[PathStep::Key("then"), PathStep::Index(0)], |problems| {
            problems.add("expect.phase", "x", "", "");
        });
        problems.add("then", "y", "", "");
        let reported: Vec<_> = problems
            .into_problems()
            .into_iter()
            .map(|one| (one.key, one.position.line))
            .collect();
        assert_eq!(
            reported,
            [("then[0].expect.phase".to_owned(), 3), ("then".to_owned(), 2)]
        );
    }
}
