//! `completions`: a script that completes commands, options and their values in a shell.

use crate::args::{Global, command};
use crate::output::CommandOutput;
use anyhow::Result;
use clap::Args;
use clap_complete::{Shell, generate};

/// Print shell completions
///
/// Save the script where your shell looks for it:
///
///   bash        ~/.local/share/bash-completion/completions/harmonium
///   zsh         a file _harmonium in a directory of $fpath
///   fish        ~/.config/fish/completions/harmonium.fish
///   powershell  append it to the file $PROFILE
#[derive(Args)]
#[command(verbatim_doc_comment, after_help = "Example:\n  harmonium completions bash")]
pub struct Completions {
    /// Shell to complete in
    shell: Shell,
}

impl Completions {
    pub fn run(&self, _: &Global) -> Result<CommandOutput> {
        let mut script = Vec::new();
        generate(self.shell, &mut command(), "harmonium", &mut script);
        let script = String::from_utf8(script)?;
        Ok(CommandOutput::new(script.trim_end().into()).field("shell", self.shell.to_string()).field("script", script))
    }
}
