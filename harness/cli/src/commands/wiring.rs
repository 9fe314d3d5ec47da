//! `nodejoin wiring`

use nodejoin_core::kubernetes::Minor;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_engine::{ClusterError, WiringFolder};

use crate::args::WiringArgs;
use crate::process;

/// Writes the files for the API server of an external cluster, and prints its flags.
pub(crate) fn wiring(args: &WiringArgs) -> ExitCode {
    match flags(args) {
        Ok(flags) => {
            note!(
                "make `{}` available to the API server as `{}`, start kube-apiserver with these flags, then run\n\
                 `nodejoin run --control-plane external --kubeconfig FILE --wiring {}`",
                args.out.display(),
                args.mounted_at.as_ref().unwrap_or(&args.out).display(),
                args.out.display()
            );
            flags.iter().for_each(|flag| out!("{flag}"));
            ExitCode::Passed
        }
        Err(error) => {
            process::report_error("could not write the wiring", &error, error.hint());
            ExitCode::Usage
        }
    }
}

fn flags(args: &WiringArgs) -> Result<Vec<String>, ClusterError> {
    let folder = WiringFolder::create(&args.out, args.listen)?;
    let seen_at = args.mounted_at.as_ref().unwrap_or(&args.out);
    let seen_at = std::path::absolute(seen_at).unwrap_or_else(|_| seen_at.clone());
    folder.flags(&seen_at.display().to_string(), Minor::NEWEST)
}
