//! Arrays of a shell: which words `"${NAME[@]}"` stands for.

use std::collections::BTreeMap;

/// Commands that change the variables which they name.
const CHANGERS: [&str; 4] = ["unset", "read", "mapfile", "readarray"];

/// The arrays of a script up to a place; `None`: only a run shows the elements.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    known: BTreeMap<String, Option<Vec<String>>>,
}

/// An assignment such as `NAME=(a b)`.
#[derive(Debug, Default)]
pub(super) struct ArrayAssignment {
    pub(super) name: String,
    /// Whether the elements follow those that the array has: `NAME+=(a b)`.
    is_added: bool,
    pub(super) elements: Vec<String>,
    /// Whether it runs in any case.
    pub(super) is_certain: bool,
}

impl ArrayAssignment {
    /// The one whose equals sign stands behind this text.
    pub(super) fn begun(target: &str) -> Option<Self> {
        let name = target.strip_suffix('+').unwrap_or(target);
        let is_name = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(is_of_name);
        is_name.then(|| Self {
            name: name.to_owned(),
            is_added: target.ends_with('+'),
            ..Self::default()
        })
    }
}

impl Arrays {
    /// The elements of an array, if they are known.
    pub(super) fn words(&self, name: &str) -> Option<&[String]> {
        self.known.get(name)?.as_deref()
    }

    pub(super) fn assign(&mut self, assignment: ArrayAssignment) {
        let ArrayAssignment {
            name,
            is_added,
            elements,
            is_certain,
        } = assignment;
        let earlier = match is_added {
            true => self.known.remove(&name).flatten(),
            false => Some(Vec::new()),
        };
        // `[key]=value` gives an element its place.
        let has_keys = elements.iter().any(|element| element.starts_with('['));
        let known = earlier.filter(|_| is_certain && !has_keys);
        let known = known.map(|earlier| earlier.into_iter().chain(elements).collect());
        self.known.insert(name, known);
    }

    /// Forgets an array that is a single value now.
    pub(super) fn forget(&mut self, name: &str) {
        if let Some(known) = self.known.get_mut(name) {
            *known = None;
        }
    }

    /// Forgets the arrays that a command changes: `NAME[1]=x`, `NAME+=x`, `read -a NAME`.
    pub(super) fn change(&mut self, words: &[String]) {
        let is_changer = words.iter().any(|word| CHANGERS.contains(&word.as_str()));
        for word in words {
            match word.split_once('[') {
                Some((name, index)) if index.contains("]=") || index.contains("]+=") => self.forget(name),
                None if is_changer => self.forget(word),
                _ => {
                    if let Some((name, _)) = word.split_once("+=") {
                        self.forget(name);
                    }
                }
            }
        }
    }
}

/// The array whose words a text begins with, and the length of its reference.
pub(super) fn reference(text: &[char]) -> Option<(usize, String)> {
    let quoted = text.strip_prefix(&['"']);
    let inside = quoted.unwrap_or(text).strip_prefix(&['$', '{'])?;
    let length = inside.iter().take_while(|c| is_of_name(**c)).count();
    let (name, after) = inside.split_at(length);
    let after = after.strip_prefix(&['[', '@', ']', '}'])?;
    let after = match quoted {
        Some(_) => after.strip_prefix(&['"'])?,
        None => after,
    };
    let is_end = |c: &char| c.is_whitespace() || ";&|<>()".contains(*c);
    let is_whole = !name.is_empty() && after.first().is_none_or(is_end);
    is_whole.then(|| (text.len() - after.len(), name.iter().collect()))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
