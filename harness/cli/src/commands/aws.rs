//! `nodejoin aws`

use std::fs::OpenOptions;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::aws::{SpotAction, Tokens};
use nodejoin_core::plan::change::{
    self, AwsAuthText, Change, ChangeRequest, CredentialsCode, Refused, Setting, Throttle,
};
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_core::scenario;
use nodejoin_engine::account::{self, AccountError, AccountRequest, LogTarget, ServedAccount};

use crate::aws_args::{AwsArgs, AwsCommand, EndpointTo, SetArgs, SetCommand, SpotTo, SwitchTo, TokensTo};
use crate::commands::inspect;
use crate::process;

/// Serves an account until a signal, or changes a running one.
pub(crate) async fn aws(args: AwsArgs, factor: TimeFactor) -> ExitCode {
    let done = match &args.command {
        Some(AwsCommand::Set(args_of_set)) => set(&args.folder, args_of_set, factor),
        None => serve(&args, factor).await,
    };
    done.unwrap_or_else(|code| code)
}

async fn serve(args: &AwsArgs, factor: TimeFactor) -> Result<ExitCode, ExitCode> {
    let plan = plan(args.file.as_deref())?;
    let cancel = process::cancel_on_signals().map_err(|error| {
        process::report_error("could not listen for signals", &error, None);
        ExitCode::Host
    })?;
    // Only an account that lists images of the container engine needs one.
    let engine = match account::needs_engine(&plan) {
        true => Some(process::engine(factor).await?),
        false => None,
    };
    let request = AccountRequest {
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
    let served = ServedAccount::start(request).await.map_err(|error| {
        process::report_error("could not serve the account", &error, error.hint());
        ExitCode::Environment
    })?;
    print_endpoints(&served, &plan);
    cancel.cancelled().await;
    served.shut_down().await;
    Ok(ExitCode::Cancelled)
}

fn plan(file: Option<&Path>) -> Result<Plan, ExitCode> {
    let disk = process::disk();
    match file {
        None => Ok(scenario::default_account(&disk)),
        Some(file) => scenario::load_account(file, &disk).map_err(|error| inspect::refuse(&error)),
    }
}

fn log(file: Option<&Path>) -> Result<LogTarget, ExitCode> {
    let Some(path) = file else {
        return Ok(LogTarget::Text(Box::new(std::io::stderr())));
    };
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.map(|file| LogTarget::Json(Box::new(file))).map_err(|error| {
        process::report_error(
            &format!("could not open the log `{}`", path.display()),
            &error,
            None,
        );
        ExitCode::Environment
    })
}

/// Prints the variables on standard output, and everything else on standard error.
fn print_endpoints(served: &ServedAccount, plan: &Plan) {
    let endpoints = &served.endpoints;
    let role = plan.role.as_ref().map_or("none", |role| role.name.as_str());
    let instances = match plan.others.len() {
        0 => format!("instance {} with", plan.instance.id),
        others => format!("{} instances with", others + 1),
    };
    note!(
        "account {}, region {}, cluster {}, {instances} the role {role}",
        plan.account,
        plan.region,
        plan.cluster.name,
    );
    for (id, address) in &endpoints.metadata {
        match plan.others.len() {
            0 => note!("metadata   http://{address}"),
            _ => note!("metadata   http://{address} of {id}"),
        }
    }
    note!("services   https://{}, by host name", endpoints.services);
    if let Some(webhook) = endpoints.webhook {
        note!("webhook    https://{webhook}/authenticate");
    }
    let metadata = endpoints.metadata.iter().map(|(_, address)| *address);
    let open = metadata.chain([endpoints.services]).chain(endpoints.webhook);
    for address in open.filter(|address| !address.ip().is_loopback()) {
        note!(
            "warning: other hosts can reach {address}; no request to the metadata service needs a password"
        );
    }
    note!("files in   {}", endpoints.folder.display());
    endpoints.lines().iter().for_each(|line| out!("{line}"));
}

/// `nodejoin aws set`
fn set(folder: &Path, args: &SetArgs, factor: TimeFactor) -> Result<ExitCode, ExitCode> {
    let change = change(&args.what).map_err(|refused| {
        process::report_error("nothing was changed", &refused, refused.hint.clone());
        ExitCode::Usage
    })?;
    let request = ChangeRequest {
        instance: args.instance.clone(),
        change,
    };
    match account::request_change(folder, &request, factor) {
        Ok(lines) => {
            lines.iter().for_each(|line| out!("{line}"));
            Ok(ExitCode::Passed)
        }
        Err(AccountError::Refused(refused)) => {
            process::report_error("nothing was changed", &refused, refused.hint.clone());
            Err(ExitCode::Usage)
        }
        Err(error) => {
            process::report_error("nothing was changed", &error, error.hint());
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

fn rows(file: &str, bytes: Vec<u8>) -> Result<AwsAuthText, Refused> {
    let text = String::from_utf8(bytes).map_err(|error| Refused {
        what: format!("`{file}` is not UTF-8: {error}"),
        hint: None,
    })?;
    let is_file = file != "-";
    Ok(AwsAuthText {
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
            format!("could not read `{file}`: {error}"),
            "pass the path of a readable file",
        )
    })
}
