//! Finds the format of a file and calls its reader.

use std::sync::Arc;

use nodejoin_core::user_data::LIMIT;

use crate::adopt::{calls_bootstrap_program, filled, is_printed, leave_out_others};
use crate::error::ImportError;
use crate::input::Import;
use crate::layers::unwrapped;
use crate::machine::{FileFormat, Imported, UnreadMachine};
use crate::nearly_user_data::{indented_message, misspelt_settings, node_config_of_other_group, not_utf8};
use crate::other_text::Printer;
use crate::source_lines::{in_file, of_user_data};
use crate::template_fragment::TemplateFragment;
use crate::tree::{Tree, json};
use crate::{
    ack, cloudformation, cluster_api, clusterctl, crossplane, ec2, eksctl, karpenter, manifest_values, mime,
    other_text, pulumi, rancher, scope, template, template_directives, template_fragment, terraform, text,
};

/// Reads the machines that a file defines.
///
/// # Errors
/// The format is unknown, the file is invalid or not rendered, or no machine has user data in it.
pub fn import(input: &Import<'_>) -> Result<Imported, ImportError> {
    let file = std::str::from_utf8(input.bytes)
        .ok()
        .filter(|_| input.folder.is_none());
    let located = |error: ImportError| match file {
        Some(file) => in_file(error, file, None),
        None => error,
    };
    let mut imported = match input.folder {
        Some(folder) => cloudformation::read_folder(input, folder)?,
        None => of_bytes(input).map_err(located)?,
    };
    let unread = imported.unread.into_iter();
    imported.unread = unread
        .map(|unread| UnreadMachine {
            error: located(unread.error),
            ..unread
        })
        .collect();
    let file: Option<Arc<str>> = file.map(Arc::from);
    for machine in &mut imported.machines {
        machine.file.clone_from(&file);
        let size = machine.user_data.as_ref().map_or(0, Vec::len);
        if size > LIMIT {
            machine
                .notes
                .push(format!("the user data has {size} bytes, but EC2 allows {LIMIT}"));
        }
    }
    leave_out_others(&mut imported.machines);
    Ok(imported)
}

fn of_bytes(input: &Import<'_>) -> Result<Imported, ImportError> {
    let (bytes, notes) = unwrapped(input.bytes)?;
    let text = std::str::from_utf8(&bytes).ok();
    let is_inside = !bytes.is_empty() && std::str::from_utf8(input.bytes).is_ok() && bytes != input.bytes;
    let read = of_text(input, &bytes);
    let mut imported = read.map_err(|error| match text.filter(|_| is_inside) {
        Some(text) => of_user_data(error, text),
        None => error,
    })?;
    imported.notes.splice(0..0, notes);
    Ok(imported)
}

fn of_text(input: &Import<'_>, bytes: &[u8]) -> Result<Imported, ImportError> {
    template::check_binary(bytes)?;
    let plain = if text::is_gzip(bytes) {
        text::unpacked(bytes)?
    } else {
        bytes.to_vec()
    };
    let content = readable(input, &plain)?;
    // No value lets nodejoin start a machine of Windows.
    let is_windows = text::format(content) == Some(FileFormat::WindowsScript);
    let is_open = text::is_open_settings(content) && !template::is_terraform_code(input.name, content);
    let is_template = template::is_terraform_template(input.name) || is_open;
    if is_template && !is_windows {
        let rendered = template::terraform_template(input.name, content, input.set)?;
        return user_data(input, rendered.as_bytes(), &rendered);
    }
    let body = content.trim_start_matches('\u{feff}').trim_start();
    template::check_program(input.name, body)?;
    if let Some(error) = indented_message(content) {
        return Err(error);
    }
    let can_be_source = match text::format(content) {
        None | Some(FileFormat::BottlerocketSettings) => true,
        // A message in a text of a program.
        Some(_) => mime::is_mime(content) && !mime::begins_with_header(content),
    };
    if can_be_source {
        template::check(input.name, body)?;
    }
    if text::format(content).is_some() {
        template_directives::check_user_data(input.name, content)?;
        return user_data(input, bytes, content);
    }
    if is_json(body) && !other_text::is_console(body) {
        return of_documents(input, vec![json(body)?], content);
    }
    let documents = cloudformation::documents(content.trim_start_matches('\u{feff}'));
    // `%` is not valid in YAML: the trial names the values that a program prints.
    let is_config = content
        .lines()
        .any(|line| line.starts_with("apiVersion: node.eks.aws/"));
    if documents.is_err() && (is_config || is_yaml(body)) {
        template_directives::check_yaml(input.name, content)?;
    }
    if documents.is_err() && is_config && is_printed(content) {
        return whole_file(input, bytes, content, FileFormat::NodeConfig);
    }
    if documents.is_err()
        && let Some(error) = other_text::around_manifests(content)
    {
        return Err(error);
    }
    if is_yaml(body) {
        let (documents, mut notes) = documents?;
        let mut imported = of_documents(input, documents, content)?;
        imported.notes.append(&mut notes);
        return Ok(imported);
    }
    // A cloud-config without its first line, which cloud-init ignores.
    if text::has_cloud_config_keys(content) {
        return user_data(input, bytes, content);
    }
    // A script is YAML, too: one text.
    let has_names = |document: &Tree| document.entries().iter().all(|(key, _)| !key.contains(' '));
    let is_document =
        |document: &Tree| (document.is_map() && has_names(document)) || !document.items().is_empty();
    match documents {
        Ok((documents, _)) if !documents.is_empty() && documents.iter().all(is_document) => {
            match &documents[..] {
                [document] if template_fragment::is_fragment(document) => fragment(input, document),
                _ => Err(other_documents(input, &documents, Printer::Yq, content)),
            }
        }
        Ok(_) | Err(_) => user_data(input, bytes, content),
    }
}

