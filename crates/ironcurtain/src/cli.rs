//! The command line as it is typed; what is meant by it is worked out by each command.

use crate::commands::{
    approvals::ApprovalsCommand, audit::AuditCommand, cleanup::CleanupArgs,
    completions::CompletionsArgs, config::ConfigCommand, doctor::DoctorArgs, grants::GrantsCommand,
    man::ManArgs, mcp_server::McpServerCommand, migrate::MigrateArgs, policy::PolicyCommand,
    proxy::ProxyArgs, run::RunArgs, servers::ServersCommand, sessions::SessionsCommand,
    start::StartArgs,
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
