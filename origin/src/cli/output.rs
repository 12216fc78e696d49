//! The output of a command: on a terminal, through the control socket, or kept for a test.
//!
//! Promise: text is written unchanged and in order; progress is shown on terminals only.

use std::io::{self, IsTerminal, Write};

use async_trait::async_trait;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Where a command's output goes. An error means that the reader has closed it.
#[async_trait]
pub trait Console: Send {
    /// Text for standard output.
    async fn out(&mut self, text: &str) -> io::Result<()>;
    /// Text for standard error.
    async fn err(&mut self, text: &str) -> io::Result<()>;
    /// How much of the work is done.
    async fn progress(&mut self, done: u64, total: u64) -> io::Result<()>;
}

/// This process's own output.
#[derive(Debug)]
pub struct Terminal {
    bar: ProgressBar,
    reading: ProgressBar,
}

impl Terminal {
    /// Shows progress when standard error is a terminal.
    #[must_use]
    pub fn new() -> Self {
        let bar = |template: &str| {
            let target =
                if io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
            let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::with_draw_target(Some(0), target).with_style(style)
        };
        Self {
            bar: bar("{bar:32} {human_pos} of {human_len}, {eta} left"),
            reading: bar("{bar:32} {bytes} of {total_bytes} read, {eta} left"),
        }
    }

    /// The bar of a file that is read in bytes, beside what is written.
    pub(super) fn reading(&self) -> ProgressBar {
        self.reading.clone()
    }

    /// Writes while no bar is shown.
    fn write<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(|| self.reading.suspend(write))
    }
}

impl Default for Terminal {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        self.reading.finish_and_clear();
    }
}

#[async_trait]
impl Console for Terminal {
    async fn out(&mut self, text: &str) -> io::Result<()> {
        self.write(|| {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()
        })
    }

    async fn err(&mut self, text: &str) -> io::Result<()> {
        self.write(|| io::stderr().lock().write_all(text.as_bytes()))
    }

    async fn progress(&mut self, done: u64, total: u64) -> io::Result<()> {
        self.bar.set_length(total);
        self.bar.set_position(done);
        if done >= total {
            self.bar.finish_and_clear();
        }
        Ok(())
    }
}

/// Keeps the output.
#[derive(Debug, Default)]
pub struct CapturedOutput {
    pub out: String,
    pub err: String,
}

#[async_trait]
impl Console for CapturedOutput {
    async fn out(&mut self, text: &str) -> io::Result<()> {
        self.out.push_str(text);
        Ok(())
    }

    async fn err(&mut self, text: &str) -> io::Result<()> {
        self.err.push_str(text);
        Ok(())
    }

    async fn progress(&mut self, _done: u64, _total: u64) -> io::Result<()> {
        Ok(())
    }
}
