//! Addresses of resources and modules, such as `module.eks["a"].aws_launch_template.this[0]`.

/// The steps of an address between its dots. The keys of `for_each` may contain any character.
pub(super) fn steps(address: &str) -> Vec<&str> {
    let (mut is_inside, mut is_quoted) = (false, false);
    let is_end = |c: char| {
        match c {
            '"' if is_inside => is_quoted = !is_quoted,
            '[' if !is_quoted => is_inside = true,
            ']' if !is_quoted => is_inside = false,
            _ => {}
        }
        c == '.' && !is_inside
    };
    address.split(is_end).collect()
}

/// The name of a step, and its index, which is empty without `count` and `for_each`.
pub(super) fn name_and_index(step: &str) -> (&str, &str) {
    step.split_at(step.find('[').unwrap_or(step.len()))
}

/// The index of the resource itself.
pub(super) fn index_of(address: &str) -> &str {
    steps(address).pop().map_or("", |step| name_and_index(step).1)
}

/// An address without the indexes of `count` and `for_each`.
pub(super) fn without_indexes(address: &str) -> String {
    let names = steps(address).into_iter().map(|step| name_and_index(step).0);
    names.collect::<Vec<_>>().join(".")
}

/// The beginning of an address that is a module or resource with its index, if it is one with this name.
pub(super) fn instance_of<'a>(address: &'a str, plain: &str) -> Option<&'a str> {
    let rest = address.strip_prefix(plain)?;
    let step = *steps(rest).first()?;
    let is_index = step.is_empty() || step.starts_with('[');
    is_index.then(|| &address[..plain.len() + step.len()])
}

/// A module, whose address ends with a `.`, as its parent's address, its name and its index.
pub(super) fn parent(module: &str) -> Option<(&str, &str, &str)> {
    let address = module.strip_suffix('.')?;
    let step = steps(address).pop()?;
    let (name, index) = name_and_index(step);
    let parent = address.strip_suffix(step)?.strip_suffix("module.")?;
    Some((parent, name, index))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "module.a[\"x.y[0]\"].aws_instance.b[0]";

    #[test]
    fn indexes_are_removed_from_addresses() {
        assert_eq!(without_indexes(ADDRESS), "module.a.aws_instance.b");
        assert_eq!(index_of(ADDRESS), "[0]");
        assert_eq!(index_of("aws_instance.b"), "");
    }

    #[test]
    fn an_instance_has_the_name_before_its_index() {
        let module = "module.a[\"x.y[0]\"]";
        assert_eq!(instance_of(ADDRESS, "module.a"), Some(module));
        assert_eq!(
            instance_of(ADDRESS, &format!("{module}.aws_instance.b")),
            Some(ADDRESS)
        );
        assert_eq!(
            instance_of("aws_instance.b", "aws_instance.b"),
            Some("aws_instance.b")
        );
        assert_eq!(instance_of("aws_instance.bc", "aws_instance.b"), None);
    }

    #[test]
    fn a_module_has_a_parent() {
        assert_eq!(
            parent("module.a[\"x.y\"].module.b[0]."),
            Some(("module.a[\"x.y\"].", "b", "[0]"))
        );
        assert_eq!(parent("module.a."), Some(("", "a", "")));
        assert_eq!(parent(""), None);
    }
}
