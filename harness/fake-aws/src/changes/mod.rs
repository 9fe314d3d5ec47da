//! Changes of a world while it is served. Pure: each change returns one line per setting.

mod lines;
#[cfg(test)]
mod tests;
mod throttle;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nodejoin_core::plan::aws::{AuthenticationMode, SpotAction, SpotNotice, Tokens};
use nodejoin_core::plan::change::{Change, CredentialsCode, Refused, Setting};
use nodejoin_core::plan::cluster_status::UnknownClusterStatus;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{ClusterStatus, LifeCycle, RoleMapping, StatusStep};
use nodejoin_core::user_data::LIMIT;

use self::lines::{ChangeLines, UNCHANGED, line};
use crate::world::World;

/// The lines of several instances: once if they agree, else each line with its instance.
#[must_use]
pub(crate) fn merged(changed: &[(&InstanceId, Vec<String>)]) -> Vec<String> {
    match changed {
        [] => Vec::new(),
        [(_, first), others @ ..] if others.iter().all(|(_, lines)| lines == first) => first.clone(),
        all => {
            let lines = all
                .iter()
                .flat_map(|(id, lines)| lines.iter().map(move |line| format!("{id} {line}")));
            lines.collect()
        }
    }
}

/// Changes a world. `default` is the world at the start, `seconds` ago. The caller reads the rows of `aws-auth` from
/// their file.
///
/// # Errors
/// The change is refused; the world is unchanged.
pub(crate) fn apply(
    world: &mut World,
    default: &World,
    change: &Change,
    rows: Option<&[RoleMapping]>,
    seconds: f64,
) -> ChangeLines {
    let metadata = &mut world.instance.metadata;
    let was = &default.instance.metadata;
    match change {
        Change::Tokens(to) => Ok(set("tokens", &mut metadata.tokens, to, &was.tokens, tokens)),
        Change::Endpoint(to) => Ok(set("endpoint", &mut metadata.enabled, to, &was.enabled, enabled)),
        Change::InstanceTags(to) => instance_tags(world, default, to),
        Change::UserData(to) => user_data(world, default, to),
        Change::SpotNotice(to) => spot_notice(world, default, to, seconds),
        Change::Credentials(to) => credentials(world, default, to),
        Change::ClusterStatus(to) => cluster_status(world, default, to),
        Change::Throttle(to) => throttle::apply(world, default, to),
        Change::AwsAuth(_) => Ok(aws_auth(world, default, rows)),
        Change::AuthenticationMode(to) => {
            let (mode, was) = (
                &mut world.cluster.authentication_mode,
                &default.cluster.authentication_mode,
            );
            Ok(set(
                "authentication-mode",
                mode,
                to,
                was,
                |mode: &AuthenticationMode| mode.word().to_owned(),
            ))
        }
        Change::Everything => everything(world, default, seconds),
    }
}

fn everything(world: &mut World, default: &World, seconds: f64) -> ChangeLines {
    let mut lines = Vec::new();
    for change in [
        Change::Tokens(Setting::Default),
        Change::Endpoint(Setting::Default),
        Change::InstanceTags(Setting::Default),
        Change::UserData(Setting::Default),
        Change::SpotNotice(Setting::Default),
        Change::Credentials(Setting::Default),
        Change::ClusterStatus(Setting::Default),
        Change::Throttle(Setting::Default),
        Change::AwsAuth(Setting::Default),
        Change::AuthenticationMode(Setting::Default),
    ] {
        let changed = apply(world, default, &change, None, seconds)?;
        lines.extend(changed.into_iter().filter(|line| !line.ends_with(UNCHANGED)));
    }
    if lines.is_empty() {
        lines.push("no setting had been changed".to_owned());
    }
    Ok(lines)
}

/// Changes one setting.
fn set<T: Clone + PartialEq>(
    name: &str,
    setting: &mut T,
    to: &Setting<T>,
    default: &T,
    word: impl Fn(&T) -> String,
) -> Vec<String> {
    let new = match to {
        Setting::Default => default.clone(),
        Setting::Value(new) => new.clone(),
    };
    let old = std::mem::replace(setting, new);
    vec![line(name, &word(&old), &word(setting), old == *setting)]
}

fn tokens(tokens: &Tokens) -> String {
    match tokens {
        Tokens::Required => "required".to_owned(),
        Tokens::Optional => "optional".to_owned(),
    }
}

fn enabled(enabled: &bool) -> String {
    if *enabled { "enabled" } else { "disabled" }.to_owned()
}

fn on(on: &bool) -> String {
    if *on { "on" } else { "off" }.to_owned()
}

/// EC2 rejects tag keys with a slash or a blank while the metadata includes tags.
fn instance_tags(world: &mut World, default: &World, to: &Setting<bool>) -> ChangeLines {
    let slashed = world.instance.tags.keys().find(|key| key.contains(['/', ' ']));
    if let (Setting::Value(true), Some(tag)) = (to, slashed) {
        return Err(Refused::new(
            format!("EC2 does not allow tags in the metadata of an instance with the tag `{tag}`"),
            "rename the tag, or start with `instance: { metadata: { instance_tags: true } }`, which omits the cluster's tag",
        ));
    }
    let setting = &mut world.instance.metadata.instance_tags;
    let was = &default.instance.metadata.instance_tags;
    Ok(set("instance-tags", setting, to, was, on))
}

