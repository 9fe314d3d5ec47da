//! Flags of the kubelet that user data states where nothing reads them: the Node lacks their labels, taints and pods.

use super::bootstrap_call::BootstrapCall;
use super::drop_in_folders;
use super::first_lines::config_behind_script;
use super::kubelet_flags::KubeletFlags;
use super::lost_variables::LostVariable;
use super::stated::Stated;
use crate::mime;

/// Such flags of user data.
#[derive(Debug, Default)]
pub(super) struct LostFlags {
    /// What the Node would have with them, as far as the loss is certain. The check of it fails.
    pub(super) wanted: KubeletFlags,
    /// All of them as they are written.
    texts: Vec<String>,
}

impl LostFlags {
    pub(super) fn of(user_data: &[u8], stated: &Stated, variable: Option<&LostVariable>) -> Self {
        let mut lost = Self::default();
        let text = String::from_utf8_lossy(user_data);
        if let Some(meant) = mime::meant(&text) {
            let meant = Stated::of(meant.as_bytes());
            lost.wanted = meant.flags;
        } else if let Some(config) = config_behind_script(&text) {
            let meant = Stated::of(config.as_bytes());
            lost.texts = meant.flags.as_arguments();
            lost.wanted = meant.flags;
        }
        // Of several calls, another one may pass them.
        let is_only_call = stated.calls.len() == 1;
        for text in stated.calls.iter().flat_map(|call| call.lost_flags()) {
            lost.add(text, is_only_call);
        }
        let ignored = stated.calls.iter().filter(|_| !stated.is_for_ubuntu());
        for text in ignored.filter_map(BootstrapCall::ignored_arguments) {
            lost.add(text, is_only_call);
        }
        for text in &stated.configs.lost_flags {
            lost.add(text.clone(), true);
        }
        for text in stated.flags.lost_flags() {
            lost.add(text, true);
        }
        for text in drop_in_folders::lost_flags(user_data) {
            lost.add(text, true);
        }
        if let Some(variable) = variable {
            lost.add(variable.flags.clone(), variable.is_certain);
        }
        lost.wanted.remove(&stated.flags);
        lost
    }

    fn add(&mut self, text: String, is_certain: bool) {
        if is_certain {
            self.wanted.add(&text);
        }
        self.texts.push(text);
    }

    /// Whether a text such as `--max-pods=3` is among the flags.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.texts.iter().any(|text| text.contains(flag))
    }

    /// Whether the Node is expected to have what the flag states.
    pub(super) fn wants(&self, flag: &str) -> bool {
        match flag.split_once('=') {
            Some(("--node-labels", _)) => !self.wanted.labels.is_empty(),
            Some(("--register-with-taints", _)) => !self.wanted.taints.is_empty(),
            Some(("--max-pods", _)) => self.wanted.max_pods.is_some(),
            _ => false,
        }
    }
}
