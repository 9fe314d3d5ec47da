//! Reads the file and adopts its machines.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use nodejoin_import::{
    AddedKeys, AdoptError, ClusterTraits, Import, ImportError, Imported, Machine, Trial, adopt, import,
};

use crate::args::TryArgs;

/// Name of standard input on the command line.
const STANDARD_INPUT: &str = "-";

/// The machines of a file as scenarios.
pub(crate) struct Tried {
    /// The path of the file as the user gave it.
    pub(crate) name: String,
    /// What the file is, such as `a MIME message`.
    pub(crate) format: String,
    pub(crate) notes: Vec<String>,
    pub(crate) trials: Vec<Trial>,
    /// Keys of the command line for all scenarios.
    pub(crate) added: AddedKeys,
    /// Machines of the file that cannot be tried, with the reason.
    pub(crate) not_tried: Vec<NotTried>,
    /// The folder of the file, and its name if its bytes are the user data of its only machine.
    pub(crate) folder: PathBuf,
    pub(crate) unchanged: Option<String>,
}

/// Why nothing can be tried.
#[derive(Debug)]
pub(crate) struct TryError {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl TryError {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

/// Reads the file of the command line.
pub(crate) fn tried(args: &TryArgs) -> Result<Tried, TryError> {
    let name = args.file.display().to_string();
    let bytes = bytes(&args.file)?;
    let set: BTreeMap<String, String> = args.set.iter().cloned().collect();
    let import_with = |set: &BTreeMap<String, String>| {
        import(&Import {
            name: &name,
            bytes: &bytes,
            folder: args.file.is_dir().then_some(args.file.as_path()),
            set,
            cluster: &ClusterTraits::default(),
        })
    };
    let imported = import_with(&set).map_err(|error| refusal(&name, &error))?;
    let (machines, mut not_tried) = selected(&imported, &args.select)?;
    let mut trials: Vec<Trial> = Vec::new();
    let added = added_keys(&args.with)?;
    let mut refused = Vec::new();
    for machine in machines {
        let mut machine = machine.clone();
        added.adopt_into(&mut machine);
        match adopt(&machine, &set) {
            Ok(trial) => trials.push(unique(trial, &trials)),
            Err(error @ AdoptError::UnsupportedSystem { .. }) => {
                not_tried.push(NotTried {
                    name: machine.name.clone(),
                    reason: format!("{error}: {}", error.hint()),
                    is_mistake: false,
                });
            }
            Err(error) => {
                not_tried.push(NotTried {
                    name: machine.name.clone(),
                    reason: format!("{error}: {}", error.hint()),
                    is_mistake: true,
                });
                refused.push(TryError::new(format!("{name}: {error}"), error.hint()));
            }
        }
    }
    if trials.is_empty() {
        if let (Some(error), 1) = (refused.pop(), not_tried.len()) {
            return Err(error);
        }
        return Err(nothing(&name, &not_tried));
    }
    let only = trials.first().filter(|_| trials.len() == 1);
    let is_unchanged = only.is_some_and(|trial| trial.user_data.as_deref() == Some(&bytes));
    let is_file = is_unchanged && name != STANDARD_INPUT;
    let text = String::from_utf8_lossy(&bytes);
    // A template of CloudFormation can compose a name of others: such a one is not in the file.
    let is_composed = |name: &String| {
        let mut others = set.clone();
        others.remove(name);
        import_with(&others).ok().as_ref() != Some(&imported)
    };
    let unused = set
        .keys()
        .filter(|name| !bytes.is_empty() && !text.contains(name.as_str()) && !is_composed(name));
    let unused =
        unused.map(|unused| format!("`--set {unused}=...` fills in nothing: {name} has no `{unused}`"));
    let notes = imported.notes.iter().cloned().chain(unused).collect();
    Ok(Tried {
        folder: folder(&args.file),
        unchanged: args
            .file
            .file_name()
            .filter(|_| is_file)
            .map(|name| name.to_string_lossy().into_owned()),
        format: imported.format.to_string(),
        notes,
        name,
        trials,
        added,
        not_tried,
    })
}

/// The keys of `--with`: each value is a file, or the keys themselves.
fn added_keys(values: &[String]) -> Result<AddedKeys, TryError> {
    let hint = "give keys of a scenario, such as `--with 'network: open'`, or a YAML file with them";
    let mut added = AddedKeys::default();
    for value in values {
        let path = Path::new(value);
        let (name, text) = match path.is_file() {
            true => (format!("`{value}`"), std::fs::read_to_string(path)),
            false => (format!("`--with {value}`"), Ok(value.clone())),
        };
        let text = text.map_err(|error| TryError::new(format!("cannot read {name}: {error}"), hint))?;
        let keys = AddedKeys::read(&text).map_err(|error| TryError::new(format!("{name}: {error}"), hint))?;
        let keys =
            keys.ok_or_else(|| TryError::new(format!("{name} is neither a file nor a mapping"), hint))?;
        added.merge(keys);
    }
    Ok(added)
}

fn bytes(file: &Path) -> Result<Vec<u8>, TryError> {
    if file.is_dir() {
        return Ok(Vec::new());
    }
    let mut bytes = Vec::new();
    let read = if file == Path::new(STANDARD_INPUT) {
        std::io::stdin().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(file).map(|read| bytes = read)
    };
    read.map_err(|error| {
        TryError::new(
            format!("cannot read `{}`: {error}", file.display()),
            "give the path of user data, or of a file of another tool; `-` reads standard input",
        )
    })?;
    Ok(bytes)
}

fn folder(file: &Path) -> PathBuf {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    std::path::absolute(parent.unwrap_or(Path::new("."))).unwrap_or_default()
}

pub(crate) fn refusal(name: &str, error: &ImportError) -> TryError {
    let message = match error {
        ImportError::NotRecognized { .. } => error.to_string(),
        _ => format!("{name}: {error}"),
    };
    TryError::new(message, error.hint())
}

/// A machine that is not tried.
#[derive(Debug)]
pub(crate) struct NotTried {
    pub(crate) name: String,
    pub(crate) reason: String,
    /// Whether the file is to be corrected.
    pub(crate) is_mistake: bool,
}

/// Machines and the reasons why others are not tried.
type Selected<'a> = (Vec<&'a Machine>, Vec<NotTried>);

/// The machines that the command line selects. A whole name takes precedence over a part of other names.
fn selected<'a>(imported: &'a Imported, select: &[String]) -> Result<Selected<'a>, TryError> {
    let names: Vec<&str> = imported
        .machines
        .iter()
        .map(|machine| machine.name.as_str())
        .collect();
    let is_selected = |name: &str| {
        select.is_empty()
            || select.iter().any(|text| {
                let is_whole = names.contains(&text.as_str());
                if is_whole {
                    name == text
                } else {
                    name.contains(text.as_str())
                }
            })
    };
    let mut machines: Vec<&Machine> = imported
        .machines
        .iter()
        .filter(|machine| is_selected(&machine.name))
        .collect();
    let left_out = imported.machines.iter().filter_map(|machine| {
        let reason = machine.left_out.clone().filter(|_| select.is_empty())?;
        Some(NotTried {
            name: machine.name.clone(),
            reason,
            is_mistake: false,
        })
    });
    let unread = imported.unread.iter().filter(|unread| is_selected(&unread.name));
    let unread = unread.map(|unread| NotTried {
        name: unread.name.clone(),
        reason: format!("{}: {}", unread.error, unread.error.hint()),
        is_mistake: unread.error.is_mistake(),
    });
    let not_tried: Vec<NotTried> = left_out.chain(unread).collect();
    machines.retain(|machine| !select.is_empty() || machine.left_out.is_none());
    if machines.is_empty() && not_tried.is_empty() {
        let message = format!("no machine matches `--select {}`", select.join(" --select "));
        return Err(TryError::new(
            message,
            format!("the file defines: {}", names.join(", ")),
        ));
    }
    Ok((machines, not_tried))
}

fn nothing(name: &str, not_tried: &[NotTried]) -> TryError {
    let reasons: Vec<&str> = not_tried.iter().map(|one| one.reason.as_str()).collect();
    TryError::new(
        format!("{name}: no machine can be tried: {}", reasons.join("; ")),
        "correct what the message names, or give a file with the user data of a Linux node",
    )
}

/// Names of machines can differ in characters that names of files cannot have.
fn unique(mut trial: Trial, trials: &[Trial]) -> Trial {
    let is_taken = |id: &str| trials.iter().any(|other| other.id == id);
    if is_taken(&trial.id) {
        let mut numbered = (2..).map(|number| format!("{}-{number}", trial.id));
        trial.id = numbered.find(|id| !is_taken(id)).unwrap_or_default();
    }
    trial
}