fn user_data(world: &mut World, default: &World, to: &Setting<Option<String>>) -> ChangeLines {
    let new = match to {
        Setting::Default => default.user_data.clone(),
        Setting::Value(None) => None,
        Setting::Value(Some(text)) => {
            let bytes = BASE64_STANDARD.decode(text).map_err(|error| Refused {
                what: format!("invalid user data: expected base64: {error}"),
                hint: None,
            })?;
            if bytes.len() > LIMIT {
                let what = format!(
                    "EC2 rejects user data over {LIMIT} bytes; this has {}",
                    bytes.len()
                );
                return Err(Refused::new(
                    what,
                    "compress it with gzip; cloud-init decompresses it",
                ));
            }
            Some(bytes)
        }
    };
    let word = |bytes: &Option<Vec<u8>>| match bytes {
        None => "none".to_owned(),
        Some(bytes) => format!("{} bytes", bytes.len()),
    };
    let old = std::mem::replace(&mut world.user_data, new);
    let is_same = old == world.user_data;
    Ok(vec![line(
        "user-data",
        &word(&old),
        &word(&world.user_data),
        is_same,
    )])
}

fn spot_notice(
    world: &mut World,
    default: &World,
    to: &Setting<Option<SpotAction>>,
    seconds: f64,
) -> ChangeLines {
    if matches!(to, Setting::Value(Some(_))) && world.instance.life_cycle != LifeCycle::Spot {
        return Err(Refused::new(
            "only a spot instance has notices, and this one is on-demand",
            "set `instance: { life_cycle: spot }` in the file and restart",
        ));
    }
    let notice = match to {
        Setting::Default => Setting::Default,
        Setting::Value(action) => Setting::Value(action.map(|action| SpotNotice {
            action,
            after_seconds: seconds,
        })),
    };
    let word = |notice: &Option<SpotNotice>| match notice {
        None => "none".to_owned(),
        Some(notice) => notice.action.word().to_owned(),
    };
    let setting = &mut world.instance.metadata.spot_notice;
    let was = &default.instance.metadata.spot_notice;
    Ok(set("spot-notice", setting, &notice, was, word))
}

fn credentials(world: &mut World, default: &World, to: &Setting<CredentialsCode>) -> ChangeLines {
    let was = &default.instance.metadata.credentials;
    let (code, message) = match to {
        Setting::Default => (was.code.clone(), was.message.clone()),
        Setting::Value(new) => (new.code.clone(), new.message.clone()),
    };
    if code.is_empty() || code.contains(char::is_whitespace) {
        return Err(Refused::new(
            format!("invalid code `{code}`: expected one word"),
            "for example `AssumeRoleUnauthorizedAccess`, or `Success`",
        ));
    }
    let setting = &mut world.instance.metadata.credentials;
    let is_same = (&setting.code, &setting.message) == (&code, &message);
    setting.message = message;
    let old = std::mem::replace(&mut setting.code, code);
    Ok(vec![line("credentials", &old, &setting.code, is_same)])
}

fn cluster_status(world: &mut World, default: &World, to: &Setting<String>) -> ChangeLines {
    let steps = match to {
        Setting::Default => Setting::Default,
        Setting::Value(status) => {
            let status: ClusterStatus = status
                .parse()
                .map_err(|unknown: UnknownClusterStatus| Refused::new(unknown.to_string(), unknown.hint()))?;
            Setting::Value(vec![StatusStep {
                status,
                until_seconds: None,
            }])
        }
    };
    let word = |steps: &Vec<StatusStep>| {
        let words: Vec<&str> = steps.iter().map(|step| step.status.as_str()).collect();
        words.join(", then ")
    };
    let (setting, was) = (&mut world.cluster.status, &default.cluster.status);
    Ok(set("cluster-status", setting, &steps, was, word))
}

fn aws_auth(world: &mut World, default: &World, rows: Option<&[RoleMapping]>) -> Vec<String> {
    let old = (
        world.cluster.aws_auth.clone(),
        world.cluster.aws_auth_text.clone(),
    );
    match rows {
        None => {
            world.cluster.aws_auth.clone_from(&default.cluster.aws_auth);
            world
                .cluster
                .aws_auth_text
                .clone_from(&default.cluster.aws_auth_text);
        }
        Some(rows) => (world.cluster.aws_auth, world.cluster.aws_auth_text) = (rows.to_vec(), None),
    }
    let new = (
        world.cluster.aws_auth.clone(),
        world.cluster.aws_auth_text.clone(),
    );
    vec![line("aws-auth", &mapped(&old), &mapped(&new), old == new)]
}

fn mapped((rows, text): &(Vec<RoleMapping>, Option<String>)) -> String {
    match (rows.as_slice(), text) {
        (_, Some(_)) => "a text".to_owned(),
        ([], None) => "no rows".to_owned(),
        (rows, None) => {
            let arns: Vec<&str> = rows.iter().map(|row| row.rolearn.as_str()).collect();
            arns.join(", ")
        }
    }
}
