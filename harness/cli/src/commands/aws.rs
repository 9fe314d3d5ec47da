//! `nodejoin aws`

use std::fs::OpenOptions;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::aws::{SpotAction, Tokens};
use nodejoin_core::plan::change::{self, Change, CredentialsCode, Refused, Rows, Setting, Throttle};
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_core::scenario;
use nodejoin_engine::account::{self, AccountAsk, AccountError, LogTo, Served};

use crate::aws_args::{Aws, AwsCommand, EndpointTo, SetCommand, SpotTo, SwitchTo, TokensTo};
use crate::commands::inspect;
use crate::edge;

/// Serves an account until it is ended, or changes the one that is served.
pub(crate) async fn aws(args: Aws, factor: TimeFactor) -> ExitCode {
    let done = match &args.command {
        Some(AwsCommand::Set(asked)) => set(&args.folder, &asked.what),
        None => serve(&args, factor).await,
    };
    done.unwrap_or_else(|code| code)
}

async fn serve(args: &Aws, factor: TimeFactor) -> Result<ExitCode, ExitCode> {
    let plan = plan(args.file.as_deref())?;
    let cancel = edge::cancel_on_signals().map_err(|error| {
        edge::complain("could not listen for signals", &error, None);
        ExitCode::Host
    })?;
    // Only who lists an image of the engine's needs one.
    let engine = match account::needs_engine(&plan) {
        true => Some(edge::engine(factor).await?),
        false => None,
    };
    let ask = AccountAsk {
        engine,
        kubernetes: args.kubernetes,
        metadata: args.metadata,
        services: args.services,
        webhook: args.webhook,
        folder: args.folder.clone(),
        log: log(args.log.as_deref())?,
        time_factor: factor,
        plan: plan.clone(),
    };
    let served = Served::start(ask).await.map_err(|error| {
        edge::complain("the account cannot be served", &error, error.hint());
        ExitCode::Environment
    })?;
    tell(&served, &plan);
    cancel.cancelled().await;
    served.shut_down().await;
    Ok(ExitCode::Cancelled)
}

fn plan(file: Option<&Path>) -> Result<Plan, ExitCode> {
    let disk = edge::disk();
    match file {
        None => Ok(scenario::default_account(&disk)),
        Some(file) => scenario::load_account(file, &disk).map_err(|error| inspect::refuse(&error)),
    }
}

fn log(file: Option<&Path>) -> Result<LogTo, ExitCode> {
    let Some(path) = file else {
        return Ok(LogTo::Text(Box::new(std::io::stderr())));
    };
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.map(|file| LogTo::Json(Box::new(file))).map_err(|error| {
        edge::complain(
            &format!("the log `{}` cannot be written", path.display()),
            &error,
            None,
        );
        ExitCode::Environment
    })
}

/// The three lines are the data; who reads them as a program finds nothing else on standard output.
fn tell(served: &Served, plan: &Plan) {
    let told = &served.told;
    let role = plan.role.as_ref().map_or("none", |role| role.name.as_str());
    eprintln!(
        "account {}, region {}, cluster {}, instance {} with the role {role}",
        plan.account, plan.region, plan.cluster.name, plan.instance.id
    );
    eprintln!("metadata   http://{}", told.metadata);
    eprintln!("services   https://{}, by host name", told.services);
    if let Some(webhook) = told.webhook {
        eprintln!("webhook    https://{webhook}/authenticate");
    }
    eprintln!("files in   {}", told.folder.display());
    told.lines().iter().for_each(|line| out!("{line}"));
}

/// `nodejoin aws set`
fn set(folder: &Path, setting: &SetCommand) -> Result<ExitCode, ExitCode> {
    let change = change(setting).map_err(|refused| {
        edge::complain("nothing was changed", &refused, refused.hint.clone());
        ExitCode::Usage
    })?;
    match account::ask(folder, &change) {
        Ok(lines) => {
            lines.iter().for_each(|line| out!("{line}"));
            Ok(ExitCode::Passed)
        }
        Err(AccountError::Refused(refused)) => {
            edge::complain("nothing was changed", &refused, refused.hint.clone());
            Err(ExitCode::Usage)
        }
        Err(error) => {
            edge::complain("nothing was changed", &error, error.hint());
            Err(ExitCode::Environment)
        }
    }
}

