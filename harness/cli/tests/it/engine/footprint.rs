//! The effects of a run on its host: no port that other hosts reach, and no remaining change. Nodes reach only the
//! fakes on the host.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::process::Command;

use crate::support::engine_objects::{of_run, on_engine};
use crate::support::running_command::RunningCommand;
use crate::support::{END, REGISTERS, folder};
use bollard::query_parameters::{ListContainersOptionsBuilder, ListNetworksOptionsBuilder};
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::observation::{ObservedEvent, TimelineEntry};

#[test]
fn a_run_listens_on_loopback_and_its_gateways_only() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let mut run = RunningCommand::start(folder.path(), &[]);
    run.until_phase(Phase::KubeletStarted);
    let listeners = listeners(run.pid());
    let gateways = gateways(&run.id);
    let published = published(&run.id);
    run.signal("INT");
    run.end(END);

    assert!(
        listeners.len() >= 4,
        "the fakes and the webhooks listen: {listeners:?}"
    );
    let is_ours = |address: &IpAddr| address.is_loopback() || gateways.contains(address);
    let strangers: Vec<_> = listeners
        .iter()
        .filter(|(_, address, _)| !is_ours(address))
        .collect();
    assert!(
        strangers.is_empty(),
        "{strangers:?} are neither loopback nor of {gateways:?}"
    );
    assert_eq!(published, Vec::<String>::new());
}

/// Protocol, address and port of every socket of a process that takes what comes: listening TCP, and UDP without a
/// peer.
fn listeners(pid: u32) -> Vec<(&'static str, IpAddr, u16)> {
    let own: HashSet<String> = fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|entry| {
            let link = fs::read_link(entry.ok()?.path()).ok()?;
            let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            Some(inode.to_owned())
        })
        .collect();
    let mut all = Vec::new();
    for (protocol, taking) in [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")] {
        // A kernel without IPv6 has no file of it.
        let table = fs::read_to_string(format!("/proc/{pid}/net/{protocol}")).unwrap_or_default();
        let rows = table
            .lines()
            .skip(1)
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        all.extend(
            rows.filter(|row| row[3] == taking && own.contains(row[9]))
                .map(|row| {
                    let (address, port) = row[1].split_once(':').unwrap();
                    (
                        protocol,
                        address_of(address),
                        u16::from_str_radix(port, 16).unwrap(),
                    )
                }),
        );
    }
    all
}

/// The kernel prints each 32 bits of an address in the byte order of the machine.
fn address_of(hex: &str) -> IpAddr {
    let word = |at: usize| u32::from_str_radix(&hex[at..at + 8], 16).unwrap().to_ne_bytes();
    if hex.len() == 8 {
        return Ipv4Addr::from(word(0)).into();
    }
    let bytes: Vec<u8> = (0..4).flat_map(|part| word(part * 8)).collect();
    Ipv6Addr::from(<[u8; 16]>::try_from(bytes).unwrap()).to_canonical()
}

/// The host's addresses on a run's networks.
fn gateways(run: &str) -> Vec<IpAddr> {
    let filter = HashMap::from([("label", vec![format!("nodejoin.run={run}")])]);
    let options = ListNetworksOptionsBuilder::new().filters(&filter).build();
    let networks = on_engine(async |engine| engine.docker().list_networks(Some(options)).await.unwrap());
    let subnets = networks.into_iter().filter_map(|network| network.ipam?.config);
    let first = |subnet: &str| {
        let base: Ipv4Addr = subnet.split('/').next()?.parse().ok()?;
        Some(Ipv4Addr::from(u32::from(base) + 1).into())
    };
    subnets
        .flatten()
        .filter_map(|config| first(&config.subnet?))
        .collect()
}

/// Ports of a run's containers that the engine publishes on the host.
fn published(run: &str) -> Vec<String> {
    let filter = HashMap::from([("label", vec![format!("nodejoin.run={run}")])]);
    let options = ListContainersOptionsBuilder::new().filters(&filter).build();
    let containers = on_engine(async |engine| engine.docker().list_containers(Some(options)).await.unwrap());
    let ports = containers
        .into_iter()
        .flat_map(|container| container.ports.unwrap_or_default());
    ports
        .filter(|port| port.public_port.is_some())
        .map(|port| format!("{port:?}"))
        .collect()
}

