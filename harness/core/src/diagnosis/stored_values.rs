//! Values that scripts read from AWS: parameters, secrets, objects and metadata of stacks. The account of a trial is
//! invented.

use super::facts::{Evidence, Facts};
use super::script_output::{is_complaint, is_failure, last_output, lines_before_the_end};
use super::types::Finding;
use crate::observation::{AwsCall, CalledService, Millis};
use crate::plan::Plan;
use crate::plan::aws::StackPlan;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::nearest::nearest;
use crate::vocabulary::phase::Phase;
use crate::vocabulary::service::Service;

/// A value that AWS does not have.
pub(super) struct MissingValue<'a> {
    at: Millis,
    call: &'a AwsCall,
    /// What the value is, such as `the parameter`.
    what: &'static str,
    name: &'a str,
}

impl<'a> MissingValue<'a> {
    /// The stack of the plan that does not have the resource. All resources of a stack of the plan are known: a missing
    /// one is misspelt.
    fn stack_without_it(&self, plan: &'a Plan) -> Option<(&'a StackPlan, &'a str)> {
        let is_stack = matches!(self.call.service, CalledService::Known(Service::Cloudformation));
        let (stack, id) = self.name.split_once('/').filter(|_| is_stack)?;
        let stack = plan.aws.stacks.iter().find(|known| known.name == stack)?;
        Some((stack, id)).filter(|(stack, _)| !stack.resources.is_empty())
    }

    /// How to store the value, or to correct its name.
    pub(super) fn remedy(&self, plan: &Plan) -> String {
        if is_in_another_region(plan, self.call) {
            return format!(
                "request {} in its own region (`--region {}`), or set the region of the instance, from which the AWS CLI has it",
                self.what, plan.region
            );
        }
        if let Some((stack, id)) = self.stack_without_it(plan) {
            return correct_resource(stack, id);
        }
        let name = self.name;
        let (what, store) = match self.call.service {
            CalledService::Known(Service::Cloudformation) => {
                let (stack, id) = name.split_once('/').unwrap_or((name, "RESOURCE"));
                let resource = format!("{id}: {{ type: TYPE, metadata: METADATA }}");
                let key = format!("aws: {{ stacks: [{{ name: {stack}, resources: {{ {resource} }} }}] }}");
                ("value", plan.key_hint(&key))
            }
            CalledService::Known(service) => match how_to_store_value(plan, service, name) {
                Some(store) => ("value", store),
                None => ("object", how_to_store_object(plan, name)),
            },
            _ => ("object", how_to_store_object(plan, name)),
        };
        format!("to store the {what} that AWS has, {store}; or correct its name in the script")
    }
}

/// Whether a request is for a parameter or a secret of the scenario, and goes to another region.
pub(crate) fn is_in_another_region(plan: &Plan, call: &AwsCall) -> bool {
    let name = call.subject.as_deref().unwrap_or_default();
    let is_stored = match call.service {
        CalledService::Known(Service::Ssm) => plan.aws.parameters.contains_key(name),
        CalledService::Known(Service::Secretsmanager) => plan.aws.secrets.contains_key(name),
        _ => false,
    };
    is_stored && !call.host.contains(plan.region.as_str())
}

/// How a scenario stores a parameter or a secret.
pub(crate) fn how_to_store_value(plan: &Plan, service: Service, name: &str) -> Option<String> {
    let key = match service {
        Service::Ssm => "parameters",
        Service::Secretsmanager => "secrets",
        _ => return None,
    };
    Some(plan.key_hint(&format!("aws: {{ {key}: {{ {name}: VALUE }} }}")))
}

/// How a scenario stores an object, such as `bucket/key`, or a bucket.
pub(crate) fn how_to_store_object(plan: &Plan, name: &str) -> String {
    let key = |content: &str| {
        let bucket = name.split('/').next().unwrap_or_default();
        plan.key_hint(&format!("aws: {{ buckets: {{ {bucket}: {{ {content} }} }} }}"))
    };
    match name.split_once('/') {
        Some((_, object)) => {
            let store = key(&format!("objects: {{ {object}: TEXT }}"));
            format!("{store}, or `folder: FOLDER` in place of `objects` for files")
        }
        None => key("folder: FOLDER"),
    }
}

fn correct_resource(stack: &StackPlan, id: &str) -> String {
    /// More fill the terminal.
    const MOST: usize = 6;
    let known = || stack.resources.keys().map(String::as_str);
    let name = &stack.name;
    match nearest(id, known()) {
        Some(right) => format!("the stack `{name}` has the resource `{right}`: correct `{id}` in the script"),
        None => {
            let some: Vec<_> = known().take(MOST).map(|known| format!("`{known}`")).collect();
            let more = if known().count() > MOST { ", ..." } else { "" };
            format!(
                "the stack `{name}` has {}{more}: correct `{id}` in the script",
                some.join(", ")
            )
        }
    }
}

/// The value that the last failed request before `end` did not find, and for which the script ended.
pub(super) fn missing<'a>(facts: &Facts<'a>, end: Millis) -> Option<MissingValue<'a>> {
    const CODES: [&str; 5] = [
        "ParameterNotFound",
        "ResourceNotFoundException",
        "NoSuchBucket",
        "NoSuchKey",
        // CloudFormation has one code for all of its errors.
        "ValidationError",
    ];
    let failed = facts.calls().filter(|(at, call)| *at <= end && call.has_failed());
    let (at, call) = failed.last()?;
    let name = call.subject.as_deref()?;
    let what = match call.service {
        CalledService::Known(Service::Ssm) => "the parameter",
        CalledService::Known(Service::Secretsmanager) => "the secret",
        CalledService::Known(Service::S3) => "the object",
        CalledService::Known(Service::Cloudformation) if call.operation == "DescribeStackResource" => {
            "the metadata of the stack's resource"
        }
        _ => return None,
    };
    let code = call.error.as_deref().filter(|code| CODES.contains(code))?;
    let is_reported = lines_before_the_end(facts)
        .iter()
        .any(|(_, line)| line.message.contains(code));
    // A script that continues without the value can end for a reason of its own, which it names.
    let has_own_reason = last_output(facts, end).is_some_and(|last| is_complaint(&last.line.message));
    (is_reported || !has_own_reason).then_some(MissingValue { at, call, what, name })
}

/// The script ended without a value: the resource of a known stack, which is an error of the script, or in a trial a
/// value that only the user's own account has.
pub(super) fn not_stored(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let failure = facts.user_data_lines().find(|(_, line)| is_failure(line));
    let end = failure.map(|(at, _)| at).or(facts.user_data_done)?;
    let missing = missing(facts, end)?;
    let evidence = Evidence::call(missing.at, missing.call);
    let remedy = missing.remedy(facts.plan);
    if let Some((stack, id)) = missing.stack_without_it(facts.plan) {
        let because = format!(
            "the script reads {} `{id}`, which the stack `{}` does not have",
            missing.what, stack.name
        );
        return facts.final_(Cause::ScriptFailed, because, &evidence, remedy);
    }
    if is_in_another_region(facts.plan, missing.call) {
        let because = format!(
            "the script reads {} {} at {}, and it is in {}",
            missing.what, missing.name, missing.call.host, facts.plan.region
        );
        return facts.final_(Cause::ScriptFailed, because, &evidence, remedy);
    }
    if !facts.plan.is_trial {
        return None;
    }
    let because = format!(
        "a limit of nodejoin, not an error of the script: it reads {} {}, which only your own account has",
        missing.what, missing.name
    );
    facts.final_(Cause::HarnessLimit, because, &evidence, remedy)
}
