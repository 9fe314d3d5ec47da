//! Tests of places that are not filled in.

use super::*;

fn texts(text: &str) -> Vec<String> {
    find(text).into_iter().map(|found| found.text).collect()
}

#[test]
fn what_a_person_or_a_generator_fills_in_is_found_with_its_line() {
    for (text, expected) in [
        ("/etc/eks/bootstrap.sh <cluster-name>\n", "<cluster-name>"),
        (
            "aws eks describe-cluster --name <YOUR CLUSTER>\n",
            "<YOUR CLUSTER>",
        ),
        ("name: {{ .Values.cluster }}\n", "{{ .Values.cluster }}"),
        ("name: {{cluster_name}}\n", "{{cluster_name}}"),
        ("join ${var.cluster_name}\n", "${var.cluster_name}"),
        ("join ${AWS::StackName}\n", "${AWS::StackName}"),
        ("/etc/eks/bootstrap.sh ${cluster_name} --x\n", "${cluster_name}"),
        ("B64_CLUSTER_CA=${ClusterCA}\n", "${ClusterCA}"),
        ("/etc/eks/bootstrap.sh demo --b64-cluster-ca %s\n", "%s"),
        ("export TOKEN=REPLACE_ME\n", "REPLACE_ME"),
        ("curl YOUR_BUCKET\n", "YOUR_BUCKET"),
        (
            "/etc/eks/bootstrap.sh demo --apiserver-endpoint https://xxxxxxxx.gr7.eks\n",
            "xxxxxxxx",
        ),
        (
            "apiVersion: node.eks.aws/v1alpha1\nspec:\n  name: ${name}\n",
            "${name}",
        ),
        ("apiVersion: node.eks.aws/v1alpha1\nspec:\n  name: %s\n", "%s"),
    ] {
        assert_eq!(texts(text), [expected], "{text}");
    }
    assert_eq!(find("a\nb --name <cluster-name>\n")[0].line, 2);
    let of_erb = "/etc/eks/bootstrap.sh <%= @cluster %> --kubelet-extra-args '--node-labels=role=<%= @role -%>'\necho <%= @other %>\n";
    assert_eq!(texts(of_erb), ["<%= @cluster %>", "<%= @role -%>"]);
    let template = "#!/bin/bash\nVERSION=${client_version}\nNAME=x; echo ${NAME} ${other}\n\
                    /etc/eks/bootstrap.sh ${cluster} --kubelet-extra-args '--node-labels=size=${size},pool=${pool}'\n\
                    size=${size}\nPROXY=${proxy-host}\nX=${dedicated ? \"a\" : \"\"}\n";
    assert_eq!(
        texts(template),
        [
            "${client_version}",
            "${other}",
            "${cluster}",
            "${size}",
            "${pool}",
            "${size}",
            "${proxy-host}",
            "${dedicated ? \"a\" : \"\"}"
        ]
    );
    let sourced = "PROXY=${proxy}\nNO_PROXY=10.0.0.1,${cluster-host}\nset -a\nsource /etc/environment\n";
    assert_eq!(texts(sourced), ["${proxy}", "${cluster-host}"]);
    let call = "/etc/eks/bootstrap.sh ${name} \\\n  --use-max-pods ${pods} \\\n  --kubelet-extra-args '--node-labels=${labels}'\n\
                echo ${other}\n";
    assert_eq!(texts(call), ["${name}", "${pods}", "${labels}", "${other}"]);
    let late = "PROXY=\"${proxy}\"\nrun ${region}\ncat <<EOF > /etc/env\nproxy=http://$PROXY\nEOF\n. /etc/environment\necho ${proxy}\n";
    assert_eq!(texts(late), ["${proxy}", "${region}"]);
    let list = "#cloud-config\nruncmd:\n- [/etc/eks/bootstrap.sh, '${name}', '--register-with-taints=\"${taints}\"']\n";
    assert_eq!(texts(list), ["${name}", "${taints}"]);
}

#[test]
fn a_script_fills_in_variables_of_a_node_config_that_it_writes() {
    let writes = |word: &str, before: &str| {
        format!(
            "#!/bin/bash\n{before}\ncat > /etc/n.yaml <<{word}\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  \
             kubelet: {{ flags: [\"--node-labels=zone=${{ZONE_ID}}\"] }}\nEOF\nnodeadm init -c file:///etc/n.yaml\necho ${{OTHER}}\n"
        )
    };
    let set = "ZONE_ID=$(curl http://169.254.169.254/latest/meta-data/placement/availability-zone-id)";
    assert_eq!(texts(&writes("EOF", set)), Vec::<String>::new());
    assert_eq!(texts(&writes("EOF", "true")), ["${ZONE_ID}"], "nothing sets it");
    assert_eq!(
        texts(&writes("'EOF'", set)),
        ["${ZONE_ID}"],
        "no shell fills it in"
    );
}