/// A kubelet with `protectKernelDefaults`, as the fixture's configuration has it, ends where the kernel's settings are
/// not those that it wants, and without it writes them.
const PROTECTS: &str = r#"name: a kubelet that protects the kernel's settings runs on any host
user_data: |
  #!/bin/bash
  set -o errexit
  /etc/eks/bootstrap.sh {{ cluster.name }} --container-runtime containerd
expect:
  phase: certified
  kubelet: { config: { protectKernelDefaults: true } }
"#;

/// Settings below /proc/sys that a kubelet checks, and their expected values.
const SETTINGS: [(&str, &str); 6] = [
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/keys/root_maxbytes", "25000000"),
];

#[test]
fn a_join_changes_no_setting_route_or_rule_of_the_host() {
    let before = Host::read();
    if SETTINGS
        .iter()
        .all(|(name, expected)| before.settings[*name] == *expected)
    {
        proves_less("the host's kernel settings are those that a kubelet wants: no write would show");
    }
    let folder = folder(&[("protects.yaml", PROTECTS)]);
    let mut run = RunningCommand::start(folder.path(), &[]);
    run.until_phase(Phase::KubeletStarted);
    let id = run.id.clone();
    let ended = run.finish();
    let after = Host::read();
    assert_eq!(ended.code, Some(0), "{}", ended.verdicts());
    assert_eq!(before.settings, after.settings);
    assert_eq!(before.routes, after.routes);
    match (&before.rules, &after.rules) {
        (Ok(before), Ok(after)) => assert_eq!(before, after),
        (Err(reason), _) | (_, Err(reason)) => proves_less(reason),
    }
    assert_eq!(of_run(&id), Vec::<String>::new());
}

/// Reports what this host cannot prove. In CI that is a failure.
fn proves_less(reason: &str) {
    eprintln!("this host proves less: {reason}");
    assert!(std::env::var_os("NODEJOIN_NO_SKIPS").is_none(), "{reason}");
}

/// State of the host, without what the engine changes when networks and containers start and end.
struct Host {
    settings: BTreeMap<&'static str, String>,
    routes: BTreeSet<String>,
    rules: Result<BTreeSet<String>, String>,
}

impl Host {
    fn read() -> Self {
        let setting = |name| {
            fs::read_to_string(format!("/proc/sys/{name}"))
                .unwrap()
                .trim()
                .to_owned()
        };
        Self {
            settings: SETTINGS.map(|(name, _)| (name, setting(name))).into(),
            routes: routes(),
            rules: rules(),
        }
    }
}

fn routes() -> BTreeSet<String> {
    let table = |file, device: usize, columns: &'static [usize]| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let rows: Vec<Vec<String>> = text
            .lines()
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect();
        rows.into_iter()
            .filter(move |row: &Vec<String>| !is_the_engines_device(&row[device]))
            .map(move |row| {
                columns
                    .iter()
                    .map(|at| row[*at].as_str())
                    .collect::<Vec<_>>()
                    .join(" ")
            })
    };
    // Interface, destination, gateway, metric and mask; then destination, its length, next hop and interface.
    let four = table("/proc/net/route", 0, &[0, 1, 2, 6, 7]);
    let six = table("/proc/net/ipv6_route", 9, &[0, 1, 4, 9]);
    four.chain(six).collect()
}

fn is_the_engines_device(name: &str) -> bool {
    // The kernel counts the addresses of bridges as routes of `lo`.
    name == "lo"
        || ["br-", "docker", "veth"]
            .iter()
            .any(|start| name.starts_with(start))
}

