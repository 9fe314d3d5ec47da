//! `nodejoin wiring`

use nodejoin_core::kubernetes::Minor;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_engine::{ClusterError, WiringFolder};

use crate::args::Wiring;
use crate::edge;

/// Writes the files for the API server of a cluster of the user's, and prints the flags.
pub(crate) fn wiring(args: &Wiring) -> ExitCode {
    match flags(args) {
        Ok(flags) => {
            eprintln!(
                "put `{}` where the API server finds it as `{}`, and give kube-apiserver these flags; then\n\
                 `nodejoin run --control-plane external --kubeconfig FILE --wiring {}`",
                args.out.display(),
                args.mounted_at.as_ref().unwrap_or(&args.out).display(),
                args.out.display()
            );
            flags.iter().for_each(|flag| out!("{flag}"));
            ExitCode::Passed
        }
        Err(error) => {
            edge::complain("there is no wiring", &error, error.hint().map(str::to_owned));
            ExitCode::Usage
        }
    }
}

fn flags(args: &Wiring) -> Result<Vec<String>, ClusterError> {
    let folder = WiringFolder::create(&args.out, args.listen)?;
    let seen_at = args.mounted_at.as_ref().unwrap_or(&args.out);
    let seen_at = std::path::absolute(seen_at).unwrap_or_else(|_| seen_at.clone());
    folder.flags(&seen_at.display().to_string(), Minor::NEWEST)
}
