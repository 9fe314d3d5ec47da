//! Connections of a node to the outside: each is refused at once, and none hangs.

use nodejoin_fake_aws::AwsEventKind;

use super::bench::{Bench, ask, plan, until, user_data_is_over};
use super::machine::Seen;

/// Prints `seen NAME VALUE` for each try. A value ends with `late` if it took more than a second.
const TRIES: &str = r#"name: outside
instance: { private_ip: 192.168.40.61 }
user_data: |
  #!/bin/bash
  said() {
    case "$1" in
      *refused*) echo refused ;;
      *unreachable* | *'assign requested address'*) echo unreachable ;;
      *) echo "${1:-open}" ;;
    esac
  }
  try() {
    name=$1; shift
    start=$(date +%s%N)
    text=$(timeout 20 "$@" 2>&1)
    took=$((($(date +%s%N) - start) / 1000000))
    [ "$took" -lt 1000 ] || text="$text late"
    echo "seen $name $(said "$text")"
  }
  connect() { try "$1" bash -c "exec 3<>/dev/tcp/$2/$3"; }
  ask() {
    try "$1" python3 -c "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)
  s.connect(('$2', $3)); s.send(b'x'); s.recv(9)"
  }
  connect address 203.0.113.7 443
  connect ipv6 2001:db8::7 443
  connect odd downloads.example.com 8443
  connect ssh downloads.example.com 22
  connect aws ssm.eu-west-1.amazonaws.com 80
  ask datagram 203.0.113.7 53
  ask time pool.example.com 123
  curl -sS https://downloads.example.com/agent.tar.gz 2> /dev/null; echo "seen https $?"
  curl -sS http://downloads.example.com/agent.tar.gz 2> /dev/null; echo "seen http $?"
  wget -q https://downloads.example.com/by-wget 2> /dev/null; echo "seen wget $?"
  curl -sS http://203.0.113.7/by-address 2> /dev/null; echo "seen by-address $?"
  curl -sS https://203.0.113.9/by-tls 2> /dev/null; echo "seen by-tls $?"
  curl -sS https://recorded.example.com/file; echo
  curl -sS https://203.0.113.8/file | sed s/recorded/from-tls/; echo
  curl -sS http://203.0.113.8/file | sed s/recorded/from-address/; echo
  # A pod, whose packets come in through an interface of the node.
  ip netns add pod && ip link add veth0 type veth peer name eth0 netns pod
  ip address add 100.104.61.1/32 dev veth0 && ip link set veth0 up && ip route add 100.104.61.2/32 dev veth0
  ip -n pod address add 100.104.61.2/32 dev eth0 && ip -n pod link set eth0 up
  ip -n pod route add 100.104.61.1/32 dev eth0 && ip -n pod route add default via 100.104.61.1
  try pod ip netns exec pod bash -c 'exec 3<>/dev/tcp/203.0.113.7/443'
outside: { "https://recorded.example.com/file": FILE, "http://203.0.113.8/*": FILE, "https://203.0.113.8/file": FILE }
expect: { phase: booted }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn connections_to_the_outside_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "seen recorded file").unwrap();
    let scenario = TRIES.replace("FILE", &file.display().to_string());
    let bench = Bench::new().await;
    let plan = plan(&scenario);
    let (node, mut events) = bench.boot(&plan, None).await;
    until(&node, user_data_is_over).await;
    let collected = node.collect(&ask(&[], &[], &plan, &bench.aws.ca_pem)).await;
    let output = collected.unwrap().user_data.unwrap().output;
    let mut requests = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let AwsEventKind::Aws(call) = event.what
            && call.is_refused_outside()
        {
            requests.push(call.operation);
        }
    }
    bench.end().await;
    Seen::of(&output).check(&[
        ("address", "refused"),
        ("ipv6", "unreachable"),
        ("odd", "refused"),
        ("ssh", "refused"),
        ("aws", "refused"),
        ("datagram", "refused"),
        ("time", "refused"),
        ("pod", "refused"),
        // Empty reply from server.
        ("https", "52"),
        ("http", "52"),
        // An error of the server: after a closed connection, wget tries 20 times.
        ("wget", "8"),
        ("by-address", "52"),
        ("by-tls", "52"),
        ("recorded", "file"),
        ("from-tls", "file"),
        ("from-address", "file"),
    ]);
    assert_eq!(
        requests,
        [
            "GET https://downloads.example.com/agent.tar.gz",
            "GET http://downloads.example.com/agent.tar.gz",
            "GET https://downloads.example.com/by-wget",
            "GET http://203.0.113.7/by-address",
            "GET https://203.0.113.9/by-tls",
        ]
    );
}
