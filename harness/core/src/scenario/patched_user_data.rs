//! User data of a plan, changed by a patch that its scenario does not name.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::patch;
use crate::input::files::Files;
use crate::plan::Plan;

/// Applies the unified diff at `patch` to the user data of a plan, before names are filled in and before compression.
/// Lines of its scripts no longer lead to the files of the scenario.
///
/// # Errors
/// The plan has no user data, or the patch does not apply to it.
pub fn patch_user_data(plan: &mut Plan, patch: &Path, files: &dyn Files) -> Result<(), String> {
    let failed = |why: String| format!("cannot apply `{}`: {why}", patch.display());
    let name = format!("the user data of `{}`", plan.id);
    let Some(user_data) = &mut plan.user_data else {
        return Err(failed(format!("`{}` has no user data", plan.id)));
    };
    let bytes = STANDARD.decode(&user_data.base64);
    let bytes = bytes.map_err(|error| failed(error.to_string()))?;
    let patched = patch::apply_file(&bytes, &name, patch, files);
    let patched = patched.map_err(|error| failed(format!("{error}; {}", error.hint())))?;
    user_data.base64 = STANDARD.encode(patched.text);
    plan.sources.scripts.clear();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::files::Memory;
    use crate::scenario::load;

    const SCENARIO: &str = "name: a\nuser_data: { file: a.sh, gzip: true }\nexpect: { phase: ready }\n";
    const PATCH: &str =
        "--- a/a.sh\n+++ b/a.sh\n@@ -1,2 +1,2 @@\n #!/bin/bash\n-join {{ cluster.name }}\n+true\n";

    #[test]
    fn a_patch_changes_what_the_scenario_names() {
        let files = Memory::default()
            .with("/s/a.yaml", SCENARIO)
            .with("/s/a.sh", "#!/bin/bash\njoin {{ cluster.name }}\n")
            .with("/b/user-data.patch", PATCH);
        let sound = load(Path::new("/s/a.yaml"), Path::new("/s"), &files).unwrap();
        let mut broken = sound.clone();
        patch_user_data(&mut broken, Path::new("/b/user-data.patch"), &files).unwrap();
        let user_data = broken.user_data.as_ref().unwrap();
        assert_eq!(
            STANDARD.decode(&user_data.base64).unwrap(),
            b"#!/bin/bash\ntrue\n"
        );
        assert!(user_data.gzip);
        assert!(!sound.sources.scripts.is_empty() && broken.sources.scripts.is_empty());

        let twice = patch_user_data(&mut broken, Path::new("/b/user-data.patch"), &files).unwrap_err();
        assert!(
            twice.contains("found `true`") && twice.contains("create the patch again"),
            "{twice}"
        );
        broken.user_data = None;
        let none = patch_user_data(&mut broken, Path::new("/b/user-data.patch"), &files).unwrap_err();
        assert_eq!(none, "cannot apply `/b/user-data.patch`: `a` has no user data");
    }
}