fn change(setting: &SetCommand) -> Result<Change, Refused> {
    Ok(match setting {
        SetCommand::Tokens { to } => Change::Tokens(match to {
            TokensTo::Required => Setting::Value(Tokens::Required),
            TokensTo::Optional => Setting::Value(Tokens::Optional),
            TokensTo::Default => Setting::Default,
        }),
        SetCommand::Endpoint { to } => Change::Endpoint(match to {
            EndpointTo::Enabled => Setting::Value(true),
            EndpointTo::Disabled => Setting::Value(false),
            EndpointTo::Default => Setting::Default,
        }),
        SetCommand::InstanceTags { to } => Change::InstanceTags(match to {
            SwitchTo::On => Setting::Value(true),
            SwitchTo::Off => Setting::Value(false),
            SwitchTo::Default => Setting::Default,
        }),
        SetCommand::UserData { to } => Change::UserData(match to.as_str() {
            "default" => Setting::Default,
            "none" => Setting::Value(None),
            file => Setting::Value(Some(BASE64_STANDARD.encode(read(file)?))),
        }),
        SetCommand::SpotNotice { to } => Change::SpotNotice(match to {
            SpotTo::Terminate => Setting::Value(Some(SpotAction::Terminate)),
            SpotTo::Stop => Setting::Value(Some(SpotAction::Stop)),
            SpotTo::Hibernate => Setting::Value(Some(SpotAction::Hibernate)),
            SpotTo::None => Setting::Value(None),
            SpotTo::Default => Setting::Default,
        }),
        SetCommand::Credentials { to, message } => Change::Credentials(match to.as_str() {
            "default" => Setting::Default,
            code => Setting::Value(CredentialsCode {
                code: code.to_owned(),
                message: message.clone(),
            }),
        }),
        SetCommand::ClusterStatus { to } => Change::ClusterStatus(match to.as_str() {
            "default" => Setting::Default,
            status => Setting::Value(status.to_owned()),
        }),
        SetCommand::Throttle { to, times } => Change::Throttle(match to.as_str() {
            "default" => Setting::Default,
            call => Setting::Value(throttle(call, *times)?),
        }),
        SetCommand::AwsAuth { to } => Change::AwsAuth(match to.as_str() {
            "default" => Setting::Default,
            "none" => Setting::Value(rows("none", b"[]".to_vec())?),
            file => Setting::Value(rows(file, read(file)?)?),
        }),
        SetCommand::AuthenticationMode { to } => {
            Change::AuthenticationMode(to.mode().map_or(Setting::Default, Setting::Value))
        }
        SetCommand::Default => Change::Everything,
    })
}

fn throttle(call: &str, times: Option<u32>) -> Result<Throttle, Refused> {
    let (service, operation) = change::call(call)?;
    Ok(Throttle {
        service,
        operation,
        times,
    })
}

fn rows(file: &str, bytes: Vec<u8>) -> Result<Rows, Refused> {
    let text = String::from_utf8(bytes).map_err(|error| Refused {
        what: format!("`{file}` is not UTF-8: {error}"),
        hint: None,
    })?;
    let is_file = file != "-";
    Ok(Rows {
        file: if is_file { file } else { "standard input" }.to_owned(),
        text,
    })
}

fn read(file: &str) -> Result<Vec<u8>, Refused> {
    let mut bytes = Vec::new();
    let read = match file {
        "-" => std::io::stdin().read_to_end(&mut bytes).map(|_| bytes),
        file => std::fs::read(file),
    };
    read.map_err(|error| {
        Refused::new(
            format!("cannot read `{file}`: {error}"),
            "name a file that can be read",
        )
    })
}