fn of_documents(input: &Import<'_>, documents: Vec<Tree>, content: &str) -> Result<Imported, ImportError> {
    let api = |document: &Tree| document.text_at(&["apiVersion"]).unwrap_or_default();
    if documents
        .iter()
        .any(|document| api(document).starts_with("node.eks.aws/"))
    {
        return whole_file(input, content.as_bytes(), content, FileFormat::NodeConfig);
    }
    let is_template = clusterctl::is_template(content);
    // CloudFormation and its like have parameters instead.
    let filled_documents: Vec<Tree> = documents
        .iter()
        .filter(|document| document.get("apiVersion").is_some() && !input.set.is_empty())
        .map(|document| manifest_values::filled(document, input.set))
        .map(|document| document.with_texts(&|text| filled(text, input.set)))
        .collect();
    let (documents, content) = match filled_documents.is_empty() {
        true => (documents, content.to_owned()),
        false => (filled_documents, filled(content, input.set)),
    };
    let is_of_cluster_api = manifests_of(&documents).into_iter().any(cluster_api::is_manifest);
    let (documents, content) = match is_template && is_of_cluster_api {
        true => {
            let fill = |text: &str| clusterctl::with_defaults(text, input.set);
            let documents = documents.iter().map(|document| document.with_texts(&fill));
            (documents.collect(), fill(&content))
        }
        false => (documents, content),
    };
    let manifests = manifests_of(&documents);
    if is_of_cluster_api {
        clusterctl::check(&content)?;
    }
    // Other tools fill in such names themselves.
    let is_of_tool = |document: &&Tree| {
        let is_of_one = [
            karpenter::is_manifest,
            eksctl::is_manifest,
            rancher::is_manifest,
            ack::is_manifest,
        ]
        .iter()
        .any(|is_manifest| is_manifest(document));
        // What is out of scope needs no values.
        is_of_one && !karpenter::is_pool_of_auto_mode(document)
    };
    let of_tools: Vec<&Tree> = manifests.iter().copied().filter(is_of_tool).collect();
    manifest_values::check(&of_tools)?;
    if let Some(found) = of_manifests(input, &manifests) {
        return found;
    }
    let printer = if is_json(content.trim_start()) {
        Printer::Jq
    } else {
        Printer::Yq
    };
    if let [document] = &documents[..]
        && let Some(found) = of_document(input, document)
    {
        return found.map_err(|error| other_text::with_place(error, document, printer, input.name));
    }
    Err(other_documents(input, &documents, printer, &content))
}

/// The manifests in documents: `kubectl get -o yaml` prints a list.
fn manifests_of(documents: &[Tree]) -> Vec<&Tree> {
    let is_list = |document: &Tree| {
        let api = document.text_at(&["apiVersion"]);
        api.as_deref() == Some("v1") && document.get("items").is_some()
    };
    documents
        .iter()
        .flat_map(|document| match is_list(document) {
            true => document.items_at(&["items"]).iter().collect(),
            false => vec![document],
        })
        .collect()
}

