//! The keys by which the user knows an ssh host: the lines for that host, and no others.
//!
//! `ssh-keygen` finds them, since a file of known hosts can hold their names hashed. Nothing is added.

use std::path::{Path, PathBuf};

use ic_confine::find_program;

use super::keyring::Lender;
use super::remote::JudgedRemote;

/// The file of the machine.
const GLOBAL: &str = "/etc/ssh/ssh_known_hosts";
/// Where `ssh-keygen` is looked for.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns the lines for the host of `remote`.
pub(super) async fn of(lender: &Lender, remote: &JudgedRemote) -> Result<String, String> {
    let name = match remote.port {
        None | Some(22) => remote.host.clone(),
        Some(port) => format!("[{}]:{port}", remote.host),
    };
    let environment = [("PATH".into(), PATH.into())];
    let keygen = find_program(Path::new("ssh-keygen"), Path::new("/"), &environment)
        .map_err(|error| error.to_string())?;
    let home = lender.keyring.home.as_ref().map(|home| home.as_path().join(".ssh/known_hosts"));
    let mut lines = String::new();
    for file in home.into_iter().chain([PathBuf::from(GLOBAL)]) {
        let Some(file) = file.to_str() else { continue };
        let answered = lender.run(&keygen, &["-F", &name, "-f", file], b"").await?;
        // It fails where there is no file, and where there is no line.
        if answered.is_success {
            let found = String::from_utf8_lossy(&answered.output).into_owned();
            for line in found.lines().filter(|line| !line.starts_with('#')) {
                lines.push_str(line);
                lines.push('\n');
            }
        }
    }
    Ok(lines)
}
