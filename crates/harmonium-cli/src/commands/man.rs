//! `man`: a manual page for every command, from the same definitions as its help.

use crate::args::{Global, command};
use crate::output::CommandOutput;
use anyhow::{Context, Result};
use clap::Args;
use clap_mangen::Man as Page;
use clap_mangen::roff::{Roff, roman};
use harmonium::file::atomic;
use std::io::{Result as Written, Write};
use std::path::PathBuf;

/// Write a manual page for every command
///
/// The pages are harmonium.1, harmonium-train.1 and so on. Read one with `man DIR/harmonium-train.1`, or install them by
/// writing to a man1 directory of your manual path.
#[derive(Args)]
#[command(after_help = "Example:\n  harmonium man -o man1")]
pub struct Man {
    /// Directory to write to; created if needed
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

impl Man {
    pub fn run(&self, _: &Global) -> Result<CommandOutput> {
        let mut root = command().disable_help_subcommand(true);
        root.build();
        let shown = self.output.display().to_string();
        std::fs::create_dir_all(&self.output).with_context(|| format!("cannot create the directory {shown}"))?;
        let mut files = Vec::new();
        for command in std::iter::once(&root).chain(root.get_subcommands()) {
            let page = Page::new(command.clone());
            let path = self.output.join(page.get_filename());
            atomic::write(&path, |w| render(&page, command, w))?;
            files.push(path.display().to_string());
        }
        Ok(CommandOutput::new(format!("{shown}: {} manual pages", files.len())).field("pages", files))
    }
}

/// Writes the page. What follows the options in the help gets sections of its own.
fn render(page: &Page, command: &clap::Command, mut w: &mut dyn Write) -> Written<()> {
    page.render_title(&mut w)?;
    page.render_name_section(&mut w)?;
    page.render_synopsis_section(&mut w)?;
    page.render_description_section(&mut w)?;
    page.render_options_section(&mut w)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut w)?;
    }
    let after = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string).unwrap_or_default();
    let mut roff = Roff::default();
    for section in after.split("\n\n") {
        let (heading, lines) = section.split_once('\n').unwrap_or((section, ""));
        roff.control("SH", [heading.trim_end_matches(':').to_uppercase().as_str()]);
        for line in lines.lines() {
            roff.control("PP", []);
            roff.text([roman(line.trim())]);
        }
    }
    roff.to_writer(&mut w)
}
