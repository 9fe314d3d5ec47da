//! Expectations that held with the script as it is, and do not with a mutant.

use nodejoin_core::judge::verdict::Check;

use super::base::BaseScenario;

/// A check that held with the script as it is, in each of its boots, and does not with a mutant.
pub(super) async fn broken_check(base: &BaseScenario, checks: &[Check]) -> Option<Check> {
    let boots = base.boots.lock().await;
    let boots: Vec<&[Check]> = boots
        .iter()
        .flatten()
        .map(|boot| boot.checks.as_slice())
        .collect();
    broken(&base.checks, &boots, checks).cloned()
}

fn broken<'a>(base: &[Check], boots: &[&[Check]], checks: &'a [Check]) -> Option<&'a Check> {
    let held = |known: &[Check], key: &str| known.iter().any(|check| check.key == key && check.held);
    checks
        .iter()
        .filter(|check| !check.held)
        .find(|check| held(base, &check.key) && boots.iter().all(|boot| held(boot, &check.key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    /// Checks of the first keys.
    fn checks<const N: usize>(held: [bool; N]) -> Vec<Check> {
        let keys = ["phase", "aws.eks", "kubelet.argv.--v=2"];
        let check = |(key, held): (&str, bool)| Check {
            key: key.to_owned(),
            held,
            expected: String::new(),
            seen: String::new(),
        };
        keys.into_iter().zip(held).map(check).collect()
    }

    #[test]
    fn a_check_is_broken_that_held_in_each_boot_of_the_script_as_it_is() {
        // The phase needs a join, and the number of calls differs from boot to boot.
        let (base, again) = (checks([false, true, true]), checks([false, false, true]));
        let key = |boots: &[&[Check]], held| {
            let checks = checks(held);
            broken(&base, boots, &checks).map(|check| check.key.clone())
        };
        assert_eq!(key(&[], [false, false, true]).as_deref(), Some("aws.eks"));
        assert_eq!(key(&[&again], [false, false, true]), None);
        assert_eq!(
            key(&[&again], [false, false, false]).as_deref(),
            Some("kubelet.argv.--v=2")
        );
        assert_eq!(key(&[&again], [false, true, true]), None);
    }

    #[tokio::test]
    async fn a_boot_that_is_added_tells_which_checks_do_not_always_hold() {
        let base = |held| BaseScenario::of_test(plan("name: x\n"), checks([held]));
        let checks = |held| checks([held]);
        let mut one = base(true);
        let found = async |one: &BaseScenario| broken_check(one, &checks(false)).await.map(|check| check.key);
        assert_eq!(found(&one).await.as_deref(), Some("phase"));
        one.add_boot(base(false));
        assert_eq!(found(&one).await, None);
    }
}
