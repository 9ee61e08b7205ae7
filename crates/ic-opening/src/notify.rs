//! The program that calls the user when a call waits: found, checked and written out.
//!
//! It runs with the user's own rights, so it must not be anything that the agent can write. Nothing is started
//! here.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use ic_backend::launch::{self, Offence};
use ic_confine::{ChildSpec, Hold, find_program};
use ic_home::Environment;
use ic_home::config::UserCommand;
use ic_judge::Judge;

/// Where the program is looked for if it is named without a path: nothing that a project adds to `PATH`.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long it may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(1);
/// The variables that the program gets of the user's: who they are, their desktop, and their way to the network.
const VARIABLES: [&str; 19] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "NO_PROXY",
    "TMUX",
    "TZ",
    "USER",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Writes out how the program of `notify.command` is started; fails with what the user should know.
pub fn program(
    command: &UserCommand,
    judge: &Judge,
    environment: &Environment,
) -> Result<ChildSpec, String> {
    let is_kept = |name: &OsString| VARIABLES.iter().any(|it| name == it);
    let mut variables = environment.user_variables();
    variables.retain(|(name, _)| is_kept(name));
    variables.push(("PATH".into(), PATH.into()));
    let spec = ChildSpec {
        program: command.program.clone(),
        arguments: command.arguments.iter().map(OsString::from).collect(),
        environment: variables,
        directory: Some(PathBuf::from("/")),
        grace: GRACE,
        hold: Hold::Free,
    };
    find_program(&spec.program, "/".as_ref(), &spec.environment)
        .map_err(|error| format!("`notify.command` is not run: {error}"))?;
    // SECURITY: it has all of the user's rights, and would run whatever the agent wrote there.
    match launch::rewritable_by_agent(&spec, judge) {
        None => Ok(spec),
        Some(Offence::Untold(text)) => Err(format!(
            "`notify.command` is not run: only a shell knows what its text `{}` runs, and it may be something that an \
             agent wrote; write the path of each program out, or keep the text in a file where no agent may write",
            text.escape_debug()
        )),
        Some(Offence::Rewritable(_, path)) => Err(format!(
            "`notify.command` is not run: `{path}`, which it uses, lies where the agent of this session, or of an \
             earlier one, may write; keep the program elsewhere"
        )),
    }
}