#[test]
fn a_mark_of_a_template_is_open_unless_the_script_replaces_it() {
    let config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: __CLUSTER__\n    cidr: <serviceCidr>\n";
    assert_eq!(texts(config), ["__CLUSTER__", "<serviceCidr>"]);
    let writes = format!(
        "#!/bin/bash\ncat > /n.yaml <<'EOF'\n{config}EOF\nsed -i 's|__CLUSTER__|demo|;s|<serviceCidr>|x|' /n.yaml\n"
    );
    assert_eq!(texts(&writes), [""; 0]);
    let braces = "sed -i 's/{{CLUSTER}}/demo/g' /etc/x.conf\n";
    assert_eq!(texts(braces), [""; 0]);
    assert_eq!(texts("sed -i 's/demo/{{ cluster }}/' /x\n"), ["{{ cluster }}"]);
    let loops = "cat > /t <<'EOF'\nCLUSTER_NAME=@@CLUSTER@@\nEOF\n\
                 for k in CLUSTER; do sed -i \"s|@@$k@@|${!k}|\" /t; done\n";
    assert_eq!(texts(loops), [""; 0]);
}

#[test]
fn a_name_with_a_filter_is_open_where_a_value_of_the_cluster_stands() {
    let call = "/etc/eks/bootstrap.sh";
    for (text, expected) in [
        (
            format!("{call} {{{{ cluster | quote }}}} --x\n"),
            "{{ cluster | quote }}",
        ),
        (
            format!("{call} {{{{ lookup('env','CLUSTER') }}}}\n"),
            "{{ lookup('env','CLUSTER') }}",
        ),
        (format!("{call} {{{{{{cluster}}}}}}\n"), "{{{cluster}}}"),
        (format!("{call} %{{cluster}}\n"), "%{cluster}"),
        (
            format!("{call} demo --kubelet-extra-args '--node-labels={{{{ labels | join(',') }}}}'\n"),
            "{{ labels | join(',') }}",
        ),
        (
            "CLUSTER_NAME={{ cluster | default('a') }}\n".to_owned(),
            "{{ cluster | default('a') }}",
        ),
        (
            format!("{call} ${{{{ inputs.cluster || 'a' }}}}\n"),
            "${{ inputs.cluster || 'a' }}",
        ),
    ] {
        assert_eq!(texts(&text), [expected], "{text}");
        let set = BTreeMap::from([(expected.to_owned(), "demo".to_owned())]);
        assert!(!filled(&text, &set).contains(['{', '}', '$']), "{text}");
    }
    for text in [
        "curl -s -w '%{http_code}' https://example.com\n",
        "echo '{{ item | quote }}' > /etc/playbook.yml\n",
        "/etc/eks/bootstrap.sh demo --x $(docker inspect --format '{{json (index .A 0)}}' a)\n",
        "## template: jinja\n#cloud-config\nruncmd:\n- [/etc/eks/bootstrap.sh, '{{ ds.cluster | default(\"a\") }}']\n",
    ] {
        assert_eq!(texts(text), [""; 0], "{text}");
    }
}

/// A workflow fills in `${{ NAME }}` as a whole: a `$` of it is not for the shell.
#[test]
fn an_expression_of_a_workflow_is_filled_in_with_its_sign() {
    let text = "#!/bin/bash\nX=${other}\n/etc/eks/bootstrap.sh ${{ inputs.cluster }} --x ${{inputs.flag}}\n";
    assert_eq!(
        texts(text),
        ["${other}", "${{ inputs.cluster }}", "${{inputs.flag}}"]
    );
    let set = ["inputs.cluster", "inputs.flag"].map(|name| (name.to_owned(), "demo".to_owned()));
    assert!(filled(text, &set.into()).ends_with("bootstrap.sh demo --x demo\n"));
    let alone = "#!/bin/bash\necho ${other}\naws s3 cp ${{ inputs.file }} /x\n";
    assert_eq!(
        texts(alone),
        ["${{ inputs.file }}"],
        "not all names are of the workflow"
    );
    let replaced = "echo '${{ inputs.file }}' > /x\nsed -i 's|{{ inputs.file }}|a|' /x\n";
    assert_eq!(texts(replaced), [""; 0]);
}

#[test]
fn names_that_the_authenticator_fills_in_stay() {
    let row = "username: system:node:{{EC2PrivateDNSName}}\nname: {{ SessionName }}\n";
    assert_eq!(texts(row), Vec::<String>::new());
}