fn other_documents(input: &Import<'_>, documents: &[Tree], printer: Printer, content: &str) -> ImportError {
    let inside = documents
        .iter()
        .find_map(node_config_of_other_group)
        .or_else(|| other_text::inside(documents, printer, input.name));
    inside.unwrap_or_else(|| not_recognized(input, content))
}

/// A stream of manifests for Kubernetes.
fn of_manifests(input: &Import<'_>, manifests: &[&Tree]) -> Option<Result<Imported, ImportError>> {
    if manifests.iter().any(|document| karpenter::is_manifest(document)) {
        return Some(karpenter::read(input, manifests));
    }
    if let Some(config) = manifests.iter().find(|document| eksctl::is_manifest(document)) {
        return Some(eksctl::read(input, config));
    }
    if let Some(config) = manifests.iter().find(|document| rancher::is_manifest(document)) {
        return Some(rancher::read(config));
    }
    if manifests
        .iter()
        .any(|document| cluster_api::is_manifest(document))
    {
        return Some(cluster_api::read(input, manifests));
    }
    if manifests.iter().any(|document| cluster_api::is_secret(document)) {
        return Some(cluster_api::read_secrets(manifests));
    }
    if manifests.iter().any(|document| crossplane::is_manifest(document)) {
        return Some(crossplane::read(manifests));
    }
    if manifests.iter().any(|document| ack::is_manifest(document)) {
        return Some(ack::read(input, manifests));
    }
    if let Some(composition) = manifests
        .iter()
        .find(|document| crossplane::is_composition(document))
    {
        return Some(Err(crossplane::composition(composition)));
    }
    if let Some(error) = manifests
        .iter()
        .find_map(|document| scope::check_manifest(document))
    {
        return Some(Err(error));
    }
    manifests
        .iter()
        .find(|document| karpenter::is_auto_mode(document))
        .map(|document| Err(karpenter::auto_mode(document)))
}

/// A file with one JSON or YAML document.
fn of_document(input: &Import<'_>, document: &Tree) -> Option<Result<Imported, ImportError>> {
    if template_fragment::is_fragment(document) {
        return Some(fragment(input, document));
    }
    if let Some(versions) = document.get("LaunchTemplateVersions") {
        return Some(launch_template_versions(versions.items()));
    }
    // `--query 'LaunchTemplateVersions'` prints the list alone, `--query 'LaunchTemplateVersions[0]'` one of it.
    let is_version = |tree: &Tree| tree.get("LaunchTemplateData").is_some();
    if document.items().iter().any(is_version) {
        return Some(launch_template_versions(document.items()));
    }
    if is_version(document) {
        return Some(ec2::launch_template_version(document).finish("", ""));
    }
    if let Some(error) = ec2::without_user_data(document) {
        return Some(Err(error));
    }
    let has_value = |tree: &Tree| tree.is_map() && tree.entries().iter().all(|(key, _)| key == "Value");
    if document.get("UserData").is_some_and(has_value) {
        return Some(ec2::instance_attribute(document).finish("", ""));
    }
    if let Some(configurations) = document.get("LaunchConfigurations") {
        let reading = ec2::launch_configurations(configurations.items());
        return Some(reading.finish("the list is empty", "check name and region of the command"));
    }
    if document.items().iter().any(ec2::is_instance_data) {
        return Some(ec2::instance_data_list(document.items()).finish("", ""));
    }
    if ec2::is_instance_data(document) {
        return Some(ec2::instance_data(document).finish("", ""));
    }
    if let Some(body) = document.get("TemplateBody") {
        return Some(template_body(input, body));
    }
    if cloudformation::is_template(document) {
        return Some(cloudformation::read(input, document));
    }
    if pulumi::is_document(document) {
        return Some(pulumi::read(document));
    }
    terraform::format(document).map(|format| terraform::read(input, document, format))
}

/// User data of a template without the template.
fn fragment(input: &Import<'_>, document: &Tree) -> Result<Imported, ImportError> {
    let TemplateFragment { text, literals } = TemplateFragment::of(document)?;
    let read = user_data(input, text.as_bytes(), &text);
    let mut imported = read.map_err(|error| of_user_data(error, &text))?;
    for machine in &mut imported.machines {
        machine.literals.clone_from(&literals);
    }
    imported.notes.push(
        "the file is `UserData` of CloudFormation without its template: the text in it is tried, in which names of the template stay \
         `${NAME}`"
            .to_owned(),
    );
    Ok(imported)
}

