//! The lines at the end of a terminal that change: a bar for each image that is built or downloaded, and current work.

use std::collections::BTreeMap;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Redraws per second, at most.
const REDRAWS: u8 = 12;

/// The changing lines. Nothing is drawn unless standard error is a terminal.
pub(super) struct Bars {
    lines: MultiProgress,
    status: ProgressBar,
    images: BTreeMap<String, ProgressBar>,
}

impl Bars {
    /// The lines of this process' standard error.
    pub(super) fn on_stderr() -> Self {
        Self::on(ProgressDrawTarget::stderr_with_hz(REDRAWS))
    }

    pub(super) fn on(target: ProgressDrawTarget) -> Self {
        let lines = MultiProgress::with_draw_target(target);
        let status = lines.add(ProgressBar::no_length());
        status.set_style(style("{wide_msg}"));
        Self {
            lines,
            status,
            images: BTreeMap::new(),
        }
    }

    /// Replaces the line with current work.
    pub(super) fn status(&self, text: String) {
        self.status.set_message(text);
    }

    /// Shows a step of an image: `Step 3/12 : RUN apt-get update` moves its bar, any other text only replaces its
    /// words.
    pub(super) fn step(&mut self, image: &str, text: &str) {
        let bar = self.bar(image);
        match numbered(text) {
            Some((number, all, words)) => {
                bar.set_style(style("{prefix} [{bar:12}] {pos}/{len} {wide_msg}"));
                bar.set_length(all);
                // A step that runs is not done.
                bar.set_position(number.saturating_sub(1));
                bar.set_message(words.to_owned());
            }
            None => {
                bar.set_style(style("{prefix} {wide_msg}"));
                bar.set_message(text.to_owned());
            }
        }
    }

    /// Shows the bytes of a download.
    pub(super) fn download(&mut self, image: &str, file: &str, bytes: u64, total: Option<u64>) {
        let bar = self.bar(image);
        match total {
            Some(total) => {
                bar.set_style(style(
                    "{prefix} [{bar:12}] {decimal_bytes}/{decimal_total_bytes} {wide_msg}",
                ));
                bar.set_length(total);
            }
            None => bar.set_style(style("{prefix} {decimal_bytes} {wide_msg}")),
        }
        bar.set_position(bytes);
        bar.set_message(file.to_owned());
    }

    /// Whether an image has a bar.
    pub(super) fn has(&self, image: &str) -> bool {
        self.images.contains_key(image)
    }

    /// Removes the bar of an image.
    pub(super) fn done(&mut self, image: &str) {
        if let Some(bar) = self.images.remove(image) {
            bar.finish_and_clear();
            self.lines.remove(&bar);
        }
    }

    /// Removes the lines while permanent text is printed, and draws them again below it.
    pub(super) fn around(&self, print: impl FnOnce()) {
        self.lines.suspend(print);
    }

    /// Removes the lines for good.
    pub(super) fn end(&mut self) {
        for (_, bar) in std::mem::take(&mut self.images) {
            bar.finish_and_clear();
        }
        self.status.finish_and_clear();
    }

    fn bar(&mut self, image: &str) -> &ProgressBar {
        let lines = &self.lines;
        let status = &self.status;
        self.images.entry(image.to_owned()).or_insert_with(|| {
            let bar = lines.insert_before(status, ProgressBar::no_length());
            // Neither the hash in the tag nor the common folder says something to a person, and the line has to fit.
            let name = image.split(':').next().unwrap_or(image);
            bar.set_prefix(name.strip_prefix("nodejoin/").unwrap_or(name).to_owned());
            bar
        })
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        self.end();
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("each template is a constant with known names");
    style.progress_chars("=> ")
}

/// The number of a step, the number of all steps, and its words.
fn numbered(text: &str) -> Option<(u64, u64, &str)> {
    let (count, words) = text.strip_prefix("Step ")?.split_once(" : ")?;
    let (number, all) = count.split_once('/')?;
    Some((number.parse().ok()?, all.parse().ok()?, words))
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    fn bars(width: u16) -> (Bars, InMemoryTerm) {
        let terminal = InMemoryTerm::new(10, width);
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(terminal.clone()), 255);
        (Bars::on(target), terminal)
    }

    /// Forces a redraw: indicatif skips those that follow each other too soon.
    fn shown(bars: &Bars, terminal: &InMemoryTerm) -> String {
        bars.around(|| ());
        terminal.contents()
    }

    #[test]
    fn an_image_has_a_bar_above_the_current_work() {
        let (mut bars, terminal) = bars(60);
        bars.status("0:07  0/2 done  a-node: booting".to_owned());
        bars.step("nodejoin/al2:0123456789ab", "Step 4/7 : RUN apt-get update");
        assert_eq!(
            shown(&bars, &terminal),
            "al2 [=====>      ] 3/7 RUN apt-get update\n0:07  0/2 done  a-node: booting"
        );
        bars.download("nodejoin/kubernetes:x", "kubelet", 30_000_000, Some(120_000_000));
        assert!(
            shown(&bars, &terminal).contains("kubernetes [===>        ] 30.00 MB/120.00 MB kubelet"),
            "{}",
            terminal.contents()
        );
        bars.download("nodejoin/kubernetes:x", "kubelet", 31_000_000, None);
        assert!(shown(&bars, &terminal).contains("kubernetes 31.00 MB kubelet"));
        bars.done("nodejoin/al2:0123456789ab");
        bars.done("nodejoin/kubernetes:x");
        assert_eq!(shown(&bars, &terminal), "0:07  0/2 done  a-node: booting");
        bars.end();
        assert_eq!(terminal.contents(), "");
    }

    #[test]
    fn permanent_lines_stay_above_lines_that_are_cut_at_the_width() {
        let (mut bars, terminal) = bars(40);
        bars.status("0:07  0/2 done  a-scenario-with-a-long-id: kubelet-started".to_owned());
        bars.step(
            "nodejoin/al2:x",
            "Step 1/2 : RUN apt-get install -y --no-install-recommends cloud-init",
        );
        for line in ["  ok  1.0 s  first", "  ok  2.0 s  second"] {
            let terminal = terminal.clone();
            bars.around(|| indicatif::TermLike::write_line(&terminal, line).unwrap());
        }
        let contents = terminal.contents();
        let lines: Vec<&str> = contents.lines().collect();
        assert_eq!(lines[..2], ["  ok  1.0 s  first", "  ok  2.0 s  second"]);
        assert_eq!(lines.len(), 4, "{contents}");
        assert!(
            lines[2].starts_with("al2 [            ] 0/2 RUN") && lines[3].starts_with("0:07  0/2 done"),
            "{contents}"
        );
    }

    #[test]
    fn only_numbered_steps_move_a_bar() {
        assert_eq!(numbered("Step 3/12 : RUN x : y"), Some((3, 12, "RUN x : y")));
        assert_eq!(numbered("download kubelet v1.32.0"), None);
        assert_eq!(numbered("Step x"), None);
    }
}
