//! Certificates that the user's git trusts for a host, besides those of the system.
//!
//! Out of the user's own configuration alone: a repository that named whom to trust would be believed
//! by nobody.

use std::path::Path;

use ic_home::file;

use super::keyring::Lender;
use super::remote::JudgedRemote;

/// The longest file of certificates.
const ANCHORS_BYTES_MAX: u64 = 2 << 20;

/// Returns the certificates that the user's git trusts for the host of `remote`, if it names any.
pub(super) async fn of(lender: &Lender, remote: &JudgedRemote) -> Result<Option<String>, String> {
    let url = format!("https://{}/{}", remote.authority(), remote.path);
    let words = ["config", "--global", "--type=path", "--get-urlmatch", "http.sslCAInfo", &url];
    let answered = lender.git(&words, b"").await?;
    let path = String::from_utf8_lossy(&answered.output).trim_end_matches('\n').to_owned();
    if !answered.is_success || path.is_empty() {
        return Ok(None);
    }
    let path = Path::new(&path);
    let shown = path.display();
    if !path.is_absolute() {
        return Err(format!("`http.sslCAInfo` is `{shown}`, which is not an absolute path"));
    }
    match file::read_following(path, ANCHORS_BYTES_MAX) {
        Ok(Some(bytes)) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| format!("`{shown}` contains no certificates")),
        Ok(None) => Err(format!("`http.sslCAInfo` names `{shown}`, which is not there")),
        Err(error) => Err(crate::chain(&error)),
    }
}