/// `aws cloudformation get-template`, which prints a template in YAML as one text.
fn template_body(input: &Import<'_>, body: &Tree) -> Result<Imported, ImportError> {
    let Some(text) = body.text() else {
        return cloudformation::read(input, body);
    };
    let documents = match is_json(text.trim_start()) {
        true => vec![json(text)?],
        false => cloudformation::documents(text)?.0,
    };
    // A line of the text is not one of the file.
    match &documents[..] {
        [template] => cloudformation::read(input, &template.without_lines()),
        _ => Err(not_recognized(input, text)),
    }
}

fn launch_template_versions(versions: &[Tree]) -> Result<Imported, ImportError> {
    ec2::launch_template_versions(versions).finish(
        "the list is empty",
        "check name, region and versions of the command",
    )
}

/// Whether a text begins as JSON does; PowerShell begins with `[string]`, too.
fn is_json(text: &str) -> bool {
    let inside = text.strip_prefix(['{', '[']).map(str::trim_start);
    inside.is_some_and(|inside| {
        inside.is_empty() || inside.starts_with(|c: char| c.is_ascii_digit() || "\"{}[]-tfn".contains(c))
    })
}

/// Whether a text has a key of the formats that are YAML.
fn is_yaml(text: &str) -> bool {
    let keys = [
        "apiVersion:",
        "Resources:",
        "AWSTemplateFormatVersion:",
        "LaunchTemplateVersions:",
        "LaunchConfigurations:",
        "LaunchTemplateData:",
        "UserData:",
    ];
    let mut lines = text.lines();
    lines.any(|line| {
        keys.iter()
            .any(|key| line.trim_start_matches("- ").starts_with(key))
    })
}

/// The file is user data itself.
fn user_data(input: &Import<'_>, bytes: &[u8], content: &str) -> Result<Imported, ImportError> {
    match text::format(content) {
        Some(format) => whole_file(input, bytes, content, format),
        None if text::is_bootstrap_script(content) => {
            check_script(input, content)?;
            whole_file(input, bytes, content, FileFormat::ShellScript)
        }
        None if input.name.ends_with(".ps1") && !content.trim().is_empty() => {
            whole_file(input, bytes, content, FileFormat::WindowsScript)
        }
        None => Err(misspelt_settings(content).unwrap_or_else(|| not_recognized(input, content))),
    }
}

/// Rejects a text without `#!` that is another kind of file, or calls no bootstrap program.
fn check_script(input: &Import<'_>, content: &str) -> Result<(), ImportError> {
    let other = |kind, line| ImportError::OtherText {
        line,
        name: input.name.to_owned(),
        kind,
    };
    if text::has_cloud_config_keys(content) {
        return Ok(());
    }
    match other_text::kind(content) {
        Some((kind, line)) => Err(other(kind, Some(line))),
        None if calls_bootstrap_program(content) => Ok(()),
        None => Err(other("a text that calls no bootstrap program", None)),
    }
}

fn whole_file(
    input: &Import<'_>,
    bytes: &[u8],
    content: &str,
    format: FileFormat,
) -> Result<Imported, ImportError> {
    // Cluster and node take their values from settings, which are data. Scripts are filled in with their machine.
    let machine = match format {
        FileFormat::BottlerocketSettings => {
            let content = filled(content, input.set);
            text::machine(input.name, content.clone().into_bytes(), &content, format)?
        }
        _ => text::machine(input.name, bytes.to_vec(), content, format)?,
    };
    Ok(Imported {
        format,
        machines: vec![machine],
        unread: Vec::new(),
        notes: Vec::new(),
    })
}

fn readable<'a>(input: &Import<'_>, bytes: &'a [u8]) -> Result<&'a str, ImportError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(ImportError::Invalid {
            line: None,
            column: None,
            problem: "the file is UTF-16, which neither cloud-init nor any of these tools reads".to_owned(),
            hint: "save it as UTF-8; PowerShell's `>` writes UTF-16".to_owned(),
        });
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let begin: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        not_utf8(bytes, error.valid_up_to()).unwrap_or_else(|| ImportError::NotRecognized {
            name: input.name.to_owned(),
            begin: format!("the bytes {}", begin.join(" ")),
        })
    })
}

fn not_recognized(input: &Import<'_>, content: &str) -> ImportError {
    let begin = match text::beginning(content).as_str() {
        "" => "nothing: it is empty".to_owned(),
        begin => format!("`{begin}`"),
    };
    ImportError::NotRecognized {
        name: input.name.to_owned(),
        begin,
    }
}