#[test]
fn values_that_are_cut_off_are_to_be_given() {
    let call = "/etc/eks/bootstrap.sh demo \\\n  --b64-cluster-ca 'LS0tLS1CRUdJTiB...' \\\n  --apiserver-endpoint https://ABC...\n";
    assert_eq!(texts(call), ["LS0tLS1CRUdJTiB...", "https://ABC..."]);
    assert_eq!(texts("echo 'see https://a.example/...'\n"), Vec::<String>::new());
    let set = BTreeMap::from([("LS0tLS1CRUdJTiB...".to_owned(), "CA".to_owned())]);
    assert!(filled(call, &set).contains("--b64-cluster-ca 'CA'"));
}

#[test]
fn a_variable_that_takes_a_name_of_a_template_shows_the_others() {
    for line in [
        "CLUSTER=\"${cluster_name}\"",
        "export HTTPS_PROXY=${proxy}",
        "  local key='${api_key}'",
    ] {
        let text = format!("#!/bin/bash\n{line}\ncurl -x \"${{other}}\" x\n/etc/eks/bootstrap.sh demo\n");
        let found = texts(&text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.contains(&"${other}".to_owned()), "{found:?}");
    }
    for line in [
        "A=\"${https_proxy}\"",
        "A=\"${b}/c\"",
        "read -r b; A=${b}",
        "b=1\nA=${b}",
        ": ${b:=1}\nA=${b}",
        "A=${B}",
        ". ./more.sh\nA=${b}",
        "[ -f /opt/x.env ] && . /opt/x.env\nA=${b}",
        "if [ -f /opt/x.env ]; then . /opt/x.env; fi\nA=${b}",
        "set -a; . /opt/x.env; set +a\nA=${b}",
        "set -a; . <(curl -s http://config.local/env); set +a\nA=${b}",
        "cd /opt && . x.env\nA=${b}",
        "load() { source \"$1\"; }\nload x.env\nA=${b}",
        "command . /opt/x.env || eval \"$(x)\"\nA=${b}",
        "export $(grep -v '^#' /opt/x.env | xargs)\nA=${b}",
        "export `cat /opt/x.env`\nA=${b}",
        "while IFS== read -r k v; do export \"$k=$v\"; done < /opt/x.env\nA=${b}",
        "for v in $(x); do declare \"$v\"; done\nA=${b}",
        "printf -v \"$k\" '%s' x\nA=${b}",
    ] {
        let text = format!("#!/bin/bash\n{line}\n/etc/eks/bootstrap.sh demo\n");
        assert_eq!(texts(&text), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn settings_have_no_shell_that_fills_in_a_name() {
    let text = "[settings.kubernetes]\ncluster-name = \"${cluster_name}\"\napi-server = \"${endpoint}\"\nmax-pods = 5\n";
    let found: Vec<(usize, String)> = find_in_settings(text)
        .into_iter()
        .map(|one| (one.line, one.text))
        .collect();
    let expected = [(2, "${cluster_name}".to_owned()), (3, "${endpoint}".to_owned())];
    assert_eq!(found, expected);
    let printed = "[settings.kubernetes.node-labels]\n'karpenter.k8s.aws/ec2nodeclass' = '%s'\n'a' = '50%'\n";
    let found: Vec<String> = find_in_settings(printed)
        .into_iter()
        .map(|one| one.text)
        .collect();
    assert_eq!(found, ["%s"]);
    for text in [
        "[settings]\nmotd = \"hello %s\"\n",
        "settings.motd = '%s'\n",
        "[settings.kubernetes]\nmax-pods = 5\n[settings.ntp]\ntime-servers = [ \"%s\" ]\n",
    ] {
        assert!(find_in_settings(text).is_empty(), "{text}");
    }
    let dotted = "settings.kubernetes.cluster-name = \"%s\"\n";
    assert_eq!(find_in_settings(dotted).len(), 1);
}

#[test]
fn a_here_document_for_a_reader_has_no_values() {
    let usage = "usage: /etc/eks/bootstrap.sh <cluster> [options]\nCLUSTER_NAME=<name> or your-cluster-name\n\
                 /etc/eks/bootstrap.sh __CLUSTER__ --b64-cluster-ca %s ${CLUSTER}\n";
    let with = |command: &str, after: &str| format!("#!/bin/bash\n{command} <<'EOF'\n{usage}EOF\n{after}\n");
    for command in [
        "cat",
        "usage() { cat >&2",
        "tee /dev/stderr",
        "read -r -d '' HELP",
        "HELP=$(cat",
        ":",
        "cat > /etc/motd",
    ] {
        let text = with(command, "/etc/eks/bootstrap.sh demo");
        assert_eq!(texts(&text), [""; 0], "{text}");
        let text = with(command, "/etc/eks/bootstrap.sh <cluster>");
        assert_eq!(texts(&text), ["<cluster>"], "{text}");
    }
    for command in ["cat > /etc/join.sh", "tee /etc/join.sh", "bash -s"] {
        let found = texts(&with(command, ""));
        assert!(found.contains(&"<cluster>".to_owned()), "{command}: {found:?}");
    }
    let endless = "cat <<EOF\n/etc/eks/bootstrap.sh <cluster>\n";
    assert_eq!(texts(endless), ["<cluster>"]);
    let config = "cat <<'EOF'\napiVersion: node.eks.aws/v1alpha1\nspec:\n  name: <cluster>\nEOF\n";
    assert_eq!(texts(config), ["<cluster>"], "a function can write it");
}

#[test]
fn names_of_files_of_the_system_are_set() {
    let call = |begin: &str, name: &str| {
        let flag = format!("--kubelet-extra-args \"--node-labels=os=${{{name}}}\"");
        texts(&format!(
            "#!/bin/bash\n{begin}\n/etc/eks/bootstrap.sh demo {flag}\n"
        ))
    };
    for begin in [
        ". /etc/os-release",
        "source /etc/os-release",
        "[ -f /etc/os-release ] && . \"/etc/os-release\"",
    ] {
        for name in ["ID", "VERSION_ID", "PLATFORM_ID"] {
            assert_eq!(call(begin, name), [""; 0], "{begin} {name}");
        }
        assert_eq!(call(begin, "TEAM"), ["${TEAM}"], "{begin}");
    }
    assert_eq!(call("source /etc/environment", "TEAM"), [""; 0]);
    assert_eq!(call("source /etc/environment", "team"), ["${team}"]);
    assert_eq!(call("# . /etc/os-release", "ID"), ["${ID}"]);
}

#[test]
fn what_a_program_fills_in_is_no_placeholder() {
    for text in [
        "#!/bin/bash\nNAME=x\n/etc/eks/bootstrap.sh ${NAME} ${HOSTNAME} ${AWS_REGION}\n",
        "for a in b; do /etc/eks/bootstrap.sh ${a}; done\n",
        "source /etc/profile.d/x.sh\n/etc/eks/bootstrap.sh ${CLUSTER}\n",
        "echo ${cluster_name}\n",
        "echo ${A%.*} ${A:-b.c} ${#A} ${A[0]} ${A//./-}\n",
        "debug=1\necho ${debug-off} ${name-} ${NAME-x}\n",
        "docker inspect -f '{{.State.Running}}' x\ncrictl ps --format '{{.Id}}'\n",
        "join {{ cluster.name }}\n",
        "## template: jinja\n#cloud-config\nx: {{ v1.region }}\n",
        "# replace <cluster-name> and ${var.x}\n",
        "a=1 # as in <cluster-name>\necho \"usage: --name <cluster-name>\"\n",
        "<powershell>\ncat <<EOF >/x\nmail <a@b.c>\n",
        "sort <in >out-file\n",
        "printf '%s' x\n",
    ] {
        assert_eq!(texts(text), [""; 0], "{text}");
    }
}

#[test]
fn a_part_that_cloud_init_fills_in_has_no_placeholders_and_others_have() {
    let of_part = |part: &str| {
        let text = format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: text/jinja2\n\n{part}\n\n\
             --B\nContent-Type: text/x-shellscript\n\n#!/bin/sh\necho {{{{ v1.region }}}}\n--B--\n"
        );
        texts(&text)
    };
    let config = "#cloud-config\nfqdn: node-{{ v1.instance_id }}";
    assert_eq!(of_part(&format!("{JINJA}\n{config}")), ["{{ v1.region }}"]);
    assert_eq!(of_part(config), ["{{ v1.instance_id }}", "{{ v1.region }}"]);
}

#[test]
fn values_fill_every_form_of_a_name() {
    let set = BTreeMap::from([
        ("name".to_owned(), "demo".to_owned()),
        ("REPLACE_ME".to_owned(), "x".to_owned()),
        ("%CLUSTER%".to_owned(), "y".to_owned()),
    ]);
    assert_eq!(
        filled(
            "${name} <name> {{ name }} {{name}} <%= name %> name $name REPLACE_ME %CLUSTER% %name%",
            &set
        ),
        "demo demo demo demo demo name $name x y %name%"
    );
}
