//! How many pods fit on an instance type whose pods get addresses of the VPC.

/// Columns are explained in the file. The fake EC2 reads the same one.
const TABLE: &str = include_str!("../../core/data/instance-types.tsv");
const TYPE: usize = 0;
const DEFAULT_CARD: usize = 6;
const INTERFACES: usize = 7;
const ADDRESSES: usize = 8;

/// Pods of an instance type; `None`: an unknown type.
pub(crate) fn max_pods(instance_type: &str) -> Option<u32> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    let columns = rows
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .find(|columns| columns.get(TYPE) == Some(&instance_type))?;
    let card: usize = columns.get(DEFAULT_CARD)?.parse().ok()?;
    let interfaces: u32 = columns.get(INTERFACES)?.split(',').nth(card)?.parse().ok()?;
    let addresses: u32 = columns.get(ADDRESSES)?.parse().ok()?;
    // The first address of an interface is its own; two pods use the host's network.
    Some(interfaces * (addresses - 1) + 2)
}

/// Pods of a group: those of its smallest type. `None` if a type is unknown.
pub(crate) fn least_max_pods(instance_types: &[String]) -> Option<u32> {
    let limits: Option<Vec<u32>> = instance_types.iter().map(|name| max_pods(name)).collect();
    limits?.into_iter().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_eks() {
        for (name, expected) in [("m5.large", 29), ("t3.medium", 17), ("m5.24xlarge", 737)] {
            assert_eq!(max_pods(name), Some(expected), "{name}");
        }
        assert_eq!(max_pods("m5.huge"), None);
        let types = ["m5.large", "t3.medium"].map(str::to_owned);
        assert_eq!(least_max_pods(&types), Some(17));
        assert_eq!(least_max_pods(&[]), None);
    }
}
