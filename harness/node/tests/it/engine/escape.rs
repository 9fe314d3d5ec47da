//! What a node does not reach: the disks of its host, and what belongs to the kernel.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use super::machine::seen;

/// The devices of the host's disks, as `MAJOR:MINOR`.
fn host_disks() -> String {
    let partitions = std::fs::read_to_string("/proc/partitions").unwrap_or_default();
    let rows = partitions
        .lines()
        .skip(2)
        .map(|line| line.split_whitespace().collect());
    let devices = rows.filter_map(|row: Vec<&str>| Some(format!("{}:{}", row.first()?, row.get(1)?)));
    // Where the test itself sees none: those of common drivers.
    let common = ["8:0", "252:0", "253:0", "254:0", "259:0", "7:0"].map(str::to_owned);
    devices.chain(common).collect::<Vec<_>>().join(" ")
}

const DISKS: &str = r#"name: disks
instance: { type: m5d.large }
user_data: |
  #!/bin/bash
  say() { echo "seen $1 $(tr -s ' \n' ' ' <<< "$2")"; }
  opened=none made=0
  # On cgroup v1 a container could permit itself its devices.
  for rule in 'a *:* rwm' 'b *:* rwm'; do echo "$rule" > /sys/fs/cgroup/devices/devices.allow; done 2> /dev/null
  for device in HOST_DISKS; do
    rm -f /tmp/disk
    mknod /tmp/disk b "${device%:*}" "${device#*:}" && made=$((made + 1))
    for mode in '<' '>' '<>'; do
      if eval "exec 9$mode /tmp/disk" 2> /dev/null; then opened="$opened $device$mode"; fi
    done
  done
  say opened "$opened"
  [ "$made" -gt 5 ] && say made yes
  say lsblk "$(lsblk --noheadings --list --output NAME,SIZE,TYPE)"
  # As on Amazon Linux 2: a disk with partitions is none of them.
  say inverse "$(lsblk --noheadings -dsno NAME,TYPE)"
  say model "$(lsblk --noheadings --nodeps --output MODEL /dev/nvme1n1)"
  say nvme "$(nvme list | grep 'Amazon EC2 NVMe Instance Storage' | awk '{print $1}')"
  say block "$(ls /sys/block)"
  say partitions "$(awk 'NR > 2 { print $4 }' /proc/partitions)"
  say byid "$(find /dev/disk/by-id -name '*NVMe_Instance_Storage_*' -exec realpath {} + | sort --unique)"
  # What a published module does.
  for disk in $(lsblk --noheadings --nodeps --output NAME); do mkfs -t ext4 "/dev/$disk"; done > /var/tmp/mkfs 2>&1
  say refused "$(grep -c 'holds the root file system' /var/tmp/mkfs)"
  mkdir /data
  mount -t ext4 /dev/nvme1n1 /data && echo kept > /data/file
  umount /data; mount "UUID=$(blkid --match-tag UUID --output value /dev/nvme1n1)" /data -o noatime
  say data "$(cat /data/file)"
  say recorded "$(head -n 1 /var/log/nodejoin-disks)"
  truncate --size 10M /tmp/image
  mkfs.ext4 -q -F /tmp/image && say other "$(blkid --match-tag TYPE --output value /tmp/image)"
expect: { phase: booted }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_node_has_the_disks_of_its_instance_and_opens_none_of_its_host() {
    let seen = seen(&DISKS.replace("HOST_DISKS", &host_disks())).await;
    let expected = [
        ("opened", "none"),
        ("made", "yes"),
        ("lsblk", "nvme0n1 20G disk nvme0n1p1 20G part nvme1n1 69.8G disk"),
        ("inverse", "nvme0n1p1 part nvme1n1 disk"),
        ("model", "Amazon EC2 NVMe Instance Storage"),
        ("nvme", "/dev/nvme1n1"),
        ("block", "nvme0n1 nvme1n1"),
        ("partitions", "nvme0n1 nvme0n1p1 nvme1n1"),
        ("byid", "/dev/nvme1n1"),
        ("refused", "1"),
        ("data", "kept"),
        ("recorded", "mkfs -t ext4 /dev/nvme1n1"),
        ("other", "ext4"),
    ];
    seen.check(&expected);
}

/// Sockets on which this process listens, as services of the host do.
struct HostSockets {
    folder: tempfile::TempDir,
    name: String,
    _listeners: [UnixListener; 2],
}

impl HostSockets {
    fn listen() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("nodejoin-escape-{}", std::process::id());
        let abstract_ = SocketAddr::from_abstract_name(&name).unwrap();
        let listeners = [
            UnixListener::bind_addr(&abstract_).unwrap(),
            UnixListener::bind(folder.path().join("socket")).unwrap(),
        ];
        Self {
            folder,
            name,
            _listeners: listeners,
        }
    }

    fn named_in(&self, scenario: &str) -> String {
        let path = self.folder.path().join("socket");
        let scenario = scenario.replace("ABSTRACT", &self.name);
        scenario.replace("PATH", path.to_str().unwrap())
    }

    fn check_that_the_host_reaches_them(&self) {
        let abstract_ = SocketAddr::from_abstract_name(&self.name).unwrap();
        UnixStream::connect_addr(&abstract_).unwrap();
        UnixStream::connect(self.folder.path().join("socket")).unwrap();
    }
}

