//! The hop limit of token responses over a real router: three network namespaces of an unprivileged user, one of which
//! forwards.
//!
//! ```text
//! fakes 10.9.0.1 --- 10.9.0.2 node 10.8.0.1 --- 10.8.0.2 container
//! ```
//!
//! EC2 user guide, instancedata-data-retrieval: the response to a token request has the hop limit as its time to live,
//! so that a container with its own network connects but receives nothing if the limit is 1.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use crate::support::world;
use nodejoin_core::plan::Tokens;
use nodejoin_fake_aws::FakeAws;

/// Set in the process with its own namespaces.
const INSIDE: &str = "NODEJOIN_TEST_IN_NAMESPACES";
const FAKES: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const NODE: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
const CONTAINER: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 2);
/// curl's exit code for a timeout.
const TIMED_OUT: i32 = 28;

/// `ip` commands with the namespace to run them in: 0 for the fakes, 1 for the node, 2 for the container.
const SETUP: &[(usize, &str)] = &[
    (0, "link add fake0 type veth peer name up0"),
    (0, "link set up0 netns {1}"),
    (1, "link add down0 type veth peer name in0"),
    (1, "link set in0 netns {2}"),
    (0, "addr add 10.9.0.1/24 dev fake0"),
    (0, "link set fake0 up"),
    (1, "addr add 10.9.0.2/24 dev up0"),
    (1, "link set up0 up"),
    (1, "addr add 10.8.0.1/24 dev down0"),
    (1, "link set down0 up"),
    (2, "addr add 10.8.0.2/24 dev in0"),
    (2, "link set in0 up"),
    (2, "route add default via 10.8.0.1"),
    (0, "route add 10.8.0.0/24 via 10.9.0.2"),
];

#[test]
fn a_container_is_one_hop_beyond_the_node() {
    if std::env::var_os(INSIDE).is_some() {
        return tokio::runtime::Runtime::new().unwrap().block_on(inside());
    }
    let unshare = ["--user", "--map-root-user", "--net"];
    let allowed = Command::new("unshare").args(unshare).arg("true").status();
    if !allowed.is_ok_and(|status| status.success()) {
        eprintln!("skipped: this host does not allow `unshare --user --net`");
        return;
    }
    let again = Command::new("unshare")
        .args(unshare)
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "hops::a_container_is_one_hop_beyond_the_node",
            "--nocapture",
        ])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    assert!(
        again.status.success(),
        "{}",
        String::from_utf8_lossy(&again.stderr)
    );
}

async fn inside() {
    let spaces = Namespaces::make();
    for (limit, container_exit) in [(1, TIMED_OUT), (2, 0)] {
        let (mut plan, _events) = world();
        plan.instance.metadata.tokens = Tokens::Optional;
        plan.instance.metadata.hop_limit = limit;
        let id = plan.instance.id.clone();
        let server = FakeAws::bind(&"testrun01".parse().unwrap(), FAKES)
            .unwrap()
            .listen()
            .unwrap();
        server.admit(plan);
        server.attach(NODE, &id);
        server.attach(CONTAINER, &id);
        let port = server.metadata.port();
        assert_eq!(spaces.put(1, port), 0, "the node itself, limit {limit}");
        assert_eq!(
            spaces.put(2, port),
            container_exit,
            "the container, limit {limit}"
        );
        // The limit applies to token responses only.
        assert_eq!(spaces.get(2, port), 0, "IMDSv1 from the container, limit {limit}");
        server.shut_down().await;
    }
}

/// Two further network namespaces, each kept alive by a sleeping process.
struct Namespaces(Vec<std::process::Child>);

impl Namespaces {
    fn make() -> Self {
        let hold = || {
            // The line of output confirms that the namespace exists.
            let mut child = Command::new("unshare")
                .args(["--net", "sh", "-c", "echo there; exec sleep 300"])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut there = [0; 6];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut there).unwrap();
            child
        };
        let spaces = Self(vec![hold(), hold()]);
        for (space, command) in SETUP {
            let command = command
                .replace("{1}", &spaces.0[0].id().to_string())
                .replace("{2}", &spaces.0[1].id().to_string());
            spaces.run(*space, &format!("ip {command}"));
        }
        spaces.run(1, "echo 1 > /proc/sys/net/ipv4/ip_forward");
        spaces
    }

    fn run(&self, space: usize, command: &str) {
        let done = self.command(space, command).output().unwrap();
        assert!(
            done.status.success(),
            "{command}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }

    fn put(&self, space: usize, port: u16) -> i32 {
        self.curl(
            space,
            "-X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60'",
            port,
            "api/token",
        )
    }

    fn get(&self, space: usize, port: u16) -> i32 {
        self.curl(space, "", port, "meta-data/instance-id")
    }

    fn curl(&self, space: usize, options: &str, port: u16, path: &str) -> i32 {
        let quiet = "curl --silent --noproxy '*' --max-time 3 --output /dev/null";
        let command = format!("{quiet} {options} http://{FAKES}:{port}/latest/{path}");
        self.command(space, &command).status().unwrap().code().unwrap()
    }

    fn command(&self, space: usize, command: &str) -> Command {
        let holder = space.checked_sub(1).map(|index| self.0[index].id());
        let Some(holder) = holder else {
            let mut here = Command::new("sh");
            here.args(["-c", command]);
            return here;
        };
        let mut there = Command::new("nsenter");
        there.args(["-t", &holder.to_string(), "-n", "sh", "-c", command]);
        there
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
