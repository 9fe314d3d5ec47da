//! nodeadm's stand-in writes the files of the real program, or refuses what it does not write.

use std::path::Path;
use std::process::Command;

/// The modules read YAML, which none of these functions does: a package for it need not be installed.
const PROGRAM: &str = r#"
import sys
import types
sys.modules["yaml"] = types.ModuleType("yaml")
import containerd_files
import kubelet_files

older, newer = (kubelet_files.ecr_images(version) for version in ([1, 31], [1, 32]))
assert newer == [*older, "ecr-public.aws.com"], newer
assert len(older) == len(set(older)) == 12, older
for name in ("*.dkr.ecr.*.amazonaws.com", "*.dkr-ecr.*.on.aws", "*.dkr-ecr-fips.*.on.aws", "public.ecr.aws"):
    assert name in older, name

large, gate = (4, 7 << 20), {"featureGates": {"FastImagePull": True}}
assert containerd_files.pulls_fast(gate, *large)
for spec, size in ((gate, (2, 16 << 20)), (gate, (8, 6 << 20)), ({}, large), ({"featureGates": {"FastImagePull": False}}, large)):
    assert not containerd_files.pulls_fast(spec, *size), (spec, size)
print("as nodeadm")
"#;

/// Prints the region of each requested token, and what the provider answers.
const PROVIDER: &str = r#"
import io, json, runpy, subprocess, sys
asked = []
def run(words, **_):
    asked.append(words[-1])
    return subprocess.CompletedProcess(words, 0, "secret\n")
subprocess.run = run
for image in sys.argv[2:]:
    request = {"image": image, "apiVersion": "credentialprovider.kubelet.k8s.io/v1"}
    sys.stdin, out, sys.stdout = io.StringIO(json.dumps(request)), sys.stdout, io.StringIO()
    runpy.run_path(sys.argv[1])
    answer, sys.stdout = json.loads(sys.stdout.getvalue()), out
    print(asked.pop() if asked else "none", *answer["auth"])
"#;

/// Prints the keys of the kubelet's configuration, and those of a drop-in file.
const ORDER: &str = r#"
import json
import sys
import types
sys.modules["yaml"] = types.ModuleType("yaml")
import kubelet_files

written = {}
kubelet_files.write = written.__setitem__
authentication = {"anonymous": {}, "webhook": {}, "x509": {}}
for version, user in (([1, 32], {"registryPullQPS": 1, "kubeAPIQPS": 2}), ([1, 20], {"maxPods": 3})):
    kubelet = {**kubelet_files.KIND, "tlsCipherSuites": [], "maxPods": 29, "authentication": authentication}
    kubelet_files.place_user_config(kubelet, user, version, {}, {})
    for text in written.values():
        file = json.loads(text)
        print(*file, *file.get("authentication", []))
    written.clear()
"#;

/// A reader of YAML has the same nodes.
const TYPES: &str = r#"
from types import SimpleNamespace
import field_types

def node(value, line=0):
    mark = SimpleNamespace(line=line)
    if isinstance(value, dict):
        pairs = [(node(key, at), node(item, at)) for at, (key, item) in enumerate(value.items(), line)]
        return SimpleNamespace(id="mapping", value=pairs, start_mark=mark)
    if isinstance(value, list):
        return SimpleNamespace(id="sequence", value=[node(item, line) for item in value], start_mark=mark)
    return SimpleNamespace(id="scalar", value=value, start_mark=mark)

def decoded(spec):
    config = {"kind": "NodeConfig", "spec": spec}
    return field_types.decoded(config, node(config))["spec"]

kept = {"kubelet": {"config": {"maxPods": None, "a": [1]}, "flags": ["--v=2"]}, "other": {"flags": 3}}
assert decoded({**kept, "containerd": None, "featureGates": {}}) == {**kept, "featureGates": {}}
assert decoded({"kubelet": {"flags": [None]}}) == {"kubelet": {"flags": [""]}}
for spec in (
    {"kubelet": {"flags": "--v=2"}}, {"kubelet": {"flags": ["--v=2", {"v": 2}]}}, {"kubelet": {"config": []}},
    {"featureGates": {"FastImagePull": "true"}}, {"containerd": {"config": {}}}, {"cluster": {"cidr": 10.1}},
    {"cluster": {"enableOutpost": 1}}, {"instance": {"localStorage": {"strategy": False}}},
):
    try:
        print("accepted", decoded(spec))
    except field_types.WrongType as error:
        print(str(error).removeprefix("json: cannot unmarshal "))
"#;