const ROUTES: &str = r#"name: routes
user_data: |
  #!/bin/bash
  say() { echo "seen $1 $(tr -s ' \n' ' ' <<< "$2")"; }
  say sysrq "$(stat --format=%t,%T /proc/sysrq-trigger 2> /dev/null || echo 1,3)"
  for part in kernel vm fs; do say "$part" "$(stat --file-system --format=%T /proc/sys/$part)"; done
  before=$(date +%s)
  date --set '2001-01-01 00:00:00' > /dev/null 2>&1 && say clock set || say clock refused
  [ "$(date +%s)" -ge "$before" ] || say clock changed
  python3 - <<'CALL'
  import ctypes, errno, platform
  numbers = {
      "x86_64": {"delete_module": 176, "init_module": 175, "kexec_load": 246, "kexec_file_load": 320, "syslog": 103,
                 "open_by_handle_at": 304, "iopl": 172, "swapon": 167, "swapoff": 168, "acct": 163,
                 "perf_event_open": 298, "bpf": 321},
      "aarch64": {"delete_module": 106, "init_module": 105, "kexec_load": 104, "kexec_file_load": 294, "syslog": 116,
                  "open_by_handle_at": 265, "swapon": 224, "swapoff": 225, "acct": 89, "perf_event_open": 241, "bpf": 280},
  }[platform.machine()]
  libc = ctypes.CDLL(None, use_errno=True)
  def call(name, *arguments):
      result = libc.syscall(numbers[name], *arguments)
      return f"{result} {errno.errorcode.get(ctypes.get_errno())}"
  # The third command of syslog reads the log; as an argument of the other calls it is invalid.
  for name in numbers:
      if name != "bpf":
          print("seen", name, call(name, 3, 0, 0, 0))
  attributes = ctypes.create_string_buffer(128)
  for name, command in {"map_of_another": 14, "tracepoint": 17, "link_of_another": 30}.items():
      print("seen", name, call("bpf", command, attributes, 128))
  # An array of one number: programs of the node itself can use it.
  ctypes.memmove(attributes, (ctypes.c_uint32 * 4)(2, 4, 8, 1), 16)
  print("seen map_of_its_own", call("bpf", 0, attributes, 128).split()[0] == "-1")
  CALL
  # The memory, the kernel log, the ports and the loop devices of the host, and the registers of its processors.
  opened=none
  for device in 1:1 1:2 1:4 1:11 10:237 10:144 10:184 202:0; do
    rm -f /tmp/device
    mknod /tmp/device c "${device%:*}" "${device#*:}" || say "no device" "$device"
    for mode in '<' '>'; do
      if eval "exec 9$mode /tmp/device" 2> /dev/null; then opened="$opened $device$mode"; fi
    done
  done
  say characters "$opened"
  say log "$(wc -c < /dev/kmsg) $(echo written > /dev/kmsg && echo written)"
  say dmesg "$(dmesg --syslog 2>&1 | grep -c 'Operation not permitted')"
  say swaps "$(wc -l < /proc/swaps)"
  swapoff --all && say all_swap ended
  python3 - <<'CALL'
  import errno, socket
  for name, address in {"abstract": "\0ABSTRACT", "path": "PATH"}.items():
      try:
          socket.socket(socket.AF_UNIX).connect(address)
          print("seen", name, "connected")
      except OSError as error:
          print("seen", name, errno.errorcode[error.errno])
  CALL
  say agent "$(find /sys/fs/cgroup -name release_agent | wc -l)"
  mkdir /tmp/groups
  for options in none,name=escape memory rdma misc; do
    mount -t cgroup -o "$options" groups /tmp/groups 2> /dev/null || continue
    [ -e /tmp/groups/release_agent ] && say agent_of "$options"
    umount /tmp/groups
  done
  say sys "$(touch /sys/kernel/escape 2>&1 | grep -c 'Read-only file system')"
  say uevent "$(find /sys/kernel/uevent_helper -writable 2> /dev/null | while read -r file; do echo x 2> /dev/null > "$file" && echo written; done)"
  timedatectl set-timezone Europe/Vienna; say timezone "$(readlink /etc/localtime)"
expect: { phase: booted }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_node_does_not_reach_the_kernel_of_its_host() {
    let sockets = HostSockets::listen();
    let seen = seen(&sockets.named_in(ROUTES)).await;
    sockets.check_that_the_host_reaches_them();
    let expected = [
        // The device of /dev/null, also where the kernel has no such file.
        ("sysrq", "1,3"),
        ("kernel", "tmpfs"),
        ("vm", "tmpfs"),
        ("fs", "tmpfs"),
        ("clock", "refused"),
        ("agent", "0"),
        ("abstract", "ECONNREFUSED"),
        ("path", "ENOENT"),
        ("characters", "none"),
        ("log", "0 written"),
        ("dmesg", "1"),
        ("swaps", "1"),
        ("all_swap", "ended"),
        ("map_of_another", "-1 EPERM"),
        ("tracepoint", "-1 EPERM"),
        ("link_of_another", "-1 EPERM"),
        ("map_of_its_own", "False"),
        ("sys", "1"),
        ("uevent", ""),
        ("timezone", "../usr/share/zoneinfo/Europe/Vienna"),
    ];
    seen.check(&expected);
    assert!(seen.lacks("agent_of") && seen.lacks("no"), "{seen:?}");
    for call in [
        "syslog",
        "kexec_load",
        "kexec_file_load",
        "open_by_handle_at",
        "swapon",
        "swapoff",
        "acct",
        "perf_event_open",
    ] {
        assert_eq!(seen.value(call), "-1 EPERM", "{call} of {seen:?}");
    }
    // Arm has no ports.
    let ports = seen.value("iopl");
    assert!(
        ports == "-1 EPERM" || ports == "nothing" && cfg!(target_arch = "aarch64"),
        "{seen:?}"
    );
    for call in ["delete_module", "init_module"] {
        // A kernel without modules has no such calls.
        let answer = seen.value(call);
        assert!(["-1 EPERM", "-1 ENOSYS"].contains(&answer), "{call} of {seen:?}");
    }
}
