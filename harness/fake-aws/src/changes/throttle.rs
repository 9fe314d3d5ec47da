//! Throttling of requests while a world is served.

use nodejoin_core::plan::change::{Refused, Setting, Throttle};
use nodejoin_core::plan::fault::{Effect, Fault, Service};
use nodejoin_core::vocabulary::nearest::nearest;

use super::lines::{ChangeLines, line};
use crate::world::World;

/// A throttle precedes every other fault, so that it takes effect at once.
pub(super) fn apply(world: &mut World, default: &World, to: &Setting<Throttle>) -> ChangeLines {
    let Setting::Value(throttle) = to else {
        let is_same = world.faults == default.faults;
        world.faults.clone_from(&default.faults);
        return Ok(vec![line("throttle", "as set", "as in the file", is_same)]);
    };
    check_operation(throttle)?;
    if throttle.times == Some(0) {
        return Err(Refused::new(
            "a throttle of 0 requests has no effect",
            "omit `--times` to throttle every request, or use `throttle default`",
        ));
    }
    let fault = Fault {
        service: throttle.service,
        // The metadata service has paths instead of operations.
        path: throttle
            .operation
            .clone()
            .filter(|_| throttle.service == Service::Imds),
        operation: throttle
            .operation
            .clone()
            .filter(|_| throttle.service != Service::Imds),
        after: 0,
        times: throttle.times,
        from_seconds: None,
        until_seconds: None,
        above_per_second: None,
        effect: Effect::Throttle,
        may_fire: true,
    };
    let is_for_the_same =
        |other: &Fault| other.effect == Effect::Throttle && other.may_fire && same_requests(other, &fault);
    world.faults.retain(|other| !is_for_the_same(other));
    world.faults.insert(0, fault);
    let what = throttle.operation.as_deref().unwrap_or("every operation");
    let times = match throttle.times {
        None => "every request".to_owned(),
        Some(1) => "the next request".to_owned(),
        Some(times) => format!("the next {times} requests"),
    };
    Ok(vec![format!(
        "throttle: {} {what}: {times}",
        throttle.service.word()
    )])
}

fn same_requests(one: &Fault, other: &Fault) -> bool {
    one.service == other.service && one.operation == other.operation && one.path == other.path
}

fn check_operation(throttle: &Throttle) -> Result<(), Refused> {
    let Some(operation) = throttle.operation.as_deref() else {
        return Ok(());
    };
    let (known, word) = (throttle.service.operations(), throttle.service.word());
    if throttle.service == Service::Imds {
        let is_path = operation.starts_with('/');
        return if is_path {
            Ok(())
        } else {
            let what = format!("invalid metadata path `{operation}`: expected a path that starts with `/`");
            Err(Refused::new(what, "for example `imds./latest/meta-data/*`"))
        };
    }
    if known.contains(&operation) {
        return Ok(());
    }
    let hint = nearest(operation, known.iter().copied()).map_or_else(
        || format!("{word} has {}", known.join(", ")),
        |right| format!("did you mean `{word}.{right}`?"),
    );
    Err(Refused::new(
        format!("unknown operation `{operation}` of {word}"),
        hint,
    ))
}