/// Prints a line for each expression of the table that has other pods than there.
const MAX_PODS: &str = r#"
import sys
import types
sys.modules["yaml"] = types.ModuleType("yaml")
import max_pods
from node_config import Unsupported

def found(expression, interfaces, addresses):
    names = {"default_enis": interfaces, "ips_per_eni": addresses, "max_pods": interfaces * (addresses - 1) + 2}
    try:
        return str(max_pods.evaluated(expression, names))
    except max_pods.Rejected as error:
        return f"rejected: {error}"
    except Unsupported as error:
        return "not evaluated: " + str(error).partition(".maxPodsExpression with ")[2]

with open(sys.argv[1], encoding="utf-8") as table:
    cases = [line.rstrip("\n").split("\t") for line in table if not line.startswith('#')]
for interfaces, addresses, expression, expected in cases:
    pods = found(expression, int(interfaces), int(addresses))
    if pods != expected:
        print(expression, expected, pods)
assert max_pods.of("max_pods / 2", 3, 10) == 14
assert max_pods.of("fake_variable", 3, 10) == max_pods.of(None, 3, 10) == 29
print(len(cases), "cases")
"#;

fn python(program: &str, arguments: &[&str]) -> String {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/images/nodes/al2023/rootfs");
    let output = Command::new("python3")
        .args(["-c", program])
        .args(arguments)
        .current_dir(&files)
        .env("PYTHONPATH", files.join("usr/lib/nodeadm"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn registries_and_feature_gates_are_those_of_nodeadm() {
    assert_eq!(python(PROGRAM, &[]), "as nodeadm\n");
}

#[test]
fn keys_of_the_kubelets_files_have_the_order_of_nodeadm() {
    assert_eq!(
        python(ORDER, &[]),
        "apiVersion kind kubeAPIQPS registryPullQPS\n\
         authentication maxPods tlsCipherSuites kind apiVersion x509 webhook anonymous\n\
         apiVersion authentication kind maxPods tlsCipherSuites anonymous webhook x509\n"
    );
}

#[test]
fn expressions_for_max_pods_have_the_pods_of_nodeadm() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/max-pods-expressions.tsv");
    let count = std::fs::read_to_string(&table).unwrap();
    let count = count.lines().filter(|line| !line.starts_with('#')).count();
    let printed = python(MAX_PODS, &[table.to_str().unwrap()]);
    assert_eq!(printed, format!("{count} cases\n"));
}

#[test]
fn values_of_other_types_than_their_fields_are_refused() {
    let expected = "\
        string into Go struct field KubeletOptions.spec.kubelet.flags of type []string \
        (spec.kubelet.flags in line 2)\n\
        object into Go struct field KubeletOptions.spec.kubelet.flags of type string \
        (spec.kubelet.flags[1] in line 2)\n\
        array into Go struct field KubeletOptions.spec.kubelet.config of type map[string]runtime.RawExtension \
        (spec.kubelet.config in line 2)\n\
        string into Go struct field NodeConfigSpec.spec.featureGates of type bool \
        (spec.featureGates.FastImagePull in line 2)\n\
        object into Go struct field ContainerdOptions.spec.containerd.config of type string \
        (spec.containerd.config in line 2)\n\
        number into Go struct field ClusterDetails.spec.cluster.cidr of type string (spec.cluster.cidr in line 2)\n\
        number into Go struct field ClusterDetails.spec.cluster.enableOutpost of type bool \
        (spec.cluster.enableOutpost in line 2)\n\
        bool into Go struct field LocalStorageOptions.spec.instance.localStorage.strategy of type \
        v1alpha1.LocalStorageStrategy (spec.instance.localStorage.strategy in line 2)\n";
    assert_eq!(python(TYPES, &[]), expected);
}

#[test]
fn the_credential_provider_reads_the_region_from_every_name_of_ecr() {
    let provider = "etc/eks/image-credential-provider/ecr-credential-provider";
    let images = [
        "602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/pause:3.10",
        "602401143452.dkr-ecr.eu-west-1.on.aws/eks/pause:3.10",
        "602401143452.dkr.ecr-fips.us-gov-west-1.amazonaws.com/a",
        "918309763551.dkr.ecr.cn-north-1.amazonaws.com.cn/a",
        "public.ecr.aws/a/b",
    ];
    let [plain, dual_stack, fips, china, _] = images.map(|image| image.split('/').next().unwrap());
    assert_eq!(
        python(PROVIDER, &[&[provider], &images[..]].concat()),
        format!(
            "eu-west-1 {plain}\neu-west-1 {dual_stack}\nus-gov-west-1 {fips}\ncn-north-1 {china}\nnone\n"
        )
    );
}
