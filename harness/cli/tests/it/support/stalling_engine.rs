//! The container engine behind a socket that can stop answering.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use tempfile::TempDir;

/// A relay to the engine of this host.
pub struct StallingEngine {
    folder: TempDir,
    gate: Arc<Gate>,
}

/// Lets responses through until it is closed.
#[derive(Default)]
struct Gate {
    is_closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn pass(&self) {
        let closed = self.is_closed.lock().unwrap();
        drop(self.opened.wait_while(closed, |closed| *closed).unwrap());
    }

    fn set(&self, is_closed: bool) {
        *self.is_closed.lock().unwrap() = is_closed;
        self.opened.notify_all();
    }
}

impl StallingEngine {
    /// Starts the relay.
    pub fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let listener = UnixListener::bind(folder.path().join("docker.sock")).unwrap();
        let gate = Arc::<Gate>::default();
        let relay = Arc::clone(&gate);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let engine = UnixStream::connect(engine_socket()).unwrap();
                let (to_engine, from_client) = (engine.try_clone().unwrap(), client.try_clone().unwrap());
                let gate = Arc::clone(&relay);
                thread::spawn(move || copy(from_client, to_engine, || {}));
                thread::spawn(move || copy(engine, client, || gate.pass()));
            }
        });
        Self { folder, gate }
    }

    /// Value of DOCKER_HOST for this relay.
    pub fn host(&self) -> String {
        format!("unix://{}", self.folder.path().join("docker.sock").display())
    }

    /// Holds back all responses from now on.
    pub fn stall(&self) {
        self.gate.set(true);
    }
}

impl Drop for StallingEngine {
    fn drop(&mut self) {
        self.gate.set(false);
    }
}

fn engine_socket() -> PathBuf {
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    let path = host.strip_prefix("unix://").unwrap_or("/var/run/docker.sock");
    path.into()
}

/// Copies until either side closes; `before_write` can delay each write.
fn copy(mut from: UnixStream, mut to: UnixStream, before_write: impl Fn()) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        before_write();
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
