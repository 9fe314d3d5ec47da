//! Images that an account lists in its registry: Docker pulls them from `nodejoin aws`, and a node runs them.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::account::{RunningAccount, nodejoin};
use crate::support::both;
use tempfile::TempDir;

/// An image of the engine. Dropping it removes the image.
struct Image {
    name: String,
    id: String,
}

impl Image {
    /// Builds an image that serves this text on port 8080.
    fn build(name: &str, text: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let name = format!("nodejoin-test/{name}-{}:1", std::process::id());
        let container = Container::of_node_image();
        let program = format!("{}:/bin/busybox", container.0);
        docker(&["cp", &program, "busybox"], folder.path());
        std::fs::write(folder.path().join("index.html"), text).unwrap();
        // The name keeps images with equal files apart: removing one by its id would remove the other, too.
        let dockerfile = format!(
            "FROM scratch\nLABEL nodejoin.test=own-images nodejoin.test.name={name}\nCOPY busybox /bin/busybox\n\
             COPY index.html /www/\nCMD [\"/bin/busybox\", \"httpd\", \"-f\", \"-p\", \"8080\", \"-h\", \"/www\"]\n"
        );
        std::fs::write(folder.path().join("Dockerfile"), dockerfile).unwrap();
        docker(&["build", "--quiet", "--tag", &name, "."], folder.path());
        let id = docker(&["inspect", "--format", "{{.Id}}", &name], folder.path());
        Self { name, id }
    }

