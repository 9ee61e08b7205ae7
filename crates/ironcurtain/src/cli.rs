//! The command line as it is typed; what is meant by it is worked out by each command.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser as _;
use clap::error::ErrorKind;
use ic_home::Environment;
use ic_trace::{Format, TraceError, TraceSpec};

use crate::attached::Held;
use crate::commands::{
    AFTER_HELP, agents::AgentsCommand, approvals::ApprovalsCommand, attach::AttachArgs,
    audit::AuditCommand, ca::CaCommand, cleanup::CleanupArgs, clients::ClientsCommand,
    compile_policy::CompileArgs, completions::CompletionsArgs, config::ConfigCommand,
    customize_policy::CustomizeArgs, demo::DemoArgs, doctor::DoctorArgs, grants::GrantsCommand,
    images::ImagesCommand, listen::ListenArgs, man::ManArgs, mcp_server::McpServerCommand,
    migrate::MigrateArgs, mitm::MitmArgs, policy::PolicyCommand, proxy::ProxyArgs,
    refresh_lists::RefreshArgs, run::RunArgs, servers::ServersCommand,
    servers::annotate::AnnotateArgs, sessions::SessionsCommand, start::StartArgs,
    status::StatusArgs, usage::UsageArgs,
};
use crate::error::{Failure, chain};

/// Run AI agents on your real files, repositories and accounts without trusting the agent
///
/// An agent can act only through calls. A deterministic policy judges each call (allow, deny, or ask
/// you), and a tamper-evident log records it. New here? Run `ironcurtain demo`.
#[derive(Debug, clap::Parser)]
#[command(name = "ironcurtain", version, max_term_width = 100, after_long_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What the program writes about its own work.
#[derive(Debug, clap::Args)]
pub(crate) struct TraceArgs {
    /// Write what IronCurtain itself does to this file; `IRONCURTAIN_LOG` says how much (default `info`)
    #[arg(long = "log", value_name = "FILE", global = true, hide = true)]
    trace_file: Option<PathBuf>,
    /// How the lines look
    #[arg(
        long = "log-format",
        value_name = "F",
        global = true,
        hide = true,
        value_enum,
        default_value_t
    )]
    trace_format: LogFormat,
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

impl TraceArgs {
    /// Begins to write, if that is wanted.
    pub(crate) fn begin(&self, environment: &Environment) -> Result<(), Failure> {
        let wanted = environment.trace_filter().map(|it| it.to_string_lossy());
        if wanted.is_none() && self.trace_file.is_none() {
            return Ok(());
        }
        let format = match self.trace_format {
            LogFormat::Text => Format::Text,
            LogFormat::Json => Format::Json,
        };
        let filter = wanted.as_deref().unwrap_or("info");
        let spec = TraceSpec { filter, file: self.trace_file.as_deref(), format };
        spec.begin().map_err(|error| match error {
            TraceError::File(error) => error.into(),
            error @ TraceError::Filter { .. } => Failure::usage(chain(&error)).with_hint(
                "set IRONCURTAIN_LOG to `error`, `warn`, `info`, `debug` or `trace`, or to levels by \
                 crate, such as `warn,ic_broker=debug`",
            ),
            error @ TraceError::Begun(_) => Failure::environment(chain(&error)),
        })
    }
}

impl Cli {
    /// Takes note of whether this process is to hold the session that it starts.
    pub(crate) fn held(mut self, held: Option<Held>) -> Self {
        if let Command::Start(args) = &mut self.command {
            args.held = held;
        }
        self
    }

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
    Attach(AttachArgs),
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
    Status(StatusArgs),
    Usage(UsageArgs),
    /// Show pending approval requests and answer them
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    #[command(visible_alias = "listen")]
    EscalationListener(ListenArgs),
    /// List grants and revoke them
    #[command(subcommand)]
    Grants(GrantsCommand),
    /// Connect an MCP client, such as Claude Code or Codex, to `ironcurtain proxy`
    #[command(subcommand)]
    Clients(ClientsCommand),
    /// Install, list, update and remove agents such as Claude Code
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Build, list and remove the images of agents in containers
    #[command(subcommand)]
    Images(ImagesCommand),
    /// Add, list, test, review and trust MCP servers
    #[command(subcommand)]
    Servers(ServersCommand),
    /// Check, test, explain and change the policy
    #[command(subcommand)]
    Policy(PolicyCommand),
    CompilePolicy(CompileArgs),
    AnnotateTools(AnnotateArgs),
    RefreshLists(RefreshArgs),
    CustomizePolicy(CustomizeArgs),
    /// Show, follow, verify and export the audit log
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Show and change the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    Mitm(MitmArgs),
    /// Show and renew the certificate authority of the model gate
    #[command(subcommand)]
    Ca(CaCommand),
    Doctor(DoctorArgs),
    Migrate(MigrateArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}
