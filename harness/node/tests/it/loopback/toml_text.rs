//! nodeadm's stand-in merges configurations of containerd as values, not as text, and writes them as go-toml does.

use std::path::Path;
use std::process::Command;

/// Merges texts, and compares the result with the values of both and with the text that go-toml 2.4.3 writes for them.
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
written = toml_text.merged(r'''
[b."c.d".e]
plain = "text"
apostrophe = "it's \"quoted\""
tab = "a\tb\u0001"
numbers = [1, 1e16, 1.5e-7, 3.0]
inline = [1, { z = "x", a = ["y"] }]
empty = []
moments = [2024-05-01T10:00:00.50Z, 2024-05-01]
[[list]]
[[list]]
"it's" = true
''', 'a = "first"')
expected = r'''a = 'first'

[b]
[b.'c.d']
[b.'c.d'.e]
apostrophe = "it's \"quoted\""
empty = []
inline = [1, {a = ['y'], z = 'x'}]
moments = [2024-05-01T10:00:00.5Z, 2024-05-01]
numbers = [1, 10000000000000000.0, 0.00000015, 3.0]
plain = 'text'
tab = "a\tb\u0001"

[[list]]
[[list]]
"it's" = true
'''
assert written == expected, written
for wrong in "x = ", "[a]\n[a]\n", "x":
    try:
        toml_text.merged(own, wrong)
        raise SystemExit(f"{wrong!r} is accepted")
    except toml_text.Malformed as error:
        assert str(error).startswith("toml: "), error
print("merged")
"#;

#[test]
fn a_merged_configuration_has_the_settings_of_both_and_the_form_of_go_toml() {
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