/// Rules and chains of every table, or why they cannot be read. Only root may read them.
fn rules() -> Result<BTreeSet<String>, String> {
    let mut all = BTreeSet::new();
    for program in [
        "iptables-save",
        "iptables-legacy-save",
        "ip6tables-save",
        "ip6tables-legacy-save",
    ] {
        let output = match Command::new(program).output() {
            Ok(output) => output,
            // A host has one of these programs, or both.
            Err(_) if program.contains("legacy") => continue,
            Err(error) => return Err(format!("`{program}` cannot be started: {error}")),
        };
        if !output.status.success() {
            return Err(format!(
                "`{program}`: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let rules = text.lines().filter(|line| !is_the_engines_rule(line));
        // A chain's counters change with every packet.
        all.extend(rules.map(|line| format!("{program} {}", line.split(" [").next().unwrap_or_default())));
    }
    Ok(all)
}

fn is_the_engines_rule(line: &str) -> bool {
    line.starts_with('#')
        || ["DOCKER", "docker", " br-"]
            .iter()
            .any(|word| line.contains(word))
}

/// Tries all targets at once and prints each result. A refused connection counts as reached: the packet arrived. Only
/// for public addresses, the node itself refuses the connection.
const TRIES: &str = r#"name: a node gets nowhere
limits: { settle_seconds: 0.5 }
user_data: |
  #!/bin/bash
  page() { curl --silent --max-time 4 "http://$2/" > /dev/null; echo "page of $1: curl ended with $?"; }
  port() {
    said=$(timeout 5 bash -c "exec 3<>/dev/tcp/$2/9" 2>&1)
    case "$? $said" in
      0*) echo "port of $1: open" ;;
      *refused*) echo "port of $1: refused" ;;
      *) echo "port of $1: out of reach" ;;
    esac
  }
  gateway=$(ip -4 route get 169.254.169.254 | sed -n 's/.* via \([0-9.]*\).*/\1/p')
  getent hosts db.corp.internal > /dev/null; echo "name: getent ended with $?"
  for there in world=203.0.113.1 host=HOST gateway=$gateway; do
    page ${there%=*} ${there#*=} &
    port ${there%=*} ${there#*=} &
  done
  wait
expect: { phase: registered }
"#;

#[test]
fn a_node_reaches_neither_the_internet_nor_the_host_and_its_attempts_are_in_the_evidence() {
    let scenario = TRIES.replace("HOST", &host_address().to_string());
    let folder = folder(&[("tries.yaml", &scenario)]);
    let ended = RunningCommand::start(folder.path(), &[]).finish();
    // It expects a join, so that it fails and has evidence.
    assert_eq!(ended.code, Some(1), "{}", ended.verdicts());
    let evidence = ended.evidence();
    let output = fs::read_to_string(evidence.join("node/cloud-init-output.log")).unwrap();
    assert!(output.contains("name: getent ended with 2"), "{output}");
    for there in ["world", "host", "gateway"] {
        // A host with a public address is a part of the world.
        let is_world = there == "world" || there == "host" && has_public_address();
        let port = if is_world { "refused" } else { "out of reach" };
        assert!(output.contains(&format!("port of {there}: {port}")), "{output}");
        // 7: not connected; 28: timeout; 52: the fakes close the connection without a response.
        let page = |code| output.contains(&format!("page of {there}: curl ended with {code}\n"));
        assert!(if is_world { page(52) } else { page(7) || page(28) }, "{output}");
    }
    let timeline = fs::read_to_string(evidence.join("timeline.ndjson")).unwrap();
    let has = |is: fn(&ObservedEvent) -> bool| {
        let seen = |line| serde_json::from_str::<TimelineEntry>(line).unwrap().what;
        assert!(timeline.lines().map(seen).any(|what| is(&what)), "{timeline}");
    };
    has(
        |what| matches!(what, ObservedEvent::Dns(query) if query.name == "db.corp.internal" && !query.answered),
    );
    has(
        |what| matches!(what, ObservedEvent::Aws(call) if call.operation == "GET http://203.0.113.1/" && call.status == 0),
    );
}

fn has_public_address() -> bool {
    match host_address() {
        IpAddr::V4(address) => !address.is_private() && !address.is_loopback() && !address.is_link_local(),
        IpAddr::V6(_) => false,
    }
}

/// The host's address on its default route, or that of a bridge of the engine. No packet is sent.
fn host_address() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    match socket.connect("203.0.113.1:9").and_then(|()| socket.local_addr()) {
        Ok(address) => address.ip(),
        Err(_) => Ipv4Addr::new(172, 17, 0, 1).into(),
    }
}
