//! Where the scripts of a node come from: a file of an overlay, lines of a scenario, or the node alone.

use std::path::Path;

use nodejoin_core::observation::TracedScript;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::plan::sources::ScriptSource;

/// The file of a script.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) name: String,
    /// Lines of the file before the script.
    pub(super) offset: u64,
}

/// The plan of a scenario, whose id can name a version and a repetition as well.
pub(super) fn plan_of<'p>(plans: &'p [Plan], scenario: &ScenarioId) -> Option<&'p Plan> {
    let begins = |plan: &&Plan| {
        let rest = scenario.as_str().strip_prefix(plan.id.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
    };
    plans
        .iter()
        .filter(begins)
        .max_by_key(|plan| plan.id.as_str().len())
}

/// Where a script comes from. Paths below the folder `here` are relative to it.
pub(super) fn place(plan: Option<&Plan>, script: &TracedScript, here: &Path) -> Place {
    let on_node = || Place {
        name: script.path.clone(),
        offset: 0,
    };
    let Some(plan) = plan else { return on_node() };
    // User data can copy a file before it runs it, so the text decides.
    let overlay = plan.image.added().rev().filter(|file| file.patched.is_none());
    let same = |from: &str| std::fs::read(from).is_ok_and(|text| text == script.text.as_bytes());
    if let Some(file) = overlay.map(|file| &file.from).find(|from| same(from)) {
        return Place {
            name: relative(file, here),
            offset: 0,
        };
    }
    let name = script.path.rsplit('/').next().unwrap_or_default();
    let is_part = |source: &&ScriptSource| {
        let is_named =
            name == source.name || name.split_once('.').is_some_and(|(_, name)| name == source.name);
        is_named && source.patched.is_none() && begins_there(source, &script.text)
    };
    match plan.sources.scripts.iter().find(is_part) {
        Some(source) => Place {
            name: relative(&source.file, here),
            offset: source.line.saturating_sub(1),
        },
        None => on_node(),
    }
}

/// Whether the file has the first line of the script at this place, and room for the others.
fn begins_there(source: &ScriptSource, text: &str) -> bool {
    let Ok(file) = std::fs::read_to_string(&source.file) else {
        return false;
    };
    let skipped = usize::try_from(source.line.saturating_sub(1)).unwrap_or(usize::MAX);
    let mut lines = file.lines().skip(skipped);
    let first = lines.next().map(str::trim);
    first == text.lines().next().map(str::trim) && lines.count() + 1 >= text.lines().count()
}

fn relative(file: &str, here: &Path) -> String {
    let path = Path::new(file);
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodejoin_core::scenario;

    fn script(path: &str, text: &str) -> TracedScript {
        TracedScript {
            path: path.to_owned(),
            text: text.to_owned(),
            commands: Vec::new(),
        }
    }

    #[test]
    fn scripts_have_the_names_of_files_where_these_contain_them() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| std::fs::write(here.join(name), text).unwrap();
        write("join.sh", "#!/bin/bash\necho join\n");
        write("overlay.yaml", "files: [{ from: join.sh, to: /opt/join.sh }]\n");
        write(
            "a.yaml",
            "name: x\noverlay: overlay.yaml\nuser_data: |\n  #!/bin/bash\n  /opt/join.sh {{ cluster.name }}\n",
        );
        let disk = process::disk();
        let found = scenario::discover(&[here.join("a.yaml")], &disk).unwrap();
        let plans = scenario::load_all(&found, &disk).unwrap();
        let id: ScenarioId = format!("{}@1.20.2", plans[0].id).parse().unwrap();
        let plan = plan_of(&plans, &id);
        let placed = |path: &str, text: &str| {
            let place = place(plan, &script(path, text), &here);
            (place.name, place.offset)
        };
        let join = "#!/bin/bash\necho join\n";
        assert_eq!(placed("/opt/join.sh", join), ("join.sh".to_owned(), 0));
        assert_eq!(placed("/tmp/copy.sh", join), ("join.sh".to_owned(), 0));
        let part = "#!/bin/bash\n/opt/join.sh demo\n";
        let (name, offset) = placed("/var/lib/cloud/instance/scripts/part-001", part);
        assert_eq!((name.rsplit('/').next(), offset), (Some("a.yaml"), 3));
        let other = ("/opt/join.sh".to_owned(), 0);
        assert_eq!(placed("/opt/join.sh", "#!/bin/bash\nchanged\n"), other);
        assert_eq!(plan_of(&plans, &"b".parse().unwrap()), None);
    }

    use crate::process;
}