    fn remove(&self) {
        let _ = Command::new("docker").args(["rmi", "--force", &self.id]).output();
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A container that never starts; a file is copied from its image.
struct Container(String);

impl Container {
    fn of_node_image() -> Self {
        let image = built_in_image();
        Self(docker(
            &["create", "--label", "nodejoin.test=own-images", &image, "true"],
            Path::new("."),
        ))
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        docker(&["rm", &self.0], Path::new("."));
    }
}

/// The image `al2` of the version that runs use: the engine can have others.
fn built_in_image() -> String {
    let output = nodejoin(&["images", "build", "--nodes", "al2"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.lines().filter_map(|line| line.split_whitespace().next());
    let mut images = words.filter(|word| word.starts_with("nodejoin/al2:"));
    images
        .next()
        .unwrap_or_else(|| panic!("no image: {text}"))
        .to_owned()
}

fn docker(arguments: &[&str], folder: &Path) -> String {
    // The builder that every engine has.
    let mut command = Command::new("docker");
    command
        .args(arguments)
        .current_dir(folder)
        .env("DOCKER_BUILDKIT", "0");
    let output = command.output().expect("these tests need docker on PATH");
    assert!(output.status.success(), "{arguments:?}: {}", both(&output));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn account(of_engine: &str) -> String {
    format!(
        "\
instance: {{ role: demo-role }}
aws:
  repositories:
    - {{ name: team/saved, images: [{{ tags: [v1, latest], archive: saved.tar }}] }}
    - {{ name: team/built, images: [{{ tags: [v2], engine: '{of_engine}' }}] }}
"
    )
}

#[test]
fn docker_s_engine_logs_in_and_pulls_what_the_account_lists() {
    let home = TempDir::new().unwrap();
    let (saved, built) = (Image::build("saved", "saved"), Image::build("built", "built"));
    docker(&["save", "--output", "saved.tar", &saved.name], home.path());
    let served = RunningAccount::at(home.path(), &account(&built.name), &[]);
    // The pulled image must come from the registry, not from the engine.
    saved.remove();
    built.remove();
    let registry = format!("127.0.0.1:{}", served.port(1));
    let pull = |image: &str| format!("docker pull --quiet {registry}/{image}");

    // The engine tries plain HTTP after a refusal and reports only that; the log of the account has the refusal.
    served.failing_cli(&pull("team/saved:v1"));
    served.wait_for_log("UNAUTHORIZED");
    let refused = served.failing_cli(&format!(
        "docker login --username AWS --password wrong {registry}"
    ));
    assert!(refused.contains("401"), "{refused}");
    let login =
        format!("aws ecr get-login-password | docker login --username AWS --password-stdin {registry}");
    assert!(served.cli(&login).contains("Login Succeeded"));
    for (image, expected) in [
        ("team/saved:v1", &saved),
        ("team/saved", &saved),
        ("team/built:v2", &built),
    ] {
        served.cli(&pull(image));
        let id = served.cli(&format!(
            "docker inspect --format '{{{{.Id}}}}' {registry}/{image}"
        ));
        assert_eq!(id, expected.id, "{image}");
        expected.remove();
    }
    let refused = served.failing_cli(&pull("team/saved:v3"));
    assert!(
        refused.contains("manifest") && refused.contains("not found"),
        "{refused}"
    );
}

#[test]
fn a_node_pulls_both_and_a_pod_of_one_answers() {
    let home = TempDir::new().unwrap();
    let (saved, built) = (Image::build("pod", "saved"), Image::build("pulled", "built"));
    docker(&["save", "--output", "saved.tar", &saved.name], home.path());
    let scenario = format!(
        "\
name: a pod of an image of one's own answers
{}user_data: |
  #!/bin/bash
  set -o errexit
  /etc/eks/bootstrap.sh {{{{ cluster.name }}}} --container-runtime containerd
  password=$(aws ecr get-login-password --region {{{{ instance.region }}}})
  registry={{{{ account.id }}}}.dkr.ecr.{{{{ instance.region }}}}.amazonaws.com
  crictl pull --creds \"AWS:$password\" $registry/team/saved:v1
  crictl pull --creds \"AWS:$password\" $registry/team/built:v2
  ctr --namespace k8s.io images ls --quiet > /etc/images
pod: {{ image: 'team/saved:v1' }}
expect:
  phase: ready
  pod: {{ answers: true }}
  files:
    /etc/images: {{ contains: ['dkr.ecr.eu-west-1.amazonaws.com/team/built:v2'] }}
",
        account(&built.name)
    );
    std::fs::write(home.path().join("own.yaml"), scenario).unwrap();
    let output = nodejoin(&["run", "own.yaml"])
        .current_dir(home.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", both(&output));
}

/// A root file system that no recipe made: the built-in image's, exported, without its labels.
fn exported(folder: &Path) {
    let container = Container::of_node_image();
    docker(&["export", "--output", "whole.tar", &container.0], folder);
    let whole = std::fs::File::open(folder.join("whole.tar")).unwrap();
    let archive = std::fs::File::create(folder.join("exported-ami.tar.zst")).unwrap();
    zstd::stream::copy_encode(whole, archive, 1).unwrap();
    std::fs::remove_file(folder.join("whole.tar")).unwrap();
}

pub(super) fn remove_images(named: &str) {
    let here = Path::new(".");
    let images = docker(&["images", "--format", "{{.Repository}}:{{.Tag}}", named], here);
    for image in images.lines() {
        docker(&["rmi", image], here);
    }
}

#[test]
fn a_node_of_an_exported_root_file_system_joins() {
    let home = TempDir::new().unwrap();
    exported(home.path());
    let scenario = "\
name: a root file system joins
image: { rootfs: exported-ami.tar.zst }
user_data: |
  #!/bin/bash
  echo made > /var/lib/made
  sysctl -w net.ipv4.ip_forward=1
  /etc/eks/bootstrap.sh {{ cluster.name }} --container-runtime containerd
expect:
  phase: ready
  files:
    /etc/eks/bootstrap.sh: { mode: \"0755\" }
    /var/lib/made: { contains: [made], owner: \"root:root\" }
    /var/lib/not-made: { exists: false }
golden: { machine: true }
";
    std::fs::write(home.path().join("own.yaml"), scenario).unwrap();
    let output = nodejoin(&["run", "own.yaml", "--bless"])
        .current_dir(home.path())
        .output()
        .unwrap();
    let said = both(&output);
    remove_images("nodejoin/import-exported-ami");
    assert_eq!(output.status.code(), Some(0), "{said}");
    // The probe reads the machine by the harness' own programs.
    let machine = std::fs::read_to_string(home.path().join("own.machine")).unwrap();
    for part in [
        "==> kubelet arguments",
        "==> file /var/lib/made",
        "==> enabled units",
    ] {
        assert!(machine.contains(part), "{part}: {machine}");
    }
    assert!(
        said.contains("exported-ami.tar.zst`: Debian GNU/Linux 12"),
        "{said}"
    );
}

/// Runs a scenario on the built-in image with another kubelet, and returns the exit code and what it printed.
fn with_kubelet(kubelet: &str) -> (Option<i32>, String) {
    let home = TempDir::new().unwrap();
    let name = format!("nodejoin-test-kubelet:{}", std::process::id());
    let base = built_in_image();
    let path = home.path().join("kubelet");
    std::fs::write(&path, kubelet).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    // From scratch, without the labels by which the harness knows its own images. Nothing boots, so most programs are
    // left out: copying all takes a minute.
    let dockerfile = format!(
        "FROM {base} AS ours\nRUN rm -rf /usr/lib/python3* /usr/lib/awscli* /usr/bin/kube* /usr/bin/docker* \
         /usr/bin/containerd* /usr/bin/ctr\nFROM scratch\nLABEL nodejoin.test=own-images\nCOPY --from=ours / /\n\
         COPY kubelet /usr/bin/kubelet\n"
    );
    std::fs::write(home.path().join("Dockerfile"), dockerfile).unwrap();
    docker(&["build", "--quiet", "--tag", &name, "."], home.path());
    let scenario = "name: x\nuser_data: \"#!/bin/bash\\ntrue\\n\"\nexpect: { phase: booted }\n";
    std::fs::write(home.path().join("x.yaml"), scenario).unwrap();
    let output = nodejoin(&["run", "x.yaml", "--image", &name])
        .current_dir(home.path())
        .output()
        .unwrap();
    remove_images("nodejoin/import-nodejoin-test-kubelet");
    docker(&["rmi", &name], home.path());
    (output.status.code(), both(&output))
}

#[test]
fn an_image_whose_kubelet_does_not_fit_boots_no_node() {
    let (code, said) = with_kubelet("#!/bin/sh\necho Kubernetes v1.32.1\n");
    assert_eq!(code, Some(4), "{said}");
    let expected = [
        "kubelet 1.32 is not supported with kube-apiserver 1.20: a kubelet must not be newer",
        "use a kubelet from 1.18 to 1.20",
    ];
    for words in expected {
        assert!(said.contains(words), "{words}: {said}");
    }
    // It is not replaced by the harness' own either.
    let (code, said) =
        with_kubelet("#!/bin/sh\necho libseccomp.so.2: cannot open shared object file\nexit 127\n");
    assert_eq!(code, Some(4), "{said}");
    let expected = "its kubelet reports no version; the last line of `kubelet --version` is `libseccomp.so.2: cannot open";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn an_image_that_the_engine_lacks_is_an_error_with_its_position() {
    let home = TempDir::new().unwrap();
    let text = "aws:\n  repositories:\n    - name: team/web\n      images: [{ tags: [v1], engine: 'nodejoin-test/nowhere:1' }]\n";
    std::fs::write(home.path().join("account.yaml"), text).unwrap();
    let output = nodejoin(&["aws", "account.yaml"])
        .current_dir(home.path())
        .output()
        .unwrap();
    let said = both(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    let expected = "account.yaml:4:38: `aws.repositories[0].images[0].engine`: the container engine has no image `nodejoin-test/nowhere:1`";
    assert!(
        said.contains(expected) && said.contains("docker pull nodejoin-test/nowhere:1"),
        "{said}"
    );
}
