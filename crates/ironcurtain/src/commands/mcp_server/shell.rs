//! `ironcurtain mcp-server shell`: command lines, in the cage that this process is in.
//!
//! Nothing else holds a command, so the proxy and sessions start this one, and nobody else.

use std::ffi::OsString;

use ic_servers::Shell;

use crate::error::Failure;

/// Run command lines in this process's cage
#[derive(Debug, clap::Args)]
pub(crate) struct ShellArgs {
    /// This process is in a cage of IronCurtain's
    #[arg(long)]
    caged: bool,
    /// Directories in which commands are looked for
    #[arg(long, value_name = "PATH")]
    path: OsString,
    /// Home directory of commands
    #[arg(long, value_name = "DIR")]
    home: OsString,
    /// Variable that commands find in their environment besides (can be repeated)
    #[arg(long, value_name = "NAME=VALUE")]
    variable: Vec<String>,
}

/// Makes the server.
pub(crate) fn open(args: &ShellArgs) -> Result<Shell, Failure> {
    if !args.caged {
        return Err(Failure::usage(
            "commands run only in a cage, which `ironcurtain proxy`, `ironcurtain start` and `ironcurtain run` make",
        ));
    }
    let variable = |name: &str, value: OsString| (OsString::from(name), value);
    let mut environment = vec![
        variable("PATH", args.path.clone()),
        variable("HOME", args.home.clone()),
        variable("TMPDIR", "/tmp".into()),
        variable("LANG", "C.UTF-8".into()),
        variable("TZ", "UTC".into()),
        variable("TERM", "dumb".into()),
    ];
    let more = args.variable.iter().filter_map(|it| it.split_once('='));
    environment.extend(more.map(|(name, value)| variable(name, value.into())));
    Shell::in_this_cage(environment).map_err(|error| Failure::config(ic_types::chain(&error)))
}
