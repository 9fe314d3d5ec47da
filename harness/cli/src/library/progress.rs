//! The progress of images on the terminal.

use nodejoin_core::run::event::RunEvent;
use tokio::sync::mpsc::UnboundedReceiver;

/// Prints the progress of images, which take minutes at the first start.
pub(super) async fn follow(mut stream: UnboundedReceiver<RunEvent>) {
    while let Some(event) = stream.recv().await {
        show(event);
    }
}

/// Prints what concerns an image, and warnings.
pub(super) fn show(event: RunEvent) {
    match event {
        RunEvent::ImageStarted { image, log } => note!("building image {image} (output in {log})"),
        RunEvent::ImageReady { image, seconds } => note!("built image {image} in {seconds:.0} s"),
        RunEvent::Warning { text } => note!("warning: {text}"),
        _ => {}
    }
}
