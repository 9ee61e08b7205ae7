//! The command line as it is typed; what is meant by it is worked out by each command.

use std::ffi::OsString;

use clap::Parser as _;
use clap::error::ErrorKind;

use crate::commands::{
    approvals::ApprovalsCommand, audit::AuditCommand, cleanup::CleanupArgs,
    clients::ClientsCommand, completions::CompletionsArgs, config::ConfigCommand,
    doctor::DoctorArgs, grants::GrantsCommand, man::ManArgs, mcp_server::McpServerCommand,
    migrate::MigrateArgs, policy::PolicyCommand, proxy::ProxyArgs, run::RunArgs,
    servers::ServersCommand, sessions::SessionsCommand, start::StartArgs,
};

/// Run AI agents on your real files, repositories and accounts without trusting the agent
///
/// Every effect of an agent is a mediated call: judged by a deterministic policy as allow, deny or
/// escalate to a person, and recorded.
#[derive(Debug, clap::Parser)]
#[command(name = "ironcurtain", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Reads the command line.
    pub(crate) fn read(words: &[OsString]) -> Result<Self, UsageError> {
        Self::try_parse_from(words).map_err(|error| match error.kind() {
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                let asked = words.iter().cloned().chain(["--help".into()]);
                let helped = Self::try_parse_from(asked).err();
                match helped.filter(|it| it.kind() == ErrorKind::DisplayHelp) {
                    Some(help) => UsageError::Bare(help),
                    None => UsageError::Other(error),
                }
            }
            _ => UsageError::Other(error),
        })
    }
}

/// A command line that is answered and not run.
#[derive(Debug)]
pub(crate) enum UsageError {
    /// A command lacks its subcommand; this is what its `--help` says.
    Bare(clap::Error),
    /// Help or the version was asked for, or something is wrong.
    Other(clap::Error),
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Start(StartArgs),
    Run(RunArgs),
    Proxy(ProxyArgs),
    /// Run one of the built-in MCP servers on standard input and output
    #[command(subcommand)]
    McpServer(McpServerCommand),
    /// Show earlier sessions, name them, export them, remove them
    #[command(subcommand)]
    Sessions(SessionsCommand),
    Cleanup(CleanupArgs),
    /// Show what waits for a person, and answer it
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// Show what was granted beyond one call, and take it back
    #[command(subcommand)]
    Grants(GrantsCommand),
    /// Connect an MCP client, such as Claude Code or Codex, to `ironcurtain proxy`
    #[command(subcommand)]
    Clients(ClientsCommand),
    /// Add MCP servers, show them, try them, trust them
    #[command(subcommand)]
    Servers(ServersCommand),
    /// Ask the policy, test it, explain it, change it
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Show the audit log, follow it, check it, export it
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Show the configuration and change it
    #[command(subcommand)]
    Config(ConfigCommand),
    Doctor(DoctorArgs),
    Migrate(MigrateArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}
