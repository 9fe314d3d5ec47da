//! Notes on labels whose value a program printed for nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::judge::verdict::{Note, NoteKind};
use crate::kubernetes::{labels_of_flag, value_of_flag};
use crate::observation::Observation;
use crate::plan::Plan;

/// What programs print if they find no value.
const WORDS: [(&str, &str); 2] = [("None", "the AWS CLI"), ("null", "jq")];

/// Labels of the kubelet with such a word that the user data does not write itself.
pub(super) fn labels_of_nothing(plan: &Plan, observation: &Observation) -> Vec<Note> {
    let collected = observation.collected.as_ref();
    let arguments = collected.and_then(|collected| collected.kubelet_argv.as_deref());
    let labels = arguments.and_then(|arguments| value_of_flag(arguments, "--node-labels"));
    let user_data = plan.user_data.as_ref();
    let user_data = user_data.and_then(|data| STANDARD.decode(&data.base64).ok());
    let text = String::from_utf8_lossy(user_data.as_deref().unwrap_or_default()).into_owned();
    let note = |(key, value): (&str, &str)| {
        let (word, program) = WORDS.into_iter().find(|(word, _)| *word == value)?;
        let label = format!("{key}={word}");
        let hint = match plan.is_trial && word == "None" {
            true => {
                "; if it reads a tag, give the instance yours: `--with 'instance: { tags: { KEY: VALUE } }'`"
            }
            false => "",
        };
        let what = format!(
            "the kubelet has the label `{label}`: {program} prints `{word}` if it finds no value{hint}"
        );
        (!text.contains(&label)).then(|| Note::new(NoteKind::LabelOfNothing, what))
    };
    let labels = labels_of_flag(labels.unwrap_or_default());
    labels.into_iter().filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::tests::plan;
    use crate::observation::Collected;
    use crate::plan::{UserDataEngine, UserDataPlan};

    #[test]
    fn a_label_of_a_look_up_that_found_nothing_is_noted() {
        let observation = Observation {
            collected: Some(Collected {
                kubelet_argv: Some(vec!["--node-labels=team=None,own=null,app=web,empty=".to_owned()]),
                ..Collected::default()
            }),
            ..Observation::default()
        };
        let mut plan = plan("phase: ready");
        plan.user_data = Some(UserDataPlan {
            engine: UserDataEngine::CloudInit,
            base64: STANDARD.encode("--node-labels=team=$(aws ec2 describe-tags),own=null"),
            gzip: false,
            replace: None,
            is_translated: false,
        });
        let notes = labels_of_nothing(&plan, &observation);
        let expected =
            "the kubelet has the label `team=None`: the AWS CLI prints `None` if it finds no value";
        assert_eq!(notes, [Note::new(NoteKind::LabelOfNothing, expected)]);
        plan.is_trial = true;
        let hinted = &labels_of_nothing(&plan, &observation)[0].what;
        let hint =
            "; if it reads a tag, give the instance yours: `--with 'instance: { tags: { KEY: VALUE } }'`";
        assert_eq!(*hinted, format!("{expected}{hint}"));
    }
}
