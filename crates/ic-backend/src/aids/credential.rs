//! A name and a password out of the user's own credential helper, for one judged host.
//!
//! What is asked is what git itself asks with that URL, `git credential fill`; afterwards the helper is
//! told whether the host took it, as git does. Whether it is asked at all is not decided here.

use std::sync::Arc;

use ic_types::Secret;
use zeroize::Zeroize as _;

use super::keyring::Lender;
use super::remote::JudgedRemote;

/// The longest name or password.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A name and a password, with what they are for.
pub(super) struct Credential {
    pub(super) host: String,
    path: String,
    name: String,
    pub(super) password: Arc<Secret<String>>,
}

impl Credential {
    /// Asks the user's helper; `None` if it has none.
    pub(super) async fn fill(
        lender: &Lender,
        remote: &JudgedRemote,
    ) -> Result<Option<Self>, String> {
        let (host, path) = (remote.authority(), remote.path.clone());
        let mut asked = format!("protocol=https\nhost={host}\npath={path}\n");
        if let Some(user) = &remote.user {
            asked.push_str("username=");
            asked.push_str(user);
            asked.push('\n');
        }
        asked.push('\n');
        let mut answered = lender.git(&["credential", "fill"], asked.as_bytes()).await?;
        if !answered.is_success {
            return Ok(None);
        }
        let read = read(&answered.output);
        answered.output.zeroize();
        let Some((of, name, password)) = read else { return Ok(None) };
        // SECURITY: a helper can answer for another host; that one was not judged.
        if of.as_deref().is_some_and(|of| of != host) {
            return Ok(None);
        }
        let password = Arc::new(Secret::new(password));
        Ok(Some(Self { host, path, name, password }))
    }

    #[cfg(test)]
    pub(super) fn of_test(host: &str, path: &str) -> Self {
        let password = Arc::new(Secret::new("a password".to_owned()));
        Self { host: host.to_owned(), path: path.to_owned(), name: "ada".to_owned(), password }
    }

    /// Returns what is handed to the server of the call.
    pub(super) fn lend(&self) -> (String, String) {
        (self.name.clone(), self.password.expose().clone())
    }

    /// Tells the user's helper whether the host took it.
    pub(super) async fn tried(&self, lender: &Lender, is_good: bool) {
        let word = if is_good { "approve" } else { "reject" };
        let (host, path, name) = (&self.host, &self.path, &self.name);
        let mut said = format!(
            "protocol=https\nhost={host}\npath={path}\nusername={name}\npassword={}\n\n",
            self.password.expose()
        );
        // Whether it cares is its affair.
        lender.git(&["credential", word], said.as_bytes()).await.ok();
        said.zeroize();
    }
}

/// Reads what a helper answered: for which host, a name and a password.
fn read(output: &[u8]) -> Option<(Option<String>, String, String)> {
    let text = std::str::from_utf8(output).ok()?;
    let value = |key: &str| {
        let of_key = |line: &'_ str| line.strip_prefix(key)?.strip_prefix('=').map(str::to_owned);
        let value = text.lines().rev().find_map(of_key);
        value.filter(|value| value.len() <= TEXT_BYTES_MAX && !value.contains(char::is_control))
    };
    Some((value("host"), value("username")?, value("password").filter(|it| !it.is_empty())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_name_and_a_password() {
        let read = |text: &str| read(text.as_bytes());
        let all = "protocol=https\nhost=a\nusername=ada\npassword=p=w\n";
        let expected = (Some("a".to_owned()), "ada".to_owned(), "p=w".to_owned());
        assert_eq!(read(all), Some(expected));
        for text in ["", "username=ada\n", "password=x\n", "username=a\npassword=\n", "quit=1\n"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read("username=a\u{1b}\npassword=x\n"), None);
    }
}
