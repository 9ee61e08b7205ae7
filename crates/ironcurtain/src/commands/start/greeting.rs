//! What a new user is told: once, at a terminal, before the first conversation without a key.

use ic_home::{Environment, FileError, Home, file};
use tokio::runtime::Runtime;

use crate::error::Failure;
use crate::screen::Screen;
use crate::terminal::Tty;

/// The five lines; none is wider than a terminal of 80 columns.
const LINES: [&str; 5] = [
    "IronCurtain runs AI agents without trusting them: a policy judges every call.",
    "Keys, credentials and browser data stay closed; outside the sandbox you decide.",
    "No key is set, so the built-in offline model is used: try `list the files`.",
    "For a real model: export ANTHROPIC_API_KEY=… (or OpenAI, Google, compatible).",
    "Next: `ironcurtain demo` is a two-minute tour, and `/help` lists the commands.",
];

/// Greets the user, unless this home has done so before or nobody sits at a terminal.
pub(super) fn greet_once(
    environment: &Environment,
    runtime: &Runtime,
    screen: &mut Screen,
) -> Result<(), Failure> {
    // What waits for keys is made within the runtime.
    if runtime.block_on(async { Tty::find() }).is_none() {
        return Ok(());
    }
    let home = Home::new(environment.ironcurtain_home()?);
    home.prepare()?;
    match file::create_new(home.greeted(), b"") {
        Ok(()) => {}
        Err(FileError::Exists { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    for line in LINES {
        screen.progress(line, str::to_owned);
    }
    screen.row("");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_fits_a_terminal() {
        for line in LINES {
            // What is not plain is taken for two columns.
            let width: usize = line.chars().map(|c| 2 - usize::from(c.is_ascii())).sum();
            assert!(width <= 80, "{width}: {line}");
        }
    }
}
