//! nodeadm's stand-in merges configurations of containerd as values, not as text.

use std::path::Path;
use std::process::Command;

/// Each row: two texts, and the merged one or the start of the error.
const PROGRAM: &str = r#"
import toml_text
import tomllib

own = r'''version = 2
[plugins."io.containerd.grpc.v1.cri".containerd]
discard_unpacked_layers = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
spec = "a\"b"
'''
user = r'''[plugins."io.containerd.grpc.v1.cri".containerd]
discard_unpacked_layers = false
[plugins."io.containerd.grpc.v1.cri".registry.mirrors."docker.io"]
endpoint = ["https://mirror", 'C:\path']
[[hosts]]
name = "x"
weights = [1, 2.5, -3]
since = 2024-05-01T10:00:00Z
[empty]
'''
merged = tomllib.loads(toml_text.merged(own, user))
expected = tomllib.loads(user)
cri = expected["plugins"]["io.containerd.grpc.v1.cri"]
cri["containerd"]["runtimes"] = {"runc": {"spec": 'a"b'}}
expected["version"] = 2
assert merged == expected, merged
assert toml_text.merged(toml_text.merged(own, user), "") == toml_text.merged(own, user)
for wrong in "x = ", "[a]\n[a]\n", "x":
    try:
        toml_text.merged(own, wrong)
        raise SystemExit(f"{wrong!r} is accepted")
    except toml_text.Malformed as error:
        assert str(error).startswith("toml: "), error
print("merged")
"#;

#[test]
fn a_later_setting_replaces_one_of_the_same_table() {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/images/nodes/al2023/rootfs/usr/lib/nodeadm");
    let output = Command::new("python3")
        .args(["-c", PROGRAM])
        .env("PYTHONPATH", modules)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "merged\n", "{errors}");
}
