//! Each change reports its lines, and a refused one changes nothing.

use nodejoin_core::plan::change::Throttle;
use nodejoin_core::plan::fault::Service;

use super::*;
use crate::testing;

fn apply_to(world: &mut World, change: &Change) -> ChangeLines {
    let default = testing::world().0;
    apply(world, &default, change, None, 7.0)
}

#[test]
fn a_change_reports_old_and_new_value_and_default_reverts_it() {
    let default = testing::world().0;
    let mut world = testing::world().0;
    let table = [
        (
            Change::Tokens(Setting::Value(Tokens::Optional)),
            "tokens: required -> optional",
        ),
        (
            Change::Tokens(Setting::Value(Tokens::Optional)),
            "tokens: optional, as before",
        ),
        (
            Change::Endpoint(Setting::Value(false)),
            "endpoint: enabled -> disabled",
        ),
        (
            Change::UserData(Setting::Value(Some("aGk=".into()))),
            "user-data: 11 bytes -> 2 bytes",
        ),
        (
            Change::ClusterStatus(Setting::Value("FAILED".into())),
            "cluster-status: ACTIVE -> FAILED",
        ),
        (
            Change::Credentials(Setting::Value(CredentialsCode {
                code: "Failed".into(),
                message: None,
            })),
            "credentials: Success -> Failed",
        ),
        (
            Change::Throttle(Setting::Value(Throttle {
                service: Service::Eks,
                operation: Some("DescribeCluster".into()),
                times: Some(2),
            })),
            "throttle: eks DescribeCluster: the next 2 requests",
        ),
    ];
    for (change, expected) in table {
        assert_eq!(apply_to(&mut world, &change).unwrap(), [expected]);
    }
    let undone = apply_to(&mut world, &Change::Everything).unwrap();
    assert!(
        undone.contains(&"tokens: optional -> required".to_owned()),
        "{undone:?}"
    );
    assert_eq!(undone.len(), 6, "{undone:?}");
    assert_eq!(world.instance, default.instance);
    assert_eq!(
        (&world.faults, &world.cluster),
        (&default.faults, &default.cluster)
    );
    assert_eq!(
        apply_to(&mut world, &Change::Everything).unwrap(),
        ["no setting had been changed"]
    );
}

#[test]
fn a_refused_change_changes_nothing() {
    let throttle = |operation: &str, service| {
        Change::Throttle(Setting::Value(Throttle {
            service,
            operation: Some(operation.into()),
            times: None,
        }))
    };
    let table = [
        (
            Change::SpotNotice(Setting::Value(Some(SpotAction::Stop))),
            "on-demand",
            "life_cycle: spot",
        ),
        (
            Change::ClusterStatus(Setting::Value("ACTVE".into())),
            "`ACTVE`",
            "did you mean `ACTIVE`?",
        ),
        (
            throttle("DescribeClutser", Service::Eks),
            "`DescribeClutser`",
            "eks.DescribeCluster",
        ),
        (throttle("token", Service::Imds), "path", "imds./latest"),
        (
            Change::UserData(Setting::Value(Some(BASE64_STANDARD.encode(vec![0; LIMIT + 1])))),
            "this has 16385",
            "gzip",
        ),
        (
            Change::Credentials(Setting::Value(CredentialsCode {
                code: "a b".into(),
                message: None,
            })),
            "`a b`: expected one word",
            "AssumeRoleUnauthorizedAccess",
        ),
    ];
    for (change, what, hint) in table {
        let mut world = testing::world().0;
        let refused = apply_to(&mut world, &change).unwrap_err();
        assert!(refused.what.contains(what), "{refused:?}");
        assert!(refused.hint.as_deref().unwrap().contains(hint), "{refused:?}");
        let default = testing::world().0;
        assert_eq!(
            (&world.instance, &world.faults),
            (&default.instance, &default.faults)
        );
    }
}

#[test]
fn a_throttle_replaces_the_last_one_of_the_same_requests() {
    let mut world = testing::world().0;
    for times in [1, 2] {
        let throttle = Throttle {
            service: Service::Sts,
            operation: None,
            times: Some(times),
        };
        apply_to(&mut world, &Change::Throttle(Setting::Value(throttle))).unwrap();
    }
    assert_eq!(world.faults.len(), 1);
    assert_eq!(world.faults[0].times, Some(2));
}
