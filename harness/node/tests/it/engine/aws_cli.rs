//! The AWS CLI of the built-in images: later calls run in forks of a process that has loaded its modules.

use super::machine::seen;

/// `resident` counts the process that stays, `served` the calls that run in its forks.
const CALLS: &str = r#"name: aws-cli
cluster: { status: CREATING }
user_data: |
  #!/bin/bash
  say() { echo "seen $1 $(tr -s ' \n' ' ' <<< "$2")"; }
  resident() { pgrep -x aws-cli; }
  served() { pgrep --count --parent "$(resident)"; }
  status() { aws eks describe-cluster --name "$1" --query cluster.status "${@:2}"; }

  say before "$(resident | wc -l)"
  say first "$(status {{ cluster.name }} --output text)"
  sleep 1
  say after "$(resident | wc -l)"
  say its-group "$(grep -c 'init.scope$' "/proc/$(resident)/cgroup")"
  say its-files "$(ls -l "/proc/$(resident)/fd" | grep -c pipe)"
  say its-native-part "$(grep -c _awscrt "/proc/$(resident)/maps")"

  say second "$(status {{ cluster.name }} --output text)"
  say quoted "$(status {{ cluster.name }} --output json)"
  say refused "$(status other 2>&1)"
  status other 2> /dev/null; say refused-status "$?"
  aws eks describe-nothing 2> /dev/null; say misspelt-status "$?"
  cd /tmp && printf '{"name": "%s"}' {{ cluster.name }} > in.json
  say by-file "$(aws eks describe-cluster --cli-input-json file://in.json --query cluster.status --output text)"
  say by-variable "$(AWS_DEFAULT_OUTPUT=text status {{ cluster.name }})"
  say appended "$(echo one > out; status {{ cluster.name }} --output text >> out; tr '\n' ' ' < out)"
  (umask 077; aws configure set region eu-west-1 --profile of-umask); say mode "$(stat -c %a ~/.aws/config)"
  aws configure set s3.preferred_transfer_client crt --profile of-native-part
  say native-part "$(aws s3 cp /etc/hosts s3://a/b --endpoint-url http://127.0.0.1:9 --profile of-native-part 2>&1 | grep -o AWS_IO_.*REFUSED)"
  say other-user "$(cd / && sudo -u ec2-user aws --version 2>&1 | cut -d/ -f1)"
  say own-mounts "$(unshare --mount aws --version | cut -d/ -f1)"
  say clean "$(env -i /usr/bin/aws --version | cut -d/ -f1)"

  (ulimit -n 4321; exec nice -n 7 aws eks wait cluster-active --name {{ cluster.name }}) & caller=$!
  sleep 3
  say while-it-waits "$(served)"
  call=$(pgrep --parent "$(resident)")
  say words "$(tr '\0' ' ' < "/proc/$call/cmdline" | grep -c 'eks wait cluster-active')"
  say limit "$(sed -n 's/^Max open files *\([0-9]*\).*/\1/p' "/proc/$call/limits")"
  say priority "$(ps -o nice= -p "$call")"
  say same-group "$(diff "/proc/$call/cgroup" "/proc/$caller/cgroup" && echo yes)"
  kill "$caller"; wait "$caller"; say killed-status "$?"
  sleep 0.5
  say after-kill "$(served)"
  timeout --signal=KILL 2 aws eks wait cluster-active --name {{ cluster.name }}; say timeout-status "$?"
  sleep 0.5
  say after-timeout "$(served)"
  aws eks wait cluster-active --name {{ cluster.name }} & caller=$!
  sleep 3
  kill "$(pgrep --parent "$(resident)")"; wait "$caller"; say ended-status "$?"
  timeout --signal=INT 3 aws eks wait cluster-active --name {{ cluster.name }} 2> /tmp/interrupted; say interrupted "$(grep -c Traceback /tmp/interrupted)"
  kill -STOP "$(resident)"; status {{ cluster.name }} --output text > /tmp/answer & caller=$!
  sleep 1; kill -KILL "$(resident)"; wait "$caller"; say resident-killed "$? $(cat /tmp/answer)"
  sleep 1
  kill "$(resident)"; sleep 0.2
  say without "$(status {{ cluster.name }} --output text)"
expect: { phase: booted }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn later_calls_behave_as_the_first_one() {
    let seen = seen(CALLS).await;
    let refused = "An error occurred (ResourceNotFoundException) when calling the DescribeCluster operation: \
                   No cluster found for name: other.";
    seen.check(&[
        ("before", "0"),
        ("first", "CREATING"),
        ("after", "1"),
        ("its-files", "0"),
        ("its-native-part", "0"),
        ("second", "CREATING"),
        ("quoted", "\"CREATING\""),
        ("refused", refused),
        ("refused-status", "254"),
        ("misspelt-status", "252"),
        ("by-file", "CREATING"),
        ("by-variable", "CREATING"),
        ("appended", "one CREATING"),
        ("mode", "600"),
        ("native-part", "AWS_IO_SOCKET_CONNECTION_REFUSED"),
        ("other-user", "aws-cli"),
        ("own-mounts", "aws-cli"),
        ("clean", "aws-cli"),
        ("while-it-waits", "1"),
        ("words", "1"),
        ("limit", "4321"),
        ("priority", "7"),
        ("same-group", "yes"),
        ("killed-status", "143"),
        ("after-kill", "0"),
        ("timeout-status", "137"),
        ("after-timeout", "0"),
        ("ended-status", "137"),
        ("interrupted", "0"),
        ("resident-killed", "0 CREATING"),
        ("without", "CREATING"),
    ]);
    // One line for each hierarchy of control groups.
    assert!(seen.value("its-group").parse::<u32>().unwrap() > 0, "{seen:?}");
}
