//! The command line as it is typed; what is meant by it is worked out by each command.

use std::ffi::OsString;

use clap::Parser as _;
use clap::error::ErrorKind;

use crate::commands::{
    EXIT_CODES, approvals::ApprovalsCommand, audit::AuditCommand, cleanup::CleanupArgs,
    clients::ClientsCommand, compile_policy::CompileArgs, completions::CompletionsArgs,
    config::ConfigCommand, demo::DemoArgs, doctor::DoctorArgs, grants::GrantsCommand, man::ManArgs,
    mcp_server::McpServerCommand, migrate::MigrateArgs, policy::PolicyCommand, proxy::ProxyArgs,
    run::RunArgs, servers::ServersCommand, sessions::SessionsCommand, start::StartArgs,
};

/// Run AI agents on your real files, repositories and accounts without trusting the agent
///
/// An agent can act only through calls. A deterministic policy judges each call (allow, deny, or ask
/// you), and a tamper-evident log records it. New here? Run `ironcurtain demo`.
#[derive(Debug, clap::Parser)]
#[command(name = "ironcurtain", version, max_term_width = 100, after_long_help = EXIT_CODES)]
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
    Demo(DemoArgs),
    Run(RunArgs),
    Proxy(ProxyArgs),
    /// Run one of the built-in MCP servers on standard input and output
    #[command(subcommand)]
    McpServer(McpServerCommand),
    /// List, show, name, export and remove earlier sessions
    #[command(subcommand)]
    Sessions(SessionsCommand),
    Cleanup(CleanupArgs),
    /// Show pending approval requests and answer them
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// List grants and revoke them
    #[command(subcommand)]
    Grants(GrantsCommand),
    /// Connect an MCP client, such as Claude Code or Codex, to `ironcurtain proxy`
    #[command(subcommand)]
    Clients(ClientsCommand),
    /// Add, list, test, review and trust MCP servers
    #[command(subcommand)]
    Servers(ServersCommand),
    /// Check, test, explain and change the policy
    #[command(subcommand)]
    Policy(PolicyCommand),
    CompilePolicy(CompileArgs),
    /// Show, follow, verify and export the audit log
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Show and change the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    Doctor(DoctorArgs),
    Migrate(MigrateArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}
